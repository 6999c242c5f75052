//! vLLM and `SGLang`. Both reserve most of a device in advance: their caches are pools that are reserved, not used.

use model::{Bytes, ModelEventKind, Placement, SegmentKind, Text};
use raw::logs::{KeptLine, LineKind, Writer};

use super::parts::{Units, number, placed, size, text};
use super::{LoadedModel, Told, ToldEvent, ToldPart};

/// Their `GB` are binary.
const UNITS: Units = Units::Binary;

/// What a server's lines add up to.
#[derive(Default)]
struct Server {
    name: Option<Text>,
    weights: Option<Bytes>,
    /// Pools, each with its tokens. A second load begins anew.
    pools: Vec<(Option<u64>, Bytes)>,
    graphs: Option<Bytes>,
    tokens: Option<u64>,
    last: Option<raw::logs::LineTime>,
    has_any: bool,
}

impl Server {
    fn told(self, family: &'static str) -> Option<Told> {
        if !self.has_any {
            return None;
        }
        let sized = |kind, bytes: Option<Bytes>| bytes.map(|it| placed(kind, Placement::Gpu, it));
        let pools = self.pools.iter().map(|(_, bytes)| bytes.0);
        let pool = (!self.pools.is_empty()).then(|| Bytes(pools.fold(0, u64::saturating_add)));
        let parts: Vec<ToldPart> = [
            sized(SegmentKind::Weights, self.weights),
            sized(SegmentKind::Pool, pool),
            sized(SegmentKind::Graphs, self.graphs),
        ]
        .into_iter()
        .flatten()
        .collect();
        let complete = self.weights.is_some() && pool.is_some();
        let event = ToldEvent {
            kind: ModelEventKind::Loaded,
            path: None,
            name: self.name.clone(),
            at: self.last,
            bytes: None,
        };
        Some(Told {
            family,
            models: vec![LoadedModel {
                name: self.name,
                parts,
                cache_tokens: self.tokens,
                ..LoadedModel::default()
            }],
            complete,
            events: if complete { vec![event] } else { Vec::new() },
            devices: Vec::new(),
            ..Told::default()
        })
    }
}

/// What each writer's lines tell, where all tell the same: ranks are processes of their own, and which of them this
/// one is the log does not say. Where they differ, no size is told.
fn of_one(lines: &[KeptLine], told: fn(&[KeptLine]) -> Option<Told>) -> Option<Told> {
    let is_size = |line: &&KeptLine| {
        (LineKind::VllmWeights..=LineKind::SglangGraphs).contains(&line.is)
            && line.is != LineKind::ServingModel
    };
    let mut writers: Vec<Option<Writer>> = Vec::new();
    for line in lines.iter().filter(is_size) {
        if !writers.contains(&line.by) && writers.len() < MAX_WRITERS {
            writers.push(line.by);
        }
    }
    let mut all = writers.iter().map(|writer| {
        let of = |line: &&KeptLine| line.by == *writer || !is_size(line);
        let lines: Vec<KeptLine> = lines.iter().filter(of).cloned().collect();
        told(&lines)
    });
    let mut first = all.next()??;
    for other in all.flatten() {
        let parts = |told: &Told| told.models.first().map(|model| model.parts.clone());
        if parts(&other) != parts(&first) {
            first
                .models
                .iter_mut()
                .for_each(|model| model.parts.clear());
            first.complete = false;
            break;
        }
    }
    Some(first)
}

/// Most processes of one server: as many as a machine has devices.
const MAX_WRITERS: usize = 64;

/// vLLM. The pool is what it reserves for the cache; its tokens tell no bytes of a hybrid model.
pub(super) fn vllm(lines: &[KeptLine], _cut: bool) -> Option<Told> {
    of_one(lines, vllm_told)
}

fn vllm_told(lines: &[KeptLine]) -> Option<Told> {
    let mut server = Server::default();
    for line in lines {
        match line.is {
            LineKind::ServingModel => {
                server = Server {
                    name: text(line, 0),
                    ..Server::default()
                };
                continue;
            }
            LineKind::VllmWeights => server.weights = size(line, 0, UNITS),
            LineKind::VllmCache => {
                server.pools = size(line, 0, UNITS)
                    .map(|it| (None, it))
                    .into_iter()
                    .collect();
            }
            LineKind::VllmTokens => server.tokens = number(line, 0),
            LineKind::VllmGraphs => server.graphs = size(line, 0, UNITS),
            // Weights, three words on; then the context, activations and the cache.
            LineKind::VllmOther => {
                server.weights = size(line, 1, UNITS);
                server.pools = size(line, 10, UNITS)
                    .map(|it| (None, it))
                    .into_iter()
                    .collect();
            }
            _ => continue,
        }
        server.has_any = true;
        server.last = line.at.or(server.last);
    }
    server.told("vllm")
}

/// `SGLang`. Pools of a draft model and of sliding windows are printed one after the other, and add up; weights
/// begin a load, the second ones in it are the draft model's.
pub(super) fn sglang(lines: &[KeptLine], _cut: bool) -> Option<Told> {
    of_one(lines, sglang_told)
}

fn sglang_told(lines: &[KeptLine]) -> Option<Told> {
    let mut server = Server::default();
    let mut has_graphs = false;
    for line in lines {
        match line.is {
            LineKind::SglangWeights => {
                let more = size(line, 0, UNITS);
                // Behind graphs or without a pool in between it is not another model of the same start.
                if server.pools.is_empty() || has_graphs {
                    server = Server::default();
                    server.weights = more;
                } else {
                    let sum = server.weights.zip(more);
                    server.weights = sum.map(|(a, b)| Bytes(a.0.saturating_add(b.0)));
                }
                has_graphs = false;
            }
            LineKind::SglangPool => {
                let sizes = size(line, 1, UNITS).zip(size(line, 3, UNITS));
                if let Some((keys, values)) = sizes {
                    let bytes = Bytes(keys.0.saturating_add(values.0));
                    server.pools.push((number(line, 0), bytes));
                    server.tokens = server.tokens.or(number(line, 0));
                }
            }
            LineKind::SglangGraphs => {
                let more = size(line, 0, UNITS);
                server.graphs = match (server.graphs, more) {
                    (Some(a), Some(b)) => Some(Bytes(a.0.saturating_add(b.0))),
                    (a, b) => a.or(b),
                };
                has_graphs = true;
            }
            _ => continue,
        }
        server.has_any = true;
        server.last = line.at.or(server.last);
    }
    server.told("sglang")
}
