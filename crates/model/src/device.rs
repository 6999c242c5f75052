//! One GPU at one moment.

use crate::Text;
use crate::details::DeviceDetails;
use crate::gap::Gap;
use crate::ids::{DeviceKey, PciAddress};
use crate::mig::{MigInstance, MigMode};
use crate::reading::{Estimated, Measured, Missing, Reading, Total};
use crate::units::{Bytes, BytesPerSecond, Celsius, Megahertz, Percent, Watts};
use crate::workload::Category;

/// Who made the device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Vendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Intel.
    Intel,
    /// Anyone else.
    Other,
}

impl Vendor {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
            Self::Intel => "intel",
            Self::Other => "other",
        }
    }
}

/// How the device's memory relates to the system's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DeviceKind {
    /// Memory of its own.
    Discrete,
    /// Part of the processor, with a carve-out of system memory.
    Integrated,
    /// One memory for processor and GPU.
    Unified,
    /// Not established.
    Unknown,
}

impl DeviceKind {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Unified => "unified",
            Self::Unknown => "unknown",
        }
    }

    /// Whether its memory is a part of the system's.
    pub const fn is_of_system(self) -> bool {
        matches!(self, Self::Integrated | Self::Unified)
    }

    /// What the system memory is that the device can reach: `spill` beside a card's own memory, `shared` where there
    /// is no other or only a carve-out of it, `unknown`.
    pub const fn system_memory_role(self) -> &'static str {
        match self {
            Self::Discrete => "spill",
            Self::Integrated | Self::Unified => "shared",
            Self::Unknown => "unknown",
        }
    }

    /// For a person; nothing of a device with memory of its own.
    pub const fn label(self) -> Option<&'static str> {
        match self {
            Self::Integrated => Some("integrated"),
            Self::Unified => Some("unified memory"),
            Self::Discrete | Self::Unknown => None,
        }
    }
}

/// How the device reaches this system (`nvmlDeviceGetVirtualizationMode`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Virtualization {
    /// Directly.
    None,
    /// Handed through to this virtual machine as a whole.
    Passthrough,
    /// A share of a device of the host, which keeps board figures to itself.
    Vgpu,
    /// This system hands out shares of it.
    HostVgpu,
    /// This system hands out shares of it for graphics (vSGA).
    HostVsga,
}

impl Virtualization {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Passthrough => "passthrough",
            Self::Vgpu => "vgpu",
            Self::HostVgpu => "host_vgpu",
            Self::HostVsga => "host_vsga",
        }
    }

    /// For a person; nothing of a device like any other.
    pub const fn label(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Passthrough => Some("passed through to this VM"),
            Self::Vgpu => Some("vGPU of a host"),
            Self::HostVgpu => Some("host of vGPUs"),
            Self::HostVsga => Some("host of vSGA"),
        }
    }
}

/// Runtime power management state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PowerState {
    /// Powered.
    Active,
    /// Suspended; nothing is read that would wake it.
    Suspended,
}

