//! Under a row: its match, its models with evidence, what is inside its memory, its server.

use model::receipt::{self, Line, LineSize, Standing};
use model::{
    EndpointState, EndpointStatus, Gap, Model, ModelEvent, ModelKind, Placement, Process, Reading,
    Reported, Said, SegmentKind, ServerState, Snapshot,
};

use super::notes::{Cell, Notes, with_ages};
use super::page::Page;
use super::process;
use crate::format;

pub(super) fn write(
    page: &mut Page,
    notes: &mut Notes<'_>,
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
        more(page, notes, model, &subject, &label);
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
    server(page, notes, process, &subject, &label);
}

fn server(
    page: &mut Page,
    notes: &mut Notes<'_>,
    process: &Process,
    subject: &str,
    label: &dyn Fn(&str) -> String,
) {
    let Some(server) = &process.server else {
        // What is switched off is said once, in a notice, not for every process.
        if let Some(gap) = process.server_unasked.filter(|gap| *gap != Gap::Disabled) {
            let text = match gap {
                Gap::NotFound => "it works for a server that was not found",
                gap => notes.gap("server", subject, gap),
            };
            page.items(&label("server"), &[format!("not asked: {text}")]);
        }
        return;
    };
    let context = notes.reported("server context", subject, &server.context, u64::to_string);
    let slots = notes.reported("server slots", subject, &server.slots, u64::to_string);
    let behind = server.own_port.map_or(String::new(), |own| {
        format!(", which leads to its own port {own}")
    });
    let mut items = vec![
        format!("{} on port {}{behind}", server.kind, server.port),
        match server.state {
            ServerState::NotRecognised => format!("answers, but not as {} does", server.kind),
            state => state.id().replace('_', " "),
        },
        format!("context {}", context.text),
        format!("slots {}", slots.text),
    ];
    // What not every server tells is left out where it does not; what it tells and cannot be is missing.
    let is_said = |it: &Reading<Reported<u64>>| {
        let doubts = [Gap::Malformed, Gap::Implausible, Gap::OverBound];
        let is_doubted = it.gap().is_some_and(|gap| doubts.contains(&gap));
        it.known().is_some() || is_doubted && server.state == ServerState::Ready
    };
    if is_said(&server.slots_busy) {
        let busy = notes.reported("slots busy", subject, &server.slots_busy, u64::to_string);
        items.push(format!("busy {}", busy.text));
    }
    if is_said(&server.cached_tokens) {
        let cached = &server.cached_tokens;
        let cached = notes.reported("cached tokens", subject, cached, u64::to_string);
        items.push(format!("cached tokens {}", cached.text));
    }
    if server.tokens_per_second.known().is_some() {
        let show = |speed: &f64| format!("{speed:.1} tokens/s");
        let speed = notes.reported("tokens/s", subject, &server.tokens_per_second, show);
        let age = speed
            .old_ms
            .map_or(String::new(), |ms| format!(" ({} ago)", format::age(ms)));
        items.push(format!("{}{age}", speed.text));
    }
    items.extend(server.answered_by.map(|pid| format!("answered by {pid}")));
    items.extend(said(notes, &server.said));
    if let Some(old_ms) = notes.old(server.at) {
        items.push(format!("(answered {} ago)", format::age(old_ms)));
    }
    page.items(&label("server"), &items);
    let failed = |it: &&EndpointStatus| it.state != EndpointState::Ok;
    let asked: Vec<String> = server
        .endpoints
        .iter()
        .filter(failed)
        .map(endpoint)
        .collect();
    page.items(&label("asked"), &asked);
}

fn endpoint(one: &EndpointStatus) -> String {
    format!("{} {}", one.path, one.state.words())
}

/// What a runtime says beside, each with the mark of its class.
fn said(notes: &mut Notes<'_>, said: &[Said]) -> Vec<String> {
    let words = said.iter().map(|one| {
        let field = one.field.replace('_', " ");
        format!("{field} {}", notes.words(&one.value))
    });
    words.collect()
}

/// Contradictions, names, events and files of a model, each where there is any.
fn more(
    page: &mut Page,
    notes: &mut Notes<'_>,
    model: &Model,
    subject: &str,
    label: &dyn Fn(&str) -> String,
) {
    if let Some(conflict) = &model.conflict {
        page.sentence(&label("conflict"), conflict);
    }
    let names: Vec<String> = model.store_names.iter().map(ToString::to_string).collect();
    page.items(&label("names"), &names);
    let events: Vec<String> = model.events.iter().map(event).collect();
    let unused = model.log_unused.iter().map(ToString::to_string);
    let events: Vec<String> = events.into_iter().chain(unused).collect();
    page.items(&label("log"), &events);
    let files: Vec<String> = model
        .components
        .iter()
        .map(|one| {
            let size = notes.measured("file size", subject, &one.size_on_disk, |bytes| {
                format::size(*bytes)
            });
            let role = one.role.replace('_', " ");
            format!("{role} {} {} {}", size.text, one.format, one.path)
        })
        .collect();
    page.items(&label("files"), &files);
    page.items(&label("said"), &said(notes, &model.said));
}

fn event(event: &ModelEvent) -> String {
    let at = event.wall_us.and_then(format::utc_millis);
    let at = at.map_or("at an unknown time".to_owned(), |at| format!("at {at}"));
    let since = match event.fresh {
        Some(true) => "since it started",
        Some(false) => "before it started",
        None => "before or since it started",
    };
    let wanted = event.bytes.map_or(String::new(), |bytes| {
        format!(", {} wanted", format::size(bytes))
    });
    let what = event.kind.label();
    format!("{what}{wanted} {at} ({}, {since})", event.log)
}

