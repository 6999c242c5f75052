//! What a model is for.

use crate::header::Header;
use crate::metadata::Value;

/// How an embedding model makes one vector of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The mean over all tokens.
    Mean,
    /// The vector of the first token.
    First,
    /// The vector of the last token.
    Last,
    /// The header does not say.
    Unstated,
}

/// What a model is for, as far as its header tells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Writes text, token after token.
    CausalLanguageModel,
    /// Turns text into vectors.
    Embedding(Pooling),
    /// Scores how well texts fit a query.
    Reranker,
    /// Picks one of given options.
    Decision {
        /// The `decision.type` of the header.
        name: Box<str>,
        /// Whether llama.cpp b11434 knows that type.
        known: bool,
    },
    /// Turns speech into text.
    Speech,
    /// Turns images or sound into embeddings for a language model; loaded beside it.
    Projector {
        /// For images.
        vision: bool,
        /// For sound.
        audio: bool,
    },
    /// A low-rank adapter, loaded beside its base model.
    Adapter,
    /// Statistics for quantizing, not a model.
    ImportanceMatrix,
    /// Writes text by diffusion.
    TextDiffusion,
    /// Makes images or video by diffusion.
    ImageDiffusion,
    /// The header does not tell.
    Unknown,
}

const DECISION_TYPES: &[&str] = &["openjev", "lev", "kev", "nimble", "laya", "clef"];

/// Architectures of encoders: embedding models even where no pooling is given.
const ENCODERS: &[&str] = &[
    "bert",
    "jina-bert-v2",
    "jina-bert-v3",
    "nomic-bert",
    "nomic-bert-moe",
    "neo-bert",
    "eurobert",
    "modern-bert",
    "gemma-embedding",
    "t5encoder",
];

/// Whether models of this architecture are encoders, which have no output head.
pub(crate) fn is_encoder(architecture: &str) -> bool {
    ENCODERS.contains(&architecture)
}

const TEXT_DIFFUSION: &[&str] = &["dream", "llada", "llada-moe", "rnd1"];

/// As written by the converters for ComfyUI and stable-diffusion.cpp.
const IMAGE_DIFFUSION: &[&str] = &[
    "flux",
    "sd1",
    "sdxl",
    "sd3",
    "aura",
    "hidream",
    "cosmos",
    "hyvid",
    "ltxv",
    "wan",
    "lumina2",
    "qwen_image",
];

impl Kind {
    /// What the model with this header is for.
    pub(crate) fn of(header: &Header) -> Self {
        let metadata = &header.metadata;
        let architecture = header.architecture();
        match metadata.text("general.type") {
            Some("adapter") => return Self::Adapter,
            Some("imatrix") => return Self::ImportanceMatrix,
            Some("mmproj") => return projector(header),
            _ => {}
        }
        if architecture == Some("clip") {
            return projector(header);
        }
        if metadata.contains("adapter.type") {
            return Self::Adapter;
        }
        if metadata.contains_prefix("stt.") {
            return Self::Speech;
        }
        let Some(architecture) = architecture else {
            return Self::Unknown;
        };
        if let Some(name) = header.value("decision.type").and_then(Value::as_text) {
            return Self::Decision {
                name: name.into(),
                known: DECISION_TYPES.contains(&name),
            };
        }
        if IMAGE_DIFFUSION.contains(&architecture) {
            return Self::ImageDiffusion;
        }
        if TEXT_DIFFUSION.contains(&architecture) {
            return Self::TextDiffusion;
        }
        match header.u64("pooling_type") {
            Some(1) => return Self::Embedding(Pooling::Mean),
            Some(2) => return Self::Embedding(Pooling::First),
            Some(3) => return Self::Embedding(Pooling::Last),
            Some(4) => return Self::Reranker,
            _ => {}
        }
        if ENCODERS.contains(&architecture) {
            return Self::Embedding(Pooling::Unstated);
        }
        let causal = header.value("attention.causal").and_then(Value::as_bool);
        let writes = header.block_count().is_some() && metadata.contains("tokenizer.ggml.model");
        if writes && causal != Some(false) {
            Self::CausalLanguageModel
        } else {
            Self::Unknown
        }
    }
}

fn projector(header: &Header) -> Kind {
    let has = |key| header.metadata.bool(key) == Some(true);
    Kind::Projector {
        vision: has("clip.has_vision_encoder"),
        audio: has("clip.has_audio_encoder"),
    }
}
