//! The scratch buffer a server computes its graph in.
//!
//! Its size depends on how the graph is laid out, which changes from build to build, so that there are only bounds
//! here. What is exact in them is the attention mask (tokens of context times tokens of a batch) and, without flash
//! attention, the scores; the activations lie between multiples of the model's widths that held for every run that
//! was measured: llama.cpp b11434 on a CPU and on Vulkan, nine architectures, November 2026.
//!
//! The buffer of one device is estimated. For one of several GPUs see [`pipelined`]; for what lies in host memory
//! beside a GPU's buffer, [`host`].

use crate::header::Header;
use crate::kv::{Choice, KvSettings, Structure, WhyNot, choices, contexts};
use crate::range::Range;

/// For how many tokens of a batch a server computes the probabilities of the whole vocabulary at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogitRows {
    /// One a slot, as llama-server does in 2026.
    PerSlot,
    /// All, as older builds and some other programs do.
    PerToken,
    /// Not known.
    #[default]
    Unknown,
}

/// Bytes of an f32, which activations, scores and logits are computed in.
const ELEMENT_BYTES: u64 = 4;

/// Bytes of a mask element: f16 with flash attention, f32 without.
const fn mask_bytes(flash_attention: bool) -> u64 {
    if flash_attention { 2 } else { 4 }
}

/// Widths of the model's layers, in elements of one token.
struct Widths {
    embedding: u64,
    /// The widest of a layer's own matrices: feed-forward, attention or state.
    inner: u64,
    heads: u64,
    vocabulary: u64,
}

impl Widths {
    fn of(header: &Header) -> Result<Self, WhyNot> {
        let missing = |key: &'static str| WhyNot::Missing(key);
        let embedding = header
            .embedding_length()
            .ok_or(missing("embedding_length"))?;
        let heads = header
            .head_count()
            .and_then(|heads| heads.max())
            .unwrap_or(0);
        let number = |key| header.u64(key).unwrap_or(0);
        let feed_forward = header
            .per_layer("feed_forward_length")
            .and_then(|width| width.max())
            .unwrap_or(0);
        let experts =
            number("expert_feed_forward_length").saturating_mul(number("expert_used_count"));
        let attention = heads
            .saturating_mul(number("attention.key_length").max(number("attention.value_length")));
        let state = number("ssm.inner_size").saturating_mul(2);
        Ok(Self {
            embedding,
            inner: feed_forward
                .max(experts)
                .max(attention)
                .max(state)
                .max(embedding),
            heads,
            vocabulary: header.vocabulary_size().unwrap_or(0),
        })
    }
}

/// Bytes of the buffer on the device that computes all layers. Where settings are unknown, the bounds span what the
/// server could have chosen.
pub fn estimate(
    header: &Header,
    settings: &KvSettings,
    logits: LogitRows,
) -> Result<Range, WhyNot> {
    over_choices(header, settings, |structure, widths, choice| {
        measure(structure, widths, choice, logits)
    })
}

/// The bounds over everything that the server could have chosen.
fn over_choices(
    header: &Header,
    settings: &KvSettings,
    measure: impl Fn(&Structure, &Widths, Choice) -> Result<Range, WhyNot>,
) -> Result<Range, WhyNot> {
    let structure = Structure::of(header)?;
    let widths = Widths::of(header)?;
    let contexts = contexts(header, settings, &structure)?;
    let mut result: Option<Range> = None;
    for choice in choices(settings, contexts) {
        let bytes = measure(&structure, &widths, choice)?;
        result = Some(result.map_or(bytes, |result| result.spanning(bytes)));
    }
    result.ok_or(WhyNot::Malformed("context length"))
}

/// Copies of a graph's inputs a scheduler keeps at most (`GGML_SCHED_MAX_COPIES`).
const MOST_COPIES: u64 = 4;

/// The bounds for one of several GPUs that share the layers of a model. A GPU that has only the output, or only layers
/// with a window, needs a fraction of the others' (1.5 of 20 MiB were logged), so that there is no lower bound. Inputs
/// may exist up to four times, so that the next batch starts before the last one is done; they are a part of the buffer
/// that is not known, and the upper bound takes it for all. Checked with 2 and 3 Vulkan devices, November 2026.
#[must_use]
pub fn pipelined(bytes: Range) -> Range {
    Range::between(0, bytes.high.saturating_mul(MOST_COPIES))
}

/// What a graph is computed from: tokens of a batch, and bytes of masks and scores.
struct Inputs {
    tokens: u64,
    mask: u64,
    scores: u64,
}

fn inputs(structure: &Structure, widths: &Widths, choice: Choice) -> Result<Inputs, WhyNot> {
    let cells = choice.request.cells(structure.window)?;
    let tokens = choice.request.reserved(cells);
    let cached = |windowed: bool| {
        structure
            .layers
            .iter()
            .any(|layer| layer.cached && layer.windowed == windowed)
    };
    let full = if cached(false) { cells.full } else { 0 };
    let windowed = if cached(true) { cells.windowed } else { 0 };
    let area = full.saturating_add(windowed).saturating_mul(tokens);
    let scores = if choice.flash_attention {
        0
    } else {
        full.max(windowed)
            .saturating_mul(tokens)
            .saturating_mul(widths.heads)
            .saturating_mul(ELEMENT_BYTES)
    };
    Ok(Inputs {
        tokens,
        mask: area.saturating_mul(mask_bytes(choice.flash_attention)),
        scores,
    })
}

