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
