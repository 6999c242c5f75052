//! Sizes kept between refreshes: the arithmetic goes over every tensor, and its inputs rarely change.

use std::sync::Arc;

use gguf::Header;
use gguf::compute::LogitRows;
use gguf::placement::Mapping;
use model::{Bytes, Estimated, Model, Reading, Reported, Segment, SegmentKind, Server, Text};

use super::arithmetic::Role;
use super::{Inputs, role, segments};
use crate::models::flags::Flags;
use crate::models::mapped::Silent;

/// The sizes of the models of one process.
#[derive(Default)]
pub(crate) struct Sizes(Vec<Entry>);

struct Entry {
    from: Basis,
    segments: Vec<Segment<Estimated<Bytes>>>,
    /// Whether somebody has asked since the last refresh.
    used: bool,
}

/// Everything that a result depends on, but for the moment.
struct Basis {
    model_id: Text,
    role: Role,
    headers: Vec<Arc<Header>>,
    missing_parts: usize,
    flags: Flags,
    told: [Option<u64>; 3],
    logits: LogitRows,
    assumed_layers: Option<u32>,
    mapped: Result<Mapping, Silent>,
}

impl Basis {
    fn of(model: &Model, inputs: &Inputs<'_>) -> Self {
        Self {
            model_id: model.id.clone(),
            role: role(model),
            headers: inputs.headers.to_vec(),
            missing_parts: inputs.missing_parts,
            flags: inputs.flags.clone(),
            told: told(inputs.server),
            logits: inputs.logits(),
            assumed_layers: inputs.assumed_layers,
            mapped: inputs.mapped.cloned().map_err(Clone::clone),
        }
    }

    fn is(&self, model: &Model, inputs: &Inputs<'_>) -> bool {
        let mut headers = self.headers.iter().zip(inputs.headers);
        self.model_id == model.id
            && self.role == role(model)
            && self.headers.len() == inputs.headers.len()
            && headers.all(|(one, other)| Arc::ptr_eq(one, other))
            && self.missing_parts == inputs.missing_parts
            && self.flags == *inputs.flags
            && self.told == told(inputs.server)
            && self.logits == inputs.logits()
            && self.assumed_layers == inputs.assumed_layers
            && self.mapped.as_ref() == inputs.mapped
    }
}

/// What a server tells that the sizes depend on.
fn told(server: Option<&Server>) -> [Option<u64>; 3] {
    let value = |reading: &Reading<Reported<u64>>| reading.known().map(|it| it.value);
    server.map_or([None; 3], |it| {
        [&it.context, &it.slots, &it.cached_tokens].map(value)
    })
}

impl Sizes {
    /// Starts a refresh: forgets what the last one did not ask for.
    pub(crate) fn begin(&mut self) {
        self.0.retain_mut(|entry| std::mem::take(&mut entry.used));
    }

    /// The parts of one model, computed now or as before.
    pub(crate) fn of(
        &mut self,
        model: &Model,
        inputs: &Inputs<'_>,
    ) -> Vec<Segment<Estimated<Bytes>>> {
        if let Some(entry) = self.0.iter_mut().find(|it| it.from.is(model, inputs)) {
            entry.used = true;
            return entry
                .segments
                .iter()
                .map(|it| stamped(it, inputs))
                .collect();
        }
        let segments = segments(model, inputs);
        self.0.push(Entry {
            from: Basis::of(model, inputs),
            segments: segments.clone(),
            used: true,
        });
        segments
    }
}

/// The same part, of now.
fn stamped(part: &Segment<Estimated<Bytes>>, inputs: &Inputs<'_>) -> Segment<Estimated<Bytes>> {
    let mut part = part.clone();
    let tokens = inputs
        .server
        .and_then(|server| server.cached_tokens.known());
    let at = match (part.kind, tokens) {
        (SegmentKind::KvUsed, Some(tokens)) => tokens.by.at,
        _ => inputs.at,
    };
    match &mut part.bytes {
        Reading::Known(it) => it.from.at = at,
        Reading::Missing(it) => it.from.at = at,
    }
    part
}

#[cfg(test)]
mod tests {
    use model::{Bytes, Gap, Provenance, ServerState, Source, Stamp};

    use super::*;

    const LLAMA: &[u8] = include_bytes!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../gguf/fixtures/headers/tiny-llama-q4_k_m.header.gguf"
    ));

    const fn at(mono_ns: u64) -> Stamp {
        Stamp {
            mono_ns,
            wall_us: 0,
        }
    }

    fn server(cached: u64, told_at: Stamp) -> Server {
        let told = |value| {
            Reading::Known(Reported {
                value,
                by: Provenance {
                    source: Source::Http,
                    counter: "test",
                    at: told_at,
                },
            })
        };
        Server {
            context: told(4096),
            slots: told(1),
            cached_tokens: told(cached),
            ..Server::new("test", 1, ServerState::Ready, Gap::NotFound, told_at)
        }
    }

    #[test]
    fn what_is_remembered_is_what_would_be_computed_and_of_now() {
        let headers = [Arc::new(gguf::read_header(&mut &*LLAMA).unwrap())];
        let sample = model::sample::workstation();
        let mut models = sample.processes.iter().flat_map(|it| &it.models);
        let model = models.next().unwrap();
        let words = ["llama-server", "-m", "/m", "-c", "4096", "-ngl", "99"].map(Text::from);
        let flags = Flags::read(&words, Some(""));
        let mut sizes = Sizes::default();
        let mut used = Vec::new();
        for (tokens, told, now) in [(100, 1, 5), (100, 2, 6), (200, 3, 7), (100, 4, 8)] {
            let server = server(tokens, at(told));
            let inputs = Inputs {
                mapped: Err(&Silent::NotMapped),
                headers: &headers,
                missing_parts: 0,
                flags: &flags,
                server: Some(&server),
                assumed_layers: None,
                at: at(now),
            };
            sizes.begin();
            assert_eq!(sizes.of(model, &inputs), segments(model, &inputs));
            let found = sizes.of(model, &inputs);
            let part = found
                .iter()
                .find(|it| it.kind == SegmentKind::KvUsed)
                .unwrap();
            used.push(part.bytes.known().unwrap().high);
        }
        // 4 layers, keys and values of 2 x 32 numbers of 2 bytes.
        let bytes = |tokens: u64| Bytes(tokens * 4 * 2 * 64 * 2);
        assert_eq!(used, [100, 100, 200, 100].map(bytes));
        assert!(sizes.0.len() <= 2, "what nobody asks for is forgotten");
    }
}
