//! Every call into NVML, each with the out parameters it needs and the return code it gave.
//!
//! Structs and symbols are nvml-wrapper-sys's. Of a function with several versions the newest that the library
//! exports is called; which one answered is part of the answer.
#![expect(
    unsafe_code,
    reason = "calls into a library that is loaded at run time"
)]

use std::ffi::{OsStr, c_char, c_int, c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlDevice_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlPciInfo_t, nvmlReturn_t,
    nvmlTemperature_t, nvmlUtilization_t,
};
use raw::nvml::{CallAnswer, Output, code};

pub(super) use nvml_wrapper_sys::bindings::nvmlProcessUtilizationSample_t as RawSample;

/// A loaded library. Never unloaded: a call that hangs may return into it at any later time, and driver libraries
/// do not unload cleanly.
pub(super) struct Api {
    pub(super) lib: NvmlLib,
}

/// A device handle of the library that gave it.
#[derive(Clone, Copy)]
pub(super) struct Device(pub(super) nvmlDevice_t);

/// A process list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum List {
    Compute,
    Graphics,
    Mps,
}

/// Largest entry that a process list of any version has been seen to write, in words of 8 bytes.
pub(super) const ENTRY_WORDS: usize = 4;

/// Entries of room behind what the library is told about, so that a write past the end hits our own memory.
pub(super) const SLACK_ENTRIES: usize = 4;

/// Longer than any text the header allows (96 bytes for a name).
const TEXT_BYTES: c_uint = 128;

/// Size in the low bytes, struct version in the highest, as `nvml.h` builds it.
const MEMORY_V2: c_uint = 0x0200_0028;
const TEMPERATURE_V1: c_uint = 0x0100_000C;
const _: () = assert!(size_of::<nvmlMemory_v2_t>() == 0x28);
const _: () = assert!(size_of::<nvmlTemperature_t>() == 0x0C);
const _: () = assert!(size_of::<RawSample>() == 32);

/// `NVML_TEMPERATURE_GPU`, the only sensor there is.
const GPU_SENSOR: c_uint = 0;

type Text = unsafe extern "C" fn(nvmlDevice_t, *mut c_char, c_uint) -> nvmlReturn_t;
pub(super) type Number = unsafe extern "C" fn(nvmlDevice_t, *mut c_uint) -> nvmlReturn_t;
type Chosen = unsafe extern "C" fn(nvmlDevice_t, c_uint, *mut c_uint) -> nvmlReturn_t;
type Pair = unsafe extern "C" fn(nvmlDevice_t, *mut c_uint, *mut c_uint) -> nvmlReturn_t;
type ListOf<T> = unsafe extern "C" fn(nvmlDevice_t, *mut c_uint, *mut T) -> nvmlReturn_t;

macro_rules! symbol {
    ($api:ident . $name:ident) => {
        $api.lib.$name.as_ref().ok().copied()
    };
}
pub(super) use symbol;

/// The newest of some versions that the library has, with its number.
macro_rules! newest {
    ($api:ident: $($name:ident = $version:literal),+) => {
        None$(.or_else(|| symbol!($api.$name).map(|function| (function, $version))))+
    };
}

pub(super) use newest;

/// The answer where the library lacks the function.
pub(super) fn absent() -> CallAnswer {
    CallAnswer {
        rc: code::FUNCTION_NOT_FOUND,
        sym: 0,
        out: Output::Nothing,
    }
}

pub(super) fn answered(rc: nvmlReturn_t, sym: u8, out: impl FnOnce() -> Output) -> CallAnswer {
    let rc = rc.cast_signed();
    let out = if rc == code::SUCCESS {
        out()
    } else {
        Output::Nothing
    };
    CallAnswer { rc, sym, out }
}

pub(super) fn text(bytes: &[u8]) -> Output {
    let end = bytes.iter().position(|byte| *byte == 0);
    let bytes = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
    Output::Text(String::from_utf8_lossy(bytes).into())
}

