//! Words that name formats, architectures and methods, and what they tell. Such a word names no person and no file, so
//! that it may stand in a recording that hides everything else.

use crate::description::Kind;

/// `model_type` of transformers and `modelspec.architecture`; and what the model is for, where the word alone tells.
const ARCHITECTURES: &[(&str, Kind)] = &[
    ("afmoe", Kind::Unknown),
    ("apertus", Kind::Unknown),
    ("bamba", Kind::Unknown),
    ("bert", Kind::Unknown),
    ("bloom", Kind::Unknown),
    ("chameleon", Kind::Unknown),
    ("chatglm", Kind::Unknown),
    ("clip", Kind::Unknown),
    ("clip_text_model", Kind::Unknown),
    ("cohere", Kind::Unknown),
    ("cohere2", Kind::Unknown),
    ("dbrx", Kind::Unknown),
    ("deepseek_v2", Kind::Unknown),
    ("deepseek_v3", Kind::Unknown),
    ("deepseek_v32", Kind::Unknown),
    ("distilbert", Kind::Unknown),
    ("ernie4_5", Kind::Unknown),
    ("ernie4_5_moe", Kind::Unknown),
    ("exaone", Kind::Unknown),
    ("exaone4", Kind::Unknown),
    ("falcon", Kind::Unknown),
    ("falcon_h1", Kind::Unknown),
    ("falcon_mamba", Kind::Unknown),
    ("gemma", Kind::Unknown),
    ("gemma2", Kind::Unknown),
    ("gemma3", Kind::Unknown),
    ("gemma3_text", Kind::Unknown),
    ("gemma3n", Kind::Unknown),
    ("glm", Kind::Unknown),
    ("glm4", Kind::Unknown),
    ("glm4_moe", Kind::Unknown),
    ("glm4v", Kind::Unknown),
    ("gpt2", Kind::Unknown),
    ("gpt_neo", Kind::Unknown),
    ("gpt_neox", Kind::Unknown),
    ("gpt_oss", Kind::Unknown),
    ("gptj", Kind::Unknown),
    ("granite", Kind::Unknown),
    ("granitemoe", Kind::Unknown),
    ("granitemoehybrid", Kind::Unknown),
    ("hunyuan_v1_dense", Kind::Unknown),
    ("hunyuan_v1_moe", Kind::Unknown),
    ("idefics3", Kind::Unknown),
    ("internlm2", Kind::Unknown),
    ("internvl", Kind::Unknown),
    ("internvl_chat", Kind::Unknown),
    ("jamba", Kind::Unknown),
    ("kimi_k2", Kind::Unknown),
    ("kimi_vl", Kind::Unknown),
    ("lfm2", Kind::Unknown),
    ("lfm2_moe", Kind::Unknown),
    ("llama", Kind::Unknown),
    ("llama4", Kind::Unknown),
    ("llava", Kind::Unknown),
    ("llava_next", Kind::Unknown),
    ("llava_onevision", Kind::Unknown),
    ("mamba", Kind::Unknown),
    ("mamba2", Kind::Unknown),
    ("minicpm", Kind::Unknown),
    ("minicpm3", Kind::Unknown),
    ("minimax", Kind::Unknown),
    ("minimax_m2", Kind::Unknown),
    ("mistral", Kind::Unknown),
    ("mistral3", Kind::Unknown),
    ("mixtral", Kind::Unknown),
    ("mllama", Kind::Unknown),
    ("modernbert", Kind::Unknown),
    ("mpt", Kind::Unknown),
    ("nemotron", Kind::Unknown),
    ("nemotron_h", Kind::Unknown),
    ("nomic_bert", Kind::Unknown),
    ("olmo", Kind::Unknown),
    ("olmo2", Kind::Unknown),
    ("olmo3", Kind::Unknown),
    ("olmoe", Kind::Unknown),
    ("opt", Kind::Unknown),
    ("paligemma", Kind::Unknown),
    ("phi", Kind::Unknown),
    ("phi3", Kind::Unknown),
    ("phi3_v", Kind::Unknown),
    ("phi4mm", Kind::Unknown),
    ("phimoe", Kind::Unknown),
    ("pixtral", Kind::Unknown),
    ("qwen", Kind::Unknown),
    ("qwen2", Kind::Unknown),
    ("qwen2_5_omni", Kind::Unknown),
    ("qwen2_5_vl", Kind::Unknown),
    ("qwen2_moe", Kind::Unknown),
    ("qwen2_vl", Kind::Unknown),
    ("qwen3", Kind::Unknown),
    ("qwen3_moe", Kind::Unknown),
    ("qwen3_next", Kind::Unknown),
    ("qwen3_vl", Kind::Unknown),
    ("qwen3_vl_moe", Kind::Unknown),
    ("roberta", Kind::Unknown),
    ("seed_oss", Kind::Unknown),
    ("siglip", Kind::Unknown),
    ("siglip_vision_model", Kind::Unknown),
    ("smollm3", Kind::Unknown),
    ("smolvlm", Kind::Unknown),
    ("stablelm", Kind::Unknown),
    ("starcoder2", Kind::Unknown),
    ("step3", Kind::Unknown),
    ("t5", Kind::Unknown),
    ("umt5", Kind::Unknown),
    ("vit", Kind::Unknown),
    ("xlm-roberta", Kind::Unknown),
    ("zamba2", Kind::Unknown),
    ("hubert", Kind::Unknown),
    ("wav2vec2", Kind::Unknown),
    ("wav2vec2-bert", Kind::Unknown),
    ("moonshine", Kind::Speech),
    ("parakeet_ctc", Kind::Speech),
    ("speech_to_text", Kind::Speech),
    ("whisper", Kind::Speech),
    ("auraflow", Kind::Diffusion),
    ("chroma", Kind::Diffusion),
    ("flux-1-dev", Kind::Diffusion),
    ("flux-1-schnell", Kind::Diffusion),
    ("Flux.1-dev", Kind::Diffusion),
    ("Flux.1-schnell", Kind::Diffusion),
    ("hunyuan-video", Kind::Diffusion),
    ("lumina-2", Kind::Diffusion),
    ("pixart-sigma", Kind::Diffusion),
    ("qwen-image", Kind::Diffusion),
    ("sd3", Kind::Diffusion),
    ("stable-cascade", Kind::Diffusion),
    ("stable-diffusion-3", Kind::Diffusion),
    ("stable-diffusion-3-medium", Kind::Diffusion),
    ("stable-diffusion-v1", Kind::Diffusion),
    ("stable-diffusion-v1-inpainting", Kind::Diffusion),
    ("stable-diffusion-v2-512", Kind::Diffusion),
    ("stable-diffusion-v2-768-v", Kind::Diffusion),
    ("stable-diffusion-xl-v1-base", Kind::Diffusion),
    ("stable-diffusion-xl-v1-refiner", Kind::Diffusion),
    ("wan2.1", Kind::Diffusion),
    ("wan2.2", Kind::Diffusion),
];

