//! A device's modes, errors and links, as paragraphs at the end of the inspector.

use model::{
    ClocksEventReasons, Device, EccErrors, Gap, Measured, NvLink, Percent, Provenance, Reading,
    Snapshot,
};

use crate::dossier::{dot, labelled, put};
use crate::figure::{self, Figure};
use crate::gaps;
use crate::panels::OLD_MS;
use crate::prose::{Paragraph, glued};
use crate::theme::{Class, Look};

/// What the device tells beside the readings on the screen, behind a heading.
pub(crate) fn paragraphs(
    snapshot: &Snapshot,
    device: &Device,
    look: Look,
    out: &mut Vec<Paragraph>,
) {
    let head = format!("GPU {}", device.index);
    let mut it = Paragraph::new(&head, look.title(), 0);
    let name = figure::measured(&device.name, look, |name| figure::clean(name).into_owned());
    it.put(" ", look.plain());
    it.put(name.text.into_owned(), look.class(name.class));
    out.push(it);
    out.push(sleep(snapshot, device, look));
    // What the driver family cannot have is not asked for: a line of which nothing is left is none.
    let rows = [
        clocks(snapshot, device, look),
        engines(device, look),
        energy(snapshot, device, look),
        ecc(snapshot, device, look),
        memory(snapshot, device, look),
        links(snapshot, device, look),
        board(device, look),
    ];
    out.extend(rows.into_iter().filter(|row| !row.is_empty()));
    gaps::of_details(snapshot, device, look, out);
}

/// Whether the driver family has no such thing.
pub(crate) fn is_structural<T>(reading: &Reading<T>) -> bool {
    reading.gap().is_some_and(Gap::is_structural)
}

fn fact(it: &mut Paragraph, name: &str, figure: &Figure, look: Look) {
    dot(it, look);
    put(it, name, figure, look);
}

/// When a line's first answer came, where that is not just now: these are asked seldom.
fn age<T>(it: &mut Paragraph, snapshot: &Snapshot, reading: &Reading<Measured<T>>, look: Look) {
    let Some(Measured {
        from: Provenance { at, .. },
        ..
    }) = reading.known()
    else {
        return;
    };
    let ms = snapshot.at.ms_since(*at);
    if ms > OLD_MS {
        let text = format!(" ({} ago)", output::format::age(ms));
        it.put(glued(&text), look.dim());
    }
}

/// Why it sleeps or does not.
fn sleep(snapshot: &Snapshot, device: &Device, look: Look) -> Paragraph {
    let mut it = labelled("Sleep", look);
    match output::sleep(snapshot, device) {
        Some(said) => it.put(figure::clean(&said).into_owned(), look.plain()),
        None => put(
            &mut it,
            "may be suspended by the kernel",
            &figure::measured(&device.may_suspend, look, ToString::to_string),
            look,
        ),
    }
    it
}

fn clocks(snapshot: &Snapshot, device: &Device, look: Look) -> Paragraph {
    let details = &device.details;
    let mut it = labelled("Clocks", look);
    let reading = &details.clocks_event_reasons;
    if is_structural(reading) {
        return it;
    }
    let text = figure::measured(reading, look, |reasons| {
        output::format::clocks_event_reasons(*reasons)
    });
    it.put("event reasons ", look.plain());
    let held = reading.value().is_some_and(|reasons| reasons.limit());
    let style = if held {
        look.warning()
    } else {
        look.class(text.class)
    };
    it.put(text.text.into_owned(), style);
    if let Some(ClocksEventReasons(mask @ 1..)) = reading.value() {
        it.put(glued(&format!(" ({mask:#x})")), look.dim());
    }
    let supported = &details.clocks_event_reasons_supported;
    let told = figure::measured(supported, look, |reasons| {
        format!("{} kinds", reasons.0.count_ones())
    });
    fact(&mut it, "it can tell", &told, look);
    age(&mut it, snapshot, reading, look);
    it
}

fn engines(device: &Device, look: Look) -> Paragraph {
    let mut it = labelled("Engines", look);
    let share = |reading: &Reading<Measured<Percent>>| {
        figure::measured(reading, look, |it| output::format::percent_long(*it))
    };
    for (name, reading) in [
        ("enc", &device.encoder),
        ("dec", &device.decoder),
        ("jpeg", &device.jpeg),
        ("ofa", &device.ofa),
    ] {
        if is_structural(reading) {
            continue;
        }
        fact(&mut it, name, &share(reading), look);
    }
    it
}

fn energy(snapshot: &Snapshot, device: &Device, look: Look) -> Paragraph {
    let energy = &device.details.total_energy;
    let mut it = labelled("Energy", look);
    if is_structural(energy) {
        return it;
    }
    let figure = figure::measured(energy, look, |it| output::format::energy(*it));
    put(&mut it, "", &figure, look);
    if energy.known().is_some() {
        it.put(" since the driver was loaded", look.plain());
    }
    age(&mut it, snapshot, energy, look);
    it
}

