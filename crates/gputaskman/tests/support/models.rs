//! Model files: headers of small synthetic models, whole and damaged.

/// The header of a model of the llama architecture, quantized to `Q4_K_M`: four layers, two heads of 32 for keys and as
/// many for values, 2 492 672 weights in 1 410 048 bytes.
pub(crate) const LLAMA: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../gguf/fixtures/headers/tiny-llama-q4_k_m.header.gguf"
));

/// The header of an adapter for it.
pub(crate) const ADAPTER: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../gguf/fixtures/headers/tiny-lora-f32.header.gguf"
));

/// The header of a model of the gemma3 architecture: 12 layers, one in six without a window of 512 tokens; each has 512
/// bytes of keys and values a token, at 16 bits a number. Trained with 32 768 tokens.
pub(crate) const GEMMA: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../gguf/fixtures/headers/tiny-gemma3-q8_0.header.gguf"
));

/// The header of a model of the mamba architecture.
pub(crate) const MAMBA: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../gguf/fixtures/headers/tiny-mamba-f16.header.gguf"
));

/// A projector with one tensor of 32 numbers, 128 bytes, and nothing else in its header.
pub(crate) fn projector() -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    let mut add = |part: &[u8]| bytes.extend_from_slice(part);
    add(&3_u32.to_le_bytes());
    add(&1_u64.to_le_bytes());
    add(&1_u64.to_le_bytes());
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    add(&text("general.architecture"));
    add(&8_u32.to_le_bytes());
    add(&text("clip"));
    add(&text("mm.0.weight"));
    add(&1_u32.to_le_bytes());
    add(&32_u64.to_le_bytes());
    add(&0_u32.to_le_bytes());
    add(&0_u64.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(32) + 128, 0);
    bytes
}

/// Bytes of the whole file.
pub(crate) const LLAMA_FILE_BYTES: u64 = 1_424_512;
/// Bytes of its tensors.
pub(crate) const LLAMA_WEIGHTS: u64 = 1_410_048;
/// Its weights.
pub(crate) const LLAMA_PARAMETERS: u64 = 2_492_672;
/// Bytes of its cache for each token, 16 bits a number: layers x heads x (key + value) x 2.
pub(crate) const LLAMA_KV_PER_TOKEN: u64 = 4 * 2 * (32 + 32) * 2;

/// The file as long as it was, with nothing where its weights were.
pub(crate) fn whole(header: &[u8]) -> Vec<u8> {
    let mut bytes = header.to_vec();
    bytes.resize(usize::try_from(LLAMA_FILE_BYTES).unwrap(), 0);
    bytes
}

/// The same bytes with every `from` replaced by `to`, which is as long.
pub(crate) fn patched(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut patched = bytes.to_vec();
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter_map(|(at, window)| (window == from).then_some(at))
        .collect();
    assert!(!places.is_empty(), "{from:?} is in it");
    for at in places {
        patched[at..at + to.len()].copy_from_slice(to);
    }
    patched
}

/// Bytes that follow from a number alone.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}
