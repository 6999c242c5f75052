//! The MIG instances of a GPU.

use model::{Device, Gap, MigInstance};

use super::notes::{Notes, with_ages};
use super::page::Page;
use crate::format;

/// One line an instance: who it is, its memory, what it consists of, who is on it.
pub(super) fn write(page: &mut Page, notes: &mut Notes<'_>, device: &Device, subject: &str) {
    if !device.in_mig_mode() {
        return;
    }
    let count = match (&device.instances_missing, device.read_instances().count()) {
        (Some(missing), _) => {
            let gap = notes.gap("MIG instances", subject, missing.gap);
            format!("instances {gap}")
        }
        (None, 0) => "no instance that can be seen".to_owned(),
        (None, 1) => "1 instance".to_owned(),
        (None, count) => format!("{count} instances"),
    };
    let mode = notes.measured("MIG mode", subject, &device.mig, |mode| {
        if mode.enabled { "on" } else { "off" }.to_owned()
    });
    let mut items = vec![mode.text, count];
    items.extend(refused(device));
    let pending = device.mig.value();
    if let Some(mode) = pending.filter(|mode| mode.enabled != mode.pending) {
        let next = if mode.pending { "on" } else { "off" };
        items.push(format!("{next} after the next reset"));
    }
    let loads: Vec<String> = device
        .read_instances()
        .map(|it| {
            let of = format!("MIG {} of {subject}", place(it));
            let load = notes.measured("load", &of, &it.gpu, |share| format::percent_long(*share));
            load.text
        })
        .collect();
    if let [first, rest @ ..] = loads.as_slice() {
        // The driver has no load of an instance, so one word stands for all.
        let same = rest.iter().all(|other| other == first);
        items.push(format!("load {}", if same { first } else { "differs" }));
    }
    page.items("  MIG       ", &items);
    for instance in device.read_instances() {
        line(page, notes, instance, subject);
    }
}

/// Slots of which it is not known whether an instance is in them.
fn refused(device: &Device) -> Option<String> {
    let (count, why) = device.refused_slots()?;
    let slots = if count == 1 { "slot" } else { "slots" };
    Some(format!(
        "{count} {slots} could not be read: {}",
        why.sentence()
    ))
}

fn line(page: &mut Page, notes: &mut Notes<'_>, instance: &MigInstance, subject: &str) {
    let place = place(instance);
    let of = format!("MIG {place} of {subject}");
    let mut size =
        |field, reading| notes.measured(field, &of, reading, |bytes| format::size_long(*bytes));
    let used = size("used memory", &instance.memory.used);
    let total = size("memory size", &instance.memory.total);
    let name = notes.measured("name", &of, &instance.name, ToString::to_string);
    let name = instance.profile().map_or(name.text, str::to_owned);
    let mut items = vec![
        (name, None),
        (
            format!("{} used", super::device::part_of(&used, &total, "in all")),
            used.old_ms,
        ),
    ];
    let parts = notes.measured("attributes", &of, &instance.attributes, |it| {
        format!(
            "{} slice{} of the GPU, {} SMs",
            it.gpu_slices,
            if it.gpu_slices == 1 { "" } else { "s" },
            it.multiprocessors
        )
    });
    items.push((parts.text, None));
    let rows = instance.attributed;
    let held = if rows.is_complete() {
        format::size(rows.known)
    } else if rows.counted > 0 {
        format!("{}{}", notes.at_least(), format::size(rows.known))
    } else {
        "size n/a".to_owned()
    };
    let on_it = match instance.processes() {
        None => format!(
            "processes {}",
            notes.gap("processes", &of, Gap::InputMissing)
        ),
        Some(0) => "no process listed".to_owned(),
        Some(1) => format!("1 process with {held}"),
        Some(listed) => format!("{listed} processes with {held}"),
    };
    items.push((on_it, None));
    page.items(
        &format::pad_end(&format!("    {place}"), 12),
        &with_ages(items),
    );
}

/// GPU and compute instance, or the driver's slot where they are unknown.
fn place(instance: &MigInstance) -> String {
    match instance.ids() {
        Some((gpu, compute)) => format!("{gpu}/{compute}"),
        None => format!("slot {}", instance.slot),
    }
}

/// Lines below a GPU in the list of GPUs.
pub(super) fn list(out: &mut String, device: &Device, width: usize) {
    for instance in device.read_instances() {
        let or_missing = |text: Option<String>, gap: Option<model::Gap>| {
            text.or_else(|| gap.map(|gap| format::missing(gap).to_owned()))
                .unwrap_or_else(|| "n/a".to_owned())
        };
        let name = or_missing(
            instance.name.value().map(ToString::to_string),
            instance.name.gap(),
        );
        let name = instance.profile().map_or(name, str::to_owned);
        let total = &instance.memory.total;
        let columns = [
            format::fit(&format!("  MIG {}  {name}", place(instance)), width),
            format::pad_start(
                &or_missing(total.value().map(|b| format::size_long(*b)), total.gap()),
                8,
            ),
            or_missing(
                instance.uuid.value().map(ToString::to_string),
                instance.uuid.gap(),
            ),
        ];
        out.push_str(format::sanitize(&columns.join("  ")).trim_end());
        out.push('\n');
    }
    let missing = device.instances_missing.filter(|_| device.in_mig_mode());
    let unknown = missing.map(|it| format!("instances are not known: {}", it.gap.sentence()));
    for words in unknown.into_iter().chain(refused(device)) {
        out.push_str("  MIG  ");
        out.push_str(&words);
        out.push('\n');
    }
}
