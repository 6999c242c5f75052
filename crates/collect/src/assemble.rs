//! From readings, charges and findings to a snapshot.

use std::collections::BTreeMap;

use model::{
    Bytes, Category, CategoryShare, Charge, ChargedBytes, Device, Estimated, Gap, Measured, Method,
    Notice, Process, ProcessKey, Provenance, Reading, Runtime, Severity, Source, Stamp, Total,
};

use crate::collector::Row;
use crate::models::{Findings, Found, categorise, no_runtimes};
use crate::nvml::ListGap;
use crate::processes::Facts;

/// Sorts devices into index order and numbers them: by vendor group, then by memory, largest first
/// and unknown last, then parts of processors behind cards, then by place on the bus, so that identical cards keep their order.
///
/// `totals` remembers memory sizes, so that a device that stops answering keeps its place.
pub(crate) fn index_devices(
    devices: &mut [(u32, Device)],
    totals: &mut BTreeMap<model::DeviceKey, Bytes>,
) -> BTreeMap<u32, u32> {
    for (_, device) in devices.iter() {
        if let Some(total) = device.memory.total.value() {
            totals.insert(device.key.clone(), *total);
        }
    }
    let rank = |device: &Device| {
        let memory = totals.get(&device.key).copied();
        (
            device.vendor != model::Vendor::Nvidia,
            std::cmp::Reverse(memory),
            device.kind == model::DeviceKind::Integrated,
            device.key.clone(),
        )
    };
    devices.sort_by_key(|(_, device)| rank(device));
    let mut index_of = BTreeMap::new();
    for (index, (slot, device)) in (0_u32..).zip(devices.iter_mut()) {
        device.index = index;
        index_of.insert(*slot, index);
    }
    index_of
}

/// Puts one process together.
pub(crate) fn process(
    key: ProcessKey,
    row: &Row,
    facts: Facts,
    runtimes: Option<Reading<Measured<Vec<Runtime>>>>,
    program: Option<Found>,
    findings: Findings,
    now: Stamp,
) -> Process {
    let runtimes =
        runtimes.unwrap_or_else(|| no_runtimes(facts.name.gap().unwrap_or(Gap::NotFound), now));
    let (category, category_reason) = categorise(
        &facts.name,
        program,
        &findings.models,
        &runtimes,
        &row.charges,
    );
    let receipts = receipts(&row.charges, &findings);
    Process {
        key,
        pid_match: row.pid_match,
        name: facts.name,
        exe: facts.exe,
        user: facts.user,
        command_line: facts.command_line,
        parent: facts.parent,
        started: facts.started,
        ports: facts.ports,
        container: facts.container,
        category,
        category_reason,
        runtimes,
        charges: row.charges.clone(),
        models: findings.models,
        segments_reported: findings.reported,
        segments_estimated: findings.segments,
        receipts,
        server: findings.server,
        server_unasked: findings.server_unasked,
        models_unread: findings.models_unread,
    }
}

/// A receipt for each device whose size is known. Where the owner of the size is inferred the receipt
/// is as sure as that.
fn receipts(charges: &[Charge], findings: &Findings) -> Vec<model::receipt::Receipt> {
    let measured: Vec<(u32, Option<Bytes>)> = charges
        .iter()
        .map(|charge| (charge.device_index, measured(charge)))
        .collect();
    model::receipt::receipts(&measured, &findings.reported, &findings.segments)
}

/// The measured size that the parts are taken from.
fn measured(charge: &Charge) -> Option<Bytes> {
    let size = |reading: &Reading<ChargedBytes>| reading.known().map(ChargedBytes::value);
    let vram = || size(&charge.memory.vram);
    // A part of the processor has its memory in either place, and a model lies in both.
    match &charge.drm {
        Some(drm) if drm.is_integrated() => {
            let system = size(&charge.memory.spill)?;
            if charge.memory.has_no_vram() {
                Some(system)
            } else {
                Some(Bytes(system.0.saturating_add(vram()?.0)))
            }
        }
        _ => vram(),
    }
}

/// The device memory of a process on all its devices; `None` where a size is not known, or not measured as its own.
pub(crate) fn measured_vram(charges: &[Charge]) -> Option<Bytes> {
    let mut sum = Bytes(0);
    for charge in charges {
        let size = charge
            .memory
            .vram
            .known()
            .and_then(ChargedBytes::measured)?;
        sum = Bytes(sum.0.saturating_add(size.0));
    }
    (!charges.is_empty()).then_some(sum)
}

