//! Hand-made snapshots for tests of the views. Nothing in them was read from a machine: names,
//! numbers and identifiers are invented, and [`OriginKind::Synthetic`](crate::OriginKind::Synthetic) says so.
//!
//! | sample | shows |
//! |---|---|
//! | [`workstation`] | one GPU, twelve processes, one of them a language model with everything known |
//! | [`servers`] | eight GPUs, two hundred processes, one on two GPUs, one GPU in MIG mode |
//! | [`container`] | a nested PID namespace: matched rows, a guessed row, rows of the host |
//! | [`radeon`] | devices read through the kernel's DRM: reasons, bounds, engines of other drivers |
//! | [`no_gpu`] | no device, and sources that explain why |
//! | [`hostile`] | names with control characters, direction overrides, wide and very long text |
//! | [`served`] | servers of models: parts in every class, several models in one process, all that is said |
//! | [`stale`] | a device that last answered 7 s ago, with pending and missing readings |

mod containers;
mod details;
mod hostile;
mod instances;
mod models;
mod parts;
mod radeon;
mod requirement;
mod served;
mod stale;

use crate::device::Device;
use crate::gap::Gap;
use crate::ids::PidSpace;
use crate::matching::{MatchReason, PidMatch};
use crate::mig::MigMode;
use crate::process::{Charge, Process};
use crate::reading::{InferenceBasis, Reading, Source};
use crate::receipt;
use crate::snapshot::{Mode, PidNamespace, Severity, Snapshot, SourceState};
use crate::units::Bytes;
use crate::workload::{Category, EvidenceKind, Placement, SegmentKind, Server, ServerState};
use models::{estimate, llama_server, model};
use parts::{
    BOTH, COMPUTE, GRAPHICS, LISTED, charge, device, from, gone, matched, notice, owned, process,
    snapshot, source,
};

pub use containers::{NO_NAMES, in_containers_named};
pub use hostile::hostile;
pub use parts::{AT, ago};
pub use radeon::radeon;
pub use requirement::{fit, inspection};
pub use served::served;
pub use stale::stale;

/// One GPU of 16 GB and twelve processes: a language model with model, evidence, parts, receipt and
/// server; one whose size the driver hides; one on both lists; graphics; one that has exited; one in
/// a container; one with a measured zero.
pub fn workstation() -> Snapshot {
    let hidden = gone(Gap::HiddenByDriver, Source::Nvml, LISTED);
    let on = |lists, mib, sm| charge(0, lists, owned(mib), sm);
    let mut contained = process(
        39_544,
        "text-embeddings",
        Category::Embedding,
        "exe_name",
        on(COMPUTE, 498, 3.0),
    )
    .with_runtimes(&[("CUDA", "libcuda.so.1"), ("cuBLAS", "libcublas.so.12")]);
    contained.container = containers::docker();
    let mut whisper = process(
        38_802,
        "whisper-server",
        Category::Speech,
        "exe_name",
        on(COMPUTE, 612, 0.0),
    )
    .with_runtimes(&[("whisper.cpp", "libwhisper.so"), ("CUDA", "libcuda.so.1")]);
    for charge in &mut whisper.charges {
        charge.engines.busiest = gone(
            Gap::NoSample,
            Source::Nvml,
            "nvmlDeviceGetProcessUtilization",
        );
        charge.engines.compute = charge.engines.busiest;
    }
    let torch = [("PyTorch", "libtorch_cuda.so"), ("CUDA", "libcuda.so.1")];
    let mut it = snapshot(
        vec![device(0, "NVIDIA GeForce RTX 4080 SUPER", 16_376, 14_120)],
        vec![
            llama_server(),
            process(
                40_110,
                "python3",
                Category::Ai,
                "runtime",
                on(COMPUTE, 1480, 1.0),
            )
            .with_runtimes(&torch),
            whisper,
            process(
                40_977,
                "ollama",
                Category::Ai,
                "exe_name",
                charge(0, COMPUTE, hidden, 12.0),
            ),
            process(
                30_201,
                "blender",
                Category::Graphics3d,
                "runtime",
                on(BOTH, 702, 22.0),
            )
            .with_runtimes(&[("OptiX", "libnvoptix.so.1"), ("OpenGL", "libGL.so.1")]),
            process(
                1881,
                "Xorg",
                Category::Desktop,
                "exe_name",
                on(GRAPHICS, 180, 2.0),
            )
            .with_runtimes(&[("OpenGL", "libGL.so.1")]),
            process(
                2044,
                "gnome-shell",
                Category::Desktop,
                "exe_name",
                on(GRAPHICS, 96, 1.0),
            ),
            process(
                5120,
                "firefox",
                Category::Browser,
                "exe_name",
                on(GRAPHICS, 240, 4.0),
            ),
            process(
                7331,
                "mpv",
                Category::Video,
                "exe_name",
                on(GRAPHICS, 88, 0.0),
            ),
            process(39_001, "", Category::Other, "none", on(COMPUTE, 128, 0.0))
                .unreadable(Gap::Exited),
            contained,
            process(
                902,
                "nvidia-persiste",
                Category::Other,
                "exe_name",
                on(COMPUTE, 0, 0.0),
            ),
        ],
    );
    it.notices.push(notice(
        "hidden_memory",
        Severity::Info,
        "gpu:0",
        "1 process of GPU 0 is listed by the driver without a size",
    ));
    it
}

