//! From headers and settings to parts on devices.

use gguf::compute::{self, LogitRows};
use gguf::kv::{self, CacheKind, KvEstimate, KvSettings, WhyNot};
use gguf::placement::{self, Devices, Offload};
use gguf::weights::Weights;
use gguf::{Header, Range};
use model::{
    Bytes, Estimated, Gap, Method, Placement, Provenance, Reading, Segment, SegmentKind, Source,
    Stamp, Text,
};

/// What a file is to the program that has it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// A model of its own: weights, cache, state and buffers.
    Model,
    /// The draft model of speculative decoding, with a context of its own.
    Draft,
    /// A projector, loaded beside its model.
    Projector,
    /// An adapter, loaded beside its model.
    Adapter,
}

/// One model, and everything that decides what it takes.
pub(crate) struct Arithmetic<'a> {
    /// Headers of the files of the model, the first one first.
    pub(crate) headers: Vec<&'a Header>,
    /// Files of a split model that could not be read.
    pub(crate) missing_parts: usize,
    pub(crate) role: Role,
    /// Choices that what is known leaves open: the result spans all. Not empty.
    pub(crate) settings: Vec<KvSettings>,
    pub(crate) offload: Offload,
    /// Whether a projector goes to the GPU, which `-ngl` does not decide; `None` is not known.
    pub(crate) projector_on_gpu: Option<bool>,
    pub(crate) logits: LogitRows,
    /// What the layers on the GPU were taken from.
    pub(crate) layers_note: (&'static str, Text),
    /// Weights on GPUs and in system memory by what stays mapped of the file, where nobody says how many layers were
    /// asked for.
    pub(crate) mapped: Option<(Range, Range)>,
    /// What stays mapped of the file.
    pub(crate) mapped_note: Option<(&'static str, Text)>,
    /// What else the caches were computed from.
    pub(crate) notes: Vec<(&'static str, Text)>,
}

/// A part on the GPUs together and in system memory, or all of it where that is not known.
#[derive(Clone, Copy)]
enum Spread {
    Placed { gpu: Range, cpu: Range },
    Open(Range),
}

impl Spread {
    fn of(devices: &Devices) -> Self {
        Self::Placed {
            gpu: devices.gpu,
            cpu: devices.cpu,
        }
    }

    const NOTHING: Self = Self::Placed {
        gpu: Range { low: 0, high: 0 },
        cpu: Range { low: 0, high: 0 },
    };

    /// Either of two, which are of one kind.
    fn spanning(self, other: Self) -> Self {
        match (self, other) {
            (Self::Placed { gpu, cpu }, Self::Placed { gpu: g, cpu: c }) => Self::Placed {
                gpu: gpu.spanning(g),
                cpu: cpu.spanning(c),
            },
            (a, b) => Self::Open(a.total().spanning(b.total())),
        }
    }

    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Placed { gpu, cpu }, Self::Placed { gpu: g, cpu: c }) => Self::Placed {
                gpu: gpu.plus(g),
                cpu: cpu.plus(c),
            },
            (a, b) => Self::Open(a.total().plus(b.total())),
        }
    }

    fn total(self) -> Range {
        match self {
            Self::Placed { gpu, cpu } => gpu.plus(cpu),
            Self::Open(all) => all,
        }
    }

    fn sides(self) -> Vec<(Range, Placement)> {
        let sides = match self {
            Self::Placed { gpu, cpu } => vec![(gpu, Placement::Gpu), (cpu, Placement::Cpu)],
            Self::Open(all) => vec![(all, Placement::Unknown)],
        };
        sides
            .into_iter()
            .filter(|(range, _)| range.high > 0)
            .collect()
    }
}

/// Caches and states of all choices of settings.
struct Caches {
    keys: Spread,
    states: Spread,
    estimates: Vec<KvEstimate>,
}

