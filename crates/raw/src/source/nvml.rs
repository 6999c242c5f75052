//! NVML, raw: which calls exist, and what one sweep over them answered.
//!
//! Return codes, symbol versions and sentinels stay as the library gave them; only the memory
//! layout is settled by the reader. Facts: `nvml.h` 13.5; the constants' comments name the traps.

mod mig;
mod rows;

use std::fmt;

use bitflags::bitflags;
use model::{Gap, Stamp, Text};
use serde::{Deserialize, Serialize};

use crate::machine::{Answer, Stamped};

pub use mig::{InstanceCall, InstanceSweep, MigSweep};
pub use rows::{LinkRow, SampleRow};

bitflags! {
    /// Calls that are asked together.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    pub struct Groups: u8 {
        /// Identity and limits that do not change.
        const STATIC = 1;
        /// Load, memory, clocks, heat, power.
        const FAST = 2;
        /// Process lists.
        const PROCESSES = 4;
        /// Utilization samples per process.
        const SAMPLES = 8;
        /// PCIe throughput: each read may block for its 20 ms window, so it has its own turn.
        const PCIE = 16;
        /// Modes, error counters, links: what changes seldom, and is many calls.
        const DETAILS = 32;
    }
}

/// Declares the calls on a device with their group and the name used in captures.
macro_rules! device_calls {
    ($($(#[$doc:meta])* $variant:ident = $name:literal in $group:ident;)*) => {
        /// A call on a device.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[repr(u8)]
        pub enum DeviceCall { $($(#[$doc])* $variant,)* }

        impl DeviceCall {
            /// Every call, in the order they are made.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// NVML's name of the call, without `nvmlDevice` and without a version.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The group it is asked with.
            pub const fn group(self) -> Groups {
                match self { $(Self::$variant => Groups::$group,)* }
            }
        }
    };
}

device_calls! {
    /// Text.
    Name = "GetName" in STATIC;
    /// Text.
    Uuid = "GetUUID" in STATIC;
    /// Text: the bus id with the eight-digit domain.
    PciInfo = "GetPciInfo" in STATIC;
    /// Numbers: major, minor.
    CudaComputeCapability = "GetCudaComputeCapability" in STATIC;
    /// Numbers: current, pending. `NOT_SUPPORTED` on cards without MIG.
    MigMode = "GetMigMode" in STATIC;
    /// Text.
    VbiosVersion = "GetVbiosVersion" in STATIC;
    /// Text: the product's number, not this one card's.
    BoardPartNumber = "GetBoardPartNumber" in STATIC;
    /// Numbers: a mask. Version 1 is `GetSupportedClocksThrottleReasons`, its name before 535.
    SupportedClocksEventReasons = "GetSupportedClocksEventReasons" in STATIC;
    /// Number: 0 none, 1 passed through, 2 vGPU of a guest, 3 host of vGPUs, 4 host of vSGA.
    VirtualizationMode = "GetVirtualizationMode" in STATIC;
    /// Numbers, v2: total, reserved, free, used; v1: total, free, used (which includes reserved).
    MemoryInfo = "GetMemoryInfo" in FAST;
    /// Numbers: gpu, memory.
    UtilizationRates = "GetUtilizationRates" in FAST;
    /// Numbers: percent, period in microseconds.
    EncoderUtilization = "GetEncoderUtilization" in FAST;
    /// Numbers: percent, period in microseconds.
    DecoderUtilization = "GetDecoderUtilization" in FAST;
    /// Numbers: percent, period in microseconds. From 535 on.
    JpgUtilization = "GetJpgUtilization" in FAST;
    /// Numbers: percent, period in microseconds. From 535 on.
    OfaUtilization = "GetOfaUtilization" in FAST;
    /// Numbers: a mask. Version 1 is `GetCurrentClocksThrottleReasons`, its name before 535. Asked
    /// with the clocks that it explains: an older answer would explain other clocks.
    ClocksEventReasons = "GetCurrentClocksEventReasons" in FAST;
    /// MHz.
    ClockGraphics = "GetClockInfo.graphics" in FAST;
    /// MHz.
    ClockSm = "GetClockInfo.sm" in FAST;
    /// MHz.
    ClockMemory = "GetClockInfo.mem" in FAST;
    /// MHz.
    ClockVideo = "GetClockInfo.video" in FAST;
    /// Degrees Celsius (two's complement).
    Temperature = "GetTemperature" in FAST;
    /// Milliwatts.
    PowerUsage = "GetPowerUsage" in FAST;
    /// Milliwatts.
    EnforcedPowerLimit = "GetEnforcedPowerLimit" in FAST;
    /// Percent of the intended maximum; can exceed 100.
    FanSpeed = "GetFanSpeed" in FAST;
    /// 0 to 15; 32 is unknown.
    PerformanceState = "GetPerformanceState" in FAST;
    /// Generation now.
    PcieLinkGeneration = "GetCurrPcieLinkGeneration" in FAST;
    /// Lanes now.
    PcieLinkWidth = "GetCurrPcieLinkWidth" in FAST;
    /// Processes.
    ComputeProcesses = "GetComputeRunningProcesses" in PROCESSES;
    /// Processes.
    GraphicsProcesses = "GetGraphicsRunningProcesses" in PROCESSES;
    /// Processes.
    MpsProcesses = "GetMPSComputeRunningProcesses" in PROCESSES;
    /// Samples newer than the plan's `samples_after`, with JPEG and OFA load. From 535 on.
    ProcessesUtilization = "GetProcessesUtilizationInfo" in SAMPLES;
    /// The same without JPEG and OFA; not asked ([`Gap::NotApplicable`]) where the call above
    /// answered.
    ProcessUtilization = "GetProcessUtilization" in SAMPLES;
    /// KB/s over 20 ms, sent by the device.
    PcieTx = "GetPcieThroughput.tx" in PCIE;
    /// KB/s over 20 ms, received by the device.
    PcieRx = "GetPcieThroughput.rx" in PCIE;
    /// Numbers: millijoules since the driver was loaded. Volta and newer.
    TotalEnergy = "GetTotalEnergyConsumption" in DETAILS;
    /// 0 off, 1 on.
    PersistenceMode = "GetPersistenceMode" in DETAILS;
    /// `nvmlComputeMode_t`.
    ComputeMode = "GetComputeMode" in DETAILS;
    /// Numbers: current, pending; 0 off, 1 on.
    EccMode = "GetEccMode" in DETAILS;
    /// Numbers: errors since the driver was loaded.
    EccVolatileCorrected = "GetTotalEccErrors.volatile.corrected" in DETAILS;
    /// Numbers: errors since the driver was loaded.
    EccVolatileUncorrected = "GetTotalEccErrors.volatile.uncorrected" in DETAILS;
    /// Numbers: errors over the card's life.
    EccAggregateCorrected = "GetTotalEccErrors.aggregate.corrected" in DETAILS;
    /// Numbers: errors over the card's life.
    EccAggregateUncorrected = "GetTotalEccErrors.aggregate.uncorrected" in DETAILS;
    /// Pages retired after several single-bit errors. Before Ampere.
    RetiredPagesSingleBit = "GetRetiredPages.single_bit" in DETAILS;
    /// Pages retired after a double-bit error. Before Ampere.
    RetiredPagesDoubleBit = "GetRetiredPages.double_bit" in DETAILS;
    /// 1 where pages wait for a reboot to be retired.
    RetiredPagesPending = "GetRetiredPagesPendingStatus" in DETAILS;
    /// Numbers: rows after correctable and after uncorrectable errors, pending, failed. Ampere and
    /// newer, not with MIG instances.
    RemappedRows = "GetRemappedRows" in DETAILS;
    /// Links, see [`LinkRow`]; the return code is that of link 0's state.
    NvLinks = "GetNvLinkState" in DETAILS;
}

impl fmt::Display for DeviceCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A call on the driver as a whole.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum SystemCall {
    /// Text.
    DriverVersion,
    /// Number: `1000 * major + 10 * minor`.
    CudaDriverVersion,
    /// Number.
    DeviceCount,
}

impl SystemCall {
    /// Every call, in the order they are made.
    pub const ALL: &'static [Self] = &[
        Self::DriverVersion,
        Self::CudaDriverVersion,
        Self::DeviceCount,
    ];

    /// NVML's name of the call, without its prefix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DriverVersion => "SystemGetDriverVersion",
            Self::CudaDriverVersion => "SystemGetCudaDriverVersion",
            Self::DeviceCount => "DeviceGetCount",
        }
    }
}

/// Return codes of `nvmlReturn_t` that mean something to us.
pub mod code {
    /// Done.
    pub const SUCCESS: i32 = 0;
    /// There is no session, or the driver has ended it: its kernel module was reloaded.
    pub const UNINITIALIZED: i32 = 1;
    /// Wrong argument; also a handle that has become invalid.
    pub const INVALID_ARGUMENT: i32 = 2;
    /// The device does not have it.
    pub const NOT_SUPPORTED: i32 = 3;
    /// Not allowed.
    pub const NO_PERMISSION: i32 = 4;
    /// Nothing there; for samples: none newer than asked.
    pub const NOT_FOUND: i32 = 6;
    /// The buffer is too small.
    pub const INSUFFICIENT_SIZE: i32 = 7;
    /// The kernel module is not loaded.
    pub const DRIVER_NOT_LOADED: i32 = 9;
    /// A call took too long inside the driver.
    pub const TIMEOUT: i32 = 10;
    /// The symbol is not in the library. Also used by our reader when `dlsym` fails.
    pub const FUNCTION_NOT_FOUND: i32 = 13;
    /// The device has fallen off the bus.
    pub const GPU_IS_LOST: i32 = 15;
    /// Library and kernel module are of different versions.
    pub const LIB_RM_VERSION_MISMATCH: i32 = 18;
    /// A versioned struct was not understood.
    pub const ARGUMENT_VERSION_MISMATCH: i32 = 25;
}

/// The sentinel of `usedGpuMemory` for "not available".
pub const MEMORY_NOT_AVAILABLE: u64 = u64::MAX;

/// The sentinel of GPU and compute instance ids outside MIG mode.
pub const NO_INSTANCE: u32 = u32::MAX;

/// What a call returned.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// `nvmlReturn_t`.
    pub rc: i32,
    /// Version of the symbol that answered (3, 2, 1); 0 where the library has none of them.
    pub sym: u8,
    /// The out parameters; nothing unless `rc` is 0.
    #[serde(default, skip_serializing_if = "Output::is_nothing")]
    pub out: Output,
}

/// Out parameters, by shape.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// None.
    #[default]
    Nothing,
    /// One number. Signed values are sign-extended.
    Number(i64),
    /// Several numbers, in the order documented at the call.
    Numbers(Vec<u64>),
    /// A string.
    Text(Text),
    /// A process list.
    Processes(Vec<ProcessRow>),
    /// Utilization samples.
    Samples(Vec<SampleRow>),
    /// `NVLinks`.
    Links(Vec<LinkRow>),
}

