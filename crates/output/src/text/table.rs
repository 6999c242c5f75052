//! The process table.

use model::{
    Charge, ChargedBytes, Estimated, Gap, KfdStanding, Missing, Process, Reading, SHARED_LABEL,
    SPILL_LABEL, Snapshot,
};

use super::notes::Notes;
use super::page::Page;
use super::{process, workload};
use crate::json::mark;
use crate::{format, shown};

/// Subject of a note about a column that is left out, where all rows lack it for one reason.
const EVERY_ROW: &str = "every row";

/// Heading of the container's column.
const CONTAINER: &str = "CONTAINER";

/// Least and most columns of it: a short identifier alone, and one with a name.
const LEAST_OF_CONTAINER: usize = 12;
const MOST_OF_CONTAINER: usize = 28;

/// Columns of a size with its mark.
const SIZE: usize = 7;

/// Which columns there are, and how wide.
struct Layout {
    pid: usize,
    name: usize,
    /// Width of the kind of work: a guess is marked, which may need one more.
    kind: usize,
    gpu: bool,
    /// Heading of the column of system memory, where there is one.
    spill: Option<&'static str>,
    paged: bool,
    /// Width of the column, where there is one: a mark needs two more.
    load: Option<usize>,
    /// Width of the container's column, where there is one.
    container: Option<usize>,
}

pub(super) fn write(page: &mut Page, notes: &mut Notes<'_>, snapshot: &Snapshot) {
    let rows: Vec<(&Process, &Charge)> = shown::rows(snapshot).collect();
    if shown::processes(snapshot).next().is_none() {
        page.line("processes");
        let unasked = |device: &&model::Device| device.has_unasked_processes();
        let untold = |device: &&model::Device| {
            unasked(device) && device.power_state.gap() == Some(Gap::PowerUnknown)
        };
        let unread = |device: &&model::Device| device.memory.attributed.lists_missing;
        let hidden = snapshot.process_status.hidden;
        let none;
        page.line(if snapshot.selected_devices().any(|it| unread(&it)) {
            "  not known: a process list of the driver could not be read"
        } else if snapshot.selected_devices().any(|it| untold(&it)) {
            "  not known: the GPU may be asleep and is not asked"
        } else if snapshot.selected_devices().any(|it| unasked(&it)) {
            "  not known: the GPU is asleep and is not asked"
        } else if hidden > 0 {
            none = format!("  none that can be seen; {hidden} cannot be looked at");
            &none
        } else {
            "  none listed"
        });
        return;
    }
    let layout = layout(snapshot, &rows, notes, page.width());
    page.line(&head(&layout, page.width()));
    for process in shown::processes(snapshot) {
        for charge in shown::charges(snapshot.selection, process) {
            row(page, notes, &layout, process, Some(charge));
            clients(page, charge, layout.pid + 2);
        }
        if process.charges.is_empty() {
            row(page, notes, &layout, process, None);
        }
        workload::write(page, notes, snapshot, process, layout.pid + 2);
    }
    total(page, notes, snapshot, layout.pid);
}

fn layout(
    snapshot: &Snapshot,
    rows: &[(&Process, &Charge)],
    notes: &mut Notes<'_>,
    width: usize,
) -> Layout {
    let widest = |texts: &mut dyn Iterator<Item = String>, least, most| {
        let widths = texts.map(|text| format::display_width(&format::sanitize(&text)));
        widths.fold(0, usize::max).clamp(least, most)
    };
    let mut pids = shown::processes(snapshot).map(|process| process.key.to_string());
    let mut names = shown::processes(snapshot).filter_map(|process| {
        let name = process.name.value()?;
        Some(name.to_string())
    });
    let pid = widest(&mut pids, 7, 12);
    let mut kinds = shown::processes(snapshot).map(|process| process.category_label().to_owned());
    let kind = widest(&mut kinds, 8, 9);
    // A name takes what is left of a narrow page when the last column has kept some of it.
    let name = widest(&mut names, 8, (width / 5).min(20));
    let gpu = snapshot.selected_devices().count() > 1;
    let mut kept = |field, missing: &mut dyn Iterator<Item = Option<Missing>>| {
        let missing: Vec<Option<Missing>> = missing.collect();
        let open = missing
            .iter()
            .all(|it| it.is_some_and(|it| !it.gap.is_pending()));
        if open {
            let gaps = || missing.iter().flatten().map(|it| it.gap);
            let is_one = gaps().all(|gap| Some(gap) == gaps().next());
            for ((process, charge), it) in rows.iter().zip(missing.iter().flatten()) {
                let of = if is_one {
                    EVERY_ROW.to_owned()
                } else {
                    subject(process, Some(charge), gpu)
                };
                notes.about(Some(charge.device_index));
                notes.gap_of(field, &of, it.gap, it.from.source);
            }
            notes.about(None);
        }
        !open
    };
    let mut containers = rows.iter().filter_map(|(process, _)| {
        let container = process.container.value()?.as_ref()?;
        Some(process::container(Some(container), usize::MAX))
    });
    let memory = rows.iter().map(|(_, charge)| &charge.memory);
    // Beside any device that is no card the word of all of them is the one that claims nothing.
    let mut labels = rows.iter().map(|(_, charge)| charge.system_label());
    let system = if labels.any(|label| label == SHARED_LABEL) {
        SHARED_LABEL
    } else {
        SPILL_LABEL
    };
    let mut layout = Layout {
        container: None,
        pid,
        name,
        kind,
        gpu,
        spill: kept(system, &mut memory.clone().map(|it| missing(&it.spill))).then_some(system),
        paged: kept("PAGED", &mut memory.clone().map(|it| missing(&it.paged))),
        load: kept(
            "GPU%",
            &mut rows.iter().map(|(_, on)| missing(&on.engines.busiest)),
        )
        .then(|| {
            let is_marked = |(_, on): &(_, &Charge)| {
                let load = on.engines.busiest.known();
                load.is_some_and(|load| load.basis().is_some())
            };
            if rows.iter().any(is_marked) { 6 } else { 4 }
        }),
    };
    let widest = widest(&mut containers, 0, MOST_OF_CONTAINER);
    if widest > 0 {
        // Three fifths of what is left; on a page too narrow for an identifier only the line below a row tells.
        let taken = format::display_width(&head(&layout, 0)) + 2;
        let room = width.saturating_sub(taken) * 3 / 5;
        layout.container = Some(widest.min(room)).filter(|_| room >= LEAST_OF_CONTAINER);
    }
    layout
}

