//! All that is known of one process, as paragraphs: the text of the inspector.

mod charges;
mod model;
mod server;

use ::model::{Charge, Container, DeviceKind, PidMark, Process, Reading, Snapshot};
use ratatui::text::Line;

use crate::columns::{self, Row};
use crate::contents::Contents;
use crate::device;
use crate::figure::{self, Figure};
use crate::gaps;
use crate::panels::OLD_MS;
use crate::prose::{self, Paragraph, glued};
use crate::theme::Look;
use crate::view::View;
use charges::charge_line;

pub(crate) use charges::engines;

/// Cells that labels take.
pub(crate) const INDENT: usize = 8;

/// Number and name.
pub(crate) fn title(row: Row<'_>, look: Look) -> String {
    format!(
        "{} {}",
        row.process.key,
        columns::name(row.process, look).text
    )
}

/// The dossier of `row`, wrapped to `cells`.
pub(crate) fn lines(view: View<'_>, row: Row<'_>, cells: u16) -> Vec<Line<'static>> {
    let Some(snapshot) = view.snapshot else {
        return Vec::new();
    };
    let look = view.look();
    let process = row.process;
    let mut out: Vec<Paragraph> = Vec::with_capacity(24);
    let several = process.models.len() > 1;
    for model in &process.models {
        out.push(model::line(model, several, look));
    }
    if let Some(none) = model::none_line(process, look) {
        out.push(none);
    }
    if let Some(charge) = row.charge {
        out.push(memory_line(snapshot, charge, look));
    }
    let device = row.charge.map(|charge| charge.device_index);
    let contents = Contents::of(process, device);
    contents.paragraphs(cells, look, &mut out);
    if let Some(server) = server::line(snapshot, process, look) {
        out.push(server);
    }
    out.push(identity_line(snapshot, process, look));
    out.push(command_line(process, look));
    out.push(kind_line(process, look));
    for model in &process.models {
        out.push(model::evidence(snapshot, model, several, look));
        model::more(snapshot, model, several, look, &mut out);
    }
    server::more(snapshot, process, look, &mut out);
    contents.notes(look, &mut out);
    for charge in &process.charges {
        out.push(charge_line(snapshot, charge, look));
    }
    gaps::of_row(snapshot, row, look, &mut out);
    let index = row.charge.map(|charge| charge.device_index);
    let device = snapshot
        .devices
        .iter()
        .find(|device| Some(device.index) == index)
        .or_else(|| view.device());
    if let Some(device) = device {
        out.push(Paragraph::new("", look.plain(), 0));
        device::paragraphs(snapshot, device, look, &mut out);
    }
    prose::wrap(&out, cells)
}

