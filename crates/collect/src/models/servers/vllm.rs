//! vLLM: an API server, and since its first version the processes of its engine, which hold the memory.
//!
//! Its `/metrics` are counters and gauges that reading does not change.

use model::{EvidenceKind, Gap, Reading};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named};
use super::fields::{Fields, from, per_second, set};
use super::spec::{
    Asking, FIXED_EVERY_MS, LOAD_EVERY_MS, MODELS_EVERY_MS, Plan, Spec, Subject, Wish, Word,
};
use super::talk::Answers;

pub(super) const SPEC: Spec = Spec {
    kind: "vLLM",
    serves,
    works: |subject| subject.program().starts_with("vllm::"),
    parents: &[],
    has_levels: true,
    first: &[Endpoint::VllmModels],
    plan,
    read,
};

fn serves(subject: &Subject<'_>) -> bool {
    let mut leading = subject.leading();
    subject.is_module("vllm.entrypoints")
        || subject.program().starts_with("vllm::apiserver")
        || (leading.any(|name| name == "vllm") && subject.has("serve"))
}

fn plan(answers: &Answers<'_>, _: &Subject<'_>) -> Plan {
    let mut plan = vec![(Endpoint::VllmModels, Wish::Ask(MODELS_EVERY_MS))];
    if answers.ok(Endpoint::VllmModels).is_some() {
        plan.push((Endpoint::VllmMetrics, Wish::Ask(LOAD_EVERY_MS)));
        plan.push((Endpoint::VllmVersion, Wish::Ask(FIXED_EVERY_MS)));
    }
    plan
}

const MODELS: &str = "/v1/models";
const SPEED: &str = "/metrics difference of vllm:generation_tokens_total";

fn read(answers: &Answers<'_>, _: &Asking<'_>, word: &mut Word<'_>) {
    let Word { server, claims } = word;
    if let Some(models) = answers.ok(Endpoint::VllmModels) {
        // Adapters are listed beside the model that they belong to.
        let is_model = |one: &String| models.text(&format!("{one}.parent")).is_none();
        if let Some(one) = models.elements("data").find(is_model) {
            let at = |field: &str| format!("{one}.{field}");
            let context = models.context(&at("max_model_len"));
            let context = context.map(|tokens| models.reported(tokens, "/v1/models max_model_len"));
            set(&mut server.context, context);
            let id = models.text(&at("id"));
            if let Some(root) = models.text(&at("root")).or(id) {
                claims.push(Claim {
                    named: Named::Id(root.into()),
                    kind: Some(EvidenceKind::Api),
                    detail: MODELS.into(),
                    at: models.at,
                    about: About {
                        name: id.map(Into::into),
                        context,
                        ..About::default()
                    },
                });
            }
        }
    }
    if let Some(metrics) = answers.ok(Endpoint::VllmMetrics) {
        let running = sum(&metrics, "vllm:num_requests_running").and_then(whole);
        set(
            &mut server.slots_busy,
            running.map(|n| metrics.reported(n, "/metrics vllm:num_requests_running")),
        );
        let waiting = sum(&metrics, "vllm:num_requests_waiting").and_then(whole);
        server.said.extend(waiting.map(|n| {
            let counter = "/metrics vllm:num_requests_waiting";
            metrics.says("queue", counter, n.to_string().into())
        }));
        said_of_cache(&metrics, server);
        let total = |fields: &Fields<'_>| sum(fields, "vllm:generation_tokens_total");
        let before = answers.before(Endpoint::VllmMetrics);
        let rate = before
            .as_ref()
            .map(|before| per_second((before.at, total(before)?), (metrics.at, total(&metrics)?)));
        server.tokens_per_second = match rate {
            None => Reading::missing(Gap::FirstSample, from(SPEED, metrics.at)),
            Some(None) => Reading::missing(Gap::NoBaseline, from(SPEED, metrics.at)),
            Some(Some(rate)) => Reading::Known(metrics.reported(rate, SPEED)),
        };
    }
    if let Some(version) = answers.ok(Endpoint::VllmVersion) {
        let said = version.said("version", "/version", "version");
        server.said.extend(said);
    }
}

/// Of several engines each has its own cache, and their shares have no sum.
fn said_of_cache(metrics: &Fields<'_>, server: &mut model::Server) {
    for (name, counter) in [
        (
            "vllm:kv_cache_usage_perc",
            "/metrics vllm:kv_cache_usage_perc",
        ),
        (
            "vllm:gpu_cache_usage_perc",
            "/metrics vllm:gpu_cache_usage_perc",
        ),
    ] {
        for one in metrics.elements(name) {
            // Named percent, and a fraction.
            let path = format!("{one}.value");
            let used = metrics.float(&path).filter(|used| *used <= 1.0);
            let said = metrics.said_if("kv_cache_used", counter, &path, |_| used.is_some());
            server.said.extend(match used {
                Some(used) => {
                    let words = format!("{:.1} %", used * 100.0);
                    Some(metrics.says("kv_cache_used", counter, words.into()))
                }
                None => said,
            });
        }
    }
    let info = "vllm:cache_config_info[0]";
    for (field, label, can_be) in [
        (
            "kv_block_tokens",
            "block_size",
            Some((|it| it >= 1.0 && it.fract() == 0.0 && it <= MAX_BLOCK) as CanBe),
        ),
        (
            "kv_blocks",
            "num_gpu_blocks",
            Some(|it| it.fract() == 0.0 && it <= MAX_BLOCKS),
        ),
        ("kv_type", "cache_dtype", None),
        (
            "gpu_memory_utilization",
            "gpu_memory_utilization",
            Some(|it| it > 0.0 && it <= 1.0),
        ),
    ] {
        let path = format!("{info}.{label}");
        // What is not set is written as Python has it.
        if metrics.text(&path) == Some("None") {
            continue;
        }
        let can_be =
            |_: &Fields<'_>| can_be.is_none_or(|can_be| metrics.float(&path).is_some_and(can_be));
        let said = metrics.said_if(field, "/metrics vllm:cache_config_info", &path, can_be);
        server.said.extend(said);
    }
}

/// Whether a figure can be what it is said to be.
type CanBe = fn(f64) -> bool;

/// Most tokens of one block of the cache.
const MAX_BLOCK: f64 = 65_536.0;
/// Most blocks: with the smallest block, more tokens than any memory holds.
const MAX_BLOCKS: f64 = 4_294_967_296.0;

/// The sum over all engines; `None` where one of them is no number.
fn sum(metrics: &Fields<'_>, name: &str) -> Option<f64> {
    metrics
        .count(name)
        .filter(|count| *count > 0 && !metrics.is_cut(name))?;
    metrics
        .elements(name)
        .map(|one| metrics.float(&format!("{one}.value")))
        .sum()
}

/// A count that is written as a floating point number.
fn whole(number: f64) -> Option<u64> {
    format!("{number:.0}").parse().ok()
}
