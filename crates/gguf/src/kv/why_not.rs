//! Why there is no estimate.

use std::fmt;

/// Why the size of the caches is not estimated. The text is meant for a user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyNot {
    /// An architecture this crate has no rule for; `None` if the header names none.
    UnknownArchitecture(Option<String>),
    /// The model keeps nothing between tokens, so there is no cache: an encoder, or text diffusion.
    NonCausal,
    /// A known architecture whose caches follow rules that are not modelled; see the server's log.
    NotModelled(&'static str),
    /// A key the arithmetic needs is absent or of the wrong type.
    Missing(&'static str),
    /// A value of the header contradicts another one or is impossible.
    Malformed(&'static str),
    /// No server starts with these settings and this model.
    Impossible(&'static str),
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownArchitecture(Some(name)) => {
                write!(f, "cache size not known for architecture \"{name}\"")
            }
            Self::UnknownArchitecture(None) => write!(f, "the header names no architecture"),
            Self::NonCausal => write!(f, "no cache: the model keeps nothing between tokens"),
            Self::NotModelled(why) => write!(f, "cache size not estimated: {why}"),
            Self::Missing(key) => write!(f, "cache size not known: the header lacks {key}"),
            Self::Malformed(key) => {
                write!(f, "cache size not known: the header's {key} is impossible")
            }
            Self::Impossible(why) => write!(f, "these settings do not work together: {why}"),
        }
    }
}

impl std::error::Error for WhyNot {}
