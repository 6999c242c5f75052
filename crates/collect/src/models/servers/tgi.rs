//! text-generation-inference. It is asked where the process with GPU memory listens itself; in the usual
//! arrangement the router that listens is its sibling, which is nobody's known parent.

use model::{EvidenceKind, ModelKind};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named};
use super::fields::set;
use super::spec::{Asking, MODELS_EVERY_MS, Spec, Subject, Wish, Word, without_ending};
use super::talk::Answers;

pub(super) const SPEC: Spec = Spec {
    kind: "text-generation-inference",
    serves: |subject| is_its(subject),
    works: |subject| is_its(subject),
    parents: &[
        "text-generation",
        "text-generation-launcher",
        "text-generation-router",
    ],
    has_levels: false,
    first: &[Endpoint::TgiInfo],
    plan: |_, _| vec![(Endpoint::TgiInfo, Wish::Ask(MODELS_EVERY_MS))],
    read,
};

/// Its programs. Others begin as they do, such as text-generation-webui.
const PROGRAMS: [&str; 3] = [
    "text-generation-launcher",
    "text-generation-router",
    "text-generation-server",
];

fn is_its(subject: &Subject<'_>) -> bool {
    let mut names = subject.leading();
    names.any(|name| PROGRAMS.contains(&without_ending(&name)))
}

fn read(answers: &Answers<'_>, _: &Asking<'_>, word: &mut Word<'_>) {
    let Some(info) = answers.ok(Endpoint::TgiInfo) else {
        return;
    };
    let Word { server, claims } = word;
    let context = info.context("max_total_tokens");
    let context = context.map(|tokens| info.reported(tokens, "/info max_total_tokens"));
    set(&mut server.context, context);
    // What it takes at once before it refuses: those that wait count too, so it is no number of slots.
    server.said.extend(info.said(
        "request_limit",
        "/info max_concurrent_requests",
        "max_concurrent_requests",
    ));
    server
        .said
        .extend(info.said("version", "/info version", "version"));
    let Some(id) = info.text("model_id") else {
        return;
    };
    claims.push(Claim {
        named: Named::Id(id.into()),
        kind: Some(EvidenceKind::Api),
        detail: "/info model_id".into(),
        at: info.at,
        about: About {
            // It serves models that generate text, and no others.
            kind: Some(ModelKind::Llm),
            context,
            said: info
                .said("type", "/info model_dtype", "model_dtype")
                .into_iter()
                .collect(),
            ..About::default()
        },
    });
}
