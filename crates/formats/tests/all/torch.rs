//! `PyTorch`.

use formats::{Error, Flaw, Format, What};

use crate::build::{torch_archive, zip};
use crate::drive::read;

#[test]
fn an_archive_is_told_by_its_names_alone() {
    let found = read("x.pt", &torch_archive()).unwrap();
    assert_eq!(found.format, Format::Pytorch);
    assert_eq!((found.tensors, found.tensor_bytes), (Some(2), Some(48)));
    let script = zip(&[
        ("m/data.pkl", b"."),
        ("m/code/__torch__.py", b""),
        ("m/data/0", b"12"),
    ]);
    assert_eq!(read("x.bin", &script).unwrap().format, Format::TorchScript);
}

#[test]
fn another_archive_is_no_model() {
    for entries in [
        &[("data.pkl", &b"."[..])][..],
        &[("word/document.xml", b"<x/>")],
        &[("a/b/data.pkl", b".")],
        &[],
    ] {
        let mut file = zip(entries);
        if entries.is_empty() {
            file.splice(0..0, *b"PK\x03\x04");
        }
        let error = read("x.pt", &file).unwrap_err();
        assert!(error == Error::NotModel || entries.is_empty(), "{error}");
    }
}

#[test]
fn a_size_that_the_archive_cannot_have_is_a_flaw() {
    let mut file = torch_archive();
    let entry = file
        .windows(4)
        .rposition(|four| four == b"PK\x01\x02")
        .unwrap();
    // The last entry is no storage: take one before.
    let storage = file[..entry]
        .windows(14)
        .rposition(|name| name == b"archive/data/1")
        .unwrap();
    file[storage - 46 + 24..storage - 46 + 28].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    let found = read("x.pt", &file).unwrap();
    assert_eq!(
        (found.tensor_bytes, found.flaws),
        (None, vec![Flaw::SizeMismatch])
    );
}

#[test]
fn an_archive_above_4_gib_has_its_directory_by_the_larger_records() {
    let mut file = torch_archive();
    let end = file.len() - 22;
    let size = u32::from_le_bytes(file[end + 12..end + 16].try_into().unwrap());
    let at = u32::from_le_bytes(file[end + 16..end + 20].try_into().unwrap());
    let mut record = b"PK\x06\x06".to_vec();
    record.resize(40, 0);
    record.extend(u64::from(size).to_le_bytes());
    record.extend(u64::from(at).to_le_bytes());
    let mut locator = b"PK\x06\x07\0\0\0\0".to_vec();
    locator.extend((end as u64).to_le_bytes());
    locator.extend([1, 0, 0, 0]);
    file[end + 12..end + 20].fill(0xff);
    file.splice(end..end, [record, locator].concat());
    assert_eq!(read("x.pt", &file).unwrap().tensor_bytes, Some(48));
}

#[test]
fn a_cut_archive_is_an_error_with_its_place() {
    let file = torch_archive();
    for len in 5..file.len() {
        let error = read("x.pt", &file[..len]).unwrap_err();
        let is = matches!(
            error,
            Error::Malformed {
                what: What::Directory,
                ..
            } | Error::Truncated { .. }
        );
        assert!(is, "{len} {error}");
    }
}

#[test]
fn pickles_are_recognised_and_not_read() {
    let legacy = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.";
    assert_eq!(read("x.pth", legacy).unwrap().format, Format::PytorchLegacy);
    assert_eq!(
        read("x.ckpt", b"\x80\x04\x95\x10\0\0").unwrap().format,
        Format::Pickle
    );
    assert_eq!(
        read("x.ckpt", b"\x80\x09\x95").unwrap_err(),
        Error::NotModel
    );
}
