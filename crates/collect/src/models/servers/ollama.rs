//! Ollama: the server is the parent of the runners that hold the memory.
//!
//! Its digests are those of manifests and not of files, and it tells no process numbers. So its word is joined to a
//! runner where there is one runner and one model, and else by a name that a store gives to the runner's file.

use model::{Bytes, EvidenceKind, Placement, Reading, SegmentKind, Text};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named, Part};
use super::fields::{Fields, size};
use super::spec::{Asking, MODELS_EVERY_MS, Spec, Subject, Wish, Word};
use super::talk::Answers;

pub(super) const SPEC: Spec = Spec {
    kind: "Ollama",
    serves: |subject| subject.program() == "ollama" && subject.has("serve"),
    works,
    parents: &["ollama"],
    has_levels: false,
    first: &[Endpoint::OllamaPs],
    plan: |_, _| vec![(Endpoint::OllamaPs, Wish::Ask(MODELS_EVERY_MS))],
    read,
};

/// Since 0.30 its runner is a llama-server; MLX models and older versions have runners of its own.
fn works(subject: &Subject<'_>) -> bool {
    let program = subject.program();
    program == "llama-server"
        || program.starts_with("ollama_llama_server")
        || (program == "ollama" && subject.has("runner"))
}

fn read(answers: &Answers<'_>, asking: &Asking<'_>, word: &mut Word<'_>) {
    let Some(ps) = answers.ok(Endpoint::OllamaPs) else {
        return;
    };
    let loaded = ps.count("models");
    let says = loaded.map(|count| ps.says("loaded_models", PS, count.to_string().into()));
    word.server.said.extend(says);
    // The server itself has no model, whatever memory it holds.
    if asking.is_server {
        return;
    }
    let is_this = loaded == Some(1) && asking.is_only;
    for one in ps.elements("models") {
        let Some(name) = ps.text(&format!("{one}.name")) else {
            continue;
        };
        let about = about(&ps, &one, name, asking, is_this);
        word.claims.push(Claim {
            named: if is_this {
                the_runner_s(asking)
            } else {
                Named::Id(name.into())
            },
            kind: Some(EvidenceKind::Api),
            detail: format!("{PS} {name}").into(),
            at: ps.at,
            about,
        });
    }
}

const PS: &str = "/api/ps";

/// The file that the runner was started with; a projector or adapter may lie beside it.
pub(super) fn the_runner_s(asking: &Asking<'_>) -> Named {
    let of_flag = |(flag, path): &(&str, Text)| (*flag == "-m").then(|| path.clone());
    let file = asking.flags.models.iter().find_map(of_flag);
    file.map_or(Named::TheOnly, Named::File)
}

fn about(ps: &Fields<'_>, one: &str, name: &str, asking: &Asking<'_>, is_this: bool) -> About {
    let at = |field: &str| format!("{one}.{field}");
    let on_gpu = ps.number(&at("size_vram"));
    let mut said = vec![ps.says("name", "/api/ps name", name.into())];
    said.extend(ps.said("expires_at", "/api/ps expires_at", &at("expires_at")));
    let quantization = at("details.quantization_level");
    said.extend(ps.said("quantization", "/api/ps details", &quantization));
    let parameters = at("details.parameter_size");
    said.extend(ps.said("parameters", "/api/ps details", &parameters));
    let total = ps.number(&at("size"));
    said.extend(total.map(|bytes| ps.says("size", "/api/ps size", size(Bytes(bytes)).into())));
    let part = on_gpu.map(|bytes| Part {
        kind: SegmentKind::Total,
        bytes: Reading::Known(ps.reported(Bytes(bytes), "/api/ps size_vram")),
        placement: Placement::Gpu,
        device_index: None,
        inputs: total
            .map(|size| ("size", Text::from(size.to_string())))
            .into_iter()
            .collect(),
    });
    let contradiction = || disagreement(Bytes(on_gpu?), asking.measured?);
    About {
        name: Some(name.into()),
        context: ps
            .context(&at("context_length"))
            .map(|tokens| ps.reported(tokens, "/api/ps context_length")),
        parts: part.into_iter().collect(),
        said,
        conflict: is_this.then(contradiction).flatten(),
        must_join: !is_this,
        ..About::default()
    }
}

/// By how much, in parts of a hundred, Ollama's count may be above the measured size: before 0.30 it is an estimate.
const TOLERANCE: u128 = 10;

/// More memory is counted as on the GPU than is measured there.
fn disagreement(counted: Bytes, measured: Bytes) -> Option<Text> {
    let most = u128::from(measured.0) * (100 + TOLERANCE);
    (u128::from(counted.0) * 100 > most).then(|| {
        format!(
            "Ollama counts {} of it on the GPU, but the process is measured to have {} there",
            size(counted),
            size(measured)
        )
        .into()
    })
}
