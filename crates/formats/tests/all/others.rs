//! Formats that are known by their first bytes.

use formats::{Error, Format, Kind};

use crate::build::whisper;
use crate::drive::read;

#[test]
fn first_bytes_tell_the_format() {
    for (start, format) in [
        (&b"GGUF\x03\0\0\0"[..], Format::Gguf),
        (b"ftrt\x18\0\0\0", Format::TensorRt),
        (b"ptrt\x18\0\0\0", Format::TensorRt),
        (b"lmgg\0\0\0\0", Format::Ggml),
        (b"fmgg\x01\0\0\0", Format::Ggmf),
        (b"tjgg\x03\0\0\0", Format::Ggjt),
        (b"algg\x01\0\0\0", Format::Ggla),
        (b"\x1c\0\0\0TFL3\0\0\0\0", Format::TfLite),
        (
            b"<?xml version=\"1.0\"?>\n<net name=\"Model0\" version=\"11\">\n",
            Format::OpenVino,
        ),
        (b"<net version=\"10\">", Format::OpenVino),
    ] {
        assert_eq!(read("x", start).unwrap().format, format);
    }
    assert_eq!(read("x", b"tjgg\x03\0\0\0").unwrap().version, Some(3));
    assert_eq!(read("x", b"algg\x01\0\0\0").unwrap().kind, Kind::Adapter);
}

#[test]
fn anything_else_is_nothing() {
    for start in [
        &b""[..],
        b"\x7fELF\x02\x01\x01\0",
        b"#!/bin/sh\n",
        b"ftr",
        b"<?xml version=\"1.0\"?><nets version=\"1\">",
        b"<?xml",
        b"<net name=\"x\">",
        b"{\"model_type\": \"llama\"}",
        &[0; 4096],
    ] {
        for name in ["x.bin", "x.safetensors", "x.pt"] {
            assert_eq!(read(name, start).unwrap_err(), Error::NotModel, "{start:?}");
        }
    }
}

#[test]
fn whisper_is_told_by_its_numbers() {
    let found = read("ggml-base.bin", &whisper(1)).unwrap();
    assert_eq!((found.kind, found.format), (Kind::Speech, Format::Ggml));
    assert_eq!(found.architecture.as_deref(), Some("whisper"));
    assert_eq!((found.layers, found.vocabulary), (Some(12), Some(51_865)));
    assert_eq!(found.quantization.as_deref(), Some("F16"));
    // Files quantized later count versions in thousands.
    let quantized = read("x.bin", &whisper(2008)).unwrap();
    assert_eq!(quantized.quantization.as_deref(), Some("Q5_0"));
    let mut other = whisper(1);
    other[8] = 0;
    assert_eq!(read("ggml-base.bin", &other).unwrap().kind, Kind::Unknown);
}
