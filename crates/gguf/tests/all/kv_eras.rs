//! Caches of earlier builds, and of contexts beside the main one.

use gguf::kv::{Assumption, CacheKind, Era, KvSettings, WhyNot, estimate, estimate_prediction};
use gguf::{Header, Range};

use crate::builder::Builder;
use crate::fixtures::{FIXTURES, header};
use crate::kv_cases::settings;

fn of_era(flags: &str, era: Era) -> KvSettings {
    KvSettings {
        era,
        ..settings(flags)
    }
}

/// Kind, cells in all slots, and bytes in hundredths of a MiB.
fn parts(name: &str, settings: &KvSettings) -> Vec<(CacheKind, u64, u64)> {
    let estimate = estimate(&header(name), settings).unwrap();
    let parts = estimate.parts.iter();
    parts
        .map(|part| (part.kind, part.cells.0, (part.bytes.low * 100) >> 20))
        .collect()
}

use CacheKind::{Full, State, Windowed};

/// Logged by builds of April 2025 (12.00 MiB in one line) and from August 2025 on (2.00 and 5.00).
#[test]
fn windows_came_in_may_2025() {
    let flags = "-c 4096 -np 2 -fa off";
    let parts = |era| parts("gemma3-q8_0", &of_era(flags, era));
    assert_eq!(parts(Era::FullWindows), [(Full, 4096, 1200)]);
    let apart = [(Full, 4096, 200), (Windowed, 2048, 500)];
    assert_eq!(parts(Era::OwnCaches), apart);
    assert_eq!(parts(Era::Current), apart);
    // One cache for both slots: two windows and a batch, 1,536 tokens.
    assert_eq!(
        parts(Era::OneCache),
        [(Full, 4096, 200), (Windowed, 1536, 375)]
    );
}

#[test]
fn contexts_were_padded_to_32_without_flash_attention() {
    let cells = |flags: &str, era| parts("llama-f16", &of_era(flags, era))[0].1;
    assert_eq!(cells("-c 1000 -np 1 -fa off", Era::Current), 1024);
    assert_eq!(cells("-c 1010 -np 1 -fa off", Era::OwnCaches), 1024);
    assert_eq!(cells("-c 1000 -np 1 -fa off", Era::OwnCaches), 1024);
    assert_eq!(cells("-c 900 -np 1 -fa off", Era::OwnCaches), 928);
    assert_eq!(cells("-c 900 -np 1 -fa on", Era::FullWindows), 1024);
    // Three slots of 1365.3 tokens: rounded up, then padded; or all in one.
    assert_eq!(cells("-c 4096 -np 3 -fa off", Era::OwnCaches), 3 * 1376);
    assert_eq!(cells("-c 1088 -np 33 -fa off", Era::OwnCaches), 33 * 64);
    assert_eq!(cells("-c 4096 -np 3 -fa off", Era::OneCache), 4096);
    assert_eq!(cells("-c 4096 -np 3 -fa off", Era::Current), 3 * 1536);
}

#[test]
fn an_unknown_build_spans_the_rules_of_all_years() {
    for fixture in FIXTURES {
        let header = header(fixture.name);
        let flags = "-c 5000 -np 3";
        let Ok(unknown) = estimate(&header, &of_era(flags, Era::Unknown)) else {
            continue;
        };
        for era in [
            Era::Current,
            Era::OwnCaches,
            Era::OneCache,
            Era::FullWindows,
        ] {
            let known = estimate(&header, &of_era(flags, era)).unwrap();
            assert!(known.range().is_exact(), "{}", fixture.name);
            let inside = unknown.range().contains(known.low);
            assert!(inside, "{} {era:?}: {known:?} {unknown:?}", fixture.name);
            for part in &known.parts {
                let all = unknown.parts.iter().find(|all| all.kind == part.kind);
                assert!(
                    all.unwrap().bytes.contains(part.bytes.low),
                    "{}",
                    fixture.name
                );
            }
        }
        let cached = unknown.parts.iter().any(|part| part.kind != State);
        let noted = unknown.assumptions.contains(&Assumption::Era);
        assert_eq!(noted, cached, "{}", fixture.name);
    }
}

#[test]
fn sizes_by_layer_add_up_to_each_part() {
    for fixture in FIXTURES {
        for settings in [settings("-c 4096 -np 2"), KvSettings::default()] {
            let Ok(estimate) = estimate(&header(fixture.name), &settings) else {
                continue;
            };
            for part in &estimate.parts {
                let sum = part
                    .by_layer
                    .iter()
                    .fold(Range::exact(0), |sum, one| sum.plus(*one));
                assert_eq!(
                    part.by_layer.len(),
                    estimate.layers.len(),
                    "{}",
                    fixture.name
                );
                assert!(
                    sum.low <= part.bytes.low && part.bytes.high <= sum.high,
                    "{part:?}"
                );
            }
        }
    }
}

#[test]
fn states_kept_to_undo_tokens_multiply() {
    let with = |rollback| {
        let settings = KvSettings {
            rollback,
            ..settings("-c 4096 -np 2")
        };
        estimate(&header("mamba-f16"), &settings).unwrap()
    };
    let one = with(None);
    assert!(one.assumptions.contains(&Assumption::NoRollback));
    assert_eq!(with(Some(0)).low, one.low);
    assert!(!with(Some(0)).assumptions.contains(&Assumption::NoRollback));
    assert_eq!(with(Some(3)).low, 4 * one.low);
}

fn with_prediction(architecture: &str, layers: u32, prediction: u32) -> Header {
    let numbers = [
        ("block_count", layers),
        ("nextn_predict_layers", prediction),
        ("context_length", 4096),
        ("embedding_length", 256),
        ("attention.head_count", 8),
        ("attention.head_count_kv", 2),
        ("ssm.inner_size", 256),
        ("ssm.state_size", 16),
        ("ssm.conv_kernel", 4),
    ];
    Builder::model(architecture, &numbers).read().unwrap()
}

#[test]
fn layers_for_prediction_have_a_context_of_their_own() {
    let settings = settings("-c 4096 -np 1");
    for architecture in ["glm4moe", "qwen35"] {
        let header = with_prediction(architecture, 5, 1);
        let trunk = estimate(&header, &settings).unwrap();
        let own = estimate_prediction(&header, &settings).unwrap();
        // 4096 tokens, keys and values of 2 heads of 32, 2 bytes each.
        let layer = 4096 * 2 * 64 * 2;
        assert_eq!(own.range(), Range::exact(layer), "{architecture}");
        assert_eq!(own.layers[4], Range::exact(layer), "{architecture}");
        assert!(own.assumptions.contains(&Assumption::PredictionLayers));
        assert_eq!(
            trunk.layers[4],
            Range::exact(0),
            "{architecture}: {trunk:?}"
        );
    }
    let none = estimate_prediction(&header("llama-f16"), &settings);
    assert_eq!(none, Err(WhyNot::Missing("nextn_predict_layers")));
}

/// llama-server with a draft model logs two contexts of 2,048 tokens: 2.00 and 1.00 MiB.
#[test]
fn a_draft_model_has_a_context_of_its_own() {
    let settings = settings("-c 2048 -np 1");
    let bytes = |name| estimate(&header(name), &settings).unwrap().range();
    assert_eq!(bytes("llama-f16"), Range::exact(2 << 20));
    assert_eq!(bytes("draft-f16"), Range::exact(1 << 20));
}
