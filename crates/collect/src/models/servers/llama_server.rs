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

use model::{
    EndpointState, EvidenceKind, Gap, Reading, Reported, Server, ServerState, Stamp, Text,
};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named};
use super::fields::{Fields, from, per_second};
use super::spec::{
    Asking, LOAD_EVERY_MS, MODELS_EVERY_MS, Plan, Spec, Subject, Wish, Word, never, without_ending,
};
use super::talk::Answers;

/// Tokens in one slot; more are no tokens.
const MAX_TOKENS: u64 = 1 << 32;

/// More slots are none that llama.cpp has: it knows 256 sequences at once.
const MAX_SLOTS: u64 = 1024;

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
    let path = "default_generation_settings.n_ctx";
    server.context = props.told(path, "/props n_ctx", props.context(path));
    let path = "total_slots";
    let slots = props.slots(path).filter(|slots| *slots <= MAX_SLOTS);
    server.slots = props.told(path, "/props total_slots", slots);
    let mut conflict = None;
    // A sleeping server has nothing in its slots.
    if !is_sleeping && let Some(slots) = answers.ok(Endpoint::LlamaSlots) {
        let before = answers.before(Endpoint::LlamaSlots);
        conflict = read_slots(server, &slots, before.as_ref());
    }
    let Some(path) = props.text("model_path") else {
        return;
    };
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
            conflict,
            ..About::default()
        },
    });
}

/// What the slots tell; a sentence where they contradict each other or what `/props` says.
fn read_slots(
    server: &mut Server,
    slots: &Fields<'_>,
    before: Option<&Fields<'_>>,
) -> Option<Text> {
    let missing = |gap, counter| from_gap(gap, counter, slots.at);
    let all = match Slot::all(slots) {
        Ok(all) => all,
        Err(gap) => {
            server.slots_busy = missing(gap, BUSY);
            server.cached_tokens = missing(gap, CACHED);
            server.tokens_per_second = Reading::missing(gap, from(SPEED, slots.at));
            return None;
        }
    };
    let told = |reading: &Reading<Reported<u64>>| reading.known().map(|it| it.value);
    let (context, total) = (told(&server.context), told(&server.slots));
    let of = |value: Result<u64, Gap>, counter| match value {
        Ok(value) => Reading::Known(slots.reported(value, counter)),
        Err(gap) => missing(gap, counter),
    };
    let busy = busy(&all);
    // More than there are cannot be at work.
    let can_be = |busy: u64| total.is_none_or(|total| busy <= total);
    let shown = busy.and_then(|busy| can_be(busy).then_some(busy).ok_or(Gap::Implausible));
    server.slots_busy = of(shown, BUSY);
    let cached = cached(&all);
    let room = context
        .zip(total)
        .map(|(context, total)| context.saturating_mul(total));
    let fits = |tokens: u64| room.is_none_or(|room| tokens <= room);
    let shown = cached.and_then(|tokens| fits(tokens).then_some(tokens).ok_or(Gap::Implausible));
    server.cached_tokens = of(shown, CACHED);
    server.tokens_per_second = match before.map(|before| speed(before, slots, &all)) {
        None => Reading::missing(Gap::FirstSample, from(SPEED, slots.at)),
        Some(None) => Reading::missing(Gap::NoBaseline, from(SPEED, slots.at)),
        Some(Some(speed)) => Reading::Known(slots.reported(speed, SPEED)),
    };
    let listed = all.len() as u64;
    let counts = total
        .filter(|total| *total != listed)
        .map(|total| format!("/props tells of {total} slots, /slots lists {listed}"));
    let other = all.iter().filter_map(|slot| slot.context);
    let contexts = context
        .and_then(|context| Some((context, other.into_iter().find(|it| *it != context)?)))
        .map(|(context, other)| {
            format!("/props tells of {context} tokens of context in a slot, /slots of {other}")
        });
    let tokens = cached
        .ok()
        .zip(room)
        .filter(|(tokens, room)| tokens > room)
        .map(|(tokens, room)| {
            format!("/slots tells of {tokens} tokens in the cache, which has room for {room}")
        });
    let all: Vec<String> = [counts, contexts, tokens].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; ").into())
}

