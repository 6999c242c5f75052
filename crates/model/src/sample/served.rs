//! A machine that serves models: parts in every class, models of every label, all that servers and logs say.

use super::models::{estimate, model};
use super::parts::{COMPUTE, LISTED, ago, charge, device, from, gone, owned, process, snapshot};
use crate::Text;
use crate::gap::Gap;
use crate::process::Process;
use crate::reading::{Provenance, Reading, Reported, Source};
use crate::receipt;
use crate::snapshot::Snapshot;
use crate::units::Bytes;
use crate::workload::{
    Category, Component, EndpointState, EndpointStatus, EvidenceKind, Model, ModelEvent,
    ModelEventKind, ModelKind, Placement, Said, Segment, SegmentKind, Server, ServerState,
};

const fn by(source: Source, counter: &'static str, ms: u32) -> Provenance {
    Provenance {
        at: ago(ms),
        ..from(source, counter)
    }
}

const fn told<T>(value: T, counter: &'static str, ms: u32) -> Reading<Reported<T>> {
    Reading::Known(Reported {
        value,
        by: by(Source::Http, counter, ms),
    })
}

fn said(field: &'static str, value: &str, source: Source, counter: &'static str) -> Said {
    Said {
        field,
        value: value.into(),
        by: by(source, counter, 2000),
    }
}

fn reported(
    model_id: &str,
    kind: SegmentKind,
    mib: u64,
    placement: Placement,
    device_index: Option<u32>,
) -> Segment<Reported<Bytes>> {
    Segment {
        model_id: model_id.into(),
        kind,
        bytes: Reading::Known(Reported {
            value: Bytes::mib(mib),
            by: by(Source::Log, "buffer size", 600_000),
        }),
        placement,
        device_index,
        inputs: vec![("line", format!("CUDA0 {} buffer size", kind.id()).into())],
    }
}

/// The process that holds `mib` on each of `devices`, with its receipts.
fn with_receipts(mut it: Process, sizes: &[(u32, Option<Bytes>)]) -> Process {
    it.receipts = receipt::receipts(sizes, &it.segments_reported, &it.segments_estimated);
    it
}

fn named(id: &str, name: &str, evidence: &[(EvidenceKind, &str)], kind: ModelKind) -> Model {
    Model {
        kind,
        ..model(id, name, evidence)
    }
}

