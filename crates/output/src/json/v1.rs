//! Version 1 of the JSON contract. Added keys keep the version; changed or removed ones do not.
//!
//! Units are in the names. Strings that look like an enumeration are open sets: a reader must
//! expect new words.

mod device;
mod mig;
mod process;
mod requirement;
mod workload;

use std::borrow::Cow;

use model::Text;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use device::{CategoryBytes, Device, DeviceDetails, DeviceMemory, NvLink, Sensor};
pub use mig::{Mig, MigAttributes, MigEntry, MigInstance, MigMemory};
pub use process::{
    Charge, ChargeMemory, Container, DrmClients, DrmRegion, Engines, Instance, Kfd, NamedEngine,
    PidMatch, Process, Runtime,
};
pub use requirement::{
    DeviceFit, File, FitDocument, InspectDocument, InspectedModel, Inspection, Need, Setting,
    Unload,
};
pub use workload::{
    Component, EndpointStatus, Evidence, ItemisedReceipt, Model, ModelEvent, Receipt, ReceiptLine,
    Said, SegmentEstimated, SegmentReported, Server,
};

/// Version of the contract.
pub const SCHEMA_VERSION: &str = "1.0";

/// Where the JSON Schema of a snapshot lies in the repository.
pub const SNAPSHOT_SCHEMA: &str = "schema/snapshot-1.json";

/// Where the JSON Schema of a device list lies in the repository.
pub const GPU_LIST_SCHEMA: &str = "schema/gpu-list-1.json";

/// Where the JSON Schema of what a model file needs lies in the repository.
pub const INSPECT_SCHEMA: &str = "schema/inspect-1.json";

/// Where the JSON Schema of whether a model fits lies in the repository.
pub const FIT_SCHEMA: &str = "schema/fit-1.json";

/// A whole snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// The schema of this document.
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    /// [`SCHEMA_VERSION`].
    pub schema_version: &'static str,
    /// Who wrote it.
    pub tool: Tool,
    /// Start of the refresh, RFC 3339 UTC; null where the clock shows no date.
    pub timestamp: Option<String>,
    /// Number of the refresh, from 1.
    pub sample_index: u64,
    /// Window of per-process load, milliseconds.
    pub sample_ms: u64,
    /// Whether answers are still on their way.
    pub pending: bool,
    /// How processes are seen.
    pub mode: &'static str,
    /// The machine.
    pub host: Host,
    /// Where the answers came from.
    pub origin: Origin,
    /// Every source that was tried.
    pub sources: Vec<SourceEntry>,
    /// How complete the process list is.
    pub process_status: ProcessStatus,
    /// Index of the one device that was asked for; null where all were.
    pub selected_device: Option<u32>,
    /// The devices that were asked for.
    pub devices: Vec<Device>,
    /// The processes on them.
    pub processes: Vec<Process>,
    /// Sums over what is shown.
    pub totals: Totals,
    /// Things the user should know.
    pub notices: Vec<Notice>,
    /// Classes and reasons of the values above that are in no list, and of `sources`.
    pub provenance: ProvenanceMap,
}

/// The devices alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuList {
    /// The schema of this document.
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    /// [`SCHEMA_VERSION`].
    pub schema_version: &'static str,
    /// Who wrote it.
    pub tool: Tool,
    /// All devices in index order.
    pub devices: Vec<GpuEntry>,
    /// Every source that was tried.
    pub sources: Vec<SourceEntry>,
    /// Reasons of the values in `sources`.
    pub provenance: ProvenanceMap,
}

