//! ONNX.

use formats::{Dtype, Error, Flaw, Format};

use crate::build::{field, number, onnx, onnx_external, onnx_tensor};
use crate::drive::{drive, read};

#[test]
fn weights_are_summed_and_stepped_over() {
    let file = onnx(&[
        onnx_tensor(1, &[100, 50], 20_000),
        onnx_tensor(10, &[7], 14),
        onnx_tensor(7, &[], 8),
    ]);
    let found = read("x.onnx", &file).unwrap();
    assert_eq!((found.format, found.version), (Format::Onnx, Some(10)));
    assert_eq!(found.producer.as_deref(), Some("pytorch"));
    assert_eq!((found.tensors, found.tensor_bytes), (Some(3), Some(20_022)));
    assert_eq!(
        (found.parameters(), found.main_dtype()),
        (Some(5008), Some(Dtype::F32))
    );
}

#[test]
fn external_data_is_named_and_not_followed() {
    let file = onnx(&[
        onnx_external(16, &[1 << 20], "model.onnx.data"),
        onnx_external(16, &[4], "model.onnx.data"),
        onnx_external(16, &[4], "../../etc/passwd"),
    ]);
    let found = read("x.onnx", &file).unwrap();
    assert_eq!(found.parts, ["model.onnx.data"]);
    assert_eq!(found.flaws, [Flaw::PartsDropped]);
    assert_eq!(found.tensor_bytes, Some(2 * ((1 << 20) + 8)));
}

#[test]
fn dimensions_may_be_packed() {
    let tensor = [field(1, &[3, 0x80, 1]), number(2, 1)].concat();
    assert_eq!(read("x", &onnx(&[tensor])).unwrap().parameters(), Some(384));
}

#[test]
fn a_size_of_an_unknown_type_is_not_told() {
    let found = read("x", &onnx(&[onnx_tensor(99, &[5], 5)])).unwrap();
    assert_eq!((found.tensor_bytes, found.storage()), (None, None));
}

#[test]
fn what_only_starts_alike_is_none() {
    for file in [
        &b"\x08"[..],
        b"\x08\x0a",
        b"\x08\x0a\x12",
        b"\x08\x7f\x12\x01a",
        b"\x08\x0a\x12\x03abc",
        b"\x08\x0a\x13\x03abc",
        b"\x08\x0a\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x08\x00\x12\x03abc",
    ] {
        assert!(read("x.onnx", file).is_err(), "{file:?}");
    }
    let impossible = onnx_tensor(1, &[u64::MAX, 2], 0);
    assert!(matches!(
        read("x", &onnx(&[impossible])),
        Err(Error::Malformed { .. })
    ));
}

#[test]
fn a_cut_file_is_truncated() {
    let file = onnx(&[onnx_tensor(1, &[10], 40)]);
    // Behind the producer, whose length tells the format.
    for len in 40..file.len() - 5 {
        let error = read("x", &file[..len]).unwrap_err();
        assert!(matches!(error, Error::Truncated { .. }), "{len} {error}");
    }
}

#[test]
fn a_table_too_long_to_walk_leaves_sums_untold() {
    // Each tensor's data is stepped over, so that each costs a request.
    let tensors = vec![onnx_tensor(1, &[1050], 4200); 8_300];
    let file = onnx(&tensors);
    let found = drive("x.onnx", &file, file.len() as u64).unwrap();
    assert_eq!((found.parameters(), found.tensor_bytes), (None, None));
    assert_eq!(found.flaws, [Flaw::TableTooLong]);
}
