//! From structure and settings to bytes.

use crate::header::Header;
use crate::range::Range;

use super::assumption::Assumption;
use super::cells::{Cells, Request};
use super::settings::{CacheType, Era, KvSettings};
use super::structure::{Layer, Structure};
use super::why_not::WhyNot;

/// What a server shrinks an unset context to at most, to make it fit (`--fit`).
const LEAST_FITTED_CONTEXT: u64 = 4096;

/// Slots assumed at most where they are not known: twice the default of llama-server. More are possible, but then
/// stand on a command line.
const MOST_UNKNOWN_SLOTS: u32 = 8;

/// Tokens computed at once, where not known: from the smallest batch in use to llama-server's logical batch.
const UNKNOWN_BATCH: (u32, u32) = (32, 2048);

/// Where types are not known: the smallest in use, and the default.
const UNKNOWN_TYPES: &[CacheType] = &[CacheType::Q4_0, CacheType::F16];

/// What a part of the memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheKind {
    /// Keys and values of all tokens.
    Full,
    /// Keys and values within a sliding window.
    Windowed,
    /// Index keys of sparse attention.
    Index,
    /// State of recurrent layers.
    State,
}

/// One part of the memory. llama.cpp logs a buffer size for each, per device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvPart {
    /// What it is.
    pub kind: CacheKind,
    /// Layers that have it.
    pub layers: u64,
    /// The tokens it has room for in all slots together: least and most; 0 for states.
    pub cells: (u64, u64),
    /// Its size.
    pub bytes: Range,
    /// Its size by layer, from the first; 0 in layers that do not have it.
    pub by_layer: Vec<Range>,
}

/// Bytes of all caches and states of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KvEstimate {
    /// The least, in bytes.
    pub low: u64,
    /// The most, in bytes; the same as `low` where all that matters is known.
    pub high: u64,
    /// What it consists of.
    pub parts: Vec<KvPart>,
    /// By layer, from the first, those for multi-token prediction included.
    pub layers: Vec<Range>,
    /// What was not known and is assumed.
    pub assumptions: Vec<Assumption>,
}

impl KvEstimate {
    /// Both bounds.
    pub fn range(&self) -> Range {
        Range::between(self.low, self.high)
    }
}

/// One choice of every setting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) request: Request,
    keys: CacheType,
    values: CacheType,
    /// States a slot has, the current one included.
    states: u64,
    pub(crate) flash_attention: bool,
}

/// How much the caches and states of a server with this model take. Where settings are unknown, the bounds span what
/// it could have chosen. One context only: a draft model's, or one for multi-token prediction, comes on top.
pub fn estimate(header: &Header, settings: &KvSettings) -> Result<KvEstimate, WhyNot> {
    estimate_of(header, &Structure::of(header)?, settings)
}

/// As [`estimate`], for the context in which a model's own layers for multi-token prediction draft (`--spec-type draft-mtp`):
/// keys and values of those layers, all tokens of the context. Not checked against a log.
///
/// A draft model has a context of its own: [`estimate`] with its header, the same context and slots, and the types of
/// `-ctkd` and `-ctvd`.
pub fn estimate_prediction(header: &Header, settings: &KvSettings) -> Result<KvEstimate, WhyNot> {
    let mut estimate = estimate_of(header, &Structure::prediction(header)?, settings)?;
    estimate.assumptions.push(Assumption::PredictionLayers);
    Ok(estimate)
}

fn estimate_of(
    header: &Header,
    structure: &Structure,
    settings: &KvSettings,
) -> Result<KvEstimate, WhyNot> {
    let contexts = contexts(header, settings, structure)?;
    let mut result: Option<KvEstimate> = None;
    let mut refused = None;
    for choice in choices(settings, contexts) {
        match measure(structure, choice) {
            Ok(measured) => match &mut result {
                Some(result) => result.span(&measured),
                None => result = Some(measured),
            },
            Err(why) => refused = Some(why),
        }
    }
    let mut result =
        result.ok_or_else(|| refused.unwrap_or(WhyNot::Malformed("context length")))?;
    result.assumptions = assumptions(settings, contexts, structure);
    Ok(result)
}

impl KvEstimate {
    fn span(&mut self, other: &Self) {
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        for (layer, other) in self.layers.iter_mut().zip(&other.layers) {
            *layer = layer.spanning(*other);
        }
        // Builds of some eras have no windowed part: it is 0 there.
        for part in &mut self.parts {
            if !other.parts.iter().any(|other| other.kind == part.kind) {
                part.lower_to_nothing();
            }
        }
        for other in &other.parts {
            if !self.parts.iter().any(|part| part.kind == other.kind) {
                let mut missing = other.clone();
                missing.lower_to_nothing();
                self.parts.push(missing);
            }
            let Some(part) = self.parts.iter_mut().find(|part| part.kind == other.kind) else {
                continue;
            };
            part.layers = part.layers.max(other.layers);
            part.bytes = part.bytes.spanning(other.bytes);
            part.cells = (
                part.cells.0.min(other.cells.0),
                part.cells.1.max(other.cells.1),
            );
            for (layer, other) in part.by_layer.iter_mut().zip(&other.by_layer) {
                *layer = layer.spanning(*other);
            }
        }
    }
}

