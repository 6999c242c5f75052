//! What a process does on the GPU: category, models, evidence, memory parts.

use crate::Text;
use crate::ids::Stamp;
use crate::reading::{Measured, Reading, Reported};
use crate::units::Bytes;

/// Kind of work, for grouping and colour. Decided per process by the first rule that fits.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Category {
    /// A language model.
    Llm,
    /// A decision model.
    Decision,
    /// Embedding or reranking.
    Embedding,
    /// Speech.
    Speech,
    /// Image or video generation.
    Diffusion,
    /// Training, on evidence only.
    Training,
    /// Another AI runtime.
    Ai,
    /// A web browser.
    Browser,
    /// Compositor or desktop.
    Desktop,
    /// A game or another 3D program.
    Graphics3d,
    /// Video playback, capture or encoding.
    Video,
    /// None of these.
    Other,
}

impl Category {
    /// All categories in display order.
    pub const ALL: &'static [Self] = &[
        Self::Llm,
        Self::Decision,
        Self::Embedding,
        Self::Speech,
        Self::Diffusion,
        Self::Training,
        Self::Ai,
        Self::Browser,
        Self::Desktop,
        Self::Graphics3d,
        Self::Video,
        Self::Other,
    ];

    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Decision => "decision",
            Self::Embedding => "embedding",
            Self::Speech => "speech",
            Self::Diffusion => "diffusion",
            Self::Training => "training",
            Self::Ai => "ai",
            Self::Browser => "browser",
            Self::Desktop => "desktop",
            Self::Graphics3d => "3d_game",
            Self::Video => "video",
            Self::Other => "other",
        }
    }

    /// The name shown in tables.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Llm => "LLM",
            Self::Decision => "decision",
            Self::Embedding => "embed",
            Self::Speech => "speech",
            Self::Diffusion => "image",
            Self::Training => "training",
            Self::Ai => "AI",
            Self::Browser => "browser",
            Self::Desktop => "desktop",
            Self::Graphics3d => "3D/game",
            Self::Video => "video",
            Self::Other => "other",
        }
    }

    /// The letter in bars without colour.
    pub const fn letter(self) -> char {
        match self {
            Self::Llm => 'L',
            Self::Decision => 'D',
            Self::Embedding => 'E',
            Self::Speech => 'S',
            Self::Diffusion => 'I',
            Self::Training => 'T',
            Self::Ai => 'A',
            Self::Browser => 'B',
            Self::Desktop => 'C',
            Self::Graphics3d => 'G',
            Self::Video => 'V',
            Self::Other => 'O',
        }
    }
}

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

/// One fact about a model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Evidence {
    /// What kind of fact.
    pub kind: EvidenceKind,
    /// The locator: a path, a flag, an endpoint.
    pub detail: Text,
    /// When it was seen.
    pub at: Stamp,
}

/// Kinds of evidence, strongest first.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum EvidenceKind {
    /// The process's own server names it as loaded.
    Api,
    /// The file is mapped.
    Mapped,
    /// The file is open.
    Open,
    /// An argument of the process resolves to it.
    CommandLine,
}

impl EvidenceKind {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Mapped => "mapped",
            Self::Open => "open",
            Self::CommandLine => "cmdline",
        }
    }

    /// The family it counts for: mapped and open are one fact of the kernel.
    pub const fn family(self) -> EvidenceFamily {
        match self {
            Self::Api => EvidenceFamily::Api,
            Self::Mapped | Self::Open => EvidenceFamily::Kernel,
            Self::CommandLine => EvidenceFamily::CommandLine,
        }
    }
}

/// Independent families of evidence.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum EvidenceFamily {
    /// Said by the server.
    Api,
    /// Shown by the kernel.
    Kernel,
    /// Asked for by whoever started it.
    CommandLine,
}

impl EvidenceFamily {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Kernel => "kernel",
            Self::CommandLine => "cmdline",
        }
    }
}

/// How sure the identification is. Says nothing about residency or activity.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum EvidenceLabel {
    /// One family.
    Likely,
    /// At least two families, the server or the kernel among them.
    Confirmed,
}

impl EvidenceLabel {
    /// The label that `kinds` earn, whatever their order.
    pub fn of(kinds: impl IntoIterator<Item = EvidenceKind>) -> Self {
        let mut families: Vec<EvidenceFamily> =
            kinds.into_iter().map(EvidenceKind::family).collect();
        families.sort_unstable();
        families.dedup();
        let strong = families
            .iter()
            .any(|family| *family != EvidenceFamily::CommandLine);
        if families.len() >= 2 && strong {
            Self::Confirmed
        } else {
            Self::Likely
        }
    }

    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Likely => "likely",
            Self::Confirmed => "confirmed",
        }
    }
}

