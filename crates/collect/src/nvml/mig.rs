//! MIG: the instances of a device, and which of them a process is on.
//!
//! A process is named by the device's list with its instance, or, where that list is refused or has no instances, by
//! the instance's own list. Whichever it is, it is one row with the larger size: the lists are views of the same memory.

use std::collections::BTreeMap;

use model::{
    Bytes, Charge, ChargedBytes, Device, Gap, Measured, MigAttributes, MigInstance, MigMemory,
    MigMode, Missing, Process, Reading, Stamp, Total,
};
use raw::nvml::{
    CallAnswer, DeviceCall, DeviceSweep, InstanceCall, InstanceSweep, MigSweep, Output, code,
};
use raw::{Answer, Stamped};

use super::answers::{DeviceAnswers, read_as, reason};
use super::lists::{LISTS, Listed};
use super::state::{DeviceState, as_ref};

/// More multiprocessors, engines or slices than any device has.
const MAX_PARTS: u64 = 4096;

/// What is kept of a device's instances: those of the last sweep.
#[derive(Default)]
pub(super) struct MigState {
    mode: Option<Answer<CallAnswer>>,
    /// How many slots there are; not asked where the mode is off.
    slots: Option<Answer<CallAnswer>>,
    instances: BTreeMap<u32, Instance>,
}

#[derive(Default)]
struct Instance {
    handle: Option<Answer<CallAnswer>>,
    calls: BTreeMap<InstanceCall, Answer<CallAnswer>>,
}

impl MigState {
    /// Takes a sweep in; whether a call of it did not return.
    pub(super) fn take(&mut self, sweep: &DeviceSweep) -> bool {
        let opened = matches!(&sweep.handle, Ok(handle) if handle.value.rc == code::SUCCESS);
        match &sweep.mig {
            // What was said before a call did not return is shown with its age.
            Some(mig) if mig.mode == Err(Gap::TimedOut) => return true,
            Some(mig) => self.replace(mig),
            None if opened => *self = Self::default(),
            // The device is gone, and its instances with it; one that hangs keeps them.
            None if sweep.handle.is_ok() => {
                self.instances.clear();
                self.slots = None;
            }
            None => {}
        }
        false
    }

    fn replace(&mut self, sweep: &MigSweep) {
        let is_hole = |instance: &&InstanceSweep| matches!(&instance.handle, Ok(h) if h.value.rc == code::NOT_FOUND);
        let instances = sweep.instances.iter().filter(|it| !is_hole(it));
        self.mode = Some(sweep.mode.clone());
        self.slots.clone_from(&sweep.slots);
        self.instances = instances
            .map(|it| {
                let instance = Instance {
                    handle: Some(it.handle.clone()),
                    calls: it.calls.iter().cloned().collect(),
                };
                (it.index, instance)
            })
            .collect();
    }

    /// Newer than the answer of the static facts.
    pub(super) fn mode(&self) -> Option<Answer<&CallAnswer>> {
        let mode = self.mode.as_ref()?;
        Some(mode.as_ref().map(as_ref).map_err(|gap| *gap))
    }

    /// Whether every instance gave this list, and there is one.
    pub(super) fn all_gave(&self, list: DeviceCall) -> bool {
        let mut opened = self.instances.values().filter(|it| it.is_open()).peekable();
        opened.peek().is_some() && opened.all(|it| is_success(&it.list(list)))
    }

    /// What the instances' own lists name, with the instance.
    pub(super) fn listed(&self) -> impl Iterator<Item = Listed<'_>> {
        self.instances.values().flat_map(|instance| {
            let ids = instance.ids();
            LISTS.into_iter().filter_map(move |call| {
                let answer = instance.list(call).ok()?;
                Some(Listed {
                    call,
                    at: answer.at,
                    answer: answer.value,
                    instance: ids,
                })
            })
        })
    }
}

