//! The answers to calls about a device's figures.
//!
//! On a MIG instance, what belongs to the board (power, clocks, fans, link) is `INVALID_ARGUMENT`
//! and utilization is `NOT_SUPPORTED`; the latter also on a GPU in MIG mode.

use crate::code::Code;
use crate::details;
use crate::device::{Device, Instance};
use crate::layout::{Attributes, Memory, Memory2, Pci, Utilization};
use crate::library::Turn;
use crate::value::Value;

pub(crate) type Answer<T> = Result<T, Code>;

/// The driver's sampling period for encoder and decoder figures, in microseconds.
const SAMPLING_PERIOD: u32 = 167_000;

pub(crate) fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The device, when the call makes sense on it and the handle is no instance's.
pub(crate) fn board(turn: &Turn) -> Answer<&Device> {
    match turn.instance() {
        Some(_) => Err(Code::INVALID_ARGUMENT),
        None => turn.device(),
    }
}

/// The device, when its engines are not split up by MIG.
pub(crate) fn whole(turn: &Turn) -> Answer<&Device> {
    let device = turn.device()?;
    if device.in_mig_mode() {
        Err(Code::NOT_SUPPORTED)
    } else {
        Ok(device)
    }
}

fn instance(turn: &Turn, otherwise: Code) -> Answer<&Instance> {
    turn.device()?;
    turn.instance().ok_or(otherwise)
}

pub(crate) fn system_text(turn: &Turn) -> String {
    let (scenario, generation) = (&turn.world.scenario, turn.generation);
    let (given, own) = match turn.call {
        "nvmlSystemGetNVMLVersion" => (&scenario.nvml_version, generation.nvml_version()),
        _ => (&scenario.driver_version, generation.driver_version()),
    };
    given.clone().unwrap_or_else(|| own.to_owned())
}

pub(crate) fn cuda_version(turn: &Turn) -> i32 {
    turn.world
        .scenario
        .cuda_version
        .unwrap_or_else(|| turn.generation.cuda_version())
}

pub(crate) fn device_count(turn: &Turn) -> u32 {
    narrow(u64::try_from(turn.world.scenario.devices.len()).unwrap_or(u64::MAX))
}

pub(crate) fn device_text(turn: &Turn) -> Answer<String> {
    let device = turn.device()?;
    match turn.call {
        "nvmlDeviceGetName" => Ok(turn
            .instance()
            .map_or(&device.name, |instance| &instance.name)
            .clone()),
        "nvmlDeviceGetUUID" => Ok(turn.world.uuid(turn.place()?)),
        "nvmlDeviceGetSerial" => device.serial.clone().ok_or(Code::NOT_SUPPORTED),
        "nvmlDeviceGetVbiosVersion" => board(turn).map(|device| device.vbios_version.clone()),
        "nvmlDeviceGetBoardPartNumber" => board(turn)?
            .board_part_number
            .clone()
            .ok_or(Code::NOT_SUPPORTED),
        _ => Err(Code::FUNCTION_NOT_FOUND),
    }
}

pub(crate) fn pci(turn: &Turn) -> Answer<Pci> {
    let device = turn.device()?;
    let (domain, bus, number) = turn.world.bus(turn.place()?);
    Ok(Pci {
        legacy_id: padded(&format!("{:04X}:{bus:02X}:{number:02X}.0", domain & 0xFFFF)),
        domain,
        bus,
        device: number,
        device_id: narrow(turn.value(&device.pci_device_id)?),
        subsystem_id: narrow(turn.value(&device.pci_subsystem_id)?),
        id: padded(&format!("{domain:08X}:{bus:02X}:{number:02X}.0")),
    })
}

pub(crate) fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().zip(text.bytes().take(N - 1)) {
        *to = from;
    }
    bytes
}

