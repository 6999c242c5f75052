//! Under a row: its match, its models with evidence, what is inside its memory, its server.

use model::{
    Bytes, Estimated, Model, Placement, Process, Reading, Reported, Segment, SegmentKind, Snapshot,
};

use super::notes::{Cell, Notes, with_ages};
use super::page::Page;
use super::process;
use crate::format;

pub(super) fn write(
    page: &mut Page,
    notes: &mut Notes,
    snapshot: &Snapshot,
    process: &Process,
    indent: usize,
) {
    let subject = process.key.to_string();
    let label = |name: &str| format!("{:indent$}{name:8}  ", "");
    if let Some(entry) = process.pid_match {
        page.sentence(
            &label("match"),
            &format!(
                "the driver's number {}; {}",
                entry.foreign_pid,
                entry.why.sentence()
            ),
        );
    }
    for model in &process.models {
        page.items(&label("model"), &facts(notes, &subject, process, model));
        let found: Vec<String> = model
            .evidence
            .iter()
            .map(|it| format!("{} {}", it.kind.id(), it.detail))
            .collect();
        page.items(
            &label("evidence"),
            &[vec![model.label.id().to_owned()], found].concat(),
        );
    }
    if !process.models.is_empty() {
        let runtimes = process::runtimes(notes, &subject, process);
        page.items(&label("runtimes"), &[runtimes]);
    }
    if let Some(Some(container)) = process.container.value() {
        let place = process::place(notes, &subject, container);
        // Without a name there is nothing here that the column of a wide page does not tell.
        let named = container.name.value().is_some();
        if named || !process.models.is_empty() || page.width() < 80 {
            page.items(&label("in"), &place);
        }
    }
    let inside = inside(notes, &subject, snapshot, process);
    page.items(&label("inside"), &inside);
    if let Some(server) = &process.server {
        let context = notes.reported("server context", &subject, &server.context, u64::to_string);
        let slots = notes.reported("server slots", &subject, &server.slots, u64::to_string);
        let behind = server.own_port.map_or(String::new(), |own| {
            format!(", which leads to its own port {own}")
        });
        let state = server.state.id().replace('_', " ");
        let mut items = vec![
            format!("{} on port {}{behind}", server.kind, server.port),
            state,
            format!("context {}", context.text),
            format!("slots {}", slots.text),
        ];
        if let Some(old_ms) = notes.old(server.at) {
            items.push(format!("(answered {} ago)", format::age(old_ms)));
        }
        page.items(&label("server"), &items);
    } else if let Some(gap) = process.server_unasked {
        let text = notes.gap("server", &subject, gap);
        page.items(&label("server"), &[format!("not asked: {text}")]);
    }
}

fn facts(notes: &mut Notes, subject: &str, process: &Process, model: &Model) -> Vec<String> {
    let mut measured = |field, reading, show: fn(&model::Text) -> String| {
        notes.measured(field, subject, reading, show).text
    };
    let architecture = measured("architecture", &model.architecture, ToString::to_string);
    let quantization = measured("quantization", &model.quantization, ToString::to_string);
    let parameters = notes.measured("parameters", subject, &model.parameters, |n| {
        format::count(*n)
    });
    let layers = notes.measured("layers", subject, &model.layers, u64::to_string);
    let trained = notes.measured("trained context", subject, &model.context_trained, |n| {
        n.to_string()
    });
    let used = match model.context_requested.value() {
        // What was asked for stands in where the server has not said what it uses.
        Some(tokens) if model.context_used.known().is_none() => format!("{tokens} asked"),
        _ => {
            let used = notes.reported("context", subject, &model.context_used, u64::to_string);
            used.text
        }
    };
    let file = notes.measured("file size", subject, &model.size_on_disk, |bytes| {
        format::size_long(*bytes)
    });
    let name = match process.models.len() {
        1 => model.name.to_string(),
        _ => format!("{}: {}", model.id, model.name),
    };
    vec![
        name,
        model.kind.label().into(),
        format!("architecture {architecture}"),
        format!("quantization {quantization}"),
        format!("parameters {}", parameters.text),
        format!("layers {}", layers.text),
        format!("context {used} of {}", trained.text),
        format!("{} file {}", model.format, file.text),
    ]
}

/// The parts, a report in place of the estimate of the same part, and what remains.
fn inside(notes: &mut Notes, subject: &str, snapshot: &Snapshot, process: &Process) -> Vec<String> {
    let several = process.models.len() > 1;
    let mut items: Vec<(String, Option<u64>)> = Vec::new();
    for part in &process.segments_reported {
        let cell = notes.reported(field(part.kind), subject, &part.bytes, |bytes| {
            format::size(*bytes)
        });
        items.push(item(part, several, &cell, ""));
    }
    for part in &process.segments_estimated {
        if is_reported(&process.segments_reported, part) {
            continue;
        }
        let cell = notes.estimated(field(part.kind), subject, &part.bytes);
        let inputs: Vec<String> = match (part.kind, part.bytes.known()) {
            (SegmentKind::Kv, Some(_)) => part
                .inputs
                .iter()
                .map(|(name, value)| format!("{name} {value}"))
                .collect(),
            _ => Vec::new(),
        };
        items.push(item(part, several, &cell, &inputs.join(", ")));
    }
    if let Some(receipt) = &process.receipt
        && snapshot.selection.includes(receipt.device_index)
    {
        let rest = format::estimate_signed(receipt.remainder_low, receipt.remainder_high);
        items.push((format!("rest {rest} ({})", receipt.note()), None));
    }
    with_ages(items)
}

fn is_reported(reported: &[Segment<Reported<Bytes>>], part: &Segment<Estimated<Bytes>>) -> bool {
    reported.iter().any(|it| {
        it.model_id == part.model_id
            && it.kind == part.kind
            && matches!(it.bytes, Reading::Known(_))
            && (it.placement == Placement::Cpu) == (part.placement == Placement::Cpu)
    })
}

fn item<C>(part: &Segment<C>, several: bool, cell: &Cell, inputs: &str) -> (String, Option<u64>) {
    let of = if several {
        format!("{} ", part.model_id)
    } else {
        String::new()
    };
    let place = match (part.placement, &part.bytes) {
        (Placement::Gpu, _) | (_, Reading::Missing(_)) => "",
        (Placement::PinnedHost, _) => "in pinned system memory",
        (Placement::Cpu, _) => "in system memory",
        (Placement::Unknown, _) => "on the GPU or in system memory",
    };
    let separator = if place.is_empty() || inputs.is_empty() {
        ""
    } else {
        ", "
    };
    let more = match (place, inputs) {
        ("", "") => String::new(),
        _ => format!(" ({place}{separator}{inputs})"),
    };
    let name = part.kind.label();
    (format!("{of}{name} {}{more}", cell.text), cell.old_ms)
}

const fn field(kind: SegmentKind) -> &'static str {
    match kind {
        SegmentKind::Compute => "compute buffers",
        kind => kind.label(),
    }
}
