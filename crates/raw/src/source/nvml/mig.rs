//! The part of a sweep about a device's MIG instances.
//!
//! Instances come and go while the program runs and their handles become invalid with them, so they are enumerated
//! anew in each sweep. Slots without one are holes: `NOT_FOUND`, after which others follow.

use std::fmt;

use model::Gap;
use serde::{Deserialize, Serialize};

use super::{CallAnswer, code};
use crate::machine::Answer;

/// Declares the calls on an instance with the name used in captures.
macro_rules! instance_calls {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $list:literal;)*) => {
        /// A call on a MIG instance.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[repr(u8)]
        pub enum InstanceCall { $($(#[$doc])* $variant,)* }

        impl InstanceCall {
            /// Every call, in the order they are made.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// NVML's name of the call, without `nvmlDevice` and without a version.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Whether it is a process list, asked only where the device's own lists do not tell whose a process is.
            pub const fn is_list(self) -> bool {
                match self { $(Self::$variant => $list,)* }
            }
        }
    };
}

instance_calls! {
    /// Text.
    Name = "GetName" false;
    /// Text, `MIG-` and a UUID; before R470 `MIG-GPU-UUID/GPU INSTANCE/COMPUTE INSTANCE`.
    Uuid = "GetUUID" false;
    /// Number.
    GpuInstanceId = "GetGpuInstanceId" false;
    /// Number.
    ComputeInstanceId = "GetComputeInstanceId" false;
    /// Numbers: multiprocessors, copy engines, decoders, encoders, JPEG engines, OFA engines, slices of the GPU
    /// instance, slices of the compute instance, mebibytes of memory.
    Attributes = "GetAttributes" false;
    /// Numbers as those of a device. All compute instances of a GPU instance answer the GPU instance's memory.
    MemoryInfo = "GetMemoryInfo" false;
    /// Processes.
    ComputeProcesses = "GetComputeRunningProcesses" true;
    /// Processes.
    GraphicsProcesses = "GetGraphicsRunningProcesses" true;
    /// Processes.
    MpsProcesses = "GetMPSComputeRunningProcesses" true;
}

impl fmt::Display for InstanceCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a device that knows MIG was asked about it, in every sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct MigSweep {
    /// Numbers: current, pending. As [`DeviceCall::MigMode`](super::DeviceCall::MigMode), but in every sweep.
    pub mode: Answer<CallAnswer>,
    /// Number: slots for instances. Not asked where the mode is known to be off.
    pub slots: Option<Answer<CallAnswer>>,
    /// One entry a slot, holes included.
    pub instances: Vec<InstanceSweep>,
}

impl MigSweep {
    /// What is left of it where a call did not return.
    pub const fn unanswered() -> Self {
        Self {
            mode: Err(Gap::TimedOut),
            slots: None,
            instances: Vec::new(),
        }
    }
}

/// One slot of a device in MIG mode.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceSweep {
    /// Number of the slot.
    pub index: u32,
    /// Whether the process lists were asked too.
    pub lists: bool,
    /// Getting the handle: `NOT_FOUND` where there is no instance. Without it no call is made.
    pub handle: Answer<CallAnswer>,
    /// The calls, in order.
    pub calls: Vec<(InstanceCall, Answer<CallAnswer>)>,
}

/// The part of a sweep's header about one device's instances.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct MigHeader {
    pub(crate) slot: u32,
    pub(crate) slots_asked: bool,
    /// Each slot of an instance, and whether its lists were asked.
    pub(crate) instances: Vec<(u32, bool)>,
}

impl MigSweep {
    pub(super) fn header(&self, slot: u32) -> MigHeader {
        MigHeader {
            slot,
            slots_asked: self.slots.is_some(),
            instances: self.instances.iter().map(|i| (i.index, i.lists)).collect(),
        }
    }

    pub(super) fn from_parts(
        header: &MigHeader,
        call: &mut impl FnMut(&str) -> Answer<CallAnswer>,
    ) -> Self {
        let device = header.slot;
        let mode = call(&mode_key(device));
        let slots = header.slots_asked.then(|| call(&slots_key(device)));
        let instances = header.instances.iter().map(|(index, lists)| {
            let handle = call(&handle_key(device, *index));
            let answered = matches!(&handle, Ok(h) if h.value.rc == code::SUCCESS);
            let calls = InstanceCall::ALL
                .iter()
                .filter(|c| answered && (*lists || !c.is_list()))
                .map(|c| (*c, call(&call_key(device, *index, *c))))
                .collect();
            InstanceSweep {
                index: *index,
                lists: *lists,
                handle,
                calls,
            }
        });
        Self {
            mode,
            slots,
            instances: instances.collect(),
        }
    }

    /// Every call with its question in a capture, in order.
    pub(super) fn parts(&self, device: u32) -> impl Iterator<Item = (String, &Answer<CallAnswer>)> {
        let mode = std::iter::once((mode_key(device), &self.mode));
        let slots = self.slots.iter().map(move |it| (slots_key(device), it));
        let instances = self.instances.iter().flat_map(move |instance| {
            let index = instance.index;
            let calls = instance.calls.iter();
            std::iter::once((handle_key(device, index), &instance.handle))
                .chain(calls.map(move |(c, answer)| (call_key(device, index, *c), answer)))
        });
        mode.chain(slots).chain(instances)
    }
}

fn mode_key(device: u32) -> String {
    format!("{device}/mig/GetMigMode")
}

fn slots_key(device: u32) -> String {
    format!("{device}/mig/GetMaxMigDeviceCount")
}

fn handle_key(device: u32, index: u32) -> String {
    format!("{device}/mig/{index}/GetMigDeviceHandleByIndex")
}

fn call_key(device: u32, index: u32, call: InstanceCall) -> String {
    format!("{device}/mig/{index}/{}", call.name())
}
