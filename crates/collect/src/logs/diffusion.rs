//! stable-diffusion.cpp. Its compute buffers are freed after their stage, so they are no part of what it holds.

use model::{Placement, SegmentKind};
use raw::logs::{KeptLine, LineKind};

use super::parts::{Units, placed, size};
use super::{LoadedModel, Told};

/// What its lines tell: the last weights count.
pub(super) fn told(lines: &[KeptLine], _cut: bool) -> Option<Told> {
    let line = lines
        .iter()
        .rfind(|line| line.is == LineKind::DiffusionWeights)?;
    let places = [(1, Placement::Gpu), (4, Placement::Cpu)];
    let parts = places.into_iter().filter_map(|(at, placement)| {
        let bytes = size(line, at, Units::Binary).filter(|bytes| bytes.0 > 0)?;
        Some(placed(SegmentKind::Weights, placement, bytes))
    });
    Some(Told {
        family: "stable-diffusion.cpp",
        models: vec![LoadedModel {
            parts: parts.collect(),
            ..LoadedModel::default()
        }],
        complete: true,
        ..Told::default()
    })
}
