//! What a model file needs before anybody loads it, and whether that fits on this machine.
//!
//! The file is read as those of processes are, through a [`Machine`], and the arithmetic is theirs.

mod fit;

use std::sync::Arc;

use gguf::Header;
use gguf::compute::LogitRows;
use gguf::kv::{CacheType, Kept, KvSettings, WhyNot};
use gguf::placement::Offload;
use model::inspection::{Effective, Inspection, ModelPart, Need, Setting};
use model::{Bytes, Gap, Model, ModelKind, Provenance, Reading, Source, Stamp, Text};
use raw::{Machine, TickPlan};

use crate::models::{Arithmetic, NamedFile, Role, Shards, Unread};

/// Longest that answers about a file are waited for. A disk that has to spin up takes 10 s.
const PATIENCE_NS: u64 = 20_000_000_000;

/// How long one refresh waits where no answer comes.
const STEP_NS: u64 = 50_000_000;

/// Smallest context in the row of contexts: what a server shrinks an unset one to at most.
const FIRST_CONTEXT: u64 = 4096;

/// Largest context in the row where the header does not say what the model was trained with.
const LAST_CONTEXT: u64 = 32_768;

/// llama.cpp counts tokens in 32 bits.
const MOST_CONTEXT: u64 = 1 << 32;

/// Tokens computed at once, unless told otherwise.
const UBATCH: u32 = 512;

/// Slots, and whether they share one cache, of a server that was not told: a build of today, and those before late
/// 2025 and most other programs (llama.cpp b11434 and b11549 log that it "is set to auto").
const UNTOLD: [(u32, bool); 2] = [(4, true), (1, false)];

/// What somebody wants to run the model with; `None` is not said.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Tokens of all slots together; 0 is what the model was trained with.
    pub context: Option<u64>,
    /// Slots.
    pub parallel: Option<u32>,
    /// Whether they share one cache.
    pub unified: Option<bool>,
    /// Type of keys.
    pub type_k: Option<CacheType>,
    /// Type of values.
    pub type_v: Option<CacheType>,
    /// Layers on the GPU, the output counted as one.
    pub gpu_layers: Option<u32>,
    /// Whether flash attention is used.
    pub flash_attention: Option<bool>,
}

/// Why a file could not be inspected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Failed {
    /// It could not be read, for this reason.
    Unreadable(Gap),
    /// It is a model of another format; the sentence says which.
    OtherFormat(Text),
    /// It is no model, or a broken one; the sentence says what.
    NotModel(Text),
    /// No server starts with what was wished for; the sentence says why.
    Impossible(Text),
    /// The machine ended before it answered.
    Ended,
}

/// A model file that was read.
pub struct Subject {
    model: Model,
    headers: Vec<Arc<Header>>,
    files: Vec<ModelPart>,
    missing: usize,
    unread: usize,
    truncated: bool,
    at: Stamp,
}

impl Subject {
    /// Reads the file at `path`, which is absolute, and the other parts of a split model beside it.
    pub fn read(machine: &mut dyn Machine, path: &Text) -> Result<Self, Failed> {
        let mut file = NamedFile::default();
        let mut plan = TickPlan {
            early_when_answered: true,
            ..TickPlan::default()
        };
        let mut started_ns = None;
        loop {
            let now = machine.begin_tick(&plan).map_err(|_| Failed::Ended)?.now;
            let start = *started_ns.get_or_insert(now.mono_ns);
            match file.look(machine, path, now) {
                Ok(read) => {
                    return Ok(Self::of(read.model, read.shards, read.truncated, now));
                }
                Err(Unread::OtherFormat(why)) => return Err(Failed::OtherFormat(why)),
                Err(Unread::NotModel(why)) => return Err(Failed::NotModel(why)),
                Err(Unread::Gap(Gap::Pending)) => {
                    if now.mono_ns.saturating_sub(start) > PATIENCE_NS {
                        return Err(Failed::Unreadable(Gap::TimedOut));
                    }
                    plan.not_before_ns = now.mono_ns.saturating_add(STEP_NS);
                }
                Err(Unread::Gap(gap)) => return Err(Failed::Unreadable(gap)),
            }
        }
    }

    fn of(model: Model, shards: Shards, truncated: bool, at: Stamp) -> Self {
        let mut files = shards.files;
        files.sort_by(|a, b| a.0.cmp(&b.0));
        let from = |at| Provenance {
            source: Source::Proc,
            counter: "st_size",
            at,
        };
        Self {
            model,
            headers: shards.headers,
            files: files
                .into_iter()
                .map(|(path, size)| ModelPart {
                    path,
                    size: match size {
                        Ok((size, at)) => Reading::measured(Bytes(size), from(at)),
                        Err(gap) => Reading::missing(gap, from(at)),
                    },
                })
                .collect(),
            missing: shards.missing,
            unread: shards.unread,
            truncated,
            at,
        }
    }

