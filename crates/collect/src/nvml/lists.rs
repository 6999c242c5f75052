//! Process lists: merged by process, memory counted once.

use std::collections::BTreeMap;

use model::{
    Bytes, Charge, ChargedBytes, DriverLists, Engines, Gap, Measured, Missing, Percent,
    ProcessMemory, Provenance, Reading, Source, Stamp,
};
use raw::Stamped;
use raw::nvml::{
    CallAnswer, DeviceCall, MEMORY_NOT_AVAILABLE, NO_INSTANCE, Output, ProcessRow, code,
};

use super::answers::reason;
use super::samples::Verdict;
use super::state::{DeviceState, ListedProcess, Nvml};

/// The three lists. Whether MPS clients are in the compute list too is not documented, and a
/// process that computes and draws is in two: so the lists are merged, never added.
pub(super) const LISTS: [DeviceCall; 3] = [
    DeviceCall::ComputeProcesses,
    DeviceCall::GraphicsProcesses,
    DeviceCall::MpsProcesses,
];

struct Merged {
    lists: DriverLists,
    memory: Option<(Bytes, DeviceCall, Stamp)>,
    instance: Option<(u32, u32)>,
    first: (DeviceCall, Stamp),
}

impl Nvml {
    /// Every process that a list names, with its charge; the device index is the slot's.
    pub(crate) fn charges(
        &self,
        index_of: &BTreeMap<u32, u32>,
        now: Stamp,
    ) -> Vec<(ListedProcess, Charge)> {
        let mut charges = Vec::new();
        for (slot, state) in &self.devices {
            let Some(index) = index_of.get(slot) else {
                continue;
            };
            for (pid, merged) in merge(state, now, self.shown_for_ms) {
                let listed = ListedProcess {
                    pid,
                    at: merged.first.1,
                };
                let charge = Charge {
                    device_index: *index,
                    lists: merged.lists,
                    memory: memory(&merged, now),
                    engines: engines(state, pid, now),
                    instance: merged.instance,
                    drm: None,
                };
                charges.push((listed, charge));
            }
        }
        charges
    }
}

/// Why a device's rows may be incomplete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ListGap {
    /// The list's name at NVML.
    pub(crate) list: &'static str,
    pub(crate) gap: Gap,
}

impl Nvml {
    /// Compute and graphics lists that could not be read, by device index. The MPS list is left
    /// out: old drivers lack it, and whether its clients are in the compute list is not documented.
    pub(crate) fn list_gaps(
        &self,
        index_of: &BTreeMap<u32, u32>,
        now: Stamp,
    ) -> BTreeMap<u32, Vec<ListGap>> {
        let mut gaps = BTreeMap::new();
        for (slot, state) in &self.devices {
            let Some(index) = index_of.get(slot) else {
                continue;
            };
            let missing: Vec<ListGap> =
                [DeviceCall::ComputeProcesses, DeviceCall::GraphicsProcesses]
                    .into_iter()
                    .filter_map(|call| {
                        let gap = match state.shown(call, now, self.shown_for_ms) {
                            Ok(answer) if answer.value.rc == code::SUCCESS => return None,
                            Ok(answer) => reason(answer.value.rc),
                            Err(gap) => gap,
                        };
                        Some(ListGap {
                            list: call.name(),
                            gap,
                        })
                    })
                    .collect();
            if !missing.is_empty() {
                gaps.insert(*index, missing);
            }
        }
        gaps
    }
}

fn merge(state: &DeviceState, now: Stamp, shown_for_ms: u64) -> BTreeMap<u32, Merged> {
    let mut processes: BTreeMap<u32, Merged> = BTreeMap::new();
    for call in LISTS {
        let Ok(Stamped { at, value }) = state.shown(call, now, shown_for_ms) else {
            continue;
        };
        let CallAnswer {
            rc: code::SUCCESS,
            out: Output::Processes(rows),
            ..
        } = value
        else {
            continue;
        };
        for ProcessRow { pid, mem, gi, ci } in rows.iter().copied().filter(|row| row.pid != 0) {
            let merged = processes.entry(pid).or_insert(Merged {
                lists: DriverLists::default(),
                memory: None,
                instance: None,
                first: (call, at),
            });
            match call {
                DeviceCall::GraphicsProcesses => merged.lists.graphics = true,
                DeviceCall::MpsProcesses => merged.lists.mps = true,
                _ => merged.lists.compute = true,
            }
            let larger = merged.memory.is_none_or(|(known, ..)| Bytes(mem) > known);
            if mem != MEMORY_NOT_AVAILABLE && larger {
                merged.memory = Some((Bytes(mem), call, at));
            }
            if gi != NO_INSTANCE && ci != NO_INSTANCE {
                merged.instance = Some((gi, ci));
            }
        }
    }
    processes
}

fn memory(merged: &Merged, now: Stamp) -> ProcessMemory {
    let nvml = |counter, at| Provenance {
        source: Source::Nvml,
        counter,
        at,
    };
    let vram = match merged.memory {
        Some((bytes, call, at)) => Reading::Known(ChargedBytes::Measured(Measured {
            value: bytes,
            from: nvml(call.name(), at),
        })),
        None => Reading::missing(
            Gap::HiddenByDriver,
            nvml(merged.first.0.name(), merged.first.1),
        ),
    };
    let none = Missing {
        gap: Gap::NoCounter,
        from: nvml("no counter on Linux", now),
    };
    ProcessMemory {
        vram,
        spill: Reading::Missing(none),
        commit: Reading::Missing(none),
        paged: Reading::Missing(none),
    }
}

fn engines(state: &DeviceState, pid: u32, now: Stamp) -> Engines {
    let counter = DeviceCall::ProcessUtilization.name();
    let nvml = |at| Provenance {
        source: Source::Nvml,
        counter,
        at,
    };
    let mig = matches!(
        state.newest(DeviceCall::MigMode),
        Ok(Stamped { value: CallAnswer { out: Output::Numbers(modes), .. }, .. })
            if modes.first() == Some(&1)
    );
    let verdict = if mig {
        Verdict::Unknown(Gap::Mig, now)
    } else {
        state.samples.of(pid, now)
    };
    let none = Reading::missing(Gap::NoCounter, nvml(now));
    let reading = |pick: fn(&super::samples::Load) -> u32| match verdict {
        Verdict::Load(load, at) => Reading::measured(Percent(pick(&load).into()), nvml(at)),
        Verdict::Unknown(gap, at) => Reading::missing(gap, nvml(at)),
    };
    Engines {
        busiest: reading(|load| load.sm.max(load.encoder).max(load.decoder)),
        graphics: none,
        compute: reading(|load| load.sm),
        memory: reading(|load| load.memory),
        copy: none,
        encode: reading(|load| load.encoder),
        decode: reading(|load| load.decoder),
        video: none,
    }
}
