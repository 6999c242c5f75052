//! GPUs and MIG instances of a scenario.

use serde::{Deserialize, Serialize};

use crate::process::{Process, SampleRules};
use crate::value::Value;

/// One GPU. What is not given is that of a plain idle card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Device {
    pub name: String,
    /// Empty: made from the index.
    pub uuid: String,
    /// Absent: `NOT_SUPPORTED`.
    pub serial: Option<String>,
    /// `domain:bus:device.function` in hex. Empty: made from the index.
    pub pci: String,
    /// Device in the upper, vendor in the lower 16 bits.
    pub pci_device_id: Value,
    pub pci_subsystem_id: Value,
    /// Absent: the index.
    pub minor: Option<Value>,
    /// Every call on it, and getting its handle, answers `GPU_IS_LOST`.
    pub lost: bool,
    pub architecture: Value,
    pub compute_major: Value,
    pub compute_minor: Value,
    /// Bytes. `used` is memory v2's figure, without `reserved`.
    pub memory_total: Value,
    pub memory_used: Value,
    pub memory_reserved: Value,
    pub bar1_total: Value,
    pub bar1_used: Value,
    /// Percent.
    pub utilization_gpu: Value,
    pub utilization_memory: Value,
    pub utilization_encoder: Value,
    pub utilization_decoder: Value,
    pub utilization_jpeg: Value,
    pub utilization_ofa: Value,
    /// MHz.
    pub clock_graphics: Value,
    pub clock_sm: Value,
    pub clock_memory: Value,
    pub clock_video: Value,
    pub max_clock_graphics: Value,
    pub max_clock_sm: Value,
    pub max_clock_memory: Value,
    pub max_clock_video: Value,
    /// Degrees Celsius.
    pub temperature: Value,
    pub threshold_shutdown: Value,
    pub threshold_slowdown: Value,
    pub threshold_memory: Value,
    pub threshold_gpu: Value,
    /// Milliwatts.
    pub power_usage: Value,
    pub power_limit: Value,
    pub power_enforced_limit: Value,
    pub power_default_limit: Value,
    /// Millijoules.
    pub energy: Value,
    pub fans: Value,
    /// Percent.
    pub fan_speed: Value,
    pub fan_rpm: Value,
    /// KB/s.
    pub pcie_tx: Value,
    pub pcie_rx: Value,
    pub pcie_generation: Value,
    pub pcie_width: Value,
    pub pcie_max_generation: Value,
    pub pcie_max_width: Value,
    pub performance_state: Value,
    /// The bits of clocks event (throttle) reasons.
    pub clocks_event_reasons: Value,
    /// The bits that the card can tell of.
    pub clocks_event_reasons_supported: Value,
    pub compute_mode: Value,
    pub persistence_mode: Value,
    pub vbios_version: String,
    /// Absent: `NOT_SUPPORTED`.
    pub board_part_number: Option<String>,
    pub ecc: Ecc,
    /// Pages, by cause; 1 where some wait for a reboot.
    pub retired_pages_single_bit: Value,
    pub retired_pages_double_bit: Value,
    pub retired_pages_pending: Value,
    /// Rows, by cause; 1 where some wait for a reset, 1 where one could not be remapped. All four
    /// are one answer: the first refusal is its code.
    pub remapped_rows_correctable: Value,
    pub remapped_rows_uncorrectable: Value,
    pub remapped_rows_pending: Value,
    pub remapped_rows_failed: Value,
    /// None: the card knows no `NVLink` (`NOT_SUPPORTED`).
    pub nvlinks: Vec<Link>,
    /// 0 none, 1 passed through, 2 a guest's vGPU, 3 host of vGPUs, 4 host of vSGA.
    pub virtualization: Value,
    /// Absent: the card knows no MIG (`NOT_SUPPORTED`).
    pub mig: Option<Mig>,
    pub processes: Vec<Process>,
    pub samples: SampleRules,
}

