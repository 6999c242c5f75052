//! The start of a file: magic, version, byte order, and how many entries follow.

use crate::error::Error;
use crate::limits::{MAX_METADATA_COUNT, MAX_TENSOR_COUNT};

use super::walk::{HeaderReader, Pause, State};

impl HeaderReader {
    pub(super) fn magic(&mut self) -> Result<(), Pause> {
        let first = self.need(4)?;
        if first != b"GGUF" {
            return Err(not_gguf(&self.window).into());
        }
        let bytes = self.need(8)?;
        let Some(version) = bytes
            .get(4..8)
            .and_then(|bytes| <[u8; 4]>::try_from(bytes).ok())
        else {
            return Err(Pause::Need(8));
        };
        // A version in the other byte order has its small number in the high half.
        let little = u32::from_le_bytes(version);
        self.encoding.big_endian = little.trailing_zeros() >= 16 && little != 0;
        self.version = if self.encoding.big_endian {
            little.swap_bytes()
        } else {
            little
        };
        if !(1..=3).contains(&self.version) {
            return Err(Error::UnsupportedVersion(self.version).into());
        }
        self.encoding.length_bytes = if self.version == 1 { 4 } else { 8 };
        self.at = 8;
        self.state = State::Counts;
        Ok(())
    }

    pub(super) fn counts(&mut self) -> Result<(), Pause> {
        let length = u64::from(self.encoding.length_bytes);
        let encoding = self.encoding;
        let bytes = self.need(length.saturating_mul(2))?;
        let (Some(tensors), Some(metadata)) = (
            encoding.length(bytes),
            bytes
                .get(usize::from(encoding.length_bytes)..)
                .and_then(|bytes| encoding.length(bytes)),
        ) else {
            return Err(Pause::Need(length.saturating_mul(2)));
        };
        self.count("tensors", tensors, MAX_TENSOR_COUNT)?;
        self.count("metadata entries", metadata, MAX_METADATA_COUNT)?;
        // The least an entry can take: an empty name, a type and a byte; an empty name, no dimension, type, offset.
        let least = metadata
            .saturating_mul(length.saturating_add(5))
            .saturating_add(tensors.saturating_mul(length.saturating_add(16)));
        self.at = self.at.saturating_add(length.saturating_mul(2));
        self.reach(least)?;
        self.tensors_left = tensors;
        self.metadata_left = metadata;
        self.next_entry();
        Ok(())
    }

    fn count(&self, what: &'static str, count: u64, limit: u64) -> Result<(), Error> {
        if count > limit {
            return Err(Error::TooMany {
                what,
                count,
                limit,
                offset: self.at,
            });
        }
        Ok(())
    }
}

/// What a file is that does not start with the magic.
fn not_gguf(start: &[u8]) -> Error {
    let first: [u8; 4] = start
        .get(..4)
        .and_then(|bytes| bytes.try_into().ok())
        .unwrap_or_default();
    let name = match &first {
        b"lmgg" => "the old ggml format (2023, or a whisper.cpp speech model)",
        b"fmgg" => "the old ggmf format (2023)",
        b"tjgg" => "the old ggjt format (2023)",
        b"algg" => "the old ggla adapter format (2023)",
        b"PK\x03\x04" => "a zip archive (a PyTorch checkpoint, perhaps)",
        _ if start.get(8..10) == Some(b"{\"") => "a safetensors file",
        _ => return Error::NotGguf { first },
    };
    Error::OtherFormat(name)
}
