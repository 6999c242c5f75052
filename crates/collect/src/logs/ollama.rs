//! Ollama's server log. Runners of before 0.11 and from 0.30 on are llama.cpp, whose lines stand between Ollama's;
//! those of its own engine report in Ollama's words. What it estimates before a load is no report.

use std::collections::BTreeMap;

use model::{Bytes, ModelEventKind, SegmentKind, Text};
use raw::logs::{KeptLine, LineKind};

use super::parts::{Units, number, part, size, text};
use super::{LoadedModel, Told, ToldEvent};

/// The lines since the runner on this port was started last, up to the start of another; nothing where it never was.
pub fn of_runner(lines: &[KeptLine], port: u64) -> &[KeptLine] {
    let is_start = |line: &KeptLine| line.is == LineKind::Runner;
    let is_it = |line: &KeptLine| is_start(line) && number(line, 1) == Some(port);
    let Some(start) = lines.iter().rposition(is_it) else {
        return &[];
    };
    let since = lines.get(start..).unwrap_or_default();
    let next = since.iter().skip(1).position(is_start);
    since
        .get(..next.map_or(since.len(), |at| at + 1))
        .unwrap_or_default()
}

/// What the lines of Ollama's own engine tell. It tries layouts before it allocates: the last line of a kind and
/// device counts.
pub(super) fn told(lines: &[KeptLine], _cut: bool) -> Option<Told> {
    let mut path = None;
    let mut sizes: BTreeMap<(SegmentKind, Text), Bytes> = BTreeMap::new();
    let (mut offloaded, mut last) = (None, None);
    let mut has_total = false;
    for line in lines {
        match line.is {
            LineKind::Runner => {
                path = text(line, 0);
                (has_total, offloaded, last) = (false, None, None);
                sizes.clear();
            }
            LineKind::Offloaded => offloaded = number(line, 0).zip(number(line, 1)),
            LineKind::EngineBuffer => {
                last = line.at.or(last);
                let kind = match line.text(0).map(|kind| &**kind) {
                    Some("weights") => SegmentKind::Weights,
                    Some("cache") => SegmentKind::Kv,
                    Some("graph") => SegmentKind::Compute,
                    // The sum of the others, printed behind them.
                    _ => {
                        has_total = true;
                        continue;
                    }
                };
                if let (Some(device), Some(bytes)) = (text(line, 1), size(line, 2, Units::Binary)) {
                    sizes.insert((kind, device), bytes);
                }
            }
            _ => {}
        }
    }
    if sizes.is_empty() {
        return None;
    }
    let parts = sizes.into_iter();
    let parts = parts.filter_map(|((kind, device), bytes)| part(kind, &device, bytes));
    let event = ToldEvent {
        kind: ModelEventKind::Loaded,
        path: path.clone(),
        name: None,
        at: last,
        bytes: None,
    };
    Some(Told {
        family: "ollama",
        models: vec![LoadedModel {
            parts: parts.collect(),
            path,
            offloaded,
            ..LoadedModel::default()
        }],
        complete: has_total,
        events: if has_total { vec![event] } else { Vec::new() },
        devices: Vec::new(),
        ..Told::default()
    })
}