impl Output {
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

/// An entry of a process list.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ProcessRow {
    /// Process number, in a namespace that the driver chooses.
    pub pid: u32,
    /// Bytes, or [`MEMORY_NOT_AVAILABLE`].
    pub mem: u64,
    /// GPU instance, or [`NO_INSTANCE`].
    pub gi: u32,
    /// Compute instance, or [`NO_INSTANCE`].
    pub ci: u32,
}

/// Devices asked at most; more than any machine has, so that a wrong count costs little.
pub const MAX_DEVICES: u32 = 256;

/// What to ask in one sweep.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NvmlPlan {
    /// Groups for devices that were seen before.
    pub groups: Groups,
    /// Per slot: ask samples newer than this (microseconds of the wall clock). Slots not named here
    /// are new: they are asked everything, with samples of the last second.
    pub samples_after: Vec<(u32, u64)>,
    /// Slots whose device is left alone: not even its handle is asked for, since that would wake it or keep it awake.
    /// In the sweep they have no groups, and `Asleep` in place of a handle.
    pub untouched: Vec<u32>,
}

/// How loading the library went.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Library {
    /// No library could be opened; the loader's words for each name tried.
    NotLoaded(Vec<(Text, Text)>),
    /// Opened, but `nvmlInit_v2` failed with this code.
    InitFailed {
        /// Name it was opened by.
        name: Text,
        /// `nvmlReturn_t`.
        rc: i32,
    },
    /// Ready.
    Ready {
        /// Name it was opened by.
        name: Text,
    },
}