/// A hybrid language model with state, projector and draft model; its log and its server contradict the
/// command line.
fn assistant() -> Process {
    let on = charge(0, COMPUTE, owned(11_900), 83.0);
    let mut it = process(52_110, "llama-server", Category::Llm, "gguf_header", on)
        .with_runtimes(&[("llama.cpp", "libllama.so"), ("CUDA", "libcuda.so.1")]);
    let mut hybrid = named(
        "m1",
        "Granite-4.0-H-Small",
        &[
            (EvidenceKind::Api, ":8080/props model_path"),
            (EvidenceKind::Mapped, "maps"),
            (EvidenceKind::Log, "server.log"),
        ],
        ModelKind::Llm,
    );
    hybrid.architecture =
        Reading::measured("granitehybrid".into(), from(Source::Gguf, "architecture"));
    hybrid.store_names = vec!["granite4:small-h".into(), "ibm/granite-4.0-h-small".into()];
    hybrid.context_used = told(16_384, "/props n_ctx", 2000);
    hybrid.conflict = Some(
        "the command line names /models/old.gguf, the server says granite-4.0-h-small-q4_k_m.gguf"
            .into(),
    );
    hybrid.events = vec![
        ModelEvent {
            kind: ModelEventKind::Loaded,
            wall_us: Some(ago(600_000).wall_us),
            fresh: Some(true),
            log: "server.log".into(),
            bytes: None,
        },
        ModelEvent {
            kind: ModelEventKind::Used,
            wall_us: None,
            fresh: None,
            log: "server.log".into(),
            bytes: None,
        },
    ];
    hybrid.said = vec![said(
        "expires_at",
        "2026-11-30T14:07:33Z",
        Source::Http,
        "/api/ps",
    )];
    let projector = named(
        "m2",
        "Granite-Vision-Projector",
        &[(EvidenceKind::CommandLine, "--mmproj")],
        ModelKind::Projector,
    );
    let draft = named(
        "m3",
        "Granite-4.0-350M",
        &[(EvidenceKind::CommandLine, "--model-draft")],
        ModelKind::Llm,
    );
    it.models = vec![hybrid, projector, draft];
    it.segments_reported = vec![
        reported("m1", SegmentKind::Weights, 8_210, Placement::Gpu, Some(0)),
        reported("m1", SegmentKind::Kv, 1_024, Placement::Gpu, Some(0)),
        reported("m1", SegmentKind::Output, 2, Placement::PinnedHost, None),
    ];
    let mib = |n: u64| n << 20;
    let of = |id: &str, kind, low, high, placement| Segment {
        model_id: id.into(),
        ..estimate(kind, mib(low), mib(high), placement)
    };
    it.segments_estimated = vec![
        of("m1", SegmentKind::Weights, 8_192, 8_192, Placement::Gpu),
        of("m1", SegmentKind::Weights, 288, 288, Placement::Cpu),
        of("m1", SegmentKind::Kv, 1_024, 1_024, Placement::Gpu),
        of("m1", SegmentKind::KvUsed, 194, 194, Placement::Gpu),
        of("m1", SegmentKind::State, 147, 147, Placement::Gpu),
        of("m1", SegmentKind::Compute, 180, 620, Placement::Gpu),
        of("m2", SegmentKind::Projector, 812, 812, Placement::Gpu),
        of("m3", SegmentKind::Draft, 410, 520, Placement::Gpu),
    ];
    it.server = Some(Server {
        answered_by: Some(52_001),
        context: told(16_384, "/props n_ctx", 2000),
        slots: told(4, "/props total_slots", 2000),
        slots_busy: told(1, "/slots is_processing", 2000),
        cached_tokens: told(3_104, "/slots n_prompt_tokens", 2000),
        tokens_per_second: told(41.7, "/slots n_decoded", 9000),
        endpoints: [
            ("/props", EndpointState::Ok),
            ("/slots", EndpointState::Ok),
            ("/metrics", EndpointState::Disabled),
            ("/lora-adapters", EndpointState::NotAsked),
            ("/v1/models", EndpointState::Unexpected(418)),
            ("/health", EndpointState::Failed(Gap::TimedOut)),
        ]
        .map(|(path, state)| EndpointStatus {
            path: path.into(),
            state,
        })
        .to_vec(),
        said: vec![said(
            "build",
            "b11434-4c1d2f",
            Source::Http,
            "/props build_info",
        )],
        ..Server::new(
            "llama-server",
            8080,
            ServerState::Ready,
            Gap::NotFound,
            ago(2000),
        )
    });
    with_receipts(it, &[(0, Some(Bytes::mib(11_900)))])
}

/// A pipeline of several files, of which the runtime tells its pool alone.
fn painter() -> Process {
    let on = charge(0, COMPUTE, owned(6_400), 0.0);
    let mut it = process(53_300, "python3", Category::Diffusion, "cmdline", on)
        .with_runtimes(&[("PyTorch", "libtorch_cuda.so"), ("CUDA", "libcuda.so.1")]);
    let mut flux = named(
        "m1",
        "FLUX.1-schnell",
        &[
            (EvidenceKind::Open, "fd 31"),
            (EvidenceKind::Settings, "extra_model_paths.yaml"),
        ],
        ModelKind::Diffusion,
    );
    flux.format = "safetensors";
    let part = |role: &str, file: &str, mib| Component {
        role: role.into(),
        path: format!("/comfy/models/{role}/{file}").into(),
        format: "safetensors",
        size_on_disk: Reading::measured(Bytes::mib(mib), from(Source::Proc, "file size")),
    };
    flux.components = vec![
        part("transformer", "flux1-schnell-fp8.safetensors", 11_350),
        part("text_encoder", "t5xxl_fp8.safetensors", 4_670),
        Component {
            size_on_disk: gone(Gap::Permission, Source::Proc, "file size"),
            ..part("vae", "ae.safetensors", 0)
        },
    ];
    it.models = vec![flux];
    it.segments_reported = vec![
        reported("m1", SegmentKind::Allocator, 6_016, Placement::Gpu, Some(0)),
        reported("m1", SegmentKind::Total, 6_912, Placement::Unknown, None),
    ];
    with_receipts(it, &[(0, Some(Bytes::mib(6_400)))])
}

