//! Files that broke other readers of the format, each named for what was published about it.

use gguf::kv::{KvSettings, WhyNot, estimate};
use gguf::limits::{MAX_METADATA_COUNT, MAX_TENSOR_COUNT};
use gguf::placement::{Offload, place};
use gguf::weights::Weights;
use gguf::{Error, Flaw, Header, Value};

use crate::answers::{Requests, drive};
use crate::builder::Builder;

/// The result, where the file says it is far larger than what is there; little may be asked for.
fn small_appetite(bytes: &[u8]) -> Result<Header, Error> {
    let (result, requests): (_, Requests) = drive(bytes, bytes.len() as u64);
    assert!(requests.bytes() < 16 * 1024, "{requests:?}");
    result
}

fn is_truncated(result: &Result<Header, Error>) -> bool {
    matches!(result, Err(Error::Truncated { .. }))
}

/// Reads and asks for all arithmetic; no answer may be a panic.
fn asked(builder: &Builder) -> (Result<u64, WhyNot>, u64) {
    let header = builder.read().unwrap();
    let kv = estimate(&header, &KvSettings::default()).map(|estimate| estimate.high);
    let plan = place([&header], &Offload::default());
    (kv, plan.devices.cpu.high)
}

#[test]
fn cve_2024_21836_count_of_tensors() {
    for count in [MAX_TENSOR_COUNT + 1, 1 << 32, u64::MAX] {
        let result = small_appetite(&Builder::new().build_with_counts(count, 0));
        assert!(
            matches!(
                result,
                Err(Error::TooMany {
                    what: "tensors",
                    ..
                })
            ),
            "{result:?}"
        );
    }
    // Below the limit, but without any tensor.
    assert!(is_truncated(&small_appetite(
        &Builder::new().build_with_counts(MAX_TENSOR_COUNT, 0)
    )));
}

#[test]
fn cve_2024_23605_count_of_metadata() {
    for count in [MAX_METADATA_COUNT + 1, 1 << 32, u64::MAX] {
        let result = small_appetite(&Builder::new().build_with_counts(0, count));
        assert!(matches!(result, Err(Error::TooMany { .. })), "{result:?}");
    }
    assert!(is_truncated(&small_appetite(
        &Builder::new().build_with_counts(0, MAX_METADATA_COUNT)
    )));
}

#[test]
fn cve_2024_23496_length_of_a_string() {
    for length in [u64::MAX, u64::MAX - 7, 1 << 63, 1 << 40, 9] {
        let value = Builder::new()
            .entry(b"general.name", 8, &length.to_le_bytes())
            .build();
        assert!(is_truncated(&small_appetite(&value)), "{length}");
        let mut bytes = Builder::new().build_with_counts(0, 1);
        bytes.extend(length.to_le_bytes());
        let result = small_appetite(&bytes);
        let refused = matches!(result, Err(Error::NameTooLong { what: "key", .. }));
        assert!(refused || is_truncated(&result), "{length}: {result:?}");
    }
}

#[test]
fn cve_2024_21825_length_of_an_array() {
    for element in [0, 4, 7, 8, 10, 12] {
        // Multiplied by the size of an element, the first of them wrap to something small.
        for count in [1 << 61, (1 << 62) + 1, u64::MAX, 1 << 40] {
            let bytes = Builder::new().array("a", element, count, &[0; 16]).build();
            assert!(is_truncated(&small_appetite(&bytes)), "{element} {count}");
        }
    }
}

#[test]
fn cve_2024_21802_count_of_dimensions() {
    for count in [5, 64, u32::MAX] {
        let mut bytes = Builder::new().build_with_counts(1, 0);
        bytes.extend(1_u64.to_le_bytes());
        bytes.push(b't');
        bytes.extend(count.to_le_bytes());
        bytes.resize(bytes.len() + 4096, 1);
        let result = small_appetite(&bytes);
        assert!(
            matches!(result, Err(Error::TooMany { limit: 4, .. })),
            "{result:?}"
        );
    }
}

#[test]
fn cve_2025_53630_and_2026_27940_sum_of_tensor_sizes_wraps() {
    // Each is representable; four of them are 2^64 bytes, which wrap to 0.
    let quarter = 1_u64 << 60;
    let mut builder = Builder::model("llama", &[("block_count", 1)]);
    for number in 0..4_u64 {
        let name = format!("blk.0.part{number}.weight");
        builder = builder.tensor(&name, &[quarter], 0, number * 32);
    }
    let header = builder.read().unwrap();
    assert_eq!(header.tensor_bytes(), u64::MAX);
    assert_eq!(Weights::of(&header).total, u64::MAX);
    assert_eq!(
        place([&header], &Offload::default()).devices.cpu.high,
        u64::MAX
    );
    assert!(header.truncated_data());
    assert!(header.flaws.contains(&Flaw::OverlappingTensors));
    // The bypass: sizes are fine, but rounding the last one up to the alignment wraps.
    let error = Builder::new()
        .tensor("a", &[64], 0, u64::MAX - 256)
        .tensor("b", &[64], 0, u64::MAX - 255)
        .read()
        .unwrap_err();
    assert!(matches!(error, Error::TensorTooLarge { .. }), "{error}");
}

