//! A number that a header gives once for all layers, or once a layer.

/// One value for every layer, or one each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PerLayer {
    /// The same in every layer.
    Same(u64),
    /// By layer, from the first; shorter than the model where the file is flawed.
    Each(Box<[u64]>),
}

impl PerLayer {
    /// The value of a layer, counted from 0; `None` beyond the end of an array.
    pub fn get(&self, layer: u64) -> Option<u64> {
        match self {
            Self::Same(value) => Some(*value),
            Self::Each(values) => values.get(usize::try_from(layer).ok()?).copied(),
        }
    }

    /// The largest value of any layer.
    pub fn max(&self) -> Option<u64> {
        match self {
            Self::Same(value) => Some(*value),
            Self::Each(values) => values.iter().copied().max(),
        }
    }
}