/// Bytes in host memory beside the buffer of a GPU that computes all layers, or some of them: the masks and token rows
/// that are filled in there (`CUDA_Host`, `Vulkan_Host` compute buffer), and the logits that are read back (output
/// buffer). Bounds as of [`estimate`], that held for six runs with Vulkan: two to three widths of the embedding with
/// layers on the CPU, since their matrices are multiplied on the GPU all the same, two without.
pub fn host(
    header: &Header,
    settings: &KvSettings,
    logits: LogitRows,
    all_layers: bool,
) -> Result<Range, WhyNot> {
    over_choices(header, settings, |structure, widths, choice| {
        measure_host(structure, widths, choice, logits, all_layers)
    })
}

/// Rows of tokens that a host's buffer holds at least, in widths of the embedding. Measured from 2 on.
const LEAST_HOST_EMBEDDINGS: u64 = 1;

/// And at most, where all layers are on the GPU.
const MOST_HOST_EMBEDDINGS: u64 = 4;

/// Numbers of places and indices for each token: eight of 8 bytes.
const HOST_TOKEN_BYTES: u64 = 64;

/// Activations of one token that a graph holds at once at most.
const fn most_activations(widths: &Widths) -> u64 {
    let inner = widths.inner.saturating_mul(MOST_INNER);
    let embeddings = widths.embedding.saturating_mul(MOST_EMBEDDINGS);
    embeddings.saturating_add(inner)
}

fn measure_host(
    structure: &Structure,
    widths: &Widths,
    choice: Choice,
    logits: LogitRows,
    all_layers: bool,
) -> Result<Range, WhyNot> {
    let Inputs {
        tokens,
        mask,
        scores,
    } = inputs(structure, widths, choice)?;
    let row = tokens.saturating_mul(ELEMENT_BYTES);
    let rows = |widths: u64| row.saturating_mul(widths);
    let least = rows(widths.embedding.saturating_mul(LEAST_HOST_EMBEDDINGS));
    let most = if all_layers {
        rows(widths.embedding.saturating_mul(MOST_HOST_EMBEDDINGS))
    } else {
        rows(most_activations(widths)).saturating_add(scores)
    };
    let slots = choice.request.slots;
    let output = |rows: u64| {
        rows.saturating_mul(widths.vocabulary)
            .saturating_mul(ELEMENT_BYTES)
    };
    let output = match logits {
        LogitRows::PerSlot => Range::exact(output(slots)),
        LogitRows::PerToken | LogitRows::Unknown => {
            Range::between(output(slots), output(tokens.max(slots)))
        }
    };
    Ok(Range {
        low: mask.saturating_add(least),
        high: mask
            .saturating_add(most)
            .saturating_add(tokens.saturating_mul(HOST_TOKEN_BYTES)),
    }
    .plus(output))
}

fn measure(
    structure: &Structure,
    widths: &Widths,
    choice: Choice,
    logits: LogitRows,
) -> Result<Range, WhyNot> {
    let Inputs {
        tokens,
        mask,
        scores,
    } = inputs(structure, widths, choice)?;
    let row = tokens.saturating_mul(ELEMENT_BYTES);
    let least = widths.embedding.saturating_mul(LEAST_EMBEDDINGS);
    let most = most_activations(widths);

    let rows = Range::between(choice.request.slots.min(tokens), tokens);
    let rows = match logits {
        LogitRows::PerSlot => Range::exact(rows.low),
        LogitRows::PerToken => Range::exact(rows.high),
        LogitRows::Unknown => rows,
    };
    let vocabulary = widths.vocabulary.saturating_mul(ELEMENT_BYTES);
    let output = (
        rows.low.saturating_mul(vocabulary),
        rows.high.saturating_mul(vocabulary),
    );

    // Logits come last, when the room of scores and activations is free again: the larger counts, at best.
    let low = scores
        .saturating_add(row.saturating_mul(least))
        .max(output.0);
    let high = scores
        .saturating_add(row.saturating_mul(most))
        .saturating_add(output.1);
    Ok(Range {
        low: mask.saturating_add(low),
        high: mask.saturating_add(high),
    })
}

/// Activations a graph holds at once at least, in widths of the embedding. Measured from 4 on.
const LEAST_EMBEDDINGS: u64 = 2;

/// Activations a graph holds at once at most, in widths of the embedding; 5 fits llama on a CPU.
const MOST_EMBEDDINGS: u64 = 8;

/// And in widths of a layer's widest matrix, beside them; 3 fits llama on a CPU.
const MOST_INNER: u64 = 6;