/// A GPU: who it is, and its readings. Each reading may be missing on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// The driver's own number (NVML's index, as `nvidia-smi` counts); `None` where the driver was not
    /// asked or has none. [`Self::index`] goes by memory instead.
    pub driver_index: Option<u32>,
    /// Position in index order, from 0; what `--gpu N` takes.
    pub index: u32,
    /// Identity.
    pub key: DeviceKey,
    /// Maker.
    pub vendor: Vendor,
    /// Marketing name, as the driver gives it.
    pub name: Reading<Measured<Text>>,
    /// The driver's UUID.
    pub uuid: Reading<Measured<Text>>,
    /// Place on the PCI bus.
    pub pci: Reading<Measured<PciAddress>>,
    /// Driver version.
    pub driver: Reading<Measured<Text>>,
    /// Highest CUDA version the driver supports, e.g. `13.0`.
    pub cuda: Reading<Measured<Text>>,
    /// Memory architecture. Never a default: where nothing decides it is [`DeviceKind::Unknown`].
    pub kind: DeviceKind,
    /// What decided the kind, in the source's own spelling; `None` where nothing did.
    pub kind_evidence: Option<&'static str>,
    /// How it reaches this system.
    pub virtualization: Reading<Measured<Virtualization>>,
    /// Power state as the kernel tells it, without touching the device.
    pub power_state: Reading<Measured<PowerState>>,
    /// Whether the kernel may suspend it while nobody uses it (`power/control` is `auto`).
    pub may_suspend: Reading<Measured<bool>>,
    /// Memory figures.
    pub memory: DeviceMemory,
    /// Share of time in which any kernel ran, over the driver's own window (NVML: 1/6 s to 1 s).
    pub gpu: Reading<Measured<Percent>>,
    /// Share of time in which memory was read or written. Not bandwidth.
    pub memory_activity: Reading<Measured<Percent>>,
    /// Encoder load.
    pub encoder: Reading<Measured<Percent>>,
    /// Decoder load.
    pub decoder: Reading<Measured<Percent>>,
    /// JPEG engine load (NVML from driver 535 on, Turing and newer).
    pub jpeg: Reading<Measured<Percent>>,
    /// Load of the optical flow accelerator (NVML from driver 535 on, Turing and newer).
    pub ofa: Reading<Measured<Percent>>,
    /// Graphics or SM clock.
    pub core_clock: Reading<Measured<Megahertz>>,
    /// Memory clock.
    pub memory_clock: Reading<Measured<Megahertz>>,
    /// Video engine clock.
    pub video_clock: Reading<Measured<Megahertz>>,
    /// Core temperature.
    pub temperature: Reading<Measured<Celsius>>,
    /// Board power draw.
    pub power: Reading<Measured<Watts>>,
    /// Power limit in force.
    pub power_limit: Reading<Measured<Watts>>,
    /// Fan speed as a share of its maximum; can exceed 100.
    pub fan: Reading<Measured<Percent>>,
    /// PCIe bytes received by the device (NVML: over 20 ms, read every fifth refresh).
    pub pcie_rx: Reading<Measured<BytesPerSecond>>,
    /// PCIe bytes sent by the device.
    pub pcie_tx: Reading<Measured<BytesPerSecond>>,
    /// PCIe generation of the link now; drops when idle.
    pub pcie_generation: Reading<Measured<u32>>,
    /// PCIe lanes of the link now.
    pub pcie_width: Reading<Measured<u32>>,
    /// Performance state, 0 (fastest) to 15.
    pub performance_state: Reading<Measured<u32>>,
    /// Further readings that only some drivers have.
    pub sensors: Vec<Sensor>,
    /// Load of engines, by the driver's name, of the clients that can be seen: at least this much. Only where the
    /// driver says nothing of the device's load.
    pub visible_loads: Vec<(Text, Reading<Estimated<Percent>>)>,
    /// Modes, errors and links.
    pub details: DeviceDetails,
    /// Whether it is split into instances.
    pub mig: Reading<Measured<MigMode>>,
    /// Its instances by slot, and slots that were refused. They can be known where the mode and the figures of the
    /// whole are refused, as in a container that was given one of them.
    pub instances: Vec<MigInstance>,
    /// Why it is not known how many instances there may be (`nvmlDeviceGetMaxMigDeviceCount`); none is listed then.
    pub instances_missing: Option<Missing>,
    /// Measured process memory by category, largest first. Rows with an inferred owner are left out.
    pub categories: Vec<CategoryShare>,
    /// Whether the rows add up to more than `memory.used`, so that a bar has to be scaled.
    pub categories_normalized: bool,
    /// What happened to this device's readings as a whole, in a sentence, where anything did.
    pub counter_status: Text,
}

