//! Keys of a process.

use model::Text;
use serde::Serialize;

use super::ProvenanceMap;
use super::workload::{ItemisedReceipt, Model, Receipt, SegmentEstimated, SegmentReported, Server};

/// One process. Nothing at this level sums over devices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Process {
    /// Number in the monitor's namespace; null for rows of the host.
    pub pid: Option<u32>,
    /// Namespace the row belongs to: `local`, `host`.
    pub pid_namespace: &'static str,
    /// The driver's number, where it is of another namespace.
    pub foreign_pid: Option<u32>,
    /// Start, RFC 3339 UTC. With `pid` the identity of the process.
    pub start_time: Option<String>,
    /// How the row was matched to the driver's entry; null where it needed no matching.
    pub pid_match: Option<PidMatch>,
    /// Short name.
    pub name: Option<Text>,
    /// Executable path.
    pub exe: Option<Text>,
    /// User name.
    pub user: Option<Text>,
    /// Arguments.
    pub command_line: Option<Vec<Text>>,
    /// Parent process number.
    pub parent_pid: Option<u32>,
    /// TCP ports it listens on.
    pub ports: Option<Vec<u16>>,
    /// Container; null with class `measured` and reason `not_present` where it is in none.
    pub container: Option<Container>,
    /// Kind of work.
    pub category: &'static str,
    /// Rule that decided the category.
    pub category_reason: &'static str,
    /// Runtimes whose libraries are mapped.
    pub runtimes: Option<Vec<Runtime>>,
    /// Memory and engines by device; empty, with reason `not_listed`, for a process that could hold a
    /// context and was matched to no entry of the driver's.
    pub devices: Vec<Charge>,
    /// Models.
    pub models: Vec<Model>,
    /// Memory parts as the runtime reported them.
    pub segments_reported: Vec<SegmentReported>,
    /// Memory parts as computed.
    pub segments_estimated: Vec<SegmentEstimated>,
    /// The measured size, part by part, and what remains, of a process on one device; null where it is on
    /// several, where no part or no size is known.
    pub receipt: Option<Receipt>,
    /// The same with its parts for each device, as far as each part says on which it lies.
    pub receipts: Vec<ItemisedReceipt>,
    /// The model server it is.
    pub server: Option<Server>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// A match of a local process with the driver's entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PidMatch {
    /// `*` sure, `?` a guess.
    pub mark: &'static str,
    /// What it rests on (`count`, `start`), or why it is only a guess (`list_missing`, `unreadable`, `distrust`,
    /// `order_untrusted`, `more_host`, `more_local`, `late`).
    pub why: &'static str,
}

/// A container.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Container {
    /// Runtime.
    pub runtime: &'static str,
    /// Identifier, 12 characters where it is a hash.
    pub id: Text,
    /// Name, from the runtime's state file; why it is null stands in the process's provenance.
    pub name: Option<Text>,
    /// Name of the Kubernetes pod, from the same.
    pub pod_name: Option<Text>,
    /// Namespace of the pod, from the same.
    pub pod_namespace: Option<Text>,
    /// UID of the pod, from the control group's path.
    pub pod_uid: Option<Text>,
}

/// A runtime.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Runtime {
    /// Name.
    pub name: &'static str,
    /// Library, or what else showed it.
    pub library: Text,
}

