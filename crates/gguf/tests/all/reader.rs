//! How a header is asked for, piece by piece.

use std::io;

use gguf::limits::{METADATA_WINDOW, TENSOR_WINDOW};
use gguf::{Error, Flaw, HeaderReader, ReadAt, Step, Value, ValueType, skip_strings};

use crate::answers::drive;
use crate::builder::{Builder, Order};

pub(crate) fn sample(version: u32, order: Order) -> Builder {
    Builder::of(version, order)
        .text("general.architecture", "gpt-oss")
        .u32("gpt-oss.block_count", 24)
        .u64("gpt-oss.context_length", 131_072)
        .i32("negative", -7)
        .f32("rope", 0.5)
        .bool("flag", true)
        .u32s("layers", &[1, 0, 2])
        .bools("pattern", &[true, false])
        .strings("tokenizer.ggml.tokens", ["a", "", "ccc"])
        .tensor("blk.0.ffn_norm.weight", &[64, 2], 0, 0)
        .tensor("output.weight", &[32, 3], 2, 512)
}

#[test]
fn all_versions_and_byte_orders_read_alike() {
    let reference = sample(3, Order::Little).read().unwrap();
    assert_eq!(reference.u64("block_count"), Some(24));
    assert_eq!(reference.context_length(), Some(131_072));
    assert_eq!(reference.metadata.get("negative"), Some(&Value::Signed(-7)));
    assert_eq!(reference.metadata.u64("negative"), None);
    assert_eq!(reference.metadata.get("rope"), Some(&Value::Float(0.5)));
    assert_eq!(reference.metadata.bool("flag"), Some(true));
    assert_eq!(reference.vocabulary_size(), Some(3));
    assert_eq!(reference.tensors[0].bytes, 64 * 2 * 4);
    assert_eq!(reference.tensors[1].bytes, 3 * 18);
    for version in 1..=3 {
        for order in [Order::Little, Order::Big] {
            let header = sample(version, order).read().unwrap();
            assert_eq!(header.version, version);
            assert_eq!(header.big_endian, order == Order::Big);
            assert_eq!(header.metadata, reference.metadata);
            assert_eq!(header.tensors, reference.tensors);
        }
    }
}

#[test]
fn other_formats_are_named() {
    for (start, name) in [
        (&b"lmgg\x01\0\0\0\0\0\0\0"[..], "whisper.cpp"),
        (b"tjgg\x01\0\0\0\0\0\0\0", "ggjt"),
        (b"fmgg\x01\0\0\0\0\0\0\0", "ggmf"),
        (b"algg\x01\0\0\0\0\0\0\0", "adapter"),
        (b"PK\x03\x04\0\0\0\0\0\0\0\0", "zip"),
        (b"\x40\0\0\0\0\0\0\0{\"__metadata__\"", "safetensors"),
    ] {
        let error = gguf::read_header(&mut &*start).unwrap_err();
        assert!(matches!(error, Error::OtherFormat(_)), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
    }
    let error = gguf::read_header(&mut &b"\x7fELF\x02\x01\x01\0"[..]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a GGUF file: it starts with \"\\x7fELF\" instead of \"GGUF\""
    );
}

#[test]
fn unknown_versions_are_refused() {
    for version in [0_u32, 4, 0x1234, 0xffff_ffff] {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend([0; 64]);
        let error = gguf::read_header(&mut &*bytes).unwrap_err();
        assert_eq!(error, Error::UnsupportedVersion(version));
    }
}

#[test]
fn an_empty_file_is_truncated() {
    let error = gguf::read_header(&mut &b""[..]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the file ends at byte 0, but its header needs 4 bytes from byte 0: incomplete download or damaged file"
    );
}

#[test]
fn an_empty_supply_means_the_file_ended() {
    let mut reader = HeaderReader::new(100_000);
    let Step::Read { offset: 0, .. } = reader.step() else {
        panic!()
    };
    reader.supply(0, &[]);
    assert!(matches!(
        reader.step(),
        Step::Failed(Error::Truncated { end: 0, .. })
    ));
    assert!(matches!(reader.into_header(), Err(Error::Truncated { .. })));
}

#[test]
fn answers_to_other_questions_are_ignored() {
    let bytes = sample(3, Order::Little).build();
    let mut reader = HeaderReader::new(bytes.len() as u64);
    let first = reader.step();
    reader.skipped(5);
    reader.supply(77, &bytes);
    assert_eq!(reader.step(), first);
    reader.supply(0, &bytes);
    assert_eq!(reader.step(), Step::Done);
    reader.supply(0, b"late");
    assert_eq!(
        reader.into_header().unwrap(),
        sample(3, Order::Little).read().unwrap()
    );
}

#[test]
fn any_reader_will_do() {
    let bytes = sample(3, Order::Little).build();
    let mut slice: &[u8] = &bytes;
    let reader: &mut dyn ReadAt = &mut slice;
    assert!(!reader.is_empty());
    assert_eq!(
        gguf::read_header(reader).unwrap(),
        sample(3, Order::Little).read().unwrap()
    );
}

/// Gives one byte at a time, with interruptions, and fails at some offset.
struct Awkward<'a> {
    bytes: &'a [u8],
    fails_at: u64,
    interrupted: bool,
}

