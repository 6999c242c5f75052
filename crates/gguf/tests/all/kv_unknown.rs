//! What is not known: bounds, assumptions and refusals.

use gguf::Range;
use gguf::kv::{Assumption, KvSettings, WhyNot, estimate};
use gguf::placement::{Offload, cache};

use crate::builder::Builder;
use crate::fixtures::header;
use crate::kv::{MIB, compute, transformer};
use crate::kv_cases::settings;
use crate::kv_hybrid::with_heads;

#[test]
fn what_is_not_known_is_refused() {
    for architecture in [
        "bert",
        "modern-bert",
        "gemma-embedding",
        "dream",
        "llada-moe",
        "clef",
    ] {
        assert_eq!(
            compute(&transformer(architecture), "-c 4096"),
            Err(WhyNot::NonCausal)
        );
    }
    let unknown = WhyNot::UnknownArchitecture(Some("flux".to_owned()));
    assert_eq!(
        unknown.to_string(),
        "cache size not known for architecture \"flux\""
    );
    assert_eq!(compute(&transformer("flux"), "-c 4096"), Err(unknown));
    assert_eq!(
        compute(&Builder::new(), "-c 4096"),
        Err(WhyNot::UnknownArchitecture(None))
    );
    let result = compute(&transformer("deepseek4"), "-c 4096");
    assert!(matches!(result, Err(WhyNot::NotModelled(_))));
}

