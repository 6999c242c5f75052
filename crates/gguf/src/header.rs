//! A header that was read, and the plain questions to it.

use crate::flaw::Flaw;
use crate::kind::Kind;
use crate::metadata::{Metadata, Value};
use crate::per_layer::PerLayer;
use crate::quantization::{FileType, Quantization};
use crate::shard::Split;
use crate::tensor::Tensor;

/// Metadata and tensor table of a GGUF file. Of a split model only the first file has the model's metadata, and each
/// file has its own tensors.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Header {
    /// Format version, 1 to 3.
    pub version: u32,
    /// Whether the file is for big-endian machines.
    pub big_endian: bool,
    /// The kept metadata.
    pub metadata: Metadata,
    /// The tensor table, in the order of the file.
    pub tensors: Vec<Tensor>,
    /// Bytes tensor data is aligned to; a power of two.
    pub alignment: u64,
    /// Where tensor data starts, in bytes from the start of the file; it may be the end of the file, or beyond it in
    /// a file that was cut off.
    pub data_offset: u64,
    /// Bytes of the file, as told to the reader.
    pub file_len: u64,
    /// What is wrong with the file, at most [`limits::MAX_FLAWS`](crate::limits::MAX_FLAWS).
    pub flaws: Vec<Flaw>,
}

impl Header {
    /// `general.architecture`, such as `llama`.
    pub fn architecture(&self) -> Option<&str> {
        self.metadata
            .text("general.architecture")
            .filter(|name| !name.is_empty())
    }

    /// `general.name`, as the maker of the file chose it.
    pub fn name(&self) -> Option<&str> {
        self.metadata
            .text("general.name")
            .filter(|name| !name.is_empty())
    }

    /// `general.size_label`, such as `8x7B`.
    pub fn size_label(&self) -> Option<&str> {
        self.metadata
            .text("general.size_label")
            .filter(|label| !label.is_empty())
    }

    /// What the model is for.
    pub fn kind(&self) -> Kind {
        Kind::of(self)
    }

    /// `general.file_type`: what the maker of the file says it is quantized to.
    pub fn file_type(&self) -> Option<FileType> {
        let id = self.metadata.u64("general.file_type")?;
        Some(FileType::from_id(u32::try_from(id).ok()?))
    }

    /// The label of [`file_type`](Self::file_type), such as `Q4_K_M`; `None` if absent or not known.
    pub fn file_type_label(&self) -> Option<&'static str> {
        self.file_type()?.label
    }

    /// How the tensors of this file are quantized, by label and in fact.
    pub fn quantization(&self) -> Quantization {
        Quantization::of(self)
    }

    /// Elements of all tensors of this file; of one part only, if the model is split.
    pub fn parameters(&self) -> u64 {
        self.tensors
            .iter()
            .fold(0, |sum, tensor| sum.saturating_add(tensor.elements()))
    }

    /// Bytes of all tensors of this file.
    pub fn tensor_bytes(&self) -> u64 {
        self.tensors
            .iter()
            .fold(0, |sum, tensor| sum.saturating_add(tensor.bytes))
    }

    /// Whether tensor data would end beyond the end of the file: an unfinished download, or only a header.
    pub fn truncated_data(&self) -> bool {
        self.flaws
            .iter()
            .any(|flaw| matches!(flaw, Flaw::TruncatedData { .. }))
    }

    /// What makes the sizes of the tensors together none of what the file can hold: some share bytes of it, or one is
    /// listed more than once.
    pub fn impossible_tensors(&self) -> Option<&Flaw> {
        let is_one =
            |flaw: &&Flaw| matches!(flaw, Flaw::OverlappingTensors | Flaw::DuplicateTensor(_));
        self.flaws.iter().find(is_one)
    }

    /// Layers, those for multi-token prediction included; none where no model has so many.
    pub fn block_count(&self) -> Option<u64> {
        self.possible("block_count")
    }

    /// Tokens of context the model was trained for; none where no model was trained for so many.
    pub fn context_length(&self) -> Option<u64> {
        self.possible("context_length")
    }

    /// Width of a token's embedding, in elements.
    pub fn embedding_length(&self) -> Option<u64> {
        self.u64("embedding_length")
    }

    /// Attention heads a layer; 0 in layers without attention.
    pub fn head_count(&self) -> Option<PerLayer> {
        self.per_layer("attention.head_count")
    }

    /// Heads that have keys and values, a layer; those of [`head_count`](Self::head_count) where the file does not
    /// say. `None` where what it says is no number of heads, such as one below zero.
    pub fn head_count_kv(&self) -> Option<PerLayer> {
        match self.value("attention.head_count_kv") {
            Some(_) => self.per_layer("attention.head_count_kv"),
            None => self.head_count(),
        }
    }

    /// Experts a layer of a mixture-of-experts model; `None` or 0 in others.
    pub fn expert_count(&self) -> Option<u64> {
        self.u64("expert_count")
    }

    /// Experts used for each token.
    pub fn expert_used_count(&self) -> Option<u64> {
        self.u64("expert_used_count")
    }

    /// Tokens of the vocabulary.
    pub fn vocabulary_size(&self) -> Option<u64> {
        self.metadata
            .array_len("tokenizer.ggml.tokens")
            .or_else(|| self.u64("vocab_size"))
    }

    /// Whether the file brings a chat template.
    pub fn has_chat_template(&self) -> bool {
        self.metadata.contains("tokenizer.chat_template")
    }

    /// Which part of a split model this file is.
    pub fn split(&self) -> Option<Split> {
        let count = self
            .metadata
            .u64("split.count")
            .filter(|count| *count > 1)?;
        let number = self.metadata.u64("split.no").unwrap_or(0);
        Some(Split {
            number: number.checked_add(1)?,
            count,
            tensors: self.metadata.u64("split.tensors.count"),
        })
    }

    /// The value of `ARCHITECTURE.suffix`.
    pub fn value(&self, suffix: &str) -> Option<&Value> {
        self.metadata.get(&self.key(suffix)?)
    }

    /// A whole number below the architecture's name; absent if it is something else.
    pub fn u64(&self, suffix: &str) -> Option<u64> {
        self.value(suffix)?.as_u64()
    }

    /// A number given for all layers or one a layer; absent if it is something else.
    pub fn per_layer(&self, suffix: &str) -> Option<PerLayer> {
        match self.value(suffix)? {
            Value::Array(array) => array.to_u64s().map(PerLayer::Each),
            value => value.as_u64().map(PerLayer::Same),
        }
    }

    fn key(&self, suffix: &str) -> Option<String> {
        Some(format!("{}.{suffix}", self.architecture()?))
    }
}
