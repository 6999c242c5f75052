//! Parts of a process's memory.

use crate::Text;
use crate::reading::Reading;

/// Parts of a process's GPU memory.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum SegmentKind {
    /// Model weights.
    Weights,
    /// Key and value cache as reserved.
    Kv,
    /// The share of the cache that holds tokens: contained in [`Self::Kv`].
    KvUsed,
    /// Recurrent state.
    State,
    /// Compute buffers.
    Compute,
    /// Output buffers.
    Output,
    /// Multimodal projector.
    Projector,
    /// Draft model of speculative decoding: weights, cache and buffers.
    Draft,
    /// LoRA and other adapters.
    Adapter,
    /// Captured graphs of the runtime.
    Graphs,
    /// What the runtime has reserved beside the weights and not itemised, such as a pool for caches.
    Pool,
    /// What the allocator of a framework has reserved: contains the tensors of what it loaded.
    Allocator,
    /// The whole of a model as its server counts it: contains the other parts.
    Total,
}

impl SegmentKind {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Kv => "kv",
            Self::KvUsed => "kv_used",
            Self::State => "state",
            Self::Compute => "compute",
            Self::Output => "output",
            Self::Projector => "projector",
            Self::Draft => "draft",
            Self::Adapter => "adapter",
            Self::Graphs => "graphs",
            Self::Pool => "pool",
            Self::Allocator => "allocator",
            Self::Total => "total",
        }
    }

    /// The name shown to a person.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Kv => "KV",
            Self::KvUsed => "KV in use",
            Self::State => "state",
            Self::Compute => "compute",
            Self::Output => "output",
            Self::Projector => "projector",
            Self::Draft => "draft",
            Self::Adapter => "adapter",
            Self::Graphs => "graphs",
            Self::Pool => "pool",
            Self::Allocator => "allocator",
            Self::Total => "all of it",
        }
    }

    /// The letter in bars without colour.
    pub const fn letter(self) -> char {
        match self {
            Self::Weights => 'W',
            Self::Kv => 'K',
            Self::KvUsed => 'k',
            Self::State => 'S',
            Self::Compute => 'C',
            Self::Output => 'O',
            Self::Projector => 'P',
            Self::Draft => 'D',
            Self::Adapter => 'A',
            Self::Graphs => 'G',
            Self::Pool => 'L',
            Self::Allocator => 'R',
            Self::Total => 'T',
        }
    }

    /// Whether it lies beside the other parts. What is contained in another part, or contains the
    /// others, is never added up.
    pub const fn stands_alone(self) -> bool {
        !matches!(self, Self::KvUsed | Self::Total)
    }
}

/// Where a part lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Placement {
    /// In device memory.
    Gpu,
    /// In pinned system memory that the device reads: counted as spill, never as device memory.
    PinnedHost,
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
            Self::PinnedHost => "pinned_host",
            Self::Cpu => "cpu",
            Self::Unknown => "unknown",
        }
    }

    /// Whether some of it is, or may be, in device memory.
    pub const fn may_be_on_device(self) -> bool {
        matches!(self, Self::Gpu | Self::Unknown)
    }
}

/// One part of the memory, in the class `C`.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment<C> {
    /// Model it belongs to ([`Model::id`](super::Model::id)).
    pub model_id: Text,
    /// Which part.
    pub kind: SegmentKind,
    /// How large.
    pub bytes: Reading<C>,
    /// Where.
    pub placement: Placement,
    /// The device, where it is known which; `None` too where the process is on one device only.
    pub device_index: Option<u32>,
    /// Inputs of the arithmetic or the words of the report, for a person.
    pub inputs: Vec<(&'static str, Text)>,
}
