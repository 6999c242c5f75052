//! Structures of the C interface, as nvml.h lays them out on 64-bit machines.

use std::ffi::c_void;

/// `nvmlPciInfo_t` of the `_v3` call. The older calls fill only the front of it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Pci {
    pub legacy_id: [u8; 16],
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    pub device_id: u32,
    pub subsystem_id: u32,
    pub id: [u8; 32],
}

/// `nvmlMemory_t` (total, free, used) and `nvmlBAR1Memory_t`, which has the same shape.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub total: u64,
    pub free: u64,
    pub used: u64,
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Memory2 {
    pub version: u32,
    pub total: u64,
    pub reserved: u64,
    pub free: u64,
    pub used: u64,
}

/// `nvmlUtilization_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Utilization {
    pub gpu: u32,
    pub memory: u32,
}

/// `nvmlTemperature_v1_t` and `nvmlFanSpeedInfo_v1_t`: which sensor or fan, and its figure.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub version: u32,
    pub which: u32,
    pub figure: u32,
}

/// `nvmlDeviceAttributes_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    pub multiprocessors: u32,
    pub copy_engines: u32,
    pub decoders: u32,
    pub encoders: u32,
    pub jpeg_engines: u32,
    pub ofa_engines: u32,
    pub gi_slices: u32,
    pub ci_slices: u32,
    pub memory_mb: u64,
}

/// `nvmlProcessUtilizationSample_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub pid: u32,
    pub stamp: u64,
    pub sm: u32,
    pub memory: u32,
    pub encoder: u32,
    pub decoder: u32,
}

/// `nvmlProcessUtilizationInfo_v1_t`: the stamp comes first.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample1 {
    pub stamp: u64,
    pub pid: u32,
    pub sm: u32,
    pub memory: u32,
    pub encoder: u32,
    pub decoder: u32,
    pub jpeg: u32,
    pub ofa: u32,
}

/// `nvmlProcessesUtilizationInfo_v1_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Samples1 {
    pub version: u32,
    pub count: u32,
    pub last_seen: u64,
    pub entries: *mut Sample1,
}

/// `nvmlProcessDetailList_v1_t`; its entries are 32 bytes each.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DetailList1 {
    pub version: u32,
    pub mode: u32,
    pub count: u32,
    pub entries: *mut c_void,
}

/// The version field of a structure: its size, and its number in the top byte.
pub(crate) const fn version<T>(number: u32) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the structures above are a few dozen bytes"
    )]
    let size = size_of::<T>() as u32;
    size | number << 24
}

const _: () = assert!(version::<Memory2>(2) == 0x0200_0028);
const _: () = assert!(size_of::<Pci>() == 68 && size_of::<Memory>() == 24);
const _: () = assert!(size_of::<Attributes>() == 40 && size_of::<Reading>() == 12);
const _: () = assert!(size_of::<Sample>() == 32 && size_of::<Sample1>() == 40);
const _: () = assert!(size_of::<usize>() != 8 || size_of::<Samples1>() == 24);
const _: () = assert!(size_of::<usize>() != 8 || size_of::<DetailList1>() == 24);