pub(crate) fn device_u32(turn: &Turn) -> Answer<u32> {
    let device = turn.device()?;
    let figure = |value: &Value| turn.value(value).map(narrow);
    // First what an instance answers too, then what only a board does.
    match turn.call {
        "nvmlDeviceGetIndex" => {
            let place = turn.place()?;
            return Ok(place
                .slot
                .unwrap_or(u32::try_from(place.device).unwrap_or(u32::MAX)));
        }
        "nvmlDeviceGetArchitecture" => return figure(&device.architecture),
        "nvmlDeviceGetComputeMode" => return figure(&device.compute_mode),
        "nvmlDeviceIsMigDeviceHandle" => return Ok(u32::from(turn.instance().is_some())),
        "nvmlDeviceGetGpuInstanceId" => return Ok(instance(turn, Code::NOT_SUPPORTED)?.gi),
        "nvmlDeviceGetComputeInstanceId" => return Ok(instance(turn, Code::NOT_SUPPORTED)?.ci),
        _ => {}
    }
    let device = board(turn)?;
    match turn.call {
        "nvmlDeviceGetMinorNumber" => match &device.minor {
            Some(value) => figure(value),
            None => Ok(u32::try_from(turn.place()?.device).unwrap_or(u32::MAX)),
        },
        "nvmlDeviceGetPowerUsage" => figure(&device.power_usage),
        "nvmlDeviceGetPowerManagementLimit" => figure(&device.power_limit),
        "nvmlDeviceGetEnforcedPowerLimit" => figure(&device.power_enforced_limit),
        "nvmlDeviceGetPowerManagementDefaultLimit" => figure(&device.power_default_limit),
        "nvmlDeviceGetFanSpeed" => figure(&device.fan_speed),
        "nvmlDeviceGetNumFans" => figure(&device.fans),
        "nvmlDeviceGetCurrPcieLinkGeneration" => figure(&device.pcie_generation),
        "nvmlDeviceGetCurrPcieLinkWidth" => figure(&device.pcie_width),
        "nvmlDeviceGetMaxPcieLinkGeneration" => figure(&device.pcie_max_generation),
        "nvmlDeviceGetMaxPcieLinkWidth" => figure(&device.pcie_max_width),
        "nvmlDeviceGetPerformanceState" => figure(&device.performance_state),
        "nvmlDeviceGetVirtualizationMode" => figure(&device.virtualization),
        "nvmlDeviceGetPersistenceMode" => figure(&device.persistence_mode),
        "nvmlDeviceGetRetiredPagesPendingStatus" => figure(&device.retired_pages_pending),
        "nvmlDeviceGetMaxMigDeviceCount" => {
            Ok(device.mig.as_ref().map_or(0, |mig| mig.slots.unwrap_or(7)))
        }
        _ => Err(Code::FUNCTION_NOT_FOUND),
    }
}

pub(crate) fn device_u64(turn: &Turn) -> Answer<u64> {
    let device = board(turn)?;
    match turn.call {
        "nvmlDeviceGetCurrentClocksThrottleReasons" | "nvmlDeviceGetCurrentClocksEventReasons" => {
            turn.value(&device.clocks_event_reasons)
        }
        "nvmlDeviceGetSupportedClocksThrottleReasons"
        | "nvmlDeviceGetSupportedClocksEventReasons" => {
            turn.value(&device.clocks_event_reasons_supported)
        }
        "nvmlDeviceGetTotalEnergyConsumption" => turn.value(&device.energy),
        _ => Err(Code::FUNCTION_NOT_FOUND),
    }
}

/// Calls that take the number of a sensor, clock, fan or direction.
pub(crate) fn device_chosen_u32(turn: &Turn, which: u32) -> Answer<u32> {
    let device = board(turn)?;
    let value = match (turn.call, which) {
        ("nvmlDeviceGetClockInfo", 0) => &device.clock_graphics,
        ("nvmlDeviceGetClockInfo", 1) => &device.clock_sm,
        ("nvmlDeviceGetClockInfo", 2) => &device.clock_memory,
        ("nvmlDeviceGetClockInfo", 3) => &device.clock_video,
        ("nvmlDeviceGetMaxClockInfo", 0) => &device.max_clock_graphics,
        ("nvmlDeviceGetMaxClockInfo", 1) => &device.max_clock_sm,
        ("nvmlDeviceGetMaxClockInfo", 2) => &device.max_clock_memory,
        ("nvmlDeviceGetMaxClockInfo", 3) => &device.max_clock_video,
        ("nvmlDeviceGetTemperature" | "nvmlDeviceGetTemperatureV", 0) => &device.temperature,
        ("nvmlDeviceGetTemperatureThreshold", 0) => &device.threshold_shutdown,
        ("nvmlDeviceGetTemperatureThreshold", 1) => &device.threshold_slowdown,
        ("nvmlDeviceGetTemperatureThreshold", 2) => &device.threshold_memory,
        ("nvmlDeviceGetTemperatureThreshold", 3) => &device.threshold_gpu,
        ("nvmlDeviceGetTemperatureThreshold", 4..=7) => return Err(Code::NOT_SUPPORTED),
        ("nvmlDeviceGetNvLinkState", link) => &details::link(device, link)?.state,
        ("nvmlDeviceGetNvLinkVersion", link) => &details::link(device, link)?.version,
        ("nvmlDeviceGetPcieThroughput", 0) => &device.pcie_tx,
        ("nvmlDeviceGetPcieThroughput", 1) => &device.pcie_rx,
        ("nvmlDeviceGetFanSpeed_v2", fan) => return of_fan(turn, fan, &device.fan_speed),
        ("nvmlDeviceGetFanSpeedRPM", fan) => return of_fan(turn, fan, &device.fan_rpm),
        _ => return Err(Code::INVALID_ARGUMENT),
    };
    turn.value(value).map(narrow)
}

