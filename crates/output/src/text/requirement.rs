//! What a model file needs (`inspect`) and whether that fits (`fit`).

use model::inspection::{
    DeviceFit, Fit, Free, Inspection, Largest, ModelPart, Need, Spare, Sum, Verdict,
};
use model::{Bytes, Estimated, Gap, Placement, Reading, Segment, ServerState};

use super::page::Page;
use crate::format;

/// Columns before the text of a line.
const LABEL: usize = 12;

/// Columns of a context, and of each size beside it.
const FIRST: usize = 10;
const COLUMN: usize = 14;

/// The report of `inspect`.
pub fn inspection(from: &Inspection, width: usize) -> String {
    let mut page = Page::new(width);
    identity(&mut page, from);
    settings(&mut page, from);
    page.line("");
    page.line(&format!("needs{}", context(&from.need)));
    for part in &from.need.parts {
        part_line(&mut page, part);
    }
    totals(&mut page, &from.need);
    if !from.contexts.is_empty() {
        page.line("");
        contexts(&mut page, &from.contexts);
    }
    page.line("");
    notes(&mut page, from);
    let on_top = if from.is_companion() {
        "it is loaded beside a model, into the same process: what the model needs comes on top"
    } else {
        "the driver's context and workspaces come on top: 150 to 600 MiB with CUDA, as reported"
    };
    page.sentence(&label("i"), on_top);
    legend(&mut page);
    page.finish()
}

/// For which context, and what a server makes of it where that is another one.
fn context(need: &Need) -> String {
    let Some(asked) = need.context else {
        return String::new();
    };
    let tokens = |n: u64| format!("{n} {}", if n == 1 { "token" } else { "tokens" });
    match need.effective {
        Some(made) if made.context != asked && made.per_slot == made.context => format!(
            " for a context of {}, which a server makes of {asked}",
            tokens(made.context)
        ),
        Some(made) if made.context != asked => format!(
            " for a context of {}, which a server makes of {asked}: {} a slot",
            tokens(made.context),
            made.per_slot
        ),
        _ => format!(" for a context of {}", tokens(asked)),
    }
}

/// The report of `fit`.
pub fn fit(from: &Fit, width: usize) -> String {
    let mut page = Page::new(width);
    identity(&mut page, &from.inspection);
    settings(&mut page, &from.inspection);
    totals(&mut page, &from.inspection.need);
    for device in &from.devices {
        page.line("");
        on_device(&mut page, device);
    }
    page.line("");
    notes(&mut page, &from.inspection);
    if from.devices.iter().any(lacks_idle) {
        let text = "idle is a server that sleeps or says that no slot is busy, with no measured load but 0";
        page.sentence(&label("i"), text);
    }
    page.sentence(
        &label("advice"),
        "nothing is loaded or unloaded by this program",
    );
    legend(&mut page);
    page.finish()
}

fn label(name: &str) -> String {
    format::pad_end(&format!("  {name}"), LABEL)
}

fn identity(page: &mut Page, from: &Inspection) {
    let model = &from.model;
    page.line(&format!("{}  {}", model.name, model.kind_label()));
    let text = |reading: &Reading<model::Measured<model::Text>>, what: &str| {
        let value = reading.value().map_or(format::NOT_AVAILABLE, |it| it);
        format!("{what} {value}")
    };
    let number = |reading: &Reading<model::Measured<u64>>, what: &str, show: fn(u64) -> String| {
        let value = reading.value();
        let value = value.map_or_else(|| format::NOT_AVAILABLE.to_owned(), |n| show(*n));
        format!("{what} {value}")
    };
    let plain = |n: u64| n.to_string();
    page.items(
        &label("model"),
        &[
            text(&model.architecture, "architecture"),
            text(&model.quantization, "quantization"),
            number(&model.parameters, "parameters", format::count),
            number(&model.layers, "layers", plain),
            number(&model.context_trained, "context trained", plain),
        ],
    );
    let size = model.size_on_disk.value();
    let size = size.map_or_else(
        || format::NOT_AVAILABLE.to_owned(),
        |bytes| format::size_long(*bytes),
    );
    let found = |part: &&ModelPart| part.size.known().is_some();
    let there = from.files.iter().filter(found).count();
    let parts = match (from.files.len(), from.unread) {
        (0 | 1, 0) => String::new(),
        (all, 0) => format!(", {there} of {all} parts found"),
        (looked_for, unread) => format!(
            ", {there} of {} parts read, {unread} not looked for (limit {looked_for})",
            looked_for.saturating_add(unread)
        ),
    };
    let path = model.path.value().map_or("", |path| path);
    page.items(
        &label("file"),
        &[path.to_owned(), format!("{} {size}{parts}", model.format)],
    );
    for part in from.files.iter().filter(|part| !found(part)) {
        let why = part.size.gap().map_or("", model::Gap::sentence);
        page.sentence(&label("missing"), &format!("{}: {why}", part.path));
    }
    if from.truncated {
        page.sentence(
            &label("!"),
            "the file is shorter than the tensors it declares: an incomplete copy or download",
        );
    }
}

