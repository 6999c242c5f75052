//! From what is still mapped of a model file to what is on GPUs.

use std::fmt;

use crate::header::Header;
use crate::limits::MAX_LAYERS;
use crate::range::Range;
use crate::role::{Role, role};
use crate::weights::{ExpertsOnCpu, Weights, bytes_outside};

/// What a mapping says about where the weights are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mapping {
    /// The first layer on a GPU; `None` if no layer is.
    pub first_gpu_layer: Option<u64>,
    /// What `-ngl` must have been: at least and at most. It counts the output as one more layer, and where all layers
    /// are on GPUs it may have been any larger number.
    pub gpu_layers: (u64, u64),
    /// Bytes of weights on all GPUs together, tied embeddings included.
    pub gpu: Range,
    /// Bytes of weights that the CPU uses.
    pub cpu: Range,
    /// Bytes of tensors that are no longer mapped: a lower bound of what is on GPUs that assumes no order of tensors.
    pub unmapped: u64,
}

/// Why a mapping says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotReadable {
    /// No tensor is mapped: the file was copied (`--load-mode none`, or direct IO), or the server sleeps.
    NothingMapped,
    /// The tables that the CPU always keeps are not mapped, so that the mapping is not what a server leaves.
    InputNotMapped,
    /// Layers that are mapped and layers that are not alternate: tensors were placed one by one (`-ot`, `--cpu-moe`),
    /// or the file's order is not that of the layers.
    Scattered,
    /// The header does not say how many layers there are, or the file is one part of several.
    NoLayers,
}

impl fmt::Display for NotReadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingMapped => "no weights are mapped",
            Self::InputNotMapped => "the input tables are not mapped",
            Self::Scattered => "mapped and unmapped layers alternate",
            Self::NoLayers => "the header does not tell the layers of this file",
        })
    }
}

impl std::error::Error for NotReadable {}

/// Tells from the parts of the file that are mapped, each an offset and a length in bytes, which layers are on GPUs.
///
/// llama.cpp unmaps what it copied to GPUs, down to one span with all that stays on the CPU (checked on Linux with
/// Vulkan, none, 7 and all of 16 layers on the GPU, October 2026). It is for the caller to know that
///
/// * the file was loaded by mapping it, and loading is over: while it lasts, everything is mapped;
/// * the system is not one where GPUs use the mapping itself (Metal), and the file is not split;
/// * no tensors were placed by name: `-ot` and `--cpu-moe` leave a span that looks like fewer layers on GPUs. That is
///   noticed only where the span ends within a layer.
///
/// One layer counts as on a GPU if none of its tensors is mapped whole: pages at the ends of a span hold pieces of its
/// neighbours.
pub fn read_mapping(header: &Header, mapped: &[(u64, u64)]) -> Result<Mapping, NotReadable> {
    let layers = header
        .block_count()
        .filter(|layers| (1..=MAX_LAYERS).contains(layers) && header.split().is_none())
        .ok_or(NotReadable::NoLayers)?;
    let whole = |offset: u64, bytes: u64| {
        let start = header.data_offset.saturating_add(offset);
        let end = start.saturating_add(bytes);
        mapped
            .iter()
            .any(|(from, len)| *from <= start && end <= from.saturating_add(*len))
    };
    let mut found: Vec<Layer> = (0..layers).map(|_| Layer::default()).collect();
    let (mut input, mut any) = (true, false);
    for tensor in header.tensors.iter().filter(|tensor| tensor.bytes > 0) {
        let is_whole = whole(tensor.offset, tensor.bytes);
        any |= is_whole;
        match role(&tensor.name, header.architecture()) {
            Role::TokenEmbedding | Role::Input => input &= is_whole,
            Role::Layer { number, .. } => {
                let layer = usize::try_from(number)
                    .ok()
                    .and_then(|number| found.get_mut(number))
                    .ok_or(NotReadable::NoLayers)?;
                if is_whole {
                    layer.whole = true;
                } else {
                    layer.missing = true;
                }
            }
            _ => {}
        }
    }
    if !any {
        return Err(NotReadable::NothingMapped);
    }
    if !input {
        return Err(NotReadable::InputNotMapped);
    }
    // A layer with both kinds of tensors means that single tensors were placed.
    if found.iter().any(|layer| layer.whole && layer.missing) {
        return Err(NotReadable::Scattered);
    }
    let first = found.iter().position(|layer| layer.missing);
    let first = first.and_then(|first| u64::try_from(first).ok());
    let after = found
        .iter()
        .skip_while(|layer| !layer.missing)
        .any(|layer| layer.whole);
    if after {
        return Err(NotReadable::Scattered);
    }
    Ok(settle(header, mapped, layers, first))
}

/// What is known of a layer's tensors.
#[derive(Debug, Clone, Copy, Default)]
struct Layer {
    /// One is mapped whole.
    whole: bool,
    /// One is not.
    missing: bool,
}

fn settle(header: &Header, mapped: &[(u64, u64)], layers: u64, first: Option<u64>) -> Mapping {
    let weights = Weights::of(header);
    let count = |first| layers.saturating_add(1).saturating_sub(first);
    let gpu_layers = match first {
        // The output may be on a GPU alone, which leaves everything mapped.
        None => (0, 1),
        Some(0) => (count(0), u64::MAX),
        Some(first) => (count(first), count(first)),
    };
    let at = |gpu_layers| weights.placement(Some(gpu_layers), ExpertsOnCpu::None);
    let (low, high) = (at(gpu_layers.0), at(gpu_layers.1));
    Mapping {
        first_gpu_layer: first,
        gpu_layers,
        gpu: low.gpu.spanning(high.gpu),
        cpu: low.cpu.spanning(high.cpu),
        unmapped: bytes_outside(header, mapped),
    }
}