impl ReadAt for Awkward<'_> {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if offset >= self.fails_at {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        (&mut &*self.bytes).read_at(offset, &mut buffer[..1])
    }
}

#[test]
fn short_reads_are_continued_and_failures_told() {
    let bytes = sample(3, Order::Little).build();
    let read = |fails_at| {
        gguf::read_header(&mut Awkward {
            bytes: &bytes,
            fails_at,
            interrupted: false,
        })
    };
    assert_eq!(
        read(u64::MAX).unwrap(),
        sample(3, Order::Little).read().unwrap()
    );
    let error = read(100).unwrap_err();
    assert_eq!(
        error.to_string(),
        "reading at byte 100 failed: permission denied"
    );
}

#[test]
fn an_unfinished_header_is_not_given() {
    let reader = HeaderReader::new(1000);
    assert_eq!(reader.into_header(), Err(Error::Unfinished { offset: 0 }));
}

#[test]
fn a_large_vocabulary_is_hardly_read() {
    let tokens: Vec<String> = (0..262_144)
        .map(|number| format!("token{number}"))
        .collect();
    let scores = vec![0_u8; 4 * 262_144];
    let template = "x".repeat(1_000_000);
    let bytes = Builder::model("llama", &[("block_count", 2)])
        .strings("tokenizer.ggml.tokens", tokens.iter().map(String::as_str))
        .array("tokenizer.ggml.scores", 6, 262_144, &scores)
        .strings("tokenizer.ggml.merges", tokens.iter().map(String::as_str))
        .text("tokenizer.chat_template", &template)
        .u32("llama.context_length", 4096)
        .tensor("output.weight", &[32], 0, 0)
        .build();
    let (header, requests) = drive(&bytes, bytes.len() as u64);
    let header = header.unwrap();
    assert_eq!(header.vocabulary_size(), Some(262_144));
    assert_eq!(header.context_length(), Some(4096));
    assert!(header.has_chat_template());
    // What is asked for is all there is to keep: far below 4 MiB. Steps: each jump leads to one more window.
    assert!(
        requests.bytes() <= 5 * u64::from(METADATA_WINDOW),
        "{requests:?}"
    );
    assert_eq!(requests.skips.len(), 2);
}

#[test]
fn short_string_arrays_within_a_window_need_no_skip() {
    let bytes = sample(3, Order::Little).build();
    let (header, requests) = drive(&bytes, bytes.len() as u64);
    header.unwrap();
    assert_eq!(requests.skips, []);
    assert_eq!(requests.reads.len(), 1);
}

#[test]
fn tensor_data_is_not_read_along() {
    let builder = sample(3, Order::Little).text("general.description", &"long ".repeat(2000));
    let mut bytes = builder.build();
    let header_len = bytes.len() as u64;
    bytes.resize(bytes.len() + 1_000_000, 0);
    let (header, requests) = drive(&bytes, bytes.len() as u64);
    header.unwrap();
    let end = requests
        .reads
        .iter()
        .map(|(offset, len)| offset + u64::from(*len))
        .max();
    assert!(end.unwrap() < header_len + u64::from(METADATA_WINDOW));
}

