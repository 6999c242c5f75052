//! From what is still mapped of a model file to what is on GPUs.

use std::fmt;

use crate::header::Header;
use crate::limits::MAX_LAYERS;
use crate::range::Range;
use crate::role::{Role, role};
use crate::weights::bytes_outside;

use super::offload::Offload;
use super::plan::place;
use super::repack::Repack;

/// What a mapping says about where the weights are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mapping {
    /// The first layer on a GPU, where exactly one number of layers fits and it is not none.
    pub first_gpu_layer: Option<u64>,
    /// What `-ngl` must have been: at least and at most. It counts the output as one more layer, and where all layers
    /// are on GPUs it may have been any larger number.
    pub gpu_layers: (u64, u64),
    /// Bytes of weights on all GPUs together, tied embeddings included.
    pub gpu: Range,
    /// Bytes of weights that the CPU uses.
    pub cpu: Range,
    /// Bytes of tensors that are no longer mapped.
    pub unmapped: u64,
}

/// Why a mapping says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotReadable {
    /// No tensor is mapped whole: the file was copied (`--load-mode none`, or direct IO), or the server sleeps.
    NothingMapped,
    /// The tables that the CPU always keeps are not mapped, so that the mapping is not what a server leaves.
    InputNotMapped,
    /// What is mapped is what no number of layers leaves: tensors were placed one by one (`-ot`, `--cpu-moe`), or
    /// repacked.
    Scattered,
    /// The header does not say how many layers there are, or the file is one part of several.
    NoLayers,
}

impl fmt::Display for NotReadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingMapped => "no weights are mapped",
            Self::InputNotMapped => "the input tables are not mapped",
            Self::Scattered => "no number of layers leaves such a mapping",
            Self::NoLayers => "the header does not tell the layers of this file",
        })
    }
}

impl std::error::Error for NotReadable {}

/// Pages are not larger on any system with a GPU.
const MAX_PAGE: u64 = 64 * 1024;

/// Tells from the parts of the file that are mapped, each an offset and a length in bytes, which layers are on GPUs.
///
/// llama.cpp unmaps what it copied to GPUs, down to one span, in whole pages, from the first to the last tensor that
/// the CPU reads; the file's last page may stay, too. Every number of layers is tried, and those that leave what is
/// mapped are the answer: often one, but all of them where the file ends with a table that every layer uses, as some
/// of Gemma 4 do. Checked on Linux with one, two and three Vulkan devices, 7 models, October 2026.
///
/// It is for the caller to know that
///
/// * the file was loaded by mapping it, and loading is over: while it lasts, everything is mapped;
/// * the system is not one where GPUs use the mapping itself (Metal), and the file is not split;
/// * no tensors were placed by name: with `-ot` or `--cpu-moe` the span often looks like one of fewer layers on GPUs;
/// * nothing is repacked, as with every GPU backend but Metal; where it is, the span often fits no number of layers.
pub fn read_mapping(header: &Header, mapped: &[(u64, u64)]) -> Result<Mapping, NotReadable> {
    let layers = header
        .block_count()
        .filter(|layers| (1..=MAX_LAYERS).contains(layers) && header.split().is_none())
        .ok_or(NotReadable::NoLayers)?;
    let extents = merged(mapped);
    let whole = |span: Span| {
        extents
            .iter()
            .any(|(from, to)| *from <= span.from && span.to <= *to)
    };
    let spans = Spans::of(header, layers)?;
    if !spans.each.iter().any(|span| whole(*span)) {
        return Err(NotReadable::NothingMapped);
    }
    if spans.input.is_some_and(|input| !whole(input)) {
        return Err(NotReadable::InputNotMapped);
    }
    let page = page_size(mapped);
    // From none on GPUs to all, each as what `-ngl` would be.
    let fits: Vec<u64> = (0..=layers.saturating_add(1))
        .filter(|gpu_layers| {
            let variants = [false, true].map(|other| spans.left(layers, *gpu_layers, other));
            variants
                .into_iter()
                .flatten()
                .any(|span| leaves(span, &extents, page))
        })
        .collect();
    let (Some(low), Some(high)) = (fits.first().copied(), fits.last().copied()) else {
        return Err(NotReadable::Scattered);
    };
    let all = layers.saturating_add(1);
    let plan = |gpu_layers| {
        let offload = Offload {
            gpus: 1,
            gpu_layers: Some(gpu_layers),
            repack: Repack::Off,
            ..Offload::default()
        };
        place([header], &offload).devices
    };
    let (least, most) = (plan(low), plan(high));
    let first = all.saturating_sub(low);
    Ok(Mapping {
        first_gpu_layer: (low == high && first < layers).then_some(first),
        gpu_layers: (low, if high == all { u64::MAX } else { high }),
        gpu: least.gpu.spanning(most.gpu),
        cpu: least.cpu.spanning(most.cpu),
        unmapped: bytes_outside(header, mapped),
    })
}

