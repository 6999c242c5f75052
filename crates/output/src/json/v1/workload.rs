//! Keys of models, memory parts and servers.

use std::collections::BTreeMap;

use model::Text;
use serde::Serialize;

use super::ProvenanceMap;

/// A model that a process has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// Identifier within the process.
    pub id: Text,
    /// Name.
    pub name: Text,
    /// What stores of models call this file, shortest first.
    pub store_names: Vec<Text>,
    /// Path as the process sees it; null where only a server or a log named the model.
    pub path: Option<Text>,
    /// File format.
    pub format: &'static str,
    /// File size, bytes.
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
    /// Context that was asked for, all slots together, tokens.
    pub context_requested: Option<u64>,
    /// Context in use, of one slot, tokens.
    pub context_used: Option<u64>,
    /// Kind from the file.
    pub kind: &'static str,
    /// Kind that the name alone hints at. Changes neither kind nor label.
    pub kind_hint: Option<&'static str>,
    /// Kind for a person.
    pub kind_label: Text,
    /// `candidate`, `history`, `likely`, `confirmed`.
    pub label: &'static str,
    /// Why, strongest first.
    pub evidence: Vec<Evidence>,
    /// Sources that contradict each other.
    pub conflict: Option<Text>,
    /// Loads and unloads that logs tell of, oldest first.
    pub events: Vec<ModelEvent>,
    /// Why the sizes in a log of the process are not used; null where they are, or there is none.
    pub log_unused: Option<Text>,
    /// Parts of a pipeline; empty for a single model.
    pub components: Vec<Component>,
    /// What the runtime says beside.
    pub said: Vec<Said>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// One fact about a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// `api`, `mapped`, `open`, `cmdline`, `log`, `settings`, `installed`.
    pub source: &'static str,
    /// `api`, `kernel`, `cmdline`, `log`; `none` where it is no evidence that anything is loaded.
    pub family: &'static str,
    /// A path, a flag, an endpoint.
    pub detail: Text,
    /// Age at `timestamp`, milliseconds.
    pub age_ms: u64,
}

/// Something that a log tells of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelEvent {
    /// `loaded`, `used`, `unloaded`.
    pub event: &'static str,
    /// When, RFC 3339 UTC.
    pub at: Option<String>,
    /// Whether it happened after the process started.
    pub fresh: Option<bool>,
    /// The log's name.
    pub log: Text,
    /// How much memory was wanted, where it ran out; null where it did not, or nothing says how much.
    pub bytes: Option<u64>,
    /// Reasons.
    pub provenance: ProvenanceMap,
}

/// A part of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Component {
    /// `transformer`, `vae`, `text_encoder`, …
    pub role: Text,
    /// Path as the process sees it.
    pub path: Text,
    /// File format.
    pub format: &'static str,
    /// File size, bytes.
    pub size_on_disk_bytes: Option<u64>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// One more thing that a runtime says, in its own words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Said {
    /// What it is about: `expires_at`, `build`, `queue`, …
    pub field: &'static str,
    /// The words.
    pub value: Text,
    /// Who said it: `http`, `log`.
    pub source: &'static str,
    /// Where it said it.
    pub counter: &'static str,
    /// Age at `timestamp`, milliseconds.
    pub age_ms: u64,
}