/// Fills in what of a device depends on its processes.
pub(crate) fn account(
    device: &mut Device,
    processes: &[Process],
    list_gaps: &[ListGap],
    at: Stamp,
    notices: &mut Vec<Notice>,
) {
    let mut attributed = Total::nothing();
    attributed.lists_missing = !list_gaps.is_empty();
    let mut shares: BTreeMap<Category, Total> = BTreeMap::new();
    for process in processes {
        for charge in process
            .charges
            .iter()
            .filter(|c| c.device_index == device.index)
        {
            // The size is measured also where its owner was inferred, and the remainder of the
            // device is a matter of sizes. By category, only rows with a measured owner count.
            if charge.memory.has_no_vram() {
                continue;
            }
            let known = charge.memory.vram.known();
            attributed.include(known.map(ChargedBytes::value));
            if process.pid_match.is_some() {
                continue;
            }
            let size = known.and_then(ChargedBytes::measured);
            shares
                .entry(process.category)
                .or_insert(Total {
                    lists_missing: attributed.lists_missing,
                    ..Total::nothing()
                })
                .include(size);
        }
    }
    device.categories = shares
        .into_iter()
        .map(|(category, memory)| CategoryShare { category, memory })
        .collect();
    device
        .categories
        .sort_by_key(|share| std::cmp::Reverse(share.memory.known));
    device.memory.attributed = attributed;
    crate::nvml::mig::account(device, processes, attributed.lists_missing);
    let from = |at| Provenance {
        source: Source::Derived,
        counter: "used - attributed",
        at,
    };
    if let Some(first) = list_gaps.first() {
        let lists: Vec<&str> = list_gaps.iter().map(|missing| missing.list).collect();
        notices.push(Notice {
            code: "process_list_missing",
            severity: Severity::Warning,
            subject: format!("gpu:{}", device.index).into(),
            text: format!(
                "processes of GPU {} may be missing: {} ({})",
                device.index,
                first.gap.sentence(),
                lists.join(", ")
            )
            .into(),
        });
    }
    device.memory.unattributed = match (&device.memory.used, list_gaps) {
        // Without any list nobody's share is known, and a remainder would be a claim.
        (_, [first, _, ..]) if attributed.counted == 0 => Reading::missing(first.gap, from(at)),
        (Reading::Missing(missing), _) => {
            Reading::missing(Gap::InputMissing, from(missing.from.at))
        }
        (
            Reading::Known(Measured {
                value,
                from: used_from,
            }),
            _,
        ) => {
            device.categories_normalized = attributed.known > *value;
            if device.categories_normalized {
                notices.push(Notice {
                    code: "sum_exceeds_used",
                    severity: Severity::Info,
                    subject: format!("gpu:{}", device.index).into(),
                    text: format!(
                        "the processes' memory on GPU {} adds up to more than the device says is \
                         used; it may be that memory they share is counted by each, that the figures are of \
                         different moments, or that a driver counts what is not there any more",
                        device.index
                    )
                    .into(),
                });
            }
            let rest = Bytes(value.0.saturating_sub(attributed.known.0));
            Reading::Known(Estimated {
                // What a row without a size or in a missing list holds is in the rest too.
                low: if attributed.is_complete() {
                    rest
                } else {
                    Bytes(0)
                },
                high: rest,
                method: Method::Derived,
                from: from(used_from.at),
            })
        }
    };
}

/// Largest measured memory first, then by number: a stable order for views that do not sort.
pub(crate) fn sort(processes: &mut [Process]) {
    processes.sort_by_cached_key(|process| {
        let largest = process
            .charges
            .iter()
            .filter_map(|c| c.memory.vram.known())
            .map(ChargedBytes::value)
            .max();
        (std::cmp::Reverse(largest), process.key)
    });
}

/// Sum of the sizes of all rows with a measured owner.
pub(crate) fn measured_total(devices: &[Device], processes: &[Process]) -> Total {
    let mut total = Total::nothing();
    total.lists_missing = devices
        .iter()
        .any(|device| device.memory.attributed.lists_missing);
    let owned = processes.iter().filter(|it| it.pid_match.is_none());
    let charges = owned.flat_map(|process| &process.charges);
    for charge in charges.filter(|charge| !charge.memory.has_no_vram()) {
        match charge.memory.vram.known() {
            Some(ChargedBytes::Inferred(_)) => {}
            known => total.include(known.and_then(ChargedBytes::measured)),
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_receipt_of_a_part_of_the_processor_needs_both_sizes() {
        let radeon = model::sample::radeon();
        let charges = radeon.processes.iter().flat_map(|it| &it.charges);
        let mut charge = charges
            .filter(|it| it.drm.as_ref().is_some_and(|drm| drm.is_integrated()))
            .find(|it| it.memory.spill.known().is_some())
            .unwrap()
            .clone();
        let workstation = model::sample::workstation();
        let parts = workstation.processes.iter();
        let findings = Findings {
            segments: parts
                .map(|it| it.segments_estimated.clone())
                .find(|parts| !parts.is_empty())
                .unwrap(),
            ..Findings::default()
        };
        let from = Provenance {
            source: Source::Proc,
            counter: "drm-memory-vram",
            at: radeon.at,
        };
        let spill = charge.memory.spill.known().unwrap().value();
        charge.memory.vram = Reading::owned(Bytes(5), from);
        let of = |charge: &Charge| {
            let receipts = receipts(std::slice::from_ref(charge), &findings);
            receipts.first().map(|it| it.measured)
        };
        assert_eq!(of(&charge), Some(Bytes(spill.0 + 5)));
        charge.memory.vram = Reading::missing(Gap::NoCounter, from);
        assert_eq!(of(&charge), Some(spill), "it has no memory of its own");
        charge.memory.vram = Reading::missing(Gap::Permission, from);
        assert_eq!(of(&charge), None, "unknown is not zero");
    }

    proptest! {
        #[test]
        fn identical_cards_keep_their_order_however_the_driver_lists_them(
            buses in Just((1_u8..=8).collect::<Vec<_>>()).prop_shuffle()
        ) {
            let twin = model::sample::workstation().devices.remove(0);
            let mut devices: Vec<(u32, Device)> = (0..).zip(&buses).map(|(slot, bus)| {
                let address = model::PciAddress { domain: 0, bus: *bus, device: 0, function: 0 };
                (slot, Device { key: model::DeviceKey::Pci(address), ..twin.clone() })
            }).collect();
            let index_of = index_devices(&mut devices, &mut BTreeMap::new());
            for (slot, bus) in (0..).zip(&buses) {
                prop_assert_eq!(index_of.get(&slot), Some(&u32::from(bus - 1)));
            }
        }
    }
}