/// Eight GPUs of 80 GB and two hundred processes. The first process is on GPUs 0 and 1; GPU 7 is in
/// MIG mode, where there is no load figure.
pub fn servers() -> Snapshot {
    let mut devices: Vec<Device> = (0..8)
        .map(|index| {
            device(
                index,
                "NVIDIA H100 80GB HBM3",
                81_559,
                40_000 + 1000 * u64::from(index),
            )
        })
        .collect();
    let mut processes: Vec<Process> = (0..200_u32)
        .map(|n| {
            let size = owned(500 + u64::from(n % 25) * 61);
            let on = charge(n % 8, COMPUTE, size, f64::from(n % 5));
            process(10_000 + n, "python3", Category::Ai, "runtime", on)
                .with_runtimes(&[("PyTorch", "libtorch_cuda.so"), ("CUDA", "libcuda.so.1")])
        })
        .collect();
    if let Some(first) = processes.first_mut() {
        first.charges.push(charge(1, COMPUTE, owned(2048), 55.0));
    }
    for charge in processes
        .iter_mut()
        .flat_map(|process| &mut process.charges)
    {
        if charge.device_index == 7 {
            charge.instance = Some((2, 0));
            charge.engines.busiest =
                gone(Gap::Mig, Source::Nvml, "nvmlDeviceGetProcessUtilization");
            charge.engines.compute = charge.engines.busiest;
        }
    }
    for device in &mut devices {
        device.fan = gone(Gap::NotSupported, Source::Nvml, "nvmlDeviceGetFanSpeed");
        if device.index == 3 {
            device.details = details::server();
        }
        if device.index == 7 {
            device.gpu = gone(Gap::Mig, Source::Nvml, "nvmlDeviceGetUtilizationRates.gpu");
            device.memory_activity = gone(
                Gap::Mig,
                Source::Nvml,
                "nvmlDeviceGetUtilizationRates.memory",
            );
            device.mig = parts::nvml(
                MigMode {
                    enabled: true,
                    pending: true,
                },
                "nvmlDeviceGetMigMode",
            );
            // Slot 1 is a hole.
            device.instances = vec![
                instances::instance(0, 2, "3g.40gb", 3, [40_448, 21_000], 25),
                instances::instance(2, 9, "1g.10gb", 1, [9_984, 16], 0),
            ];
        }
    }
    snapshot(devices, processes)
}