#[test]
fn cve_2026_33298_logical_tensor_of_exabytes() {
    for dimensions in [
        &[1 << 20, 1 << 20, 1 << 20, 1 << 20][..],
        &[u64::MAX, u64::MAX],
        &[1 << 63],
        &[1 << 33, 1 << 31],
        // Elements are representable, bytes are not.
        &[1 << 62],
    ] {
        let error = Builder::new()
            .tensor("t", dimensions, 0, 0)
            .read()
            .unwrap_err();
        assert!(matches!(error, Error::TensorTooLarge { .. }), "{error}");
    }
    // 1 EiB is, and is not believed to be there.
    let header = Builder::new().tensor("t", &[1 << 58], 0, 0).read().unwrap();
    assert_eq!(header.tensor_bytes(), 1 << 60);
    assert!(header.truncated_data());
}

#[test]
fn cve_2026_7482_tensor_end_beyond_the_file() {
    let mut bytes = Builder::model("llama", &[("block_count", 1)])
        .tensor("token_embd.weight", &[1 << 20], 1, 0)
        .build();
    bytes.resize(bytes.len().next_multiple_of(32) + 64, 0);
    let header = small_appetite(&bytes).unwrap();
    let needed = header.data_offset + (2 << 20);
    assert!(header.flaws.contains(&Flaw::TruncatedData { needed }));
    // An offset alone does it, too.
    let mut bytes = Builder::new().tensor("t", &[1], 0, 1 << 40).build();
    bytes.resize(4096, 0);
    assert!(small_appetite(&bytes).unwrap().truncated_data());
}

#[test]
fn pull_19856_negative_value_and_tensor_types() {
    for type_id in [-1, i32::MIN, 13, 1000] {
        let type_id = u32::from_le_bytes(type_id.to_le_bytes());
        let error = Builder::new()
            .entry(b"k", type_id, &[0; 8])
            .read()
            .unwrap_err();
        assert!(matches!(error, Error::UnknownValueType { .. }), "{error}");
        let error = Builder::new()
            .array("k", type_id, 1, &[0; 8])
            .read()
            .unwrap_err();
        assert!(matches!(error, Error::UnknownValueType { .. }), "{error}");
    }
    for type_id in [-1, i32::MIN, 43, 1000] {
        let type_id = u32::from_le_bytes(type_id.to_le_bytes());
        let header = Builder::new()
            .tensor("t", &[64], type_id, 0)
            .read()
            .unwrap();
        assert!(!header.tensors[0].size_known);
        assert_eq!(header.quantization().most_common, None);
    }
}

#[test]
fn pull_19856_strings_without_end() {
    // Counts that fit into the file only if strings had no length of their own.
    let mut bytes = Builder::new().array("k", 8, 1 << 20, &[]).build();
    bytes.resize(bytes.len() + (1 << 20), 0);
    assert!(is_truncated(&small_appetite(&bytes)));
    // The walk over strings stops at the end of the file as well.
    let mut bytes = Builder::new().array("k", 8, 1 << 12, &[]).build();
    bytes.resize(bytes.len() + (8 << 12) - 8, 0);
    assert!(is_truncated(&gguf::read_header(&mut &*bytes)));
}

#[test]
fn pull_19856_alignment_of_zero() {
    for alignment in [0, 3, 33, u32::MAX] {
        let builder = Builder::model("llama", &[("block_count", 1)])
            .u32("general.alignment", alignment)
            .tensor("t", &[8], 0, 0);
        let header = builder.read().unwrap();
        assert_eq!((header.alignment, header.data_offset % 32), (32, 0));
        assert!(header.flaws.contains(&Flaw::BadAlignment));
    }
}

#[test]
fn pull_19856_keys_that_stand_twice() {
    let header = Builder::new()
        .text("general.architecture", "llama")
        .u32("general.architecture", 7)
        .read()
        .unwrap();
    assert_eq!(header.architecture(), Some("llama"));
    assert!(
        header
            .flaws
            .contains(&Flaw::DuplicateKey("general.architecture".into()))
    );
}