/// Ends of class names of transformers and diffusers, and what such a class is for.
const CLASS_ENDS: &[(&str, Kind)] = &[
    ("ForCausalLM", Kind::Llm),
    ("LMHeadModel", Kind::Llm),
    ("ForSpeechSeq2Seq", Kind::Speech),
    ("ForCTC", Kind::Speech),
    ("WhisperForConditionalGeneration", Kind::Speech),
    ("MoonshineForConditionalGeneration", Kind::Speech),
    ("Speech2TextForConditionalGeneration", Kind::Speech),
    ("UNet2DConditionModel", Kind::Diffusion),
    ("Transformer2DModel", Kind::Diffusion),
    ("Transformer3DModel", Kind::Diffusion),
];

/// What writes files: ONNX's `producer_name`, `format` of safetensors, components of diffusers folders.
const PRODUCERS: &[&str] = &[
    "flax",
    "jax",
    "mlx",
    "np",
    "pt",
    "tf",
    "CNTK",
    "keras2onnx",
    "onnx-example",
    "onnx.compose",
    "onnx.quantize",
    "onnx.utils.extract_model",
    "onnxruntime-genai",
    "onnxruntime.quant",
    "onnxruntime.transformers",
    "paddle",
    "PaddlePaddle",
    "pytorch",
    "skl2onnx",
    "tf2onnx",
    "controlnet",
    "feature_extractor",
    "image_encoder",
    "image_processor",
    "processor",
    "safety_checker",
    "scheduler",
    "text_encoder",
    "text_encoder_2",
    "text_encoder_3",
    "tokenizer",
    "tokenizer_2",
    "tokenizer_3",
    "transformer",
    "transformer_2",
    "unet",
    "vae",
    "vocoder",
];

