//! A loaded library and what has been learnt about it, kept for as long as the process lives.

use std::ffi::OsStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use raw::Stamped;
use raw::nvml::{CallAnswer, SystemCall, code};

use super::ffi::{Api, Device, List};
use super::stride::Layout;
use crate::bell::locked;
use crate::clock;

/// A library that could be opened.
pub(super) struct Library {
    pub(super) api: &'static Api,
    /// Per list: the settled layout of `_v3` entries in bytes, 0 until then.
    layouts: [AtomicU8; 3],
    /// The library refused version 2 of the memory struct.
    memory_v2_refused: AtomicBool,
    /// The library refused the newer temperature call.
    temperature_v_refused: AtomicBool,
    constants: Mutex<Constants>,
}

/// Answers that do not change while a library is loaded. Asking for the CUDA version makes NVML open another
/// library, which is no work for every second.
#[derive(Default)]
struct Constants {
    driver: Option<Stamped<CallAnswer>>,
    cuda: Option<Stamped<CallAnswer>>,
}

impl Library {
    pub(super) fn open(name: &OsStr) -> Result<Self, String> {
        Api::open(name).map(|api| Self {
            api,
            layouts: Default::default(),
            memory_v2_refused: AtomicBool::new(false),
            temperature_v_refused: AtomicBool::new(false),
            constants: Mutex::default(),
        })
    }

    pub(super) fn layout(&self, list: List) -> Option<Layout> {
        match self.layouts.get(list as usize)?.load(Ordering::Relaxed) {
            24 => Some(Layout::Bytes24),
            32 => Some(Layout::Bytes32),
            _ => None,
        }
    }

    pub(super) fn settle(&self, list: List, layout: Layout) {
        if let Some(kept) = self.layouts.get(list as usize) {
            let bytes = match layout {
                Layout::Bytes32 => 32,
                Layout::Bytes16 | Layout::Bytes24 => 24,
            };
            kept.store(bytes, Ordering::Relaxed);
        }
    }

    /// Before another session: its driver may be another one.
    pub(super) fn forget(&self) {
        *locked(&self.constants) = Constants::default();
    }

    /// A call on the driver as a whole.
    pub(super) fn system(&self, call: SystemCall) -> Stamped<CallAnswer> {
        let constant = |kept: fn(&mut Constants) -> &mut Option<Stamped<CallAnswer>>,
                        ask: fn(&Api) -> CallAnswer| {
            if let Some(answer) = kept(&mut locked(&self.constants)) {
                return answer.clone();
            }
            let answer = stamped(ask(self.api));
            if answer.value.rc == code::SUCCESS {
                *kept(&mut locked(&self.constants)) = Some(answer.clone());
            }
            answer
        };
        match call {
            SystemCall::DriverVersion => constant(|kept| &mut kept.driver, Api::driver_version),
            SystemCall::CudaDriverVersion => {
                constant(|kept| &mut kept.cuda, Api::cuda_driver_version)
            }
            SystemCall::DeviceCount => stamped(self.api.device_count()),
        }
    }

    /// Memory by the newest call that is understood.
    pub(super) fn memory(&self, device: Device) -> CallAnswer {
        newer_or_older(
            &self.memory_v2_refused,
            || self.api.memory_v2(device),
            || self.api.memory_v1(device),
        )
    }

    /// Temperature by the newest call that is understood.
    pub(super) fn temperature(&self, device: Device) -> CallAnswer {
        newer_or_older(
            &self.temperature_v_refused,
            || self.api.temperature_v(device),
            || self.api.temperature(device),
        )
    }
}

/// Asks the newer call unless it was refused once; the answer's `sym` tells which one answered.
fn newer_or_older(
    refused: &AtomicBool,
    newer: impl FnOnce() -> CallAnswer,
    older: impl FnOnce() -> CallAnswer,
) -> CallAnswer {
    if refused.load(Ordering::Relaxed) {
        return older();
    }
    let first = newer();
    if !matches!(
        first.rc,
        code::FUNCTION_NOT_FOUND | code::ARGUMENT_VERSION_MISMATCH
    ) {
        return first;
    }
    let second = older();
    if second.sym == 0 {
        return first;
    }
    refused.store(true, Ordering::Relaxed);
    second
}

/// With the moment it was answered, which is now.
pub(super) fn stamped(value: CallAnswer) -> Stamped<CallAnswer> {
    Stamped {
        at: clock::stamp(),
        value,
    }
}
