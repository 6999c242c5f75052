//! Parts of the memory, estimated from the headers of a model's files and what is known of the
//! program's settings.

mod arithmetic;
mod remembered;
mod used;

use gguf::Header;
use gguf::compute::LogitRows;
use gguf::kv::KvSettings;
use gguf::placement::{Mapping, Offload, Overrides};
use model::{
    Bytes, Estimated, EvidenceKind, Model, ModelKind, Reading, Segment, Server, Stamp, Text,
};

use super::flags::{ADAPTER_FLAG, DRAFT_FLAG, Flags, PROJECTOR_FLAG};
use super::mapped::Silent;

pub(crate) use arithmetic::{Arithmetic, Role};
pub(super) use remembered::Sizes;

/// First build of llama.cpp whose server is known to keep one row of logits a slot (August 2026).
const LOGITS_PER_SLOT_SINCE: u64 = 10_229;

/// Most slots a server is believed to have.
const MAX_SLOTS: u32 = 1024;

/// What the arithmetic is done with.
pub(super) struct Inputs<'a> {
    pub(super) headers: &'a [std::sync::Arc<Header>],
    /// Parts of a split model whose header is missing.
    pub(super) missing_parts: usize,
    pub(super) flags: &'a Flags,
    pub(super) server: Option<&'a Server>,
    /// The user's assumption (`--gpu-layers`).
    pub(super) assumed_layers: Option<u32>,
    /// What stays mapped of the file says of where its weights are.
    pub(super) mapped: Result<&'a Mapping, &'a Silent>,
    pub(super) at: Stamp,
}

/// The parts of one model.
fn segments(model: &Model, inputs: &Inputs<'_>) -> Vec<Segment<Estimated<Bytes>>> {
    if inputs.headers.is_empty() {
        return Vec::new();
    }
    let arithmetic = inputs.arithmetic(model);
    let mut segments = arithmetic.segments(&model.id, inputs.at);
    let tokens = inputs.server.map(|server| &server.cached_tokens);
    if let (Role::Model, Some(Reading::Known(tokens))) = (arithmetic.role, tokens) {
        segments.extend(used::segment(model, &arithmetic, tokens));
    }
    segments
}

/// What a file is to the program: by its kind, else by the flag that names it.
fn role(model: &Model) -> Role {
    let named = |flag: &str| {
        let mut evidence = model.evidence.iter();
        evidence.any(|one| one.kind == EvidenceKind::CommandLine && &*one.detail == flag)
    };
    match model.kind {
        ModelKind::Projector => Role::Projector,
        ModelKind::Adapter => Role::Adapter,
        _ if named(DRAFT_FLAG) => Role::Draft,
        _ if named(PROJECTOR_FLAG) => Role::Projector,
        _ if named(ADAPTER_FLAG) => Role::Adapter,
        _ => Role::Model,
    }
}

/// Layers on GPUs that the mapping shows without doubt.
const fn layers_shown(mapping: &Mapping) -> Option<u64> {
    match mapping.gpu_layers {
        (_, u64::MAX) => Some(u64::MAX),
        (low, high) if low == high => Some(low),
        _ => None,
    }
}