fn missing<C>(reading: &Reading<C>) -> Option<Missing> {
    match reading {
        Reading::Missing(missing) => Some(*missing),
        Reading::Known(_) => None,
    }
}

/// How a row is named in a note.
fn subject(process: &Process, charge: Option<&Charge>, several_gpus: bool) -> String {
    match charge {
        Some(charge) if several_gpus && process.charges.len() > 1 => {
            format!("{} on GPU {}", process.key, charge.device_index)
        }
        _ => process.key.to_string(),
    }
}

fn head(layout: &Layout, width: usize) -> String {
    let mut cells = vec![
        format::pad_start("PID", layout.pid),
        format::pad_end("NAME", layout.name),
        format::pad_end("TYPE", layout.kind),
    ];
    // The titles of sizes leave the columns of the mark free.
    let mut title = |on: bool, text: &str, columns: usize| {
        if on {
            cells.push(format::pad_start(text, columns));
        }
    };
    title(layout.gpu, "GPU", 3);
    title(true, "VRAM  ", SIZE);
    if let Some(system) = layout.spill {
        // The longer one takes a column of the mark's, which such sizes do not have.
        title(true, &format!("{system:<7}"), SIZE);
    }
    title(layout.paged, "PAGED  ", SIZE);
    title(layout.load.is_some(), "GPU%", layout.load.unwrap_or(4));
    if let Some(columns) = layout.container {
        cells.push(format::pad_end(CONTAINER, columns));
    }
    let taken = format::display_width(&cells.join("  ")) + 2;
    let last = ["MODEL / RUNTIMES", "MODEL"]
        .into_iter()
        .find(|title| taken + title.len() <= width);
    cells.extend(last.map(Into::into));
    cells.join("  ")
}

/// A row; without a charge that of a process that no entry of the driver's was matched to.
fn row(
    page: &mut Page,
    notes: &mut Notes<'_>,
    layout: &Layout,
    process: &Process,
    charge: Option<&Charge>,
) {
    let subject = subject(process, charge, layout.gpu);
    notes.about(charge.map(|charge| charge.device_index));
    let name = notes.measured("NAME", &subject, &process.name, |name| match &**name {
        "" => "-".into(),
        name => name.to_owned(),
    });
    let mut cells = vec![
        format::pad_start(&process.key.to_string(), layout.pid),
        format::fit(&name.text, layout.name),
        format::pad_end(process.category_label(), layout.kind),
    ];
    match charge {
        Some(charge) => figures(&mut cells, notes, layout, &subject, charge),
        None => {
            let gap = notes.gap("VRAM", &subject, Gap::NotListed);
            let mut blank = |on: bool, text: &str, columns: usize| {
                if on {
                    cells.push(format::pad_start(text, columns));
                }
            };
            blank(layout.gpu, "-", 3);
            blank(true, &format!("{gap}  "), SIZE);
            blank(layout.spill.is_some(), &format!("{gap}  "), SIZE);
            blank(layout.paged, &format!("{gap}  "), SIZE);
            blank(layout.load.is_some(), gap, layout.load.unwrap_or(4));
        }
    }
    if let Some(columns) = layout.container {
        let container = notes.measured(CONTAINER, &subject, &process.container, |it| {
            process::container(it.as_ref(), columns)
        });
        let text = format::sanitize(&container.text);
        let text = format::middle_ellipsis(&text, columns);
        cells.push(format::pad_end(&text, columns));
    }
    let taken = format::display_width(&cells.join("  ")) + 2;
    let room = page.width().saturating_sub(taken);
    cells.push(process::what(notes, &subject, process, charge, room));
    page.line(&cells.join("  "));
}