/// One sweep over the driver.
#[derive(Clone, Debug, PartialEq)]
pub struct NvmlSweep {
    /// The library.
    pub library: Answer<Library>,
    /// Calls on the driver as a whole; empty unless the library is ready.
    pub system: Vec<(SystemCall, Answer<CallAnswer>)>,
    /// Devices by slot.
    pub devices: Vec<DeviceSweep>,
}

impl NvmlSweep {
    /// The answer to a call on the driver.
    pub fn system(&self, call: SystemCall) -> Answer<&CallAnswer> {
        find(&self.system, call)
    }
}

/// The part of a sweep about one device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSweep {
    /// The driver's index. Not stable over reboots, stable within a run.
    pub slot: u32,
    /// Groups that were asked.
    pub asked: Groups,
    /// Getting the handle; without it no call is made.
    pub handle: Answer<CallAnswer>,
    /// The calls, in order.
    pub calls: Vec<(DeviceCall, Answer<CallAnswer>)>,
    /// Its MIG mode and instances; nothing of a device that knows no MIG.
    pub mig: Option<MigSweep>,
}

fn find<C: Copy + Eq>(calls: &[(C, Answer<CallAnswer>)], wanted: C) -> Answer<&CallAnswer> {
    match calls.iter().find(|(call, _)| *call == wanted) {
        Some((_, Ok(Stamped { at, value }))) => Ok(Stamped { at: *at, value }),
        Some((_, Err(gap))) => Err(*gap),
        None => Err(Gap::NotRecorded),
    }
}

