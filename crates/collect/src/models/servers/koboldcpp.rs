//! koboldcpp. It emulates Ollama, so what it says it is comes first.

use model::{EvidenceKind, ModelKind, ServerState};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named};
use super::fields::set;
use super::ollama::the_runner_s;
use super::spec::{
    Asking, FIXED_EVERY_MS, LOAD_EVERY_MS, MODELS_EVERY_MS, Plan, Spec, Subject, Wish, Word, never,
    without_ending,
};
use super::talk::Answers;

pub(super) const SPEC: Spec = Spec {
    kind: "koboldcpp",
    serves: |subject| {
        // Programs carry their build in the name, scripts do not.
        subject.program().starts_with("koboldcpp")
            || subject
                .leading()
                .any(|name| without_ending(&name) == "koboldcpp")
    },
    works: never,
    parents: &[],
    has_levels: false,
    first: &[Endpoint::KoboldVersion],
    plan,
    read,
};

fn is_kobold(answers: &Answers<'_>) -> bool {
    let version = answers.ok(Endpoint::KoboldVersion);
    version.is_some_and(|it| it.text("result") == Some("KoboldCpp"))
}

fn plan(answers: &Answers<'_>, _: &Subject<'_>) -> Plan {
    let mut plan = vec![(Endpoint::KoboldVersion, Wish::Ask(FIXED_EVERY_MS))];
    if is_kobold(answers) {
        plan.push((Endpoint::KoboldModel, Wish::Ask(MODELS_EVERY_MS)));
        plan.push((Endpoint::KoboldContext, Wish::Ask(MODELS_EVERY_MS)));
        plan.push((Endpoint::KoboldPerf, Wish::Ask(LOAD_EVERY_MS)));
    }
    plan
}

fn read(answers: &Answers<'_>, asking: &Asking<'_>, word: &mut Word<'_>) {
    let Word { server, claims } = word;
    if !is_kobold(answers) {
        // Somebody else on its port.
        server.state = ServerState::NotRecognised;
        return;
    }
    if let Some(version) = answers.ok(Endpoint::KoboldVersion) {
        let said = version.said("version", "/api/extra/version", "version");
        server.said.extend(said);
    }
    let context = answers.ok(Endpoint::KoboldContext).and_then(|it| {
        let tokens = it.context("value")?;
        Some(it.reported(tokens, "/api/extra/true_max_context_length"))
    });
    set(&mut server.context, context);
    if let Some(perf) = answers.ok(Endpoint::KoboldPerf) {
        // One request at a time.
        let busy = match perf.number("idle") {
            Some(0) => Some(1),
            Some(1) => Some(0),
            _ => None,
        };
        set(
            &mut server.slots_busy,
            busy.map(|busy| perf.reported(busy, "/api/extra/perf idle")),
        );
        let speed = perf.float("last_eval_speed");
        set(
            &mut server.tokens_per_second,
            speed.map(|speed| perf.reported(speed, "/api/extra/perf last_eval_speed")),
        );
        server
            .said
            .extend(perf.said("queue", "/api/extra/perf queue", "queue"));
    }
    let Some(model) = answers.ok(Endpoint::KoboldModel) else {
        return;
    };
    // "inactive" is what it says without a model.
    let name = model
        .text("result")
        .and_then(|it| it.strip_prefix("koboldcpp/"))
        .filter(|name| !name.is_empty() && *name != "inactive");
    let Some(name) = name else { return };
    claims.push(Claim {
        named: match the_runner_s(asking) {
            Named::TheOnly => Named::Id(name.into()),
            file => file,
        },
        kind: Some(EvidenceKind::Api),
        detail: "/api/v1/model".into(),
        at: model.at,
        about: About {
            name: Some(name.into()),
            // Under this path it names its model for text; those for images have others.
            kind: Some(ModelKind::Llm),
            context,
            ..About::default()
        },
    });
}