#[test]
fn damaged_headers_are_refused() {
    let model = |numbers: &[(&str, u32)]| Builder::model("llama", numbers);
    let heads = [("attention.head_count", 8), ("embedding_length", 512)];
    let with = |extra: &[(&'static str, u32)]| model(&[extra, &heads].concat());
    for (builder, why) in [
        (model(&[]), WhyNot::Missing("block_count")),
        (
            with(&[("block_count", 0)]),
            WhyNot::Malformed("block_count"),
        ),
        (
            with(&[("block_count", 4097)]),
            WhyNot::Malformed("block_count"),
        ),
        (
            model(&[("block_count", 2)]),
            WhyNot::Missing("attention.key_length"),
        ),
        (
            model(&[
                ("block_count", 2),
                ("embedding_length", 8),
                ("attention.head_count", 0),
            ]),
            WhyNot::Missing("attention.key_length"),
        ),
        (with_heads("llama", &[2]).u32("x", 0), WhyNot::Missing("")),
        (
            with(&[("block_count", 2)]).u32s("llama.attention.head_count_kv", &[2]),
            WhyNot::Malformed("attention.head_count_kv"),
        ),
        // No number of heads is not the number of all heads.
        (
            with(&[("block_count", 2)]).array(
                "llama.attention.head_count_kv",
                5,
                2,
                &[2_i32, -1].map(i32::to_le_bytes).concat(),
            ),
            WhyNot::Malformed("attention.head_count_kv"),
        ),
        (
            with(&[("block_count", 2)]).text("llama.attention.head_count_kv", "2"),
            WhyNot::Malformed("attention.head_count_kv"),
        ),
    ] {
        let result = compute(&builder, "-c 4096");
        if why == WhyNot::Missing("") {
            assert!(result.is_ok(), "one layer, one value");
        } else {
            assert_eq!(result, Err(why));
        }
    }
    let numbers = [("block_count", 2), heads[0], heads[1]];
    assert_eq!(
        compute(&model(&numbers), ""),
        Err(WhyNot::Missing("context_length"))
    );
    let wide = model(&numbers).u64("llama.attention.key_length", u64::MAX);
    assert!(matches!(
        compute(&wide, "-c 4096"),
        Err(WhyNot::Malformed(_))
    ));
}

#[test]
fn impossible_settings_are_refused() {
    let header = header("llama-f16");
    for settings in [
        KvSettings {
            parallel: Some(0),
            ..settings("-c 4096")
        },
        KvSettings {
            context: Some(u64::MAX),
            ..settings("-c 4096")
        },
    ] {
        assert_eq!(
            estimate(&header, &settings),
            Err(WhyNot::Malformed("context length"))
        );
    }
    let odd = transformer("llama")
        .u32("llama.attention.key_length", 40)
        .u32("llama.attention.value_length", 40);
    let result = compute(&odd, "-c 4096 -ctk q8_0");
    assert!(matches!(result, Err(WhyNot::Impossible(_))), "{result:?}");
    assert!(compute(&odd, "-c 4096").is_ok());
}

#[test]
fn an_unknown_context_spans_what_a_server_shrinks_to() {
    let known = KvSettings {
        context: None,
        ..settings("-np 1")
    };
    let of = |name| estimate(&header(name), &known).unwrap();
    let estimate = of("llama-f16");
    assert_eq!(estimate.range(), Range::between(4 * MIB, 8 * MIB));
    let expected = Assumption::Context {
        low: 4096,
        high: 8192,
    };
    assert_eq!(estimate.assumptions, [expected]);
    assert!(of("decision-f16").range().is_exact(), "trained with 4096");
}

#[test]
fn unknown_types_span_q4_0_to_f16() {
    let unknown = KvSettings {
        type_k: None,
        ..settings("-c 4096 -np 1")
    };
    let estimate = estimate(&header("llama-f16"), &unknown).unwrap();
    let keys = 2 * MIB;
    assert_eq!(
        estimate.range(),
        Range::between(2 * MIB + keys * 18 / 64, 2 * MIB + keys)
    );
    assert_eq!(estimate.assumptions, [Assumption::KeyType]);
}

#[test]
fn unknown_slots_matter_only_to_windows_states_and_padding() {
    let unknown = KvSettings {
        parallel: None,
        unified: Some(true),
        ..settings("-c 4096")
    };
    let of = |name| estimate(&header(name), &unknown).unwrap().range();
    assert!(of("llama-f16").is_exact());
    assert!(!of("gemma3-q8_0").is_exact());
    let one = estimate(&header("mamba-f16"), &settings("-c 4096 -np 1"))
        .unwrap()
        .low;
    assert_eq!(of("mamba-f16"), Range::between(one, 8 * one));
}

#[test]
fn flash_attention_is_noted_only_where_it_matters() {
    let unknown = KvSettings {
        flash_attention: None,
        ..settings("-c 4096 -np 1")
    };
    let of = |name| estimate(&header(name), &unknown).unwrap();
    assert!(of("llama-f16").assumptions.is_empty());
    let uneven = of("gemma4-f16");
    assert_eq!(
        uneven.range(),
        Range::between(5 * MIB + MIB / 4, 7 * MIB + MIB / 8)
    );
    assert_eq!(uneven.assumptions, [Assumption::FlashAttention]);
}

#[test]
fn nothing_known_is_all_assumed() {
    let estimate = estimate(&header("gemma3-q8_0"), &KvSettings::default()).unwrap();
    assert_eq!(estimate.assumptions.len(), 7);
    for assumption in &estimate.assumptions {
        assert!(!assumption.to_string().is_empty());
    }
    // No more than all of it: the most of each layer is of different settings, 69,861,376 together.
    let offload = Offload {
        gpus: 1,
        gpu_layers: None,
        ..Offload::default()
    };
    let devices = cache(&estimate, &offload).devices;
    assert_eq!(estimate.high, 69_206_016);
    assert_eq!(devices.gpu, Range::between(0, estimate.high));
    assert_eq!(devices.cpu, devices.gpu);
    assert_eq!(devices.gpus, [devices.gpu]);
    let all = Offload {
        gpu_layers: Some(u64::MAX),
        ..offload
    };
    let devices = cache(&estimate, &all).devices;
    assert_eq!(
        (devices.gpu, devices.cpu),
        (estimate.range(), Range::exact(0))
    );
}

/// Every number that is computed with, once as none a model can have.
#[test]
fn with_a_number_that_no_model_has_nothing_is_computed_and_the_key_is_named() {
    const NUMBERS: [(&str, u32); 5] = [
        ("block_count", 12),
        ("context_length", 32_768),
        ("embedding_length", 512),
        ("attention.head_count", 8),
        ("attention.head_count_kv", 2),
    ];
    for key in [
        "block_count",
        "embedding_length",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.value_length",
        "attention.shared_kv_layers",
        "attention.sliding_window",
        "nextn_predict_layers",
        "feed_forward_length",
        "expert_used_count",
        "ssm.inner_size",
    ] {
        let mut numbers = NUMBERS.to_vec();
        numbers.retain(|(name, _)| *name != key);
        numbers.push((key, u32::MAX));
        let header = Builder::model("llama", &numbers).read().unwrap();
        assert_eq!(header.impossible_number(), Some(key));
        let refused = Err(WhyNot::Malformed(key));
        assert_eq!(estimate(&header, &settings("-c 4096")), refused, "{key}");
        let buffer = gguf::compute::estimate(
            &header,
            &settings("-c 4096"),
            gguf::compute::LogitRows::PerSlot,
        );
        assert_eq!(buffer, Err(WhyNot::Malformed(key)));
    }
    for (key, value) in [("block_count", 0), ("embedding_length", 0)] {
        let mut numbers = NUMBERS.to_vec();
        numbers.retain(|(name, _)| *name != key);
        numbers.push((key, value));
        let header = Builder::model("llama", &numbers).read().unwrap();
        assert_eq!(header.impossible_number(), Some(key));
        let none_of_these = header.block_count().is_none() == (key == "block_count");
        assert!(none_of_these, "{key}");
    }
    let heads = Builder::model("llama", &NUMBERS[..4])
        .u32s("llama.attention.head_count_kv", &[2, 2, u32::MAX])
        .read()
        .unwrap();
    assert_eq!(heads.impossible_number(), Some("attention.head_count_kv"));
    // Heads of no width are not heads of nothing.
    let thin = [
        ("block_count", 12),
        ("context_length", 4096),
        ("embedding_length", 8),
        ("attention.head_count", 64),
    ];
    let result = compute(&Builder::model("llama", &thin), "-c 4096");
    assert_eq!(result, Err(WhyNot::Missing("attention.key_length")));
}

#[test]
fn a_context_that_no_model_is_trained_for_is_none_and_another_can_be_asked_for() {
    for context in [0, u32::MAX] {
        let numbers = [
            ("block_count", 12),
            ("context_length", context),
            ("embedding_length", 512),
            ("attention.head_count", 8),
        ];
        let header = Builder::model("llama", &numbers).read().unwrap();
        assert_eq!(header.context_length(), None);
        assert!(estimate(&header, &settings("-c 4096")).is_ok());
        assert!(estimate(&header, &settings("-c 0")).is_err());
    }
}
