//! Rules of the arithmetic that no logged case shows, on headers made for them.

use gguf::Range;
use gguf::kv::{Assumption, CacheKind, CacheType, KvEstimate, WhyNot, estimate};

use crate::builder::Builder;
use crate::kv_cases::settings;

pub(crate) const MIB: u64 = 1 << 20;

/// A transformer of 12 layers, 2 heads for keys and values, of 64 each: 256 elements a token and layer.
pub(crate) fn transformer(architecture: &str) -> Builder {
    Builder::model(
        architecture,
        &[
            ("block_count", 12),
            ("context_length", 32_768),
            ("embedding_length", 512),
            ("attention.head_count", 8),
            ("attention.head_count_kv", 2),
        ],
    )
}

pub(crate) fn compute(builder: &Builder, flags: &str) -> Result<KvEstimate, WhyNot> {
    estimate(&builder.read().unwrap(), &settings(flags))
}

/// Layers with a full and with a windowed cache.
fn layers(builder: &Builder) -> (u64, u64) {
    let estimate = compute(builder, "-c 4096 -np 1").unwrap();
    let of = |kind| {
        let mut parts = estimate.parts.iter().filter(|part| part.kind == kind);
        parts.next().map_or(0, |part| part.layers)
    };
    (of(CacheKind::Full), of(CacheKind::Windowed))
}

fn windowed(architecture: &str) -> Builder {
    transformer(architecture).u32(&format!("{architecture}.attention.sliding_window"), 512)
}

#[test]
fn architectures_have_their_windows_by_default() {
    for (architecture, full) in [
        ("gemma2", 6),
        ("gpt-oss", 6),
        ("gemma3", 2),
        ("gemma3n", 2),
        ("cohere2", 3),
        ("llama4", 3),
        ("olmo2", 3),
        ("exaone-moe", 3),
        ("afmoe", 3),
        ("mellum", 3),
        ("muse-glimmer", 3),
        ("plamo3", 1),
        ("smallthinker", 3),
        ("cohere2moe", 3),
        ("laguna", 3),
        ("llama", 12),
        ("phi3", 12),
        ("qwen2", 12),
        ("exaone4", 12),
    ] {
        assert_eq!(
            layers(&windowed(architecture)),
            (full, 12 - full),
            "{architecture}"
        );
    }
}

#[test]
fn the_full_layer_of_a_period_is_the_last_or_the_first() {
    let full = |architecture: &str| -> Vec<usize> {
        let estimate = compute(&windowed(architecture), "-c 4096 -np 1").unwrap();
        let most = estimate
            .layers
            .iter()
            .map(|layer| layer.high)
            .max()
            .unwrap();
        let is_full = |number: &usize| estimate.layers[*number].high == most;
        (0..estimate.layers.len()).filter(is_full).collect()
    };
    assert_eq!(full("cohere2"), [3, 7, 11]);
    assert_eq!(full("laguna"), [0, 4, 8]);
    assert_eq!(full("gemma3"), [5, 11]);
}

#[test]
fn the_header_decides_which_layers_have_windows() {
    let key = "gemma3.attention.sliding_window_pattern";
    assert_eq!(layers(&windowed("gemma3").u32(key, 3)), (4, 8));
    assert_eq!(layers(&windowed("gemma3").u32(key, 1)), (12, 0));
    assert_eq!(layers(&windowed("gemma3").u32(key, 0)), (0, 12));
    let mut pattern = [false; 12];
    pattern[2] = true;
    assert_eq!(layers(&windowed("gemma3").bools(key, &pattern)), (11, 1));
    assert_eq!(layers(&windowed("gemma3").u32s(key, &[1, 1, 0])), (10, 2));
    let wrong = windowed("gemma3").array(key, 6, 1, &[0; 4]);
    assert_eq!(
        compute(&wrong, "-c 4096"),
        Err(WhyNot::Malformed("attention.sliding_window_pattern"))
    );
    let absent = WhyNot::Missing("attention.sliding_window_pattern");
    assert_eq!(compute(&windowed("gemma4"), "-c 4096"), Err(absent));
}

#[test]
fn without_a_window_all_layers_are_full() {
    for architecture in [
        "gemma3",
        "cohere2",
        "olmo2",
        "smallthinker",
        "gemma4",
        "gpt-oss",
    ] {
        assert_eq!(
            layers(&transformer(architecture)),
            (12, 0),
            "{architecture}"
        );
        let zero =
            transformer(architecture).u32(&format!("{architecture}.attention.sliding_window"), 0);
        assert_eq!(layers(&zero), (12, 0), "{architecture}");
    }
}

#[test]
fn some_windows_are_hard_coded() {
    let cells = |builder: &Builder| {
        let estimate = compute(builder, "-c 32768 -np 1").unwrap();
        let assumed = estimate
            .assumptions
            .iter()
            .any(|assumption| matches!(assumption, Assumption::WindowSize { .. }));
        (estimate.parts[1].cells.0, assumed)
    };
    assert_eq!(cells(&transformer("gemma2")), (4096 + 512, true));
    assert_eq!(cells(&windowed("gemma2")), (1024, false));
    assert_eq!(cells(&transformer("llama4")), (8192 + 512, true));
    assert_eq!(cells(&windowed("smallthinker")), (4096 + 512, true));
    assert_eq!(cells(&transformer("exaone-moe")), (768, true));
}

#[test]
fn exaone4_has_windows_in_its_large_model_only() {
    let of = |count| {
        let numbers = [
            ("block_count", count),
            ("context_length", 32_768),
            ("embedding_length", 512),
            ("attention.head_count", 8),
        ];
        layers(&Builder::model("exaone4", &numbers))
    };
    assert_eq!(of(30), (30, 0));
    assert_eq!(of(64), (16, 48));
}