fn from_gap(gap: Gap, counter: &'static str, at: Stamp) -> Reading<Reported<u64>> {
    Reading::missing(gap, from(counter, at))
}

const BUSY: &str = "/slots is_processing";
const CACHED: &str = "/slots sum of n_prompt_tokens";
const SPEED: &str = "/slots differences of n_decoded";

/// One slot of the server. What is there and cannot be is [`Gap::Malformed`], what is not there [`Gap::NotFound`].
struct Slot {
    id: Option<u64>,
    context: Option<u64>,
    is_busy: Result<bool, Gap>,
    /// The request it works on or has worked on last; missing before its first.
    task: Result<u64, Gap>,
    /// Tokens in its part of the cache: prompt and what was generated after it.
    tokens: Result<u64, Gap>,
    decoded: Option<u64>,
}

impl Slot {
    /// All of them, or why what is kept does not tell of all.
    fn all(slots: &Fields<'_>) -> Result<Vec<Self>, Gap> {
        if slots.is_cut("") {
            return Err(Gap::OverBound);
        }
        let all: Vec<Self> = slots
            .elements("")
            .map(|one| {
                let at = |name: &str| format!("{one}.{name}");
                let why = |name: &str| {
                    if slots.has(&at(name)) {
                        Gap::Malformed
                    } else {
                        Gap::NotFound
                    }
                };
                let number = |name: &str| slots.number(&at(name));
                let tokens = number("n_prompt_tokens").filter(|tokens| *tokens <= MAX_TOKENS);
                Self {
                    id: number("id"),
                    context: number("n_ctx"),
                    is_busy: slots
                        .flag(&at("is_processing"))
                        .ok_or_else(|| why("is_processing")),
                    task: number("id_task").ok_or_else(|| why("id_task")),
                    tokens: tokens.ok_or_else(|| why("n_prompt_tokens")),
                    decoded: number("next_token[0].n_decoded")
                        .or_else(|| number("next_token.n_decoded")),
                }
            })
            .collect();
        // A server without slots serves nobody: the list tells nothing.
        if all.is_empty() {
            Err(Gap::NotFound)
        } else {
            Ok(all)
        }
    }
}

/// Slots at work, where each says whether it is.
fn busy(slots: &[Slot]) -> Result<u64, Gap> {
    let is_busy = |slot: &Slot| slot.is_busy.map(u64::from);
    slots.iter().map(is_busy).sum()
}

/// Tokens in the cache: an idle slot keeps those of its last request, and one that never had any has none. Builds
/// before May 2026 do not tell.
fn cached(slots: &[Slot]) -> Result<u64, Gap> {
    let of = |slot: &Slot| match (slot.tokens, slot.task, slot.is_busy) {
        (Ok(tokens), ..) => Ok(tokens),
        (Err(Gap::NotFound), Err(Gap::NotFound), Ok(false)) => Ok(0),
        (Err(gap), ..) => Err(gap),
    };
    slots.iter().map(of).sum()
}

/// Tokens generated per second by all slots; `None` where a request came or went in between, whose last tokens
/// nobody has counted.
fn speed(before: &Fields<'_>, now: &Fields<'_>, slots: &[Slot]) -> Option<f64> {
    let all = Slot::all(before).ok()?;
    let old: BTreeMap<u64, Slot> = all
        .into_iter()
        .filter_map(|slot| Some((slot.id?, slot)))
        .collect();
    let mut seen = Vec::new();
    let mut sum = 0.0;
    for slot in slots {
        let id = slot.id.filter(|id| !seen.contains(id))?;
        seen.push(id);
        let was = old.get(&id)?;
        if was.task != slot.task || was.is_busy != slot.is_busy {
            return None;
        }
        if slot.is_busy.ok()? {
            let count = |slot: &Slot| u32::try_from(slot.decoded?).ok().map(f64::from);
            sum += per_second((before.at, count(was)?), (now.at, count(slot)?))?;
        }
    }
    (!slots.is_empty()).then_some(sum)
}