impl<'a> Inputs<'a> {
    fn arithmetic(&self, model: &Model) -> Arithmetic<'a> {
        let flags = self.flags;
        let role = role(model);
        let mut notes = Vec::new();
        let settings = self.settings(role, &mut notes);
        let layers = match role {
            Role::Draft => flags.draft.gpu_layers,
            _ => flags.gpu_layers,
        };
        let asked = layers.or(self.assumed_layers.map(u64::from));
        // What is mapped is the file's; a draft model or an adapter has a file of its own.
        let shown = self
            .mapped
            .ok()
            .filter(|_| asked.is_none() && role == Role::Model);
        let gpu_layers = asked.or_else(|| layers_shown(shown?));
        let source = match (layers, self.assumed_layers) {
            (None, None) if gpu_layers == Some(u64::MAX) => "all, by what stays mapped".to_owned(),
            (None, None) if gpu_layers.is_some() => {
                let layers = gpu_layers.unwrap_or(u64::MAX);
                format!("{layers}, by what stays mapped")
            }
            (Some(u64::MAX), _) => "all".into(),
            (Some(n), _) => n.to_string(),
            (None, Some(n)) => format!("{n} (given by --gpu-layers)"),
            (None, None) => "unknown".to_owned(),
        };
        Arithmetic {
            headers: self.headers.iter().map(|header| &**header).collect(),
            missing_parts: self.missing_parts,
            role,
            settings,
            offload: Offload {
                // Sums over all GPUs are right with one, whatever their number.
                gpus: 1,
                gpu_layers,
                kv_on_cpu: flags.kv_on_cpu,
                // A draft model has patterns of its own, which are not read.
                overrides: match role {
                    Role::Draft => Overrides::default(),
                    _ => flags.overrides(),
                },
                ..Offload::default()
            },
            projector_on_gpu: (flags.is_llama && flags.complete).then_some(!flags.projector_on_cpu),
            logits: self.logits(),
            layers_note: ("gpu_layers", source.into()),
            mapped: shown.map(|mapping| (mapping.gpu, mapping.cpu)),
            mapped_note: self.mapped_note(),
            notes,
        }
    }

    /// What stays mapped, beside what was asked for, or why it tells nothing.
    fn mapped_note(&self) -> Option<(&'static str, Text)> {
        let said = match self.mapped {
            Err(Silent::NotMapped) => return None,
            Err(Silent::Because(why)) => format!("tell nothing: {why}"),
            Ok(mapping) => {
                let layers = match mapping.gpu_layers {
                    (low, u64::MAX) => format!("{low} or more"),
                    (low, high) if low == high => low.to_string(),
                    (low, high) => format!("{low} to {high}"),
                };
                let unmapped = mapping.unmapped;
                format!(
                    "{unmapped} bytes of tensors are no longer mapped, as with {layers} layers on GPUs"
                )
            }
        };
        Some(("mapped_extents", said.into()))
    }

    fn logits(&self) -> LogitRows {
        let said = self.server.into_iter().flat_map(|server| &server.said);
        let build = said
            .filter(|one| matches!(one.field, "build" | "build_info"))
            .find_map(|one| {
                let digits = one.value.strip_prefix('b').unwrap_or(&one.value);
                let end = digits.find(|c: char| !c.is_ascii_digit());
                digits
                    .get(..end.unwrap_or(digits.len()))?
                    .parse::<u64>()
                    .ok()
            });
        match build {
            Some(build) if build >= LOGITS_PER_SLOT_SINCE => LogitRows::PerSlot,
            _ => LogitRows::Unknown,
        }
    }

    /// Every choice of settings that what is known leaves open.
    ///
    /// A server tells the context of one slot. Whether its slots share one cache is not said, so unless
    /// the command line settles it both are computed.
    fn settings(&self, role: Role, notes: &mut Vec<(&'static str, Text)>) -> Vec<KvSettings> {
        let flags = self.flags;
        let (type_k, type_v) = match role {
            Role::Draft => (flags.draft.type_k, flags.draft.type_v),
            _ => (flags.type_k, flags.type_v),
        };
        let told = |reading: &Reading<model::Reported<u64>>| reading.known().map(|r| r.value);
        let per_slot = self.server.and_then(|server| told(&server.context));
        let slots = self.server.and_then(|server| told(&server.slots));
        let parallel = flags.parallel.or(slots
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| (1..=MAX_SLOTS).contains(n)));
        for (name, value) in [
            ("context", flags.context.map(|n| n.to_string())),
            ("context_per_slot", per_slot.map(|n| n.to_string())),
            ("slots", parallel.map(|n| n.to_string())),
            ("kv_type_k", type_k.map(|t| t.name().to_owned())),
            ("kv_type_v", type_v.map(|t| t.name().to_owned())),
        ] {
            if let Some(value) = value {
                notes.push((name, value.into()));
            }
        }
        let base = KvSettings {
            context: flags.context,
            parallel,
            unified: flags.unified,
            type_k,
            type_v,
            ubatch: flags.ubatch,
            flash_attention: flags.flash_attention,
            swa_full: flags.swa_full,
            ..KvSettings::default()
        };
        let Some(per_slot) = per_slot else {
            return vec![base];
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
            (Some(true), _) => vec![shared],
            (Some(false), _) | (None, Some(1)) => vec![apart],
            (None, _) => {
                notes.push(("assumed", "slots may or may not share one cache".into()));
                vec![shared, apart]
            }
        }
    }
}