fn settings(page: &mut Page, from: &Inspection) {
    let list = |given: bool| -> Vec<String> {
        let chosen = from.settings.iter().filter(|it| it.given == given);
        chosen
            .map(|it| format!("{} {}", it.name, it.value))
            .collect()
    };
    page.items(&label("given"), &list(true));
    page.items(&label("assumed"), &list(false));
}

fn part_line(page: &mut Page, part: &Segment<Estimated<Bytes>>) {
    let size = match &part.bytes {
        Reading::Known(it) => format::estimate(it.low, it.high),
        Reading::Missing(missing) => format::missing(missing.gap).to_owned(),
    };
    let place = match (&part.bytes, part.placement) {
        (Reading::Missing(missing), _) => missing.gap.sentence(),
        (_, Placement::Gpu) => "on the GPU",
        (_, Placement::PinnedHost) => "in pinned system memory",
        (_, Placement::Cpu) => "in system memory",
        (_, Placement::Unknown) => "on the GPU or in system memory",
    };
    let basis = match &part.bytes {
        Reading::Known(it) if it.low == it.high => "exact by the header",
        Reading::Known(_) => "a range",
        Reading::Missing(_) => "",
    };
    let told = |name: &str| match name {
        // Among the assumptions below; among the settings above.
        "assumed" | "why" | "gpu_layers" => true,
        // What stays behind belongs to the line of what did.
        "in_system_memory" => part.placement != Placement::Cpu,
        _ => false,
    };
    let notes = part.inputs.iter().filter(|(name, _)| !told(name));
    let notes = notes.map(|(name, value)| format!("{} {value}", name.replace('_', " ")));
    let items: Vec<String> = [size, place.to_owned(), basis.to_owned()]
        .into_iter()
        .chain(notes)
        .filter(|item| !item.is_empty())
        .collect();
    page.items(&label(part.kind.label()), &items);
}

fn sum(of: Sum) -> String {
    if let (Bytes(0), Some(gap)) = (of.high, of.gap) {
        return match of.missing {
            1 => format!("{} (a part of unknown size)", format::missing(gap)),
            more => format!("{} ({more} parts of unknown size)", format::missing(gap)),
        };
    }
    let text = format::estimate(of.low, of.high);
    match of.missing {
        0 => text,
        1 => format!("{text} and a part of unknown size"),
        more => format!("{text} and {more} parts of unknown size"),
    }
}

fn totals(page: &mut Page, need: &Need) {
    page.items(
        &label("total"),
        &[
            format!("{} on the GPU", sum(need.on_device())),
            format!("{} in system memory", sum(need.in_system_memory())),
        ],
    );
}

/// A row a context: each kind of part that there is room for, then the sum on the GPU.
fn contexts(page: &mut Page, rows: &[Need]) {
    let mut kinds: Vec<model::SegmentKind> = Vec::new();
    for part in rows.iter().flat_map(|row| &row.parts) {
        if part.placement != Placement::Cpu && !kinds.contains(&part.kind) {
            kinds.push(part.kind);
        }
    }
    // In a narrow terminal those go that change least with the context.
    while kinds.len() > 1 && FIRST + COLUMN * (kinds.len() + 1) > page.width() {
        let least = kinds
            .iter()
            .position(|kind| *kind != model::SegmentKind::Kv);
        let Some(least) = least else { break };
        kinds.remove(least);
    }
    // What a server makes of a context, where that is another one.
    let made = |row: &Need| row.effective.map(|made| made.context);
    let differs = rows
        .iter()
        .any(|row| made(row).is_some_and(|made| Some(made) != row.context));
    let mut head = format::pad_start("context", FIRST);
    if differs {
        head.push_str(&format::pad_start("allocated", FIRST + 2));
    }
    for kind in &kinds {
        head.push_str(&format::pad_start(kind.label(), COLUMN));
    }
    head.push_str(&format::pad_start("on the GPU", COLUMN));
    page.line(&head);
    for row in rows {
        let tokens = row.context.map_or_else(String::new, |n| n.to_string());
        let mut line = format::pad_start(&tokens, FIRST);
        if differs {
            let made = made(row).map_or_else(String::new, |n| n.to_string());
            line.push_str(&format::pad_start(&made, FIRST + 2));
        }
        for kind in &kinds {
            let of_kind = |it: &&Segment<_>| it.kind == *kind && it.placement != Placement::Cpu;
            let cell = match row.parts.iter().find(of_kind).map(|part| &part.bytes) {
                Some(Reading::Known(it)) => format::estimate(it.low, it.high),
                Some(Reading::Missing(missing)) => format::missing(missing.gap).to_owned(),
                None => "-".to_owned(),
            };
            line.push_str(&format::pad_start(&cell, COLUMN));
        }
        let all = row.on_device();
        let mark = if all.missing > 0 { ">=" } else { "" };
        let cell = format!("{mark}{}", format::estimate(all.low, all.high));
        line.push_str(&format::pad_start(&cell, COLUMN));
        page.line(&line);
    }
}

