//! ggml's formats before GGUF, known by their first four bytes (a number in the order of the machine that wrote it).

use crate::bytes::u32_at;
use crate::description::{Description, Format, Kind};

/// Numbers at the start of a whisper.cpp file, behind the magic.
const WHISPER_NUMBERS: usize = 11;

/// Label of `ftype`, as whisper.cpp and llama.cpp write it. Above 1000 it counts versions of the quantization.
const FILE_TYPES: &[(u32, &str)] = &[
    (0, "F32"),
    (1, "F16"),
    (2, "Q4_0"),
    (3, "Q4_1"),
    (7, "Q8_0"),
    (8, "Q5_0"),
    (9, "Q5_1"),
    (10, "Q2_K"),
    (11, "Q3_K"),
    (12, "Q4_K"),
    (13, "Q5_K"),
    (14, "Q6_K"),
];

/// What the file is, if it is one of ggml's.
pub(crate) fn describe(start: &[u8]) -> Option<Description> {
    Some(match start.get(..4)? {
        b"lmgg" => whisper(start).unwrap_or_else(|| Description::new(Format::Ggml)),
        b"fmgg" => versioned(Format::Ggmf, start),
        b"tjgg" => versioned(Format::Ggjt, start),
        b"algg" => {
            let mut found = versioned(Format::Ggla, start);
            found.kind = Kind::Adapter;
            found
        }
        _ => return None,
    })
}

fn versioned(format: Format, start: &[u8]) -> Description {
    let mut found = Description::new(format);
    found.version = u32_at(start, 4).map(u64::from);
    found
}

/// whisper.cpp's numbers: vocabulary, four of the encoder, four of the decoder, mel bands, file type; then the mel filter
/// bank, whose shape repeats the bands. Other programs wrote other numbers behind the same magic.
fn whisper(start: &[u8]) -> Option<Description> {
    let number = |index: usize| u32_at(start, index.checked_mul(4)?.checked_add(4)?);
    let (vocabulary, context) = (number(0)?, number(1)?);
    let (encoder, text_context, decoder) = (number(4)?, number(5)?, number(8)?);
    let (bands, file_type) = (number(9)?, number(10)?);
    let (filter_bands, filter_bins) = (number(WHISPER_NUMBERS)?, number(12)?);
    let plausible = (51_000..53_000).contains(&vocabulary)
        && context == 1500
        && text_context == 448
        && (1..=128).contains(&encoder)
        && (1..=128).contains(&decoder)
        && (bands == 80 || bands == 128)
        && filter_bands == bands
        && filter_bins == 201;
    if !plausible {
        return None;
    }
    let mut found = Description::new(Format::Ggml);
    found.kind = Kind::Speech;
    found.architecture = Some("whisper".to_owned());
    found.vocabulary = Some(u64::from(vocabulary));
    found.layers = Some(u64::from(encoder).saturating_add(u64::from(decoder)));
    let label = FILE_TYPES.iter().find(|(id, _)| *id == file_type % 1000);
    found.quantization = label.map(|(_, label)| (*label).to_owned());
    Some(found)
}