fn facts(notes: &mut Notes<'_>, subject: &str, process: &Process, model: &Model) -> Vec<String> {
    let name = match process.models.len() {
        1 => model.name.to_string(),
        _ => format!("{}: {}", model.id, model.name),
    };
    let mut facts = vec![name];
    // Without a file nobody could tell these: they are not missing one by one.
    let has_file = model.has_file();
    if has_file || model.kind != ModelKind::Unknown || model.kind_hint.is_some() {
        facts.push(model.kind_label().to_string());
    }
    for (field, reading) in [
        ("architecture", &model.architecture),
        ("quantization", &model.quantization),
    ] {
        if has_file || reading.value().is_some() {
            let text = notes.measured(field, subject, reading, ToString::to_string);
            facts.push(format!("{field} {}", text.text));
        }
    }
    let show_count: fn(&u64) -> String = |n| format::count(*n);
    for (field, reading, show) in [
        ("parameters", &model.parameters, show_count),
        ("layers", &model.layers, ToString::to_string),
    ] {
        if has_file || reading.value().is_some() {
            let text = notes.measured(field, subject, reading, show);
            facts.push(format!("{field} {}", text.text));
        }
    }
    let used = match model.context_requested.value() {
        // What was asked for stands in where the server has not said what it uses.
        Some(tokens) if model.context_used.known().is_none() => format!("{tokens} asked"),
        _ => {
            let used = notes.reported("context", subject, &model.context_used, u64::to_string);
            used.text
        }
    };
    if !has_file {
        facts.push(format!("context {used}"));
        facts.push("no file known".to_owned());
        return facts;
    }
    let trained = &model.context_trained;
    let trained = notes.measured("trained context", subject, trained, u64::to_string);
    facts.push(if trained.is_known() {
        format!("context {used} of {}", trained.text)
    } else {
        format!("context {used} (trained for {})", trained.text)
    });
    let file = notes.measured("file size", subject, &model.size_on_disk, |bytes| {
        format::size_long(*bytes)
    });
    facts.push(format!("{} file {}", model.format, file.text));
    facts
}

/// Every part with the mark of its class, a report beside the estimate of the same part; then, for each
/// device shown, the measured size and what remains.
fn inside(
    notes: &mut Notes<'_>,
    subject: &str,
    snapshot: &Snapshot,
    process: &Process,
) -> Vec<String> {
    let several = Several {
        models: process.models.len() > 1,
        devices: process.charges.len() > 1,
    };
    let device = match &*process.charges {
        [only] => Some(only.device_index),
        _ => None,
    };
    let lines = receipt::lines(
        device,
        &process.segments_reported,
        &process.segments_estimated,
    );
    let mut items: Vec<(String, Option<u64>)> = Vec::new();
    for line in &lines {
        let name = field(line.kind);
        let cell = match &line.size {
            LineSize::Reported(size) => notes.reported(name, subject, size, |bytes| {
                let rounded = line.rounded().map(str::to_owned);
                rounded.unwrap_or_else(|| format::size(*bytes))
            }),
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
            _ => format!(
                " of {} on GPU {}",
                format::size(receipt.measured),
                receipt.device_index
            ),
        };
        items.push((format!("rest {rest}{of} ({})", receipt.note()), None));
    }
    with_ages(items)
}

/// What a part has to name beside its kind.
#[derive(Clone, Copy)]
struct Several {
    models: bool,
    devices: bool,
}

fn item(line: &Line, several: Several, cell: &Cell) -> (String, Option<u64>) {
    let of = if several.models {
        format!("{} ", line.model_id)
    } else {
        String::new()
    };
    let known = line.size.bounds().is_some();
    let place = match (line.placement, line.standing) {
        _ if !known => None,
        (_, Standing::Replaced) => Some("beside the report, which counts"),
        (Placement::Gpu, Standing::Elsewhere) => Some("on another GPU"),
        (Placement::Gpu, _) => None,
        (Placement::PinnedHost, _) => Some("in pinned system memory"),
        (Placement::Cpu, _) => Some("in system memory"),
        (Placement::Unknown, _) => Some("on the GPU or in system memory"),
    };
    let contained = match line.kind {
        SegmentKind::KvUsed => Some("part of KV"),
        SegmentKind::Total => Some("contains the parts"),
        _ if line.standing == Standing::Contained => Some("part of allocator"),
        _ => None,
    };
    let explained = known
        && line.kind == SegmentKind::Kv
        && line.standing != Standing::Replaced
        && matches!(line.size, LineSize::Estimated(_));
    let inputs = line.inputs.iter().filter(|_| explained);
    let inputs = inputs.map(|(name, value)| format!("{name} {value}"));
    let device = line.device_index.filter(|_| several.devices);
    let device = device.map(|index| format!("GPU {index}"));
    let words = [place, contained].into_iter().flatten().map(String::from);
    let words = device.into_iter().chain(words);
    let more: Vec<String> = words.chain(inputs).collect();
    let more = match &*more {
        [] => String::new(),
        more => format!(" ({})", more.join(", ")),
    };
    (
        format!("{of}{} {}{more}", line.kind.label(), cell.text),
        cell.old_ms,
    )
}

const fn field(kind: SegmentKind) -> &'static str {
    match kind {
        SegmentKind::Compute => "compute buffers",
        kind => kind.label(),
    }
}
