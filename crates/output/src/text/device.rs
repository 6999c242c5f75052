//! The block of one GPU, and the list of GPUs.

use model::names::natural_order;
use model::{
    ChargedBytes, Device, DeviceKind, Gap, Measured, Percent, PowerState, Reading, SensorUnit,
    Snapshot, Text, Total, Vendor,
};

use super::notes::{Cell, Notes, with_ages};
use super::page::Page;
use crate::{format, shown};

pub(super) fn write(page: &mut Page, notes: &mut Notes<'_>, snapshot: &Snapshot, device: &Device) {
    let subject = format!("GPU {}", device.index);
    notes.about(Some(device.index));
    identity(page, notes, device, &subject);
    memory(page, notes, device, &subject);
    let shares: [(&'static str, &Reading<Measured<Percent>>); 4] = [
        ("gpu", &device.gpu),
        ("memory", &device.memory_activity),
        ("encoder", &device.encoder),
        ("decoder", &device.decoder),
    ];
    let fields = [
        "gpu load",
        "memory activity",
        "encoder load",
        "decoder load",
    ];
    let mut items: Vec<(String, Option<u64>)> = shares
        .into_iter()
        .zip(fields)
        .filter_map(|((label, reading), field)| {
            if !matches!(field, "gpu load") && is_structural(reading) {
                return None;
            }
            let cell = notes.measured(field, &subject, reading, |share| {
                format::percent_long(*share)
            });
            Some((format!("{label} {}", cell.text), cell.old_ms))
        })
        .collect();
    // Two engines that many devices lack: JSON and the interface say why.
    for (label, reading) in [("jpeg", &device.jpeg), ("ofa", &device.ofa)] {
        if let Reading::Known(share) = reading {
            let text = format!("{label} {}", format::percent_long(share.value));
            items.push((text, notes.old(share.from.at)));
        }
    }
    page.items("  activity  ", &with_ages(items));
    sensors(page, notes, device, &subject);
    further(page, notes, device, &subject);
    pcie(page, notes, device, &subject);
    super::attention::write(page, notes, device);
    by_type(page, notes, snapshot, device, &subject);
    super::mig::write(page, notes, device, &subject);
    if let Some(why) = crate::sleep(snapshot, device) {
        page.sentence("  sleep     ", &why);
    }
    if &*device.counter_status != "ok" {
        page.sentence("  status    ", &device.counter_status);
    }
}

/// Whether the driver family has no such reading: then it has no place in the report. JSON gives the reason.
fn is_structural<T>(reading: &Reading<T>) -> bool {
    reading.gap().is_some_and(Gap::is_structural)
}

/// `286 W of 320 W`; nothing is a part of a limit that is not known.
pub(super) fn part_of(part: &Cell, whole: &Cell, name: &str) -> String {
    match (whole.is_known(), part.is_known()) {
        (true, true) => format!("{} of {}", part.text, whole.text),
        (true, false) | (false, true) => format!("{} ({name} {})", part.text, whole.text),
        (false, false) => part.text.clone(),
    }
}

fn identity(page: &mut Page, notes: &mut Notes<'_>, device: &Device, subject: &str) {
    let text = |notes: &mut Notes<'_>, field, reading: &Reading<Measured<Text>>| {
        notes
            .measured(field, subject, reading, ToString::to_string)
            .text
    };
    let mut items = vec![
        text(notes, "name", &device.name),
        format!("driver {}", text(notes, "driver version", &device.driver)),
    ];
    // What has no meaning for other makers' devices is not said of them.
    if device.cuda.gap() != Some(Gap::NotApplicable) {
        items.push(format!(
            "CUDA {}",
            text(notes, "CUDA version", &device.cuda)
        ));
    }
    let pci = notes.measured("PCI address", subject, &device.pci, ToString::to_string);
    items.push(format!("pci {}", pci.text));
    items.extend(kind(device));
    items.extend(device.virtualization_label().map(str::to_owned));
    match &device.power_state {
        Reading::Known(state) if state.value == PowerState::Suspended => {
            items.push("suspended".into());
        }
        Reading::Known(_) => {}
        Reading::Missing(missing) => {
            notes.gap_of("power state", subject, missing.gap, missing.from.source);
        }
    }
    page.items(&format!("{subject}  "), &items);
}

