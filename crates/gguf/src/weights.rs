//! How many bytes of weights a model has, per layer. On which devices they are is told by [`crate::placement`].

use crate::header::Header;
use crate::kind::is_encoder;
use crate::limits::MAX_LAYERS;
use crate::role::{Role, role};
use crate::tensor::Tensor;

/// Bytes of one layer (`blk.N.…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayerWeights {
    /// Bytes of all its tensors.
    pub bytes: u64,
    /// Those of `bytes` that are weights of experts (`ffn_…_exps`), which llama.cpp can keep on the CPU.
    pub experts: u64,
}

/// Tensor bytes of a model by what they are. Real copies in memory can be more: repacked weights, and tied
/// embeddings once on each device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Weights {
    /// Bytes of all tensors.
    pub total: u64,
    /// By layer, from the first.
    pub layers: Vec<LayerWeights>,
    /// Bytes of the tables tokens are looked up in; always on the CPU.
    pub input: u64,
    /// Bytes of the token embedding alone, which is part of `input`.
    pub token_embedding: u64,
    /// Bytes of what follows the last layer.
    pub output: u64,
    /// Bytes of tensors whose place is not known here.
    pub other: u64,
    /// Whether there is no output matrix: the token embedding serves as one, and exists twice when the output is on
    /// a GPU.
    pub tied: bool,
    /// Bytes of tensors whose size is only an estimate; part of the others.
    pub uncertain: u64,
}

/// Which experts stay on the CPU (`--cpu-moe`, `--n-cpu-moe`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpertsOnCpu {
    /// They go where their layer goes.
    #[default]
    None,
    /// Those of the first so many layers stay on the CPU.
    FirstLayers(u64),
    /// All stay on the CPU.
    All,
    /// Not known.
    Unknown,
}

/// Bytes of tensors outside the `mapped` parts of the file, each an offset and a length.
///
/// llama.cpp unmaps what it has copied to a GPU (`mmap` loading on Linux; not on Metal), down to one span that holds
/// all that stays on the CPU: what lies outside is on GPUs, and some of what lies inside may be too.
pub fn bytes_outside(header: &Header, mapped: &[(u64, u64)]) -> u64 {
    let mut mapped: Vec<(u64, u64)> = mapped
        .iter()
        .map(|(offset, len)| (*offset, offset.saturating_add(*len)))
        .collect();
    mapped.sort_unstable();
    header.tensors.iter().fold(0, |sum: u64, tensor| {
        let start = header.data_offset.saturating_add(tensor.offset);
        let end = start.saturating_add(tensor.bytes);
        let mut reached = start;
        let mut outside = 0_u64;
        for (from, to) in &mapped {
            outside = outside.saturating_add((*from).min(end).saturating_sub(reached));
            reached = reached.max(*to);
        }
        sum.saturating_add(outside.saturating_add(end.saturating_sub(reached)))
    })
}

impl Weights {
    /// The weights of a file.
    pub fn of(header: &Header) -> Self {
        Self::of_parts([header])
    }

    /// The weights of a model that is split over files; the first of them tells the number of layers.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a Header>) -> Self {
        let mut weights = Self::default();
        let mut has_output = false;
        let mut encoder = false;
        let mut architecture = None;
        for header in parts {
            architecture = architecture.or(header.architecture());
            encoder |= header.architecture().is_some_and(is_encoder);
            if weights.layers.is_empty() {
                let layers = header.block_count().unwrap_or(0).min(MAX_LAYERS);
                let layers = usize::try_from(layers).unwrap_or(0);
                weights.layers.resize(layers, LayerWeights::default());
            }
            for tensor in &header.tensors {
                weights.total = weights.total.saturating_add(tensor.bytes);
                if !tensor.size_known {
                    weights.uncertain = weights.uncertain.saturating_add(tensor.bytes);
                }
                has_output |= &*tensor.name == "output.weight";
                weights.add(tensor, architecture);
            }
        }
        // An encoder has no output head that could share the embedding.
        weights.tied = weights.token_embedding > 0 && !has_output && !encoder;
        weights
    }

    fn add(&mut self, tensor: &Tensor, architecture: Option<&str>) {
        let sum = match role(&tensor.name, architecture) {
            Role::Layer { number, expert } => {
                match usize::try_from(number)
                    .ok()
                    .and_then(|number| self.layers.get_mut(number))
                {
                    Some(layer) => {
                        if expert {
                            layer.experts = layer.experts.saturating_add(tensor.bytes);
                        }
                        &mut layer.bytes
                    }
                    None => &mut self.other,
                }
            }
            Role::TokenEmbedding => {
                self.token_embedding = self.token_embedding.saturating_add(tensor.bytes);
                &mut self.input
            }
            Role::Input => &mut self.input,
            Role::Output => &mut self.output,
            Role::FirstLayer | Role::EveryLayer | Role::Other => &mut self.other,
        };
        *sum = sum.saturating_add(tensor.bytes);
    }
}
