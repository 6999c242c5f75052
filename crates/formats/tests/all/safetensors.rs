//! Safetensors.

use formats::{Dtype, Error, Flaw, Format, Kind, Share, What};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::build::{safetensors, small_safetensors, tensor};
use crate::drive::{drive, read};

#[test]
fn tensors_are_summed_by_type() {
    let found = read("model.safetensors", &small_safetensors()).unwrap();
    assert_eq!(found.format, Format::Safetensors);
    assert_eq!(
        found.dtypes,
        [
            Share {
                dtype: Dtype::Bf16,
                elements: 24,
                bytes: 48
            },
            Share {
                dtype: Dtype::F32,
                elements: 4,
                bytes: 16
            },
        ]
    );
    assert_eq!(found.storage().as_deref(), Some("BF16"));
    assert_eq!(
        (found.parameters(), found.tensor_bytes),
        (Some(28), Some(64))
    );
    assert_eq!(found.producer.as_deref(), Some("pt"));
    assert_eq!((found.kind, found.flaws.len()), (Kind::Unknown, 0));
}

#[test]
fn the_first_bytes_decide_and_not_the_name() {
    for name in ["model.gguf", "0123456789abcdef", "x.bin"] {
        assert_eq!(
            read(name, &small_safetensors()).unwrap().format,
            Format::Safetensors
        );
    }
}

#[test]
fn of_the_metadata_only_what_is_listed_is_kept() {
    let found = read(
        "x.safetensors",
        &safetensors(
            &json!({
                "__metadata__": {
                    "format": "pt",
                    "modelspec.title": "A \u{1b}[31mtitle\u{202e}",
                    "modelspec.architecture": "stable-diffusion-xl-v1-base",
                    "modelspec.author": "zorgon",
                    "ss_training_comment": "zorgon",
                },
                "a": tensor("F16", &[2], 0, 4),
            }),
            4,
        ),
    )
    .unwrap();
    assert_eq!(found.title.as_deref(), Some("A [31mtitle"));
    assert_eq!(
        found.architecture.as_deref(),
        Some("stable-diffusion-xl-v1-base")
    );
    assert_eq!(found.kind, Kind::Diffusion);
    assert!(!serde_json::to_string(&found).unwrap().contains("zorgon"));
}

#[test]
fn tensor_names_tell_adapters_and_image_models() {
    for (name, kind) in [
        (
            "base_model.model.layers.0.q_proj.lora_A.weight",
            Kind::Adapter,
        ),
        ("lora_unet_down_blocks_0.lora_down.weight", Kind::Adapter),
        (
            "model.diffusion_model.input_blocks.0.0.weight",
            Kind::Diffusion,
        ),
        ("double_blocks.0.img_attn.proj.weight", Kind::Diffusion),
        ("model.layers.0.mlp.weight", Kind::Unknown),
    ] {
        let file = safetensors(&json!({name: tensor("F16", &[2], 0, 4)}), 4);
        assert_eq!(read("x", &file).unwrap().kind, kind, "{name}");
    }
}

#[test]
fn packed_weights_are_not_counted_as_parameters() {
    let file = safetensors(
        &json!({
            "q.qweight": tensor("I32", &[8], 0, 32),
            "q.scales": tensor("F16", &[4], 32, 40),
        }),
        40,
    );
    let found = read("x", &file).unwrap();
    assert_eq!(
        (found.parameters(), found.main_dtype()),
        (None, Some(Dtype::I32))
    );
}