#[test]
fn cve_2025_0317_division_by_zero() {
    let zeros = [
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.sliding_window",
        "attention.sliding_window_pattern",
        "full_attention_interval",
        "embedding_length",
        "context_length",
        "expert_count",
    ];
    for architecture in ["llama", "gemma3", "qwen3next", "mamba", "lfm2", "deepseek2"] {
        for zero in zeros {
            let mut numbers = vec![
                ("block_count", 4),
                ("context_length", 4096),
                ("embedding_length", 256),
                ("attention.head_count", 8),
                ("attention.sliding_window", 512),
                ("ssm.inner_size", 256),
                ("ssm.state_size", 16),
                ("ssm.conv_kernel", 4),
                ("shortconv.l_cache", 3),
            ];
            numbers.retain(|(key, _)| *key != zero);
            numbers.push((zero, 0));
            let _ = asked(&Builder::model(architecture, &numbers).tensor(
                "blk.0.a.weight",
                &[0, 5],
                2,
                0,
            ));
        }
    }
    let header = Builder::new()
        .u32("split.count", 0)
        .u32("split.no", 0)
        .read()
        .unwrap();
    assert_eq!(header.split(), None);
    let empty = Builder::new().tensor("t", &[0], 0, 0).read().unwrap();
    assert_eq!(empty.quantization().bits_per_weight, None);
}

#[test]
fn cve_2025_0312_keys_that_are_missing() {
    for builder in [
        Builder::new(),
        Builder::new().text("general.architecture", ""),
        Builder::new().text("general.architecture", "llama"),
        Builder::model("mamba", &[("block_count", 4)]),
        Builder::model("qwen3next", &[("block_count", 4)]),
    ] {
        let (kv, _) = asked(&builder);
        assert!(kv.is_err());
    }
}

#[test]
fn cve_2024_39720_short_file() {
    let bytes = Builder::model("llama", &[("block_count", 1)])
        .tensor("t", &[32], 0, 0)
        .build();
    for len in 0..bytes.len() {
        let result = small_appetite(&bytes[..len]);
        assert!(is_truncated(&result), "{len}: {result:?}");
    }
}

#[test]
fn cve_2025_66959_and_66960_length_that_panics() {
    // Lengths that are negative when signed, or whose sum with the offset wraps.
    for length in [i64::MIN, -1, -8, i64::MAX] {
        let length = u64::from_le_bytes(length.to_le_bytes());
        let mut strings = length.to_le_bytes().to_vec();
        strings.extend([0; 64]);
        let bytes = Builder::new()
            .array("tokenizer.ggml.tokens", 8, 2, &strings)
            .build();
        assert!(is_truncated(&gguf::read_header(&mut &*bytes)), "{length}");
        let end = gguf::skip_strings(&mut &*strings, 0, 2, 8, false);
        assert!(matches!(end, Err(Error::Truncated { .. })), "{length}");
    }
}

#[test]
fn a_known_key_of_a_wrong_type_is_absent() {
    let builder = Builder::new()
        .text("general.architecture", "llama")
        .text("llama.block_count", "32")
        .f32("llama.context_length", 4096.0)
        .i32("llama.embedding_length", -1)
        .bool("general.file_type", true)
        .u32("general.name", 5)
        .strings("llama.attention.head_count", ["8"]);
    let header = builder.read().unwrap();
    assert_eq!(header.block_count(), None);
    assert_eq!(header.context_length(), None);
    assert_eq!(header.embedding_length(), None);
    assert_eq!(header.name(), None);
    assert!(header.head_count().is_none());
    assert_eq!(asked(&builder).0, Err(WhyNot::Missing("block_count")));
}

#[test]
fn head_count_is_a_number_or_an_array_or_missing() {
    let numbers = [
        ("block_count", 2),
        ("context_length", 256),
        ("embedding_length", 64),
    ];
    let plain = Builder::model("llama", &numbers).u32("llama.attention.head_count", 2);
    let array = Builder::model("llama", &numbers).u32s("llama.attention.head_count", &[2, 2]);
    assert_eq!(asked(&plain).0, asked(&array).0);
    assert!(asked(&plain).0.is_ok());
    // An array for fewer layers than there are.
    let short = Builder::model("llama", &numbers).u32s("llama.attention.head_count", &[2]);
    assert!(matches!(asked(&short).0, Err(WhyNot::Malformed(_))));
    assert!(asked(&Builder::model("llama", &numbers)).0.is_err());
}

#[test]
fn values_of_every_type_are_read_by_their_size() {
    // A reader that takes one type for another loses its place: the last key would not be found.
    let mut builder = Builder::new();
    for (type_id, size) in [
        (0, 1),
        (1, 1),
        (2, 2),
        (3, 2),
        (4, 4),
        (5, 4),
        (6, 4),
        (7, 1),
        (10, 8),
        (11, 8),
        (12, 8),
    ] {
        builder = builder.entry(format!("k{type_id}").as_bytes(), type_id, &vec![1; size]);
    }
    let header = builder.u32("last", 7).read().unwrap();
    assert_eq!(header.metadata.get("last").and_then(Value::as_u64), Some(7));
}
