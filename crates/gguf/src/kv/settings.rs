//! The settings of a server that decide the size of its caches.

/// The type keys or values are stored in (`-ctk`, `-ctv`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are llama.cpp's")]
pub enum CacheType {
    F32,
    F16,
    Bf16,
    Q8_0,
    Q4_0,
    Q4_1,
    Iq4Nl,
    Q5_0,
    Q5_1,
}

const CACHE_TYPES: &[(CacheType, &str)] = &[
    (CacheType::F32, "f32"),
    (CacheType::F16, "f16"),
    (CacheType::Bf16, "bf16"),
    (CacheType::Q8_0, "q8_0"),
    (CacheType::Q4_0, "q4_0"),
    (CacheType::Q4_1, "q4_1"),
    (CacheType::Iq4Nl, "iq4_nl"),
    (CacheType::Q5_0, "q5_0"),
    (CacheType::Q5_1, "q5_1"),
];

impl CacheType {
    /// The type with the name that stands on a command line, such as `q8_0`.
    pub fn from_name(name: &str) -> Option<Self> {
        CACHE_TYPES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(cache_type, _)| *cache_type)
    }

    /// The name on a command line.
    pub fn name(self) -> &'static str {
        CACHE_TYPES
            .iter()
            .find(|(known, _)| *known == self)
            .map_or("", |(_, name)| *name)
    }

    /// Whether elements are stored in blocks; values so stored need flash attention.
    pub fn is_quantized(self) -> bool {
        !matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// Bytes of a row; `None` if it does not consist of whole blocks.
    pub(crate) fn row_bytes(self, elements: u64) -> Option<u64> {
        let (block_bytes, block_elements): (u64, u64) = match self {
            Self::F32 => (4, 1),
            Self::F16 | Self::Bf16 => (2, 1),
            Self::Q8_0 => (34, 32),
            Self::Q4_0 | Self::Iq4Nl => (18, 32),
            Self::Q4_1 => (20, 32),
            Self::Q5_0 => (22, 32),
            Self::Q5_1 => (24, 32),
        };
        if elements.checked_rem(block_elements)? != 0 {
            return None;
        }
        elements
            .checked_div(block_elements)?
            .checked_mul(block_bytes)
    }
}

/// Which rules a build of llama.cpp follows for the cells of a cache. Checked against logs of builds of April, August,
/// late 2025 and 2026 (llama, gemma3; 2 slots); not checked are models before August 2025 whose layers differ in the
/// width of their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Era {
    /// Since November 2025: contexts are padded to 256 tokens, and divided before.
    #[default]
    Current,
    /// August to October 2025: slots have caches of their own; padding to 256 with flash attention, else to 32.
    OwnCaches,
    /// May to July 2025: all slots share one cache, windowed layers are limited to their window.
    OneCache,
    /// Before May 2025: all slots share one cache, and windowed layers are as large as others.
    FullWindows,
    /// Not known: any of these.
    Unknown,
}

impl Era {
    /// Those it can be.
    pub(crate) fn possible(self) -> &'static [Self] {
        match self {
            Self::Current => &[Self::Current],
            Self::OwnCaches => &[Self::OwnCaches],
            Self::OneCache => &[Self::OneCache],
            Self::FullWindows => &[Self::FullWindows],
            Self::Unknown => &[
                Self::Current,
                Self::OwnCaches,
                Self::OneCache,
                Self::FullWindows,
            ],
        }
    }
}

/// What is known of a server's settings. `None` means not known, which is not the same as the default: a setting can
/// come from an environment variable (`LLAMA_ARG_…`) that nobody sees. The default is all unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KvSettings {
    /// Tokens of context for all slots together (`-c`); 0 for what the model was trained with. A server that was
    /// given no `-c` may have shrunk the context to fit, down to 4096: unknown then, unless the server was asked.
    pub context: Option<u64>,
    /// Slots (`-np`).
    pub parallel: Option<u32>,
    /// Whether the slots share one cache (`--kv-unified`). They do by default if the number of slots is not set
    /// either, and do not if it is.
    pub unified: Option<bool>,
    /// The type of keys (`-ctk`).
    pub type_k: Option<CacheType>,
    /// The type of values (`-ctv`).
    pub type_v: Option<CacheType>,
    /// Tokens computed at once: the smaller of `-ub` and `-b`.
    pub ubatch: Option<u32>,
    /// Whether flash attention is used; `auto` is unknown until the log tells.
    pub flash_attention: Option<bool>,
    /// Whether layers with a sliding window have full caches (`--swa-full`).
    pub swa_full: bool,
    /// The build's rules.
    pub era: Era,
    /// States kept beside the current one for each slot, to undo speculated tokens: recurrent layers take as many
    /// times more. `None`: not known, none assumed.
    pub rollback: Option<u32>,
}

impl KvSettings {
    /// What a current llama-server uses where its command line is known and sets nothing: 4 slots that share a cache,
    /// f16, batches of 512; the context is not known, since it is made to fit, nor is flash attention.
    pub const fn llama_server_defaults() -> Self {
        Self {
            context: None,
            parallel: Some(4),
            unified: Some(true),
            type_k: Some(CacheType::F16),
            type_v: Some(CacheType::F16),
            ubatch: Some(512),
            flash_attention: None,
            swa_full: false,
            era: Era::Current,
            rollback: None,
        }
    }
}
