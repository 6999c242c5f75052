//! What is known of a file.

use serde::{Deserialize, Serialize};

use crate::dtype::{Dtype, Share};

/// File formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// GGUF, which has its own reader.
    Gguf,
    /// Safetensors.
    Safetensors,
    /// The index of a model whose weights are in several files (`*.index.json`).
    Index,
    /// A `config.json`: what its neighbours are.
    Config,
    /// The `model_index.json` of a diffusers folder.
    Diffusers,
    /// ONNX.
    Onnx,
    /// A serialized `TensorRT` engine. It has no names inside worth reading.
    TensorRt,
    /// `PyTorch`, as a zip archive (since 1.6).
    Pytorch,
    /// `PyTorch` with its program (`TorchScript`).
    TorchScript,
    /// `PyTorch` before 1.6: a pickle that names itself so.
    PytorchLegacy,
    /// Another pickle.
    Pickle,
    /// ggml as of early 2023, and whisper.cpp's to this day.
    Ggml,
    /// ggml with a version (2023).
    Ggmf,
    /// ggml that can be mapped (2023).
    Ggjt,
    /// An adapter in ggml (2023).
    Ggla,
    /// TensorFlow Lite.
    TfLite,
    /// The description of an `OpenVINO` model; its weights are beside it.
    OpenVino,
}

impl Format {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Gguf => "gguf",
            Self::Safetensors => "safetensors",
            Self::Index => "index",
            Self::Config => "config",
            Self::Diffusers => "diffusers",
            Self::Onnx => "onnx",
            Self::TensorRt => "tensorrt",
            Self::Pytorch => "pytorch",
            Self::TorchScript => "torchscript",
            Self::PytorchLegacy => "pytorch_legacy",
            Self::Pickle => "pickle",
            Self::Ggml => "ggml",
            Self::Ggmf => "ggmf",
            Self::Ggjt => "ggjt",
            Self::Ggla => "ggla",
            Self::TfLite => "tflite",
            Self::OpenVino => "openvino",
        }
    }
}

/// What a model is for, as far as its header tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Writes text.
    Llm,
    /// Turns speech into text.
    Speech,
    /// Makes images or video.
    Diffusion,
    /// Changes another model.
    Adapter,
    /// The header does not tell.
    #[default]
    Unknown,
}

/// What is wrong with a file that could be read all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Flaw {
    /// Tensor data would end beyond the end of the file.
    TruncatedData,
    /// A tensor's bytes are not those of its type and shape.
    SizeMismatch,
    /// The tensors' bytes add up to more than the file has.
    Overlapping,
    /// The table of tensors is too long to be read to its end, so that no sum over it is told.
    TableTooLong,
    /// Parts are left out because there are too many.
    PartsDropped,
}

/// What a file is and what its header tells. `None` is not told, never zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// What the file is.
    pub format: Format,
    /// What the model is for.
    #[serde(default)]
    pub kind: Kind,
    /// A title for people: `modelspec.title` of safetensors. Anybody's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `model_type` or the class of a configuration, `modelspec.architecture`, or `whisper`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// What wrote the file: `producer_name` of ONNX, `format` of safetensors (`pt`, `mlx`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub producer: Option<String>,
    /// How weights are quantized, such as `AWQ 4-bit`; made of words and numbers of this crate only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantization: Option<String>,
    /// Bits of a quantized weight, in thousandths (exl2 has fractions).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub millibits: Option<u32>,
    /// Tensors by type, that with most bytes first; empty where the header has no table of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dtypes: Vec<Share>,
    /// Number of tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensors: Option<u64>,
    /// Bytes of all tensors, or `total_size` of an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor_bytes: Option<u64>,
    /// Layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u64>,
    /// Tokens of context it was trained for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_length: Option<u64>,
    /// Tokens of the vocabulary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<u64>,
    /// Version of the format: `ir_version` of ONNX, the version of ggml files and `OpenVINO`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Names of files beside it that belong to the model: parts, external data; for diffusers the folders below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
}

impl Description {
    /// A file of this format, of which nothing else is known.
    pub const fn new(format: Format) -> Self {
        Self {
            format,
            kind: Kind::Unknown,
            title: None,
            architecture: None,
            producer: None,
            quantization: None,
            millibits: None,
            dtypes: Vec::new(),
            tensors: None,
            tensor_bytes: None,
            layers: None,
            context_length: None,
            vocabulary: None,
            version: None,
            parts: Vec::new(),
            flaws: Vec::new(),
        }
    }

    /// The type that takes most of the bytes.
    pub fn main_dtype(&self) -> Option<Dtype> {
        self.dtypes.first().map(|share| share.dtype)
    }

    /// A short text on how the weights are stored: the quantization, else the type of most of them.
    pub fn storage(&self) -> Option<String> {
        let main = self.main_dtype().filter(|dtype| *dtype != Dtype::Other);
        self.quantization
            .clone()
            .or_else(|| main.map(|dtype| dtype.label().to_owned()))
    }

    /// Elements of all tensors; `None` where no table was read, or where weights may be packed into larger elements, so
    /// that elements are not weights.
    pub fn parameters(&self) -> Option<u64> {
        if self.dtypes.is_empty() {
            return None;
        }
        let bytes = self
            .dtypes
            .iter()
            .map(|s| u128::from(s.bytes))
            .sum::<u128>();
        let packed = self.dtypes.iter().filter(|s| s.dtype.may_be_packed());
        let packed = packed.map(|s| u128::from(s.bytes)).sum::<u128>();
        // Models that are not quantized have a few integers: positions, masks, token types.
        if packed.saturating_mul(50) > bytes {
            return None;
        }
        Some(
            self.dtypes
                .iter()
                .fold(0, |sum, share| sum.saturating_add(share.elements)),
        )
    }

    /// Notes what is wrong, once.
    pub(crate) fn flaw(&mut self, flaw: Flaw) {
        if !self.flaws.contains(&flaw) {
            self.flaws.push(flaw);
        }
    }
}
