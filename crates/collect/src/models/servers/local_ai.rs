//! LocalAI: each model is a process of a backend, whose number it tells.

use model::{Bytes, EvidenceKind, Placement, Reading, SegmentKind};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named, Part};
use super::spec::{Asking, MODELS_EVERY_MS, Spec, Wish, Word};
use super::talk::Answers;

pub(super) const SPEC: Spec = Spec {
    kind: "LocalAI",
    serves: |subject| is_local_ai(&subject.program()),
    // Any child of it may be a backend: what it says is attached by number only.
    works: |_| true,
    parents: &["local-ai", "localai"],
    has_levels: false,
    first: &[Endpoint::LocalAiSystem],
    plan: |_, _| vec![(Endpoint::LocalAiSystem, Wish::Ask(MODELS_EVERY_MS))],
    read,
};

fn is_local_ai(program: &str) -> bool {
    ["local-ai", "localai"].contains(&program)
}

fn read(answers: &Answers<'_>, asking: &Asking<'_>, word: &mut Word<'_>) {
    let Some(system) = answers.ok(Endpoint::LocalAiSystem) else {
        return;
    };
    let count = system.count("loaded_models");
    let says = |count: u64| system.says("loaded_models", "/system", count.to_string().into());
    word.server.said.extend(count.map(says));
    for one in system.elements("loaded_models") {
        let at = |field: &str| format!("{one}.{field}");
        // The number is one of its own namespace. In another one it is hardly that of a child of the same server.
        let is_this = system.number(&at("process.pid")) == Some(u64::from(asking.who.pid));
        let Some(id) = system.text(&at("id")).filter(|_| is_this) else {
            continue;
        };
        let part = system.number(&at("size_vram")).filter(|bytes| *bytes > 0);
        let part = part.map(|bytes| Part {
            kind: SegmentKind::Total,
            bytes: Reading::Known(system.reported(Bytes(bytes), "/system size_vram")),
            placement: Placement::Gpu,
            device_index: None,
            inputs: Vec::new(),
        });
        word.claims.push(Claim {
            named: Named::TheOnly,
            kind: Some(EvidenceKind::Api),
            detail: "/system process.pid".into(),
            at: system.at,
            about: About {
                name: Some(id.into()),
                parts: part.into_iter().collect(),
                said: system
                    .said("backend", "/system backend", &at("backend"))
                    .into_iter()
                    .collect(),
                ..About::default()
            },
        });
    }
}
