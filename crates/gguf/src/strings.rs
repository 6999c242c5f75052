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

fn truncated(offset: u64, needed: u64, end: u64) -> Error {
    Error::Truncated {
        offset,
        needed,
        end,
    }
}