fn on(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn count(reading: &Reading<Measured<u64>>, look: Look) -> Figure {
    figure::measured(reading, look, ToString::to_string)
}

fn ecc(snapshot: &Snapshot, device: &Device, look: Look) -> Paragraph {
    let ecc = &device.details.ecc;
    let mut it = labelled("ECC", look);
    if is_structural(&ecc.on) {
        return it;
    }
    let mode = figure::measured(&ecc.on, look, |mode| on(*mode).to_owned());
    put(&mut it, "", &mode, look);
    if let (Some(now), Some(later)) = (ecc.on.value(), ecc.on_after_reset.value())
        && now != later
    {
        let text = format!("{} after the next reset", on(*later));
        dot(&mut it, look);
        it.put(text, look.warning());
    }
    let mut errors = |name: &str, errors: &EccErrors| {
        // Without ECC there is nothing to count; the reason is told once.
        if errors.corrected.known().is_none() && errors.uncorrected.known().is_none() {
            return;
        }
        fact(&mut it, name, &count(&errors.corrected, look), look);
        it.put(" corrected, ", look.plain());
        let uncorrected = count(&errors.uncorrected, look);
        let style = if errors.uncorrected.value().is_some_and(|n| *n > 0) {
            look.warning()
        } else {
            look.class(uncorrected.class)
        };
        it.put(uncorrected.text.into_owned(), style);
        it.put(" uncorrected", look.plain());
    };
    errors("since driver load", &ecc.volatile);
    errors("ever", &ecc.aggregate);
    age(&mut it, snapshot, &ecc.on, look);
    it
}

/// Pages and rows: a card has one of them.
fn memory(snapshot: &Snapshot, device: &Device, look: Look) -> Paragraph {
    let (pages, rows) = (&device.details.retired_pages, &device.details.remapped_rows);
    let mut it = labelled("Memory", look);
    let number = |reading| figure::measured(reading, look, |n: &u32| n.to_string());
    let waits = |it: &mut Paragraph, reading: &Reading<Measured<bool>>, text: &str| {
        if reading.value() == Some(&true) {
            dot(it, look);
            it.put(text.to_owned(), look.warning());
        }
    };
    let none = Figure {
        text: "n/a".into(),
        class: Class::Missing,
    };
    if pages.single_bit.known().is_some() || pages.double_bit.known().is_some() {
        fact(&mut it, "retired pages", &number(&pages.single_bit), look);
        it.put(" single-bit, ", look.plain());
        put(&mut it, "", &number(&pages.double_bit), look);
        it.put(" double-bit", look.plain());
        waits(&mut it, &pages.pending, "some wait for a reboot");
        age(&mut it, snapshot, &pages.single_bit, look);
    } else if !is_structural(&pages.single_bit) {
        fact(&mut it, "retired pages", &none, look);
    }
    if rows.correctable.known().is_some() || rows.uncorrectable.known().is_some() {
        fact(&mut it, "remapped rows", &number(&rows.correctable), look);
        it.put(" correctable, ", look.plain());
        put(&mut it, "", &number(&rows.uncorrectable), look);
        it.put(" uncorrectable", look.plain());
        waits(&mut it, &rows.pending, "some wait for a reset");
        waits(&mut it, &rows.failed, "it has failed");
        age(&mut it, snapshot, &rows.correctable, look);
    } else if !is_structural(&rows.correctable) {
        fact(&mut it, "remapped rows", &none, look);
    }
    it
}

fn links(snapshot: &Snapshot, device: &Device, look: Look) -> Paragraph {
    let reading = &device.details.nvlinks;
    let mut it = labelled("NVLink", look);
    if is_structural(reading) {
        return it;
    }
    let figure = figure::measured(reading, look, |links| {
        let active = links
            .iter()
            .filter(|link| link.active.value() == Some(&true));
        format!("{} of {} links active", active.count(), links.len())
    });
    put(&mut it, "", &figure, look);
    if let Some(links) = reading.value() {
        for (what, links) in alike(links, look) {
            dot(&mut it, look);
            let plural = if links.len() == 1 { "" } else { "s" };
            let which = format!("link{plural} {}: ", numbers(&links));
            it.put(glued(&which), look.label());
            it.put(glued(&what), look.plain());
        }
    }
    age(&mut it, snapshot, reading, look);
    it
}

/// Links that have the same to say, with their numbers.
fn alike(links: &[NvLink], look: Look) -> Vec<(String, Vec<u32>)> {
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for link in links {
        let version = figure::measured(&link.version, look, |it| figure::clean(it).into_owned());
        let what = match link.active.value() {
            Some(true) => {
                let remote = figure::measured(&link.remote, look, ToString::to_string);
                format!("{} to {}", version.text, remote.text)
            }
            Some(false) => format!("{} inactive", version.text),
            None => "n/a".to_owned(),
        };
        match groups.iter_mut().find(|(same, _)| *same == what) {
            Some((_, numbers)) => numbers.push(link.link),
            None => groups.push((what, vec![link.link])),
        }
    }
    groups
}

/// `0-3,5`.
fn numbers(links: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for link in links {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*link) => *last = *link,
            _ => runs.push((*link, *link)),
        }
    }
    let runs: Vec<String> = runs
        .into_iter()
        .map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    runs.join(",")
}

fn board(device: &Device, look: Look) -> Paragraph {
    let details = &device.details;
    let mut it = labelled("Board", look);
    let text = |reading| {
        figure::measured(reading, look, |it: &model::Text| {
            figure::clean(it).into_owned()
        })
    };
    for (name, reading) in [
        ("VBIOS", &details.vbios),
        ("part", &details.board_part_number),
    ] {
        if !is_structural(reading) {
            fact(&mut it, name, &text(reading), look);
        }
    }
    if !is_structural(&details.persistence) {
        let persistence = figure::measured(&details.persistence, look, |it| on(*it).to_owned());
        fact(&mut it, "persistence", &persistence, look);
    }
    if !is_structural(&details.compute_mode) {
        let mode = figure::measured(&details.compute_mode, look, |it| it.label().to_owned());
        fact(&mut it, "compute mode", &mode, look);
    }
    it
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn numbers_of_links_are_runs() {
        for (links, text) in [
            (&[0][..], "0"),
            (&[0, 1, 2, 5], "0-2,5"),
            (&[3, 1], "3,1"),
            (&[u32::MAX, 0], "4294967295,0"),
        ] {
            assert_eq!(numbers(links), text);
        }
    }
}
