//! Headers that are wrong: what is refused, and what is only a flaw.

use gguf::limits::{MAX_FLAWS, MAX_REQUESTED_BYTES, MAX_STEPS};
use gguf::{Error, Flaw};

use crate::answers::drive;
use crate::builder::{Builder, Order};
use crate::reader::sample;

#[test]
fn a_header_cut_anywhere_is_truncated() {
    let bytes = sample(3, Order::Little).build();
    for len in 4..bytes.len() {
        let whole = bytes.len() as u64;
        let by_length = gguf::read_header(&mut &bytes[..len]).unwrap_err();
        let (by_supply, _) = drive(&bytes[..len], whole);
        assert!(
            matches!(by_length, Error::Truncated { .. }),
            "{len}: {by_length}"
        );
        assert!(
            matches!(by_supply, Err(Error::Truncated { .. })),
            "{len}: {by_supply:?}"
        );
    }
}

#[test]
fn the_first_of_two_equal_keys_counts() {
    let header = Builder::new().u32("k", 1).u32("k", 2).read().unwrap();
    assert_eq!(header.metadata.u64("k"), Some(1));
    assert_eq!(header.flaws, [Flaw::DuplicateKey("k".into())]);
}

#[test]
fn a_value_of_the_wrong_type_counts_as_absent() {
    let header = Builder::new()
        .text("general.architecture", "llama")
        .text("llama.block_count", "many")
        .f32("llama.context_length", 4096.0)
        .i32("llama.embedding_length", -1)
        .text("general.alignment", "wide")
        .strings("llama.attention.head_count", ["8"])
        .read()
        .unwrap();
    assert_eq!(header.block_count(), None);
    assert_eq!(header.context_length(), None);
    assert_eq!(header.embedding_length(), None);
    assert_eq!(header.head_count(), None);
    assert_eq!(header.alignment, 32);
    assert_eq!(header.flaws, [Flaw::BadAlignment]);
    assert_eq!(
        Builder::new()
            .u32("general.architecture", 3)
            .read()
            .unwrap()
            .architecture(),
        None
    );
}

#[test]
fn alignment_must_be_a_power_of_two() {
    for (alignment, expected, flaws) in [(64, 64, 0), (0, 32, 1), (48, 32, 1), (1, 1, 0)] {
        let header = Builder::new()
            .u32("general.alignment", alignment)
            .read()
            .unwrap();
        assert_eq!((header.alignment, header.flaws.len()), (expected, flaws));
        assert_eq!(header.data_offset % expected, 0);
    }
}

#[test]
fn an_unknown_value_type_is_an_error_with_its_place() {
    let error = Builder::new()
        .entry(b"key", 13, &[0; 8])
        .read()
        .unwrap_err();
    let expected = Error::UnknownValueType {
        key: "key".to_owned(),
        type_id: 13,
        offset: 24 + 8 + 3,
    };
    assert_eq!(error, expected);
    let error = Builder::new()
        .array("key", 99, 1, &[0; 8])
        .read()
        .unwrap_err();
    assert!(matches!(error, Error::UnknownValueType { type_id: 99, .. }));
}

#[test]
fn arrays_of_arrays_are_refused() {
    let error = Builder::new()
        .array("key", 9, 1, &[0; 32])
        .read()
        .unwrap_err();
    assert!(matches!(error, Error::NestedArray { .. }), "{error}");
}

#[test]
fn limits_are_kept() {
    let empty = Builder::new();
    let read = |bytes: Vec<u8>, len: u64| drive(&bytes, len).0.unwrap_err();
    let large = 1 << 40;
    for (tensors, metadata, what) in [
        (262_145, 0, "tensors"),
        (0, 65_537, "metadata entries"),
        (u64::MAX, 0, "tensors"),
        (0, 1 << 63, "metadata entries"),
    ] {
        let error = read(empty.build_with_counts(tensors, metadata), large);
        assert!(error.to_string().contains(what), "{error}");
        assert!(matches!(error, Error::TooMany { .. }), "{error}");
    }
    let error = read(
        Builder::new().entry(&vec![b'k'; 65_536], 7, &[1]).build(),
        large,
    );
    assert!(
        matches!(error, Error::NameTooLong { what: "key", .. }),
        "{error}"
    );
    let error = read(
        Builder::new().tensor(&"t".repeat(1025), &[1], 0, 0).build(),
        large,
    );
    assert!(
        matches!(
            error,
            Error::NameTooLong {
                what: "tensor name",
                ..
            }
        ),
        "{error}"
    );
    let error = read(Builder::new().tensor("t", &[1; 5], 0, 0).build(), large);
    assert!(matches!(error, Error::TooMany { limit: 4, .. }), "{error}");
    let mut bytes = Builder::new()
        .array("a", 10, 40 << 20, &[])
        .u32("k", 1)
        .build();
    bytes.resize(8192, 0);
    let error = read(bytes, large);
    assert!(matches!(error, Error::HeaderTooLarge { .. }), "{error}");
}

#[test]
fn many_small_string_arrays_do_not_keep_a_reader_busy() {
    let long = "x".repeat(5000);
    let mut builder = Builder::new();
    for number in 0..5000 {
        builder = builder.strings(&number.to_string(), [long.as_str(), ""]);
    }
    let bytes = builder.build();
    let (result, requests) = drive(&bytes, bytes.len() as u64);
    assert!(
        matches!(result, Err(Error::HeaderTooLarge { .. })),
        "{result:?}"
    );
    assert!(requests.reads.len() + requests.skips.len() <= MAX_STEPS as usize);
}

