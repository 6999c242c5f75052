//! The header-only fixtures, and that each is read as what it is.

use gguf::{Header, Kind, Pooling};

use crate::answers::drive;

pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
    pub(crate) architecture: &'static str,
    pub(crate) metadata: usize,
    pub(crate) tensors: usize,
    pub(crate) data_offset: u64,
    /// Bytes of the file the header was taken from.
    pub(crate) file_len: u64,
    pub(crate) tensor_bytes: u64,
    pub(crate) parameters: u64,
}

macro_rules! fixtures {
    ($($name:literal $arch:literal $kv:literal $tensors:literal $data:literal $len:literal $bytes:literal $elements:literal)*) => {
        pub(crate) const FIXTURES: &[Fixture] = &[$(Fixture {
            name: $name,
            bytes: include_bytes!(concat!("../../fixtures/headers/tiny-", $name, ".header.gguf")),
            architecture: $arch,
            metadata: $kv,
            tensors: $tensors,
            data_offset: $data,
            file_len: $len,
            tensor_bytes: $bytes,
            parameters: $elements,
        }),*];
    };
}

// name, architecture, metadata entries, tensors, data offset, file length, tensor bytes, elements
fixtures! {
    "bert-f16"      "bert"      26  69 16032   5_045_920   5_029_888   2_371_584
    "decision-f16"  "qwen3"     31  25 13856     868_896     855_040     426_752
    "deepseek2-f16" "deepseek2" 40 106 19520   7_955_168   7_935_568   3_958_164
    "draft-f16"     "llama"     28  21 13408     867_936     854_528     426_624
    "gemma3-q8_0"   "gemma3"    28 158 21504   7_319_552   7_298_048   6_829_824
    "gemma4-f16"    "gemma4"    37 159 22112  14_628_704  14_606_592   7_288_896
    "gptoss-mxfp4"  "gpt-oss"   32 117 19424   4_188_512   4_168_896   6_192_944
    "lfm2-f16"      "lfm2"      26  75 16640  10_405_632  10_388_992   5_185_920
    "llama-big"     "llama"     28 147 20864 192_897_408 192_876_544 181_437_440
    "llama-f16"     "llama"     28  39 14464   5_004_416   4_989_952   2_492_672
    "llama-q4_0"    "llama"     28  39 14464   1_424_512   1_410_048   2_492_672
    "llama-q4_k_m"  "llama"     28  39 14464   1_424_512   1_410_048   2_492_672
    "llama-q6_k"    "llama"     28  39 14464   2_066_560   2_052_096   2_492_672
    "llama-q8_0"    "llama"     28  39 14464   2_669_696   2_655_232   2_492_672
    "lora-f32"      "llama"      4   8   736      66_272      65_536      16_384
    "mamba-f16"     "mamba"     27  63 15584   6_039_776   6_024_192   2_890_496
    "qwen2-f16"     "qwen2"     28  75 16416   7_247_904   7_231_488   3_610_112
    "qwen3-f16"     "qwen3"     28  69 16192   7_240_000   7_223_808   3_608_192
    "qwen3moe-q4_0" "qwen3moe"  30  75 16960   3_435_584   3_418_624   5_979_776
}

/// The header of a fixture, as if its whole file were there.
pub(crate) fn header(name: &str) -> Header {
    let fixture = FIXTURES
        .iter()
        .find(|fixture| fixture.name == name)
        .unwrap();
    drive(fixture.bytes, fixture.file_len).0.unwrap()
}

#[test]
fn every_header_is_read_as_what_it_is() {
    for fixture in FIXTURES {
        let (header, requests) = drive(fixture.bytes, fixture.file_len);
        let header = header.unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
        assert_eq!(header.version, 3, "{}", fixture.name);
        assert_eq!(
            header.architecture(),
            Some(fixture.architecture),
            "{}",
            fixture.name
        );
        assert_eq!(header.metadata.len(), fixture.metadata, "{}", fixture.name);
        assert_eq!(header.tensors.len(), fixture.tensors, "{}", fixture.name);
        assert_eq!(header.data_offset, fixture.data_offset, "{}", fixture.name);
        assert_eq!(
            header.tensor_bytes(),
            fixture.tensor_bytes,
            "{}",
            fixture.name
        );
        assert_eq!(header.parameters(), fixture.parameters, "{}", fixture.name);
        assert!(
            header.tensors.iter().all(|tensor| tensor.size_known),
            "{}",
            fixture.name
        );
        assert_eq!(header.flaws, [], "{}", fixture.name);
        assert!(
            requests.reads.len() + requests.skips.len() <= 7,
            "{}: {requests:?}",
            fixture.name
        );
    }
}

