//! What a header says about its model.

use gguf::{FileType, Kind, Pooling, Split};

use crate::builder::Builder;

fn model(architecture: &str) -> Builder {
    Builder::model(
        architecture,
        &[("block_count", 2), ("context_length", 4096)],
    )
    .text("tokenizer.ggml.model", "gpt2")
}

#[test]
fn kinds_follow_from_keys() {
    let decision = |name: &str, known| Kind::Decision {
        name: name.into(),
        known,
    };
    let projector = |vision, audio| Kind::Projector { vision, audio };
    let cases = [
        (model("llama"), Kind::CausalLanguageModel),
        (model("never-heard-of"), Kind::CausalLanguageModel),
        (
            model("qwen3").u32("qwen3.pooling_type", 0),
            Kind::CausalLanguageModel,
        ),
        (
            model("qwen3").u32("qwen3.pooling_type", 3),
            Kind::Embedding(Pooling::Last),
        ),
        (
            model("bert").u32("bert.pooling_type", 2),
            Kind::Embedding(Pooling::First),
        ),
        (model("bert"), Kind::Embedding(Pooling::Unstated)),
        (model("qwen3").u32("qwen3.pooling_type", 4), Kind::Reranker),
        (
            model("qwen3").text("qwen3.decision.type", "clef"),
            decision("clef", true),
        ),
        (
            model("qwen3").text("qwen3.decision.type", "new"),
            decision("new", false),
        ),
        (model("parakeet").text("stt.variant", "ctc"), Kind::Speech),
        (
            model("llama").text("general.type", "adapter"),
            Kind::Adapter,
        ),
        (
            model("x").text("general.type", "imatrix"),
            Kind::ImportanceMatrix,
        ),
        (
            model("x").text("general.type", "mmproj"),
            projector(false, false),
        ),
        (
            model("clip").bool("clip.has_vision_encoder", true),
            projector(true, false),
        ),
        (
            model("clip").bool("clip.has_audio_encoder", true),
            projector(false, true),
        ),
        (model("dream"), Kind::TextDiffusion),
        (Builder::model("flux", &[]), Kind::ImageDiffusion),
        (Builder::model("llama", &[]), Kind::Unknown),
        (
            model("llama").bool("llama.attention.causal", false),
            Kind::Unknown,
        ),
        (Builder::new(), Kind::Unknown),
    ];
    for (number, (builder, expected)) in cases.into_iter().enumerate() {
        assert_eq!(builder.read().unwrap().kind(), expected, "case {number}");
    }
}

#[test]
fn file_types_have_labels() {
    let of = |value| {
        Builder::new()
            .u32("general.file_type", value)
            .read()
            .unwrap()
            .file_type()
    };
    let expected = |id, label, guessed| Some(FileType { id, label, guessed });
    assert_eq!(of(15), expected(15, Some("Q4_K_M"), false));
    assert_eq!(of(1024 + 7), expected(7, Some("Q8_0"), true));
    assert_eq!(of(999), expected(999, None, false));
    assert_eq!(Builder::new().read().unwrap().file_type(), None);
}

#[test]
fn a_label_that_does_not_fit_is_shown_with_the_truth() {
    let header = Builder::new()
        .u32("general.file_type", 15)
        .tensor("a", &[256, 8], 8, 0)
        .tensor("b", &[256], 12, 4096)
        .read()
        .unwrap();
    let quantization = header.quantization();
    assert!(quantization.disagrees);
    assert_eq!(quantization.most_common.unwrap().name, "q8_0");
    assert_eq!(quantization.label().as_deref(), Some("Q4_K_M, mostly q8_0"));
}

#[test]
fn a_header_without_tensors_has_no_bits_per_weight() {
    let quantization = Builder::new().read().unwrap().quantization();
    assert_eq!(quantization.bits_per_weight, None);
    assert_eq!(quantization.label(), None);
}

#[test]
fn parts_of_a_split_model_say_which_they_are() {
    let header = Builder::new()
        .entry(b"split.no", 2, &[1, 0])
        .entry(b"split.count", 2, &[3, 0])
        .i32("split.tensors.count", 291)
        .read()
        .unwrap();
    let expected = Split {
        number: 2,
        count: 3,
        tensors: Some(291),
    };
    assert_eq!(header.split(), Some(expected));
    let alone = Builder::new()
        .entry(b"split.count", 2, &[1, 0])
        .read()
        .unwrap();
    assert_eq!(alone.split(), None);
    let none = Builder::new()
        .entry(b"split.count", 2, &[0, 0])
        .read()
        .unwrap();
    assert_eq!(none.split(), None);
}

#[test]
fn the_vocabulary_size_may_be_a_key() {
    let header = Builder::model("llama", &[("vocab_size", 32_000)])
        .read()
        .unwrap();
    assert_eq!(header.vocabulary_size(), Some(32_000));
}

#[test]
fn heads_for_keys_and_values_default_to_all_heads() {
    let header = Builder::model("llama", &[("attention.head_count", 8)])
        .read()
        .unwrap();
    assert_eq!(header.head_count_kv().unwrap().get(5), Some(8));
}
