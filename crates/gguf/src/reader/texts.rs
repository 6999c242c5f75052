//! Where text stands in a header.

/// Most places remembered between two calls of [`take_texts`](super::HeaderReader::take_texts): a window of 64 KiB
/// holds at most 8192 strings with lengths of 8 bytes.
const MAX_TEXTS: usize = 16_384;

/// A string in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSpan {
    /// The key whose value, or an element of whose value, it is.
    pub key: Box<str>,
    /// Where its first byte stands, from the start of the file.
    pub offset: u64,
    /// In bytes. Can end beyond the bytes that were brought.
    pub len: u64,
}

/// The places found since they were last taken.
#[derive(Debug, Default)]
pub(super) struct Texts(Vec<TextSpan>);

impl Texts {
    /// Notes a place. A value that needs another window is come across twice.
    pub(super) fn add(&mut self, key: &str, offset: u64, len: u64) {
        let known = self.0.last().is_some_and(|last| last.offset == offset);
        if !known && self.0.len() < MAX_TEXTS {
            self.0.push(TextSpan {
                key: key.into(),
                offset,
                len,
            });
        }
    }

    pub(super) fn take(&mut self) -> Vec<TextSpan> {
        std::mem::take(&mut self.0)
    }
}
