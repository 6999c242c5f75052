//! Finding the end of a run of strings without keeping any of them.

use crate::bytes::Encoding;
use crate::error::Error;
use crate::limits::{MAX_HEADER_BYTES, SKIP_BUFFER};
use crate::read_at::{ReadAt, read_full};

/// Walks `count` strings from `offset`, each a length of `length_bytes` (4 or 8) and that many bytes, and returns
/// the offset behind the last one.
///
/// Reads at most [`MAX_HEADER_BYTES`] in pieces of [`SKIP_BUFFER`], and only the pieces that hold lengths; what the
/// strings say is neither kept nor returned.
pub fn skip_strings(
    read: &mut (impl ReadAt + ?Sized),
    offset: u64,
    count: u64,
    length_bytes: u8,
    big_endian: bool,
) -> Result<u64, Error> {
    let encoding = Encoding {
        big_endian,
        length_bytes: if length_bytes == 4 { 4 } else { 8 },
    };
    let length_size = usize::from(encoding.length_bytes);
    let end = read.len();
    let mut buffer = Vec::new();
    let mut filled = 0_usize;
    let mut start = offset;
    let mut at = offset;
    let mut left = count;
    while left > 0 {
        let unread = at
            .checked_sub(start)
            .and_then(|skip| usize::try_from(skip).ok())
            .and_then(|skip| buffer.get(skip..filled))
            .unwrap_or_default();
        let (bytes, strings) = hop(unread, left, encoding);
        at = at.saturating_add(bytes);
        left = left.saturating_sub(strings);
        if left == 0 {
            break;
        }
        if at.saturating_sub(offset) > MAX_HEADER_BYTES {
            return Err(Error::HeaderTooLarge { offset: at });
        }
        let in_buffer = at
            .checked_sub(start)
            .and_then(|skip| usize::try_from(skip).ok())
            .and_then(|skip| buffer.get(skip..filled))
            .and_then(|bytes: &[u8]| encoding.length(bytes.get(..length_size)?));
        let Some(length) = in_buffer else {
            buffer.resize(SKIP_BUFFER, 0);
            start = at;
            filled = read_full(read, start, &mut buffer)?;
            if filled < length_size {
                return Err(truncated(at, u64::from(encoding.length_bytes), end));
            }
            continue;
        };
        let needed = u64::from(encoding.length_bytes).saturating_add(length);
        let after = at.saturating_add(needed);
        if after > end {
            return Err(truncated(at, needed, end));
        }
        at = after;
        left = left.saturating_sub(1);
    }
    Ok(at)
}

/// Hops over whole strings in `bytes`, `most` at most; says how many bytes and how many strings those are.
///
/// A vocabulary has half a million strings of a few bytes, so that this loop is what reading a header costs.
fn hop(bytes: &[u8], most: u64, encoding: Encoding) -> (u64, u64) {
    match (encoding.length_bytes, encoding.big_endian) {
        (8, false) => hop_by(bytes, most, u64::from_le_bytes),
        (8, true) => hop_by(bytes, most, u64::from_be_bytes),
        (_, false) => hop_by(bytes, most, |length| u32::from_le_bytes(length).into()),
        (_, true) => hop_by(bytes, most, |length| u32::from_be_bytes(length).into()),
    }
}

fn hop_by<const N: usize>(bytes: &[u8], most: u64, length: impl Fn([u8; N]) -> u64) -> (u64, u64) {
    let mut rest = bytes;
    let mut strings = 0_u64;
    while strings < most
        && let Some((prefix, text)) = rest.split_first_chunk::<N>()
        && let Ok(count) = usize::try_from(length(*prefix))
        && let Some(after) = text.get(count..)
    {
        rest = after;
        strings = strings.saturating_add(1);
    }
    let hopped = bytes.len().saturating_sub(rest.len());
    (u64::try_from(hopped).unwrap_or(u64::MAX), strings)
}

fn truncated(offset: u64, needed: u64, end: u64) -> Error {
    Error::Truncated {
        offset,
        needed,
        end,
    }
}
