//! Numbers and text out of bytes. Every function answers `None` where bytes are missing.

use crate::limits::MAX_NAME_BYTES;

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// A length as a size in memory; the largest where it does not fit, which no slice has.
pub(crate) fn size(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

/// The length of a slice.
pub(crate) fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// A name from a file, fit for a terminal and bounded: control characters and those that turn the direction of text
/// left out. `None` where nothing is left.
pub(crate) fn name(text: &str) -> Option<String> {
    let mut kept = String::new();
    for c in text.trim().chars().filter(|c| !is_hidden(*c)) {
        if kept.len().saturating_add(c.len_utf8()) > MAX_NAME_BYTES {
            break;
        }
        kept.push(c);
    }
    (!kept.is_empty()).then_some(kept)
}

/// The name of a neighbouring file: a name without any folder, as it stands.
pub(crate) fn file_name(text: &str) -> Option<String> {
    let plain = !text.is_empty()
        && text.len() <= MAX_NAME_BYTES
        && text != "."
        && text != ".."
        && !text.contains(|c: char| c == '/' || c == '\\' || c == '\0' || is_hidden(c));
    plain.then(|| text.to_owned())
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
