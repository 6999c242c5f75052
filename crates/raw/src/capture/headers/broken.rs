//! What has to be left of a broken header: the bytes that its error is decided by, so that who reads what is left comes to
//! the same end, and nothing behind them.

use gguf::Error;

/// Bytes of a length, where nothing else decides.
const LENGTH: u64 = 8;

/// Two counts at the start of a file.
const COUNTS: u64 = 16;

/// Longest name of a tensor that is read; its entry holds no other text.
const MAX_NAME: u64 = gguf::limits::MAX_TENSOR_NAME_BYTES;

/// Bytes of a tensor's entry behind its name, at least (number of dimensions) and at most (four of them, type, offset).
const BEHIND_NAME: std::ops::RangeInclusive<u64> = 4..=48;

/// Where the deciding bytes end. `rest` is what was read from `position`, the start of what is broken.
pub(super) fn end(error: &Error, position: u64, rest: &[u8]) -> u64 {
    let from_here = match error {
        Error::TooMany { offset, limit, .. }
            if *limit <= u64::from(gguf::limits::MAX_DIMENSIONS) =>
        {
            return offset.saturating_add(4);
        }
        Error::TooMany { .. } => COUNTS,
        Error::TensorTooLarge { .. } => lengths(rest)
            .find(|(_, length)| *length <= MAX_NAME)
            .map_or(LENGTH, |(head, length)| {
                head.saturating_add(length)
                    .saturating_add(*BEHIND_NAME.end())
            }),
        Error::Truncated { needed, .. } => truncated(*needed, rest),
        _ => LENGTH,
    };
    position.saturating_add(from_here)
}

/// What a header that ends too early announces there: text, of which the length decides and nothing else may be left; a
/// tensor; or an array, whose type and count decide.
fn truncated(needed: u64, rest: &[u8]) -> u64 {
    let text = lengths(rest).find(|(head, length)| head.saturating_add(*length) == needed);
    if let Some((head, _)) = text {
        return head;
    }
    let is_tensor = lengths(rest).any(|(head, length)| {
        let behind = needed.checked_sub(head.saturating_add(length));
        length <= MAX_NAME && behind.is_some_and(|behind| BEHIND_NAME.contains(&behind))
    });
    if is_tensor {
        return needed;
    }
    let elements = lengths(rest.get(4..).unwrap_or_default());
    let array = elements
        .map(|(head, count)| (head.saturating_add(4), count))
        .find(|(head, count)| {
            [1, 2, 4, 8]
                .iter()
                .any(|size| head.saturating_add(count.saturating_mul(*size)) == needed)
        });
    array.map_or(LENGTH, |(head, _)| head)
}

/// The length at the start of `rest` in every form a file may have it, with the bytes it takes.
fn lengths(rest: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let eight = rest
        .get(..8)
        .and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
    let four = rest
        .get(..4)
        .and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    [
        eight.map(|bytes| (8, u64::from_le_bytes(bytes))),
        eight.map(|bytes| (8, u64::from_be_bytes(bytes))),
        four.map(|bytes| (4, u64::from(u32::from_le_bytes(bytes)))),
        four.map(|bytes| (4, u64::from(u32::from_be_bytes(bytes)))),
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(needed: u64, rest: &[u8]) -> u64 {
        let error = Error::Truncated {
            offset: 100,
            needed,
            end: 400,
        };
        end(&error, 100, rest)
    }

    #[test]
    fn of_text_only_the_length_is_left() {
        let text = [&1000_u64.to_le_bytes()[..], b"canary of somebody"].concat();
        assert_eq!(cut(1008, &text), 108);
        let old = [&1000_u32.to_le_bytes()[..], b"canary of somebody"].concat();
        assert_eq!(cut(1004, &old), 104);
    }

    #[test]
    fn what_an_array_or_a_tensor_is_refused_for_is_left() {
        let array = [
            &4_u32.to_le_bytes()[..],
            &(1_u64 << 40).to_le_bytes(),
            &[0; 40],
        ]
        .concat();
        assert_eq!(cut(12 + 4 * (1 << 40), &array), 112);
        let tensor = [
            &5_u64.to_le_bytes()[..],
            b"blk.0",
            &2_u32.to_le_bytes(),
            &[0; 8],
        ]
        .concat();
        assert_eq!(cut(8 + 5 + 4 + 16 + 12, &tensor), 145);
        // The number of dimensions stands behind the name: zeros there would make a tensor of one element of it.
        let dimensions = Error::TooMany {
            what: "dimensions of a tensor",
            count: 1 << 30,
            limit: 4,
            offset: 113,
        };
        assert_eq!(end(&dimensions, 100, &tensor), 117);
    }
}
