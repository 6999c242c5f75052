//! Keys of a device.

use std::borrow::Cow;

use model::Text;
use serde::Serialize;

use super::{Mig, NamedEngine, ProvenanceMap};

/// One GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Device {
    /// What `--gpu` takes.
    pub index: u32,
    /// The driver's own number, as `nvidia-smi` counts; null where the driver was not asked.
    pub driver_index: Option<u32>,
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
    /// What decided `kind`; null where nothing did, and it is `unknown`.
    pub kind_evidence: Option<&'static str>,
    /// `none`, `passthrough`, `vgpu` (a share of a host's device), `host_vgpu`, `host_vsga`.
    pub virtualization: Option<&'static str>,
    /// `active` or `suspended`.
    pub power_state: Option<&'static str>,
    /// Whether the kernel may suspend it while nobody uses it.
    pub may_suspend: Option<bool>,
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
    /// JPEG engine load, percent.
    pub jpeg_pct: Option<f64>,
    /// Load of the optical flow accelerator, percent.
    pub ofa_pct: Option<f64>,
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
    /// Modes, errors and links.
    pub details: DeviceDetails,
    /// Multi-Instance GPU; null where the device knows none.
    pub mig: Option<Mig>,
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

/// Modes, errors and links of a device; read seldom, see `age_ms`. Its entries in `provenance` begin with `details.`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceDetails {
    /// What holds the clocks where they are: names, and unknown bits as one number such as `0x1800`. Empty: nothing.
    pub clocks_event_reasons: Option<Vec<Cow<'static, str>>>,
    /// The same as the driver's mask, in hex.
    pub clocks_event_reasons_mask: Option<String>,
    /// Which of them the device can tell.
    pub clocks_event_reasons_supported: Option<Vec<Cow<'static, str>>>,
    /// Energy used since the driver was loaded, millijoules.
    pub total_energy_millijoules: Option<u64>,
    /// Whether the driver keeps the device initialised without clients.
    pub persistence_mode: Option<bool>,
    /// `default`, `exclusive_process`, `prohibited`, `exclusive_thread`.
    pub compute_mode: Option<&'static str>,
    /// Whether ECC is on.
    pub ecc_mode: Option<bool>,
    /// Whether it will be on after the next reset.
    pub ecc_mode_pending: Option<bool>,
    /// Errors since the driver was loaded.
    pub ecc_volatile_corrected: Option<u64>,
    /// Errors since the driver was loaded.
    pub ecc_volatile_uncorrected: Option<u64>,
    /// Errors over the card's life.
    pub ecc_aggregate_corrected: Option<u64>,
    /// Errors over the card's life.
    pub ecc_aggregate_uncorrected: Option<u64>,
    /// Pages retired after several single-bit errors.
    pub retired_pages_single_bit: Option<u32>,
    /// Pages retired after a double-bit error.
    pub retired_pages_double_bit: Option<u32>,
    /// Whether pages wait for a reboot to be retired.
    pub retired_pages_pending: Option<bool>,
    /// Rows remapped after correctable errors.
    pub remapped_rows_correctable: Option<u32>,
    /// Rows remapped after uncorrectable errors.
    pub remapped_rows_uncorrectable: Option<u32>,
    /// Whether rows wait for a reset to be remapped.
    pub remapped_rows_pending: Option<bool>,
    /// Whether remapping ever failed.
    pub remapped_rows_failed: Option<bool>,
    /// Links to other devices.
    pub nvlinks: Option<Vec<NvLink>>,
    /// Version of the video BIOS.
    pub vbios_version: Option<Text>,
    /// Part number of the product. A serial number is not read.
    pub board_part_number: Option<Text>,
}

/// An `NVLink`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NvLink {
    /// Its number on the device.
    pub link: u32,
    /// Whether it is up.
    pub active: Option<bool>,
    /// Such as `4.0`.
    pub version: Option<Text>,
    /// What is at its other end.
    pub remote_pci: Option<String>,
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