#[test]
fn gemma3n_has_twenty_layers_with_a_cache() {
    let numbers = [
        ("block_count", 35),
        ("context_length", 32_768),
        ("embedding_length", 2048),
        ("attention.head_count", 8),
        ("attention.head_count_kv", 2),
        ("attention.key_length", 256),
        ("attention.value_length", 256),
        ("attention.sliding_window", 512),
    ];
    assert_eq!(layers(&Builder::model("gemma3n", &numbers)), (4, 16));
    let small = Builder::model("gemma3n", &[&[("block_count", 10)], &numbers[1..]].concat());
    assert_eq!(layers(&small), (2, 8));
}

#[test]
fn layers_that_share_a_cache_own_none() {
    let shared = windowed("gemma4")
        .bools(
            "gemma4.attention.sliding_window_pattern",
            &[true, true, false].repeat(4),
        )
        .u32("gemma4.attention.shared_kv_layers", 6);
    assert_eq!(layers(&shared), (2, 4));
    let key = "attention.shared_kv_layers";
    let too_many = transformer("gemma4").u32(&format!("gemma4.{key}"), 13);
    assert_eq!(compute(&too_many, "-c 4096"), Err(WhyNot::Malformed(key)));
}

/// Shapes of published models, with the sizes their servers log for one slot and f16.
#[test]
fn published_models_have_the_sizes_their_servers_log() {
    let llama = Builder::model(
        "llama",
        &[
            ("block_count", 32),
            ("context_length", 131_072),
            ("embedding_length", 4096),
            ("attention.head_count", 32),
            ("attention.head_count_kv", 8),
        ],
    );
    assert_eq!(
        compute(&llama, "-c 8192 -np 1").unwrap().range(),
        Range::exact(1024 * MIB)
    );
    let deepseek = Builder::model(
        "deepseek2",
        &[
            ("block_count", 61),
            ("context_length", 163_840),
            ("embedding_length", 7168),
            ("attention.head_count", 128),
            ("attention.head_count_kv", 1),
            ("attention.key_length", 576),
            ("attention.value_length", 512),
            ("attention.key_length_mla", 192),
            ("attention.value_length_mla", 128),
        ],
    );
    let exact = Range::exact(2 * 576 * 4096 * 61);
    assert_eq!(compute(&deepseek, "-c 4096 -np 1").unwrap().range(), exact);
    let next = Builder::model(
        "qwen3next",
        &[
            ("block_count", 48),
            ("context_length", 262_144),
            ("embedding_length", 2048),
            ("attention.head_count", 16),
            ("attention.head_count_kv", 2),
            ("attention.key_length", 256),
            ("attention.value_length", 256),
            ("ssm.conv_kernel", 4),
            ("ssm.inner_size", 4096),
            ("ssm.state_size", 128),
            ("ssm.group_count", 16),
        ],
    );
    let parts = compute(&next, "-c 4096 -np 1").unwrap().parts;
    assert_eq!(
        (parts[0].layers, parts[0].bytes),
        (12, Range::exact(96 * MIB))
    );
    let state = Range::exact(4 * 36 * (3 * (4096 + 2 * 16 * 128) + 128 * 4096));
    assert_eq!((parts[1].layers, parts[1].bytes), (36, state));
}

#[test]
fn uncompressed_deepseek_keeps_keys_and_values_of_all_heads() {
    let old = transformer("deepseek2")
        .u32("deepseek2.attention.key_length", 192)
        .u32("deepseek2.attention.value_length", 128);
    let expected = Range::exact(12 * 4096 * 2 * 2 * (192 + 128));
    assert_eq!(compute(&old, "-c 4096 -np 1").unwrap().range(), expected);
}

#[test]
fn sparse_attention_adds_index_keys() {
    let sparse = |architecture: &str| {
        let key = format!("{architecture}.attention.indexer.key_length");
        compute(&transformer(architecture).u32(&key, 128), "-c 4096 -np 1").unwrap()
    };
    let plain = 12 * 4096 * 2 * 256;
    let index = 12 * 4096 * 2 * 128;
    let estimate = sparse("deepseek32");
    assert_eq!(estimate.range(), Range::exact(plain + index));
    assert_eq!(estimate.parts[1].kind, CacheKind::Index);
    let estimate = sparse("glm-dsa");
    assert_eq!(estimate.range(), Range::between(plain, plain + index));
    assert!(estimate.assumptions.contains(&Assumption::IndexLayers));
}

#[test]
fn layers_for_multi_token_prediction_keep_nothing() {
    let model = transformer("glm4moe").u32("glm4moe.nextn_predict_layers", 1);
    let estimate = compute(&model, "-c 4096 -np 1").unwrap();
    assert_eq!(estimate.parts[0].layers, 11);
    assert_eq!(estimate.layers.len(), 12);
    assert_eq!(estimate.layers[11], Range::exact(0));
    let key = "nextn_predict_layers";
    let all = transformer("glm4moe").u32(&format!("glm4moe.{key}"), 12);
    assert_eq!(compute(&all, "-c 4096"), Err(WhyNot::Malformed(key)));
}

#[test]
fn cache_types_have_the_names_of_flags() {
    for name in [
        "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1",
    ] {
        assert_eq!(CacheType::from_name(name).map(CacheType::name), Some(name));
    }
    assert_eq!(CacheType::from_name("q6_K"), None);
    assert!(!CacheType::Bf16.is_quantized());
    assert!(CacheType::Q8_0.is_quantized());
}