/// Header of a sweep in a capture: what was asked, so that a missing line is seen as missing.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepHeader {
    pub(crate) asked: Vec<(u32, u8)>,
    pub(crate) system: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) mig: Vec<mig::MigHeader>,
}

impl NvmlSweep {
    pub(crate) fn header(&self) -> SweepHeader {
        SweepHeader {
            asked: self
                .devices
                .iter()
                .map(|d| (d.slot, d.asked.bits()))
                .collect(),
            system: !self.system.is_empty(),
            mig: self
                .devices
                .iter()
                .filter_map(|d| Some(d.mig.as_ref()?.header(d.slot)))
                .collect(),
        }
    }

    /// Puts a sweep together from its header and one answer per question.
    pub(crate) fn from_parts(
        header: &SweepHeader,
        library: Answer<Library>,
        mut call: impl FnMut(&str) -> Answer<CallAnswer>,
    ) -> Self {
        let system = if header.system {
            SystemCall::ALL
                .iter()
                .map(|c| (*c, call(&system_key(*c))))
                .collect()
        } else {
            Vec::new()
        };
        let devices = header.asked.iter().map(|(slot, bits)| {
            let asked = Groups::from_bits_truncate(*bits);
            let handle = call(&handle_key(*slot));
            let answered = matches!(&handle, Ok(h) if h.value.rc == code::SUCCESS);
            let calls = DeviceCall::ALL
                .iter()
                .filter(|c| answered && asked.contains(c.group()))
                .map(|c| (*c, call(&device_key(*slot, *c))))
                .collect();
            let mig = header.mig.iter().find(|it| it.slot == *slot);
            DeviceSweep {
                slot: *slot,
                asked,
                handle,
                calls,
                mig: mig.map(|it| MigSweep::from_parts(it, &mut call)),
            }
        });
        Self {
            library,
            system,
            devices: devices.collect(),
        }
    }

    /// Every call with its question in a capture, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (String, &Answer<CallAnswer>)> {
        let system = self
            .system
            .iter()
            .map(|(call, answer)| (system_key(*call), answer));
        let devices = self.devices.iter().flat_map(|device| {
            std::iter::once((handle_key(device.slot), &device.handle))
                .chain(
                    device
                        .calls
                        .iter()
                        .map(|(c, answer)| (device_key(device.slot, *c), answer)),
                )
                .chain(device.mig.iter().flat_map(|mig| mig.parts(device.slot)))
        });
        system.chain(devices)
    }
}

fn system_key(call: SystemCall) -> String {
    call.name().to_owned()
}

fn handle_key(slot: u32) -> String {
    format!("{slot}/GetHandleByIndex")
}

fn device_key(slot: u32, call: DeviceCall) -> String {
    format!("{slot}/{}", call.name())
}

/// A successful answer without out parameters, for handles and tests.
pub fn succeeded(at: Stamp) -> Answer<CallAnswer> {
    Ok(Stamped {
        at,
        value: CallAnswer {
            rc: code::SUCCESS,
            sym: 1,
            out: Output::Nothing,
        },
    })
}

#[cfg(test)]
mod tests;