/// From one byte of the file to behind another.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: u64,
    to: u64,
}

impl Span {
    fn joined(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        }
    }
}

fn join(spans: impl IntoIterator<Item = Option<Span>>) -> Option<Span> {
    spans.into_iter().flatten().reduce(Span::joined)
}

/// Spans of tensors by what they are for.
struct Spans {
    each: Vec<Span>,
    input: Option<Span>,
    first_layer: Option<Span>,
    every_layer: Option<Span>,
    output: Option<Span>,
    other: Option<Span>,
    /// Of all layers up to each.
    layers: Vec<Option<Span>>,
}

impl Spans {
    fn of(header: &Header, layers: u64) -> Result<Self, NotReadable> {
        let mut spans = Self {
            each: Vec::new(),
            input: None,
            first_layer: None,
            every_layer: None,
            output: None,
            other: None,
            layers: (0..layers).map(|_| None).collect(),
        };
        for tensor in header.tensors.iter().filter(|tensor| tensor.bytes > 0) {
            let from = header.data_offset.saturating_add(tensor.offset);
            let to = from.saturating_add(tensor.bytes);
            let span = Span { from, to };
            spans.each.push(span);
            let sum = match role(&tensor.name, header.architecture()) {
                Role::TokenEmbedding | Role::Input => &mut spans.input,
                Role::FirstLayer => &mut spans.first_layer,
                Role::EveryLayer => &mut spans.every_layer,
                Role::Output => &mut spans.output,
                Role::Other => &mut spans.other,
                Role::Layer { number, .. } => usize::try_from(number)
                    .ok()
                    .and_then(|number| spans.layers.get_mut(number))
                    .ok_or(NotReadable::NoLayers)?,
            };
            *sum = join([*sum, Some(span)]);
        }
        let mut reached = None;
        for layer in &mut spans.layers {
            reached = join([reached, *layer]);
            *layer = reached;
        }
        Ok(spans)
    }

    /// What the CPU reads with `-ngl gpu_layers`, with or without tensors whose place is not known.
    fn left(&self, layers: u64, gpu_layers: u64, other: bool) -> Option<Span> {
        let first = layers.saturating_add(1).saturating_sub(gpu_layers);
        let last_on_cpu = usize::try_from(first.min(layers)).ok()?.checked_sub(1);
        let on_cpu = last_on_cpu.and_then(|last| self.layers.get(last).copied().flatten());
        let some = |condition: bool, span: Option<Span>| span.filter(|_| condition);
        join([
            self.input,
            on_cpu,
            some(first > 0, self.first_layer),
            some(first > 0, self.every_layer),
            some(gpu_layers == 0, self.output),
            some(other, self.other),
        ])
    }
}

/// Whether unmapping all but `span` leaves these parts: the pages of the span, and perhaps the last one of the file.
fn leaves(span: Span, extents: &[(u64, u64)], page: u64) -> bool {
    let is_near = |a: u64, b: u64| a.abs_diff(b) < page;
    extents.iter().all(|(from, to)| {
        let is_span = *from <= span.from
            && span.to <= *to
            && is_near(*from, span.from)
            && is_near(*to, span.to);
        let is_tail = to.saturating_sub(*from) <= page && *from >= span.to;
        is_span || is_tail
    }) && extents
        .iter()
        .any(|(from, to)| *from <= span.from && span.to <= *to)
}

/// The parts in order, those that touch as one; each from an offset to another.
fn merged(mapped: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut parts: Vec<(u64, u64)> = mapped
        .iter()
        .map(|(offset, len)| (*offset, offset.saturating_add(*len)))
        .collect();
    parts.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (from, to) in parts {
        match merged.last_mut() {
            Some((_, reached)) if from <= *reached => *reached = (*reached).max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The largest power of two that all parts begin and end at.
fn page_size(mapped: &[(u64, u64)]) -> u64 {
    let bits = mapped
        .iter()
        .fold(MAX_PAGE, |bits, (offset, len)| bits | offset | len);
    1 << bits.trailing_zeros()
}