/// A memory part as the runtime reported it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentReported {
    /// [`Model::id`].
    pub model_id: Text,
    /// `weights`, `kv`, `kv_used` (contained in `kv`), `state`, `compute`, `output`, `projector`, `draft`,
    /// `adapter`, `graphs`, `pool`, `total` (contains the others).
    pub segment: &'static str,
    /// Bytes.
    pub bytes: Option<u64>,
    /// Device, where it is known.
    pub device_index: Option<u32>,
    /// `gpu`, `pinned_host`, `cpu`, `unknown`.
    pub placement: &'static str,
    /// Who said it.
    pub source: &'static str,
    /// When, RFC 3339 UTC.
    pub observed_at: Option<String>,
    /// Words of the report.
    pub inputs: BTreeMap<&'static str, Text>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// A memory part as computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentEstimated {
    /// [`Model::id`].
    pub model_id: Text,
    /// `weights`, `kv`, `kv_used` (contained in `kv`), `state`, `compute`, `output`, `projector`, `draft`,
    /// `adapter`, `graphs`, `pool`, `total` (contains the others).
    pub segment: &'static str,
    /// Smallest size that fits what is known, bytes.
    pub bytes_low: Option<u64>,
    /// Largest size that fits what is known, bytes.
    pub bytes_high: Option<u64>,
    /// Device, where it is known.
    pub device_index: Option<u32>,
    /// `gpu`, `pinned_host`, `cpu`, `unknown`.
    pub placement: &'static str,
    /// How it was computed.
    pub method: Option<&'static str>,
    /// What it was computed from.
    pub inputs: BTreeMap<&'static str, Text>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// One part on a receipt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReceiptLine {
    /// [`Model::id`].
    pub model_id: Text,
    /// As in [`SegmentEstimated::segment`].
    pub segment: &'static str,
    /// `reported` or `estimated`.
    pub class: &'static str,
    /// Least, bytes.
    pub bytes_low: Option<u64>,
    /// Most, bytes; the same as the least where it is exact.
    pub bytes_high: Option<u64>,
    /// `gpu`, `pinned_host`, `cpu`, `unknown`: of the last, nothing to all of it counts.
    pub placement: &'static str,
    /// `counted`: taken from the measured size. `replaced`: an estimate beside the report that counts. `contained`:
    /// in another part, or containing the others. `elsewhere`: not in this memory. `size_unknown`: in the remainder.
    pub standing: &'static str,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// What remains of a measured size when the known parts are taken away.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Receipt {
    /// Device of the measured size.
    pub device_index: u32,
    /// The measured size, bytes.
    pub measured_bytes: u64,
    /// Smallest remainder, bytes; negative where the parts claim more than was measured.
    pub remainder_low_bytes: i64,
    /// Largest remainder, bytes.
    pub remainder_high_bytes: i64,
    /// Parts without a size, which the remainder contains.
    pub parts_missing: u32,
    /// Always `estimated`.
    pub class: &'static str,
    /// What the remainder means.
    pub note: &'static str,
}

/// A receipt with its parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ItemisedReceipt {
    /// The sizes.
    #[serde(flatten)]
    pub receipt: Receipt,
    /// Every part that is known of.
    pub lines: Vec<ReceiptLine>,
    /// Classes and reasons.
    pub provenance: ProvenanceMap,
}

/// What a model server says of itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Server {
    /// Which server.
    pub kind: &'static str,
    /// Port on loopback.
    pub port: u16,
    /// The server's own port in its network namespace; null where it is reached without a forwarder.
    pub own_port: Option<u16>,
    /// Number of the process that answered, where it is another one.
    pub answered_by: Option<u32>,
    /// `ready`, `loading`, `sleeping`, `router`, `key_required`, `unreachable`.
    pub state: &'static str,
    /// Context per slot, tokens.
    pub context: Option<u64>,
    /// Slots, or requests served at once.
    pub slots_total: Option<u64>,
    /// Slots or requests at work.
    pub slots_busy: Option<u64>,
    /// Tokens that the cache holds, all slots together.
    pub cached_tokens: Option<u64>,
    /// Tokens generated per second.
    pub tokens_per_s: Option<f64>,
    /// Age of its last answer at `timestamp`, milliseconds.
    pub age_ms: u64,
    /// What it was asked and how that went, by path.
    pub endpoints: BTreeMap<Text, EndpointStatus>,
    /// What else it says of itself.
    pub said: Vec<Said>,
}

/// How asking an endpoint went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndpointStatus {
    /// `ok`, `disabled`, `key_required`, `loading`, `not_asked`, `unexpected`, `failed`.
    pub state: &'static str,
    /// HTTP status of an unexpected answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}
