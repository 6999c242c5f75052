//! The block of one GPU, and the list of GPUs.

use model::{
    ChargedBytes, Device, DeviceKind, Gap, Measured, Percent, PowerState, Reading, Snapshot, Text,
    Total, Vendor,
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
        .map(|((label, reading), field)| {
            let cell = notes.measured(field, &subject, reading, |share| {
                format::percent_long(*share)
            });
            (format!("{label} {}", cell.text), cell.old_ms)
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
    further(page, notes, device);
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
    let free = size("free memory", &memory.free);
    let reserved = size("reserved memory", &memory.reserved);
    let shared = [
        size("shared memory in use", &memory.shared_used),
        size("shared memory size", &memory.shared_total),
    ];
    let share = memory.used.value().zip(memory.total.value());
    let share = share.and_then(|(used, total)| used.percent_of(*total));
    let share = share.map_or_else(String::new, |it| format!(" ({})", format::percent_long(it)));
    let carve_out = match (device.kind, total.text.as_str()) {
        (DeviceKind::Integrated, text) if text != format::NOT_AVAILABLE => "carve-out ",
        _ => "",
    };
    let first = format!("{carve_out}{} of {} used{share}", used.text, total.text);
    let mut items = vec![
        (first, used.old_ms),
        (format!("free {}", free.text), free.old_ms),
        (format!("reserved {}", reserved.text), reserved.old_ms),
    ];
    // A platform without the counter has no use for the words; the notes say why.
    if memory.shared_used.known().is_some() || memory.shared_total.known().is_some() {
        let [used, total] = shared;
        let text = format!("shared {} of {} (system memory)", used.text, total.text);
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
    let fan = notes.measured("fan speed", subject, &device.fan, |share| {
        format::percent_long(*share)
    });
    let mut items = vec![
        labelled("temperature ", temperature),
        (
            format!("power {} of {}", power.text, limit.text),
            power.old_ms,
        ),
        labelled("fan ", fan),
    ];
    for (label, field, reading) in [
        ("core ", "core clock", &device.core_clock),
        ("memory ", "memory clock", &device.memory_clock),
        ("video ", "video clock", &device.video_clock),
    ] {
        let clock = notes.measured(field, subject, reading, |it| format::megahertz(*it));
        items.push(labelled(label, clock));
    }
    let state = notes.measured(
        "performance state",
        subject,
        &device.performance_state,
        |n| format!("P{n}"),
    );
    items.push(labelled("state ", state));
    page.items("  sensors   ", &with_ages(items));
}

/// Readings that only some drivers have, as far as they are there.
fn further(page: &mut Page, notes: &mut Notes<'_>, device: &Device) {
    let loads: Vec<String> = device
        .visible_loads
        .iter()
        .filter_map(|(name, load)| {
            let least = format::percent_long(load.known()?.low);
            Some(format!(
                "{} {}{least}",
                format::sanitize(name),
                notes.at_least()
            ))
        })
        .collect();
    if !loads.is_empty() {
        page.items("  engines   ", &loads);
    }
    let known = device.sensors.iter().filter_map(|sensor| {
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
    let generation = notes.measured(
        "PCIe generation",
        subject,
        &device.pcie_generation,
        ToString::to_string,
    );
    let width = notes.measured("PCIe width", subject, &device.pcie_width, |n| {
        format!("x{n}")
    });
    let received = notes.measured("PCIe received", subject, &device.pcie_rx, |rate| {
        format::rate(*rate)
    });
    let sent = notes.measured("PCIe sent", subject, &device.pcie_tx, |rate| {
        format::rate(*rate)
    });
    let items = vec![
        (
            format!("generation {} {}", generation.text, width.text),
            generation.old_ms,
        ),
        (format!("received {}", received.text), received.old_ms),
        (format!("sent {}", sent.text), sent.old_ms),
    ];
    page.items("  pcie      ", &with_ages(items));
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
    } else if total.counted > 0 {
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
            or_missing(
                device.uuid.value().map(ToString::to_string),
                device.uuid.gap(),
            ),
        ];
        let other_number = device
            .driver_index
            .filter(|number| *number != device.index)
            .map(|number| format!("the driver's number {number}"));
        let asleep = device.power_state.value() == Some(&PowerState::Suspended);
        let labels = asleep.then_some("suspended").into_iter();
        let labels = labels.chain(device.labels()).map(str::to_owned);
        let columns: Vec<String> = columns
            .into_iter()
            .chain(other_number)
            .chain(labels)
            .collect();
        out.push_str(format::sanitize(&columns.join("  ")).trim_end());
        out.push('\n');
        super::mig::list(&mut out, device, label + 2 + widest);
    }
    out
}
