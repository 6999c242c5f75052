//! The scenario file, as Rust types. JSON; every key may be left out; unknown keys are errors.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::device::Device;
use crate::process::Pid;
use crate::value::Value;

/// Everything the library answers from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// What `nvmlInit` returns, for instance `LIB_RM_VERSION_MISMATCH` (18) or `NO_PERMISSION` (4).
    pub init: Code,
    /// Driver version; that of the generation when absent.
    pub driver_version: Option<String>,
    /// NVML version; that of the generation when absent.
    pub nvml_version: Option<String>,
    /// CUDA version as 1000 x major + 10 x minor; that of the generation when absent.
    pub cuda_version: Option<i32>,
    /// Stamps of utilization samples, microseconds since the epoch. Absent: the wall clock, never
    /// twice the same.
    pub clock_us: Option<Value>,
    pub quirks: Quirks,
    /// In index order, at most 255.
    pub devices: Vec<Device>,
    pub faults: Vec<Fault>,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            init: Code::SUCCESS,
            driver_version: None,
            nvml_version: None,
            cuda_version: None,
            clock_us: None,
            quirks: Quirks::default(),
            devices: Vec::new(),
            faults: Vec::new(),
        }
    }
}

impl Scenario {
    /// The text of a scenario file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Writes the file whole or not at all, so that a library which reads it meanwhile sees one
    /// state or the other.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let beside = path.with_extension(format!("{}.part", std::process::id()));
        fs::write(&beside, self.to_json())?;
        fs::rename(&beside, path)
    }

    /// Puts these pids in place of the processes' own, in order, device after device, as far as
    /// they reach.
    #[must_use]
    pub fn with_pids(mut self, pids: impl IntoIterator<Item = u32>) -> Self {
        let mut pids = pids.into_iter();
        for process in self
            .devices
            .iter_mut()
            .flat_map(|device| &mut device.processes)
        {
            let Some(pid) = pids.next() else { break };
            process.pid = Pid::Literal(pid);
        }
        self
    }

    /// How many process records there are on all devices.
    pub fn process_count(&self) -> usize {
        self.devices
            .iter()
            .map(|device| device.processes.len())
            .sum()
    }

    #[must_use]
    pub fn with_device(mut self, device: Device) -> Self {
        self.devices.push(device);
        self
    }

    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }
}

/// Ways in which real libraries differ from what the header says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Bytes of a `_v3` process entry, 24 or 32, against the generation's habit.
    pub v3_entry_bytes: Option<u32>,
    /// `_v3` lists write no further than 24 bytes an entry of the caller's count; what would have
    /// been overrun is counted in the statistics instead.
    pub guard_v3_lists: bool,
    /// A process list asked with a null buffer answers `SUCCESS` and the count.
    pub list_probe_succeeds: bool,
    /// In MIG mode the lists of the GPU itself do not say which instance a process is on.
    pub lists_without_instances: bool,
}

/// What goes wrong, when, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fault {
    /// An exported name; `*` stands for any run of characters.
    pub call: String,
    /// Only calls on this device and its instances, and getting its handle.
    pub device: Option<usize>,
    /// Only calls on the MIG instance in this slot.
    pub slot: Option<u32>,
    /// Only calls on the GPU itself, not on its instances.
    pub whole: bool,
    /// Absent: the call goes on, after the sleep.
    #[serde(rename = "return")]
    pub code: Option<Code>,
    /// The call waits so long, without holding up any other call.
    pub sleep_ms: u64,
    /// First and last call that fail, counted from 1 over the calls which this fault matches.
    pub from: u64,
    pub until: Option<u64>,
}

impl Default for Fault {
    fn default() -> Self {
        Self {
            call: "*".to_owned(),
            device: None,
            slot: None,
            whole: false,
            code: None,
            sleep_ms: 0,
            from: 1,
            until: None,
        }
    }
}

impl Fault {
    pub fn returning(call: &str, code: Code) -> Self {
        Self {
            call: call.to_owned(),
            code: Some(code),
            ..Self::default()
        }
    }

    pub fn sleeping(call: &str, sleep_ms: u64) -> Self {
        Self {
            call: call.to_owned(),
            sleep_ms,
            ..Self::default()
        }
    }

    #[must_use]
    pub fn on(mut self, device: usize) -> Self {
        self.device = Some(device);
        self
    }

    /// Spares the instances of the GPU.
    #[must_use]
    pub fn of_the_whole(mut self) -> Self {
        self.whole = true;
        self
    }

    #[must_use]
    pub fn between(mut self, from: u64, until: u64) -> Self {
        (self.from, self.until) = (from, Some(until));
        self
    }
}
