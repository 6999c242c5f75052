//! Types of tensor elements.

use serde::{Deserialize, Serialize};

/// The type of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the formats' own")]
pub enum Dtype {
    F64,
    F32,
    F16,
    Bf16,
    F8,
    F6,
    F4,
    C128,
    C64,
    I64,
    U64,
    I32,
    U32,
    I16,
    U16,
    I8,
    U8,
    I4,
    U4,
    Bool,
    /// A type that is not known here; its size is taken from the file.
    Other,
}

impl Dtype {
    /// The name shown to a person.
    pub const fn label(self) -> &'static str {
        match self {
            Self::F64 => "F64",
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::F8 => "F8",
            Self::F6 => "F6",
            Self::F4 => "F4",
            Self::C128 => "C128",
            Self::C64 => "C64",
            Self::I64 => "I64",
            Self::U64 => "U64",
            Self::I32 => "I32",
            Self::U32 => "U32",
            Self::I16 => "I16",
            Self::U16 => "U16",
            Self::I8 => "I8",
            Self::U8 => "U8",
            Self::I4 => "I4",
            Self::U4 => "U4",
            Self::Bool => "BOOL",
            Self::Other => "other",
        }
    }

    /// Bits of one element; `None` where the type is not known.
    pub const fn bits(self) -> Option<u64> {
        Some(match self {
            Self::C128 => 128,
            Self::F64 | Self::I64 | Self::U64 | Self::C64 => 64,
            Self::F32 | Self::I32 | Self::U32 => 32,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 16,
            Self::F8 | Self::I8 | Self::U8 | Self::Bool => 8,
            Self::F6 => 6,
            Self::F4 | Self::I4 | Self::U4 => 4,
            Self::Other => return None,
        })
    }

    /// Whether several weights may be packed into one element, as GPTQ, AWQ, MLX and bitsandbytes do.
    pub const fn may_be_packed(self) -> bool {
        matches!(
            self,
            Self::I32 | Self::U32 | Self::I16 | Self::U16 | Self::U8 | Self::Other
        )
    }

    /// By the spelling of safetensors (0.6).
    pub(crate) fn of_safetensors(name: &str) -> Self {
        match name {
            "F64" => Self::F64,
            "F32" => Self::F32,
            "F16" => Self::F16,
            "BF16" => Self::Bf16,
            "F8_E4M3" | "F8_E5M2" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => Self::F8,
            "F6_E2M3" | "F6_E3M2" => Self::F6,
            "F4" => Self::F4,
            "C64" => Self::C64,
            "I64" => Self::I64,
            "U64" => Self::U64,
            "I32" => Self::I32,
            "U32" => Self::U32,
            "I16" => Self::I16,
            "U16" => Self::U16,
            "I8" => Self::I8,
            "U8" => Self::U8,
            "BOOL" => Self::Bool,
            _ => Self::Other,
        }
    }

    /// By the number of ONNX's `TensorProto.DataType`.
    pub(crate) const fn of_onnx(number: u64) -> Self {
        match number {
            1 => Self::F32,
            2 => Self::U8,
            3 => Self::I8,
            4 => Self::U16,
            5 => Self::I16,
            6 => Self::I32,
            7 => Self::I64,
            9 => Self::Bool,
            10 => Self::F16,
            11 => Self::F64,
            12 => Self::U32,
            13 => Self::U64,
            14 => Self::C64,
            15 => Self::C128,
            16 => Self::Bf16,
            17..=20 | 24 => Self::F8,
            21 => Self::U4,
            22 => Self::I4,
            23 => Self::F4,
            _ => Self::Other,
        }
    }
}

/// What the tensors of one type add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The type.
    pub dtype: Dtype,
    /// Elements, in all tensors of this type.
    pub elements: u64,
    /// Bytes, in all tensors of this type.
    pub bytes: u64,
}
