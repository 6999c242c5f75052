//! Sums over tensors by type.

use std::collections::BTreeMap;

use crate::dtype::{Dtype, Share};

/// Tensors so far. Sums stop at the largest number instead of wrapping.
#[derive(Debug, Default)]
pub(crate) struct Tensors {
    by_type: BTreeMap<Dtype, (u64, u64)>,
    pub(crate) count: u64,
}

impl Tensors {
    pub(crate) fn add(&mut self, dtype: Dtype, elements: u64, bytes: u64) {
        let sums = self.by_type.entry(dtype).or_default();
        sums.0 = sums.0.saturating_add(elements);
        sums.1 = sums.1.saturating_add(bytes);
        self.count = self.count.saturating_add(1);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.by_type
            .values()
            .fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// The types, that with most bytes first.
    pub(crate) fn shares(&self) -> Vec<Share> {
        let mut shares: Vec<Share> = self
            .by_type
            .iter()
            .map(|(dtype, (elements, bytes))| Share {
                dtype: *dtype,
                elements: *elements,
                bytes: *bytes,
            })
            .collect();
        shares.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.dtype.cmp(&b.dtype)));
        shares
    }
}

/// Bytes of so many elements; `None` where the type is unknown or the number is none a file can have.
pub(crate) fn bytes_of(dtype: Dtype, elements: u64) -> Option<u64> {
    Some(elements.checked_mul(dtype.bits()?)?.div_ceil(8))
}
