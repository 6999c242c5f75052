//! Why values are missing and what can be done, one line a reason.

use std::borrow::Cow;
use std::fmt::Write as _;

use model::{Device, Gap, Missing, Reading, Snapshot};

use crate::columns::Row;
use crate::dossier::{engines, labelled};
use crate::prose::Paragraph;
use crate::theme::Look;

/// The reasons of a process's missing values on the row's device.
pub(crate) fn of_row(snapshot: &Snapshot, row: Row<'_>, look: Look, out: &mut Vec<Paragraph>) {
    let device = row
        .charge
        .and_then(|charge| snapshot.device(charge.device_index));
    explain(snapshot, device, groups(row), look, out);
}

/// The reasons of a device's missing readings.
pub(crate) fn of_device(
    snapshot: &Snapshot,
    device: &Device,
    look: Look,
    out: &mut Vec<Paragraph>,
) {
    let mut groups = Groups(Vec::new());
    let memory = &device.memory;
    groups.add("VRAM total", &memory.total);
    groups.add("VRAM used", &memory.used);
    groups.add("VRAM free", &memory.free);
    groups.add("reserved", &memory.reserved);
    groups.add("unattributed", &memory.unattributed);
    groups.add("GPU", &device.gpu);
    groups.add("MEM ACT", &device.memory_activity);
    groups.add("TEMP", &device.temperature);
    groups.add("PWR", &device.power);
    groups.add("power limit", &device.power_limit);
    groups.add("core clock", &device.core_clock);
    groups.add("memory clock", &device.memory_clock);
    groups.add("FAN", &device.fan);
    groups.add("ENC", &device.encoder);
    groups.add("DEC", &device.decoder);
    groups.add("PCIe generation", &device.pcie_generation);
    groups.add("PCIe width", &device.pcie_width);
    groups.add("rx", &device.pcie_rx);
    groups.add("tx", &device.pcie_tx);
    groups.add("name", &device.name);
    groups.add("driver", &device.driver);
    groups.add("power state", &device.power_state);
    explain(snapshot, Some(device), groups.0, look, out);
}

/// The reasons of what is missing of a device's modes, errors and links.
pub(crate) fn of_details(
    snapshot: &Snapshot,
    device: &Device,
    look: Look,
    out: &mut Vec<Paragraph>,
) {
    let details = &device.details;
    let (ecc, pages, rows) = (&details.ecc, &details.retired_pages, &details.remapped_rows);
    let mut groups = Groups(Vec::new());
    groups.add("event reasons", &details.clocks_event_reasons);
    groups.add(
        "kinds of event reasons that it can tell",
        &details.clocks_event_reasons_supported,
    );
    groups.add("jpeg", &device.jpeg);
    groups.add("ofa", &device.ofa);
    groups.add("energy", &details.total_energy);
    groups.add("ECC", &ecc.on);
    for (name, errors) in [
        ("ECC errors since driver load", &ecc.volatile),
        ("ECC errors ever", &ecc.aggregate),
    ] {
        groups.add(name, &errors.corrected);
        if errors.corrected.known().is_some() {
            groups.add(name, &errors.uncorrected);
        }
    }
    groups.add("retired pages", &pages.single_bit);
    if pages.single_bit.known().is_some() {
        groups.add("retired pages (double-bit)", &pages.double_bit);
        groups.add("retirement waiting", &pages.pending);
    }
    groups.add("remapped rows", &rows.correctable);
    groups.add("NVLink", &details.nvlinks);
    for link in details.nvlinks.value().into_iter().flatten() {
        groups.add(format!("link {}", link.link), &link.active);
        if link.active.known().is_some() {
            groups.add(format!("version of link {}", link.link), &link.version);
        }
        if link.active.value() == Some(&true) {
            groups.add(format!("other end of link {}", link.link), &link.remote);
        }
    }
    groups.add("VBIOS", &details.vbios);
    groups.add("part number", &details.board_part_number);
    groups.add("persistence", &details.persistence);
    groups.add("compute mode", &details.compute_mode);
    // What the driver family cannot have is not on the screen either; JSON names it.
    groups.0.retain(|group| !group.missing.gap.is_structural());
    explain(snapshot, Some(device), groups.0, look, out);
}