/// Inside a container with its own PID namespace: one row matched for sure, one guessed, two rows of
/// the host, one process that no entry was matched to. Load cannot be joined. The guessed row has a model seen only on its command line.
pub fn container() -> Snapshot {
    let split = |mut charge: Charge| {
        let reading = gone(
            Gap::PidSplit,
            Source::Nvml,
            "nvmlDeviceGetProcessUtilization",
        );
        let engines = &mut charge.engines;
        (engines.busiest, engines.compute, engines.memory) = (reading, reading, reading);
        (engines.encode, engines.decode) = (reading, reading);
        (engines.jpeg, engines.ofa) = (reading, reading);
        charge
    };
    let on = |vram| split(charge(0, COMPUTE, vram, 0.0));
    let mut sure = llama_server();
    (sure.key.pid, sure.pid_match) = (
        41,
        Some(PidMatch {
            foreign_pid: 51_010,
            why: MatchReason::Count,
        }),
    );
    sure.charges = vec![on(matched(9340, InferenceBasis::Count))];
    let mut guess = process(
        57,
        "llama-cli",
        Category::Llm,
        "gguf_header",
        on(matched(1480, InferenceBasis::Order)),
    );
    guess.pid_match = Some(PidMatch {
        foreign_pid: 51_044,
        why: MatchReason::MoreHost,
    });
    let mut tiny = model(
        "m1",
        "Granite-4.0-H-Tiny",
        &[(EvidenceKind::CommandLine, "-m")],
    );
    tiny.architecture = Reading::measured(
        "granitehybrid".into(),
        from(Source::Gguf, "general.architecture"),
    );
    tiny.parameters = Reading::measured(6_939_037_248, from(Source::Gguf, "tensor shapes"));
    tiny.size_on_disk = Reading::measured(Bytes(4_231_245_600), from(Source::Proc, "file size"));
    guess.models = vec![tiny];
    let mut cache = estimate(SegmentKind::Kv, 0, 0, Placement::Unknown);
    cache.bytes = gone(Gap::UnknownArchitecture, Source::Gguf, "granitehybrid");
    guess.segments_estimated = vec![
        estimate(
            SegmentKind::Weights,
            4_223_000_000,
            4_223_000_000,
            Placement::Gpu,
        ),
        estimate(
            SegmentKind::Compute,
            90_000_000,
            310_000_000,
            Placement::Unknown,
        ),
        cache,
    ];
    guess.receipts = receipt::receipts(
        &[(0, Some(Bytes::mib(1480)))],
        &[],
        &guess.segments_estimated,
    );
    guess.server = Some(Server::new(
        "llama-server",
        8081,
        ServerState::KeyRequired,
        Gap::Permission,
        ago(9000),
    ));
    let foreign = |pid, vram| {
        let mut row =
            process(pid, "", Category::Other, "none", on(vram)).unreadable(Gap::OutsideNamespace);
        row.key.space = PidSpace::Host;
        row
    };
    let mut unlisted = process(58, "python3", Category::Ai, "ai_runtime", on(owned(0)));
    unlisted.charges.clear();
    let hidden = gone(Gap::HiddenByDriver, Source::Nvml, LISTED);
    let mut it = snapshot(
        vec![device(0, "NVIDIA RTX 6000 Ada Generation", 49_140, 13_400)],
        vec![
            sure,
            guess,
            foreign(7719, owned(1410)),
            foreign(7800, hidden),
            unlisted,
        ],
    );
    it.mode = Mode::Container;
    it.host.pid_namespace = PidNamespace::Nested;
    it.host.name = None;
    it.sources.push(source(
        "drm.fdinfo",
        SourceState::NotApplicable,
        "no DRM device with usage statistics",
        None,
    ));
    it.notices.push(notice(
        "outside_container",
        Severity::Info,
        "gpu:0",
        "2 GPU processes outside this container",
    ));
    it
}

/// A machine without a GPU that could be read.
pub fn no_gpu() -> Snapshot {
    let mut it = snapshot(Vec::new(), Vec::new());
    it.tick = 1;
    it.sources = vec![
        source(
            "nvml",
            SourceState::Absent,
            "libnvidia-ml.so.1 was not found: /usr/lib/x86_64-linux-gnu, /usr/lib64, /usr/lib/wsl/lib",
            Some("install the NVIDIA driver, or start the container with --gpus all"),
        ),
        source(
            "drm.fdinfo",
            SourceState::Denied,
            "/dev/dri/renderD128 is here but may not be opened by this user",
            Some("add the user to the groups render and video, or run with sudo"),
        ),
        source(
            "amd.sysfs",
            SourceState::NotApplicable,
            "not built yet",
            None,
        ),
    ];
    it
}

/// Every sample with its name.
pub fn all() -> Vec<(&'static str, Snapshot)> {
    vec![
        ("workstation", workstation()),
        ("servers", servers()),
        ("container", container()),
        ("no_gpu", no_gpu()),
        ("hostile", hostile()),
        ("served", served()),
        ("stale", stale()),
        ("radeon", radeon()),
    ]
}
