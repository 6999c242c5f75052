//! Calls about modes, errors and links of a device.
#![expect(
    unsafe_code,
    reason = "calls into a library that is loaded at run time"
)]

use std::ffi::{c_uint, c_ulonglong};

use model::Text;
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlPciInfo_t, nvmlReturn_t};
use raw::nvml::{CallAnswer, Output, code};

use crate::nvml::ffi::{
    Api, Device, absent, answered, device_text, newest, number, pair, symbol, text,
};

/// Addresses of retired pages there is room for; a board is to be replaced long before (at 64 by NVIDIA's rule). More
/// stay `INSUFFICIENT_SIZE`.
const RETIRED_PAGES: usize = 512;

type Wide = unsafe extern "C" fn(nvmlDevice_t, *mut c_ulonglong) -> nvmlReturn_t;

fn wide(function: Option<(Wide, u8)>, device: Device) -> CallAnswer {
    let Some((function, sym)) = function else {
        return absent();
    };
    let mut value: c_ulonglong = 0;
    // SAFETY: the handle is this library's; the out parameter outlives the call.
    let rc = unsafe { function(device.0, &raw mut value) };
    answered(rc, sym, || Output::Numbers(vec![value]))
}

impl Api {
    pub(in crate::nvml) fn vbios_version(&self, device: Device) -> CallAnswer {
        device_text(symbol!(self.nvmlDeviceGetVbiosVersion), device)
    }

    pub(in crate::nvml) fn board_part_number(&self, device: Device) -> CallAnswer {
        device_text(symbol!(self.nvmlDeviceGetBoardPartNumber), device)
    }

    pub(in crate::nvml) fn clocks_event_reasons(&self, device: Device) -> CallAnswer {
        let newest = newest!(self: nvmlDeviceGetCurrentClocksEventReasons = 2,
            nvmlDeviceGetCurrentClocksThrottleReasons = 1);
        wide(newest, device)
    }

    pub(in crate::nvml) fn supported_clocks_event_reasons(&self, device: Device) -> CallAnswer {
        let newest = newest!(self: nvmlDeviceGetSupportedClocksEventReasons = 2,
            nvmlDeviceGetSupportedClocksThrottleReasons = 1);
        wide(newest, device)
    }

    pub(in crate::nvml) fn jpeg(&self, device: Device) -> CallAnswer {
        pair(symbol!(self.nvmlDeviceGetJpgUtilization), device)
    }

    pub(in crate::nvml) fn optical_flow(&self, device: Device) -> CallAnswer {
        pair(symbol!(self.nvmlDeviceGetOfaUtilization), device)
    }

    pub(in crate::nvml) fn total_energy(&self, device: Device) -> CallAnswer {
        let function = symbol!(self.nvmlDeviceGetTotalEnergyConsumption);
        wide(function.map(|function| (function as Wide, 1)), device)
    }

    pub(in crate::nvml) fn persistence_mode(&self, device: Device) -> CallAnswer {
        number(symbol!(self.nvmlDeviceGetPersistenceMode), device)
    }

    pub(in crate::nvml) fn compute_mode(&self, device: Device) -> CallAnswer {
        number(symbol!(self.nvmlDeviceGetComputeMode), device)
    }

    pub(in crate::nvml) fn ecc_mode(&self, device: Device) -> CallAnswer {
        pair(symbol!(self.nvmlDeviceGetEccMode), device)
    }

    /// `error` is an `nvmlMemoryErrorType_t`, `counter` an `nvmlEccCounterType_t`.
    pub(in crate::nvml) fn ecc_errors(
        &self,
        device: Device,
        error: u32,
        counter: u32,
    ) -> CallAnswer {
        let Some(function) = symbol!(self.nvmlDeviceGetTotalEccErrors) else {
            return absent();
        };
        let mut errors: c_ulonglong = 0;
        // SAFETY: the handle is this library's; the out parameter outlives the call.
        let rc = unsafe { function(device.0, error, counter, &raw mut errors) };
        answered(rc, 1, || Output::Numbers(vec![errors]))
    }