fn on_device(page: &mut Page, it: &DeviceFit) {
    let name = it.name.value().map_or(format::NOT_AVAILABLE, |name| name);
    let free = match &it.free {
        Reading::Known(Free::Measured(free)) => format!("{} free", format::size_long(free.value)),
        Reading::Known(Free::Derived(free)) => {
            format!("~{} free (all less the used)", format::size_long(free.low))
        }
        Reading::Missing(missing) => format!(
            "free memory {}: {}",
            format::missing(missing.gap),
            missing.gap.sentence()
        ),
    };
    page.line(&format!("GPU {}  {name}  {free}", it.device_index));
    let mut items = vec![it.verdict.label().to_owned()];
    match it.spare {
        Some(Spare {
            least: Some(least),
            most,
        }) => items.push(format!("spare {}", format::estimate_signed(least, most))),
        Some(Spare { least: None, most }) => items.push(format!(
            "spare at most {}",
            format::estimate_signed(most, most)
        )),
        None => {}
    }
    let source = it.overhead.source;
    items.push(if it.overhead.high == Bytes(0) {
        source.to_owned()
    } else {
        let size = format::estimate(it.overhead.low, it.overhead.high);
        format!("beside {size} for context and workspaces ({source})")
    });
    page.items(&label("verdict"), &items);
    match it.largest {
        Ok(largest) => page.sentence(&label("context"), &largest_text(largest)),
        // The line above says why, or there is none to speak of.
        Err(gap) if it.free.known().is_none() || gap == Gap::NotApplicable => {}
        Err(gap) => {
            let missing = format::missing(gap);
            let text = format!("largest that fits: {missing}: {}", gap.sentence());
            page.sentence(&label("context"), &text);
        }
    }
    if let Some(after) = it.after_unload {
        for one in &it.unload {
            let name = one.name.as_deref().unwrap_or(format::NOT_AVAILABLE);
            let models: Vec<&str> = one.models.iter().map(|name| &**name).collect();
            page.items(
                &label("idle"),
                &[
                    format!("{} {name}", one.process),
                    models.join(", "),
                    format!("holds {}", format::size(one.holds.value)),
                    match one.state {
                        ServerState::Ready => "no slot busy".to_owned(),
                        state => state.id().replace('_', " "),
                    },
                    one.load.label().to_owned(),
                ],
            );
        }
        let text = match it.unload.len() {
            1 => format!("{} once that is unloaded", after.label()),
            _ => format!("{} once those are unloaded", after.label()),
        };
        page.sentence(&label("then"), &text);
    } else if lacks_idle(it) {
        page.sentence(&label("idle"), "none whose memory would help");
    }
}

/// Whether somebody could be asked to go, but nobody is known to be idle.
const fn lacks_idle(it: &DeviceFit) -> bool {
    let is_short = matches!(it.verdict, Verdict::DoesNotFit | Verdict::MayFit);
    is_short && it.after_unload.is_none() && it.holders > 0
}

/// The largest contexts that fit, and which of them the model was trained with.
fn largest_text(it: Largest) -> String {
    let tokens = |n: u64| match n {
        0 => "none".to_owned(),
        n if n >= it.tried => format!("{n} or more"),
        n => n.to_string(),
    };
    let (sure, maybe) = (tokens(it.sure), tokens(it.maybe));
    match it.trained {
        Some(trained) if it.sure > trained => {
            let upto = if it.sure == it.maybe {
                format!("up to {sure} would fit")
            } else {
                format!("{sure} would surely fit, {maybe} at most")
            };
            format!("largest that fits: {trained}, as trained; beyond that {upto}")
        }
        trained => {
            let text = if it.sure == it.maybe {
                sure
            } else {
                format!("{sure} surely, {maybe} at most")
            };
            match trained {
                Some(trained) if it.maybe > trained => {
                    format!("largest that fits: {text} (trained with {trained})")
                }
                _ => format!("largest that fits: {text}"),
            }
        }
    }
}

fn notes(page: &mut Page, from: &Inspection) {
    for remark in &from.remarks {
        page.sentence(&label("!"), remark);
    }
    for assumption in from.assumptions() {
        page.sentence(&label("i"), &assumption);
    }
    page.sentence(
        &label("i"),
        "by the rules of llama.cpp's server, with one GPU; of a later or another program they may differ",
    );
}

fn legend(page: &mut Page) {
    page.items(
        &label("legend"),
        &[
            "~ = estimate from the header".into(),
            "n/a = not known (not zero)".into(),
            "K M G = KiB MiB GiB".into(),
        ],
    );
}
