//! What a process has of one device: its sizes, its loads, its clients.

use model::names::natural_order;
use model::{
    Charge, ChargedPercent, DrmClients, Estimated, Gap, Measured, Percent, Reading, Snapshot,
};

use super::{dot, fact, labelled};
use crate::figure::{self, Figure};
use crate::prose::{Paragraph, glued};
use crate::theme::Look;

pub(super) fn charge_line(snapshot: &Snapshot, charge: &Charge, look: Look) -> Paragraph {
    let mut it = labelled(&format!("GPU {}", charge.device_index), look);
    if let Some((gpu, compute)) = charge.instance {
        it.put(glued(&format!("MIG {gpu}/{compute} ")), look.plain());
        let instance = snapshot
            .devices
            .iter()
            .filter(|device| device.index == charge.device_index)
            .flat_map(|device| &device.instances)
            .find(|instance| instance.ids() == charge.instance);
        if let Some(instance) = instance {
            instance_facts(&mut it, instance, look);
        }
    }
    if charge.drm.is_none() {
        let lists = [
            (charge.lists.compute, "compute"),
            (charge.lists.graphics, "graphics"),
            (charge.lists.mps, "MPS"),
        ];
        let named: Vec<&str> = lists
            .iter()
            .filter_map(|(on, name)| on.then_some(*name))
            .collect();
        let text = match named.as_slice() {
            [] => "in no list of the driver".to_owned(),
            names => format!("driver lists {}", names.join("+")),
        };
        it.put(glued(&text), look.plain());
    }
    let memory = &charge.memory;
    let vram = figure::charged(&memory.vram, look);
    fact(&mut it, "VRAM", &vram, look);
    // What the platform has no counter for is told once, with the reason, below.
    let counted = |gap: Option<Gap>| gap != Some(Gap::NoCounter);
    if counted(memory.spill.gap()) {
        let spill = figure::charged(&memory.spill, look);
        fact(&mut it, charge.system_label(), &spill, look);
    }
    if counted(memory.commit.gap()) {
        let commit = figure::measured(&memory.commit, look, |size| figure::size(*size));
        fact(&mut it, "commit", &commit, look);
    }
    if counted(memory.paged.gap()) {
        let paged: &Reading<Estimated<_>> = &memory.paged;
        fact(&mut it, "paged", &figure::estimated(paged, look), look);
    }
    for (name, reading) in engines(charge) {
        if counted(reading.gap()) {
            fact(&mut it, name, &figure::load(reading, look), look);
        }
    }
    if let Some(drm) = &charge.drm {
        clients(&mut it, drm, look);
    }
    it
}

fn share(reading: &Reading<Measured<Percent>>, look: Look) -> Figure {
    figure::measured(reading, look, |share| figure::percent(*share))
}

/// What the open nodes of the device say beyond that.
fn clients(it: &mut Paragraph, drm: &DrmClients, look: Look) {
    let mut engines: Vec<_> = drm.other_engines.iter().collect();
    engines.sort_by(|(a, _), (b, _)| natural_order(a, b));
    for (name, reading) in engines {
        let name = figure::clean(name);
        dot(it, look);
        it.put(
            glued(&format!("{name} {}", share(reading, look).text)),
            look.plain(),
        );
    }
    let count = Figure::measured(drm.clients.to_string());
    fact(it, "clients", &count, look);
    if !drm.shared_with.is_empty() {
        let others = Figure::measured(output::format::numbers(&drm.shared_with));
        fact(it, "shared with", &others, look);
    }
    if drm.vram_resident.known().is_some() && !drm.reasons.is_empty() {
        let there = figure::measured(&drm.vram_resident, look, |size| figure::size(*size));
        fact(it, "VRAM there, shared or not", &there, look);
    }
    if drm.vram_bounds.known().is_some() {
        let name = match drm.exact_vram() {
            Some(_) => "of its own, exactly",
            None => "of its own",
        };
        fact(it, name, &figure::estimated(&drm.vram_bounds, look), look);
    }
    if drm
        .displaced
        .known()
        .is_some_and(|displaced| displaced.high.0 > 0)
    {
        fact(
            it,
            "displaced",
            &figure::estimated(&drm.displaced, look),
            look,
        );
    }
    if let Some(kfd) = &drm.kfd {
        let size = figure::measured(&kfd.vram, look, |size| figure::size(*size));
        fact(it, "KFD", &size, look);
        it.put(format!(" ({})", kfd.standing.sentence()), look.dim());
        fact(it, "KFD copy", &share(&kfd.copy, look), look);
        let units = figure::measured(&kfd.occupied_units, look, ToString::to_string);
        fact(it, "compute units", &units, look);
        let evicted = figure::measured(&kfd.evicted_ms, look, |ms| output::format::age(*ms));
        fact(it, "evicted for", &evicted, look);
    }
}

/// Profile and memory of the instance, apart from what the process holds of it.
fn instance_facts(it: &mut Paragraph, instance: &model::MigInstance, look: Look) {
    if let Some(profile) = instance.profile() {
        it.put(glued(&format!("{} ", figure::clean(profile))), look.plain());
    }
    let size = |reading| figure::measured(reading, look, |size| figure::size(*size));
    let (used, total) = (size(&instance.memory.used), size(&instance.memory.total));
    let text = match (used.is_known(), total.is_known()) {
        (true, true) => format!("{} of {} in use", used.text, total.text),
        (true, false) => format!("{} in use", used.text),
        (false, true) => format!("{} in all, use {}", total.text, used.text),
        (false, false) => format!("use {}", used.text),
    };
    it.put(glued(&format!("({text}) ")), look.dim());
}

/// The engines of a charge with their names.
pub(crate) fn engines(charge: &Charge) -> [(&'static str, &Reading<ChargedPercent>); 10] {
    let engines = &charge.engines;
    [
        ("GPU%", &engines.busiest),
        ("3D", &engines.graphics),
        ("compute", &engines.compute),
        ("mem", &engines.memory),
        ("copy", &engines.copy),
        ("enc", &engines.encode),
        ("dec", &engines.decode),
        ("jpeg", &engines.jpeg),
        ("ofa", &engines.ofa),
        ("video", &engines.video),
    ]
}
