//! What is wrong with a header that could be read all the same.

use std::fmt;

/// Something in the header that is not as it should be. It does not stop the reading, but a figure may rest on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// A key that stands twice; the first value counts.
    DuplicateKey(Box<str>),
    /// A tensor name that stands twice; both are counted.
    DuplicateTensor(Box<str>),
    /// `general.alignment` is no power of two or no number; 32 is assumed.
    BadAlignment,
    /// Values that were not kept because the kept ones together reached their limit.
    ValuesDropped,
    /// A tensor of a type this crate does not know; its size is the distance to the next one.
    UnknownTensorType {
        /// The tensor.
        tensor: Box<str>,
        /// The type number in the file.
        type_id: u32,
    },
    /// A tensor whose rows do not fill whole blocks of its type; its size is the distance to the next one.
    UnevenRows(Box<str>),
    /// Tensors that share bytes of the file.
    OverlappingTensors,
    /// Tensor data would end beyond the file: an unfinished download, or a header cut off on purpose.
    TruncatedData {
        /// Where the data would end, in bytes from the start of the file.
        needed: u64,
    },
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateKey(key) => {
                write!(f, "the key \"{key}\" stands twice; the first counts")
            }
            Self::DuplicateTensor(name) => write!(f, "the tensor \"{name}\" stands twice"),
            Self::BadAlignment => write!(f, "the alignment is no power of two; 32 is assumed"),
            Self::ValuesDropped => write!(f, "some values were too large to keep"),
            Self::UnknownTensorType { tensor, type_id } => write!(
                f,
                "the tensor \"{tensor}\" has the unknown type {type_id}; its size is taken from its neighbour"
            ),
            Self::UnevenRows(name) => write!(
                f,
                "the rows of tensor \"{name}\" do not fill whole blocks; its size is taken from its neighbour"
            ),
            Self::OverlappingTensors => write!(f, "tensors overlap in the file"),
            Self::TruncatedData { needed } => {
                write!(
                    f,
                    "tensor data would end at byte {needed}, beyond the end of the file"
                )
            }
        }
    }
}
