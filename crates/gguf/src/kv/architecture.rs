//! Which rules an architecture follows.

use super::state::StateRule;

/// What an architecture keeps between tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Nothing.
    None,
    /// Keys and values of every layer, with a sliding window in some.
    Attention(Window),
    /// A state in every layer.
    Recurrent(StateRule),
    /// A state in some layers, keys and values in others.
    Hybrid(RecurrentLayers, StateRule),
    /// Something that is not modelled, and what.
    NotModelled(&'static str),
}

/// Which layers of an architecture have a sliding window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    /// None, even if the header gives a window.
    Ignored,
    /// Those the header says; none if it does not.
    Header,
    /// Those the header says, else all but every `period`th.
    Default {
        period: u64,
        /// Whether the first layer of a period is the full one, instead of the last.
        full_first: bool,
        size: WindowSize,
    },
}

/// How many tokens a sliding window has. None at all where the header says 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowSize {
    /// What the header says; without it all layers are full.
    Stated,
    /// What the header says, else this.
    StatedOr(u64),
    /// This, whatever the header says (hard-coded in llama.cpp).
    Fixed(u64),
    /// This, if the header says anything.
    FixedIfStated(u64),
}

impl WindowSize {
    /// The window where the header says `stated`; `None` for no window at all.
    pub(crate) fn tokens(self, stated: Option<u64>) -> Option<u64> {
        match (self, stated) {
            (_, Some(0)) => None,
            (Self::Stated, stated) => stated,
            (Self::StatedOr(tokens), stated) => stated.or(Some(tokens)),
            (Self::Fixed(tokens), _) => Some(tokens),
            (Self::FixedIfStated(tokens), stated) => stated.and(Some(tokens)),
        }
    }
}

/// Which layers of a hybrid keep a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecurrentLayers {
    /// Those without heads for keys and values.
    WithoutHeads,
    /// Those without heads for keys and values, nor a feed-forward network.
    WithoutHeadsAndFeedForward,
    /// All but every so-manieth, by the header or this default.
    Interval(u64),
    /// All, and all have keys and values too.
    Every,
}

const fn windowed(period: u64, size: WindowSize) -> Memory {
    Memory::Attention(Window::Default {
        period,
        full_first: false,
        size,
    })
}

const fn full_first(period: u64, size: WindowSize) -> Memory {
    Memory::Attention(Window::Default {
        period,
        full_first: true,
        size,
    })
}

impl Memory {
    /// The rules for an architecture of llama.cpp b11434 with so many layers; `None` if there are none here.
    pub(crate) fn of(architecture: &str, layers: u64) -> Option<Self> {
        let memory = match architecture {
            "bert" | "jina-bert-v2" | "jina-bert-v3" | "nomic-bert" | "nomic-bert-moe"
            | "neo-bert" | "eurobert" | "modern-bert" | "gemma-embedding" | "wavtokenizer-dec"
            | "dream" | "llada" | "llada-moe" | "rnd1" | "clef" => Self::None,

            "gemma2" => windowed(2, WindowSize::StatedOr(4096)),
            "gpt-oss" => windowed(2, WindowSize::Stated),
            "gemma3" => windowed(6, WindowSize::Stated),
            "gemma3n" => windowed(5, WindowSize::Stated),
            "llama4" => windowed(4, WindowSize::Fixed(8192)),
            // Only the model of 64 layers (32B) has windows.
            "exaone4" if layers == 64 => windowed(4, WindowSize::StatedOr(4096)),
            "exaone-moe" => windowed(4, WindowSize::StatedOr(128)),
            "cohere2" | "olmo2" | "afmoe" | "mellum" | "muse-glimmer" => {
                windowed(4, WindowSize::Stated)
            }
            "plamo3" => windowed(8, WindowSize::Stated),
            "smallthinker" => full_first(4, WindowSize::FixedIfStated(4096)),
            "cohere2moe" | "laguna" => full_first(4, WindowSize::Stated),
            "gemma4" | "mimo2" | "step35" | "granite-swa" => Self::Attention(Window::Header),

            "mamba" | "mamba2" => Self::Recurrent(StateRule::StateSpace),
            "rwkv6" | "rwkv6qwen2" | "rwkv7" | "arwkv7" => Self::Recurrent(StateRule::Wkv),

            "jamba" | "granitehybrid" | "plamo2" => {
                Self::Hybrid(RecurrentLayers::WithoutHeads, StateRule::StateSpace)
            }
            "nemotron_h" | "nemotron_h_moe" => Self::Hybrid(
                RecurrentLayers::WithoutHeadsAndFeedForward,
                StateRule::StateSpace,
            ),
            "lfm2" | "lfm2moe" => {
                Self::Hybrid(RecurrentLayers::WithoutHeads, StateRule::ShortConvolution)
            }
            "kimi-linear" | "bailingmoe3" => {
                Self::Hybrid(RecurrentLayers::WithoutHeads, StateRule::KimiDelta)
            }
            "minimax-01" => Self::Hybrid(RecurrentLayers::Interval(8), StateRule::Lightning),
            "qwen3next" | "qwen35" | "qwen35moe" => {
                Self::Hybrid(RecurrentLayers::Interval(4), StateRule::StateSpace)
            }
            "falcon-h1" => Self::Hybrid(RecurrentLayers::Every, StateRule::StateSpace),

            "deepseek4" => Self::NotModelled("compressed caches of DeepSeek-V4"),

            // Of these, deepseek2, deepseek32, glm-dsa and mistral4 compress keys and values where the header says so.
            "deepseek2" | "deepseek32" | "glm-dsa" | "mistral4" | "exaone4" | "llama" | "deci"
            | "falcon" | "grok" | "gpt2" | "gptneox" | "mpt" | "baichuan" | "starcoder"
            | "refact" | "bloom" | "stablelm" | "qwen" | "qwen2" | "qwen2moe" | "qwen2vl"
            | "qwen3" | "qwen3moe" | "qwen3vl" | "qwen3vlmoe" | "phi2" | "phi3" | "phimoe"
            | "plamo" | "codeshell" | "orion" | "internlm2" | "minicpm" | "gemma"
            | "starcoder2" | "xverse" | "command-r" | "dbrx" | "olmo" | "olmoe" | "openelm"
            | "arctic" | "deepseek" | "chatglm" | "glm4" | "glm4moe" | "bitnet" | "jais"
            | "jais2" | "nemotron" | "exaone" | "granite" | "granitemoe" | "chameleon"
            | "bailingmoe" | "bailingmoe2" | "dots1" | "arcee" | "ernie4_5" | "ernie4_5-moe"
            | "hunyuan-moe" | "hunyuan-dense" | "smollm3" | "seed_oss" | "grovemoe" | "apertus"
            | "minimax-m2" | "minimax-m3" | "cogvlm" | "pangu-embedded" | "mistral3" => {
                Self::Attention(Window::Ignored)
            }
            _ => return None,
        };
        Some(memory)
    }
}

/// Layers from the first that own a cache, whatever the header says (hard-coded in llama.cpp).
pub(crate) fn owning_layers(architecture: &str) -> Option<u64> {
    (architecture == "gemma3n").then_some(20)
}

/// Whether all layers of a model with sparse attention have index keys. In GLM-5 only some do, and of MiniMax-M3 it is
/// not known.
pub(crate) fn indexes_every_layer(architecture: &str) -> bool {
    !matches!(architecture, "glm-dsa" | "minimax-m3")
}
