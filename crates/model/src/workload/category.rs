//! Kinds of work, for grouping and colour.

/// Kind of work, for grouping and colour. Decided per process by the first rule that fits.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Category {
    /// A language model.
    Llm,
    /// A decision model.
    Decision,
    /// Embedding or reranking.
    Embedding,
    /// Speech.
    Speech,
    /// Image or video generation.
    Diffusion,
    /// Training, on evidence only.
    Training,
    /// Another AI runtime.
    Ai,
    /// A web browser.
    Browser,
    /// Compositor or desktop.
    Desktop,
    /// A game or another 3D program.
    Graphics3d,
    /// Video playback, capture or encoding.
    Video,
    /// None of these.
    Other,
}

impl Category {
    /// All categories in display order.
    pub const ALL: &'static [Self] = &[
        Self::Llm,
        Self::Decision,
        Self::Embedding,
        Self::Speech,
        Self::Diffusion,
        Self::Training,
        Self::Ai,
        Self::Browser,
        Self::Desktop,
        Self::Graphics3d,
        Self::Video,
        Self::Other,
    ];

    /// Whether a process of this kind has a model.
    pub const fn works_with_models(self) -> bool {
        matches!(
            self,
            Self::Llm
                | Self::Decision
                | Self::Embedding
                | Self::Speech
                | Self::Diffusion
                | Self::Training
                | Self::Ai
        )
    }

    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Decision => "decision",
            Self::Embedding => "embedding",
            Self::Speech => "speech",
            Self::Diffusion => "diffusion",
            Self::Training => "training",
            Self::Ai => "ai",
            Self::Browser => "browser",
            Self::Desktop => "desktop",
            Self::Graphics3d => "3d_game",
            Self::Video => "video",
            Self::Other => "other",
        }
    }

    /// The name shown in tables.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Llm => "LLM",
            Self::Decision => "decision",
            Self::Embedding => "embed",
            Self::Speech => "speech",
            Self::Diffusion => "image",
            Self::Training => "training",
            Self::Ai => "AI",
            Self::Browser => "browser",
            Self::Desktop => "desktop",
            Self::Graphics3d => "3D/game",
            Self::Video => "video",
            Self::Other => "other",
        }
    }

    /// The letter in bars without colour.
    pub const fn letter(self) -> char {
        match self {
            Self::Llm => 'L',
            Self::Decision => 'D',
            Self::Embedding => 'E',
            Self::Speech => 'S',
            Self::Diffusion => 'I',
            Self::Training => 'T',
            Self::Ai => 'A',
            Self::Browser => 'B',
            Self::Desktop => 'C',
            Self::Graphics3d => 'G',
            Self::Video => 'V',
            Self::Other => 'O',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn category_letters_and_names_are_unique() {
        let letters: std::collections::BTreeSet<_> =
            Category::ALL.iter().map(|c| c.letter()).collect();
        let ids: std::collections::BTreeSet<_> = Category::ALL.iter().map(|c| c.id()).collect();
        assert_eq!(
            (letters.len(), ids.len()),
            (Category::ALL.len(), Category::ALL.len())
        );
        assert!(!letters.contains(&'U'), "U is the unattributed remainder");
    }
}
