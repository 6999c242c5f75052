//! Models and model servers of the samples.

use super::parts::{COMPUTE, ago, charge, from, gone, owned, process};
use crate::gap::Gap;
use crate::process::Process;
use crate::reading::{Estimated, Measured, Method, Provenance, Reading, Reported, Source};
use crate::receipt;
use crate::units::Bytes;
use crate::workload::{
    Category, Evidence, EvidenceKind, EvidenceLabel, Model, ModelKind, Placement, Segment,
    SegmentKind, Server, ServerState,
};

pub(super) fn model(id: &str, name: &str, evidence: &[(EvidenceKind, &str)]) -> Model {
    fn header<T>(value: T, key: &'static str) -> Reading<Measured<T>> {
        Reading::measured(value, from(Source::Gguf, key))
    }
    Model {
        id: id.into(),
        name: name.into(),
        store_names: Vec::new(),
        path: Reading::measured(
            format!("/models/{}-q4_k_m.gguf", name.to_lowercase()).into(),
            from(Source::Proc, "maps"),
        ),
        format: "gguf",
        size_on_disk: Reading::measured(Bytes(9_001_752_960), from(Source::Proc, "file size")),
        architecture: header("qwen3".into(), "general.architecture"),
        quantization: header("Q4_K_M".into(), "general.file_type"),
        parameters: header(14_768_307_200, "tensor shapes"),
        layers: header(40, "block_count"),
        context_trained: header(40_960, "context_length"),
        context_requested: gone(Gap::NotFound, Source::CommandLine, "-c"),
        context_used: gone(Gap::NotFound, Source::Http, "/props"),
        kind: ModelKind::Llm,
        kind_hint: None,
        conflict: None,
        events: Vec::new(),
        log_unused: None,
        components: Vec::new(),
        said: Vec::new(),
        label: EvidenceLabel::of(evidence.iter().map(|(kind, _)| *kind)),
        evidence: evidence
            .iter()
            .map(|&(kind, detail)| Evidence {
                kind,
                detail: detail.into(),
                at: ago(1500),
            })
            .collect(),
    }
}

pub(super) fn estimate(
    kind: SegmentKind,
    low: u64,
    high: u64,
    placement: Placement,
) -> Segment<Estimated<Bytes>> {
    Segment {
        model_id: "m1".into(),
        kind,
        bytes: Reading::Known(Estimated {
            low: Bytes(low),
            high: Bytes(high),
            method: Method::ModelFile,
            from: from(Source::Gguf, "tensor shapes and keys"),
        }),
        placement,
        device_index: None,
        inputs: vec![("context", "8192".into()), ("kv_type_k", "f16".into())],
    }
}

/// The llama.cpp server with one model about which everything is known.
pub(super) fn llama_server() -> Process {
    let on = charge(0, COMPUTE, owned(9340), 96.0);
    let mut it = process(41822, "llama-server", Category::Llm, "gguf_header", on)
        .with_runtimes(&[("llama.cpp", "libllama.so"), ("CUDA", "libcuda.so.1")]);
    let props = |value, counter| {
        Reading::Known(Reported {
            value,
            by: Provenance {
                at: ago(2000),
                ..from(Source::Http, counter)
            },
        })
    };
    let mut qwen = model(
        "m1",
        "Qwen3-14B",
        &[
            (EvidenceKind::Api, ":8080/props model_path"),
            (EvidenceKind::Mapped, "/models/qwen3-14b-q4_k_m.gguf"),
            (EvidenceKind::CommandLine, "-m"),
        ],
    );
    qwen.context_requested = Reading::measured(8192, from(Source::CommandLine, "-c"));
    qwen.context_used = props(8192, "/props n_ctx");
    let file = "/models/qwen3-14b-q4_k_m.gguf";
    it.command_line = Reading::measured(
        ["llama-server", "-m", file, "-c", "8192"]
            .map(Into::into)
            .to_vec(),
        from(Source::Proc, "cmdline"),
    );
    it.ports = Reading::measured(vec![8080], from(Source::Proc, "net/tcp"));
    it.models = vec![qwen];
    it.segments_reported = vec![Segment {
        model_id: "m1".into(),
        kind: SegmentKind::Weights,
        bytes: Reading::Known(Reported {
            value: Bytes(7_451_835_760),
            by: Provenance {
                at: ago(600_000),
                ..from(Source::Http, "/props")
            },
        }),
        placement: Placement::Gpu,
        device_index: Some(0),
        inputs: Vec::new(),
    }];
    it.segments_estimated = vec![
        estimate(
            SegmentKind::Kv,
            1_342_177_280,
            1_342_177_280,
            Placement::Gpu,
        ),
        estimate(
            SegmentKind::Compute,
            120_000_000,
            330_000_000,
            Placement::Gpu,
        ),
    ];
    it.receipts = receipt::receipts(
        &[(0, Some(Bytes::mib(9340)))],
        &it.segments_reported,
        &it.segments_estimated,
    );
    it.server = Some(Server {
        context: props(8192, "/props n_ctx"),
        slots: props(1, "/props total_slots"),
        ..Server::new(
            "llama-server",
            8080,
            ServerState::Ready,
            Gap::NotFound,
            ago(2000),
        )
    });
    it
}