    /// How many pages; their addresses are not kept. `cause` is an `nvmlPageRetirementCause_t`.
    pub(in crate::nvml) fn retired_pages(&self, device: Device, cause: u32) -> CallAnswer {
        let Some(function) = symbol!(self.nvmlDeviceGetRetiredPages) else {
            return absent();
        };
        let mut addresses: [c_ulonglong; RETIRED_PAGES] = [0; RETIRED_PAGES];
        let mut count = c_uint::try_from(RETIRED_PAGES).unwrap_or(0);
        // SAFETY: the handle is this library's; the buffer has room for the count that is passed.
        let rc = unsafe { function(device.0, cause, &raw mut count, addresses.as_mut_ptr()) };
        answered(rc, 1, || Output::Number(i64::from(count)))
    }

    pub(in crate::nvml) fn retired_pages_pending(&self, device: Device) -> CallAnswer {
        number(symbol!(self.nvmlDeviceGetRetiredPagesPendingStatus), device)
    }

    /// Correctable, uncorrectable, pending, failed.
    pub(in crate::nvml) fn remapped_rows(&self, device: Device) -> CallAnswer {
        let Some(function) = symbol!(self.nvmlDeviceGetRemappedRows) else {
            return absent();
        };
        let mut rows: [c_uint; 4] = [0; 4];
        let [correctable, uncorrectable, pending, failed] = &mut rows;
        // SAFETY: the handle is this library's; the out parameters outlive the call.
        let rc = unsafe { function(device.0, correctable, uncorrectable, pending, failed) };
        answered(rc, 1, || {
            Output::Numbers(rows.iter().map(|n| u64::from(*n)).collect())
        })
    }

    /// State of one link: the call's answer, and 0 or 1 where it succeeded.
    pub(in crate::nvml) fn link_state(&self, device: Device, link: u32) -> (CallAnswer, u32) {
        let Some(function) = symbol!(self.nvmlDeviceGetNvLinkState) else {
            return (absent(), 0);
        };
        let mut state: c_uint = 0;
        // SAFETY: the handle is this library's; the out parameter outlives the call.
        let rc = unsafe { function(device.0, link, &raw mut state) };
        (answered(rc, 1, || Output::Nothing), state)
    }

    /// Return code and `nvmlNvlinkVersion_t` of one link.
    pub(in crate::nvml) fn link_version(&self, device: Device, link: u32) -> (i32, u32) {
        let Some(function) = symbol!(self.nvmlDeviceGetNvLinkVersion) else {
            return (code::FUNCTION_NOT_FOUND, 0);
        };
        let mut version: c_uint = 0;
        // SAFETY: the handle is this library's; the out parameter outlives the call.
        let rc = unsafe { function(device.0, link, &raw mut version) };
        (rc.cast_signed(), version)
    }

    /// Return code and bus id of what is at the other end of a link. Versions before 2 have only the short id.
    pub(in crate::nvml) fn link_remote(&self, device: Device, link: u32) -> (i32, Text) {
        let newest = newest!(self: nvmlDeviceGetNvLinkRemotePciInfo_v2 = 2,
            nvmlDeviceGetNvLinkRemotePciInfo = 1);
        let Some((function, sym)) = newest else {
            return (code::FUNCTION_NOT_FOUND, "".into());
        };
        let mut info = nvmlPciInfo_t {
            busIdLegacy: [0; 16],
            domain: 0,
            bus: 0,
            device: 0,
            pciDeviceId: 0,
            pciSubSystemId: 0,
            busId: [0; 32],
        };
        // SAFETY: the handle is this library's; the struct is version 2's, the larger of the two.
        let rc = unsafe { function(device.0, link, &raw mut info) };
        let id = if sym == 2 {
            info.busId.as_slice()
        } else {
            info.busIdLegacy.as_slice()
        };
        let bytes: Vec<u8> = id.iter().map(|c| c.to_ne_bytes()[0]).collect();
        match answered(rc, sym, || text(&bytes)) {
            CallAnswer {
                rc,
                out: Output::Text(id),
                ..
            } => (rc, id),
            CallAnswer { rc, .. } => (rc, "".into()),
        }
    }
}