/// What kind of device it is and what decided that. NVIDIA's driver serves cards, and names what is none.
fn kind(device: &Device) -> Option<String> {
    let label = device.kind.label();
    match device.kind_evidence {
        Some(_) if device.vendor == Vendor::Nvidia => label.map(str::to_owned),
        Some(evidence) => Some(format!(
            "{} by {evidence}",
            label.unwrap_or(device.kind.id())
        )),
        None if device.vendor == Vendor::Nvidia => None,
        None => Some("card or part of the processor: not known".into()),
    }
}

fn memory(page: &mut Page, notes: &mut Notes<'_>, device: &Device, subject: &str) {
    let memory = &device.memory;
    let mut size =
        |field, reading| notes.measured(field, subject, reading, |b| format::size_long(*b));
    let used = size("used memory", &memory.used);
    let total = size("memory size", &memory.total);
    let free = match memory.computed_free() {
        Some(free) => Cell {
            text: format!("~{}", format::size_long(free)),
            old_ms: None,
        },
        None => size("free memory", &memory.free),
    };
    let reserved =
        (!is_structural(&memory.reserved)).then(|| size("reserved memory", &memory.reserved));
    let share = memory.used.value().zip(memory.total.value());
    let share = share.and_then(|(used, total)| used.percent_of(*total));
    let share = share.map_or_else(String::new, |it| format!(" ({})", format::percent_long(it)));
    let carve_out = match (device.kind, total.text.as_str()) {
        (DeviceKind::Integrated, text) if text != format::NOT_AVAILABLE => "carve-out ",
        _ => "",
    };
    let first = if used.is_known() && total.is_known() {
        format!("{carve_out}{} of {} used{share}", used.text, total.text)
    } else {
        format!("{carve_out}used {}  in all {}", used.text, total.text)
    };
    let mut items = vec![
        (first, used.old_ms),
        (format!("free {}", free.text), free.old_ms),
    ];
    items.extend(reserved.map(|it| (format!("reserved {}", it.text), it.old_ms)));
    // A platform without the counter has no use for the words.
    if !is_structural(&memory.shared_used) || !is_structural(&memory.shared_total) {
        let used = size("shared memory in use", &memory.shared_used);
        let total = size("shared memory size", &memory.shared_total);
        let text = part_of(&used, &total, "in all");
        let text = format!("shared {text} (system memory)");
        items.push((text, used.old_ms));
    }
    page.items("  memory    ", &with_ages(items));
}

fn sensors(page: &mut Page, notes: &mut Notes<'_>, device: &Device, subject: &str) {
    let labelled = |label: &str, cell: Cell| (format!("{label}{}", cell.text), cell.old_ms);
    let temperature = notes.measured("temperature", subject, &device.temperature, |at| {
        format::celsius(*at)
    });
    let power = notes.measured("power draw", subject, &device.power, |it| {
        format::watts(*it)
    });
    let limit = notes.measured("power limit", subject, &device.power_limit, |it| {
        format::watts(*it)
    });
    let mut items = vec![
        labelled("temperature ", temperature),
        (
            format!("power {}", part_of(&power, &limit, "limit")),
            power.old_ms,
        ),
    ];
    // Turns are as good as a share; without either it is said that there is none.
    let turns = device.turns().and_then(|turns| turns.value.known());
    match turns.filter(|_| device.fan.known().is_none()) {
        Some(turns) => {
            let text = format::sensor(SensorUnit::TurnsPerMinute, turns.value);
            items.push((format!("fan {text}"), notes.old(turns.from.at)));
        }
        None if is_structural(&device.fan) => {}
        None => {
            let fan = notes.measured("fan speed", subject, &device.fan, |share| {
                format::percent_long(*share)
            });
            items.push(labelled("fan ", fan));
        }
    }
    for (label, field, reading) in [
        ("core ", "core clock", &device.core_clock),
        ("memory ", "memory clock", &device.memory_clock),
        ("video ", "video clock", &device.video_clock),
    ] {
        if is_structural(reading) && field != "core clock" {
            continue;
        }
        let clock = notes.measured(field, subject, reading, |it| format::megahertz(*it));
        items.push(labelled(label, clock));
    }
    if !is_structural(&device.performance_state) {
        let state = &device.performance_state;
        let state = notes.measured("performance state", subject, state, |n| format!("P{n}"));
        items.push(labelled("state ", state));
    }
    page.items("  sensors   ", &with_ages(items));
}

