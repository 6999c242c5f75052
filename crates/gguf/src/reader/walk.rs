//! The walk over a file: what is wanted next, and what was brought.
//!
//! The file is walked once from the front. What is needed next is asked for; what is not needed (vocabularies,
//! templates, long arrays) is stepped over by arithmetic, or, for arrays of strings, by whoever holds the file.

use crate::bytes::{Encoding, clean_text};
use crate::error::Error;
use crate::flaw::Flaw;
use crate::header::Header;
use crate::layout::{Flaws, place};
use crate::limits::{
    DEFAULT_ALIGNMENT, MAX_HEADER_BYTES, MAX_REQUESTED_BYTES, MAX_STEPS, METADATA_WINDOW,
    TENSOR_ENTRY_ESTIMATE, TENSOR_WINDOW,
};
use crate::metadata::{Metadata, ValueType};
use crate::tensor::Tensor;

use super::texts::{TextSpan, Texts};

/// What a [`HeaderReader`] needs next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `len` bytes of the file from `offset`, for [`HeaderReader::supply`].
    Read {
        /// In bytes from the start of the file.
        offset: u64,
        /// In bytes; never 0, and never beyond the end of the file.
        len: u32,
    },
    /// The end of a run of strings, for [`HeaderReader::skipped`]; [`skip_strings`](crate::skip_strings) finds it.
    SkipStrings {
        /// Where the first string's length stands.
        offset: u64,
        /// How many strings.
        count: u64,
        /// Bytes of each length: 4 in version 1, 8 later.
        length_bytes: u8,
        /// The byte order of the lengths.
        big_endian: bool,
    },
    /// Nothing: [`HeaderReader::into_header`] has the header.
    Done,
    /// Nothing: the file cannot be read.
    Failed(Error),
}

/// Reads a header from pieces that its caller brings, as [`step`](Self::step) asks for them.
///
/// ```
/// use gguf::{HeaderReader, Step, skip_strings};
///
/// # let file: &[u8] = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// let mut reader = HeaderReader::new(file.len() as u64);
/// let header = loop {
///     match reader.step() {
///         Step::Read { offset, len } => {
///             let start = offset as usize;
///             reader.supply(offset, &file[start..start + len as usize]);
///         }
///         Step::SkipStrings { offset, count, length_bytes, big_endian } => {
///             reader.skipped(skip_strings(&mut &*file, offset, count, length_bytes, big_endian)?);
///         }
///         Step::Done | Step::Failed(_) => break reader.into_header()?,
///     }
/// };
/// assert_eq!(header.version, 3);
/// # Ok::<(), gguf::Error>(())
/// ```
#[derive(Debug)]
pub struct HeaderReader {
    file_len: u64,
    /// Where bytes are known to end: the file's length, or less once a supply was short.
    pub(super) end: u64,
    window_start: u64,
    pub(super) window: Vec<u8>,
    pub(super) at: u64,
    requested: u64,
    steps: u32,
    wanted: Step,
    pub(super) state: State,
    pub(super) version: u32,
    pub(super) encoding: Encoding,
    pub(super) tensors_left: u64,
    pub(super) metadata_left: u64,
    pub(super) kept: u64,
    pub(super) metadata: Metadata,
    pub(super) tensors: Vec<Tensor>,
    pub(super) flaws: Flaws,
    pub(super) texts: Texts,
}

#[derive(Debug, Clone)]
pub(super) enum State {
    Magic,
    Counts,
    Key,
    ValueType { key: Box<str> },
    Value { key: Box<str>, kind: ValueType },
    Strings { key: Box<str>, left: u64 },
    Tensor,
    Finished,
}

/// Why the walk paused.
pub(super) enum Pause {
    /// The window must hold so many bytes from the current place.
    Need(u64),
    Strings(u64),
    Finished,
    Failed(Error),
}