impl Api {
    /// Loads the library; on failure the loader's words.
    pub(super) fn open(name: &OsStr) -> Result<&'static Self, String> {
        // SAFETY: loading runs the library's initialisers. Only the NVIDIA driver's library is loaded, by the name
        // the driver installs it under or the one the user gave.
        let lib = unsafe { NvmlLib::new(name) };
        lib.map(|lib| &*Box::leak(Box::new(Self { lib })))
            .map_err(|error| error.to_string())
    }

    /// `nvmlInit_v2`.
    pub(super) fn init(&self) -> i32 {
        let Some(function) = symbol!(self.nvmlInit_v2) else {
            return code::FUNCTION_NOT_FOUND;
        };
        // SAFETY: takes no arguments and may be called at any time.
        let rc = unsafe { function() };
        rc.cast_signed()
    }

    /// `nvmlShutdown`, for one earlier successful [`init`](Self::init).
    pub(super) fn shut_down(&self) {
        if let Some(function) = symbol!(self.nvmlShutdown) {
            // SAFETY: takes no arguments; without an open session it returns an error.
            let _rc = unsafe { function() };
        }
    }

    pub(super) fn driver_version(&self) -> CallAnswer {
        let Some(function) = symbol!(self.nvmlSystemGetDriverVersion) else {
            return absent();
        };
        let mut buffer = [0_u8; TEXT_BYTES as usize];
        // SAFETY: the buffer has the length that is passed.
        let rc = unsafe { function(buffer.as_mut_ptr().cast(), TEXT_BYTES) };
        answered(rc, 1, || text(&buffer))
    }

    pub(super) fn cuda_driver_version(&self) -> CallAnswer {
        let newest = newest!(self: nvmlSystemGetCudaDriverVersion_v2 = 2, nvmlSystemGetCudaDriverVersion = 1);
        let Some((function, sym)) = newest else {
            return absent();
        };
        let mut version: c_int = 0;
        // SAFETY: the out parameter outlives the call.
        let rc = unsafe { function(&raw mut version) };
        answered(rc, sym, || Output::Number(i64::from(version)))
    }

    pub(super) fn device_count(&self) -> CallAnswer {
        let newest = newest!(self: nvmlDeviceGetCount_v2 = 2, nvmlDeviceGetCount = 1);
        let Some((function, sym)) = newest else {
            return absent();
        };
        let mut count: c_uint = 0;
        // SAFETY: the out parameter outlives the call.
        let rc = unsafe { function(&raw mut count) };
        answered(rc, sym, || Output::Number(i64::from(count)))
    }

    /// The handle of the device at this index; absent unless the call succeeded.
    pub(super) fn device(&self, index: u32) -> (CallAnswer, Option<Device>) {
        let newest =
            newest!(self: nvmlDeviceGetHandleByIndex_v2 = 2, nvmlDeviceGetHandleByIndex = 1);
        let Some((function, sym)) = newest else {
            return (absent(), None);
        };
        let mut handle: nvmlDevice_t = std::ptr::null_mut();
        // SAFETY: the out parameter outlives the call.
        let rc = unsafe { function(index, &raw mut handle) };
        let answer = answered(rc, sym, || Output::Nothing);
        let device = (answer.rc == code::SUCCESS).then_some(Device(handle));
        (answer, device)
    }

    pub(super) fn name(&self, device: Device) -> CallAnswer {
        device_text(symbol!(self.nvmlDeviceGetName), device)
    }

    pub(super) fn uuid(&self, device: Device) -> CallAnswer {
        device_text(symbol!(self.nvmlDeviceGetUUID), device)
    }

    /// The bus id. Versions before 3 have only the short field, with a four-digit domain.
    pub(super) fn pci_info(&self, device: Device) -> CallAnswer {
        let newest = newest!(self: nvmlDeviceGetPciInfo_v3 = 3, nvmlDeviceGetPciInfo_v2 = 2, nvmlDeviceGetPciInfo = 1);
        let Some((function, sym)) = newest else {
            return absent();
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
        // SAFETY: the handle is this library's; the struct is version 3's, the largest of the three.
        let rc = unsafe { function(device.0, &raw mut info) };
        let long = if sym == 3 {
            info.busId.as_slice()
        } else {
            info.busIdLegacy.as_slice()
        };
        answered(rc, sym, || {
            let bytes: Vec<u8> = long.iter().map(|c| c.to_ne_bytes()[0]).collect();
            text(&bytes)
        })
    }

    pub(super) fn compute_capability(&self, device: Device) -> CallAnswer {
        let Some(function) = symbol!(self.nvmlDeviceGetCudaComputeCapability) else {
            return absent();
        };
        let (mut major, mut minor): (c_int, c_int) = (0, 0);
        // SAFETY: the handle is this library's; the out parameters outlive the call.
        let rc = unsafe { function(device.0, &raw mut major, &raw mut minor) };
        answered(rc, 1, || {
            let number = |part: c_int| u64::from(part.cast_unsigned());
            Output::Numbers(vec![number(major), number(minor)])
        })
    }

    pub(super) fn mig_mode(&self, device: Device) -> CallAnswer {
        pair(symbol!(self.nvmlDeviceGetMigMode), device)
    }

    pub(super) fn virtualization_mode(&self, device: Device) -> CallAnswer {
        number(symbol!(self.nvmlDeviceGetVirtualizationMode), device)
    }

    /// Memory, version 2: total, reserved, free, used.
    pub(super) fn memory_v2(&self, device: Device) -> CallAnswer {
        let Some(function) = symbol!(self.nvmlDeviceGetMemoryInfo_v2) else {
            return absent();
        };
        let mut memory = nvmlMemory_v2_t {
            version: MEMORY_V2,
            total: 0,
            reserved: 0,
            free: 0,
            used: 0,
        };
        // SAFETY: the handle is this library's; the struct says its version and size.
        let rc = unsafe { function(device.0, &raw mut memory) };
        answered(rc, 2, || {
            Output::Numbers(vec![
                memory.total,
                memory.reserved,
                memory.free,
                memory.used,
            ])
        })
    }

    /// Memory, version 1: total, free, used.
    pub(super) fn memory_v1(&self, device: Device) -> CallAnswer {
        let Some(function) = symbol!(self.nvmlDeviceGetMemoryInfo) else {
            return absent();
        };
        let mut memory = nvmlMemory_t {
            total: 0,
            free: 0,
            used: 0,
        };
        // SAFETY: the handle is this library's; the out parameter outlives the call.
        let rc = unsafe { function(device.0, &raw mut memory) };
        answered(rc, 1, || {
            Output::Numbers(vec![memory.total, memory.free, memory.used])
        })
    }

    pub(super) fn utilization(&self, device: Device) -> CallAnswer {
        let Some(function) = symbol!(self.nvmlDeviceGetUtilizationRates) else {
            return absent();
        };
        let mut rates = nvmlUtilization_t { gpu: 0, memory: 0 };
        // SAFETY: the handle is this library's; the out parameter outlives the call.
        let rc = unsafe { function(device.0, &raw mut rates) };
        answered(rc, 1, || {
            Output::Numbers(vec![u64::from(rates.gpu), u64::from(rates.memory)])
        })
    }

    pub(super) fn encoder(&self, device: Device) -> CallAnswer {
        pair(symbol!(self.nvmlDeviceGetEncoderUtilization), device)
    }

    pub(super) fn decoder(&self, device: Device) -> CallAnswer {
        pair(symbol!(self.nvmlDeviceGetDecoderUtilization), device)
    }

    /// `kind` is an `nvmlClockType_t`.
    pub(super) fn clock(&self, device: Device, kind: u32) -> CallAnswer {
        chosen(symbol!(self.nvmlDeviceGetClockInfo), device, kind)
    }

    /// `counter` is an `nvmlPcieUtilCounter_t`.
    pub(super) fn pcie_throughput(&self, device: Device, counter: u32) -> CallAnswer {
        chosen(symbol!(self.nvmlDeviceGetPcieThroughput), device, counter)
    }

    /// Temperature by the newer call, which says its struct's version.
    pub(super) fn temperature_v(&self, device: Device) -> CallAnswer {
        let Some(function) = symbol!(self.nvmlDeviceGetTemperatureV) else {
            return absent();
        };
        let mut reading = nvmlTemperature_t {
            version: TEMPERATURE_V1,
            sensorType: GPU_SENSOR,
            temperature: 0,
        };
        // SAFETY: the handle is this library's; the struct says its version and size.
        let rc = unsafe { function(device.0, &raw mut reading) };
        answered(rc, 2, || Output::Number(i64::from(reading.temperature)))
    }

    /// Temperature by the older call, whose unsigned value is two's complement.
    pub(super) fn temperature(&self, device: Device) -> CallAnswer {
        let mut answer = chosen(symbol!(self.nvmlDeviceGetTemperature), device, GPU_SENSOR);
        if let Output::Number(value) = &mut answer.out
            && let Ok(bits) = u32::try_from(*value)
        {
            *value = i64::from(bits.cast_signed());
        }
        answer
    }

    pub(super) fn power_usage(&self, device: Device) -> CallAnswer {
        number(symbol!(self.nvmlDeviceGetPowerUsage), device)
    }

    pub(super) fn enforced_power_limit(&self, device: Device) -> CallAnswer {
        number(symbol!(self.nvmlDeviceGetEnforcedPowerLimit), device)
    }

    pub(super) fn fan_speed(&self, device: Device) -> CallAnswer {
        number(symbol!(self.nvmlDeviceGetFanSpeed), device)
    }

    pub(super) fn performance_state(&self, device: Device) -> CallAnswer {
        number(symbol!(self.nvmlDeviceGetPerformanceState), device)
    }

    pub(super) fn pcie_generation(&self, device: Device) -> CallAnswer {
        number(symbol!(self.nvmlDeviceGetCurrPcieLinkGeneration), device)
    }

    pub(super) fn pcie_width(&self, device: Device) -> CallAnswer {
        number(symbol!(self.nvmlDeviceGetCurrPcieLinkWidth), device)
    }

    /// A process list by one version of its call: return code and the count it left; `None` where the library
    /// lacks that version. Entries are written into `buffer` in the library's layout; it is told of
    /// [`SLACK_ENTRIES`] less than there is room for at the largest layout.
    pub(super) fn processes(
        &self,
        list: List,
        version: u8,
        device: Device,
        buffer: &mut [u64],
    ) -> Option<(i32, u32)> {
        match (list, version) {
            (List::Compute, 3) => fill(
                symbol!(self.nvmlDeviceGetComputeRunningProcesses_v3),
                device,
                buffer,
            ),
            (List::Compute, 2) => fill(
                symbol!(self.nvmlDeviceGetComputeRunningProcesses_v2),
                device,
                buffer,
            ),
            (List::Compute, _) => fill(
                symbol!(self.nvmlDeviceGetComputeRunningProcesses),
                device,
                buffer,
            ),
            (List::Graphics, 3) => fill(
                symbol!(self.nvmlDeviceGetGraphicsRunningProcesses_v3),
                device,
                buffer,
            ),
            (List::Graphics, 2) => fill(
                symbol!(self.nvmlDeviceGetGraphicsRunningProcesses_v2),
                device,
                buffer,
            ),
            (List::Graphics, _) => fill(
                symbol!(self.nvmlDeviceGetGraphicsRunningProcesses),
                device,
                buffer,
            ),
            (List::Mps, 3) => fill(
                symbol!(self.nvmlDeviceGetMPSComputeRunningProcesses_v3),
                device,
                buffer,
            ),
            (List::Mps, 2) => fill(
                symbol!(self.nvmlDeviceGetMPSComputeRunningProcesses_v2),
                device,
                buffer,
            ),
            (List::Mps, _) => fill(
                symbol!(self.nvmlDeviceGetMPSComputeRunningProcesses),
                device,
                buffer,
            ),
        }
    }

    /// Utilization samples newer than `after`: return code and the count it left; `None` where it is absent.
    pub(super) fn samples(
        &self,
        device: Device,
        after: c_ulonglong,
        buffer: &mut [RawSample],
    ) -> Option<(i32, u32)> {
        let function = symbol!(self.nvmlDeviceGetProcessUtilization)?;
        let mut count = c_uint::try_from(buffer.len()).unwrap_or(c_uint::MAX);
        // SAFETY: the handle is this library's; the buffer has room for the count that is passed.
        let rc = unsafe { function(device.0, buffer.as_mut_ptr(), &raw mut count, after) };
        Some((rc.cast_signed(), count))
    }
}

