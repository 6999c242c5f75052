//! Why a file could not be described.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What was wrong with the file, and at which byte offset. Holds no text of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Error {
    /// None of the formats known here.
    NotModel,
    /// The file ends before something it announces.
    Truncated {
        /// Where the missing part starts, in bytes from the start of the file.
        offset: u64,
        /// How many bytes it needs from there.
        needed: u64,
        /// Where the file ends.
        end: u64,
    },
    /// Something does not follow the format.
    Malformed {
        /// What was expected there.
        what: What,
        /// Where it stands, in bytes from the start of the file.
        offset: u64,
    },
    /// A count, length or depth above its limit.
    TooLarge {
        /// What is counted.
        what: What,
        /// Where it stands, in bytes from the start of the file.
        offset: u64,
    },
    /// The description was asked for before all of the header was supplied.
    Unfinished,
    /// The system refused to read.
    Io {
        /// Where the read started.
        offset: u64,
    },
}

/// Parts of files that can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum What {
    /// The header as a whole.
    Header,
    /// Its length.
    HeaderLength,
    /// JSON syntax.
    Json,
    /// An entry of a tensor table.
    Tensor,
    /// A protobuf field.
    Field,
    /// The directory of a zip archive.
    Directory,
    /// A version number.
    Version,
}

impl What {
    const fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::HeaderLength => "header length",
            Self::Json => "JSON",
            Self::Tensor => "tensor entry",
            Self::Field => "protobuf field",
            Self::Directory => "archive directory",
            Self::Version => "version",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotModel => f.write_str("no model file of a known format"),
            Self::Truncated {
                offset,
                needed,
                end,
            } => write!(
                f,
                "the file ends at byte {end}, but needs {needed} bytes from byte {offset}: \
                 incomplete download or damaged file"
            ),
            Self::Malformed { what, offset } => write!(
                f,
                "the {} at byte {offset} does not follow the format: damaged file",
                what.name()
            ),
            Self::TooLarge { what, offset } => write!(
                f,
                "the {} at byte {offset} is larger than its limit",
                what.name()
            ),
            Self::Unfinished => f.write_str("the header has not been read to its end"),
            Self::Io { offset } => write!(f, "reading at byte {offset} failed"),
        }
    }
}

impl std::error::Error for Error {}
