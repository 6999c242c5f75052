//! Process lists: merged by process, memory counted once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use model::{
    Bytes, Charge, ChargedPercent, DriverLists, Engines, Gap, InferenceBasis, Missing, Percent,
    ProcessMemory, Provenance, Reading, Source, Stamp,
};
use raw::Stamped;
use raw::nvml::{
    CallAnswer, DeviceCall, MEMORY_NOT_AVAILABLE, NO_INSTANCE, Output, ProcessRow, code,
};

use super::answers::reason;
use super::samples::{Numbers, Verdict};
use super::state::{DeviceState, ListedProcess, Nvml, Resting};
use crate::pairing;

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
    first: (DeviceCall, Stamp),
}

/// A process, and the instance it is on where somebody named one.
type Place = (u32, Option<(u32, u32)>);

/// A list that was read.
pub(super) struct Listed<'a> {
    pub(super) call: DeviceCall,
    pub(super) at: Stamp,
    pub(super) answer: &'a CallAnswer,
    /// The instance whose list it is; nothing of a device's own.
    pub(super) instance: Option<(u32, u32)>,
}

impl Nvml {
    /// Every process that a list names, with its charge; the device index is the slot's.
    pub(crate) fn charges(
        &self,
        index_of: &BTreeMap<u32, u32>,
        numbers: Numbers,
        now: Stamp,
    ) -> Vec<(ListedProcess, Charge)> {
        let mut charges = Vec::new();
        for (slot, state) in &self.devices {
            let Some(index) = index_of.get(slot).filter(|_| state.is_told()) else {
                continue;
            };
            for ((pid, instance), merged) in merge(state, now, self.shown_for_ms) {
                let listed = ListedProcess {
                    pid,
                    at: merged.first.1,
                };
                let charge = Charge {
                    device_index: *index,
                    lists: merged.lists,
                    memory: memory(&merged, now),
                    engines: engines(state, pid, numbers, now),
                    instance,
                    drm: None,
                };
                charges.push((listed, charge));
            }
        }
        charges
    }
}

/// What one sweep's lists name, whatever it is charged with.
#[derive(Clone, Debug)]
pub(crate) struct DeviceLists {
    /// Moment of the sweep.
    pub(crate) at: Stamp,
    /// By slot; `None` for a device of which this sweep did not bring the compute list, or not the list of
    /// MPS clients although the driver has one.
    pub(crate) devices: Vec<(u32, Option<Vec<pairing::Listed>>)>,
}

impl Nvml {
    /// The lists of the newest sweep, as the pairing needs them.
    pub(crate) fn listed(&self) -> Option<DeviceLists> {
        let at = self.lists_at?;
        let listed = |state: &DeviceState| match state.rest {
            // A context keeps its device awake.
            Some(Resting::Asleep) => Some(Vec::new()),
            Some(Resting::Waking | Resting::Unknown) => None,
            // Left alone for a while: somebody may have come since.
            Some(Resting::Idle) if !state.was_read_at(at) => None,
            Some(Resting::Idle) | None => state.has_its_lists().then(|| {
                merge(state, at, u64::MAX)
                    .into_iter()
                    .map(|((pid, _), merged)| pairing::Listed {
                        pid,
                        compute: merged.lists.compute || merged.lists.mps,
                    })
                    .collect()
            }),
        };
        let devices = self.devices.iter();
        Some(DeviceLists {
            at,
            devices: devices
                .map(|(slot, state)| (*slot, listed(state)))
                .collect(),
        })
    }
}

impl DeviceState {
    fn was_read_at(&self, sweep: Stamp) -> bool {
        self.read_in == Some(sweep)
    }