pub(super) fn device_text(function: Option<Text>, device: Device) -> CallAnswer {
    let Some(function) = function else {
        return absent();
    };
    let mut buffer = [0_u8; TEXT_BYTES as usize];
    // SAFETY: the handle is this library's; the buffer has the length that is passed.
    let rc = unsafe { function(device.0, buffer.as_mut_ptr().cast(), TEXT_BYTES) };
    answered(rc, 1, || text(&buffer))
}

pub(super) fn number(function: Option<Number>, device: Device) -> CallAnswer {
    let Some(function) = function else {
        return absent();
    };
    let mut value: c_uint = 0;
    // SAFETY: the handle is this library's; the out parameter outlives the call.
    let rc = unsafe { function(device.0, &raw mut value) };
    answered(rc, 1, || Output::Number(i64::from(value)))
}

fn chosen(function: Option<Chosen>, device: Device, which: u32) -> CallAnswer {
    let Some(function) = function else {
        return absent();
    };
    let mut value: c_uint = 0;
    // SAFETY: the handle is this library's; the out parameter outlives the call.
    let rc = unsafe { function(device.0, which, &raw mut value) };
    answered(rc, 1, || Output::Number(i64::from(value)))
}

pub(super) fn pair(function: Option<Pair>, device: Device) -> CallAnswer {
    let Some(function) = function else {
        return absent();
    };
    let (mut first, mut second): (c_uint, c_uint) = (0, 0);
    // SAFETY: the handle is this library's; the out parameters outlive the call.
    let rc = unsafe { function(device.0, &raw mut first, &raw mut second) };
    answered(rc, 1, || {
        Output::Numbers(vec![u64::from(first), u64::from(second)])
    })
}

fn fill<T>(function: Option<ListOf<T>>, device: Device, buffer: &mut [u64]) -> Option<(i32, u32)> {
    const { assert!(size_of::<T>() <= ENTRY_WORDS * 8 && align_of::<T>() <= 8) };
    let function = function?;
    let room = (buffer.len() / ENTRY_WORDS).saturating_sub(SLACK_ENTRIES);
    let mut count = c_uint::try_from(room).unwrap_or(c_uint::MAX);
    // SAFETY: the handle is this library's; the buffer has room for the count that is passed at the largest layout
    // known, and then some; any bytes are valid words.
    let rc = unsafe { function(device.0, &raw mut count, buffer.as_mut_ptr().cast()) };
    Some((rc.cast_signed(), count))
}
