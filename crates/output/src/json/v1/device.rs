//! Keys of a device.

use model::Text;
use serde::Serialize;

use super::{NamedEngine, ProvenanceMap};

/// One GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Device {
    /// What `--gpu` takes.
    pub index: u32,
    /// `nvidia`, `amd`, `intel`, `other`.
    pub vendor: &'static str,
    /// Marketing name.
    pub name: Option<Text>,
    /// The driver's UUID.
    pub uuid: Option<Text>,
    /// Place on the PCI bus.
    pub pci: Option<String>,
    /// Locally unique identifier (Windows). Not read by this version.
    pub luid: Option<Text>,
    /// Driver version.
    pub driver: Option<Text>,
    /// Highest CUDA version the driver supports.
    pub cuda: Option<Text>,
    /// `discrete`, `integrated`, `unified`, `unknown`.
    pub kind: &'static str,
    /// `active` or `suspended`.
    pub power_state: Option<&'static str>,
    /// Memory.
    pub memory: DeviceMemory,
    /// Share of time in which a kernel ran, percent.
    pub gpu_pct: Option<f64>,
    /// Share of time in which memory was accessed, percent. Not bandwidth.
    pub memory_activity_pct: Option<f64>,
    /// Encoder load, percent.
    pub encoder_pct: Option<f64>,
    /// Decoder load, percent.
    pub decoder_pct: Option<f64>,
    /// Graphics clock, MHz.
    pub core_clock_mhz: Option<u32>,
    /// Memory clock, MHz.
    pub memory_clock_mhz: Option<u32>,
    /// Video clock, MHz.
    pub video_clock_mhz: Option<u32>,
    /// Core temperature, degrees Celsius.
    pub temperature_celsius: Option<f64>,
    /// Power draw, watts.
    pub power_watts: Option<f64>,
    /// Power limit in force, watts.
    pub power_limit_watts: Option<f64>,
    /// Fan speed, percent of its maximum; can exceed 100.
    pub fan_pct: Option<f64>,
    /// Received over PCIe, bytes per second.
    pub pcie_rx_bytes_per_s: Option<u64>,
    /// Sent over PCIe, bytes per second.
    pub pcie_tx_bytes_per_s: Option<u64>,
    /// Generation of the link now.
    pub pcie_gen: Option<u32>,
    /// Lanes of the link now.
    pub pcie_width: Option<u32>,
    /// 0 (fastest) to 15.
    pub performance_state: Option<u32>,
    /// `ok`, or what happened to this device's readings, in a sentence.
    pub counter_status: Text,
    /// Whether Windows counters were matched to this adapter; null where that has no meaning.
    pub counter_adapter_matched: Option<bool>,
    /// Readings that only some drivers have.
    pub sensors: Vec<Sensor>,
    /// Load of engines of the clients that can be seen, where the driver says nothing of the device's load.
    pub engines_at_least: Vec<NamedEngine>,
    /// Measured process memory by category, then what no row explains.
    pub categories: Vec<CategoryBytes>,
    /// Whether the rows add up to more than is used.
    pub categories_normalized: bool,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// A reading that only some drivers have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensor {
    /// Which.
    pub id: &'static str,
    /// `percent`, `celsius`, `watts`, `mhz`, `rpm`.
    pub unit: &'static str,
    /// The value in that unit.
    pub value: Option<f64>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// Memory of a device, bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceMemory {
    /// All of it.
    pub vram_total_bytes: Option<u64>,
    /// In use by anyone.
    pub vram_used_bytes: Option<u64>,
    /// Free to allocate.
    pub vram_free_bytes: Option<u64>,
    /// Reserved by driver and firmware.
    pub vram_reserved_bytes: Option<u64>,
    /// Sum of the process rows.
    pub vram_attributed_bytes: Option<u64>,
    /// Used, but in no process row.
    pub vram_unattributed_bytes: Option<u64>,
    /// GPU-accessible system memory.
    pub shared_total_bytes: Option<u64>,
    /// GPU-accessible system memory in use.
    pub shared_used_bytes: Option<u64>,
}

/// Measured memory of one category.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CategoryBytes {
    /// The category, or `unattributed`.
    pub category: &'static str,
    /// Bytes.
    pub vram_bytes: Option<u64>,
}