fn is_success(answer: &Answer<&CallAnswer>) -> bool {
    matches!(answer, Ok(answer) if answer.value.rc == code::SUCCESS)
}

impl Instance {
    fn is_open(&self) -> bool {
        matches!(&self.handle, Some(Ok(handle)) if handle.value.rc == code::SUCCESS)
    }

    fn refused(&self) -> Option<Gap> {
        match &self.handle {
            Some(Ok(handle)) if handle.value.rc != code::SUCCESS => Some(reason(handle.value.rc)),
            Some(Err(gap)) => Some(*gap),
            _ => None,
        }
    }

    fn get(&self, call: InstanceCall) -> Answer<&CallAnswer> {
        match self.calls.get(&call) {
            Some(Ok(answer)) => Ok(as_ref(answer)),
            Some(Err(gap)) => Err(*gap),
            None => Err(self.refused().unwrap_or(Gap::NotRecorded)),
        }
    }

    fn list(&self, list: DeviceCall) -> Answer<&CallAnswer> {
        self.get(match list {
            DeviceCall::GraphicsProcesses => InstanceCall::GraphicsProcesses,
            DeviceCall::MpsProcesses => InstanceCall::MpsProcesses,
            _ => InstanceCall::ComputeProcesses,
        })
    }

    /// Whether one of its own lists was asked for and not given.
    fn lacks_a_list(&self) -> bool {
        let mut asked = self.calls.iter().filter(|(call, _)| call.is_list());
        asked.any(|(call, answer)| match answer {
            Ok(answer) => match answer.value.rc {
                code::SUCCESS => false,
                rc => *call != InstanceCall::MpsProcesses || rc != code::FUNCTION_NOT_FOUND,
            },
            Err(_) => true,
        })
    }

    fn ids(&self) -> Option<(u32, u32)> {
        let number = |call| match self.get(call) {
            Ok(Stamped {
                value:
                    CallAnswer {
                        out: Output::Number(n),
                        ..
                    },
                ..
            }) => u32::try_from(*n).ok(),
            _ => None,
        };
        Some((
            number(InstanceCall::GpuInstanceId)?,
            number(InstanceCall::ComputeInstanceId)?,
        ))
    }

    fn reading(&self, slot: u32, now: Stamp, shown_for_ms: u64) -> MigInstance {
        let fresh = |call| {
            let answer = self.get(call)?;
            if now.ms_since(answer.at) > shown_for_ms {
                return Err(Gap::TimedOut);
            }
            Ok(answer)
        };
        // The calls that devices have too are read in the same way.
        let get = |call| match call {
            DeviceCall::Name => self.get(InstanceCall::Name),
            DeviceCall::Uuid => self.get(InstanceCall::Uuid),
            DeviceCall::MemoryInfo => fresh(InstanceCall::MemoryInfo),
            _ => Err(Gap::NotApplicable),
        };
        let answers = DeviceAnswers {
            get: &get,
            now,
            mig: true,
            vgpu: false,
        };
        let number = |call: InstanceCall| {
            read_as(call.name(), self.get(call), now, |answer| {
                match answer.out {
                    Output::Number(n) => u32::try_from(n).map_err(|_| Gap::Implausible),
                    _ => Err(Gap::Malformed),
                }
            })
        };
        let memory = super::devices::memory(&answers);
        let attributes = InstanceCall::Attributes;
        MigInstance {
            slot,
            refused: self.refused(),
            gpu_instance: number(InstanceCall::GpuInstanceId),
            compute_instance: number(InstanceCall::ComputeInstanceId),
            name: answers.text(DeviceCall::Name),
            uuid: answers.text(DeviceCall::Uuid),
            memory: MigMemory {
                total: memory.total,
                used: memory.used,
                free: memory.free,
                reserved: memory.reserved,
            },
            attributes: read_as(attributes.name(), self.get(attributes), now, parts),
            gpu: Reading::missing(
                Gap::Mig,
                DeviceAnswers::provenance(DeviceCall::UtilizationRates, now),
            ),
            listed: 0,
            attributed: Total {
                lists_missing: self.lacks_a_list(),
                ..Total::nothing()
            },
        }
    }
}

