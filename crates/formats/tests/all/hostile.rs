//! Files that are damaged or made to exhaust their reader.

use formats::{FileReader, Step};
use proptest::prelude::*;

use crate::build::{onnx, onnx_external, onnx_tensor, small_safetensors, torch_archive, whisper};
use crate::drive::drive;

const NAMES: &[&str] = &[
    "x.safetensors",
    "x.bin",
    "config.json",
    "m.index.json",
    "model_index.json",
];

fn seeds() -> Vec<Vec<u8>> {
    vec![
        small_safetensors(),
        torch_archive(),
        onnx(&[
            onnx_tensor(1, &[2, 3], 24),
            onnx_external(10, &[4], "x.data"),
        ]),
        whisper(1),
        br#"{"model_type": "llama", "architectures": ["A"], "quantization_config": {"bits": 4}}"#
            .to_vec(),
        br#"{"metadata": {"total_size": 3}, "weight_map": {"a": "b-00001-of-00001.safetensors"}}"#
            .to_vec(),
        br#"{"_class_name": "X", "unet": ["a", "b"]}"#.to_vec(),
    ]
}

proptest! {
    #[test]
    fn no_damage_panics_or_asks_for_more_than_allowed(
        seed in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        longer in 0_u64..1 << 50,
        name in prop::sample::select(NAMES),
    ) {
        let seeds = seeds();
        let mut file = seed.get(&seeds).clone();
        for (at, byte) in edits {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let cut = cut.index(file.len() + 1);
        let _ = drive(name, &file[..cut], cut as u64);
        // A file that says to be longer than what can be read of it.
        let _ = drive(name, &file, file.len() as u64 + longer);
    }

    #[test]
    fn any_bytes_are_described_or_refused(file in prop::collection::vec(any::<u8>(), 0..300), name in prop::sample::select(NAMES)) {
        let _ = drive(name, &file, file.len() as u64);
    }
}

#[test]
fn bytes_from_elsewhere_are_ignored() {
    let file = small_safetensors();
    let mut reader = FileReader::new("x", file.len() as u64);
    let wanted = reader.step();
    reader.supply(1, &file[1..]);
    assert_eq!(reader.step(), wanted);
    assert!(matches!(wanted, Step::Read { offset: 0, .. }));
    assert_eq!(
        reader.into_description().unwrap_err(),
        formats::Error::Unfinished
    );
}