/// A server on two devices that says what lies on which, and claims more than is measured on one.
fn spread() -> Process {
    let on = charge(0, COMPUTE, owned(1_900), 4.0);
    let mut it = process(54_020, "VLLM::Worker", Category::Llm, "cmdline", on)
        .with_runtimes(&[("vLLM", "vllm/_C.so"), ("PyTorch", "libtorch_cuda.so")]);
    it.charges.push(charge(1, COMPUTE, owned(20_100), 71.0));
    let mut qwen = named(
        "m1",
        "Qwen3-30B",
        &[(EvidenceKind::Api, ":8000/v1/models")],
        ModelKind::Llm,
    );
    qwen.format = "safetensors";
    it.models = vec![qwen];
    it.segments_reported = vec![
        reported("m1", SegmentKind::Weights, 2_048, Placement::Gpu, Some(0)),
        reported("m1", SegmentKind::Weights, 15_900, Placement::Gpu, Some(1)),
        reported("m1", SegmentKind::Kv, 2_700, Placement::Gpu, Some(1)),
        reported("m1", SegmentKind::Graphs, 410, Placement::Gpu, Some(1)),
    ];
    it.server = Some(Server::new(
        "vLLM",
        8000,
        ServerState::Sleeping,
        Gap::NotFound,
        ago(1000),
    ));
    with_receipts(
        it,
        &[(0, Some(Bytes::mib(1_900))), (1, Some(Bytes::mib(20_100)))],
    )
}

/// A model that only a log tells of, one that is only installed, and a kind that only a name hints at.
fn dictation() -> Process {
    let hidden = gone(Gap::HiddenByDriver, Source::Nvml, LISTED);
    let on = charge(0, COMPUTE, hidden, 0.0);
    let mut it = process(55_004, "handy", Category::Speech, "exe_name", on);
    let mut parakeet = named(
        "m1",
        "parakeet-tdt-0.6b",
        &[(EvidenceKind::Log, "handy.log")],
        ModelKind::Speech,
    );
    parakeet.events = vec![
        ModelEvent {
            kind: ModelEventKind::Loaded,
            wall_us: Some(ago(800_000).wall_us),
            fresh: Some(true),
            log: "handy.log".into(),
            bytes: None,
        },
        ModelEvent {
            kind: ModelEventKind::Unloaded,
            wall_us: Some(ago(300_000).wall_us),
            fresh: Some(true),
            log: "handy.log".into(),
            bytes: None,
        },
    ];
    let mut laya = named(
        "m2",
        "laya-small",
        &[(EvidenceKind::Installed, "models folder")],
        ModelKind::Unknown,
    );
    laya.kind_hint = Some(ModelKind::Decision);
    for model in [&mut parakeet, &mut laya] {
        let nothing =
            || gone::<crate::reading::Measured<Text>>(Gap::NotFound, Source::ModelFile, "no file");
        model.architecture = nothing();
        model.quantization = nothing();
    }
    it.models = vec![parakeet, laya];
    it.server_unasked = Some(Gap::OtherNetwork);
    it
}

/// Two GPUs that serve models.
pub fn served() -> Snapshot {
    snapshot(
        vec![
            device(0, "NVIDIA GeForce RTX 4090", 24_564, 20_900),
            device(1, "NVIDIA GeForce RTX 4090", 24_564, 20_400),
        ],
        vec![assistant(), painter(), spread(), dictation()],
    )
}