/// A card without fans does not support the call, whichever fan is asked for.
fn of_fan(turn: &Turn, fan: u32, figure: &Value) -> Answer<u32> {
    let speed = turn.value(figure)?;
    if u64::from(fan) < turn.value(&turn.device()?.fans)? {
        Ok(narrow(speed))
    } else {
        Err(Code::INVALID_ARGUMENT)
    }
}

/// Calls that answer two numbers.
pub(crate) fn device_pair(turn: &Turn) -> Answer<(u32, u32)> {
    let engine = |value: &Value| Ok((narrow(turn.value(value)?), SAMPLING_PERIOD));
    match turn.call {
        "nvmlDeviceGetEncoderUtilization" => engine(&whole(turn)?.utilization_encoder),
        "nvmlDeviceGetDecoderUtilization" => engine(&whole(turn)?.utilization_decoder),
        "nvmlDeviceGetJpgUtilization" => engine(&whole(turn)?.utilization_jpeg),
        "nvmlDeviceGetOfaUtilization" => engine(&whole(turn)?.utilization_ofa),
        "nvmlDeviceGetCudaComputeCapability" => {
            let device = turn.device()?;
            let (major, minor) = (
                turn.value(&device.compute_major)?,
                turn.value(&device.compute_minor)?,
            );
            Ok((narrow(major), narrow(minor)))
        }
        "nvmlDeviceGetEccMode" => {
            let ecc = &board(turn)?.ecc;
            let mode = turn.value(&ecc.mode)?;
            let pending = ecc.pending.as_ref().map(|pending| turn.value(pending));
            Ok((narrow(mode), narrow(pending.unwrap_or(Ok(mode))?)))
        }
        "nvmlDeviceGetMigMode" => {
            let mig = board(turn)?.mig.as_ref().ok_or(Code::NOT_SUPPORTED)?;
            Ok((
                u32::from(mig.enabled),
                u32::from(mig.pending.unwrap_or(mig.enabled)),
            ))
        }
        _ => Err(Code::FUNCTION_NOT_FOUND),
    }
}

pub(crate) fn utilization(turn: &Turn) -> Answer<Utilization> {
    let device = whole(turn)?;
    let gpu = narrow(turn.value(&device.utilization_gpu)?);
    Ok(Utilization {
        gpu,
        memory: narrow(turn.value(&device.utilization_memory)?),
    })
}

/// Memory v1's `used` holds the reserved part.
pub(crate) fn memory(turn: &Turn) -> Answer<Memory> {
    if turn.call == "nvmlDeviceGetBAR1MemoryInfo" {
        let device = turn.device()?;
        let (total, used) = (
            turn.value(&device.bar1_total)?,
            turn.value(&device.bar1_used)?,
        );
        return Ok(Memory {
            total,
            free: total.saturating_sub(used),
            used,
        });
    }
    let Memory2 {
        total,
        reserved,
        free,
        used,
        ..
    } = memory2(turn)?;
    Ok(Memory {
        total,
        free,
        used: used.saturating_add(reserved),
    })
}

pub(crate) fn memory2(turn: &Turn) -> Answer<Memory2> {
    let device = turn.device()?;
    let (total, used, reserved) = match turn.instance() {
        Some(own) => (&own.memory_total, &own.memory_used, &own.memory_reserved),
        None => (
            &device.memory_total,
            &device.memory_used,
            &device.memory_reserved,
        ),
    };
    let (total, used) = (turn.value(total)?, turn.value(used)?);
    let reserved = turn.value(reserved)?;
    let free = total.saturating_sub(used).saturating_sub(reserved);
    Ok(Memory2 {
        version: crate::layout::version::<Memory2>(2),
        total,
        reserved,
        free,
        used,
    })
}

pub(crate) fn attributes(turn: &Turn) -> Answer<Attributes> {
    let own = instance(turn, Code::NOT_SUPPORTED)?;
    Ok(Attributes {
        multiprocessors: own.multiprocessors,
        copy_engines: own.copy_engines,
        decoders: own.decoders,
        encoders: own.encoders,
        jpeg_engines: own.jpeg_engines,
        ofa_engines: own.ofa_engines,
        gi_slices: own.gi_slices,
        ci_slices: own.ci_slices,
        memory_mb: turn.value(&own.memory_total)? >> 20,
    })
}

/// The handle of the instance in that slot.
pub(crate) fn mig_handle(turn: &Turn, index: u32) -> Answer<usize> {
    let mig = board(turn)?.mig.as_ref().ok_or(Code::NOT_SUPPORTED)?;
    if index >= mig.slots.unwrap_or(7) {
        return Err(Code::INVALID_ARGUMENT);
    }
    let mut place = turn.place()?;
    place.slot = Some(index);
    turn.world
        .instance(place)
        .map(|_| place.handle())
        .ok_or(Code::NOT_FOUND)
}

pub(crate) fn parent_handle(turn: &Turn) -> Answer<usize> {
    instance(turn, Code::INVALID_ARGUMENT)?;
    let mut place = turn.place()?;
    place.slot = None;
    Ok(place.handle())
}