/// One device of a [`GpuList`]; keys mean what they mean in [`Device`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuEntry {
    /// What `--gpu` takes.
    pub index: u32,
    /// Maker.
    pub vendor: &'static str,
    /// Marketing name.
    pub name: Option<Text>,
    /// The driver's UUID.
    pub uuid: Option<Text>,
    /// Place on the PCI bus.
    pub pci: Option<String>,
    /// Driver version.
    pub driver: Option<Text>,
    /// Memory architecture.
    pub kind: &'static str,
    /// What decided `kind`; null where nothing did, and it is `unknown`.
    pub kind_evidence: Option<&'static str>,
    /// How it reaches this system.
    pub virtualization: Option<&'static str>,
    /// All device memory, bytes.
    pub vram_total_bytes: Option<u64>,
    /// Its MIG instances; none of a device that is not split.
    pub instances: Vec<MigEntry>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// The program that wrote the document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// The machine the answers are about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// Operating system.
    pub os: Text,
    /// Kernel release.
    pub kernel: Option<Text>,
    /// Host name.
    pub name: Option<Text>,
    /// PID namespace of the monitor: `initial`, `nested`, `unknown`.
    pub pid_namespace: &'static str,
    /// Whether the monitor runs with full rights.
    pub privileged: Option<bool>,
    /// Container runtime the monitor runs in. Not read by this version.
    pub container_runtime: Option<Text>,
}

/// Where the answers came from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Origin {
    /// `live`, `directory`, `synthetic`.
    pub kind: &'static str,
    /// Which machine, made how.
    pub note: Option<Text>,
}

/// A source that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceEntry {
    /// Stable name.
    pub id: &'static str,
    /// `ok`, `absent`, `error`, `denied`, `pending`, `timeout`, `skipped`, `not_applicable`.
    pub state: &'static str,
    /// What was looked for and found.
    pub detail: Text,
    /// What the user can do; null where nothing.
    pub hint: Option<Text>,
}

/// How complete the process list is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessStatus {
    /// Rows in `processes`.
    pub listed: u32,
    /// Rows whose details could not be read for lack of rights.
    pub unreadable: u32,
    /// Processes that may hold a device and cannot be looked at, so that they have no row.
    pub hidden: u32,
    /// `complete` or `partial`.
    pub scan: &'static str,
    /// Whether there may be processes that cannot be inspected from here: without full rights, or
    /// in a nested PID namespace.
    pub limited_to_inspectable: bool,
}

/// Sums over the rows shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Totals {
    /// Device memory with a measured owner, bytes. A lower bound where `excluded` has rows.
    pub measured_process_vram_bytes: Option<u64>,
    /// Device memory with an inferred owner, bytes. Never part of the sum above.
    pub inferred_process_vram_bytes: Option<u64>,
    /// Memory of the WSL virtual machine. Not read by this version.
    pub wsl_vm_bytes: Option<u64>,
    /// Rows without a size, which are in neither sum.
    pub excluded: Vec<Excluded>,
}

/// A row without a size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Excluded {
    /// The process as tables show it: `123`, `H:123`.
    pub process: String,
    /// Device of the row.
    pub device_index: u32,
    /// Why it has no size.
    pub reason: &'static str,
}

/// Something the user should know.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notice {
    /// Stable code.
    pub code: &'static str,
    /// `info` or `warning`.
    pub severity: &'static str,
    /// What it is about: `gpu:0`, `pid:123`.
    pub subject: Text,
    /// The sentence.
    pub text: Text,
}

/// Class and origin of one value, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// `measured`, `reported`, `inferred`, `estimated`, `unavailable`, `pending`.
    pub class: &'static str,
    /// How an estimate was computed: `derived` from measured values, `gguf` from a model file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<&'static str>,
    /// Who answered, or should have.
    pub source: &'static str,
    /// The counter, call, file or field, in the source's own spelling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<&'static str>,
    /// Age of the answer at `timestamp`, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_ms: Option<u64>,
    /// `lower` or `upper` where the value is a bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<&'static str>,
    /// Stable code of why the value is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// More, for a person: a driver's return code, the basis of an inference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Trace {
    pub(super) const fn new(class: &'static str, source: &'static str) -> Self {
        Self {
            class,
            method: None,
            source,
            counter: None,
            age_ms: None,
            bound: None,
            reason: None,
            detail: None,
        }
    }
}

/// Traces by path, in the order of the fields.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvenanceMap(pub Vec<(Cow<'static, str>, Trace)>);

impl Serialize for ProvenanceMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (path, trace) in &self.0 {
            map.serialize_entry(path, trace)?;
        }
        map.end()
    }
}
