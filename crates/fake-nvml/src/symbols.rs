//! Which function each generation exports, and with which parameters.
//!
//! Functions that take the same parameters and are answered alike form a shape; the shape's name is
//! the function in [`crate::ffi`] behind them. A generation exports its own lists and those of the
//! generations before it.

/// Hands a generation's functions to another macro, as `shape (parameters) { names }` groups.
#[doc(hidden)]
#[macro_export]
macro_rules! symbols_of {
    (R390 $then:ident) => {
        $crate::symbols_since_390!($then);
    };
    (R470 $then:ident) => {
        $crate::symbols_since_390!($then);
        $crate::symbols_since_470!($then);
    };
    (R535 $then:ident) => {
        $crate::symbols_since_390!($then);
        $crate::symbols_since_470!($then);
        $crate::symbols_since_535!($then);
    };
    (R580 $then:ident) => {
        $crate::symbols_since_390!($then);
        $crate::symbols_since_470!($then);
        $crate::symbols_since_535!($then);
        $crate::symbols_since_580!($then);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! symbols_since_390 {
    ($then:ident) => {
        $crate::$then! {
            init() { nvmlInit, nvmlInit_v2 }
            init_with_flags(flags: u32) { nvmlInitWithFlags }
            shut_down() { nvmlShutdown }
            system_text(text: *mut u8, length: u32) { nvmlSystemGetDriverVersion, nvmlSystemGetNVMLVersion }
            system_int(value: *mut i32) { nvmlSystemGetCudaDriverVersion }
            system_count(value: *mut u32) { nvmlDeviceGetCount, nvmlDeviceGetCount_v2 }
            handle_by_index(index: u32, handle: *mut Handle) {
                nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2
            }
            handle_by_bus(bus: *const u8, handle: *mut Handle) {
                nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2
            }
            handle_by_uuid(uuid: *const u8, handle: *mut Handle) { nvmlDeviceGetHandleByUUID }
            device_text(device: Handle, text: *mut u8, length: u32) {
                nvmlDeviceGetName, nvmlDeviceGetUUID, nvmlDeviceGetSerial, nvmlDeviceGetVbiosVersion,
                nvmlDeviceGetBoardPartNumber
            }
            pci(device: Handle, info: *mut u8) {
                nvmlDeviceGetPciInfo, nvmlDeviceGetPciInfo_v2, nvmlDeviceGetPciInfo_v3
            }
            device_u32(device: Handle, value: *mut u32) {
                nvmlDeviceGetIndex, nvmlDeviceGetMinorNumber, nvmlDeviceGetPowerUsage,
                nvmlDeviceGetPowerManagementLimit, nvmlDeviceGetEnforcedPowerLimit,
                nvmlDeviceGetPowerManagementDefaultLimit, nvmlDeviceGetFanSpeed,
                nvmlDeviceGetCurrPcieLinkGeneration, nvmlDeviceGetCurrPcieLinkWidth,
                nvmlDeviceGetMaxPcieLinkGeneration, nvmlDeviceGetMaxPcieLinkWidth,
                nvmlDeviceGetPerformanceState, nvmlDeviceGetComputeMode, nvmlDeviceGetPersistenceMode,
                nvmlDeviceGetRetiredPagesPendingStatus
            }
            device_u64(device: Handle, value: *mut u64) {
                nvmlDeviceGetCurrentClocksThrottleReasons, nvmlDeviceGetSupportedClocksThrottleReasons,
                nvmlDeviceGetTotalEnergyConsumption
            }
            ecc_errors(device: Handle, error: u32, counter: u32, errors: *mut u64) { nvmlDeviceGetTotalEccErrors }
            retired_pages(device: Handle, cause: u32, count: *mut u32, addresses: *mut u64) {
                nvmlDeviceGetRetiredPages
            }
            link_remote(device: Handle, link: u32, info: *mut u8) {
                nvmlDeviceGetNvLinkRemotePciInfo, nvmlDeviceGetNvLinkRemotePciInfo_v2
            }
            device_chosen_u32(device: Handle, which: u32, value: *mut u32) {
                nvmlDeviceGetClockInfo, nvmlDeviceGetMaxClockInfo, nvmlDeviceGetTemperature,
                nvmlDeviceGetTemperatureThreshold, nvmlDeviceGetPcieThroughput, nvmlDeviceGetNvLinkState,
                nvmlDeviceGetNvLinkVersion
            }
            device_pair(device: Handle, first: *mut u32, second: *mut u32) {
                nvmlDeviceGetEncoderUtilization, nvmlDeviceGetDecoderUtilization,
                nvmlDeviceGetCudaComputeCapability, nvmlDeviceGetEccMode
            }
            memory(device: Handle, memory: *mut Memory) { nvmlDeviceGetMemoryInfo, nvmlDeviceGetBAR1MemoryInfo }
            utilization(device: Handle, rates: *mut Utilization) { nvmlDeviceGetUtilizationRates }
            process_list(device: Handle, count: *mut u32, entries: *mut u8) {
                nvmlDeviceGetComputeRunningProcesses, nvmlDeviceGetGraphicsRunningProcesses
            }
            process_samples(device: Handle, entries: *mut Sample, count: *mut u32, last_seen: u64) {
                nvmlDeviceGetProcessUtilization
            }
            device_samples(
                device: Handle, kind: u32, last_seen: u64, value_type: *mut u32, count: *mut u32, samples: *mut u8
            ) { nvmlDeviceGetSamples }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! symbols_since_470 {
    ($then:ident) => {
        $crate::$then! {
            system_int(value: *mut i32) { nvmlSystemGetCudaDriverVersion_v2 }
            device_u32(device: Handle, value: *mut u32) {
                nvmlDeviceGetArchitecture, nvmlDeviceGetNumFans, nvmlDeviceGetMaxMigDeviceCount,
                nvmlDeviceIsMigDeviceHandle, nvmlDeviceGetGpuInstanceId, nvmlDeviceGetComputeInstanceId,
                nvmlDeviceGetVirtualizationMode
            }
            device_chosen_u32(device: Handle, which: u32, value: *mut u32) { nvmlDeviceGetFanSpeed_v2 }
            device_pair(device: Handle, first: *mut u32, second: *mut u32) { nvmlDeviceGetMigMode }
            remapped_rows(
                device: Handle, correctable: *mut u32, uncorrectable: *mut u32, pending: *mut u32, failed: *mut u32
            ) { nvmlDeviceGetRemappedRows }
            attributes(device: Handle, attributes: *mut Attributes) {
                nvmlDeviceGetAttributes, nvmlDeviceGetAttributes_v2
            }
            mig_handle(device: Handle, index: u32, handle: *mut Handle) { nvmlDeviceGetMigDeviceHandleByIndex }
            parent_handle(device: Handle, handle: *mut Handle) { nvmlDeviceGetDeviceHandleFromMigDeviceHandle }
            process_list(device: Handle, count: *mut u32, entries: *mut u8) {
                nvmlDeviceGetComputeRunningProcesses_v2, nvmlDeviceGetGraphicsRunningProcesses_v2,
                nvmlDeviceGetMPSComputeRunningProcesses, nvmlDeviceGetMPSComputeRunningProcesses_v2
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! symbols_since_535 {
    ($then:ident) => {
        $crate::$then! {
            device_u64(device: Handle, value: *mut u64) {
                nvmlDeviceGetCurrentClocksEventReasons, nvmlDeviceGetSupportedClocksEventReasons
            }
            device_pair(device: Handle, first: *mut u32, second: *mut u32) {
                nvmlDeviceGetJpgUtilization, nvmlDeviceGetOfaUtilization
            }
            memory2(device: Handle, memory: *mut Memory2) { nvmlDeviceGetMemoryInfo_v2 }
            process_list(device: Handle, count: *mut u32, entries: *mut u8) {
                nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetGraphicsRunningProcesses_v3,
                nvmlDeviceGetMPSComputeRunningProcesses_v3
            }
            process_samples1(device: Handle, list: *mut Samples1) { nvmlDeviceGetProcessesUtilizationInfo }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! symbols_since_580 {
    ($then:ident) => {
        $crate::$then! {
            device_reading(device: Handle, reading: *mut Reading) {
                nvmlDeviceGetTemperatureV, nvmlDeviceGetFanSpeedRPM
            }
            detail_list(device: Handle, list: *mut DetailList1) { nvmlDeviceGetRunningProcessDetailList }
        }
    };
}

/// Makes a slice of names out of groups.
#[doc(hidden)]
#[macro_export]
macro_rules! name_all {
    ($( $shape:ident $parameters:tt { $($name:ident),* } )*) => {
        &[$( $( stringify!($name), )* )*]
    };
}