impl Arithmetic<'_> {
    /// Every part, largest questions first: weights, cache, state, compute.
    pub(crate) fn segments(&self, model: &Text, at: Stamp) -> Vec<Segment<Estimated<Bytes>>> {
        let out = Out { model, at };
        match self.role {
            Role::Model => {
                let mut all = self.weights(&out, SegmentKind::Weights);
                all.extend(self.caches(&out));
                all
            }
            Role::Draft => self.draft(&out),
            Role::Projector => self.weights(&out, SegmentKind::Projector),
            Role::Adapter => self.weights(&out, SegmentKind::Adapter),
        }
    }

    /// What a receipt does not itemise, but a forecast has to count: buffers in system memory beside those of a GPU, and
    /// that of a projector's encoder, which has no rule.
    pub(crate) fn beside(&self, model: &Text, at: Stamp) -> Vec<Segment<Estimated<Bytes>>> {
        let out = Out { model, at };
        let kind = SegmentKind::Compute;
        match (self.role, self.first(), self.offload.gpu_layers) {
            (Role::Projector, ..) => {
                let why = "no rule for the buffers of a projector's encoder";
                vec![out.missing(kind, Gap::UnknownArchitecture, vec![("why", why.into())])]
            }
            (Role::Model, Some(header), Some(layers)) if layers > 0 => {
                let all = header.block_count().is_some_and(|count| layers > count);
                let sizes = self.settings.iter();
                let sizes: Result<Vec<Range>, WhyNot> = sizes
                    .map(|one| compute::host(header, one, self.logits, all))
                    .collect();
                // Where there is none, that of the GPU has none either, and its line says why.
                let spanning = sizes
                    .ok()
                    .and_then(|it| it.into_iter().reduce(Range::spanning));
                spanning.map_or_else(Vec::new, |cpu| {
                    let gpu = Range::exact(0);
                    let notes = [("for", "what the GPU reads and writes there".into())];
                    out.placed(kind, Spread::Placed { gpu, cpu }, &notes)
                })
            }
            _ => Vec::new(),
        }
    }

    fn first(&self) -> Option<&Header> {
        self.headers.first().copied()
    }

    fn weights(&self, out: &Out<'_>, kind: SegmentKind) -> Vec<Segment<Estimated<Bytes>>> {
        let mut notes = vec![match self.role {
            Role::Projector => ("offload", self.projector_note()),
            _ => self.layers_note.clone(),
        }];
        notes.extend(self.mapped_note.clone());
        if self.missing_parts > 0 {
            notes.push(("missing_parts", self.missing_parts.to_string().into()));
            return vec![out.missing(kind, Gap::InputMissing, notes)];
        }
        if let Some(why) = self.no_weights() {
            notes.push(("why", why));
            return vec![out.missing(kind, Gap::ImpossibleHeader, notes)];
        }
        let spread = self.spread_of_weights(&mut notes);
        out.placed(kind, spread, &notes)
    }

    /// Why the sizes in the tensor table are none of what the file holds.
    fn no_weights(&self) -> Option<Text> {
        let flaw = self.headers.iter().find_map(|it| it.impossible_tensors())?;
        Some(format!("weights not known: {flaw}").into())
    }

    fn projector_note(&self) -> Text {
        match self.projector_on_gpu {
            Some(true) => "on the GPU by default, whatever the layers",
            Some(false) => "kept in system memory",
            None => "unknown",
        }
        .into()
    }

    fn spread_of_weights(&self, notes: &mut Vec<(&'static str, Text)>) -> Spread {
        let weights = Weights::of_parts(self.headers.iter().copied());
        let all = Range::exact(weights.total);
        let none = Range::exact(0);
        match self.role {
            Role::Projector => match self.projector_on_gpu {
                Some(true) => Spread::Placed {
                    gpu: all,
                    cpu: none,
                },
                Some(false) => Spread::Placed {
                    gpu: none,
                    cpu: all,
                },
                None => Spread::Open(all),
            },
            // Each pair of its matrices lies where the matrix it adapts does.
            Role::Adapter => match self.offload.gpu_layers {
                Some(0) => Spread::Placed {
                    gpu: none,
                    cpu: all,
                },
                Some(layers) if layers > self.adapted_layers() => Spread::Placed {
                    gpu: all,
                    cpu: none,
                },
                _ => Spread::Open(all),
            },
            Role::Model | Role::Draft => {
                if let Some((gpu, cpu)) = self.mapped {
                    return Spread::Placed { gpu, cpu };
                }
                if self.offload.gpu_layers.is_none() || self.offload.overrides.is_unreadable() {
                    return Spread::Open(all);
                }
                let layers = weights.layers.len() as u64;
                if self.offload.gpu_layers.is_some_and(|asked| asked > layers) {
                    // With every layer on the GPU this is what stays behind.
                    let stays = if weights.tied {
                        "input embedding, which is on the GPU as output too"
                    } else {
                        "input embedding"
                    };
                    notes.push(("in_system_memory", stays.into()));
                }
                let plan = placement::place(self.headers.iter().copied(), &self.offload);
                Spread::of(&plan.devices)
            }
        }
    }

    /// One more than the highest layer that an adapter has something for.
    fn adapted_layers(&self) -> u64 {
        let tensors = self.headers.iter().flat_map(|header| &header.tensors);
        let layer = |name: &str| {
            let rest = name.strip_prefix("blk.")?;
            rest.split_once('.')?.0.parse::<u64>().ok()
        };
        tensors
            .filter_map(|tensor| layer(&tensor.name))
            .max()
            .map_or(0, |highest| highest.saturating_add(1))
    }

    /// The estimates for every choice of settings, or why there are none.
    pub(super) fn estimates(&self) -> Result<Vec<KvEstimate>, WhyNot> {
        let header = self.first().ok_or(WhyNot::Missing("header"))?;
        self.settings
            .iter()
            .map(|one| kv::estimate(header, one))
            .collect()
    }

    /// Caches and states of one estimate, each on its devices.
    fn spread_of_cache(&self, estimate: &KvEstimate) -> [Spread; 2] {
        let plan = placement::cache(estimate, &self.offload);
        let unknown = self.offload.gpu_layers.is_none() && !self.offload.kv_on_cpu;
        let mut sums = [Spread::NOTHING; 2];
        for ((kind, devices), part) in plan.parts.iter().zip(&estimate.parts) {
            let spread = if unknown {
                Spread::Open(part.bytes)
            } else {
                Spread::of(devices)
            };
            let [keys, states] = &mut sums;
            let sum = if *kind == CacheKind::State {
                states
            } else {
                keys
            };
            *sum = sum.plus(spread);
        }
        sums
    }

    fn spread_of_caches(&self) -> Result<Caches, WhyNot> {
        let estimates = self.estimates()?;
        let spreads = estimates.iter().map(|one| self.spread_of_cache(one));
        let spread = spreads
            .reduce(|[k, s], [other_k, other_s]| [k.spanning(other_k), s.spanning(other_s)])
            .ok_or(WhyNot::Missing("settings"))?;
        let [keys, states] = spread;
        Ok(Caches {
            keys,
            states,
            estimates,
        })
    }

    fn spread_of_compute(&self) -> Result<Spread, WhyNot> {
        let header = self.first().ok_or(WhyNot::Missing("header"))?;
        let sizes = self.settings.iter();
        let mut sizes = sizes.map(|one| compute::estimate(header, one, self.logits));
        let first = sizes.next().ok_or(WhyNot::Missing("settings"))??;
        let size = sizes.try_fold(first, |all, one| Ok(all.spanning(one?)))?;
        Ok(match self.offload.gpu_layers {
            // Without a layer on the GPU large batches may be computed there all the same.
            None | Some(0) => Spread::Open(size),
            Some(_) => Spread::Placed {
                gpu: size,
                cpu: Range::exact(0),
            },
        })
    }

    fn caches(&self, out: &Out<'_>) -> Vec<Segment<Estimated<Bytes>>> {
        let mut notes = self.notes.clone();
        let mut all = match self.spread_of_caches() {
            Ok(Caches {
                keys,
                states,
                estimates,
            }) => {
                let mut of_state = vec![("type", "f32".into())];
                for assumption in estimates.iter().flat_map(|one| &one.assumptions) {
                    let note = ("assumed", Text::from(assumption.to_string()));
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
                of_state.extend(notes.iter().filter(|(name, _)| *name == "slots").cloned());
                let mut all = out.placed(SegmentKind::Kv, keys, &notes);
                all.extend(out.placed(SegmentKind::State, states, &of_state));
                all
            }
            // Nothing to show for a model that has no cache: that is no gap in our knowledge.
            Err(WhyNot::NonCausal) => Vec::new(),
            Err(why) => {
                notes.push(("why", why.to_string().into()));
                vec![out.missing(SegmentKind::Kv, reason(&why), notes)]
            }
        };
        let kind = SegmentKind::Compute;
        all.extend(match self.spread_of_compute() {
            Ok(spread) => out.placed(kind, spread, &self.compute_notes()),
            Err(WhyNot::NonCausal) => {
                let why = ("why", "no rule for the buffers of an encoder".into());
                vec![out.missing(kind, Gap::UnknownArchitecture, vec![why])]
            }
            Err(why) => {
                vec![out.missing(kind, reason(&why), vec![("why", why.to_string().into())])]
            }
        });
        all
    }

    fn compute_notes(&self) -> Vec<(&'static str, Text)> {
        let mut notes: Vec<(&'static str, Text)> = Vec::new();
        let same = |get: fn(&KvSettings) -> Option<String>| {
            let mut values = self.settings.iter().map(get);
            let first = values.next().flatten()?;
            values
                .all(|other| other.as_ref() == Some(&first))
                .then_some(first)
        };
        let batch = same(|it| it.ubatch.map(|tokens| tokens.to_string()));
        notes.push(("batch", batch.map_or("unknown".into(), Text::from)));
        let attention = same(|it| {
            it.flash_attention
                .map(|on| if on { "on" } else { "off" }.into())
        });
        let unknown = || "on or off, not known".into();
        notes.push((
            "flash_attention",
            attention.map_or_else(unknown, Text::from),
        ));
        let rows = match self.logits {
            LogitRows::PerSlot => "one row a slot",
            LogitRows::PerToken => "one row a token of the batch",
            LogitRows::Unknown => "one row a slot, or one a token of the batch",
        };
        notes.push(("logits", rows.into()));
        notes
    }

    /// Weights, cache and buffers of a draft model together: they are one part of the model it drafts for.
    fn draft(&self, out: &Out<'_>) -> Vec<Segment<Estimated<Bytes>>> {
        let kind = SegmentKind::Draft;
        let mut notes = vec![self.layers_note.clone()];
        notes.extend(self.notes.iter().cloned());
        if self.missing_parts > 0 {
            return vec![out.missing(kind, Gap::InputMissing, notes)];
        }
        if let Some(why) = self.no_weights() {
            notes.push(("why", why));
            return vec![out.missing(kind, Gap::ImpossibleHeader, notes)];
        }
        let weights = self.spread_of_weights(&mut Vec::new());
        let rest = self.spread_of_caches().and_then(|caches| {
            let held = caches.keys.plus(caches.states);
            Ok(held.plus(self.spread_of_compute()?))
        });
        match rest {
            Ok(rest) => out.placed(kind, weights.plus(rest), &notes),
            Err(why) => {
                let mut all = out.placed(kind, weights, &notes);
                notes.push(("why", why.to_string().into()));
                all.push(out.missing(kind, reason(&why), notes));
                all
            }
        }
    }
}

const fn reason(why: &WhyNot) -> Gap {
    match why {
        WhyNot::NonCausal => Gap::NonCausal,
        WhyNot::Missing(_) => Gap::InputMissing,
        WhyNot::Malformed(_) => Gap::ImpossibleHeader,
        WhyNot::Impossible(_) => Gap::SettingsConflict,
        _ => Gap::UnknownArchitecture,
    }
}

pub(super) const fn from(at: Stamp) -> Provenance {
    Provenance {
        source: Source::Gguf,
        counter: "header",
        at,
    }
}

/// Whose segments are made, and when.
struct Out<'a> {
    model: &'a Text,
    at: Stamp,
}

impl Out<'_> {
    fn placed(
        &self,
        kind: SegmentKind,
        spread: Spread,
        notes: &[(&'static str, Text)],
    ) -> Vec<Segment<Estimated<Bytes>>> {
        let sides = spread.sides().into_iter();
        sides
            .map(|(range, placement)| Segment {
                model_id: self.model.clone(),
                kind,
                bytes: Reading::Known(Estimated {
                    low: Bytes(range.low),
                    high: Bytes(range.high),
                    method: Method::ModelFile,
                    from: from(self.at),
                }),
                placement,
                device_index: None,
                inputs: notes.to_vec(),
            })
            .collect()
    }

    fn missing(
        &self,
        kind: SegmentKind,
        gap: Gap,
        inputs: Vec<(&'static str, Text)>,
    ) -> Segment<Estimated<Bytes>> {
        Segment {
            model_id: self.model.clone(),
            kind,
            bytes: Reading::missing(gap, from(self.at)),
            placement: Placement::Unknown,
            device_index: None,
            inputs,
        }
    }
}
