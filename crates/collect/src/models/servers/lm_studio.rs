//! LM Studio, with its window or as the daemon `llmster`: the server is an ancestor of the process that holds the
//! memory. Only loaded instances are models; the rest of its list is what is installed.

use model::{EvidenceKind, ModelKind, Said};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named};
use super::fields::Fields;
use super::spec::{Asking, MODELS_EVERY_MS, Plan, Spec, Subject, Wish, Word};
use super::talk::Answers;

pub(super) const SPEC: Spec = Spec {
    kind: "LM Studio",
    serves: |subject| is_lm_studio(subject) && !draws(subject),
    works: |subject| is_lm_studio(subject) && !draws(subject) && subject.has_ai_runtime,
    parents: &[
        "lm-studio",
        "LM Studio",
        "llmster",
        "node",
        "LM Studio Helpe",
    ],
    has_levels: true,
    first: &[Endpoint::LmStudioV1, Endpoint::LmStudioV0],
    plan,
    read,
};

fn is_lm_studio(subject: &Subject<'_>) -> bool {
    let Some(program) = subject.arguments.first() else {
        return false;
    };
    let is_its = |part: &str| {
        let part = part.to_ascii_lowercase();
        [".lmstudio", "lm-studio", "lm studio", "llmster"]
            .iter()
            .any(|name| part.starts_with(name))
    };
    program.split(['/', '\\']).any(is_its)
}

/// A process of the window that draws: it has GPU memory and no model.
fn draws(subject: &Subject<'_>) -> bool {
    ["gpu-process", "renderer", "zygote", "broker"]
        .iter()
        .any(|role| subject.option("--type") == Some(role))
}

/// The older interface only where the newer one is not there.
fn plan(answers: &Answers<'_>, _: &Subject<'_>) -> Plan {
    let mut plan = vec![(Endpoint::LmStudioV1, Wish::Ask(MODELS_EVERY_MS))];
    if refuses(answers, Endpoint::LmStudioV1) {
        plan.push((Endpoint::LmStudioV0, Wish::Ask(MODELS_EVERY_MS)));
    }
    plan
}

/// Whether an endpoint is not there, so that the one of another version is tried.
pub(super) fn refuses(answers: &Answers<'_>, endpoint: Endpoint) -> bool {
    use model::EndpointState::{Disabled, NotThere, Unexpected};
    matches!(
        answers.state(endpoint),
        Some(NotThere | Disabled | Unexpected(200..=499))
    )
}

/// A loaded model.
struct Loaded {
    name: String,
    context: Option<u64>,
    kind: Option<ModelKind>,
    said: Vec<Said>,
}

fn read(answers: &Answers<'_>, asking: &Asking<'_>, word: &mut Word<'_>) {
    let (fields, loaded, detail) = if let Some(fields) = answers.ok(Endpoint::LmStudioV1) {
        (fields, newer(&fields), "/api/v1/models loaded_instances")
    } else if let Some(fields) = answers.ok(Endpoint::LmStudioV0) {
        (fields, older(&fields), "/api/v0/models state")
    } else {
        return;
    };
    let count = loaded.len().to_string().into();
    word.server
        .said
        .push(fields.says("loaded_models", detail, count));
    if asking.is_server && !asking.subject.has_ai_runtime {
        return;
    }
    let is_this = loaded.len() == 1 && (asking.is_only || asking.is_server);
    for one in loaded {
        word.claims.push(Claim {
            named: if is_this {
                Named::TheOnly
            } else {
                Named::Id(one.name.as_str().into())
            },
            kind: Some(EvidenceKind::Api),
            detail: detail.into(),
            at: fields.at,
            about: About {
                name: Some(one.name.as_str().into()),
                kind: one.kind,
                context: one.context.map(|tokens| fields.reported(tokens, detail)),
                said: one.said,
                must_join: !is_this,
                ..About::default()
            },
        });
    }
}

fn newer(fields: &Fields<'_>) -> Vec<Loaded> {
    let mut loaded = Vec::new();
    for one in fields.elements("models") {
        let at = |field: &str| format!("{one}.{field}");
        let Some(name) = fields.text(&at("key")) else {
            continue;
        };
        for instance in fields.elements(&at("loaded_instances")) {
            let quantization = at("quantization.name");
            let mut said: Vec<Said> = fields
                .said("quantization", "/api/v1/models quantization", &quantization)
                .into_iter()
                .collect();
            let id = format!("{instance}.id");
            said.extend(fields.said("instance", "/api/v1/models id", &id));
            loaded.push(Loaded {
                name: name.to_owned(),
                context: fields.context(&format!("{instance}.config.context_length")),
                kind: fields.text(&at("type")).and_then(kind),
                said,
            });
        }
    }
    loaded
}

fn older(fields: &Fields<'_>) -> Vec<Loaded> {
    let mut loaded = Vec::new();
    for one in fields.elements("data") {
        let at = |field: &str| format!("{one}.{field}");
        let is_loaded = fields.text(&at("state")) == Some("loaded");
        let Some(name) = fields.text(&at("id")).filter(|_| is_loaded) else {
            continue;
        };
        let quantization = at("quantization");
        loaded.push(Loaded {
            name: name.to_owned(),
            context: fields.context(&at("loaded_context_length")),
            kind: fields.text(&at("type")).and_then(kind),
            said: fields
                .said("quantization", "/api/v0/models quantization", &quantization)
                .into_iter()
                .collect(),
        });
    }
    loaded
}

fn kind(word: &str) -> Option<ModelKind> {
    match word {
        "llm" | "vlm" => Some(ModelKind::Llm),
        "embedding" | "embeddings" => Some(ModelKind::Embedding),
        _ => None,
    }
}
