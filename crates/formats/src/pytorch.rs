//! `PyTorch`'s own formats. A pickle is a program: its first bytes are looked at and nothing of it is executed.

use crate::description::{Description, Flaw, Format};

/// The pickle of the magic number that `torch.save` wrote first, up to 1.5.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e";

/// What the file is, if it starts like a pickle of protocol 2 to 5.
pub(crate) fn pickle(start: &[u8]) -> Option<Description> {
    if start.starts_with(LEGACY) {
        return Some(Description::new(Format::PytorchLegacy));
    }
    match start {
        // What may follow the protocol: an opcode that opens something, a frame, a text or a global.
        [
            0x80,
            2..=5,
            b'}' | b']' | b')' | b'(' | b'c' | b'X' | b'K' | b'J' | 0x8a | 0x95 | 0x8c,
            ..,
        ] => Some(Description::new(Format::Pickle)),
        _ => None,
    }
}

/// What the names in a zip archive tell.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    has_pickle: bool,
    has_code: bool,
    storages: u64,
    bytes: u64,
}

impl Entries {
    /// Notes an entry of this name and size. Everything lies in one folder, whose name is that of the saved file.
    pub(crate) fn add(&mut self, name: &[u8], size: u64) {
        let Some(slash) = name.iter().position(|byte| *byte == b'/') else {
            return;
        };
        let inner = name.get(slash.saturating_add(1)..).unwrap_or_default();
        if inner == b"data.pkl" {
            self.has_pickle = true;
        } else if inner.starts_with(b"code/") {
            self.has_code = true;
        } else if let Some(number) = inner.strip_prefix(b"data/")
            && !number.is_empty()
            && number.iter().all(u8::is_ascii_digit)
        {
            self.storages = self.storages.saturating_add(1);
            self.bytes = self.bytes.saturating_add(size);
        }
    }

    /// What the archive is, if it is `PyTorch`'s.
    pub(crate) fn describe(&self, file: u64, complete: bool) -> Option<Description> {
        if !self.has_pickle {
            return None;
        }
        let mut found = Description::new(if self.has_code {
            Format::TorchScript
        } else {
            Format::Pytorch
        });
        if !complete {
            found.flaw(Flaw::TableTooLong);
            return Some(found);
        }
        // The archive is not compressed, so that its storages cannot be larger than it.
        if self.bytes > file {
            found.flaw(Flaw::SizeMismatch);
        } else {
            found.tensors = Some(self.storages);
            found.tensor_bytes = Some(self.bytes);
        }
        Some(found)
    }
}