impl KvPart {
    fn lower_to_nothing(&mut self) {
        self.bytes.low = 0;
        self.cells.0 = 0;
        for layer in &mut self.by_layer {
            layer.low = 0;
        }
    }
}

/// The least and the most context, in tokens. 0 where the context does not matter and is not known.
pub(crate) fn contexts(
    header: &Header,
    settings: &KvSettings,
    structure: &Structure,
) -> Result<(u64, u64), WhyNot> {
    let trained = header.context_length().filter(|tokens| *tokens > 0);
    match (settings.context, trained) {
        (Some(tokens), _) if tokens > 0 => Ok((tokens, tokens)),
        (Some(_), Some(trained)) => Ok((trained, trained)),
        (None, Some(trained)) => Ok((trained.min(LEAST_FITTED_CONTEXT), trained)),
        (_, None) if !structure.layers.iter().any(|layer| layer.cached) => Ok((1, 1)),
        (_, None) => Err(WhyNot::Missing("context_length")),
    }
}

pub(crate) fn choices(settings: &KvSettings, contexts: (u64, u64)) -> impl Iterator<Item = Choice> {
    let slots = match settings.parallel {
        Some(slots) => slots..=slots,
        None => 1..=MOST_UNKNOWN_SLOTS,
    };
    let either = |known: Option<bool>| match known {
        Some(known) => vec![known],
        None => vec![false, true],
    };
    let types = |known: Option<CacheType>| match known {
        Some(known) => vec![known],
        None => UNKNOWN_TYPES.to_vec(),
    };
    let batches = match settings.ubatch {
        Some(known) => (known, known),
        None => UNKNOWN_BATCH,
    };
    let states = u64::from(settings.rollback.unwrap_or(0)).saturating_add(1);
    let mut choices = Vec::new();
    for slots in slots {
        for unified in either(settings.unified) {
            for (context, ubatch) in [(contexts.0, batches.0), (contexts.1, batches.1)] {
                for (era, flash_attention) in eras(settings, &either(settings.flash_attention)) {
                    let request = Request {
                        context,
                        slots: u64::from(slots),
                        unified,
                        ubatch: u64::from(ubatch),
                        swa_full: settings.swa_full,
                        flash_attention,
                        era,
                    };
                    for keys in types(settings.type_k) {
                        for values in types(settings.type_v) {
                            choices.push(Choice {
                                request,
                                keys,
                                values,
                                states,
                                flash_attention,
                            });
                        }
                    }
                }
            }
        }
    }
    choices.into_iter()
}

fn eras(settings: &KvSettings, flash_attention: &[bool]) -> Vec<(Era, bool)> {
    let possible = settings.era.possible().iter();
    possible
        .flat_map(|era| flash_attention.iter().map(|used| (*era, *used)))
        .collect()
}

/// The size with one choice of every setting.
fn measure(structure: &Structure, choice: Choice) -> Result<KvEstimate, WhyNot> {
    let has_values = structure.widest_value_row > 0;
    if has_values && choice.values.is_quantized() && !choice.flash_attention {
        return Err(WhyNot::Impossible("quantized values need flash attention"));
    }
    let cells = choice.request.cells(structure.window)?;
    let mut parts = KINDS.map(|kind| empty_part(kind, cells));
    let mut layers = Vec::new();
    // Most layers of a model are alike.
    let mut seen: Vec<(&Layer, [Option<Range>; KINDS.len()])> = Vec::new();
    for layer in &structure.layers {
        let known = seen.iter().find(|(alike, _)| *alike == layer);
        let of_layer = match known {
            Some((_, of_layer)) => *of_layer,
            None => {
                let mut of_layer = [None; KINDS.len()];
                for (bytes, kind) in of_layer.iter_mut().zip(KINDS) {
                    *bytes = layer_bytes(layer, kind, structure, choice, cells)?;
                }
                seen.truncate(MAX_SEEN);
                seen.push((layer, of_layer));
                of_layer
            }
        };
        let mut sum = Range::exact(0);
        for (part, bytes) in parts.iter_mut().zip(of_layer) {
            part.by_layer.push(bytes.unwrap_or_default());
            if let Some(bytes) = bytes {
                part.layers = part.layers.saturating_add(1);
                part.bytes = part.bytes.plus(bytes);
                sum = sum.plus(bytes);
            }
        }
        layers.push(sum);
    }
    let total = layers
        .iter()
        .fold(Range::exact(0), |sum, layer| sum.plus(*layer));
    if total.high == u64::MAX {
        return Err(WhyNot::Malformed("context length"));
    }
    Ok(KvEstimate {
        low: total.low,
        high: total.high,
        parts: parts.into_iter().filter(|part| part.layers > 0).collect(),
        layers,
        assumptions: Vec::new(),
    })
}

/// The kinds of parts, in the order of the result.
const KINDS: [CacheKind; 4] = [
    CacheKind::Full,
    CacheKind::Windowed,
    CacheKind::Index,
    CacheKind::State,
];