/// What the process holds and does on one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Charge {
    /// The device.
    pub device_index: u32,
    /// The driver's lists that name it: `compute`, `graphics`, `mps`.
    pub lists: Vec<&'static str>,
    /// Partition in MIG mode; null outside it.
    pub mig_instance: Option<Instance>,
    /// Memory.
    pub memory: ChargeMemory,
    /// Engine load.
    pub engines: Engines,
    /// Basis of the owner: `start`, `count`, `order`; null where the driver names the owner.
    pub vram_inferred_by: Option<&'static str>,
    /// `*` or `?`; null where the driver names the owner.
    pub vram_mark: Option<&'static str>,
    /// Why `vram_bytes` is null; null where it is not.
    pub vram_unattributed_reason: Option<&'static str>,
    /// What its open nodes say; null for devices that are not read through the kernel's DRM.
    pub drm: Option<DrmClients>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// What the kernel says of a process's open nodes of one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrmClients {
    /// Openings of the device, copies of a descriptor counted once.
    pub clients: u32,
    /// What `memory.spill_bytes` is: `spill` beside a card's own memory; `shared` where the device has none or only a
    /// carve-out of the system's, so that it is no overflow; `unknown` where the kind of the device is.
    pub system_memory_role: &'static str,
    /// Numbers of the other processes that hold one of them too; `[]` where none was found.
    pub shared_with_pids: Vec<u32>,
    /// Every reason why memory is not charged, the first one first.
    pub vram_unattributed_all: Vec<&'static str>,
    /// Device memory that is shared with nobody, where nothing can be charged, bytes.
    pub vram_at_least_bytes: Option<u64>,
    /// Memory that the driver would rather have in the device and that is not there, bytes.
    pub displaced_vram_bytes: Option<u64>,
    /// Engines without a key of their own.
    pub other_engines: Vec<NamedEngine>,
    /// Memory by region, for reference.
    pub regions: Vec<DrmRegion>,
    /// What AMD's compute driver says of it; null where it does not know the process.
    pub kfd: Option<Kfd>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// What all clients of a process have in one region of memory, bytes; never to be added up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrmRegion {
    /// The driver's name for it.
    pub id: Text,
    /// All buffers, in memory or not.
    pub total_bytes: Option<u64>,
    /// Shared ones.
    pub shared_bytes: Option<u64>,
    /// What is there now.
    pub resident_bytes: Option<u64>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// Load of an engine by the driver's name for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedEngine {
    /// The name.
    pub id: Text,
    /// Load, percent.
    pub load_pct: Option<f64>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// What AMD's compute driver says of a process on a device. Its memory is part of what the nodes say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kfd {
    /// Allocated as device memory, bytes.
    pub vram_bytes: Option<u64>,
    /// Load of copy engines, percent.
    pub copy_pct: Option<f64>,
    /// Time its queues were off the device for lack of memory, milliseconds.
    pub evicted_ms: Option<u64>,
    /// Whether `vram_bytes` is what the process is charged.
    pub charged: bool,
    /// Why not: `in_clients`, `clients_uncharged`, `no_figure`, `partial_scan`, `exceeds_used`, `in_another_row`,
    /// `not_a_card`; null where it is.
    pub uncharged_reason: Option<&'static str>,
    /// The rule in a sentence.
    pub rule: &'static str,
    /// Compute units with work of it at this moment.
    pub occupied_units: Option<u32>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// A partition in MIG mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Instance {
    /// GPU instance.
    pub gpu: u32,
    /// Compute instance.
    pub compute: u32,
}

/// Memory of one process on one device, bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChargeMemory {
    /// Device memory.
    pub vram_bytes: Option<u64>,
    /// GPU-accessible system memory; what it is stands in `drm.system_memory_role`.
    pub spill_bytes: Option<u64>,
    /// Committed (Windows).
    pub commit_bytes: Option<u64>,
    /// Committed but not resident.
    pub paged_bytes: Option<u64>,
    /// Resident device memory, shared or not: for reference, never to be added up. Read of DRM devices only.
    pub vram_resident_bytes: Option<u64>,
    /// Resident GPU-accessible system memory, as above.
    pub gtt_resident_bytes: Option<u64>,
}

/// Engine load of one process on one device, percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Engines {
    /// The busiest engine.
    pub gpu_pct: Option<f64>,
    /// Graphics.
    pub graphics_pct: Option<f64>,
    /// Compute.
    pub compute_pct: Option<f64>,
    /// Memory activity.
    pub memory_pct: Option<f64>,
    /// Copy.
    pub copy_pct: Option<f64>,
    /// Video encoder.
    pub encode_pct: Option<f64>,
    /// Video decoder.
    pub decode_pct: Option<f64>,
    /// JPEG engine.
    pub jpeg_pct: Option<f64>,
    /// Optical flow accelerator.
    pub ofa_pct: Option<f64>,
    /// One ring for both directions of video.
    pub video_pct: Option<f64>,
}
