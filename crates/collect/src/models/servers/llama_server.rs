//! llama-server, alone and as a router, and what is built on it: llamafile, Jan's, Ollama's and Docker's runners.
//!
//! `/props` neither wakes it nor resets anything. `/slots` does two things that a monitor must not do: it loads the
//! model of a sleeping server, and it starts the time anew after which an idle one falls asleep. So it is asked only
//! where that is certain to do no harm: of a build that knows no sleep, or of a program that is llama-server itself,
//! whose words and environment were read and set no limit ([`Flags::never_sleeps`]); never of one that has been seen
//! asleep; and each time right after `/props` has said again that it is awake. A router is never asked with a model's
//! name: that would load the model.
//!
//! [`Flags::never_sleeps`]: super::super::flags::Flags::never_sleeps

use std::collections::BTreeMap;

use model::{EndpointState, EvidenceKind, Gap, Reading, ServerState};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named};
use super::fields::{Fields, from, per_second, set};
use super::spec::{
    Asking, LOAD_EVERY_MS, MODELS_EVERY_MS, Plan, Spec, Subject, Wish, Word, never, without_ending,
};
use super::talk::Answers;

/// Tokens in one slot; more are no tokens.
const MAX_TOKENS: u64 = 1 << 32;

/// Models of a router that are named.
const MAX_NAMED: usize = 64;

pub(super) const SPEC: Spec = Spec {
    kind: "llama-server",
    serves,
    works: never,
    parents: &[],
    has_levels: false,
    first: &[Endpoint::LlamaProps],
    plan,
    read,
};

fn serves(subject: &Subject<'_>) -> bool {
    let program = subject.program();
    // Ollama's own engine speaks another interface under a name like it.
    if program.starts_with("ollama") {
        return false;
    }
    subject.leading().any(|name| is_its_name(&name))
        || program.ends_with(".llamafile")
        || program == "llamafile"
        || (program == "llama" && subject.arguments.get(1).is_some_and(|it| **it == *"serve"))
}

/// The whole name, be it a program's or a script's. What only has it in it is another program.
fn is_its_name(name: &str) -> bool {
    let stem = without_ending(name);
    matches!(
        stem,
        "llama-server" | "llama_server" | "com.docker.llama-server"
    )
}

fn plan(answers: &Answers<'_>, subject: &Subject<'_>) -> Plan {
    let mut plan = vec![(Endpoint::LlamaProps, Wish::Ask(MODELS_EVERY_MS))];
    let Some(props) = answers.ok(Endpoint::LlamaProps) else {
        return plan;
    };
    if props.text("role") == Some("router") {
        plan.push((Endpoint::LlamaModels, Wish::Ask(MODELS_EVERY_MS)));
        plan.push((Endpoint::LlamaSlots, Wish::Not(EndpointState::NotAsked)));
        return plan;
    }
    // A build that does not say which it is may do anything when asked.
    let is_known = props.has("build_info");
    let wish = if props.flag("endpoint_slots") == Some(false) {
        Wish::Not(EndpointState::Disabled)
    } else if answers.has_slept || !is_known || !(subject.never_sleeps || knows_no_sleep(&props)) {
        Wish::Not(EndpointState::NotAsked)
    } else {
        Wish::After(Endpoint::LlamaProps, LOAD_EVERY_MS)
    };
    plan.push((Endpoint::LlamaSlots, wish));
    plan
}

/// Builds that can sleep say whether they do.
fn knows_no_sleep(props: &Fields<'_>) -> bool {
    !props.has("is_sleeping")
}

