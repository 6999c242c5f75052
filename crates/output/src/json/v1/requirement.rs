//! Keys of `inspect --json` and `fit --json`.

use model::Text;
use serde::Serialize;

use super::workload::SegmentEstimated;
use super::{ProvenanceMap, SourceEntry, Tool};

/// What a model file is and what a server needs for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InspectDocument {
    /// The schema of this document.
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    /// [`super::SCHEMA_VERSION`].
    pub schema_version: &'static str,
    /// Who wrote it.
    pub tool: Tool,
    /// The inspection.
    #[serde(flatten)]
    pub inspection: Inspection,
}

/// A model file and its need.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// When the file was read, RFC 3339 UTC.
    pub timestamp: Option<String>,
    /// The model by its header.
    pub model: InspectedModel,
    /// What it was computed with.
    pub settings: Vec<Setting>,
    /// What the numbers rest on beside the settings.
    pub assumptions: Vec<Text>,
    /// What a server would make of the settings, in sentences, where that is not what was asked for.
    pub remarks: Vec<Text>,
    /// What is needed with these settings.
    pub need: Need,
    /// The same for a row of contexts; empty where one was asked for or makes no difference.
    pub contexts: Vec<Need>,
    /// Reasons.
    pub provenance: ProvenanceMap,
}

/// A model by its file; keys mean what they mean in [`super::Model`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InspectedModel {
    /// Name.
    pub name: Text,
    /// Path as given, absolute.
    pub path: Option<Text>,
    /// File format.
    pub format: &'static str,
    /// Size of all parts, bytes.
    pub size_on_disk_bytes: Option<u64>,
    /// Architecture.
    pub architecture: Option<Text>,
    /// Quantization.
    pub quantization: Option<Text>,
    /// Number of weights.
    pub parameters: Option<u64>,
    /// Layers.
    pub layers: Option<u64>,
    /// Context it was trained for, tokens.
    pub context_trained: Option<u64>,
    /// Kind from the file.
    pub kind: &'static str,
    /// Whether the file is shorter than the tensors it declares.
    pub truncated: bool,
    /// Its files, by name.
    pub files: Vec<File>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// One file of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct File {
    /// Path.
    pub path: Text,
    /// Size, bytes; null where it was not found or cannot be read.
    pub size_bytes: Option<u64>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The option's name.
    pub name: &'static str,
    /// Its value.
    pub value: Text,
    /// Whether it was typed; else it is assumed.
    pub given: bool,
}

/// What one context needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Need {
    /// Tokens of all slots together; null where the model keeps none.
    pub context: Option<u64>,
    /// Tokens of all slots that a server has room for then; null where the model keeps none.
    pub context_allocated: Option<u64>,
    /// Tokens that one slot can have then; of slots that share one cache all.
    pub context_per_slot: Option<u64>,
    /// Tokens computed at once.
    pub batch: Option<u64>,
    /// Part by part.
    pub parts: Vec<SegmentEstimated>,
    /// Least on the device, bytes.
    pub gpu_low_bytes: u64,
    /// Most on the device, bytes; null where a part has no size.
    pub gpu_high_bytes: Option<u64>,
    /// Least in system memory, bytes.
    pub cpu_low_bytes: u64,
    /// Most in system memory, bytes; null where a part has no size.
    pub cpu_high_bytes: Option<u64>,
    /// Parts without a size.
    pub parts_missing: u32,
    /// Always `estimated`.
    pub class: &'static str,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// Whether a model fits beside what runs now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitDocument {
    /// The schema of this document.
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    /// [`super::SCHEMA_VERSION`].
    pub schema_version: &'static str,
    /// Who wrote it.
    pub tool: Tool,
    /// When the devices were read, RFC 3339 UTC.
    pub timestamp: Option<String>,
    /// The model and its need.
    pub inspection: Inspection,
    /// Each device that was asked for; empty where there is none.
    pub devices: Vec<DeviceFit>,
    /// Every source of devices that was tried.
    pub sources: Vec<SourceEntry>,
    /// Reasons.
    pub provenance: ProvenanceMap,
}

/// Whether it fits on one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceFit {
    /// What `--gpu` takes.
    pub index: u32,
    /// Marketing name.
    pub name: Option<Text>,
    /// Memory free now, bytes: measured, or all less the used.
    pub vram_free_bytes: Option<u64>,
    /// Least that a process takes beside its buffers, bytes.
    pub overhead_low_bytes: u64,
    /// Most that it takes, bytes.
    pub overhead_high_bytes: u64,
    /// `fits`, `may_fit`, `does_not_fit`, `unknown`.
    pub verdict: &'static str,
    /// Least that would be left, bytes; negative: so much is short. Null where a part has no size.
    pub spare_low_bytes: Option<i64>,
    /// Most that would be left, bytes.
    pub spare_high_bytes: Option<i64>,
    /// Largest context that surely fits, tokens, also beyond what the model was trained with; 0 is none, null where the
    /// model keeps none or nothing is known.
    pub largest_context_sure: Option<u64>,
    /// Largest context that may fit, tokens.
    pub largest_context_maybe: Option<u64>,
    /// No larger context was tried, tokens.
    pub largest_context_tried: Option<u64>,
    /// Idle processes without which the verdict is `verdict_after_unload`. Advice only.
    pub unload: Vec<Unload>,
    /// The verdict then; null where unloading is not needed or would not help.
    pub verdict_after_unload: Option<&'static str>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// A process whose models nobody uses now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unload {
    /// The process as tables show it: `123`.
    pub process: String,
    /// Its name.
    pub name: Option<Text>,
    /// Its models.
    pub models: Vec<Text>,
    /// What it holds on the device, bytes.
    pub vram_bytes: u64,
    /// What its server says: `ready` with no slot busy, or `sleeping`.
    pub server_state: &'static str,
    /// Of what a load of 0 was measured: `process`, or `device` where the process has no sample; null where neither.
    pub load_zero_of: Option<&'static str>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}
