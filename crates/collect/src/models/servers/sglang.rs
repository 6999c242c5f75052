//! SGLang: the server is the parent of its schedulers, which hold the memory.

use model::{Bytes, EvidenceKind, ModelKind, Placement, Reading, SegmentKind};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named, Part};
use super::fields::{Fields, set};
use super::lm_studio::refuses;
use super::spec::{Asking, LOAD_EVERY_MS, Plan, Spec, Subject, Wish, Word};
use super::talk::Answers;

pub(super) const SPEC: Spec = Spec {
    kind: "SGLang",
    serves,
    works: |subject| subject.program().starts_with("sglang::"),
    parents: &[],
    has_levels: true,
    first: &[Endpoint::SglangInfo, Endpoint::SglangServerInfo],
    plan,
    read,
};

fn serves(subject: &Subject<'_>) -> bool {
    let mut leading = subject.leading();
    subject.is_module("sglang.launch_server")
        || (leading.any(|name| name == "sglang") && subject.has("serve"))
}

/// Under its later name only where the earlier one is gone.
fn plan(answers: &Answers<'_>, _: &Subject<'_>) -> Plan {
    let mut plan = vec![(Endpoint::SglangInfo, Wish::Ask(LOAD_EVERY_MS))];
    if refuses(answers, Endpoint::SglangInfo) {
        plan.push((Endpoint::SglangServerInfo, Wish::Ask(LOAD_EVERY_MS)));
    }
    plan
}

fn read(answers: &Answers<'_>, asking: &Asking<'_>, word: &mut Word<'_>) {
    let of = |endpoint| answers.ok(endpoint);
    let info = of(Endpoint::SglangInfo).or_else(|| of(Endpoint::SglangServerInfo));
    let Some(info) = info else { return };
    let Word { server, claims } = word;
    let context = info.context("context_length");
    let context = context.map(|tokens| info.reported(tokens, "/server_info context_length"));
    set(&mut server.context, context);
    let slots = info.slots("max_running_requests");
    set(
        &mut server.slots,
        slots.map(|slots| info.reported(slots, "/server_info max_running_requests")),
    );
    let single = info.count("internal_states") == Some(1);
    let speed = info.float("last_gen_throughput").or_else(|| {
        let of_state = info.float("internal_states[0].last_gen_throughput");
        of_state.filter(|_| single)
    });
    set(
        &mut server.tokens_per_second,
        speed.map(|speed| info.reported(speed, "/server_info last_gen_throughput")),
    );
    server
        .said
        .extend(info.said("version", "/server_info version", "version"));
    server.said.extend(info.said(
        "mem_fraction_static",
        "/server_info mem_fraction_static",
        "mem_fraction_static",
    ));
    server.said.extend(info.said(
        "token_capacity",
        "/server_info token_capacity",
        "internal_states[0].memory_usage.token_capacity",
    ));
    let Some(path) = info.text("model_path") else {
        return;
    };
    claims.push(Claim {
        named: Named::Id(path.into()),
        kind: Some(EvidenceKind::Api),
        detail: "/server_info model_path".into(),
        at: info.at,
        about: About {
            kind: match info.flag("is_embedding") {
                Some(true) => Some(ModelKind::Embedding),
                Some(false) => Some(ModelKind::Llm),
                None => None,
            },
            context,
            parts: if single && is_first_rank(asking.subject) {
                parts(&info)
            } else {
                Vec::new()
            },
            ..About::default()
        },
    });
}

/// Of several ranks the first one reports.
fn is_first_rank(subject: &Subject<'_>) -> bool {
    let title = subject.program();
    let others = |mark: &str| {
        title.split(mark).skip(1).any(|behind| {
            let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
            !digits.is_empty() && digits.bytes().any(|digit| digit != b'0')
        })
    };
    !["_tp", "_dp", "_pp", "_ep"].iter().any(|mark| others(mark))
}

fn parts(info: &Fields<'_>) -> Vec<Part> {
    let usage = "internal_states[0].memory_usage";
    [
        (SegmentKind::Weights, "weight", WEIGHT),
        (SegmentKind::Kv, "kvcache", KV),
        (SegmentKind::Graphs, "cuda graph", GRAPHS),
        (SegmentKind::Graphs, "graph", GRAPHS),
    ]
    .into_iter()
    .filter_map(|(kind, name, counter)| {
        let gib = info.float(&format!("{usage}.{name}"))?;
        Some(Part {
            kind,
            bytes: Reading::Known(info.reported(bytes(gib)?, counter)),
            placement: Placement::Gpu,
            device_index: None,
            // Two decimals are all that it says.
            inputs: vec![("reported", format!("{gib} GiB").into())],
        })
    })
    .collect()
}

const WEIGHT: &str = "/server_info memory_usage.weight";
const KV: &str = "/server_info memory_usage.kvcache";
const GRAPHS: &str = "/server_info memory_usage.cuda graph";

/// A size in GiB, of at most 4 TiB.
fn bytes(gib: f64) -> Option<Bytes> {
    let mib = (gib * 1024.0).round();
    let mib: u64 = format!("{mib:.0}").parse().ok()?;
    (mib <= 4 << 20).then_some(Bytes::mib(mib))
}
