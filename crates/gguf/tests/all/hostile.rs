//! Whatever a file says: no panic, an end, and a bounded appetite.

use gguf::compute::{self, LogitRows};
use gguf::kv::{Era, KvSettings, estimate, estimate_prediction};
use gguf::limits::{MAX_LAYERS, MAX_REQUESTED_BYTES};
use gguf::placement::{Offload, Repack, Split, cache, place, read_mapping};
use gguf::weights::{Weights, bytes_outside};
use gguf::{Header, ShardName, skip_strings};
use proptest::prelude::*;

use crate::answers::drive;
use crate::fixtures::FIXTURES;

/// Asks everything that can be asked of a header.
fn ask(header: &Header) {
    let _ = (
        header.kind(),
        header.split(),
        header.vocabulary_size(),
        header.truncated_data(),
    );
    let quantization = header.quantization();
    let _ = (
        quantization.label(),
        header.parameters(),
        header.tensor_bytes(),
    );
    let weights = Weights::of(header);
    let estimates = [KvSettings::default(), KvSettings::llama_server_defaults()]
        .map(|settings| estimate(header, &settings));
    assert!(weights.layers.len() <= usize::try_from(MAX_LAYERS).unwrap());
    for (gpus, gpu_layers, repack) in [
        (0, None, Repack::Unknown),
        (1, None, Repack::Unknown),
        (1, Some(0), Repack::Unknown),
        (1, Some(3), Repack::Avx2),
        (3, Some(u64::MAX), Repack::Neon),
    ] {
        let offload = Offload {
            gpus,
            gpu_layers,
            repack,
            split: Split::Shares(vec![1.0, 3.0]),
            ..Offload::default()
        };
        let plan = place([header], &offload);
        assert!(plan.devices.gpu.low <= plan.devices.gpu.high);
        for estimate in estimates.iter().flatten() {
            assert!(estimate.low <= estimate.high);
            let devices = cache(estimate, &offload).devices;
            for range in devices.gpus.iter().chain([&devices.gpu, &devices.cpu]) {
                assert!(range.low <= range.high && range.high <= estimate.high);
            }
        }
    }
    let settings = KvSettings {
        era: Era::Unknown,
        rollback: Some(u32::MAX),
        ..KvSettings::llama_server_defaults()
    };
    let _ = (
        estimate(header, &settings),
        estimate_prediction(header, &settings),
        read_mapping(header, &[(0, 1 << 20), (u64::MAX, 1)]),
    );
    let _ = compute::estimate(
        header,
        &KvSettings::llama_server_defaults(),
        LogitRows::Unknown,
    );
    let _ = bytes_outside(header, &[(5, 70), (u64::MAX, u64::MAX), (3, 8)]);
    for flaw in &header.flaws {
        assert!(!flaw.to_string().is_empty());
    }
}

/// Reads it in every way, and asks if it could be read.
fn attack(bytes: &[u8], file_len: u64) {
    let (header, requests) = drive(bytes, file_len);
    assert!(requests.bytes() <= MAX_REQUESTED_BYTES);
    match header {
        Ok(header) => ask(&header),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn start() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(b"GGUF".to_vec()),
        Just(b"GGUF\x01\0\0\0".to_vec()),
        Just(b"GGUF\x03\0\0\0\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0".to_vec()),
        Just(b"GGUF\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01".to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_do_not_panic(
        start in start(),
        rest in proptest::collection::vec(prop_oneof![3 => Just(0), 2 => 0_u8..16, 2 => any::<u8>()], 0..512),
        extra in prop_oneof![Just(0_u64), any::<u64>()],
    ) {
        let mut bytes = start;
        bytes.extend(rest);
        let file_len = (bytes.len() as u64).saturating_add(extra % (1 << 48));
        attack(&bytes, file_len);
    }

    #[test]
    fn damaged_headers_do_not_panic(
        which in 0..FIXTURES.len(),
        changes in proptest::collection::vec(
            (any::<prop::sample::Index>(), prop_oneof![Just(0_u8), Just(255), Just(9), any::<u8>()]),
            1..12,
        ),
        near_start in any::<bool>(),
    ) {
        let fixture = &FIXTURES[which];
        let mut bytes = fixture.bytes.to_vec();
        let range = if near_start { 1200 } else { bytes.len() };
        for (index, value) in changes {
            let place = index.index(range.min(bytes.len()));
            bytes[place] = value;
        }
        attack(&bytes, fixture.file_len);
    }

    #[test]
    fn cut_headers_do_not_panic(which in 0..FIXTURES.len(), cut in any::<prop::sample::Index>()) {
        let fixture = &FIXTURES[which];
        let len = cut.index(fixture.bytes.len());
        attack(&fixture.bytes[..len], fixture.file_len);
        attack(&fixture.bytes[..len], len as u64);
    }

    #[test]
    fn skipping_strings_does_not_panic(
        bytes in proptest::collection::vec(prop_oneof![4 => Just(0_u8), 1 => any::<u8>()], 0..256),
        offset in prop_oneof![0_u64..300, any::<u64>()],
        count in prop_oneof![0_u64..40, any::<u64>()],
        length_bytes in any::<u8>(),
        big_endian in any::<bool>(),
    ) {
        if let Ok(end) = skip_strings(&mut &*bytes, offset, count, length_bytes, big_endian) {
            prop_assert!(end >= offset);
        }
    }

    #[test]
    fn file_names_do_not_panic(name in "\\PC{0,40}", tail in prop_oneof![Just(""), Just("-00001-of-00002.gguf"), Just("1-of-00002.gguf")]) {
        let name = format!("{name}{tail}");
        if let Some(shard) = ShardName::parse(&name) {
            prop_assert!(shard.sibling(shard.number).is_some());
        }
    }
}

#[test]
fn a_header_cut_at_every_length_does_not_panic() {
    let fixture = FIXTURES
        .iter()
        .find(|fixture| fixture.name == "lora-f32")
        .unwrap();
    for len in 0..=fixture.bytes.len() {
        attack(&fixture.bytes[..len], fixture.file_len);
        attack(&fixture.bytes[..len], len as u64);
    }
}

/// The same walk over many files each time: xorshift instead of a fuzzer's corpus.
#[test]
fn ten_thousand_damaged_headers_do_not_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    };
    for _ in 0..10_000 {
        let fixture = &FIXTURES[next() % FIXTURES.len()];
        let mut bytes = fixture.bytes.to_vec();
        for _ in 0..=next() % 6 {
            let place = next() % bytes.len().min(1500);
            match next() % 4 {
                0 => bytes[place] ^= 1 << (next() % 8),
                1 => bytes[place] = 255,
                2 => {
                    let from = next() % bytes.len();
                    let len = (next() % 40).min(bytes.len() - from.max(place));
                    bytes.copy_within(from..from + len, place);
                }
                _ => {
                    bytes.remove(place);
                }
            }
        }
        attack(&bytes, fixture.file_len);
    }
}