    /// What the file is and what it needs as wished for.
    pub fn inspect(&self, wish: &Wish) -> Result<Inspection, Failed> {
        let context = self.context(wish);
        self.check(wish, context)?;
        let contexts = match wish.context {
            None | Some(0) => self.row(wish),
            Some(_) => Vec::new(),
        };
        let need = self.need(wish, context);
        Ok(Inspection {
            at: self.at,
            model: self.model.clone(),
            files: self.files.clone(),
            unread: self.unread,
            truncated: self.truncated,
            settings: self.settings(wish, context),
            remarks: self.remarks(wish, &need),
            need,
            contexts: contexts
                .into_iter()
                .map(|tokens| self.need(wish, Some(tokens)))
                .collect(),
        })
    }

    fn trained(&self) -> Option<u64> {
        self.headers.first()?.context_length().filter(|n| *n > 0)
    }

    /// What the model was trained with, for all slots together.
    fn trained_in_all_slots(&self, wish: &Wish) -> Option<u64> {
        let slots = u64::from(wish.parallel.unwrap_or(1));
        self.trained()?.checked_mul(slots)
    }

    /// What the model keeps between tokens. Where there is no rule, anything.
    fn kept(&self) -> Kept {
        let nothing = Kept {
            tokens: false,
            states: false,
        };
        let Some(header) = self.headers.first().filter(|_| self.role() == Role::Model) else {
            return nothing;
        };
        match gguf::kv::kept(header) {
            Ok(kept) => kept,
            Err(WhyNot::NonCausal) => nothing,
            Err(_) => Kept {
                tokens: true,
                states: true,
            },
        }
    }

    fn keeps_context(&self) -> bool {
        self.kept().tokens
    }

    /// The context that is asked for, else what the model was trained with.
    fn context(&self, wish: &Wish) -> Option<u64> {
        let kept = self.kept();
        let asked = wish.context.filter(|tokens| *tokens > 0);
        let asked = asked.filter(|_| kept.tokens || kept.states);
        asked.or_else(|| self.trained().filter(|_| kept.tokens))
    }

    /// Doubling contexts up to what the model was trained with.
    fn row(&self, wish: &Wish) -> Vec<u64> {
        if !self.keeps_context() {
            return Vec::new();
        }
        let last = self.trained_in_all_slots(wish).unwrap_or(LAST_CONTEXT);
        let doubling = std::iter::successors(Some(FIRST_CONTEXT), |tokens| tokens.checked_mul(2));
        doubling
            .take_while(|tokens| *tokens < last)
            .chain([last])
            .collect()
    }

    fn role(&self) -> Role {
        match self.model.kind {
            ModelKind::Projector => Role::Projector,
            ModelKind::Adapter => Role::Adapter,
            _ => Role::Model,
        }
    }

    /// Every choice that the wish leaves open.
    fn kv(wish: &Wish, context: Option<u64>) -> Vec<KvSettings> {
        let batch = context.and_then(|tokens| u32::try_from(tokens).ok());
        let one = |(slots, unified): (u32, bool)| KvSettings {
            context,
            parallel: Some(slots),
            unified: Some(unified),
            type_k: Some(wish.type_k.unwrap_or(CacheType::F16)),
            type_v: Some(wish.type_v.unwrap_or(CacheType::F16)),
            ubatch: Some(batch.map_or(UBATCH, |tokens| tokens.min(UBATCH))),
            flash_attention: Some(wish.flash_attention.unwrap_or(true)),
            ..KvSettings::default()
        };
        match wish.parallel {
            Some(slots) => vec![one((slots, wish.unified.unwrap_or(false)))],
            None => UNTOLD.map(one).to_vec(),
        }
    }

