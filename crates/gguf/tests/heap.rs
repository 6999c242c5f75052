//! How much memory reading a header takes. A binary of its own, because it counts all that is allocated.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a test fails by panicking, and uses a part of the builder"
)]

use peak_alloc::PeakAlloc;

#[path = "all/builder.rs"]
mod builder;

use builder::Builder;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The limit for a header with a vocabulary of 256k tokens.
const MOST: usize = 4 << 20;

#[test]
fn a_large_vocabulary_takes_less_than_4_mib() {
    let tokens: Vec<String> = (0..262_144).map(|n| format!("token{n}")).collect();
    let bytes = Builder::model("llama", &[("block_count", 2)])
        .strings("tokenizer.ggml.tokens", tokens.iter().map(String::as_str))
        .array("tokenizer.ggml.scores", 6, 262_144, &vec![0; 4 * 262_144])
        .strings("tokenizer.ggml.merges", tokens.iter().map(String::as_str))
        .text("tokenizer.chat_template", &"x".repeat(1 << 20))
        .tensor("output.weight", &[32], 0, 0)
        .build();
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let header = gguf::read_header(&mut &*bytes).unwrap();
    let peak = HEAP.peak_usage() - before;
    assert_eq!(header.vocabulary_size(), Some(262_144));
    assert!(peak < MOST, "{peak} bytes");
}