/// A reading that only some drivers have.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// The stable name used in JSON.
    pub id: &'static str,
    /// What it is, for a person.
    pub label: &'static str,
    /// Unit of the value.
    pub unit: SensorUnit,
    /// The value.
    pub value: Reading<Measured<f64>>,
}

/// Unit of a [`Sensor`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SensorUnit {
    /// Share of time.
    Percent,
    /// Degrees Celsius.
    Celsius,
    /// Watts.
    Watts,
    /// Megahertz.
    Megahertz,
    /// Turns per minute.
    TurnsPerMinute,
}

impl SensorUnit {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Percent => "percent",
            Self::Celsius => "celsius",
            Self::Watts => "watts",
            Self::Megahertz => "mhz",
            Self::TurnsPerMinute => "rpm",
        }
    }
}

impl Device {
    /// What is particular about it, for a person: its memory, and how it reaches this system.
    pub fn labels(&self) -> impl Iterator<Item = &'static str> {
        let virtualization = self.virtualization_label();
        self.kind.label().into_iter().chain(virtualization)
    }

    /// How it reaches this system, where that is anything particular.
    pub fn virtualization_label(&self) -> Option<&'static str> {
        let virtualization = self.virtualization.value().copied();
        virtualization.and_then(Virtualization::label)
    }

    /// The speed of its fan in turns, where a driver tells it.
    pub fn turns(&self) -> Option<&Sensor> {
        let known =
            |it: &&Sensor| it.unit == SensorUnit::TurnsPerMinute && it.value.known().is_some();
        self.sensors.iter().find(known)
    }

    /// Its instances, without the slots that were refused.
    pub fn read_instances(&self) -> impl Iterator<Item = &MigInstance> {
        self.instances.iter().filter(|it| it.refused.is_none())
    }

    /// How many slots were refused, and why the first was.
    pub fn refused_slots(&self) -> Option<(usize, Gap)> {
        let mut refused = self.instances.iter().filter_map(|it| it.refused);
        let first = refused.next()?;
        Some((1 + refused.count(), first))
    }

    /// Whether it is split: the mode is on, or there are instances although the mode cannot be read.
    pub fn in_mig_mode(&self) -> bool {
        self.mig.value().is_some_and(|mode| mode.enabled) || !self.instances.is_empty()
    }
}

/// Device memory. `used` is the driver's figure and the reference; rows can add up to more or less.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceMemory {
    /// All memory.
    pub total: Reading<Measured<Bytes>>,
    /// Memory in use by anyone, without what the driver reserves for itself where it says so.
    pub used: Reading<Measured<Bytes>>,
    /// Memory free to allocate.
    pub free: Reading<Measured<Bytes>>,
    /// Reserved by the driver and firmware (NVML memory v2 only).
    pub reserved: Reading<Measured<Bytes>>,
    /// Sum of the process rows' sizes on this device, those with an inferred owner included: the
    /// sizes are measured.
    pub attributed: Total,
    /// `used` minus `attributed`: contexts, other namespaces, the driver. Never below zero.
    pub unattributed: Reading<Estimated<Bytes>>,
    /// GPU-accessible system memory, total.
    pub shared_total: Reading<Measured<Bytes>>,
    /// GPU-accessible system memory, in use.
    pub shared_used: Reading<Measured<Bytes>>,
}

impl DeviceMemory {
    /// Memory that is not in use, where the driver has no figure of its own: size less use, and so an estimate.
    pub fn computed_free(&self) -> Option<Bytes> {
        let told = self.free.gap().is_none_or(|gap| !gap.is_structural());
        let (total, used) = self.total.value().zip(self.used.value())?;
        total.0.checked_sub(used.0).map(Bytes).filter(|_| !told)
    }
}

/// Measured memory of one category of processes on one device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CategoryShare {
    /// The category.
    pub category: Category,
    /// Sum of its rows; rows without a size are counted in `missing`.
    pub memory: Total,
}
