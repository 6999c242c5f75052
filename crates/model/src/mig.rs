//! Multi-Instance GPU: one device split into instances with memory and engines of their own.

use crate::reading::{Measured, Reading, Total};
use crate::units::{Bytes, Percent};
use crate::{Gap, Text};

/// Whether a device is split (`nvmlDeviceGetMigMode`). Missing with `NotSupported` on devices that know no MIG.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MigMode {
    /// The mode now.
    pub enabled: bool,
    /// The mode after the next reset of the device.
    pub pending: bool,
}

/// One instance. Its memory is part of the device's and is never added to it.
#[derive(Clone, Debug, PartialEq)]
pub struct MigInstance {
    /// The driver's slot of the instance, from 0, with holes. Another instance may have it after a change.
    pub slot: u32,
    /// Why its handle was refused (`nvmlDeviceGetMigDeviceHandleByIndex`): whether an instance is there is not known.
    pub refused: Option<Gap>,
    /// Number of the GPU instance (`nvmlDeviceGetGpuInstanceId`).
    pub gpu_instance: Reading<Measured<u32>>,
    /// Number of the compute instance in it (`nvmlDeviceGetComputeInstanceId`).
    pub compute_instance: Reading<Measured<u32>>,
    /// The device's name with the instance's profile, as the driver gives it.
    pub name: Reading<Measured<Text>>,
    /// The driver's UUID, which is what `CUDA_VISIBLE_DEVICES` takes.
    pub uuid: Reading<Measured<Text>>,
    /// Memory of the GPU instance. Its compute instances share it, and each answers all of it.
    pub memory: MigMemory,
    /// What the instance consists of (`nvmlDeviceGetAttributes_v2`).
    pub attributes: Reading<Measured<MigAttributes>>,
    /// Load. NVML gives none of an instance: always missing, with `Mig`.
    pub gpu: Reading<Measured<Percent>>,
    /// Processes that the driver names on it: see [`Self::processes`].
    pub listed: u32,
    /// Sum of their sizes.
    pub attributed: Total,
}

impl MigInstance {
    /// Its GPU and compute instance, where both are known.
    pub fn ids(&self) -> Option<(u32, u32)> {
        let ids = self.gpu_instance.value().zip(self.compute_instance.value());
        ids.map(|(gpu, compute)| (*gpu, *compute))
    }

    /// How many processes the driver names on it; nothing where it names none but a list is missing. At least so many
    /// where `attributed.lists_missing`.
    pub fn processes(&self) -> Option<u32> {
        (self.listed > 0 || !self.attributed.lists_missing).then_some(self.listed)
    }

    /// The profile, the last word of the name where that has one: `3g.40gb`, `1c.3g.40gb`, `1g.10gb+me`.
    pub fn profile(&self) -> Option<&str> {
        let (_, profile) = self.name.value()?.rsplit_once("MIG ")?;
        (!profile.is_empty()).then_some(profile)
    }
}

/// Memory of an instance, bytes (`nvmlDeviceGetMemoryInfo` on its handle).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MigMemory {
    /// All of it.
    pub total: Reading<Measured<Bytes>>,
    /// In use by anyone.
    pub used: Reading<Measured<Bytes>>,
    /// Free to allocate.
    pub free: Reading<Measured<Bytes>>,
    /// Reserved by the driver (memory v2 only).
    pub reserved: Reading<Measured<Bytes>>,
}

/// What an instance consists of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MigAttributes {
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Copy engines. These and the other engines may be shared by the compute instances of a GPU instance.
    pub copy_engines: u32,
    /// Video decoders.
    pub decoders: u32,
    /// Video encoders.
    pub encoders: u32,
    /// JPEG decoders.
    pub jpeg_engines: u32,
    /// Optical flow engines.
    pub ofa_engines: u32,
    /// Slices of the GPU that the GPU instance has.
    pub gpu_slices: u32,
    /// Of these, slices of the compute instance.
    pub compute_slices: u32,
    /// Memory of the GPU instance as its profile says, in whole mebibytes.
    pub memory: Bytes,
}