fn explain(
    snapshot: &Snapshot,
    device: Option<&Device>,
    groups: Vec<Group>,
    look: Look,
    out: &mut Vec<Paragraph>,
) {
    for group in groups {
        let pending = group.missing.gap.is_pending();
        let mut it = labelled(if pending { look.pending() } else { "n/a" }, look);
        it.put(group.names.join(", "), look.bold());
        it.put(format!(": {}", group.missing.gap.sentence()), look.plain());
        let mut asked = format!(
            " ({}, {}",
            group.missing.from.source.id(),
            group.missing.from.counter
        );
        if group.names.len() > 1 {
            asked.push_str(" and others");
        }
        if let Gap::DriverError(code) = group.missing.gap {
            let _ = write!(asked, ", code {code}");
        }
        asked.push(')');
        it.put(asked, look.dim());
        let missing = group.missing;
        if let Some(remedy) = snapshot.remedy(missing.gap, device, missing.from.source) {
            it.put(format!(" → {remedy}"), look.plain());
        }
        out.push(it);
    }
}

/// Values that are missing for the same reason.
struct Group {
    missing: Missing,
    names: Vec<Cow<'static, str>>,
}

struct Groups(Vec<Group>);

impl Groups {
    fn add<C>(&mut self, name: impl Into<Cow<'static, str>>, reading: &Reading<C>) {
        let Reading::Missing(missing) = reading else {
            return;
        };
        let same = |group: &&mut Group| {
            group.missing.gap == missing.gap && group.missing.from.source == missing.from.source
        };
        match self.0.iter_mut().find(same) {
            Some(group) => group.names.push(name.into()),
            None => self.0.push(Group {
                missing: *missing,
                names: vec![name.into()],
            }),
        }
    }
}

fn groups(row: Row<'_>) -> Vec<Group> {
    let mut groups = Groups(Vec::new());
    if let Some(charge) = row.charge {
        groups.add("VRAM", &charge.memory.vram);
        groups.add(charge.system_label(), &charge.memory.spill);
        groups.add("commit", &charge.memory.commit);
        groups.add("paged", &charge.memory.paged);
        for (name, reading) in engines(charge) {
            // NVIDIA's alone: nobody looks for it on another maker's device.
            if name == "ofa" && charge.drm.is_some() {
                continue;
            }
            groups.add(name, reading);
        }
    }
    let process = row.process;
    groups.add("name", &process.name);
    groups.add("exe", &process.exe);
    groups.add("user", &process.user);
    groups.add("command line", &process.command_line);
    groups.add("parent", &process.parent);
    groups.add("start", &process.started);
    groups.add("ports", &process.ports);
    groups.add("container", &process.container);
    if let Some(Some(container)) = process.container.value() {
        groups.add("container name", &container.name);
    }
    groups.add("runtimes", &process.runtimes);
    if process.models.is_empty() {
        groups.add("model", &process.runtimes);
    }
    let several = process.models.len() > 1;
    for model in &process.models {
        let name = |what: &'static str| -> Cow<'static, str> {
            if several {
                format!("{} {what}", crate::figure::clean(&model.id)).into()
            } else {
                what.into()
            }
        };
        groups.add(name("file size"), &model.size_on_disk);
        groups.add(name("architecture"), &model.architecture);
        groups.add(name("quantization"), &model.quantization);
        groups.add(name("weights count"), &model.parameters);
        groups.add(name("layers"), &model.layers);
        groups.add(name("trained ctx"), &model.context_trained);
        if model.context_requested.known().is_none() {
            groups.add(name("ctx"), &model.context_used);
        }
    }
    for segment in &process.segments_reported {
        groups.add(segment.kind.id(), &segment.bytes);
    }
    for segment in &process.segments_estimated {
        groups.add(segment.kind.id(), &segment.bytes);
    }
    if let Some(server) = &process.server {
        groups.add("server ctx", &server.context);
        groups.add("server slots", &server.slots);
        groups.add("slots busy", &server.slots_busy);
        groups.add("cached tokens", &server.cached_tokens);
        groups.add("tokens/s", &server.tokens_per_second);
    }
    groups.0
}
