//! What logs of model programs tell: which models are loaded, of what sizes, and what happened to them.
//!
//! Pure: the lines come from [`raw::logs`], which keeps numbers and names of models and nothing else of a log. One
//! file a family, one table. A size that a log prints is a report of the program; nothing here estimates.

mod diffusion;
mod llama;
mod memory;
mod ollama;
mod parts;
mod serving;
mod whisper;

use model::{Bytes, ModelEventKind, PciAddress, Placement, SegmentKind, Text};
use raw::logs::{KeptLine, LineTime};

pub use ollama::of_runner;

/// What one family's lines of a log tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// The family, a stable code.
    pub family: &'static str,
    /// Models of the last load.
    pub models: Vec<LoadedModel>,
    /// Whether that load has come to its end, so that its sizes are all there.
    pub complete: bool,
    /// What happened, oldest first, of earlier loads too.
    pub events: Vec<ToldEvent>,
    /// Places on the bus of the devices that the lines name.
    pub devices: Vec<(Text, PciAddress)>,
    /// The port that the program listens on.
    pub port: Option<u16>,
}

/// A model that a log tells of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedModel {
    /// Its file, as the program names it; `None` where no line does.
    pub path: Option<Text>,
    /// What the program calls it, where it has no file.
    pub name: Option<Text>,
    /// Whether it drafts for another.
    pub is_draft: bool,
    /// Its memory.
    pub parts: Vec<ToldPart>,
    /// Context in use, in tokens of one slot.
    pub context: Option<u64>,
    /// Number of slots.
    pub slots: Option<u64>,
    /// Whether the slots share one cache.
    pub unified: Option<bool>,
    /// Layers on devices, and of how many; the output layer counts.
    pub offloaded: Option<(u64, u64)>,
    /// Tokens that the cache has room for.
    pub cache_tokens: Option<u64>,
    /// Tokens of a micro-batch.
    pub ubatch: Option<u64>,
    /// Tokens of a batch.
    pub batch: Option<u64>,
    /// Types of keys and values in the cache.
    pub cache_types: Option<(Text, Text)>,
}

/// A size that a log reports.
#[derive(Clone, Debug, PartialEq)]
pub struct ToldPart {
    /// Of what.
    pub kind: SegmentKind,
    /// Where it lies, by the name of the buffer.
    pub placement: Placement,
    /// The buffer's name as the program prints it; empty where it does not.
    pub device: Text,
    /// How large. Printed with two decimals of `MiB` (llama.cpp) or of GiB (vLLM).
    pub bytes: Bytes,
    /// The size is the span of a mapped file between the first and the last tensor that stays there: what lies
    /// between may be on a device too.
    pub is_span: bool,
}

/// Something that happened to a model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToldEvent {
    /// What.
    pub kind: ModelEventKind,
    /// Its file, as the program names it.
    pub path: Option<Text>,
    /// What the program calls it.
    pub name: Option<Text>,
    /// When.
    pub at: Option<LineTime>,
    /// How much memory was wanted, where it ran out.
    pub bytes: Option<Bytes>,
}

/// A family: what its lines among these tell; nothing where there are none. `cut` says that the beginning of the log
/// is missing.
type Family = fn(lines: &[KeptLine], cut: bool) -> Option<Told>;

/// All families.
const FAMILIES: &[Family] = &[
    llama::told,
    ollama::told,
    serving::vllm,
    serving::sglang,
    whisper::told,
    diffusion::told,
    memory::told,
];

/// What these lines tell, by family.
pub fn told(lines: &[KeptLine], cut: bool) -> Vec<Told> {
    let told = FAMILIES.iter().filter_map(|family| family(lines, cut));
    told.collect()
}

/// What the bytes of a log tell, by family: the whole way from bytes to sizes. Never fails, whatever they are.
pub fn told_by_bytes(bytes: &[u8]) -> Vec<Told> {
    told(&raw::logs::kept(bytes), false)
}

#[cfg(test)]
mod tests;