/// `quant_method` of transformers' `quantization_config`, and its usual spelling.
const METHODS: &[(&str, &str)] = &[
    ("aqlm", "AQLM"),
    ("auto-round", "AutoRound"),
    ("awq", "AWQ"),
    ("bitnet", "BitNet"),
    ("bitsandbytes", "bitsandbytes"),
    ("compressed-tensors", "compressed-tensors"),
    ("eetq", "EETQ"),
    ("exl2", "EXL2"),
    ("exl3", "EXL3"),
    ("fbgemm_fp8", "FP8"),
    ("fp8", "FP8"),
    ("gptq", "GPTQ"),
    ("higgs", "HIGGS"),
    ("hqq", "HQQ"),
    ("modelopt", "ModelOpt"),
    ("mxfp4", "MXFP4"),
    ("quanto", "Quanto"),
    ("quark", "Quark"),
    ("spqr", "SpQR"),
    ("torchao", "torchao"),
    ("vptq", "VPTQ"),
];

/// What a model with this `model_type`, class or `modelspec.architecture` is for.
pub(crate) fn kind_of_architecture(word: &str) -> Kind {
    // ModelSpec: `stable-diffusion-xl-v1-base/lora`.
    if let Some((_, variant)) = word.split_once('/') {
        let adapters = ["lora", "textual-inversion", "control-lora", "lycoris"];
        if adapters.contains(&variant) {
            return Kind::Adapter;
        }
    }
    let class = CLASS_ENDS.iter().find(|(end, _)| word.ends_with(end));
    let known = ARCHITECTURES.iter().find(|(name, _)| *name == word);
    class.or(known).map_or(Kind::Unknown, |(_, kind)| *kind)
}

pub(crate) fn quantization_method(word: &str) -> Option<&'static str> {
    let known = METHODS.iter().find(|(name, _)| *name == word);
    known.map(|(_, label)| *label)
}

/// Whether a word stands in a list of this crate, so that it cannot be anybody's own text.
pub fn is_known_word(word: &str) -> bool {
    let base = word.split_once('/').map_or(
        word,
        |(base, variant)| {
            if variant == "lora" { base } else { word }
        },
    );
    ARCHITECTURES.iter().any(|(name, _)| *name == base) || PRODUCERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_tell_what_a_model_is_for() {
        for (word, kind) in [
            ("Qwen3ForCausalLM", Kind::Llm),
            ("GPT2LMHeadModel", Kind::Llm),
            ("WhisperForConditionalGeneration", Kind::Speech),
            ("T5ForConditionalGeneration", Kind::Unknown),
            ("BertForSequenceClassification", Kind::Unknown),
            ("FluxTransformer2DModel", Kind::Diffusion),
            ("whisper", Kind::Speech),
            ("llama", Kind::Unknown),
            ("flux-1-dev", Kind::Diffusion),
            ("flux-1-dev/lora", Kind::Adapter),
            ("zorgon", Kind::Unknown),
        ] {
            assert_eq!(kind_of_architecture(word), kind, "{word}");
        }
    }

    #[test]
    fn only_listed_words_are_known() {
        for word in ["llama", "flux-1-dev/lora", "pt", "unet"] {
            assert!(is_known_word(word), "{word}");
        }
        for word in ["", "zorgon", "llama/zorgon", "zorgon/lora", "Llama"] {
            assert!(!is_known_word(word), "{word}");
        }
    }
}