fn read(answers: &Answers<'_>, _: &Asking<'_>, word: &mut Word<'_>) {
    let Some(props) = answers.ok(Endpoint::LlamaProps) else {
        return;
    };
    let Word { server, claims } = word;
    server
        .said
        .extend(props.said("build", "/props build_info", "build_info"));
    if props.text("role") == Some("router") {
        server.state = ServerState::Router;
        if let Some(models) = answers.ok(Endpoint::LlamaModels) {
            for one in models.elements("data").take(MAX_NAMED) {
                let id = models.text(&format!("{one}.id"));
                let state = models.text(&format!("{one}.status.value"));
                let Some(id) = id else { continue };
                let words = format!("{id}: {}", state.unwrap_or("state unknown"));
                let counter = "/v1/models status";
                server
                    .said
                    .push(models.says("model", counter, words.into()));
            }
        }
        return;
    }
    let is_sleeping = props.flag("is_sleeping") == Some(true);
    if is_sleeping {
        server.state = ServerState::Sleeping;
    }
    let context = props.context("default_generation_settings.n_ctx");
    set(
        &mut server.context,
        context.map(|tokens| props.reported(tokens, "/props n_ctx")),
    );
    let slots = props.slots("total_slots");
    set(
        &mut server.slots,
        slots.map(|slots| props.reported(slots, "/props total_slots")),
    );
    if let Some(path) = props.text("model_path") {
        claims.push(Claim {
            named: Named::File(path.into()),
            // A sleeping server names the model that it would load.
            kind: (!is_sleeping).then_some(EvidenceKind::Api),
            detail: "/props model_path".into(),
            at: props.at,
            about: About {
                said: ["model_alias", "model_alias[0]"]
                    .iter()
                    .filter_map(|path| props.said("alias", "/props model_alias", path))
                    .collect(),
                ..About::default()
            },
        });
    }
    if is_sleeping {
        return;
    }
    let Some(slots) = answers.ok(Endpoint::LlamaSlots) else {
        return;
    };
    let all = Slot::all(&slots);
    let busy = all.iter().filter(|slot| slot.is_busy).count() as u64;
    set(
        &mut server.slots_busy,
        Some(slots.reported(busy, "/slots is_processing")),
    );
    server.cached_tokens = match cached(&all) {
        Some(tokens) => Reading::Known(slots.reported(tokens, CACHED)),
        // Builds before May 2026 do not tell.
        None => Reading::missing(Gap::NotFound, from(CACHED, slots.at)),
    };
    let before = answers.before(Endpoint::LlamaSlots);
    server.tokens_per_second = match before.map(|before| speed(&before, &slots, &all)) {
        None => Reading::missing(Gap::FirstSample, from(SPEED, slots.at)),
        Some(None) => Reading::missing(Gap::NoBaseline, from(SPEED, slots.at)),
        Some(Some(speed)) => Reading::Known(slots.reported(speed, SPEED)),
    };
}

const CACHED: &str = "/slots sum of n_prompt_tokens";
const SPEED: &str = "/slots differences of n_decoded";

/// One slot of the server.
struct Slot {
    id: Option<u64>,
    is_busy: bool,
    /// The request it works on or has worked on last; `None` before its first.
    task: Option<u64>,
    /// Tokens in its part of the cache: prompt and what was generated after it.
    tokens: Option<u64>,
    decoded: Option<u64>,
}

impl Slot {
    fn all(slots: &Fields<'_>) -> Vec<Self> {
        slots
            .elements("")
            .map(|one| {
                let number = |name: &str| slots.number(&format!("{one}.{name}"));
                Self {
                    id: number("id"),
                    is_busy: slots.flag(&format!("{one}.is_processing")) == Some(true),
                    task: number("id_task"),
                    tokens: number("n_prompt_tokens").filter(|tokens| *tokens <= MAX_TOKENS),
                    decoded: number("next_token[0].n_decoded")
                        .or_else(|| number("next_token.n_decoded")),
                }
            })
            .collect()
    }
}

/// Tokens in the cache: an idle slot keeps those of its last request, and one that never had any has none.
fn cached(slots: &[Slot]) -> Option<u64> {
    let of = |slot: &Slot| match (slot.tokens, slot.task) {
        (Some(tokens), _) => Some(tokens),
        (None, None) if !slot.is_busy => Some(0),
        (None, _) => None,
    };
    (!slots.is_empty()).then_some(())?;
    slots.iter().map(of).sum()
}

/// Tokens generated per second by all slots; `None` where a request came or went in between, whose last tokens
/// nobody has counted.
fn speed(before: &Fields<'_>, now: &Fields<'_>, slots: &[Slot]) -> Option<f64> {
    let old: BTreeMap<Option<u64>, Slot> = Slot::all(before)
        .into_iter()
        .map(|slot| (slot.id, slot))
        .collect();
    let mut sum = 0.0;
    for slot in slots {
        let was = old.get(&slot.id)?;
        if was.task != slot.task || was.is_busy != slot.is_busy {
            return None;
        }
        if slot.is_busy {
            let count = |slot: &Slot| u32::try_from(slot.decoded?).ok().map(f64::from);
            sum += per_second((before.at, count(was)?), (now.at, count(slot)?))?;
        }
    }
    (!slots.is_empty()).then_some(sum)
}
