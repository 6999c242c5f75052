//! stable-diffusion.cpp. Its `MB` are `MiB`.

use super::LineKind;
use super::scan::{Fields, after, size, word};

pub(super) fn keep(text: &str) -> Option<(LineKind, Fields)> {
    if let Some(rest) = after(text, "total params memory size = ") {
        let (_, rest) = size(rest)?;
        let mut fields = Vec::new();
        for (place, needle) in [("VRAM", "(VRAM "), ("RAM", ", RAM ")] {
            fields.push(word(place));
            fields.extend(size(after(rest, needle)?)?.0);
        }
        return Some((LineKind::DiffusionWeights, fields));
    }
    let (size, rest) = size(after(text, "compute buffer size: ")?)?;
    let place = ["(VRAM)", "(RAM)"]
        .iter()
        .find(|place| rest.starts_with(**place))?;
    let mut fields = vec![word(place.trim_matches(['(', ')']))];
    fields.extend(size);
    Some((LineKind::DiffusionCompute, fields))
}
