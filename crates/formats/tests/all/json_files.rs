//! `config.json`, an index of parts, `model_index.json`.

use formats::{Description, Error, Flaw, Format, Kind};
use serde_json::{Map, Value, json};

use crate::drive::{drive, read};

fn config(value: &Value) -> Description {
    read("/m/config.json", &serde_json::to_vec_pretty(value).unwrap()).unwrap()
}

#[test]
fn a_configuration_tells_what_its_neighbours_are() {
    let found = config(&json!({
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "num_hidden_layers": 36,
        "max_position_embeddings": 40960,
        "vocab_size": 151_936,
        "torch_dtype": "bfloat16",
        "_name_or_path": "/home/zorgon/secret",
    }));
    assert_eq!((found.format, found.kind), (Format::Config, Kind::Llm));
    assert_eq!(found.architecture.as_deref(), Some("qwen3"));
    assert_eq!(
        (found.layers, found.context_length, found.vocabulary),
        (Some(36), Some(40960), Some(151_936))
    );
    assert_eq!(found.quantization.as_deref(), Some("BF16"));
    assert!(!serde_json::to_string(&found).unwrap().contains("zorgon"));
}

#[test]
fn quantizations_are_named() {
    for (field, value, label) in [
        (
            "quantization_config",
            json!({"quant_method": "awq", "bits": 4}),
            "AWQ 4-bit",
        ),
        (
            "quantization_config",
            json!({"bits": 4.65, "quant_method": "exl2"}),
            "EXL2 4.65-bit",
        ),
        (
            "quantization_config",
            json!({"quant_method": "gptq", "bits": 8, "desc_act": true}),
            "GPTQ 8-bit",
        ),
        ("quantization_config", json!({"quant_method": "fp8"}), "FP8"),
        (
            "quantization_config",
            json!({"quant_method": "bitsandbytes", "load_in_4bit": true}),
            "bitsandbytes 4-bit",
        ),
        (
            "quantization",
            json!({"group_size": 64, "bits": 4}),
            "MLX 4-bit",
        ),
        (
            "quantization_config",
            json!({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8}}}}),
            "compressed-tensors 8-bit",
        ),
    ] {
        let found = config(&json!({"model_type": "llama", "torch_dtype": "float16", field: value}));
        assert_eq!(found.quantization.as_deref(), Some(label));
    }
    let unknown = config(
        &json!({"model_type": "llama", "dtype": "float16", "quantization_config": {"quant_method": "zorgon"}}),
    );
    assert_eq!(unknown.quantization, None, "unknown, and not float16");
}

#[test]
fn a_multimodal_model_s_numbers_are_those_of_its_language_model() {
    let found = config(&json!({
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "text_config": {"num_hidden_layers": 34, "max_position_embeddings": 131_072},
        "vision_config": {"num_hidden_layers": 27},
    }));
    assert_eq!(
        (found.layers, found.context_length),
        (Some(34), Some(131_072))
    );
    assert_eq!(found.kind, Kind::Unknown);
}

#[test]
fn other_configurations_are_no_models() {
    for value in [json!({}), json!({"name": "x"}), json!([1]), json!("llama")] {
        let text = serde_json::to_vec(&value).unwrap();
        assert_eq!(
            read("config.json", &text).unwrap_err(),
            Error::NotModel,
            "{value}"
        );
    }
    let text = br#"{"model_type": "not a word \u0000"}"#;
    assert_eq!(read("config.json", text).unwrap_err(), Error::NotModel);
    assert_eq!(
        read("settings.json", br#"{"model_type": "llama"}"#).unwrap_err(),
        Error::NotModel
    );
}

#[test]
fn an_index_names_the_parts() {
    let mut map = Map::new();
    for tensor in 0..3000 {
        let part = format!("model-{:05}-of-00003.safetensors", tensor % 3 + 1);
        map.insert(format!("model.layers.{tensor}.weight"), part.into());
    }
    let text = serde_json::to_vec(
        &json!({"metadata": {"total_size": 16_060_522_240_u64}, "weight_map": map}),
    )
    .unwrap();
    let found = read("/m/model.safetensors.index.json", &text).unwrap();
    assert_eq!(found.format, Format::Index);
    assert_eq!(
        (found.tensors, found.tensor_bytes),
        (Some(3000), Some(16_060_522_240))
    );
    assert_eq!(found.parts.len(), 3);
    assert_eq!(found.parts[2], "model-00003-of-00003.safetensors");
}

#[test]
fn a_part_in_another_folder_is_none() {
    let text = br#"{"weight_map": {"a": "../x.safetensors", "b": "y.safetensors", "c": 3}}"#;
    let found = read("m.index.json", text).unwrap();
    assert_eq!(found.parts, ["y.safetensors"]);
    assert_eq!(found.flaws, [Flaw::PartsDropped]);
    assert!(read("m.index.json", b"{}").is_err());
}

#[test]
fn a_diffusers_folder_names_its_components() {
    let text = br#"{
        "_class_name": "FluxPipeline", "_diffusers_version": "0.35.0", "_name_or_path": "zorgon",
        "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
        "transformer": ["diffusers", "FluxTransformer2DModel"],
        "safety_checker": [null, null], "requires_safety_checker": false,
        "vae": ["diffusers", "AutoencoderKL"]
    }"#;
    let found = read("model_index.json", text).unwrap();
    assert_eq!(
        (found.format, found.kind),
        (Format::Diffusers, Kind::Diffusion)
    );
    assert_eq!(found.architecture.as_deref(), Some("FluxPipeline"));
    assert_eq!(found.parts, ["scheduler", "transformer", "vae"]);
}

#[test]
fn a_file_of_json_that_is_too_large_is_refused() {
    let error = drive("config.json", &[b' '; 5000], 33 << 20).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}
