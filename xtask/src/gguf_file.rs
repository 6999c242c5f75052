//! Model files without weights: a header as llama.cpp writes it, then a hole as long as the tensors would be.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Where tensor data starts and each tensor begins.
const ALIGNMENT: u64 = 32;

/// The files' modification time, seconds since 1970: always the same, so that captures differ less.
const MODIFIED: u64 = 1_760_000_000;

/// A tensor type: its number, bytes of a block, elements of a block.
type TensorType = (u32, u64, u64);

const F32: TensorType = (0, 4, 1);
const F16: TensorType = (1, 2, 1);
const Q4_K: TensorType = (12, 144, 256);
const Q6_K: TensorType = (14, 210, 256);

/// A model's header, and the length of what follows it.
pub(crate) struct GgufFile {
    entries: Vec<u8>,
    entry_count: u64,
    tensors: Vec<u8>,
    tensor_count: u64,
    data_len: u64,
}

/// The sizes of a transformer that writes text.
pub(crate) struct Transformer {
    pub(crate) architecture: &'static str,
    pub(crate) name: &'static str,
    pub(crate) size_label: &'static str,
    pub(crate) layers: u32,
    pub(crate) width: u32,
    pub(crate) feed_forward: u32,
    pub(crate) heads: u32,
    pub(crate) kv_heads: u32,
    pub(crate) head_width: u32,
    pub(crate) vocabulary: u32,
    pub(crate) context: u32,
    pub(crate) rope_base: f32,
    /// Whether each head's queries and keys are normalised, as in Qwen 3.
    pub(crate) normalised_heads: bool,
    /// Whether the output matrix is the embedding, as in small models.
    pub(crate) tied: bool,
}

pub(crate) const QWEN3_14B: Transformer = Transformer {
    architecture: "qwen3",
    name: "Qwen3 14B",
    size_label: "14B",
    layers: 40,
    width: 5120,
    feed_forward: 17_408,
    heads: 40,
    kv_heads: 8,
    head_width: 128,
    vocabulary: 151_936,
    context: 40_960,
    rope_base: 1_000_000.0,
    normalised_heads: true,
    tied: false,
};

pub(crate) const LLAMA_8B: Transformer = Transformer {
    architecture: "llama",
    name: "Llama 3.1 8B Instruct",
    size_label: "8B",
    layers: 32,
    width: 4096,
    feed_forward: 14_336,
    heads: 32,
    kv_heads: 8,
    head_width: 128,
    vocabulary: 128_256,
    context: 131_072,
    rope_base: 500_000.0,
    normalised_heads: false,
    tied: false,
};

pub(crate) const LLAMA_3B: Transformer = Transformer {
    architecture: "llama",
    name: "Llama 3.2 3B Instruct",
    size_label: "3B",
    layers: 28,
    width: 3072,
    feed_forward: 8192,
    heads: 24,
    kv_heads: 8,
    head_width: 128,
    vocabulary: 128_256,
    context: 131_072,
    rope_base: 500_000.0,
    normalised_heads: false,
    tied: true,
};

/// The sizes of a model that turns a text into a vector.
pub(crate) struct Encoder {
    pub(crate) name: &'static str,
    pub(crate) size_label: &'static str,
    pub(crate) layers: u32,
    pub(crate) width: u32,
    pub(crate) feed_forward: u32,
    pub(crate) heads: u32,
    pub(crate) vocabulary: u32,
    pub(crate) context: u32,
}

pub(crate) const BGE_M3: Encoder = Encoder {
    name: "Bge M3",
    size_label: "567M",
    layers: 24,
    width: 1024,
    feed_forward: 4096,
    heads: 16,
    vocabulary: 250_002,
    context: 8192,
};

pub(crate) const MINILM: Encoder = Encoder {
    name: "All MiniLM L6 v2",
    size_label: "22M",
    layers: 6,
    width: 384,
    feed_forward: 1536,
    heads: 12,
    vocabulary: 30_522,
    context: 512,
};

impl GgufFile {
    fn new() -> Self {
        Self {
            entries: Vec::new(),
            entry_count: 0,
            tensors: Vec::new(),
            tensor_count: 0,
            data_len: 0,
        }
    }

