//! The instances of a device in MIG mode, enumerated anew in every sweep.
//!
//! A failing call on the device does not end it: inside a container that was given an instance, the device's own memory
//! and lists are refused while the instance answers.

mod ffi;

use model::Gap;
use raw::Answer;
use raw::nvml::{
    CallAnswer, DeviceCall, InstanceCall, InstanceSweep, MigSweep, NO_INSTANCE, Output, code,
};

use super::ffi::{Device, List};
use super::library::{Library, stamped};
use super::lists::{self, Buffers};
use crate::worker::{Progress, Retired};

/// Slots asked at most. Devices have 7 or 8, so that a wrong count costs little.
const MAX_SLOTS: i64 = 32;

/// Whether this answer of `GetMigMode` says that the device knows no MIG. Anything else, a refusal too, leaves it open.
pub(super) const fn is_unknown_to_device(mode: &CallAnswer) -> bool {
    matches!(mode.rc, code::NOT_SUPPORTED | code::FUNCTION_NOT_FOUND)
}

/// Whether the device's own process lists in `calls` leave open which instance a process is on: a list is refused, or
/// its entries come without instances.
fn lists_needed(calls: &[(DeviceCall, Answer<CallAnswer>)]) -> bool {
    let list = |call: &DeviceCall| {
        matches!(
            call,
            DeviceCall::ComputeProcesses | DeviceCall::GraphicsProcesses | DeviceCall::MpsProcesses
        )
    };
    calls
        .iter()
        .filter(|(call, _)| list(call))
        .any(|(_, answer)| match answer {
            Ok(answer) => match (&answer.value.out, answer.value.rc) {
                (Output::Processes(rows), _) => rows.iter().any(|row| row.gi == NO_INSTANCE),
                (_, rc) => rc != code::FUNCTION_NOT_FOUND,
            },
            Err(_) => true,
        })
}

/// Asks a device about MIG. `asked` is what it has answered in this sweep already.
pub(super) fn sweep(
    library: &Library,
    device: Device,
    asked: &[(DeviceCall, Answer<CallAnswer>)],
    buffers: &mut Buffers,
    progress: &Progress,
) -> Result<Option<MigSweep>, Retired> {
    let known = asked.iter().find(|(call, _)| *call == DeviceCall::MigMode);
    let mode = match known {
        Some((_, answer)) => answer.clone(),
        None => Ok(stamped(library.api.mig_mode(device))),
    };
    progress.check()?;
    let mut sweep = MigSweep {
        mode,
        slots: None,
        instances: Vec::new(),
    };
    match &sweep.mode {
        Ok(mode) if is_unknown_to_device(&mode.value) => return Ok(None),
        Ok(mode) if matches!(&mode.value.out, Output::Numbers(modes) if modes.first() == Some(&0)) =>
        {
            return Ok(Some(sweep));
        }
        Ok(_) | Err(_) => {}
    }
    let slots = stamped(library.api.mig_slots(device));
    progress.check()?;
    let count = match slots.value.out {
        Output::Number(count) => u32::try_from(count.clamp(0, MAX_SLOTS)).unwrap_or(0),
        _ => 0,
    };
    sweep.slots = Some(Ok(slots));
    let with_lists = lists_needed(asked);
    for index in 0..count {
        let (handle, found) = library.api.mig_instance(device, index);
        progress.check()?;
        let mut instance = InstanceSweep {
            index,
            lists: with_lists,
            handle: Ok(stamped(handle)),
            calls: Vec::new(),
        };
        if let Some(found) = found {
            let calls = InstanceCall::ALL.iter().copied();
            for call in calls.filter(|call| with_lists || !call.is_list()) {
                let answer = ask(library, call, found, buffers);
                progress.check()?;
                instance.calls.push((call, answer.map(stamped)));
            }
        }
        sweep.instances.push(instance);
    }
    Ok(Some(sweep))
}

fn ask(
    library: &Library,
    call: InstanceCall,
    instance: Device,
    buffers: &mut Buffers,
) -> Result<CallAnswer, Gap> {
    let api = library.api;
    let mut list = |list| lists::processes(library, list, instance, buffers);
    match call {
        InstanceCall::Name => Ok(api.name(instance)),
        InstanceCall::Uuid => Ok(api.uuid(instance)),
        InstanceCall::GpuInstanceId => Ok(api.gpu_instance_id(instance)),
        InstanceCall::ComputeInstanceId => Ok(api.compute_instance_id(instance)),
        InstanceCall::Attributes => Ok(api.attributes(instance)),
        InstanceCall::MemoryInfo => Ok(library.memory(instance)),
        InstanceCall::ComputeProcesses => list(List::Compute),
        InstanceCall::GraphicsProcesses => list(List::Graphics),
        InstanceCall::MpsProcesses => list(List::Mps),
    }
}
