//! Parts of the memory, estimated from the headers of a model's files and what is known of the
//! program's settings.

use gguf::kv::{self, KvSettings, WhyNot};
use gguf::weights::Weights;
use gguf::{Header, Range};
use model::{
    Bytes, Estimated, Gap, Method, Model, ModelKind, Placement, Provenance, Reading, Segment,
    SegmentKind, Server, Source, Stamp, Text,
};

use super::flags::Flags;

/// What the arithmetic is done with.
pub(super) struct Inputs<'a> {
    pub(super) headers: &'a [std::sync::Arc<Header>],
    /// Parts of a split model whose header is missing.
    pub(super) missing_parts: usize,
    pub(super) flags: &'a Flags,
    pub(super) server: Option<&'a Server>,
    /// The user's assumption (`--gpu-layers`).
    pub(super) assumed_layers: Option<u32>,
    pub(super) at: Stamp,
}

impl Inputs<'_> {
    fn gpu_layers(&self) -> Option<u64> {
        self.flags.gpu_layers.or(self.assumed_layers.map(u64::from))
    }

    fn layers_note(&self) -> (&'static str, Text) {
        let source = match (self.flags.gpu_layers, self.assumed_layers) {
            (Some(u64::MAX), _) => "all".into(),
            (Some(n), _) => n.to_string(),
            (None, Some(n)) => format!("{n} (given by --gpu-layers)"),
            (None, None) => "unknown".to_owned(),
        };
        ("gpu_layers", source.into())
    }
}

/// The parts of one model.
pub(super) fn segments(model: &Model, inputs: &Inputs<'_>) -> Vec<Segment<Estimated<Bytes>>> {
    let Some(header) = inputs.headers.first() else {
        return Vec::new();
    };
    let mut segments = weights(model, inputs);
    // A projector or an adapter is loaded beside its base model, which has the cache.
    if !matches!(model.kind, ModelKind::Projector | ModelKind::Adapter) {
        segments.extend(cache(model, header, inputs));
    }
    segments
}

fn weights(model: &Model, inputs: &Inputs<'_>) -> Vec<Segment<Estimated<Bytes>>> {
    let kind = SegmentKind::Weights;
    let weights = Weights::of_parts(inputs.headers.iter().map(|header| &**header));
    let split = weights.placement(inputs.gpu_layers(), inputs.flags.experts);
    let mut notes = vec![inputs.layers_note()];
    if inputs.missing_parts > 0 {
        notes.push(("missing_parts", inputs.missing_parts.to_string().into()));
        return vec![missing(model, kind, Gap::InputMissing, inputs.at, notes)];
    }
    let placed = inputs.gpu_layers().is_some() && !inputs.flags.tensors_placed;
    let layers = weights.layers.len() as u64;
    if placed && inputs.gpu_layers().is_some_and(|asked| asked > layers) {
        // With every layer on the GPU this is what stays behind.
        let stays = if weights.tied {
            "input embedding, which is on the GPU as output too"
        } else {
            "input embedding"
        };
        notes.push(("in_system_memory", stays.into()));
    }
    let one = |range, placement| segment(model, kind, range, placement, inputs.at, notes.clone());
    if !placed {
        return vec![one(Range::exact(weights.total), Placement::Unknown)];
    }
    [(split.gpu, Placement::Gpu), (split.cpu, Placement::Cpu)]
        .into_iter()
        .filter(|(range, _)| range.high > 0)
        .map(|(range, placement)| one(range, placement))
        .collect()
}

fn cache(model: &Model, header: &Header, inputs: &Inputs<'_>) -> Vec<Segment<Estimated<Bytes>>> {
    let kind = SegmentKind::Kv;
    let mut notes = Vec::new();
    let estimate = match spanned(header, inputs, &mut notes) {
        Ok(estimate) => estimate,
        Err(why) => {
            notes.push(("why", why.to_string().into()));
            return match reason(&why) {
                // Nothing to show for a model that has no cache: that is no gap in our knowledge.
                Gap::NonCausal => Vec::new(),
                gap => vec![missing(model, kind, gap, inputs.at, notes)],
            };
        }
    };
    for assumption in &estimate.assumptions {
        notes.push(("assumed", assumption.to_string().into()));
    }
    let one = |range, placement| segment(model, kind, range, placement, inputs.at, notes.clone());
    if inputs.flags.kv_on_cpu {
        return vec![one(estimate.range(), Placement::Cpu)];
    }
    if inputs.gpu_layers().is_none() {
        return vec![one(estimate.range(), Placement::Unknown)];
    }
    let split = estimate.placement(inputs.gpu_layers());
    [(split.gpu, Placement::Gpu), (split.cpu, Placement::Cpu)]
        .into_iter()
        .filter(|(range, _)| range.high > 0)
        .map(|(range, placement)| one(range, placement))
        .collect()
}