    /// A language model in the mix of types that llama.cpp calls `Q4_K_M`.
    pub(crate) fn transformer(model: &Transformer) -> Self {
        let mut file = Self::new();
        let named = |suffix: &str| format!("{}.{suffix}", model.architecture);
        file.text("general.architecture", model.architecture);
        file.text("general.type", "model");
        file.text("general.name", model.name);
        file.text("general.size_label", model.size_label);
        file.number(&named("block_count"), model.layers);
        file.number(&named("context_length"), model.context);
        file.number(&named("embedding_length"), model.width);
        file.number(&named("feed_forward_length"), model.feed_forward);
        file.number(&named("attention.head_count"), model.heads);
        file.number(&named("attention.head_count_kv"), model.kv_heads);
        file.fraction(&named("rope.freq_base"), model.rope_base);
        file.fraction(&named("attention.layer_norm_rms_epsilon"), 1e-6);
        file.number(&named("attention.key_length"), model.head_width);
        file.number(&named("attention.value_length"), model.head_width);
        file.number(&named("vocab_size"), model.vocabulary);
        file.number("general.file_type", 15);
        file.number("general.quantization_version", 2);
        file.vocabulary("gpt2", model.vocabulary);
        file.texts("tokenizer.ggml.merges", model.vocabulary, "Ġ t");
        file.text("tokenizer.chat_template", "{{ messages }}");

        let (width, vocabulary) = (u64::from(model.width), u64::from(model.vocabulary));
        let kv = u64::from(model.kv_heads * model.head_width);
        let query = u64::from(model.heads * model.head_width);
        let (feed_forward, head) = (u64::from(model.feed_forward), u64::from(model.head_width));
        let embedding = if model.tied { Q6_K } else { Q4_K };
        file.tensor("token_embd.weight", &[width, vocabulary], embedding);
        if !model.tied {
            file.tensor("output.weight", &[width, vocabulary], Q6_K);
        }
        file.tensor("output_norm.weight", &[width], F32);
        for layer in 0..model.layers {
            let finer = if has_more_bits(layer, model.layers) {
                Q6_K
            } else {
                Q4_K
            };
            let mut add = |name: &str, shape: &[u64], kind| {
                file.tensor(&format!("blk.{layer}.{name}.weight"), shape, kind);
            };
            add("attn_norm", &[width], F32);
            add("attn_q", &[width, query], Q4_K);
            add("attn_k", &[width, kv], Q4_K);
            add("attn_v", &[width, kv], finer);
            add("attn_output", &[query, width], Q4_K);
            if model.normalised_heads {
                add("attn_q_norm", &[head], F32);
                add("attn_k_norm", &[head], F32);
            }
            add("ffn_norm", &[width], F32);
            add("ffn_gate", &[width, feed_forward], Q4_K);
            add("ffn_up", &[width, feed_forward], Q4_K);
            add("ffn_down", &[feed_forward, width], finer);
        }
        file
    }

    /// A model that turns a text into a vector.
    pub(crate) fn encoder(model: &Encoder) -> Self {
        let mut file = Self::new();
        file.text("general.architecture", "bert");
        file.text("general.type", "model");
        file.text("general.name", model.name);
        file.text("general.size_label", model.size_label);
        file.number("bert.block_count", model.layers);
        file.number("bert.context_length", model.context);
        file.number("bert.embedding_length", model.width);
        file.number("bert.feed_forward_length", model.feed_forward);
        file.number("bert.attention.head_count", model.heads);
        file.fraction("bert.attention.layer_norm_epsilon", 1e-5);
        file.flag("bert.attention.causal", false);
        file.number("bert.pooling_type", 2);
        file.number("general.file_type", 1);
        file.number("general.quantization_version", 2);
        file.vocabulary("t5", model.vocabulary);
        let (width, feed_forward) = (u64::from(model.width), u64::from(model.feed_forward));
        let vocabulary = u64::from(model.vocabulary);
        file.tensor("token_embd.weight", &[width, vocabulary], F16);
        let context = u64::from(model.context);
        file.tensor("position_embd.weight", &[width, context], F32);
        file.tensor("token_types.weight", &[width], F32);
        file.tensor("token_embd_norm.weight", &[width], F32);
        file.tensor("token_embd_norm.bias", &[width], F32);
        for layer in 0..model.layers {
            let mut add = |name: &str, shape: &[u64], kind| {
                file.tensor(&format!("blk.{layer}.{name}"), shape, kind);
            };
            for name in ["attn_q", "attn_k", "attn_v", "attn_output"] {
                add(&format!("{name}.weight"), &[width, width], F16);
                add(&format!("{name}.bias"), &[width], F32);
            }
            for name in ["attn_output_norm", "layer_output_norm"] {
                add(&format!("{name}.weight"), &[width], F32);
                add(&format!("{name}.bias"), &[width], F32);
            }
            add("ffn_up.weight", &[width, feed_forward], F16);
            add("ffn_up.bias", &[feed_forward], F32);
            add("ffn_down.weight", &[feed_forward, width], F16);
            add("ffn_down.bias", &[width], F32);
        }
        file
    }

