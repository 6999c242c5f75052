//! Which layout a `_v3` process list has been written in.
//!
//! Libraries export two layouts under one name: 24 bytes an entry, and 32 with a size at the end (early 535, see
//! `nvmlProcessDetail_v1_t`). Reading one as the other gives wrong numbers without an error, so the layout is
//! found from the bytes that a call has changed, never from a version.

#[cfg(test)]
mod tests;

/// A layout of process entries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Layout {
    /// Number, memory.
    Bytes16,
    /// Number, memory, both instances.
    Bytes24,
    /// The same, and a size that is not used.
    Bytes32,
}

impl Layout {
    /// Words of 8 bytes from one entry to the next.
    pub(super) const fn words(self) -> usize {
        match self {
            Self::Bytes16 => 2,
            Self::Bytes24 => 3,
            Self::Bytes32 => 4,
        }
    }
}

/// What the changed bytes say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// This layout and no other.
    Only(Layout),
    /// Both read the same: a single entry, and nothing written behind its first 24 bytes.
    Either,
    /// Neither explains what was written.
    Neither,
}

/// First filling of a buffer before a call.
pub(super) const FIRST_FILL: u64 = 0xAAAA_AAAA_AAAA_AAAA;
/// Second filling, with every bit different: no value equals both.
pub(super) const SECOND_FILL: u64 = !FIRST_FILL;

/// The halves of words that a call has changed. Fields of entries are one or two halves.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Touched(Vec<bool>);

impl Touched {
    /// Compares a buffer with what it was filled with.
    pub(super) fn since(buffer: &[u64], fill: u64) -> Self {
        // The fills repeat every four bytes, so the halves' order does not matter here.
        let [fill, _] = halves(fill);
        Self(
            buffer
                .iter()
                .flat_map(|word| halves(*word))
                .map(|half| half != fill)
                .collect(),
        )
    }

    /// What was changed in either of two calls.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| *a || *b).collect())
    }

    fn any(&self, halves: std::ops::Range<usize>) -> bool {
        self.0
            .get(halves)
            .is_some_and(|range| range.iter().any(|touched| *touched))
    }

    /// Whether `count` entries of this layout, and nothing behind them, may have been written.
    fn fits(&self, layout: Layout, count: usize) -> bool {
        let stride = layout.words() * 2;
        let end = stride * count;
        let entries_written = (0..count).map(|n| n * stride).all(|at| {
            // Number (its padding may stay), memory, GPU instance, compute instance.
            [at..at + 1, at + 2..at + 4, at + 4..at + 5, at + 5..at + 6]
                .into_iter()
                .all(|field| self.any(field))
        });
        entries_written && !self.any(end..self.0.len())
    }

    /// Which layout explains `count` entries.
    pub(super) fn verdict(&self, count: usize) -> Verdict {
        match (
            self.fits(Layout::Bytes24, count),
            self.fits(Layout::Bytes32, count),
        ) {
            (true, true) => Verdict::Either,
            (true, false) => Verdict::Only(Layout::Bytes24),
            (false, true) => Verdict::Only(Layout::Bytes32),
            (false, false) => Verdict::Neither,
        }
    }
}

/// The two 32-bit values of a word, in memory order.
#[expect(
    clippy::many_single_char_names,
    reason = "eight bytes that have no names"
)]
pub(super) fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [
        u32::from_ne_bytes([a, b, c, d]),
        u32::from_ne_bytes([e, f, g, h]),
    ]
}
