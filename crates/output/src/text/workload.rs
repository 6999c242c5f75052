//! Under a row: its match, its models with evidence, what is inside its memory, its server.

use model::receipt::{self, Line, LineSize, Standing};
use model::{Model, Placement, Process, SegmentKind, Snapshot};

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

/// Every part with the mark of its class, a report beside the estimate of the same part; then, for each
/// device shown, the measured size and what remains.
fn inside(notes: &mut Notes, subject: &str, snapshot: &Snapshot, process: &Process) -> Vec<String> {
    let several = process.models.len() > 1;
    let lines = match &*process.receipts {
        [only] => only.lines.clone(),
        _ => receipt::lines(None, &process.segments_reported, &process.segments_estimated),
    };
    let mut items: Vec<(String, Option<u64>)> = Vec::new();
    for line in &lines {
        let name = field(line.kind);
        let cell = match &line.size {
            LineSize::Reported(size) => {
                notes.reported(name, subject, size, |bytes| format::size(*bytes))
            }
            LineSize::Estimated(size) => notes.estimated(name, subject, size),
        };
        items.push(item(line, several, &cell));
    }
    for receipt in process
        .receipts
        .iter()
        .filter(|it| snapshot.selection.includes(it.device_index))
    {
        let rest = format::estimate_signed(receipt.remainder_low, receipt.remainder_high);
        let of = match process.receipts.len() {
            1 => String::new(),
            _ => format!(" of {} on GPU {}", format::size(receipt.measured), receipt.device_index),
        };
        items.push((format!("rest {rest}{of} ({})", receipt.note()), None));
    }
    with_ages(items)
}

fn item(line: &Line, several: bool, cell: &Cell) -> (String, Option<u64>) {
    let of = if several {
        format!("{} ", line.model_id)
    } else {
        String::new()
    };
    let known = line.size.bounds().is_some();
    let place = match (line.placement, line.standing) {
        _ if !known => None,
        (_, Standing::Replaced) => Some("beside the report, which counts"),
        (Placement::Gpu, _) => None,
        (Placement::PinnedHost, _) => Some("in pinned system memory"),
        (Placement::Cpu, _) => Some("in system memory"),
        (Placement::Unknown, _) => Some("on the GPU or in system memory"),
    };
    let contained = match line.kind {
        SegmentKind::KvUsed => Some("part of KV"),
        SegmentKind::Total => Some("contains the parts"),
        _ => None,
    };
    let inputs = line.inputs.iter().filter(|_| known && line.kind == SegmentKind::Kv);
    let inputs = inputs.map(|(name, value)| format!("{name} {value}"));
    let words = [place, contained].into_iter().flatten().map(String::from);
    let more: Vec<String> = words.chain(inputs).collect();
    let more = match &*more {
        [] => String::new(),
        more => format!(" ({})", more.join(", ")),
    };
    (format!("{of}{} {}{more}", line.kind.label(), cell.text), cell.old_ms)
}

const fn field(kind: SegmentKind) -> &'static str {
    match kind {
        SegmentKind::Compute => "compute buffers",
        kind => kind.label(),
    }
}