/// Readings that only some drivers have, as far as they are there.
fn further(page: &mut Page, notes: &mut Notes<'_>, device: &Device, subject: &str) {
    let mut loads: Vec<_> = device.visible_loads.iter().collect();
    loads.sort_by(|(a, _), (b, _)| natural_order(a, b));
    let loads: Vec<String> = loads
        .into_iter()
        .filter_map(|(name, load)| {
            let name = format::sanitize(name);
            // That a load is at least nothing says nothing.
            let least = load.known()?.low;
            Some(if least.0 > 0.0 {
                let least = format::percent_long(least);
                format!("{name} {}{least}", notes.at_least())
            } else {
                let gap = notes.gap("load of engines", subject, Gap::InputMissing);
                format!("{name} {gap}")
            })
        })
        .collect();
    if !loads.is_empty() {
        page.items("  engines   ", &loads);
    }
    let turns = device
        .fan
        .known()
        .is_none()
        .then(|| device.turns())
        .flatten();
    let known = device.sensors.iter().filter_map(|sensor| {
        // It stands for the fan's share.
        if turns.is_some_and(|turns| turns.id == sensor.id) {
            return None;
        }
        let value = *sensor.value.value()?;
        Some((
            format!("{} {}", sensor.label, format::sensor(sensor.unit, value)),
            None,
        ))
    });
    let items: Vec<(String, Option<u64>)> = known.collect();
    if !items.is_empty() {
        page.items("  further   ", &with_ages(items));
    }
}

fn pcie(page: &mut Page, notes: &mut Notes<'_>, device: &Device, subject: &str) {
    let mut items = Vec::with_capacity(3);
    let link = [
        is_structural(&device.pcie_generation),
        is_structural(&device.pcie_width),
    ];
    if link != [true; 2] {
        let generation = notes.measured(
            "PCIe generation",
            subject,
            &device.pcie_generation,
            ToString::to_string,
        );
        let width = notes.measured("PCIe width", subject, &device.pcie_width, |n| {
            format!("x{n}")
        });
        let text = if generation.is_known() || width.is_known() {
            format!("generation {} {}", generation.text, width.text)
        } else {
            format!("link {}", generation.text)
        };
        items.push((text, generation.old_ms));
    }
    for (label, field, reading) in [
        ("received", "PCIe received", &device.pcie_rx),
        ("sent", "PCIe sent", &device.pcie_tx),
    ] {
        if !is_structural(reading) {
            let rate = notes.measured(field, subject, reading, |rate| format::rate(*rate));
            items.push((format!("{label} {}", rate.text), rate.old_ms));
        }
    }
    if !items.is_empty() {
        page.items("  pcie      ", &with_ages(items));
    }
}

