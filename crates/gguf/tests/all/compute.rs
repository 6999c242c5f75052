//! Bounds of the compute buffer, against what llama.cpp logged.

use gguf::compute::{LogitRows, estimate, host};
use gguf::kv::{Effective, KvSettings, WhyNot, effective};

use crate::fixtures::header;
use crate::kv_cases::settings;

/// Model, flags, and the "compute buffer size" of llama-server b11434 on a CPU, in hundredths of a MiB.
const CASES: &[(&str, &str, u64)] = &[
    ("llama-f16", "", 1352),
    ("llama-f16", "-c 4096 -np 2", 752),
    ("llama-f16", "-c 4096 -np 1", 952),
    ("llama-f16", "-c 4096 -np 4", 652),
    ("llama-f16", "-c 4096 -np 3", 703),
    ("llama-f16", "-c 4096 -np 4 -kvu", 952),
    ("llama-f16", "-c 1000 -np 1", 652),
    ("llama-f16", "-c 4096 -np 1 -ctk q8_0 -ctv q8_0", 952),
    ("llama-f16", "-c 4096 -np 1 -fa off", 7526),
    ("llama-f16", "-c 4096 -np 1 -b 2048 -ub 2048", 3807),
    ("llama-f16", "-c 2048 -np 2", 652),
    ("llama-big", "-c 8192 -np 2", 3052),
    ("draft-f16", "-c 2048 -np 1", 427),
    ("qwen2-f16", "-c 4096 -np 1", 952),
    ("qwen3-f16", "-c 4096 -np 1", 952),
    ("qwen3moe-q4_0", "-c 4096 -np 1", 752),
    ("gemma3-q8_0", "-c 4096 -np 1", 1053),
    ("gemma3-q8_0", "-c 32768 -np 1", 3853),
    ("gemma3-q8_0", "-c 4096", 1203),
    ("gemma3-q8_0", "-c 8192 -np 4", 853),
    ("gemma3-q8_0", "-c 4096 -np 1 --swa-full", 1353),
    ("gemma3-q8_0", "-c 4096 -np 1 -ub 1024", 2205),
    ("gemma3-q8_0", "-c 768 -np 1", 703),
    ("gemma4-f16", "-c 4096 -np 1", 1053),
    ("gemma4-f16", "-c 4096 -np 1 -fa off", 4752),
    ("gptoss-mxfp4", "-c 4096 -np 1", 1028),
    ("mamba-f16", "-c 4096 -np 1", 754),
    ("mamba-f16", "-c 4096 -np 4", 766),
    ("lfm2-f16", "-c 4096 -np 1", 952),
    ("lfm2-f16", "-c 4096 -np 4", 652),
    ("deepseek2-f16", "-c 4096 -np 1", 976),
    ("deepseek2-f16", "-c 4096 -np 1 -fa off", 4526),
    ("decision-f16", "-c 4096 -np 1", 627),
    // b11549, with what it takes for slots that are not set: 4 that share one cache.
    ("gemma3-q8_0", "-c 8192", 1603),
    ("gemma3-q8_0", "-c 8192 -np 3 -kvu", 1556),
    ("gemma3-q8_0", "-c 300", 382),
    ("gemma4-f16", "-c 4096", 1203),
    ("gptoss-mxfp4", "-c 8192", 1453),
    ("mamba-f16", "-c 4096", 766),
    ("lfm2-f16", "-c 4096", 952),
    ("llama-f16", "-c 300 -np 1", 353),
    ("llama-f16", "-c 1000", 652),
    ("llama-big", "-c 40000", 6577),
];

/// The same in host memory beside the GPU, compute and output buffer, and whether all layers are on the GPU.
const VULKAN_HOST: &[(&str, &str, bool, u64)] = &[
    ("llama-big", "-c 4096 -np 1", false, 801),
    ("gemma3-q8_0", "-c 4096 -np 1 -ub 513", true, 628),
    ("lfm2-f16", "-c 4096 -np 1", false, 551),
    ("llama-f16", "-c 4096 -np 1", false, 501),
    ("llama-f16", "-c 4096 -np 1", true, 501),
    ("qwen3moe-q4_0", "-c 4096 -np 1", true, 501),
];

