//! What reading the header of a model with a large vocabulary costs: `cargo bench -p gputaskman-gguf`.
//!
//! Prints the median and the range of the time, and the most heap that was in use at once, and fails above the limits:
//! 10 ms and 4 MiB for a vocabulary of 256k tokens with merges, the largest in use. The file lies in memory, which
//! leaves out the disk. The time is only worth something on an otherwise idle machine; the heap is exact.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    dead_code,
    reason = "a benchmark is a program: it looks at the clock, prints, and fails loudly"
)]

use std::time::{Duration, Instant};

use gguf::kv::{KvSettings, estimate};
use gguf::placement::{Offload, place};
use peak_alloc::PeakAlloc;

#[path = "../tests/all/builder.rs"]
mod builder;

use builder::Builder;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const TOKENS: u32 = 262_144;
const RUNS: usize = 101;

const MOST_TIME: Duration = Duration::from_millis(10);
const MOST_HEAP: usize = 4 << 20;

/// A model of today's size: 64 layers of 12 tensors, a vocabulary of 256k tokens of 2 to 13 bytes, as many merges.
fn model() -> Vec<u8> {
    let words: Vec<String> = (0..TOKENS)
        .map(|number| format!("{:x}{}", number, "·".repeat(number as usize % 4)))
        .collect();
    let zeros = vec![0_u8; 4 * TOKENS as usize];
    let count = u64::from(TOKENS);
    let numbers = [
        ("block_count", 64),
        ("context_length", 131_072),
        ("embedding_length", 5120),
        ("feed_forward_length", 27_648),
        ("attention.head_count", 40),
        ("attention.head_count_kv", 8),
    ];
    let mut builder = Builder::model("llama", &numbers)
        .strings("tokenizer.ggml.tokens", words.iter().map(String::as_str))
        .array("tokenizer.ggml.scores", 6, count, &zeros)
        .array("tokenizer.ggml.token_type", 5, count, &zeros)
        .strings("tokenizer.ggml.merges", words.iter().map(String::as_str))
        .text("tokenizer.chat_template", &"{{ message }}".repeat(2000))
        .tensor("token_embd.weight", &[5120, count], 12, 0);
    for layer in 0..64 {
        for part in 0..12 {
            let name = format!("blk.{layer}.part_{part}.weight");
            builder = builder.tensor(&name, &[5120, 5120], 12, 0);
        }
    }
    builder.build()
}

/// Bytes the program had on the heap at most while `work` ran, beside what it had before.
fn peak(work: impl FnOnce()) -> usize {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    work();
    HEAP.peak_usage().saturating_sub(before)
}

/// The median, the least and the most time of [`RUNS`] runs.
fn time(mut work: impl FnMut()) -> (Duration, Duration, Duration) {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    (times[RUNS / 2], times[0], times[RUNS - 1])
}

fn main() {
    let bytes = model();
    let read = || gguf::read_header(&mut &*bytes).unwrap();
    let heap = peak(|| drop(read()));
    let (median, least, most) = time(|| drop(read()));
    println!(
        "header: {} KiB with {TOKENS} tokens: {median:?} ({least:?} to {most:?}, {RUNS} runs), {heap} bytes of heap",
        bytes.len() >> 10
    );

    let header = read();
    let work = || {
        let plan = place([&header], &Offload::default());
        let kv = estimate(&header, &KvSettings::default());
        std::hint::black_box((plan, kv.unwrap()));
    };
    let arithmetic = peak(work);
    let (median_all, least_all, most_all) = time(work);
    println!(
        "arithmetic, nothing known: {median_all:?} ({least_all:?} to {most_all:?}), {arithmetic} bytes of heap"
    );

    assert!(heap <= MOST_HEAP, "{heap} bytes of heap");
    assert!(median <= MOST_TIME, "{median:?}");
}