    fn check(&self, wish: &Wish, context: Option<u64>) -> Result<(), Failed> {
        let Some(header) = self.headers.first().filter(|_| self.role() == Role::Model) else {
            return Ok(());
        };
        if wish.parallel.is_none() && wish.unified == Some(false) {
            let why = "without --parallel llama.cpp's server shares one cache among 4 slots, whatever else it is told";
            return Err(Failed::Impossible(why.into()));
        }
        for settings in Self::kv(wish, context) {
            match gguf::kv::estimate(header, &settings) {
                Err(WhyNot::Impossible(why)) => return Err(Failed::Impossible(why.into())),
                Err(WhyNot::Malformed("context length")) if wish.context.is_some() => {
                    return Err(Failed::Impossible(
                        "no server has so large a context".into(),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn settings(&self, wish: &Wish, context: Option<u64>) -> Vec<Setting> {
        let one = |name, value: String, given| Setting {
            name,
            value: value.into(),
            given,
        };
        let kept = self.kept();
        let mut all = Vec::new();
        if let Some(tokens) = context {
            let asked = wish.context.is_some_and(|tokens| tokens > 0);
            let why = if asked { "" } else { " (as trained)" };
            all.push(one("context", format!("{tokens}{why}"), asked));
        }
        if kept.tokens || kept.states {
            match wish.parallel {
                Some(slots) => all.push(one("parallel", slots.to_string(), true)),
                None => all.push(one("parallel", "4 or 1".into(), false)),
            }
        }
        if kept.tokens {
            let unified = match (wish.unified, wish.parallel) {
                (None, None) => Some("on with 4"),
                // With one slot it makes no difference.
                (None, Some(1)) => None,
                (Some(true), _) => Some("on"),
                (Some(false), _) | (None, Some(_)) => Some("off"),
            };
            let given = wish.unified.is_some();
            all.extend(unified.map(|value| one("kv-unified", value.into(), given)));
            for (name, kind) in [("kv-type-k", wish.type_k), ("kv-type-v", wish.type_v)] {
                let value = kind.unwrap_or(CacheType::F16).name();
                all.push(one(name, value.into(), kind.is_some()));
            }
        }
        let layers = layers(wish);
        if self.role() != Role::Projector {
            all.push(one("gpu-layers", layers, wish.gpu_layers.is_some()));
        }
        if self.role() == Role::Model {
            if kept.tokens {
                let flash = match wish.flash_attention {
                    Some(false) => "off",
                    _ => "on",
                };
                let given = wish.flash_attention.is_some();
                all.push(one("flash-attn", flash.into(), given));
            }
            let batch = Self::kv(wish, context)
                .first()
                .and_then(|it| it.ubatch)
                .unwrap_or(UBATCH);
            let why = if batch < UBATCH {
                " (not more than the context)"
            } else {
                ""
            };
            all.push(one("ubatch", format!("{batch}{why}"), false));
        }
        all
    }

    /// What a server makes of the context, which is the same for every choice that is left open.
    fn effective(&self, wish: &Wish, context: Option<u64>) -> Option<Effective> {
        let settings = Self::kv(wish, context).into_iter().next()?;
        let found = gguf::kv::effective(&settings).filter(|_| self.keeps_context())?;
        Some(Effective {
            context: found.context,
            per_slot: found.per_slot,
            batch: found.batch,
        })
    }

    /// What is not as asked for, and what the sizes span where nothing was.
    fn remarks(&self, wish: &Wish, need: &Need) -> Vec<Text> {
        let mut all = Vec::new();
        let asked = wish.context.is_some_and(|tokens| tokens > 0);
        if let (true, Some(effective), Some(trained)) = (asked, need.effective, self.trained())
            && effective.per_slot > trained
        {
            let room = effective.per_slot;
            all.push(format!(
                "{room} tokens of a slot are more than the {trained} that the model was trained with: llama.cpp's \
                 server reserves them, warns, and lets a slot have {trained}"
            ));
        }
        let sizes = |settings: &KvSettings| {
            let header = self.headers.first()?;
            Some(gguf::kv::estimate(header, settings).ok()?.range())
        };
        let choices = Self::kv(wish, need.context);
        let differ = choices
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if sizes(a) != sizes(b)));
        if self.role() == Role::Model && differ {
            all.push(
                "without --parallel llama.cpp's server has 4 slots, which share one cache, and older builds and most \
                 other programs have one slot: the sizes span both"
                    .to_owned(),
            );
        }
        all.into_iter().map(Text::from).collect()
    }

    fn need(&self, wish: &Wish, context: Option<u64>) -> Need {
        let arithmetic = Arithmetic {
            headers: self.headers.iter().map(|header| &**header).collect(),
            missing_parts: self.missing,
            role: self.role(),
            settings: Self::kv(wish, context),
            offload: Offload {
                gpus: 1,
                gpu_layers: Some(wish.gpu_layers.map_or(u64::MAX, u64::from)),
                ..Offload::default()
            },
            projector_on_gpu: Some(true),
            logits: LogitRows::PerSlot,
            mapped: None,
            mapped_note: None,
            layers_note: ("gpu_layers", layers(wish).into()),
            notes: Vec::new(),
        };
        let mut parts = arithmetic.segments(&self.model.id, self.at);
        parts.extend(arithmetic.beside(&self.model.id, self.at));
        if !self.keeps_context() {
            // There is nothing that it could be used for.
            for part in &mut parts {
                part.inputs.retain(|(name, _)| *name != "flash_attention");
            }
        }
        Need {
            context,
            effective: self.effective(wish, context),
            parts,
        }
    }
}

/// Layers on the GPU, in words.
fn layers(wish: &Wish) -> String {
    match wish.gpu_layers {
        None | Some(u32::MAX) => "all".to_owned(),
        Some(layers) => layers.to_string(),
    }
}