    /// Whether every process that computes is in the lists that were read.
    fn has_its_lists(&self) -> bool {
        let has = |call| match self.newest(call) {
            Ok(answer) if answer.value.rc == code::SUCCESS => true,
            Ok(answer) if call == DeviceCall::MpsProcesses => matches!(
                answer.value.rc,
                code::NOT_SUPPORTED | code::FUNCTION_NOT_FOUND
            ),
            Ok(_) | Err(_) => self.mig.all_gave(call),
        };
        !self.hangs && has(DeviceCall::ComputeProcesses) && has(DeviceCall::MpsProcesses)
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
            let Some(index) = index_of.get(slot).filter(|_| state.is_told()) else {
                continue;
            };
            let missing: Vec<ListGap> =
                [DeviceCall::ComputeProcesses, DeviceCall::GraphicsProcesses]
                    .into_iter()
                    .filter_map(|call| {
                        let gap = match state.shown(call, now, self.shown_for_ms) {
                            Ok(answer) if answer.value.rc == code::SUCCESS => return None,
                            _ if state.mig.all_gave(call) => return None,
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

fn merge(state: &DeviceState, now: Stamp, shown_for_ms: u64) -> BTreeMap<Place, Merged> {
    let mut processes: BTreeMap<Place, Merged> = BTreeMap::new();
    let own = LISTS.into_iter().filter_map(|call| {
        let Stamped { at, value } = state.shown(call, now, shown_for_ms).ok()?;
        Some(Listed {
            call,
            at,
            answer: value,
            instance: None,
        })
    });
    for list in own.chain(state.mig.listed()) {
        let Listed { call, at, .. } = list;
        let CallAnswer {
            rc: code::SUCCESS,
            out: Output::Processes(rows),
            ..
        } = list.answer
        else {
            continue;
        };
        for ProcessRow { pid, mem, gi, ci } in rows.iter().copied().filter(|row| row.pid != 0) {
            let named = (gi != NO_INSTANCE && ci != NO_INSTANCE).then_some((gi, ci));
            let place = (pid, named.or(list.instance));
            let mut found = Merged {
                lists: DriverLists::default(),
                memory: None,
                first: (call, at),
            };
            match call {
                DeviceCall::GraphicsProcesses => found.lists.graphics = true,
                DeviceCall::MpsProcesses => found.lists.mps = true,
                _ => found.lists.compute = true,
            }
            if mem != MEMORY_NOT_AVAILABLE {
                found.memory = Some((Bytes(mem), call, at));
            }
            match processes.entry(place) {
                Entry::Vacant(entry) => {
                    entry.insert(found);
                }
                Entry::Occupied(entry) => entry.into_mut().join(&found),
            }
        }
    }
    join_places(&mut processes);
    processes
}

impl Merged {
    /// The same process in another list: its memory is the larger size, never the sum.
    fn join(&mut self, other: &Self) {
        self.lists.compute |= other.lists.compute;
        self.lists.graphics |= other.lists.graphics;
        self.lists.mps |= other.lists.mps;
        let size = |merged: &Self| merged.memory.map(|(bytes, ..)| bytes);
        if size(other) > size(self) {
            self.memory = other.memory;
        }
    }
}

/// A row without an instance and rows of the same process with one are the same memory: the instances' rows stay.
fn join_places(processes: &mut BTreeMap<Place, Merged>) {
    let places: Vec<Place> = processes.keys().copied().collect();
    // Nothing sorts before something, so the row without an instance stands first.
    for same in places.chunk_by(|(a, _), (b, _)| a == b) {
        let [without @ (_, None), with @ ..] = same else {
            continue;
        };
        if with.is_empty() {
            continue;
        }
        let Some(whole) = processes.remove(without) else {
            continue;
        };
        // With several instances it is not known how the size of the whole is divided.
        if let [only] = with
            && let Some(row) = processes.get_mut(only)
        {
            row.join(&whole);
        }
    }
}

fn memory(merged: &Merged, now: Stamp) -> ProcessMemory {
    let nvml = |counter, at| Provenance {
        source: Source::Nvml,
        counter,
        at,
    };
    let vram = match merged.memory {
        Some((bytes, call, at)) => Reading::owned(bytes, nvml(call.name(), at)),
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

fn engines(state: &DeviceState, pid: u32, numbers: Numbers, now: Stamp) -> Engines {
    let counter = |call: DeviceCall, at| Provenance {
        source: Source::Nvml,
        counter: call.name(),
        at,
    };
    let nvml = |at| counter(state.samples.call(), at);
    let mig = state.in_mig_mode();
    let verdict = if mig {
        Verdict::Unknown(Gap::Mig, now)
    } else {
        match state.samples.of(pid, now, numbers) {
            Verdict::Unknown(Gap::NotSupported, at) if state.is_vgpu() => {
                Verdict::Unknown(Gap::Vgpu, at)
            }
            other => other,
        }
    };
    let none = Reading::missing(Gap::NoCounter, nvml(now));
    let owner = |basis: Option<InferenceBasis>, reading: Reading<ChargedPercent>| match basis {
        Some(basis) => reading.inferred(basis),
        None => reading,
    };
    let basis = match verdict {
        Verdict::Guess(..) => Some(InferenceBasis::Order),
        Verdict::Load(..) | Verdict::Unknown(..) => None,
    };
    let reading = |pick: fn(&super::samples::Load) -> u32| match verdict {
        Verdict::Load(load, at) | Verdict::Guess(load, at) => {
            owner(basis, Reading::owned(Percent(pick(&load).into()), nvml(at)))
        }
        Verdict::Unknown(gap, at) => Reading::missing(gap, nvml(at)),
    };
    let wide = |at| counter(DeviceCall::ProcessesUtilization, at);
    let video = |pick: fn(&super::samples::Load) -> Result<u32, Gap>| match verdict {
        Verdict::Load(load, at) | Verdict::Guess(load, at) => match pick(&load) {
            Ok(share) => owner(basis, Reading::owned(Percent(share.into()), wide(at))),
            Err(gap) => Reading::missing(gap, wide(at)),
        },
        // The older call's reason is none of the newer one's.
        Verdict::Unknown(gap, at) => {
            let own = state.samples.no_video().filter(|_| !mig);
            Reading::missing(own.unwrap_or(gap), wide(at))
        }
    };
    Engines {
        busiest: reading(super::samples::Load::busiest),
        graphics: none,
        compute: reading(|load| load.sm),
        memory: reading(|load| load.memory),
        copy: none,
        encode: reading(|load| load.encoder),
        decode: reading(|load| load.decoder),
        jpeg: video(|load| load.jpeg),
        ofa: video(|load| load.ofa),
        video: none,
    }
}