fn parts(answer: &CallAnswer) -> Result<MigAttributes, Gap> {
    let Output::Numbers(numbers) = &answer.out else {
        return Err(Gap::Malformed);
    };
    let part = |position: usize| {
        let n = *numbers.get(position).ok_or(Gap::Malformed)?;
        u32::try_from(n)
            .ok()
            .filter(|_| n <= MAX_PARTS)
            .ok_or(Gap::Implausible)
    };
    let mebibytes = *numbers.get(8).ok_or(Gap::Malformed)?;
    Ok(MigAttributes {
        multiprocessors: part(0)?,
        copy_engines: part(1)?,
        decoders: part(2)?,
        encoders: part(3)?,
        jpeg_engines: part(4)?,
        ofa_engines: part(5)?,
        gpu_slices: part(6)?,
        compute_slices: part(7)?,
        memory: Bytes::mib(mebibytes),
    })
}

impl DeviceState {
    /// Whether the device is split: its mode is on, or it has instances although the mode is refused.
    pub(super) fn in_mig_mode(&self) -> bool {
        let on = matches!(
            self.newest(DeviceCall::MigMode),
            Ok(Stamped { value: CallAnswer { out: Output::Numbers(modes), .. }, .. })
                if modes.first() == Some(&1)
        );
        on || !self.mig.instances.is_empty()
    }

    pub(super) fn instances(&self, now: Stamp, shown_for_ms: u64) -> Vec<MigInstance> {
        let all = self.mig.instances.iter().filter(|_| self.is_told());
        all.map(|(slot, it)| it.reading(*slot, now, shown_for_ms))
            .collect()
    }

    /// Why it is not known which slots there are, where they were asked for.
    pub(super) fn instances_missing(&self, now: Stamp) -> Option<Missing> {
        let answer = self.mig.slots.as_ref().filter(|_| self.is_told())?;
        let answer = answer.as_ref().map(as_ref).map_err(|gap| *gap);
        let counter = "DeviceGetMaxMigDeviceCount";
        let slots = read_as(counter, answer, now, |answer| match answer.out {
            Output::Number(count) => Ok(count),
            _ => Err(Gap::Malformed),
        });
        match slots {
            Reading::Known(_) => None,
            Reading::Missing(missing) => Some(missing),
        }
    }
}

/// The mode of a device.
pub(super) fn mode(answers: &DeviceAnswers<'_>) -> Reading<Measured<MigMode>> {
    answers.read(DeviceCall::MigMode, |answer| match &answer.out {
        Output::Numbers(modes) => match modes.as_slice() {
            [current @ (0 | 1), pending @ (0 | 1)] => Ok(MigMode {
                enabled: *current == 1,
                pending: *pending == 1,
            }),
            [_, _] => Err(Gap::Implausible),
            _ => Err(Gap::Malformed),
        },
        _ => Err(Gap::Malformed),
    })
}

/// Fills in what of the instances depends on processes. A row whose instance nobody named belongs to none of them.
pub(crate) fn account(device: &mut Device, processes: &[Process], lists_missing: bool) {
    let here = |charge: &&Charge| charge.device_index == device.index;
    for instance in &mut device.instances {
        let ids = instance.ids();
        let mut attributed = Total::nothing();
        // Where its own lists were asked, the device's do not tell who is on it.
        attributed.lists_missing =
            lists_missing || ids.is_none() || instance.attributed.lists_missing;
        let charges = processes.iter().flat_map(|process| &process.charges);
        for charge in charges
            .filter(here)
            .filter(|it| ids.is_some() && it.instance == ids)
        {
            instance.listed = instance.listed.saturating_add(1);
            attributed.include(charge.memory.vram.known().map(ChargedBytes::value));
        }
        instance.attributed = attributed;
    }
}