impl From<Error> for Pause {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl HeaderReader {
    /// A reader for a file of `file_len` bytes.
    pub fn new(file_len: u64) -> Self {
        let mut reader = Self {
            file_len,
            end: file_len,
            window_start: 0,
            window: Vec::new(),
            at: 0,
            requested: 0,
            steps: 0,
            wanted: Step::Done,
            state: State::Magic,
            version: 0,
            encoding: Encoding {
                big_endian: false,
                length_bytes: 8,
            },
            tensors_left: 0,
            metadata_left: 0,
            kept: 0,
            metadata: Metadata::default(),
            tensors: Vec::new(),
            flaws: Flaws::default(),
            texts: Texts::default(),
        };
        reader.walk();
        reader
    }

    /// What is needed next; the same until it was brought.
    pub fn step(&self) -> Step {
        self.wanted.clone()
    }

    /// Brings the bytes of a [`Step::Read`]. Fewer than asked for mean that the file ends there; bytes from another
    /// offset than the one asked for are ignored.
    pub fn supply(&mut self, offset: u64, bytes: &[u8]) {
        let Step::Read {
            offset: wanted,
            len,
        } = self.wanted
        else {
            return;
        };
        if offset != wanted {
            return;
        }
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = bytes.get(..len).unwrap_or(bytes);
        if bytes.len() < len {
            let count = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            self.end = self.end.min(offset.saturating_add(count));
        }
        self.window_start = offset;
        self.window.clear();
        self.window.extend_from_slice(bytes);
        self.walk();
    }

    /// Brings the answer to a [`Step::SkipStrings`]: the offset behind the last string.
    pub fn skipped(&mut self, end: u64) {
        let Step::SkipStrings {
            offset,
            count,
            length_bytes,
            ..
        } = self.wanted
        else {
            return;
        };
        let least = count.saturating_mul(u64::from(length_bytes));
        if end < offset.saturating_add(least) || end > self.end {
            self.wanted = Step::Failed(Error::Truncated {
                offset,
                needed: end.saturating_sub(offset).max(least),
                end: self.end,
            });
            return;
        }
        self.at = end;
        self.state = State::Strings {
            key: Box::default(),
            left: 0,
        };
        self.walk();
    }

    /// Where the walk has come to, in bytes from the start of the file.
    pub const fn position(&self) -> u64 {
        self.at
    }

    /// Where text stands in the bytes brought so far, for whoever has to hide it: values and array elements that are
    /// strings, kept or not. Forgets them.
    pub fn take_texts(&mut self) -> Vec<TextSpan> {
        self.texts.take()
    }

    /// The header, once [`step`](Self::step) says [`Step::Done`].
    pub fn into_header(self) -> Result<Header, Error> {
        match self.wanted {
            Step::Done => {}
            Step::Failed(error) => return Err(error),
            Step::Read { .. } | Step::SkipStrings { .. } => {
                return Err(Error::Unfinished { offset: self.at });
            }
        }
        let mut flaws = self.flaws;
        let mut tensors = self.tensors;
        let alignment = match self.metadata.get("general.alignment") {
            None => DEFAULT_ALIGNMENT,
            Some(value) => value
                .as_u64()
                .filter(|value| value.is_power_of_two())
                .unwrap_or_else(|| {
                    flaws.add(Flaw::BadAlignment);
                    DEFAULT_ALIGNMENT
                }),
        };
        let data_offset = self
            .at
            .checked_next_multiple_of(alignment)
            .unwrap_or(u64::MAX);
        place(&mut tensors, data_offset, self.file_len, &mut flaws);
        Ok(Header {
            version: self.version,
            big_endian: self.encoding.big_endian,
            metadata: self.metadata,
            tensors,
            alignment,
            data_offset,
            file_len: self.file_len,
            flaws: flaws.0,
        })
    }