#[test]
fn what_does_not_fit_is_a_flaw_or_an_error_with_its_place() {
    let one = |entry: Value, data: usize| read("x", &safetensors(&json!({ "a": entry }), data));
    assert_eq!(
        one(tensor("F16", &[4], 0, 8), 4).unwrap().flaws,
        [Flaw::TruncatedData]
    );
    assert_eq!(
        one(tensor("F16", &[5], 0, 8), 8).unwrap().flaws,
        [Flaw::SizeMismatch]
    );
    // Types of four and six bits take whole bytes together.
    assert_eq!(one(tensor("F4", &[4], 0, 2), 2).unwrap().flaws, []);
    assert_eq!(
        one(tensor("F9", &[4], 0, 2), 2).unwrap().main_dtype(),
        Some(Dtype::Other)
    );
    let twice = json!({"a": tensor("U8", &[8], 0, 8), "b": tensor("U8", &[8], 0, 8)});
    assert_eq!(
        read("x", &safetensors(&twice, 8)).unwrap().flaws,
        [Flaw::Overlapping]
    );
    for entry in [
        tensor("F16", &[4], 8, 0),
        tensor("F64", &[u64::MAX], 0, 8),
        tensor("F16", &[1 << 40, 1 << 40], 0, 8),
        tensor("F16", &[1; 65], 0, 2),
        json!({"dtype": "F16", "shape": [-1], "data_offsets": [0, 2]}),
        json!({"dtype": "F16", "shape": [1], "data_offsets": [0]}),
        json!({"dtype": "F16", "shape": [1], "data_offsets": [0, 1, 2]}),
        json!({"dtype": 16, "shape": [1], "data_offsets": [0, 2]}),
        json!({"shape": [1], "data_offsets": [0, 2]}),
        json!({}),
        json!(3),
        json!([3]),
    ] {
        let result = one(entry.clone(), 8);
        let is =
            matches!(result, Err(Error::Malformed { what: What::Tensor, offset }) if offset > 8);
        assert!(is, "{entry} {result:?}");
    }
}

#[test]
fn a_number_without_dimensions_is_one_element() {
    let file = safetensors(&json!({"scale": tensor("F32", &[], 0, 4)}), 4);
    assert_eq!(read("x", &file).unwrap().parameters(), Some(1));
}

#[test]
fn a_header_longer_than_allowed_or_than_the_file_is_refused() {
    let with_length = |length: u64| {
        let mut file = small_safetensors();
        file[..8].copy_from_slice(&length.to_le_bytes());
        file
    };
    let long = drive("x.safetensors", &with_length(100_000_001), 1 << 40).unwrap_err();
    assert_eq!(
        long,
        Error::TooLarge {
            what: What::HeaderLength,
            offset: 0
        }
    );
    let error = read("x.safetensors", &with_length(5000)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Truncated {
                offset: 8,
                needed: 5000,
                ..
            }
        ),
        "{error}"
    );
    // Without the extension, such a length is no sign of the format.
    assert_eq!(
        read("x.bin", &with_length(5000)).unwrap_err(),
        Error::NotModel
    );
    let file = small_safetensors();
    for len in 9..file.len() - 64 {
        let error = read("x.safetensors", &file[..len]).unwrap_err();
        assert!(matches!(error, Error::Truncated { .. }), "{len}: {error}");
    }
}

proptest! {
    #[test]
    fn sums_are_those_of_the_table(shapes in prop::collection::vec((0_usize..5, prop::collection::vec(0_u64..50, 0..4)), 0..200)) {
        let types = [("F32", 4), ("BF16", 2), ("I8", 1), ("F64", 8), ("I64", 8)];
        let mut table = Map::new();
        let (mut at, mut elements) = (0, 0);
        for (index, (dtype, shape)) in shapes.iter().enumerate() {
            let (label, bytes) = types[*dtype];
            let count: u64 = shape.iter().product();
            table.insert(format!("layers.{index}.weight"), tensor(label, shape, at, at + count * bytes));
            at += count * bytes;
            elements += count;
        }
        let found = read("x.safetensors", &safetensors(&Value::Object(table), usize::try_from(at).unwrap())).unwrap();
        prop_assert_eq!(found.tensor_bytes, Some(at));
        prop_assert_eq!(found.tensors, Some(shapes.len() as u64));
        prop_assert_eq!(found.dtypes.iter().map(|share| share.elements).sum::<u64>(), elements);
        prop_assert_eq!(found.flaws, []);
    }
}
