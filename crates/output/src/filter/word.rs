//! What a text is compared with: a word, or a pattern.

use regex_lite::{Regex, RegexBuilder};

/// Largest program that a pattern may be compiled to, bytes: an expression of 512 characters can ask for far more.
const MAX_PATTERN: usize = 256 << 10;

/// A word or a pattern. Letter case never counts.
#[derive(Clone, Debug)]
pub(super) enum Words {
    /// Found anywhere in the text; in lower case.
    Within(String),
    /// The whole text; in lower case.
    Whole(String),
    Pattern(Regex),
}

impl Words {
    pub(super) fn within(text: &str) -> Self {
        Self::Within(text.to_lowercase())
    }

    pub(super) fn whole(text: &str) -> Self {
        Self::Whole(text.to_lowercase())
    }

    pub(super) fn pattern(text: &str) -> Result<Self, String> {
        RegexBuilder::new(text)
            .case_insensitive(true)
            .size_limit(MAX_PATTERN)
            .build()
            .map(Self::Pattern)
            .map_err(|error| format!("the pattern cannot be used: {error}"))
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        match self {
            Self::Within(word) => text.to_lowercase().contains(word.as_str()),
            Self::Whole(word) => text.to_lowercase() == *word,
            Self::Pattern(pattern) => pattern.is_match(text),
        }
    }
}
