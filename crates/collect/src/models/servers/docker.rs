//! Docker Model Runner: its runners are llama-servers of another name, on sockets that are no ports; the model runner
//! answers for them.

use model::{EvidenceKind, ModelKind};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named};
use super::ollama::the_runner_s;
use super::spec::{Asking, MODELS_EVERY_MS, Spec, Wish, Word};
use super::talk::Answers;

pub(super) const SPEC: Spec = Spec {
    kind: "Docker Model Runner",
    serves: |subject| ["model-runner", "com.docker.backend"].contains(&&*subject.program()),
    works: |subject| ["com.docker.llama-server", "llama-server"].contains(&&*subject.program()),
    parents: &["model-runner", "com.docker.back"],
    has_levels: false,
    first: &[Endpoint::DockerPs],
    plan: |_, _| vec![(Endpoint::DockerPs, Wish::Ask(MODELS_EVERY_MS))],
    read,
};

fn read(answers: &Answers<'_>, asking: &Asking<'_>, word: &mut Word<'_>) {
    let Some(ps) = answers.ok(Endpoint::DockerPs).filter(|_| !asking.is_server) else {
        return;
    };
    let is_this = ps.count("") == Some(1) && asking.is_only;
    for one in ps.elements("") {
        let Some(name) = ps.text(&format!("{one}.model_name")) else {
            continue;
        };
        word.claims.push(Claim {
            named: if is_this {
                the_runner_s(asking)
            } else {
                Named::Id(name.into())
            },
            kind: Some(EvidenceKind::Api),
            detail: "/engines/ps".into(),
            at: ps.at,
            about: About {
                name: Some(name.into()),
                kind: ps.text(&format!("{one}.mode")).and_then(kind),
                said: ps
                    .said(
                        "last_used",
                        "/engines/ps last_used",
                        &format!("{one}.last_used"),
                    )
                    .into_iter()
                    .collect(),
                must_join: !is_this,
                ..About::default()
            },
        });
    }
}

/// What a runner was started for.
fn kind(mode: &str) -> Option<ModelKind> {
    match mode {
        "completion" => Some(ModelKind::Llm),
        "embedding" => Some(ModelKind::Embedding),
        "reranking" => Some(ModelKind::Reranker),
        _ => None,
    }
}