    /// Writes the header and the hole.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut header = b"GGUF".to_vec();
        header.extend(3_u32.to_le_bytes());
        header.extend(self.tensor_count.to_le_bytes());
        header.extend(self.entry_count.to_le_bytes());
        header.extend(&self.entries);
        header.extend(&self.tensors);
        let mut file = File::create(path)?;
        file.write_all(&header)?;
        let start = u64::try_from(header.len()).map_err(io::Error::other)?;
        file.set_len(start.next_multiple_of(ALIGNMENT) + self.data_len)?;
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(MODIFIED))
    }

    fn tensor(&mut self, name: &str, shape: &[u64], (id, bytes, elements): TensorType) {
        put_text(&mut self.tensors, name);
        // At most two dimensions stand in the tables above.
        self.tensors
            .extend(if shape.len() == 1 { 1_u32 } else { 2 }.to_le_bytes());
        for extent in shape {
            self.tensors.extend(extent.to_le_bytes());
        }
        self.tensors.extend(id.to_le_bytes());
        self.tensors.extend(self.data_len.to_le_bytes());
        let size = shape.iter().product::<u64>() / elements * bytes;
        self.data_len += size.next_multiple_of(ALIGNMENT);
        self.tensor_count += 1;
    }

    fn entry(&mut self, key: &str, kind: u32) {
        put_text(&mut self.entries, key);
        self.entries.extend(kind.to_le_bytes());
        self.entry_count += 1;
    }

    fn number(&mut self, key: &str, value: u32) {
        self.entry(key, 4);
        self.entries.extend(value.to_le_bytes());
    }

    fn fraction(&mut self, key: &str, value: f32) {
        self.entry(key, 6);
        self.entries.extend(value.to_le_bytes());
    }

    fn flag(&mut self, key: &str, value: bool) {
        self.entry(key, 7);
        self.entries.push(u8::from(value));
    }

    fn text(&mut self, key: &str, value: &str) {
        self.entry(key, 8);
        put_text(&mut self.entries, value);
    }

    fn array(&mut self, key: &str, kind: u32, count: u32) {
        self.entry(key, 9);
        self.entries.extend(kind.to_le_bytes());
        self.entries.extend(u64::from(count).to_le_bytes());
    }

    fn texts(&mut self, key: &str, count: u32, start: &str) {
        self.array(key, 8, count);
        for number in 0..count {
            put_text(&mut self.entries, &format!("{start}{number}"));
        }
    }

    /// Words that are none, as many as the model would have.
    fn vocabulary(&mut self, kind: &str, count: u32) {
        self.text("tokenizer.ggml.model", kind);
        self.texts("tokenizer.ggml.tokens", count, "word");
        self.array("tokenizer.ggml.token_type", 5, count);
        for _ in 0..count {
            self.entries.extend(1_i32.to_le_bytes());
        }
    }
}

/// Layers in which llama.cpp gives the values and the last matrix more bits.
fn has_more_bits(layer: u32, layers: u32) -> bool {
    let eighth = layers / 8;
    layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let len = u64::try_from(text.len()).unwrap_or(u64::MAX);
    bytes.extend(len.to_le_bytes());
    bytes.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_made_up_models_have_the_sizes_of_the_real_ones() {
        let mib = |file: &GgufFile| file.data_len >> 20;
        for (model, size) in [(QWEN3_14B, 8582), (LLAMA_8B, 4685), (LLAMA_3B, 1918)] {
            let made = mib(&GgufFile::transformer(&model));
            assert!(made.abs_diff(size) < 20, "{}: {made}", model.name);
        }
        assert!(mib(&GgufFile::encoder(&BGE_M3)).abs_diff(1100) < 20);
    }
}