/// The estimate over everything that the known settings leave open.
///
/// A server tells the context of one slot. Whether its slots share one cache is not said, so unless
/// the command line settles it both are computed, and the result spans both.
fn spanned(
    header: &Header,
    inputs: &Inputs<'_>,
    notes: &mut Vec<(&'static str, Text)>,
) -> Result<kv::KvEstimate, WhyNot> {
    let flags = inputs.flags;
    let base = KvSettings {
        context: flags.context,
        parallel: flags.parallel,
        unified: flags.unified,
        type_k: flags.type_k,
        type_v: flags.type_v,
        ubatch: flags.ubatch,
        flash_attention: flags.flash_attention,
        swa_full: flags.swa_full,
        ..KvSettings::default()
    };
    let told = |reading: &Reading<model::Reported<u64>>| reading.known().map(|r| r.value);
    let per_slot = inputs.server.and_then(|server| told(&server.context));
    let slots = inputs.server.and_then(|server| told(&server.slots));
    let parallel = base.parallel.or(slots
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| (1..=1024).contains(n)));
    for (name, value) in [
        ("context", base.context.map(|n| n.to_string())),
        ("context_per_slot", per_slot.map(|n| n.to_string())),
        ("slots", parallel.map(|n| n.to_string())),
        ("kv_type_k", base.type_k.map(|t| t.name().to_owned())),
        ("kv_type_v", base.type_v.map(|t| t.name().to_owned())),
    ] {
        if let Some(value) = value {
            notes.push((name, value.into()));
        }
    }
    let base = KvSettings { parallel, ..base };
    let Some(per_slot) = per_slot else {
        return kv::estimate(header, &base);
    };
    let shared = KvSettings {
        context: Some(per_slot),
        unified: Some(true),
        ..base
    };
    let apart = KvSettings {
        context: Some(per_slot.saturating_mul(u64::from(parallel.unwrap_or(1)))),
        unified: Some(false),
        ..base
    };
    match (base.unified, parallel) {
        (Some(true), _) => kv::estimate(header, &shared),
        (Some(false), _) | (None, Some(1)) => kv::estimate(header, &apart),
        (None, _) => {
            let mut low = kv::estimate(header, &shared)?;
            let high = kv::estimate(header, &apart)?;
            low.low = low.low.min(high.low);
            low.high = low.high.max(high.high);
            for (layer, other) in low.layers.iter_mut().zip(&high.layers) {
                *layer = layer.spanning(*other);
            }
            notes.push(("assumed", "slots may or may not share one cache".into()));
            Ok(low)
        }
    }
}

const fn reason(why: &WhyNot) -> Gap {
    match why {
        WhyNot::NonCausal => Gap::NonCausal,
        WhyNot::Missing(_) => Gap::InputMissing,
        WhyNot::Malformed(_) | WhyNot::Impossible(_) => Gap::Implausible,
        _ => Gap::UnknownArchitecture,
    }
}

const fn from(at: Stamp) -> Provenance {
    Provenance {
        source: Source::Gguf,
        counter: "header",
        at,
    }
}

fn segment(
    model: &Model,
    kind: SegmentKind,
    range: Range,
    placement: Placement,
    at: Stamp,
    inputs: Vec<(&'static str, Text)>,
) -> Segment<Estimated<Bytes>> {
    let bytes = Reading::Known(Estimated {
        low: Bytes(range.low),
        high: Bytes(range.high),
        method: Method::ModelFile,
        from: from(at),
    });
    Segment {
        model_id: model.id.clone(),
        kind,
        bytes,
        placement,
        device_index: None,
        inputs,
    }
}

fn missing(
    model: &Model,
    kind: SegmentKind,
    gap: Gap,
    at: Stamp,
    inputs: Vec<(&'static str, Text)>,
) -> Segment<Estimated<Bytes>> {
    let bytes = Reading::missing(gap, from(at));
    Segment {
        model_id: model.id.clone(),
        kind,
        bytes,
        placement: Placement::Unknown,
        device_index: None,
        inputs,
    }
}