#[test]
fn a_tensor_table_is_read_in_large_pieces() {
    let mut builder = Builder::new();
    for number in 0..10_000 {
        builder = builder.tensor(
            &format!("blk.{number}.ffn_norm.weight"),
            &[8],
            0,
            number * 32,
        );
    }
    let mut bytes = builder.build();
    bytes.resize(bytes.len() + 10_000 * 32 + 32, 0);
    let (header, requests) = drive(&bytes, bytes.len() as u64);
    let header = header.unwrap();
    assert_eq!(header.tensors.len(), 10_000);
    assert_eq!(header.flaws, []);
    assert!(
        requests
            .reads
            .iter()
            .skip(1)
            .all(|(_, len)| *len <= TENSOR_WINDOW)
    );
    assert!(requests.reads.len() < 12, "{requests:?}");
}

#[test]
fn long_texts_and_arrays_are_skipped() {
    let header = Builder::new()
        .text("general.license", &"x".repeat(65_537))
        .text("general.description", &"y".repeat(65_536))
        .text("tokenizer.huggingface.json", &"z".repeat(257))
        .u32s("numbers", &vec![7; 4097])
        .u32s("few", &vec![7; 4096])
        .u32("last", 1)
        .read()
        .unwrap();
    assert_eq!(
        header.metadata.get("general.license"),
        Some(&Value::SkippedText { bytes: 65_537 })
    );
    assert_eq!(
        header.metadata.text("general.description").map(str::len),
        Some(65_536)
    );
    assert_eq!(
        header.metadata.get("tokenizer.huggingface.json"),
        Some(&Value::SkippedText { bytes: 257 })
    );
    assert_eq!(
        header.metadata.get("numbers"),
        Some(&Value::SkippedArray {
            element: ValueType::U32,
            count: 4097
        })
    );
    assert_eq!(header.metadata.array_len("few"), Some(4096));
    assert_eq!(header.metadata.u64("last"), Some(1));
}

#[test]
fn kept_values_have_a_common_limit() {
    let mut builder = Builder::new();
    for number in 0..40 {
        builder = builder.text(&format!("text{number}"), &"x".repeat(60_000));
    }
    let header = builder.u32("last", 1).read().unwrap();
    let kept: usize = header
        .metadata
        .iter()
        .filter_map(|(_, value)| value.as_text())
        .map(str::len)
        .sum();
    assert!(kept <= 1024 * 1024);
    assert_eq!(header.metadata.u64("last"), Some(1));
    assert_eq!(header.flaws, [Flaw::ValuesDropped]);
}

#[test]
fn skipping_strings_finds_their_end() {
    let long = "x".repeat(200_000);
    let strings = ["a", "", &long, "b"];
    for (length_bytes, big_endian) in [(4, false), (4, true), (8, false), (8, true)] {
        let mut bytes = vec![9; 3];
        for text in strings {
            let length = text.len() as u64;
            let mut prefix = if length_bytes == 4 {
                u32::try_from(length).unwrap().to_le_bytes().to_vec()
            } else {
                length.to_le_bytes().to_vec()
            };
            if big_endian {
                prefix.reverse();
            }
            bytes.extend(prefix);
            bytes.extend(text.as_bytes());
        }
        let end = bytes.len() as u64;
        let skip =
            |bytes: &[u8], count| skip_strings(&mut &*bytes, 3, count, length_bytes, big_endian);
        assert_eq!(skip(&bytes, 4), Ok(end));
        assert_eq!(skip(&bytes, 0), Ok(3));
        assert!(matches!(skip(&bytes, 5), Err(Error::Truncated { .. })));
        assert!(matches!(
            skip(&bytes[..bytes.len() - 1], 4),
            Err(Error::Truncated { .. })
        ));
    }
}

#[test]
fn a_wrong_end_of_strings_is_refused() {
    let tokens: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
    let bytes = Builder::new()
        .strings("tokenizer.ggml.tokens", tokens.iter().map(String::as_str))
        .build();
    let start = || {
        let mut reader = HeaderReader::new(bytes.len() as u64);
        reader.supply(0, &bytes[..4096]);
        assert!(matches!(reader.step(), Step::SkipStrings { .. }));
        reader
    };
    for end in [0, 4096, bytes.len() as u64 + 1, u64::MAX] {
        let mut reader = start();
        reader.skipped(end);
        assert!(
            matches!(reader.step(), Step::Failed(Error::Truncated { .. })),
            "{end}"
        );
    }
    let mut reader = start();
    reader.skipped(bytes.len() as u64);
    assert_eq!(reader.step(), Step::Done);
}
