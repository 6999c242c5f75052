//! A model: what it is, by its file and by what runs it.

use super::evidence::{Evidence, EvidenceLabel};
use crate::Text;
use crate::reading::{Measured, Provenance, Reading, Reported};
use crate::units::Bytes;

/// What a model does, from the keys of its file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ModelKind {
    /// Causal language model.
    Llm,
    /// Decision model.
    Decision,
    /// Embedding model.
    Embedding,
    /// Reranker.
    Reranker,
    /// Speech model.
    Speech,
    /// Image or video generation.
    Diffusion,
    /// Projector of a multimodal model.
    Projector,
    /// LoRA or another adapter.
    Adapter,
    /// The file does not tell.
    Unknown,
}

impl ModelKind {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Decision => "decision",
            Self::Embedding => "embedding",
            Self::Reranker => "reranker",
            Self::Speech => "speech",
            Self::Diffusion => "diffusion",
            Self::Projector => "projector",
            Self::Adapter => "adapter",
            Self::Unknown => "unknown",
        }
    }

    /// The name shown to a person.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Llm => "LLM",
            Self::Decision => "decision model",
            Self::Embedding => "embedding model",
            Self::Reranker => "reranker",
            Self::Speech => "speech model",
            Self::Diffusion => "image model",
            Self::Projector => "multimodal projector",
            Self::Adapter => "adapter",
            Self::Unknown => "unknown kind",
        }
    }
}

/// A model that a process has, by the evidence listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Identifier within the process: `m1`, `m2`, …
    pub id: Text,
    /// The header's name, else the file's, else what the server calls it.
    pub name: Text,
    /// What stores of models call this file (`llama3.2:3b`, `org/repo/file.gguf`), shortest first. Names
    /// only, never evidence.
    pub store_names: Vec<Text>,
    /// Path as the process sees it. Missing where only a server or a log named the model.
    pub path: Reading<Measured<Text>>,
    /// File format, e.g. `gguf`; `unknown` without a file.
    pub format: &'static str,
    /// File size, all parts together.
    pub size_on_disk: Reading<Measured<Bytes>>,
    /// Header: architecture.
    pub architecture: Reading<Measured<Text>>,
    /// Header: quantization label.
    pub quantization: Reading<Measured<Text>>,
    /// Header: number of weights.
    pub parameters: Reading<Measured<u64>>,
    /// Header: layers.
    pub layers: Reading<Measured<u64>>,
    /// Header: context it was trained for, in tokens.
    pub context_trained: Reading<Measured<u64>>,
    /// Context that the command line or the environment asks for, in tokens of all slots.
    pub context_requested: Reading<Measured<u64>>,
    /// Context in use, in tokens of one slot, as the runtime reported it.
    pub context_used: Reading<Reported<u64>>,
    /// Kind from the header, else from the server's word on it.
    pub kind: ModelKind,
    /// Kind that the name alone hints at. Changes neither kind nor label nor any size.
    pub kind_hint: Option<ModelKind>,
    /// How sure the identification is.
    pub label: EvidenceLabel,
    /// Why, strongest first.
    pub evidence: Vec<Evidence>,
    /// Two sources contradict each other; the sentence names both.
    pub conflict: Option<Text>,
    /// Loads and unloads that logs tell of, oldest first.
    pub events: Vec<ModelEvent>,
    /// Why the sizes in a log of the process are not used, as a sentence that names the log.
    pub log_unused: Option<Text>,
    /// Files that it is made of, where it is a set of several models (a pipeline); else empty.
    pub components: Vec<Component>,
    /// What the runtime says beside: quantization, expiry, size as it counts it.
    pub said: Vec<Said>,
}

impl Model {
    /// Whether a file of it is known. Of one that only a server or a log names, no header can tell anything.
    pub const fn has_file(&self) -> bool {
        matches!(self.path, Reading::Known(_))
    }

    /// The kind for a person: from the file where it tells, else the name's hint, marked as one.
    pub fn kind_label(&self) -> Text {
        match (self.kind, self.kind_hint) {
            (ModelKind::Unknown, Some(hint)) => format!("likely {} (name)", hint.label()).into(),
            (kind, _) => kind.label().into(),
        }
    }
}

/// A part of a pipeline, by its role.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The role: `transformer`, `vae`, `text_encoder`, …
    pub role: Text,
    /// Path as the process sees it.
    pub path: Text,
    /// File format.
    pub format: &'static str,
    /// File size, all parts together.
    pub size_on_disk: Reading<Measured<Bytes>>,
}

/// Something that a log tells of a model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ModelEvent {
    /// What happened.
    pub kind: ModelEventKind,
    /// When, microseconds since 1970 UTC; `None` where the log gives no time.
    pub wall_us: Option<i64>,
    /// Whether it is proven to have happened after the process started; `None` where that cannot be told.
    pub fresh: Option<bool>,
    /// The log's name.
    pub log: Text,
    /// How much memory was wanted, where it ran out and the log says so.
    pub bytes: Option<Bytes>,
}

/// What happened to a model.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ModelEventKind {
    /// It was loaded.
    Loaded,
    /// It was put to use.
    Used,
    /// It was unloaded.
    Unloaded,
    /// Device memory ran out.
    OutOfMemory,
}

impl ModelEventKind {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Used => "used",
            Self::Unloaded => "unloaded",
            Self::OutOfMemory => "out_of_memory",
        }
    }

    /// The name shown to a person.
    pub const fn label(self) -> &'static str {
        match self {
            Self::OutOfMemory => "out of memory",
            other => other.id(),
        }
    }
}

/// One more thing that a runtime says of itself or of a model, in its own words.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// What it is about, a stable code: `expires_at`, `build`, `queue`, …
    pub field: &'static str,
    /// The words.
    pub value: Text,
    /// Who said it, and when.
    pub by: Provenance,
}
