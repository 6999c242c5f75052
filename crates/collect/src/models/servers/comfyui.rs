//! ComfyUI. It tells what its allocator has reserved, not which model lies in it.

use model::{Bytes, Placement, Reading, SegmentKind};
use raw::Endpoint;

use super::super::claim::{About, Claim, Named, Part};
use super::fields::size;
use super::spec::{Asking, LOAD_EVERY_MS, Plan, Spec, Subject, Wish, Word, never};
use super::talk::Answers;

pub(super) const SPEC: Spec = Spec {
    kind: "ComfyUI",
    serves,
    works: never,
    parents: &[],
    has_levels: false,
    first: &[Endpoint::ComfyStats],
    plan,
    read,
};

/// `main.py` in a folder of that name, or the launcher of the package.
fn serves(subject: &Subject<'_>) -> bool {
    let is_its = |path: &str| {
        path.split(['/', '\\'])
            .any(|part| part.to_ascii_lowercase().starts_with("comfyui"))
    };
    let script = subject
        .arguments
        .iter()
        .take(4)
        .find(|it| it.ends_with("main.py"));
    match script {
        Some(script) if script.contains(['/', '\\']) => {
            is_its(script) || subject.folder.is_some_and(is_its)
        }
        Some(_) => subject.folder.is_some_and(is_its),
        None => subject.leading().any(|name| name == "comfyui"),
    }
}

fn plan(answers: &Answers<'_>, _: &Subject<'_>) -> Plan {
    let mut plan = vec![(Endpoint::ComfyStats, Wish::Ask(LOAD_EVERY_MS))];
    if answers.ok(Endpoint::ComfyStats).is_some() {
        plan.push((Endpoint::ComfyPrompt, Wish::Ask(LOAD_EVERY_MS)));
    }
    plan
}

/// Kinds of devices whose figure is `reserved_bytes.all.current` of the allocator. For the processor and Metal it is the
/// machine's memory, for `DirectML` a constant.
const ALLOCATORS: &[&str] = &["cuda", "mlu", "npu", "xpu"];

const POOL: &str = "/system_stats torch_vram_total";

fn read(answers: &Answers<'_>, _: &Asking<'_>, word: &mut Word<'_>) {
    let Word { server, claims } = word;
    if let Some(queue) = answers.ok(Endpoint::ComfyPrompt) {
        let said = queue.said(
            "queue",
            "/prompt queue_remaining",
            "exec_info.queue_remaining",
        );
        server.said.extend(said);
    }
    let Some(stats) = answers.ok(Endpoint::ComfyStats) else {
        return;
    };
    for (field, path) in [
        ("version", "system.comfyui_version"),
        ("pytorch", "system.pytorch_version"),
    ] {
        server.said.extend(stats.said(field, "/system_stats", path));
    }
    let mut parts = Vec::new();
    for one in stats.elements("devices") {
        let at = |field: &str| format!("{one}.{field}");
        let kind = stats.text(&at("type"));
        let kind = kind.filter(|kind| ALLOCATORS.contains(kind));
        let (Some(kind), Some(bytes)) = (kind, stats.number(&at("torch_vram_total"))) else {
            continue;
        };
        let index = stats.number(&at("index"));
        let device = index.map_or(kind.to_owned(), |index| format!("{kind}:{index}"));
        let words = format!("{} on {device}", size(Bytes(bytes)));
        server.said.push(stats.says("pool", POOL, words.into()));
        parts.push(Part {
            kind: SegmentKind::Allocator,
            bytes: Reading::Known(stats.reported(Bytes(bytes), POOL)),
            placement: Placement::Gpu,
            // Its numbers count the devices that it may see.
            device_index: None,
            inputs: vec![("device", device.into())],
        });
    }
    claims.push(Claim {
        named: Named::TheOnly,
        kind: None,
        detail: "/system_stats".into(),
        at: stats.at,
        about: About {
            parts,
            ..About::default()
        },
    });
}
