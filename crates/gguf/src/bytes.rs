//! Numbers and text out of bytes, in either byte order. Every function answers `None` where bytes are missing.

/// How numbers and lengths stand in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) big_endian: bool,
    /// Bytes of a string or array length and of a dimension: 4 in version 1, 8 later.
    pub(crate) length_bytes: u8,
}

impl Encoding {
    fn array<const N: usize>(self, bytes: &[u8]) -> Option<[u8; N]> {
        let mut array: [u8; N] = bytes.get(..N)?.try_into().ok()?;
        if self.big_endian {
            array.reverse();
        }
        Some(array)
    }

    pub(crate) fn u16(self, bytes: &[u8]) -> Option<u16> {
        self.array(bytes).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(self, bytes: &[u8]) -> Option<u32> {
        self.array(bytes).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(self, bytes: &[u8]) -> Option<u64> {
        self.array(bytes).map(u64::from_le_bytes)
    }

    pub(crate) fn i16(self, bytes: &[u8]) -> Option<i16> {
        self.array(bytes).map(i16::from_le_bytes)
    }

    pub(crate) fn i32(self, bytes: &[u8]) -> Option<i32> {
        self.array(bytes).map(i32::from_le_bytes)
    }

    pub(crate) fn i64(self, bytes: &[u8]) -> Option<i64> {
        self.array(bytes).map(i64::from_le_bytes)
    }

    pub(crate) fn f32(self, bytes: &[u8]) -> Option<f32> {
        self.array(bytes).map(f32::from_le_bytes)
    }

    pub(crate) fn f64(self, bytes: &[u8]) -> Option<f64> {
        self.array(bytes).map(f64::from_le_bytes)
    }

    /// A count, length or dimension.
    pub(crate) fn length(self, bytes: &[u8]) -> Option<u64> {
        if self.length_bytes == 4 {
            self.u32(bytes).map(u64::from)
        } else {
            self.u64(bytes)
        }
    }
}

/// Text from a file, fit for a terminal: invalid UTF-8 replaced, control characters and those that turn the
/// direction of text left out.
pub(crate) fn clean_text(bytes: &[u8]) -> Box<str> {
    let text = String::from_utf8_lossy(bytes);
    if text.chars().any(is_hidden) {
        text.chars()
            .filter(|c| !is_hidden(*c))
            .collect::<String>()
            .into()
    } else {
        text.into_owned().into()
    }
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