#[test]
fn logged_buffers_in_host_memory_lie_between_the_bounds() {
    for (name, flags, all, logged) in VULKAN_HOST {
        let bytes = (logged << 20) / 100;
        let range = host(&header(name), &settings(flags), LogitRows::PerSlot, *all).unwrap();
        assert!(range.contains(bytes), "{name} {flags}: {range:?}, {bytes}");
        let most = if *all { 2 } else { 8 } * bytes;
        assert!(range.high < most, "{name} {flags}: {range:?}, {bytes}");
    }
}

/// Flags, and what llama-server b11549 logged: `n_ctx`, `n_ctx_seq`, `n_ubatch`.
const EFFECTIVE: &[(&str, [u64; 3])] = &[
    ("-c 1 -np 1", [256, 256, 1]),
    ("-c 300 -np 1", [512, 512, 300]),
    ("-c 5000 -np 3", [5376, 1792, 512]),
    ("-c 3000 -np 7", [3584, 512, 512]),
    ("-c 1000", [1024, 1024, 512]),
    ("-c 40000", [40_192, 40_192, 512]),
    ("-c 8192 -np 3 -kvu", [8192, 8192, 512]),
    ("-c 16384 -np 3", [16_896, 5632, 512]),
];

#[test]
fn contexts_are_padded_and_batches_fit_the_context_as_logged() {
    for (flags, [context, per_slot, batch]) in EFFECTIVE {
        let expected = Effective {
            context: *context,
            per_slot: *per_slot,
            batch: *batch,
        };
        assert_eq!(effective(&settings(flags)), Some(expected), "{flags}");
    }
}

#[test]
fn one_token_needs_the_buffer_of_one_token() {
    let range = |flags| estimate(&header("llama-f16"), &settings(flags), LogitRows::PerSlot);
    // 0.01 and 0.03 MiB were logged, to two decimals.
    for (flags, low, high) in [("-c 1 -np 1", 5243, 15_729), ("-c 1 -np 3", 26_214, 36_701)] {
        let range = range(flags).unwrap();
        assert!(range.low <= high && range.high >= low, "{flags}: {range:?}");
        assert!(range.high < 100_000, "{flags}: {range:?}");
    }
}

/// The same of the GPU, with all layers on it or some: Vulkan build, batches of 512.
const VULKAN: &[(&str, &str, u64)] = &[
    ("llama-big", "-c 4096 -np 1", 2956),
    ("gemma3-q8_0", "-c 4096 -np 1 -ub 513", 929),
    ("lfm2-f16", "-c 4096 -np 1", 925),
    ("llama-f16", "-c 4096 -np 1", 813),
    ("llama-f16", "-c 4096 -np 1", 801),
    ("qwen3moe-q4_0", "-c 4096 -np 1", 606),
];

#[test]
fn logged_buffers_lie_between_the_bounds() {
    for (name, flags, logged) in CASES.iter().chain(VULKAN) {
        let bytes = (logged << 20) / 100;
        let range = estimate(&header(name), &settings(flags), LogitRows::PerSlot).unwrap();
        assert!(
            range.contains(bytes),
            "{name} {flags}: {range:?} without {bytes}"
        );
        assert!(
            range.high < 3 * bytes,
            "{name} {flags}: {range:?} says little of {bytes}"
        );
    }
}

#[test]
fn unknown_settings_widen_the_bounds() {
    let header = header("llama-f16");
    let known = estimate(&header, &settings("-c 4096 -np 1"), LogitRows::PerSlot).unwrap();
    let unknown = estimate(&header, &KvSettings::default(), LogitRows::Unknown).unwrap();
    assert!(unknown.low <= known.low && known.high <= unknown.high);
}

#[test]
fn logits_of_every_token_need_room() {
    let header = header("llama-f16");
    let rows = |rows| estimate(&header, &settings("-c 256 -np 1"), rows).unwrap();
    assert!(rows(LogitRows::PerToken).low >= 256 * 512 * 4);
    assert_eq!(
        rows(LogitRows::Unknown).high,
        rows(LogitRows::PerToken).high
    );
}

#[test]
fn encoders_are_not_estimated() {
    let result = estimate(
        &header("bert-f16"),
        &KvSettings::default(),
        LogitRows::Unknown,
    );
    assert_eq!(result, Err(WhyNot::NonCausal));
}