/// Different layers whose sizes are remembered; more than two or three are rare.
const MAX_SEEN: usize = 8;

fn empty_part(kind: CacheKind, cells: Cells) -> KvPart {
    let tokens = match kind {
        CacheKind::Full | CacheKind::Index => cells.full,
        CacheKind::Windowed => cells.windowed,
        CacheKind::State => 0,
    };
    let tokens = tokens.saturating_mul(cells.streams);
    KvPart {
        kind,
        layers: 0,
        cells: (tokens, tokens),
        bytes: Range::exact(0),
        by_layer: Vec::new(),
    }
}

/// Bytes of one kind in one layer; `None` if the layer has nothing of it.
fn layer_bytes(
    layer: &Layer,
    kind: CacheKind,
    structure: &Structure,
    choice: Choice,
    cells: Cells,
) -> Result<Option<Range>, WhyNot> {
    let bytes = match kind {
        CacheKind::Full if layer.cached && !is_windowed(layer, choice) => {
            token_bytes(layer, structure, choice)?.checked_mul(cells.full)
        }
        CacheKind::Windowed if layer.cached && is_windowed(layer, choice) => {
            token_bytes(layer, structure, choice)?.checked_mul(cells.windowed)
        }
        CacheKind::Index if layer.cached && layer.index_row > 0 => {
            row(choice.keys, layer.index_row)?.checked_mul(cells.full)
        }
        CacheKind::State if layer.state > 0 => {
            let states = choice.request.slots.checked_mul(choice.states);
            let bytes = states.and_then(|states| layer.state.checked_mul(states));
            return bytes
                .map(|bytes| Some(Range::exact(bytes)))
                .ok_or(WhyNot::Malformed("recurrent state size"));
        }
        _ => return Ok(None),
    };
    let bytes = bytes
        .and_then(|bytes| bytes.checked_mul(cells.streams))
        .ok_or(WhyNot::Malformed("context length"))?;
    let certain = kind != CacheKind::Index || structure.indexes_every_layer;
    Ok(Some(Range::between(if certain { bytes } else { 0 }, bytes)))
}

/// Whether the layer is in the cache of windowed layers; early builds had one cache for all.
fn is_windowed(layer: &Layer, choice: Choice) -> bool {
    layer.windowed && choice.request.era != Era::FullWindows
}

/// Bytes of a token's keys and values in one layer.
fn token_bytes(layer: &Layer, structure: &Structure, choice: Choice) -> Result<u64, WhyNot> {
    // Without flash attention values are stored transposed, with every layer as wide as the widest.
    let value_row = if choice.flash_attention {
        layer.value_row
    } else {
        structure.widest_value_row
    };
    row(choice.keys, layer.key_row)?
        .checked_add(row(choice.values, value_row)?)
        .ok_or(WhyNot::Malformed("attention.key_length"))
}

fn row(cache_type: CacheType, elements: u64) -> Result<u64, WhyNot> {
    cache_type.row_bytes(elements).ok_or(WhyNot::Impossible(
        "the cache type's blocks do not divide the model's heads",
    ))
}

fn assumptions(
    settings: &KvSettings,
    contexts: (u64, u64),
    structure: &Structure,
) -> Vec<Assumption> {
    let cached = structure.layers.iter().any(|layer| layer.cached);
    let stateful = structure.layers.iter().any(|layer| layer.state > 0);
    let windowed = structure.window.is_some() && !settings.swa_full;
    let uneven = structure.layers.iter().any(|layer| {
        layer.cached && layer.value_row > 0 && layer.value_row != structure.widest_value_row
    });
    let mut list = structure.assumptions.clone();
    let mut note = |condition: bool, assumption: Assumption| {
        if condition {
            list.push(assumption);
        }
    };
    let (low, high) = contexts;
    note(
        cached && settings.context.is_none() && low != high,
        Assumption::Context { low, high },
    );
    note(
        settings.parallel.is_none() && (stateful || windowed || settings.unified != Some(true)),
        Assumption::Slots {
            high: MOST_UNKNOWN_SLOTS,
        },
    );
    note(
        cached && settings.unified.is_none() && settings.parallel != Some(1),
        Assumption::Unified,
    );
    note(cached && settings.type_k.is_none(), Assumption::KeyType);
    note(
        cached && structure.widest_value_row > 0 && settings.type_v.is_none(),
        Assumption::ValueType,
    );
    let (low, high) = UNKNOWN_BATCH;
    note(
        windowed && settings.ubatch.is_none(),
        Assumption::Batch { low, high },
    );
    note(
        uneven && settings.flash_attention.is_none(),
        Assumption::FlashAttention,
    );
    let indexed = structure.layers.iter().any(|layer| layer.index_row > 0);
    note(
        indexed && !structure.indexes_every_layer,
        Assumption::IndexLayers,
    );
    note(
        stateful && settings.rollback.is_none(),
        Assumption::NoRollback,
    );
    note(cached && settings.era == Era::Unknown, Assumption::Era);
    list
}
