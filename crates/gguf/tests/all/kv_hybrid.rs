//! States of recurrent and hybrid models, on headers made for them.

use gguf::kv::{Assumption, CacheKind, WhyNot};

use crate::builder::Builder;
use crate::kv::{compute, transformer};

/// Layers with a cache, layers with a state, and the bytes of one layer's state for one slot.
fn hybrid(builder: &Builder) -> (u64, u64, u64) {
    let estimate = compute(builder, "-c 4096 -np 1").unwrap();
    let part = |kind| estimate.parts.iter().find(move |part| part.kind == kind);
    let state = part(CacheKind::State).unwrap();
    let cached = part(CacheKind::Full).map_or(0, |part| part.layers);
    assert!(estimate.assumptions.contains(&Assumption::NoRollback));
    (cached, state.layers, state.bytes.high / state.layers)
}

fn with_state_space(architecture: &str, builder: Builder) -> Builder {
    let key = |suffix| format!("{architecture}.ssm.{suffix}");
    builder
        .u32(&key("conv_kernel"), 4)
        .u32(&key("inner_size"), 1024)
        .u32(&key("state_size"), 16)
        .u32(&key("group_count"), 2)
}

pub(crate) fn with_heads(architecture: &str, kv_heads: &[u32]) -> Builder {
    let numbers = [
        ("block_count", u32::try_from(kv_heads.len()).unwrap()),
        ("context_length", 32_768),
        ("embedding_length", 512),
        ("attention.head_count", 8),
    ];
    Builder::model(architecture, &numbers)
        .u32s(&format!("{architecture}.attention.head_count_kv"), kv_heads)
}

#[test]
fn hybrid_models_keep_states_in_some_layers() {
    let state_space = 4 * (3 * (1024 + 2 * 2 * 16) + 16 * 1024);
    for architecture in ["jamba", "granitehybrid", "plamo2"] {
        let model = with_state_space(architecture, with_heads(architecture, &[0, 0, 2, 0]));
        assert_eq!(hybrid(&model), (1, 3, state_space), "{architecture}");
    }
    for architecture in ["nemotron_h", "nemotron_h_moe"] {
        let model = with_state_space(architecture, with_heads(architecture, &[0, 0, 2, 0])).u32s(
            &format!("{architecture}.feed_forward_length"),
            &[0, 64, 0, 64],
        );
        assert_eq!(hybrid(&model), (1, 1, state_space), "{architecture}");
    }
    let model = with_state_space("falcon-h1", transformer("falcon-h1"));
    assert_eq!(hybrid(&model), (12, 12, state_space));
    for architecture in ["qwen3next", "qwen35", "qwen35moe"] {
        let model = with_state_space(architecture, transformer(architecture));
        assert_eq!(hybrid(&model), (3, 9, state_space), "{architecture}");
        let model = with_state_space(architecture, transformer(architecture))
            .u32(&format!("{architecture}.full_attention_interval"), 6);
        assert_eq!(hybrid(&model), (2, 10, state_space), "{architecture}");
    }
    let mut flags = [true; 12];
    flags[4] = false;
    let model = with_state_space("qwen35", transformer("qwen35"))
        .bools("qwen35.attention.recurrent_layers", &flags);
    assert_eq!(hybrid(&model), (1, 11, state_space));
    for architecture in ["kimi-linear", "bailingmoe3"] {
        let model = with_heads(architecture, &[0, 0, 0, 1])
            .u32(&format!("{architecture}.kda.head_dim"), 128);
        let state = 4 * (3 * 3 * 8 * 128 + 128 * 128 * 8);
        assert_eq!(hybrid(&model), (1, 3, state), "{architecture}");
        let model = model.u32(&format!("{architecture}.ssm.conv_kernel"), 2);
        let state = 4 * (3 * 8 * 128 + 128 * 128 * 8);
        assert_eq!(hybrid(&model), (1, 3, state), "{architecture}");
    }
    // Every eighth of 12 layers has full attention.
    let model = transformer("minimax-01").u32("minimax-01.attention.key_length", 128);
    let heads = 8;
    assert_eq!(hybrid(&model), (1, 11, 4 * 128 * 128 * heads));
    let model = with_heads("lfm2moe", &[0, 2]).u32("lfm2moe.shortconv.l_cache", 3);
    assert_eq!(hybrid(&model), (1, 1, 4 * 512 * 2));
}

#[test]
fn recurrent_models_keep_states_only() {
    let rwkv = |architecture: &str| {
        Builder::model(
            architecture,
            &[
                ("block_count", 32),
                ("embedding_length", 2560),
                ("wkv.head_size", 64),
            ],
        )
    };
    assert_eq!(hybrid(&rwkv("rwkv7")), (0, 32, 4 * (2 * 2560 + 2560 * 64)));
    let one_shift = rwkv("rwkv6qwen2").u32("rwkv6qwen2.token_shift_count", 1);
    assert_eq!(hybrid(&one_shift), (0, 32, 4 * (2560 + 2560 * 64)));
    let estimate = compute(&rwkv("rwkv6"), "-np 3").unwrap();
    assert_eq!(estimate.high, 3 * 32 * 4 * (2 * 2560 + 2560 * 64));
    assert_eq!(
        hybrid(&with_state_space("mamba2", transformer("mamba2"))).1,
        12
    );
}

#[test]
fn a_hybrid_without_its_state_keys_is_not_guessed() {
    let result = compute(&transformer("qwen35"), "-c 4096");
    assert_eq!(result, Err(WhyNot::Missing("ssm.inner_size")));
    let result = compute(&transformer("kimi-linear"), "-c 4096");
    assert!(result.is_ok(), "all layers have heads: {result:?}");
}