/// Memory by category, then what was matched to an owner, then what is in no row.
fn by_type(
    page: &mut Page,
    notes: &mut Notes<'_>,
    snapshot: &Snapshot,
    device: &Device,
    subject: &str,
) {
    let mut items: Vec<(String, Option<u64>)> = Vec::new();
    for share in &device.categories {
        let size = sum(notes, subject, share.memory);
        items.push((format!("{} {size}", share.category.label()), None));
    }
    let mut matched = Total::nothing();
    for (_, charge) in shown::rows(snapshot) {
        let here = charge.device_index == device.index;
        if let (true, Some(ChargedBytes::Inferred(size))) = (here, charge.memory.vram.known()) {
            matched.include(Some(size.value));
        }
    }
    if matched.counted > 0 {
        items.push((format!("matched {}", format::size(matched.known)), None));
    }
    let rest = notes.estimated("unattributed memory", subject, &device.memory.unattributed);
    let sizeless = match device.memory.attributed.missing {
        0 => String::new(),
        1 => " (with 1 row without a size)".into(),
        rows => format!(" (with {rows} rows without a size)"),
    };
    items.push((format!("unattributed {}{sizeless}", rest.text), rest.old_ms));
    if device.categories_normalized {
        items.push(("(rows add up to more than is used)".into(), None));
    }
    page.items("  by type   ", &with_ages(items));
}

/// A sum of rows: a lower bound where some rows have no size, unknown where none has.
fn sum(notes: &mut Notes<'_>, subject: &str, total: Total) -> String {
    if total.is_complete() {
        format::size(total.known)
    } else if total.known.0 > 0 {
        format!("{}{}", notes.at_least(), format::size(total.known))
    } else {
        notes
            .gap("memory by type", subject, Gap::InputMissing)
            .into()
    }
}

/// One line a device: index, name, memory, driver, PCI address, UUID.
pub(super) fn list(snapshot: &Snapshot) -> String {
    let or_missing = |text: Option<String>, gap: Option<Gap>| {
        text.or_else(|| gap.map(|gap| format::missing(gap).to_owned()))
            .unwrap_or_else(|| "n/a".to_owned())
    };
    let name = |device: &Device| {
        or_missing(
            device.name.value().map(ToString::to_string),
            device.name.gap(),
        )
    };
    let names = snapshot.devices.iter().map(name);
    let widest = names
        .map(|name| format::display_width(&format::sanitize(&name)))
        .fold(0, usize::max)
        .min(40);
    let last = snapshot.devices.iter().map(|device| device.index).max();
    let label = "GPU ".len() + last.map_or(1, |index| index.to_string().len());
    let mut out = String::new();
    for device in &snapshot.devices {
        let total = &device.memory.total;
        let columns = [
            format::pad_end(&format!("GPU {}", device.index), label),
            format::fit(&name(device), widest),
            format::pad_start(
                &or_missing(total.value().map(|b| format::size_long(*b)), total.gap()),
                8,
            ),
            format!(
                "driver {}",
                or_missing(
                    device.driver.value().map(ToString::to_string),
                    device.driver.gap()
                )
            ),
            format!(
                "pci {}",
                or_missing(
                    device.pci.value().map(ToString::to_string),
                    device.pci.gap()
                )
            ),
        ];
        let uuid = (!is_structural(&device.uuid)).then(|| {
            let uuid = device.uuid.value().map(ToString::to_string);
            format!("uuid {}", or_missing(uuid, device.uuid.gap()))
        });
        let other_number = device
            .driver_index
            .filter(|number| *number != device.index)
            .map(|number| format!("the driver's number {number}"));
        let asleep = device.power_state.value() == Some(&PowerState::Suspended);
        let labels = asleep.then_some("suspended").into_iter();
        let labels = labels.chain(device.labels()).map(str::to_owned);
        let columns: Vec<String> = columns
            .into_iter()
            .chain(uuid)
            .chain(other_number)
            .chain(labels)
            .collect();
        out.push_str(format::sanitize(&columns.join("  ")).trim_end());
        out.push('\n');
        super::mig::list(&mut out, device, label + 2 + widest);
    }
    out
}