/// What may be said of a process's memory where no size can be charged to it, and of memory that is not where the
/// driver wants it.
fn clients(page: &mut Page, charge: &Charge, indent: usize) {
    let Some(drm) = &charge.drm else { return };
    let lead = " ".repeat(indent);
    if !drm.shared_with.is_empty() {
        let others = format::numbers(&drm.shared_with);
        page.sentence(
            &lead,
            &format!("shares a connection to the device with {others}"),
        );
    }
    if let Reading::Known(own) = &drm.vram_bounds {
        let (low, high) = (format::size(own.low), format::size(own.high));
        let text = if own.low == own.high {
            let why = charge.memory.vram.gap().map_or("", Gap::sentence);
            format!(
                "VRAM {low} exactly, derived (~): nothing of what is there is shared; not charged and in no sum: {why}"
            )
        } else {
            let least = if own.low.0 > 0 {
                format!("at least {low} and ")
            } else {
                String::new()
            };
            format!("VRAM {least}at most {high}: what is there, less what is shared (~)")
        };
        page.sentence(&lead, &text);
    }
    // Beside a figure of its nodes, which holds it, the count is told in JSON and on the screen.
    if let Some(kfd) = &drm.kfd
        && let Reading::Known(counted) = &kfd.vram
        && kfd.standing != KfdStanding::InClients
    {
        let size = format::size(counted.value);
        let why = kfd.standing.sentence();
        let text = format!("ROCm's driver (KFD) counts {size} of VRAM for it, {why}");
        page.sentence(&lead, &text);
    }
    if let Reading::Known(displaced) = &drm.displaced
        && displaced.high.0 > 0
    {
        let size = format::size(displaced.high);
        page.sentence(&lead, &format!("{size} that should be in VRAM is not (~)"));
    }
}

/// The cells of what a process has on one device.
fn figures(
    cells: &mut Vec<String>,
    notes: &mut Notes<'_>,
    layout: &Layout,
    subject: &str,
    charge: &Charge,
) {
    if layout.gpu {
        cells.push(format::pad_start(&charge.device_index.to_string(), 3));
    }
    let memory = &charge.memory;
    let exact = charge.drm.as_ref().and_then(|drm| drm.exact_vram());
    cells.push(match (exact, memory.vram.known()) {
        // Derived, and in no sum: the line below says why nothing is charged.
        (Some(own), None) => {
            let text = format::estimate(own.low, own.high);
            format::pad_start(&(text + "  "), SIZE)
        }
        _ => size(notes, "VRAM", subject, &memory.vram),
    });
    if let Some(label) = layout.spill {
        cells.push(size(notes, label, subject, &memory.spill));
        if label == SHARED_LABEL {
            notes.shared();
        }
    }
    if layout.paged {
        if let Reading::Known(Estimated { from, .. }) = &memory.paged {
            notes.age("PAGED", subject, from.at);
        }
        let paged = notes.estimated("PAGED", subject, &memory.paged);
        cells.push(format::pad_start(&(paged.text + "  "), SIZE));
    }
    if let Some(columns) = layout.load {
        if let Reading::Known(load) = &charge.engines.busiest {
            notes.age("GPU%", subject, load.at());
        }
        let load = notes.load("GPU%", subject, &charge.engines.busiest);
        cells.push(format::pad_start(&load.text, columns));
    }
}

/// A size with the mark of its owner; the last two columns are the mark's.
fn size(
    notes: &mut Notes<'_>,
    field: &'static str,
    subject: &str,
    reading: &Reading<ChargedBytes>,
) -> String {
    let text = match reading {
        Reading::Known(known) => {
            notes.age(field, subject, known.at());
            let mark = known.basis().map_or(" ", |basis| mark(basis.mark()));
            format!("{} {mark}", format::size(known.value()))
        }
        Reading::Missing(missing) => format!(
            "{}  ",
            notes.gap_of(field, subject, missing.gap, missing.from.source)
        ),
    };
    format::pad_start(&text, SIZE)
}

fn total(page: &mut Page, notes: &mut Notes<'_>, snapshot: &Snapshot, indent: usize) {
    let (measured, matched) = shown::totals(snapshot);
    let mut items = Vec::new();
    // Where no device has memory of its own there is nothing to add up.
    if measured.is_known()
        && measured.counted > 0
        && (measured.is_complete() || measured.known.0 > 0)
    {
        let bound = if measured.is_complete() {
            ""
        } else {
            notes.at_least()
        };
        items.push(format!(
            "{bound}{} in {} with a measured owner",
            format::size_long(measured.known),
            rows(measured.counted),
        ));
    }
    if measured.missing > 0 {
        items.push(format!("{} without a size", rows(measured.missing)));
    }
    if matched.counted > 0 {
        let size = format::size_long(matched.known);
        items.push(format!(
            "{size} in {} with a matched owner",
            rows(matched.counted)
        ));
    }
    if !items.is_empty() {
        page.items(&(format::pad_start("total", indent) + "  "), &items);
    }
}

fn rows(count: u32) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} row{plural}")
}
