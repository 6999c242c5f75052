//! Keys of MIG instances.

use model::Text;
use serde::Serialize;

use super::ProvenanceMap;

/// A device that can be split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mig {
    /// Whether it is split now.
    pub enabled: Option<bool>,
    /// Whether it will be after its next reset.
    pub pending: Option<bool>,
    /// Its instances by slot.
    pub instances: Vec<MigInstance>,
}

/// One instance. Its memory is part of the device's: never add the two.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MigInstance {
    /// The driver's slot, with holes between.
    pub index: u32,
    /// Number of the GPU instance.
    pub gpu_instance: Option<u32>,
    /// Number of the compute instance in it.
    pub compute_instance: Option<u32>,
    /// The device's name with the profile.
    pub name: Option<Text>,
    /// The driver's UUID.
    pub uuid: Option<Text>,
    /// Memory of the GPU instance, which its compute instances share.
    pub memory: MigMemory,
    /// Load, percent. The driver gives none of an instance.
    pub gpu_pct: Option<f64>,
    /// Processes that the driver names on it.
    pub listed: Option<u32>,
    /// What it consists of.
    pub attributes: MigAttributes,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// Memory of an instance, bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MigMemory {
    /// All of it.
    pub vram_total_bytes: Option<u64>,
    /// In use by anyone.
    pub vram_used_bytes: Option<u64>,
    /// Free to allocate.
    pub vram_free_bytes: Option<u64>,
    /// Reserved by the driver.
    pub vram_reserved_bytes: Option<u64>,
    /// Sum of the process rows on it.
    pub vram_attributed_bytes: Option<u64>,
}

/// What an instance consists of. Engines may be shared by the compute instances of a GPU instance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MigAttributes {
    /// Slices of the GPU.
    pub gpu_slices: Option<u32>,
    /// Of these, slices of the compute instance.
    pub compute_slices: Option<u32>,
    /// Streaming multiprocessors.
    pub multiprocessors: Option<u32>,
    /// Copy engines.
    pub copy_engines: Option<u32>,
    /// Video decoders.
    pub decoders: Option<u32>,
    /// Video encoders.
    pub encoders: Option<u32>,
    /// JPEG decoders.
    pub jpeg_engines: Option<u32>,
    /// Optical flow engines.
    pub ofa_engines: Option<u32>,
    /// Memory as the profile says, bytes.
    pub memory_bytes: Option<u64>,
}

/// An instance in a list of devices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MigEntry {
    /// The driver's slot.
    pub index: u32,
    /// Number of the GPU instance.
    pub gpu_instance: Option<u32>,
    /// Number of the compute instance in it.
    pub compute_instance: Option<u32>,
    /// The device's name with the profile.
    pub name: Option<Text>,
    /// The driver's UUID.
    pub uuid: Option<Text>,
    /// All its memory, bytes.
    pub vram_total_bytes: Option<u64>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}
