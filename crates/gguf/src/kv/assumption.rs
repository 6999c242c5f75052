//! What an estimate rests on beside the header and the known settings.

use std::fmt;

/// Something that was not known, and what was assumed for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Assumption {
    /// The context is between these, in tokens.
    Context {
        /// The least a server shrinks it to.
        low: u64,
        /// What the model was trained with.
        high: u64,
    },
    /// There are 1 to so many slots.
    Slots {
        /// The most that is assumed.
        high: u32,
    },
    /// The slots may or may not share one cache.
    Unified,
    /// Keys are stored in `q4_0` to `f16`.
    KeyType,
    /// Values are stored in `q4_0` to `f16`.
    ValueType,
    /// Between so many tokens are computed at once.
    Batch {
        /// The least that is assumed.
        low: u32,
        /// The most that is assumed.
        high: u32,
    },
    /// Flash attention may or may not be used.
    FlashAttention,
    /// Which layers have a sliding window is the architecture's default, not in the header.
    WindowPattern {
        /// Every so-manieth layer is full.
        period: u64,
    },
    /// The size of the sliding window is the architecture's, not in the header.
    WindowSize {
        /// In tokens.
        tokens: u64,
    },
    /// It is not known which layers have index keys (sparse attention): none to all.
    IndexLayers,
    /// No states are kept to undo speculative tokens.
    NoRollback,
    /// The build is not known: the rules of 2024 to today.
    Era,
    /// The layers for multi-token prediction have full attention.
    PredictionLayers,
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Context { low, high } => write!(f, "context unknown: {low} to {high} tokens"),
            Self::Slots { high } => write!(f, "slots unknown: 1 to {high}"),
            Self::Unified => write!(f, "slots may or may not share one cache"),
            Self::KeyType => write!(f, "type of keys unknown: q4_0 to f16"),
            Self::ValueType => write!(f, "type of values unknown: q4_0 to f16"),
            Self::Batch { low, high } => write!(f, "batch unknown: {low} to {high} tokens"),
            Self::FlashAttention => write!(f, "flash attention may or may not be used"),
            Self::WindowPattern { period } => {
                write!(f, "one layer in {period} has no sliding window, by default")
            }
            Self::WindowSize { tokens } => {
                write!(f, "sliding window of {tokens} tokens, by default")
            }
            Self::IndexLayers => write!(f, "index keys in none to all layers"),
            Self::NoRollback => write!(f, "no speculative decoding with state rollback"),
            Self::Era => write!(f, "build unknown: rules of any year"),
            Self::PredictionLayers => {
                write!(f, "full attention in layers for multi-token prediction")
            }
        }
    }
}