impl Default for Device {
    fn default() -> Self {
        let n = Value::Number;
        Self {
            name: "NVIDIA Simulated GPU".to_owned(),
            uuid: String::new(),
            serial: None,
            pci: String::new(),
            pci_device_id: n(0x2704_10DE),
            pci_subsystem_id: n(0x40BC_1458),
            minor: None,
            lost: false,
            architecture: n(8),
            compute_major: n(8),
            compute_minor: n(9),
            memory_total: n(16_376 << 20),
            memory_used: n(512 << 20),
            memory_reserved: n(352 << 20),
            bar1_total: n(256 << 20),
            bar1_used: n(5 << 20),
            utilization_gpu: n(0),
            utilization_memory: n(0),
            utilization_encoder: n(0),
            utilization_decoder: n(0),
            utilization_jpeg: n(0),
            utilization_ofa: n(0),
            clock_graphics: n(210),
            clock_sm: n(210),
            clock_memory: n(405),
            clock_video: n(1185),
            max_clock_graphics: n(3105),
            max_clock_sm: n(3105),
            max_clock_memory: n(11_201),
            max_clock_video: n(2415),
            temperature: n(35),
            threshold_shutdown: n(98),
            threshold_slowdown: n(95),
            threshold_memory: Value::NOT_AVAILABLE,
            threshold_gpu: n(90),
            power_usage: n(15_000),
            power_limit: n(320_000),
            power_enforced_limit: n(320_000),
            power_default_limit: n(320_000),
            energy: n(1_000_000_000),
            fans: n(2),
            fan_speed: n(30),
            fan_rpm: n(1100),
            pcie_tx: n(0),
            pcie_rx: n(0),
            pcie_generation: n(4),
            pcie_width: n(16),
            pcie_max_generation: n(4),
            pcie_max_width: n(16),
            performance_state: n(8),
            clocks_event_reasons: n(1),
            clocks_event_reasons_supported: n(0x1FF),
            compute_mode: n(0),
            persistence_mode: n(0),
            vbios_version: "95.03.1E.00.01".to_owned(),
            board_part_number: None,
            ecc: Ecc::default(),
            retired_pages_single_bit: Value::NOT_AVAILABLE,
            retired_pages_double_bit: Value::NOT_AVAILABLE,
            retired_pages_pending: Value::NOT_AVAILABLE,
            remapped_rows_correctable: Value::NOT_AVAILABLE,
            remapped_rows_uncorrectable: Value::NOT_AVAILABLE,
            remapped_rows_pending: Value::NOT_AVAILABLE,
            remapped_rows_failed: Value::NOT_AVAILABLE,
            nvlinks: Vec::new(),
            virtualization: n(0),
            mig: None,
            processes: Vec::new(),
            samples: SampleRules::default(),
        }
    }
}

impl Device {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn with_process(mut self, process: Process) -> Self {
        self.processes.push(process);
        self
    }

    /// Whether the card is in MIG mode.
    pub fn in_mig_mode(&self) -> bool {
        self.mig.as_ref().is_some_and(|mig| mig.enabled)
    }
}

/// Error correction on one GPU. Left out, the card has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ecc {
    /// 0 off, 1 on. While it is not 1, error counters are `NOT_SUPPORTED`.
    pub mode: Value,
    /// Absent: the same as `mode`.
    pub pending: Option<Value>,
    /// Errors since the driver was loaded, and over the card's life.
    pub volatile_corrected: Value,
    pub volatile_uncorrected: Value,
    pub aggregate_corrected: Value,
    pub aggregate_uncorrected: Value,
}

impl Default for Ecc {
    fn default() -> Self {
        let none = || Value::Number(0);
        Self {
            mode: Value::NOT_AVAILABLE,
            pending: None,
            volatile_corrected: none(),
            volatile_uncorrected: none(),
            aggregate_corrected: none(),
            aggregate_uncorrected: none(),
        }
    }
}

impl Ecc {
    /// Switched on, without an error so far.
    pub fn on() -> Self {
        Self {
            mode: Value::Number(1),
            ..Self::default()
        }
    }
}

/// One `NVLink`; its number is its place in the list. A value that is a refusal is that call's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Link {
    /// 0 inactive, 1 active.
    pub state: Value,
    /// `nvmlNvlinkVersion_t`.
    pub version: Value,
    /// `domain:bus:device.function` of the other end in hex; empty: `NOT_SUPPORTED`.
    pub remote: String,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            state: Value::Number(0),
            version: Value::Number(6),
            remote: String::new(),
        }
    }
}

impl Link {
    /// Active, with that device at its other end.
    pub fn to(remote: &str) -> Self {
        Self {
            state: Value::Number(1),
            remote: remote.to_owned(),
            ..Self::default()
        }
    }
}

/// MIG on one GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mig {
    pub enabled: bool,
    /// Absent: the same as `enabled`.
    pub pending: Option<bool>,
    /// What `nvmlDeviceGetMaxMigDeviceCount` answers; absent: 7.
    pub slots: Option<u32>,
    /// A slot number may be left out: that slot answers `NOT_FOUND`.
    pub instances: Vec<Instance>,
}

/// One MIG instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Instance {
    /// Index among the parent's slots, at most 254.
    pub slot: u32,
    pub gi: u32,
    pub ci: u32,
    pub name: String,
    /// Empty: made from the indices.
    pub uuid: String,
    pub memory_total: Value,
    pub memory_used: Value,
    pub memory_reserved: Value,
    pub multiprocessors: u32,
    pub copy_engines: u32,
    pub decoders: u32,
    pub encoders: u32,
    pub jpeg_engines: u32,
    pub ofa_engines: u32,
    pub gi_slices: u32,
    pub ci_slices: u32,
}

impl Default for Instance {
    fn default() -> Self {
        Self {
            slot: 0,
            gi: 1,
            ci: 0,
            name: "NVIDIA Simulated MIG 1g.10gb".to_owned(),
            uuid: String::new(),
            memory_total: Value::Number(9984 << 20),
            memory_used: Value::Number(16 << 20),
            memory_reserved: Value::Number(0),
            multiprocessors: 16,
            copy_engines: 1,
            decoders: 1,
            encoders: 0,
            jpeg_engines: 1,
            ofa_engines: 0,
            gi_slices: 1,
            ci_slices: 1,
        }
    }
}