    /// Parses as far as the window reaches, then sets what is wanted.
    fn walk(&mut self) {
        let pause = loop {
            if self.at > MAX_HEADER_BYTES {
                break Pause::Failed(Error::HeaderTooLarge { offset: self.at });
            }
            if let Err(pause) = self.advance() {
                break pause;
            }
        };
        self.wanted = match pause {
            Pause::Need(needed) => self.request(needed),
            Pause::Strings(count) => Step::SkipStrings {
                offset: self.at,
                count,
                length_bytes: self.encoding.length_bytes,
                big_endian: self.encoding.big_endian,
            },
            Pause::Finished => Step::Done,
            Pause::Failed(error) => Step::Failed(error),
        };
        self.steps = self.steps.saturating_add(1);
        if self.steps > MAX_STEPS
            && matches!(self.wanted, Step::Read { .. } | Step::SkipStrings { .. })
        {
            self.wanted = Step::Failed(Error::HeaderTooLarge { offset: self.at });
        }
        if !matches!(self.wanted, Step::Read { .. }) {
            self.window = Vec::new();
        }
    }

    /// One item of the file. Each call moves on, changes the state, or pauses.
    fn advance(&mut self) -> Result<(), Pause> {
        match self.state.clone() {
            State::Magic => self.magic(),
            State::Counts => self.counts(),
            State::Key => self.key(),
            State::ValueType { key } => self.value_type(key),
            State::Value { key, kind } => match kind {
                ValueType::String => self.string(key),
                ValueType::Array => self.array(key),
                _ => self.scalar(key, kind),
            },
            State::Strings { key, left } => self.strings(key, left),
            State::Tensor => self.tensor(),
            State::Finished => Err(Pause::Finished),
        }
    }

    /// A length and a name of so many bytes, and the size of both together.
    pub(super) fn name(&self, what: &'static str, limit: u64) -> Result<(Box<str>, u64), Pause> {
        let head = u64::from(self.encoding.length_bytes);
        let Some(length) = self.encoding.length(self.need(head)?) else {
            return Err(Pause::Need(head));
        };
        if length > limit {
            return Err(Error::NameTooLong {
                what,
                length,
                limit,
                offset: self.at,
            }
            .into());
        }
        let size = head.saturating_add(length);
        let name = clean_text(tail(self.need(size)?, head).unwrap_or_default());
        Ok((name, size))
    }

    pub(super) fn next_entry(&mut self) {
        self.state = if self.metadata_left > 0 {
            State::Key
        } else if self.tensors_left > 0 {
            State::Tensor
        } else {
            State::Finished
        };
    }

    /// Whether the file has `size` more bytes from here.
    pub(super) fn reach(&self, size: u64) -> Result<(), Error> {
        if size > self.end.saturating_sub(self.at) {
            return Err(Error::Truncated {
                offset: self.at,
                needed: size,
                end: self.end,
            });
        }
        Ok(())
    }

    /// The next `size` bytes if the window holds them.
    pub(super) fn peek(&self, size: u64) -> Option<&[u8]> {
        let start = usize::try_from(self.at.checked_sub(self.window_start)?).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        self.window.get(start..end)
    }

    pub(super) fn need(&self, size: u64) -> Result<&[u8], Pause> {
        self.reach(size)?;
        self.peek(size).ok_or(Pause::Need(size))
    }

    /// A read of at least `needed` bytes from here; `reach` has shown that the file has them.
    fn request(&mut self, needed: u64) -> Step {
        let window = if matches!(self.state, State::Tensor) {
            self.tensors_left
                .saturating_mul(u64::from(TENSOR_ENTRY_ESTIMATE))
                .min(u64::from(TENSOR_WINDOW))
        } else {
            u64::from(METADATA_WINDOW)
        };
        let len = window.max(needed).min(self.end.saturating_sub(self.at));
        self.requested = self.requested.saturating_add(len);
        match u32::try_from(len) {
            Ok(len) if self.requested <= MAX_REQUESTED_BYTES => Step::Read {
                offset: self.at,
                len,
            },
            _ => Step::Failed(Error::HeaderTooLarge { offset: self.at }),
        }
    }
}

pub(super) fn tail(bytes: &[u8], from: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(from).ok()?..)
}
