//! Calls about MIG: how many slots a device has, the instance in a slot, and what only an instance answers.
#![expect(
    unsafe_code,
    reason = "calls into a library that is loaded at run time"
)]

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlDeviceAttributes_t};
use raw::nvml::{CallAnswer, Output, code};

use crate::nvml::ffi::{Api, Device, absent, answered, number};

const _: () = assert!(size_of::<nvmlDeviceAttributes_t>() == 40);

impl Api {
    /// How many instances the device can have at most; 0 where MIG is unknown or off.
    pub(super) fn mig_slots(&self, device: Device) -> CallAnswer {
        number(
            self.lib
                .nvmlDeviceGetMaxMigDeviceCount
                .as_ref()
                .ok()
                .copied(),
            device,
        )
    }

    /// The handle of the instance in this slot; absent unless the call succeeded. It is of no use once the instance is
    /// destroyed.
    pub(super) fn mig_instance(&self, device: Device, slot: u32) -> (CallAnswer, Option<Device>) {
        let Ok(function) = self.lib.nvmlDeviceGetMigDeviceHandleByIndex.as_ref() else {
            return (absent(), None);
        };
        let mut handle: nvmlDevice_t = std::ptr::null_mut();
        // SAFETY: the handle is this library's; the out parameter outlives the call.
        let rc = unsafe { function(device.0, slot, &raw mut handle) };
        let answer = answered(rc, 1, || Output::Nothing);
        let instance = (answer.rc == code::SUCCESS).then_some(Device(handle));
        (answer, instance)
    }

    pub(super) fn gpu_instance_id(&self, instance: Device) -> CallAnswer {
        let function = self.lib.nvmlDeviceGetGpuInstanceId.as_ref();
        number(function.ok().copied(), instance)
    }

    pub(super) fn compute_instance_id(&self, instance: Device) -> CallAnswer {
        let function = self.lib.nvmlDeviceGetComputeInstanceId.as_ref();
        number(function.ok().copied(), instance)
    }

    /// What an instance consists of, version 2. Libraries that know MIG have it.
    pub(super) fn attributes(&self, instance: Device) -> CallAnswer {
        let Ok(function) = self.lib.nvmlDeviceGetAttributes_v2.as_ref() else {
            return absent();
        };
        let mut it = nvmlDeviceAttributes_t {
            multiprocessorCount: 0,
            sharedCopyEngineCount: 0,
            sharedDecoderCount: 0,
            sharedEncoderCount: 0,
            sharedJpegCount: 0,
            sharedOfaCount: 0,
            gpuInstanceSliceCount: 0,
            computeInstanceSliceCount: 0,
            memorySizeMB: 0,
        };
        // SAFETY: the handle is this library's; the struct is this version's and outlives the call.
        let rc = unsafe { function(instance.0, &raw mut it) };
        answered(rc, 2, || {
            let counts = [
                it.multiprocessorCount,
                it.sharedCopyEngineCount,
                it.sharedDecoderCount,
                it.sharedEncoderCount,
                it.sharedJpegCount,
                it.sharedOfaCount,
                it.gpuInstanceSliceCount,
                it.computeInstanceSliceCount,
            ];
            let counts = counts.into_iter().map(u64::from);
            Output::Numbers(counts.chain([it.memorySizeMB]).collect())
        })
    }
}
