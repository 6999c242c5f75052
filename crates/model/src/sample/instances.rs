//! MIG instances for samples.

use super::parts::{gone, nvml};
use crate::gap::Gap;
use crate::mig::{MigAttributes, MigInstance, MigMemory};
use crate::reading::{Source, Total};
use crate::units::Bytes;

/// A MIG instance of an invented GPU: its place, profile, slices, size and use in mebibytes, processes.
pub(super) fn instance(
    slot: u32,
    gpu_instance: u32,
    profile: &str,
    slices: u32,
    [total, used]: [u64; 2],
    listed: u32,
) -> MigInstance {
    let memory = "nvmlDeviceGetMemoryInfo_v2";
    MigInstance {
        slot,
        refused: None,
        gpu_instance: nvml(gpu_instance, "nvmlDeviceGetGpuInstanceId"),
        compute_instance: nvml(0, "nvmlDeviceGetComputeInstanceId"),
        name: nvml(
            format!("NVIDIA H100 80GB HBM3 MIG {profile}").into(),
            "nvmlDeviceGetName",
        ),
        uuid: nvml(
            format!("MIG-00000000-0000-4000-9000-{slot:012}").into(),
            "nvmlDeviceGetUUID",
        ),
        memory: MigMemory {
            total: nvml(Bytes::mib(total), memory),
            used: nvml(Bytes::mib(used), memory),
            free: nvml(Bytes::mib(total.saturating_sub(used)), memory),
            reserved: nvml(Bytes(0), memory),
        },
        attributes: nvml(
            MigAttributes {
                multiprocessors: 16 * slices,
                copy_engines: slices,
                decoders: slices,
                encoders: 0,
                jpeg_engines: slices,
                ofa_engines: 0,
                gpu_slices: slices,
                compute_slices: slices,
                memory: Bytes::mib(total),
            },
            "nvmlDeviceGetAttributes_v2",
        ),
        gpu: gone(Gap::Mig, Source::Nvml, "nvmlDeviceGetUtilizationRates"),
        listed,
        attributed: Total {
            known: Bytes::mib(used.saturating_sub(100)),
            counted: listed,
            missing: 0,
            lists_missing: false,
        },
    }
}
