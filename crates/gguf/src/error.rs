//! Why a header could not be read.

use std::fmt;
use std::io;

/// What was wrong with the file, and at which byte offset. The text is meant for a user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file does not start with `GGUF`, nor with a format known to be something else.
    NotGguf {
        /// Its first four bytes.
        first: [u8; 4],
    },
    /// A model file, but of another format, which is not read here.
    OtherFormat(&'static str),
    /// A GGUF version above 3, or 0.
    UnsupportedVersion(u32),
    /// The file ends before something it announces.
    Truncated {
        /// Where the missing part starts.
        offset: u64,
        /// How many bytes it needs from there.
        needed: u64,
        /// Where the file ends.
        end: u64,
    },
    /// A count above its limit.
    TooMany {
        /// What is counted, in the plural.
        what: &'static str,
        /// The count the file announces.
        count: u64,
        /// The limit from [`limits`](crate::limits).
        limit: u64,
        /// Where the count stands.
        offset: u64,
    },
    /// A name of a key or tensor above its limit.
    NameTooLong {
        /// "key" or "tensor name".
        what: &'static str,
        /// The length the file announces.
        length: u64,
        /// The limit from [`limits`](crate::limits).
        limit: u64,
        /// Where the length stands.
        offset: u64,
    },
    /// A value type that does not exist, so that the size of the value is not known.
    UnknownValueType {
        /// The key whose value it is.
        key: String,
        /// The type number in the file.
        type_id: u32,
        /// Where it stands.
        offset: u64,
    },
    /// An array of arrays.
    NestedArray {
        /// The key whose value it is.
        key: String,
        /// Where the element type stands.
        offset: u64,
    },
    /// A tensor whose size in elements or bytes is not representable.
    TensorTooLarge {
        /// The tensor.
        tensor: String,
        /// Where its entry starts.
        offset: u64,
    },
    /// The header does not end within [`limits::MAX_HEADER_BYTES`](crate::limits::MAX_HEADER_BYTES), or cannot be
    /// read within [`limits::MAX_REQUESTED_BYTES`](crate::limits::MAX_REQUESTED_BYTES).
    HeaderTooLarge {
        /// How far it was read.
        offset: u64,
    },
    /// The header was asked for before all of it was supplied.
    Unfinished {
        /// How far it was read.
        offset: u64,
    },
    /// The system refused to read.
    Io {
        /// Where the read started.
        offset: u64,
        /// What the system said.
        kind: io::ErrorKind,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGguf { first } => write!(
                f,
                "not a GGUF file: it starts with \"{}\" instead of \"GGUF\"",
                first.escape_ascii()
            ),
            Self::OtherFormat(name) => write!(f, "not a GGUF file but {name}, which is not read"),
            Self::UnsupportedVersion(version) => write!(
                f,
                "GGUF version {version} is not supported (versions 1 to 3 are)"
            ),
            Self::Truncated {
                offset,
                needed,
                end,
            } => write!(
                f,
                "the file ends at byte {end}, but its header needs {needed} bytes from byte {offset}: \
                 incomplete download or damaged file"
            ),
            Self::TooMany {
                what,
                count,
                limit,
                offset,
            } => write!(
                f,
                "the header announces {count} {what} at byte {offset}, more than the limit of {limit}: damaged file"
            ),
            Self::NameTooLong {
                what,
                length,
                limit,
                offset,
            } => write!(
                f,
                "the {what} at byte {offset} has {length} bytes, more than the limit of {limit}: damaged file"
            ),
            Self::UnknownValueType {
                key,
                type_id,
                offset,
            } => write!(
                f,
                "the value of \"{key}\" has the unknown type {type_id} at byte {offset}: damaged file or a newer format"
            ),
            Self::NestedArray { key, offset } => write!(
                f,
                "the value of \"{key}\" is an array of arrays at byte {offset}, which is not supported"
            ),
            Self::TensorTooLarge { tensor, offset } => write!(
                f,
                "the size of tensor \"{tensor}\" at byte {offset} is impossible: damaged file"
            ),
            Self::HeaderTooLarge { offset } => {
                write!(
                    f,
                    "the header is too large to read (stopped at byte {offset})"
                )
            }
            Self::Unfinished { offset } => {
                write!(
                    f,
                    "the header has been read only up to byte {offset} so far"
                )
            }
            Self::Io { offset, kind } => write!(f, "reading at byte {offset} failed: {kind}"),
        }
    }
}

impl std::error::Error for Error {}
