//! A quantity of bytes that is known only between two bounds.

/// Bytes between `low` and `high`, both inclusive; equal where the quantity is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    /// The least it can be, in bytes.
    pub low: u64,
    /// The most it can be, in bytes.
    pub high: u64,
}

impl Range {
    /// A quantity that is known.
    pub const fn exact(bytes: u64) -> Self {
        Self {
            low: bytes,
            high: bytes,
        }
    }

    /// A quantity between two bounds, given in either order.
    pub fn between(a: u64, b: u64) -> Self {
        Self {
            low: a.min(b),
            high: a.max(b),
        }
    }

    /// Whether both bounds are the same.
    pub const fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Whether `bytes` lies within the bounds.
    pub const fn contains(&self, bytes: u64) -> bool {
        self.low <= bytes && bytes <= self.high
    }

    /// The sum of two independent quantities; stops at the largest number instead of wrapping.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            low: self.low.saturating_add(other.low),
            high: self.high.saturating_add(other.high),
        }
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn spanning(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }
}
