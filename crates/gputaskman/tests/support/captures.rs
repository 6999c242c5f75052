//! Capture files: their text, and damaged ones.

use std::io::{Read as _, Write as _};
use std::path::Path;

use raw::capture::Capture;

/// Loads a capture as a replay would.
pub(crate) fn load(path: &Path) -> Capture {
    Capture::load(std::fs::File::open(path).unwrap()).unwrap()
}

/// The text of a capture, decompressed where it is compressed.
pub(crate) fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return String::from_utf8(bytes).unwrap();
    }
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&*bytes)
        .read_to_string(&mut text)
        .unwrap();
    text
}

pub(crate) fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
