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
mod instances;
mod parts;
mod radeon;
mod requirement;
mod served;

use crate::device::Device;
use crate::gap::Gap;
use crate::ids::PidSpace;
use crate::matching::{MatchReason, PidMatch};
use crate::mig::MigMode;
use crate::process::{Charge, ChargedBytes, Process};
use crate::reading::{InferenceBasis, Measured, Reading, Source};
use crate::receipt;
use crate::snapshot::{Mode, PidNamespace, ScanState, Severity, Snapshot, SourceState};
use crate::units::{Bytes, Celsius, Percent, Watts};
use crate::workload::{Category, EvidenceKind, Placement, SegmentKind, Server, ServerState};
use parts::{
    BOTH, COMPUTE, GRAPHICS, LISTED, charge, device, estimate, from, gone, llama_server, load,
    matched, model, notice, nvml, owned, process, snapshot, source,
};

pub use parts::{AT, ago};
pub use radeon::radeon;
pub use requirement::{fit, inspection};
pub use served::served;

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

/// Untrusted text everywhere: escapes, line breaks, direction overrides, wide and long names; and
/// numbers that cannot be drawn.
pub fn hostile() -> Snapshot {
    let names = [
        "\u{1b}[31mred\u{7}\u{1b}]0;title\u{7}",
        "abc\u{202e}txt.exe\u{2066}\u{200f}",
        "line\nbreak\ttab\r",
        "\u{8d85}\u{9577}\u{3044}\u{540d}\u{524d}\u{306e}\u{51e6}\u{7406}\u{7a0b}\u{5e8f}",
        "e\u{301}\u{301}\u{301}\u{301}\u{301}mile\u{200d}\u{feff}\u{1f469}\u{200d}\u{1f680}",
        "",
        "\u{9b}2J\u{85}\u{2028}after",
    ];
    let mut processes: Vec<Process> = names
        .iter()
        .zip(200_u32..)
        .map(|(name, pid)| {
            let on = charge(0, COMPUTE, owned(u64::from(pid)), 5.0);
            process(pid, name, Category::Other, "none", on)
        })
        .collect();
    if let Some(first) = processes.first_mut() {
        let long = "\u{540d}very-long-model-name\u{202e}-".repeat(12);
        first.models = vec![model(
            "m1",
            &long,
            &[(EvidenceKind::Open, "\u{1b}[2J/models/\nx.gguf")],
        )];
        first.category = Category::Llm;
        first.models.iter_mut().for_each(|model| {
            model.quantization = nvml("Q4\u{1b}[0m\n_K".into(), "general.file_type");
        });
    }
    if let Some(second) = processes.get_mut(1) {
        second.container = containers::hostile();
    }
    if let Some(charge) = processes
        .last_mut()
        .and_then(|process| process.charges.last_mut())
    {
        charge.memory.vram = Reading::Known(ChargedBytes::Measured(Measured {
            value: Bytes(u64::MAX),
            from: from(Source::Nvml, LISTED),
        }));
        charge.engines.busiest = load(Percent(f64::NAN), "nvmlDeviceGetProcessUtilization");
    }
    let mut only = device(
        0,
        "GPU \u{1b}[1m\u{202e}\u{5de8}\u{5927}\n\u{5de8}\u{5927}",
        16_376,
        9000,
    );
    only.gpu = nvml(Percent(f64::INFINITY), "nvmlDeviceGetUtilizationRates.gpu");
    only.power = nvml(Watts(f64::NAN), "nvmlDeviceGetPowerUsage");
    only.temperature = nvml(Celsius(-5.0), "nvmlDeviceGetTemperature");
    only.categories_normalized = true;
    let mut it = snapshot(vec![only], processes);
    it.host.name = Some("host\u{7}\nname\u{202e}".into());
    it.notices.push(notice(
        "memory_adds_up_to_more",
        Severity::Warning,
        "gpu:0\n",
        "rows \u{1b}[5madd up\nto more than the driver's figure",
    ));
    it
}

/// A driver that last answered 7 s ago: old figures, one row whose load is pending, a total that is
/// missing with the driver's own code, and a partial list.
pub fn stale() -> Snapshot {
    let on = |mib| charge(0, COMPUTE, owned(mib), 40.0);
    let mut it = snapshot(
        vec![device(0, "NVIDIA L40S", 46_068, 9001)],
        vec![
            process(700, "trainer", Category::Training, "cmdline", on(8000)),
            process(701, "python3", Category::Ai, "runtime", on(900)),
        ],
    );
    for device in &mut it.devices {
        let memory = &mut device.memory;
        let readings = [&mut memory.used, &mut memory.free, &mut memory.reserved];
        readings.into_iter().for_each(age);
        let loads = [
            &mut device.gpu,
            &mut device.memory_activity,
            &mut device.encoder,
        ];
        loads.into_iter().for_each(age);
        if let Reading::Known(rest) = &mut memory.unattributed {
            rest.from.at = ago(7000);
        }
        age(&mut device.temperature);
        age(&mut device.core_clock);
        memory.total = gone(
            Gap::DriverError(999),
            Source::Nvml,
            "nvmlDeviceGetMemoryInfo_v2",
        );
        device.power = gone(Gap::TimedOut, Source::Nvml, "nvmlDeviceGetPowerUsage");
        device.power_limit = gone(
            Gap::Pending,
            Source::Nvml,
            "nvmlDeviceGetEnforcedPowerLimit",
        );
        device.pcie_rx = gone(Gap::Stale, Source::Nvml, "nvmlDeviceGetPcieThroughput(RX)");
        device.pcie_tx = gone(
            Gap::FirstSample,
            Source::Nvml,
            "nvmlDeviceGetPcieThroughput(TX)",
        );
        device.counter_status = "no answer for 7 s; the figures are from before".into();
    }
    for charge in it
        .processes
        .iter_mut()
        .flat_map(|process| &mut process.charges)
    {
        if let Reading::Known(ChargedBytes::Measured(measured)) = &mut charge.memory.vram {
            measured.from.at = ago(7000);
        }
        charge.engines.busiest = gone(
            Gap::Pending,
            Source::Nvml,
            "nvmlDeviceGetProcessUtilization",
        );
        charge.engines.compute = charge.engines.busiest;
    }
    it.process_status.scan = ScanState::Partial;
    it.sources = vec![source(
        "nvml",
        SourceState::TimedOut,
        "libnvidia-ml.so.1 has not answered for 7 s",
        Some("look into the kernel log for the driver"),
    )];
    it.notices.push(notice(
        "driver_hung",
        Severity::Warning,
        "gpu:0",
        "the driver has not answered since 14:02:26 UTC",
    ));
    it.pending = true;
    it
}

fn age<T>(reading: &mut Reading<Measured<T>>) {
    if let Reading::Known(measured) = reading {
        measured.from.at = ago(7000);
    }
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
