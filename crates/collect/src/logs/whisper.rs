//! whisper.cpp.

use std::collections::BTreeMap;

use model::{Bytes, ModelEventKind, Placement, SegmentKind, Text};
use raw::logs::{KeptLine, LineKind};

use super::parts::{Units, merged, part, placed, placement, size, text};
use super::{LoadedModel, Told, ToldEvent, ToldPart};

/// Its `MB` are a million bytes.
const UNITS: Units = Units::Decimal;

/// What whisper.cpp's lines tell: `loading model from` begins a load, and a second state replaces nothing of it but
/// what it names again.
pub(super) fn told(lines: &[KeptLine], _cut: bool) -> Option<Told> {
    let mut path = None;
    let mut used: Option<Text> = None;
    let mut weights: Vec<ToldPart> = Vec::new();
    let mut state: BTreeMap<(SegmentKind, Text), Bytes> = BTreeMap::new();
    let mut last = None;
    let mut has_any = false;
    for line in lines {
        match line.is {
            LineKind::WhisperLoading => {
                path = text(line, 0);
                used = None;
                weights.clear();
                state.clear();
            }
            LineKind::WhisperDevice => used = text(line, 0),
            LineKind::WhisperWeights => {
                if let (Some(device), Some(bytes)) = (text(line, 0), size(line, 1, UNITS)) {
                    weights.extend(part(SegmentKind::Weights, &device, bytes));
                }
            }
            LineKind::WhisperCache | LineKind::WhisperCompute => {
                let kind = match line.is {
                    LineKind::WhisperCache => SegmentKind::Kv,
                    _ => SegmentKind::Compute,
                };
                if let (Some(which), Some(bytes)) = (text(line, 0), size(line, 1, UNITS)) {
                    state.insert((kind, which), bytes);
                }
            }
            _ => continue,
        }
        has_any = true;
        last = line.at.or(last);
    }
    if !has_any {
        return None;
    }
    let complete =
        !weights.is_empty() && state.keys().any(|(kind, _)| *kind == SegmentKind::Compute);
    // The state is on the device that was said to be used, or in system memory where none was.
    let place = used.as_deref().map_or(Some(Placement::Cpu), placement);
    let parts = state.into_iter();
    let parts = parts.filter_map(|((kind, _), bytes)| Some(placed(kind, place?, bytes)));
    let mut all = weights;
    all.extend(parts);
    let event = ToldEvent {
        kind: ModelEventKind::Loaded,
        path: path.clone(),
        name: None,
        at: last,
        bytes: None,
    };
    Some(Told {
        family: "whisper.cpp",
        models: vec![LoadedModel {
            path,
            parts: merged(all),
            ..LoadedModel::default()
        }],
        complete,
        events: if complete { vec![event] } else { Vec::new() },
        devices: Vec::new(),
        ..Told::default()
    })
}