/// A model that a process has, by the evidence listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Identifier within the process: `m1`, `m2`, …
    pub id: Text,
    /// The header's name, else the file's.
    pub name: Text,
    /// Path as the process sees it.
    pub path: Text,
    /// File format, e.g. `gguf`.
    pub format: &'static str,
    /// File size.
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
    /// Kind from the header.
    pub kind: ModelKind,
    /// How sure the identification is.
    pub label: EvidenceLabel,
    /// Why, strongest first.
    pub evidence: Vec<Evidence>,
}

/// Parts of a process's GPU memory.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum SegmentKind {
    /// Model weights.
    Weights,
    /// Key and value cache, or recurrent state.
    Kv,
    /// Compute buffers.
    Compute,
}

impl SegmentKind {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Kv => "kv",
            Self::Compute => "compute",
        }
    }
}

/// Where a part lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Placement {
    /// In device memory.
    Gpu,
    /// In system memory.
    Cpu,
    /// Not known how much lies where.
    Unknown,
}

impl Placement {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
            Self::Unknown => "unknown",
        }
    }
}

/// One part of the memory, in the class `C`.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment<C> {
    /// Model it belongs to ([`Model::id`]).
    pub model_id: Text,
    /// Which part.
    pub kind: SegmentKind,
    /// How large.
    pub bytes: Reading<C>,
    /// Where.
    pub placement: Placement,
    /// Inputs of the arithmetic or the words of the report, for a person.
    pub inputs: Vec<(&'static str, Text)>,
}

/// State of a model server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ServerState {
    /// Ready.
    Ready,
    /// Loading its model.
    Loading,
    /// Asleep: model unloaded until the next request. It is not asked further.
    Sleeping,
    /// Wants a key; nothing more is asked.
    KeyRequired,
    /// Could not be asked, see the reading's gap.
    Unreachable,
}

impl ServerState {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Loading => "loading",
            Self::Sleeping => "sleeping",
            Self::KeyRequired => "key_required",
            Self::Unreachable => "unreachable",
        }
    }
}

/// What a model server says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Which server.
    pub kind: &'static str,
    /// Its port on loopback; where a forwarder listens there, the port that was published.
    pub port: u16,
    /// The server's own port within its network namespace, where a forwarder leads to it.
    pub own_port: Option<u16>,
    /// Its state.
    pub state: ServerState,
    /// Context per slot, in tokens.
    pub context: Reading<Reported<u64>>,
    /// Number of slots.
    pub slots: Reading<Reported<u64>>,
    /// When it last answered.
    pub at: Stamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use EvidenceKind::{Api, CommandLine, Mapped, Open};

    #[test]
    fn mapped_and_open_are_one_fact() {
        assert_eq!(EvidenceLabel::of([Mapped, Open]), EvidenceLabel::Likely);
        assert_eq!(
            EvidenceLabel::of([Mapped, CommandLine]),
            EvidenceLabel::Confirmed
        );
        assert_eq!(EvidenceLabel::of([Api, Open]), EvidenceLabel::Confirmed);
        assert_eq!(EvidenceLabel::of([CommandLine]), EvidenceLabel::Likely);
    }

    #[test]
    fn more_evidence_never_lowers_the_label() {
        let all = [Api, Mapped, Open, CommandLine];
        for subset in 1_u32..16 {
            let pick = |bits: u32| {
                all.iter()
                    .enumerate()
                    .filter(move |(i, _)| bits & (1 << i) != 0)
                    .map(|(_, k)| *k)
            };
            for extra in 0..4 {
                let more = subset | (1 << extra);
                assert!(EvidenceLabel::of(pick(more)) >= EvidenceLabel::of(pick(subset)));
            }
        }
    }

    #[test]
    fn category_letters_and_names_are_unique() {
        let letters: std::collections::BTreeSet<_> =
            Category::ALL.iter().map(|c| c.letter()).collect();
        let ids: std::collections::BTreeSet<_> = Category::ALL.iter().map(|c| c.id()).collect();
        assert_eq!(
            (letters.len(), ids.len()),
            (Category::ALL.len(), Category::ALL.len())
        );
        assert!(!letters.contains(&'U'), "U is the unattributed remainder");
    }
}