#[test]
fn a_reader_asks_for_no_more_than_its_limit() {
    let name = "x".repeat(1020);
    let mut builder = Builder::new();
    for _ in 0..42_000 {
        builder = builder.tensor(&name, &[1], 0, 0);
    }
    let bytes = builder.build();
    assert!(bytes.len() as u64 > MAX_REQUESTED_BYTES);
    let (result, requests) = drive(&bytes, bytes.len() as u64);
    assert!(matches!(result, Err(Error::HeaderTooLarge { .. })));
    assert!(requests.bytes() <= MAX_REQUESTED_BYTES);
}

#[test]
fn strings_that_cannot_fit_any_more_are_not_asked_for() {
    let long = "x".repeat(5000);
    let mut bytes = Builder::new().strings("k", [long.as_str(), "", ""]).build();
    bytes.truncate(bytes.len() - 1);
    let (result, requests) = drive(&bytes, bytes.len() as u64);
    assert!(
        matches!(result, Err(Error::Truncated { needed: 16, .. })),
        "{result:?}"
    );
    assert_eq!(requests.skips, []);
}

#[test]
fn declared_sizes_are_checked_against_the_file() {
    let string = |length: u64| Builder::new().entry(b"k", 8, &length.to_le_bytes()).build();
    let array = |element, count| Builder::new().array("k", element, count, &[]).build();
    for bytes in [
        string(u64::MAX),
        string(1 << 40),
        array(4, u64::MAX),
        array(8, u64::MAX),
        array(8, 1 << 61),
        array(12, 1 << 30),
        Builder::new().build_with_counts(1000, 1000),
    ] {
        let (result, requests) = drive(&bytes, bytes.len() as u64);
        assert!(matches!(result, Err(Error::Truncated { .. })), "{result:?}");
        assert!(requests.bytes() < 8192);
    }
}

#[test]
fn impossible_tensors_are_refused() {
    for (dimensions, type_id, offset) in [
        (&[1 << 32, 1 << 32][..], 0, 0),
        (&[u64::MAX, 0], 0, 0),
        (&[1 << 62], 0, 0),
        (&[64], 0, u64::MAX - 8),
        (&[64], 97, u64::MAX),
    ] {
        let error = Builder::new()
            .tensor("t", dimensions, type_id, offset)
            .read()
            .unwrap_err();
        assert!(matches!(error, Error::TensorTooLarge { .. }), "{error}");
    }
}

#[test]
fn unknown_tensor_types_take_their_size_from_the_next_tensor() {
    let builder = Builder::new()
        .tensor("b", &[256], 137, 1024)
        .tensor("a", &[256], 0, 0)
        .tensor("c", &[33], 2, 1280)
        .tensor("d", &[256], u32::MAX, 2048);
    let mut bytes = builder.build();
    bytes.resize(bytes.len().next_multiple_of(32) + 3000, 0);
    let header = gguf::read_header(&mut &*bytes).unwrap();
    let sizes: Vec<(u64, bool)> = header
        .tensors
        .iter()
        .map(|tensor| (tensor.bytes, tensor.size_known))
        .collect();
    assert_eq!(
        sizes,
        [(256, false), (1024, true), (768, false), (952, false)]
    );
    assert_eq!(header.flaws.len(), 3);
    assert!(header.flaws.contains(&Flaw::UnevenRows("c".into())));
}

#[test]
fn overlapping_and_duplicate_tensors_are_flaws() {
    let header = Builder::new()
        .tensor("a", &[64], 0, 0)
        .tensor("a", &[64], 0, 128)
        .read()
        .unwrap();
    assert!(header.flaws.contains(&Flaw::DuplicateTensor("a".into())));
    assert!(header.flaws.contains(&Flaw::OverlappingTensors));
    assert!(header.truncated_data());
    assert!(header.impossible_tensors().is_some());
}

#[test]
fn sizes_are_impossible_where_tensors_share_bytes_or_stand_twice_whatever_else_is_wrong() {
    let sound = Builder::new()
        .tensor("a", &[64], 0, 0)
        .tensor("b", &[64], 0, 256);
    assert_eq!(sound.read().unwrap().impossible_tensors(), None);
    // More flaws than are kept stand before it.
    let many = |mut builder: Builder| {
        for number in 0..MAX_FLAWS + 6 {
            let name = format!("x{number}");
            let offset = 4096 + u64::try_from(number).unwrap() * 1024;
            builder = builder.tensor(&name, &[256], u32::MAX, offset);
        }
        builder
    };
    for (builder, expected) in [
        (
            many(Builder::new())
                .tensor("a", &[64], 0, 0)
                .tensor("b", &[64], 0, 128),
            Flaw::OverlappingTensors,
        ),
        (
            many(Builder::new())
                .tensor("a", &[64], 0, 0)
                .tensor("a", &[64], 0, 256),
            Flaw::DuplicateTensor("a".into()),
        ),
    ] {
        let header = builder.read().unwrap();
        assert_eq!(header.flaws.len(), MAX_FLAWS);
        assert_eq!(header.impossible_tensors(), Some(&expected));
    }
}

#[test]
fn names_are_fit_for_a_terminal() {
    let header = Builder::new()
        .text("general.architecture", "llama")
        .text("general.name", "A\x1b[31m\u{202e}B\n")
        .entry(b"bad\xff", 7, &[1])
        .tensor("t\x07", &[1], 0, 0)
        .read()
        .unwrap();
    assert_eq!(header.name(), Some("A[31mB"));
    assert!(header.metadata.contains("bad\u{fffd}"));
    assert_eq!(&*header.tensors[0].name, "t");
}
