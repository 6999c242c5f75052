//! The call that fills a buffer with utilization samples of all engines.
#![expect(
    unsafe_code,
    reason = "a call into a library that is loaded at run time"
)]

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::nvmlProcessesUtilizationInfo_v1_t;

use crate::nvml::ffi::{Api, Device, symbol};

/// Unlike in the older call's struct the time stamp comes first.
pub(super) use nvml_wrapper_sys::bindings::nvmlProcessUtilizationInfo_v1_t as RawWideSample;

/// Size in the low bytes, struct version in the highest, as `nvml.h` builds it.
const VERSION_1: c_uint = 0x0100_0018;
const _: () = assert!(size_of::<nvmlProcessesUtilizationInfo_v1_t>() == 0x18);
const _: () = assert!(size_of::<RawWideSample>() == 40);

pub(super) const EMPTY: RawWideSample = RawWideSample {
    timeStamp: 0,
    pid: 0,
    smUtil: 0,
    memUtil: 0,
    encUtil: 0,
    decUtil: 0,
    jpgUtil: 0,
    ofaUtil: 0,
};

impl Api {
    /// Samples newer than `after`: return code and the count it left; `None` where the library lacks the call.
    pub(super) fn wide_samples(
        &self,
        device: Device,
        after: c_ulonglong,
        buffer: &mut [RawWideSample],
    ) -> Option<(i32, u32)> {
        let function = symbol!(self.nvmlDeviceGetProcessesUtilizationInfo)?;
        let mut list = nvmlProcessesUtilizationInfo_v1_t {
            version: VERSION_1,
            processSamplesCount: c_uint::try_from(buffer.len()).unwrap_or(c_uint::MAX),
            lastSeenTimeStamp: after,
            procUtilArray: buffer.as_mut_ptr(),
        };
        // SAFETY: the handle is this library's; the struct says its version and size, and the buffer in it has room
        // for the count in it.
        let rc = unsafe { function(device.0, &raw mut list) };
        Some((rc.cast_signed(), list.processSamplesCount))
    }
}