#[test]
fn a_file_of_only_a_header_is_flawed_but_read() {
    for fixture in FIXTURES {
        let header = gguf::read_header(&mut &*fixture.bytes).unwrap();
        assert!(header.truncated_data(), "{}", fixture.name);
        assert_eq!(
            header.tensor_bytes(),
            fixture.tensor_bytes,
            "{}",
            fixture.name
        );
    }
}

#[test]
fn a_vocabulary_is_counted_but_not_kept() {
    let header = header("llama-f16");
    assert_eq!(header.vocabulary_size(), Some(512));
    assert_eq!(
        header.metadata.array_len("tokenizer.ggml.scores"),
        Some(512)
    );
    assert!(
        header
            .metadata
            .iter()
            .all(|(_, value)| { !value.as_text().is_some_and(|text| text.contains("<0x")) })
    );
}

#[test]
fn templates_are_noted_but_not_kept() {
    let header = header("decision-f16");
    assert!(header.has_chat_template());
    assert!(
        header
            .metadata
            .contains("tokenizer.chat_template.systemone")
    );
    assert_eq!(header.metadata.text("tokenizer.chat_template"), None);
}

#[test]
fn kinds_are_told_apart() {
    let decision = Kind::Decision {
        name: "openjev".into(),
        known: true,
    };
    assert_eq!(header("bert-f16").kind(), Kind::Embedding(Pooling::Mean));
    assert_eq!(header("decision-f16").kind(), decision);
    assert_eq!(header("lora-f32").kind(), Kind::Adapter);
    for fixture in FIXTURES {
        if !["bert-f16", "decision-f16", "lora-f32"].contains(&fixture.name) {
            assert_eq!(
                header(fixture.name).kind(),
                Kind::CausalLanguageModel,
                "{}",
                fixture.name
            );
        }
    }
}

#[test]
fn quantization_labels_agree_with_the_tensors() {
    for (name, label, bits) in [
        ("llama-f16", "F16", 16.014),
        ("llama-q4_0", "Q4_0", 4.525),
        ("llama-q4_k_m", "Q4_K_M", 4.525),
        ("llama-q6_k", "Q6_K", 6.586),
        ("llama-q8_0", "Q8_0", 8.521),
        ("gptoss-mxfp4", "MXFP4_MOE", 5.385),
        ("lora-f32", "mostly f32", 32.0),
    ] {
        let quantization = header(name).quantization();
        assert_eq!(quantization.label().as_deref(), Some(label), "{name}");
        assert!(!quantization.disagrees, "{name}");
        let found = quantization.bits_per_weight.unwrap();
        assert!((found - bits).abs() < 0.001, "{name}: {found}");
    }
}

#[test]
fn numbers_of_the_model_are_found() {
    let header = header("gemma4-f16");
    assert_eq!(header.block_count(), Some(12));
    assert_eq!(header.context_length(), Some(32_768));
    assert_eq!(header.embedding_length(), Some(256));
    assert_eq!(header.head_count().unwrap().get(11), Some(4));
    let kv_heads = header.head_count_kv().unwrap();
    assert_eq!(
        (kv_heads.get(0), kv_heads.get(5), kv_heads.max()),
        (Some(1), Some(2), Some(2))
    );
    assert_eq!(kv_heads.get(12), None);
    assert_eq!(header.name(), Some("Tiny Gemma4"));
    assert_eq!(header.size_label(), Some("9M"));
    let header = self::header("qwen3moe-q4_0");
    assert_eq!(
        (header.expert_count(), header.expert_used_count()),
        (Some(8), Some(2))
    );
}