/// The shown device alone, for when no process is selected.
pub(crate) fn device_lines(view: View<'_>, cells: u16) -> Vec<Line<'static>> {
    let look = view.look();
    let mut out = Vec::with_capacity(12);
    out.push(Paragraph::new("", look.plain(), 0).with("no process is selected", look.dim()));
    if let (Some(snapshot), Some(device)) = (view.snapshot, view.device()) {
        device::paragraphs(snapshot, device, look, &mut out);
    }
    prose::wrap(&out, cells)
}

/// An empty paragraph with a label.
pub(crate) fn labelled(label: &str, look: Look) -> Paragraph {
    Paragraph::new(label, look.label(), INDENT)
}

/// Puts `figure` after its name, as one word.
pub(crate) fn put(it: &mut Paragraph, name: &str, figure: &Figure, look: Look) {
    if !name.is_empty() {
        it.put(glued(&format!("{name} ")), look.plain());
    }
    it.put(glued(&figure.text), look.class(figure.class));
}

/// A separator between facts.
pub(crate) fn dot(it: &mut Paragraph, look: Look) {
    if !it.is_empty() {
        it.put(" · ", look.rule());
    }
}

fn fact(it: &mut Paragraph, name: &str, figure: &Figure, look: Look) {
    dot(it, look);
    put(it, name, figure, look);
}

fn memory_line(snapshot: &Snapshot, charge: &Charge, look: Look) -> Paragraph {
    let mut it = labelled("VRAM", look);
    let vram = figure::vram(charge, look);
    put(&mut it, "", &vram, look);
    match &charge.memory.vram {
        Reading::Known(known) => {
            let how = match known.basis() {
                None => "measured",
                Some(basis) => match basis.mark() {
                    PidMark::Sure => "measured, its owner matched",
                    PidMark::Guess => "measured, its owner guessed",
                },
            };
            it.put(format!(" {how}"), look.dim());
            let age = snapshot.at.ms_since(known.at());
            if age > OLD_MS {
                it.put(
                    format!(", {} old", output::format::age(age)),
                    look.warning(),
                );
            }
        }
        Reading::Missing(missing) => {
            it.put(format!(" {}", missing.gap.sentence()), look.dim());
        }
    }
    if charge
        .drm
        .as_ref()
        .is_some_and(|drm| drm.kind == DeviceKind::Integrated)
    {
        it.put(" (the carve-out)", look.dim());
    }
    // What the platform has no counter for is told once, with the reason, below.
    if !device::is_structural(&charge.memory.spill) {
        let spill = figure::charged(&charge.memory.spill, look);
        fact(&mut it, charge.system_label(), &spill, look);
    }
    fact(
        &mut it,
        "GPU%",
        &figure::load(&charge.engines.busiest, look),
        look,
    );
    it
}

fn identity_line(snapshot: &Snapshot, process: &Process, look: Look) -> Paragraph {
    let mut it = labelled("Process", look);
    it.put(glued(&format!("pid {}", process.key)), look.plain());
    if let Some(entry) = process.pid_match {
        let mark = figure::mark(entry.why.mark());
        let text = format!("driver's number {} {mark}", entry.foreign_pid);
        dot(&mut it, look);
        it.put(glued(&text), look.plain());
        it.put(format!(" {}", entry.why.sentence()), look.dim());
    }
    let text = |reading| {
        figure::measured(reading, look, |text: &::model::Text| {
            figure::clean(text).into_owned()
        })
    };
    fact(&mut it, "user", &text(&process.user), look);
    let parent = figure::measured(&process.parent, look, ToString::to_string);
    fact(&mut it, "parent", &parent, look);
    let started = figure::measured(&process.started, look, |wall_us| {
        // A start in the future is a clock that was set back: no age to tell.
        let ms = u64::try_from(snapshot.at.wall_us.saturating_sub(*wall_us) / 1000);
        let Ok(age) = ms.map(output::format::age) else {
            return format!("{} UTC", figure::clock(*wall_us));
        };
        format!("{} UTC, {age} ago", figure::clock(*wall_us))
    });
    fact(&mut it, "started", &started, look);
    let ports = figure::measured(&process.ports, look, |ports| {
        let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
        if ports.is_empty() {
            "none".to_owned()
        } else {
            ports.join(" ")
        }
    });
    fact(&mut it, "ports", &ports, look);
    let container = figure::measured(&process.container, look, |container| {
        container.as_ref().map_or_else(
            || "none".to_owned(),
            |container| match (container.runtime, figure::clean(&container.id)) {
                // The word before it says that already.
                ("container", id) => id.to_string(),
                (runtime, id) => format!("{runtime} {id}"),
            },
        )
    });
    fact(&mut it, "container", &container, look);
    if let Some(Some(container)) = process.container.value() {
        container_facts(&mut it, container, look);
    }
    it
}

fn container_facts(it: &mut Paragraph, container: &Container, look: Look) {
    let word = |text: &str| Figure::measured(figure::clean(text).into_owned());
    // The identifier of LXC is the name, and a name of which nothing can be seen is none.
    if container
        .name
        .value()
        .is_none_or(|named| *named.name != *container.id && !::model::names::is_blank(&named.name))
    {
        let name = figure::measured(&container.name, look, |named| {
            figure::clean(&named.name).into_owned()
        });
        fact(it, "name", &name, look);
    }
    let named = container.name.value();
    if let Some(pod) = named.and_then(|named| named.pod.as_ref()) {
        fact(it, "pod", &word(pod), look);
    }
    if let Some(namespace) = named.and_then(|named| named.namespace.as_ref()) {
        fact(it, "namespace", &word(namespace), look);
    }
    if let Some(uid) = &container.pod_uid {
        fact(it, "pod UID", &word(uid), look);
    }
}

fn command_line(process: &Process, look: Look) -> Paragraph {
    let mut it = labelled("Command", look);
    match &process.command_line {
        Reading::Known(known) => {
            let words: Vec<String> = known.value.iter().map(|word| shell_word(word)).collect();
            let text = if words.is_empty() {
                "(empty)".to_owned()
            } else {
                words.join(" ")
            };
            it.put(text, look.plain());
        }
        Reading::Missing(missing) => {
            let figure = Figure::gap(missing.gap, look);
            put(&mut it, "", &figure, look);
        }
    }
    let exe = figure::measured(&process.exe, look, |exe| figure::clean(exe).into_owned());
    fact(&mut it, "exe", &exe, look);
    it
}

/// An argument with blanks is quoted, so that one argument is told from two.
fn shell_word(word: &str) -> String {
    let word = figure::clean(word);
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("'{word}'")
    } else {
        word.into_owned()
    }
}

fn kind_line(process: &Process, look: Look) -> Paragraph {
    let mut it = labelled("Kind", look);
    it.put(process.category_label(), look.category(process.category));
    if process.category_reason == "no_rule" {
        it.put(" (nothing it runs or does tells more)", look.dim());
    } else if process.category_reason != "none" {
        let rule = process.category_reason.replace('_', " ");
        it.put(format!(" by {rule}"), look.plain());
    }
    let runtimes = figure::measured(&process.runtimes, look, |runtimes| {
        let shown: Vec<String> = runtimes
            .iter()
            .map(|runtime| format!("{} ({})", runtime.name, figure::clean(&runtime.library)))
            .collect();
        if shown.is_empty() {
            "none mapped".to_owned()
        } else {
            shown.join(", ")
        }
    });
    dot(&mut it, look);
    it.put("runtimes ", look.plain());
    // Long lists may break between their entries.
    it.put(runtimes.text.into_owned(), look.class(runtimes.class));
    it
}
