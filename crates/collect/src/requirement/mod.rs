//! What a model file needs before anybody loads it, and whether that fits on this machine.
//!
//! The file is read as those of processes are, through a [`Machine`], and the arithmetic is theirs.

mod fit;

use std::sync::Arc;

use gguf::Header;
use gguf::compute::LogitRows;
use gguf::kv::{CacheType, KvSettings, WhyNot};
use gguf::placement::Offload;
use model::inspection::{Inspection, ModelPart, Need, Setting};
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

/// What somebody wants to run the model with; `None` is not said.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Tokens of all slots together; 0 is what the model was trained with.
    pub context: Option<u64>,
    /// Slots.
    pub parallel: Option<u32>,
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
        Ok(Inspection {
            at: self.at,
            model: self.model.clone(),
            files: self.files.clone(),
            unread: self.unread,
            truncated: self.truncated,
            settings: self.settings(wish, context),
            need: self.need(wish, context),
            contexts: contexts
                .into_iter()
                .map(|tokens| self.need(wish, Some(tokens)))
                .collect(),
        })
    }

    fn trained(&self) -> Option<u64> {
        self.headers.first()?.context_length().filter(|n| *n > 0)
    }

    fn keeps_context(&self) -> bool {
        let header = self.headers.first();
        let settings = KvSettings {
            context: Some(FIRST_CONTEXT),
            ..KvSettings::default()
        };
        let estimate = header.map(|header| gguf::kv::estimate(header, &settings));
        self.role() == Role::Model && !matches!(estimate, None | Some(Err(WhyNot::NonCausal)))
    }

    /// The context that is asked for, else what the model was trained with.
    fn context(&self, wish: &Wish) -> Option<u64> {
        let asked = wish.context.filter(|tokens| *tokens > 0);
        asked
            .or_else(|| self.trained())
            .filter(|_| self.keeps_context())
    }

    /// Doubling contexts up to what the model was trained with.
    fn row(&self, wish: &Wish) -> Vec<u64> {
        if !self.keeps_context() {
            return Vec::new();
        }
        let last = self.trained().unwrap_or(LAST_CONTEXT);
        let last = last.saturating_mul(u64::from(wish.parallel.unwrap_or(1)));
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

    fn kv(wish: &Wish, context: Option<u64>) -> KvSettings {
        KvSettings {
            context,
            parallel: Some(wish.parallel.unwrap_or(1)),
            unified: Some(false),
            type_k: Some(wish.type_k.unwrap_or(CacheType::F16)),
            type_v: Some(wish.type_v.unwrap_or(CacheType::F16)),
            ubatch: Some(512),
            flash_attention: Some(wish.flash_attention.unwrap_or(true)),
            ..KvSettings::default()
        }
    }

    fn check(&self, wish: &Wish, context: Option<u64>) -> Result<(), Failed> {
        let Some(header) = self.headers.first().filter(|_| self.role() == Role::Model) else {
            return Ok(());
        };
        match gguf::kv::estimate(header, &Self::kv(wish, context)) {
            Err(WhyNot::Impossible(why)) => Err(Failed::Impossible(why.into())),
            Err(WhyNot::Malformed("context length")) if wish.context.is_some() => Err(
                Failed::Impossible("no server has so large a context".into()),
            ),
            _ => Ok(()),
        }
    }

    fn settings(&self, wish: &Wish, context: Option<u64>) -> Vec<Setting> {
        let one = |name, value: String, given| Setting {
            name,
            value: value.into(),
            given,
        };
        let mut all = Vec::new();
        if let Some(tokens) = context {
            let asked = wish.context.is_some_and(|tokens| tokens > 0);
            let why = if asked { "" } else { " (as trained)" };
            all.push(one("context", format!("{tokens}{why}"), asked));
            let slots = wish.parallel.unwrap_or(1);
            all.push(one("parallel", slots.to_string(), wish.parallel.is_some()));
            let kv = Self::kv(wish, context);
            let name = |kind: Option<CacheType>| kind.map_or("", CacheType::name).to_owned();
            all.push(one("kv-type-k", name(kv.type_k), wish.type_k.is_some()));
            all.push(one("kv-type-v", name(kv.type_v), wish.type_v.is_some()));
        }
        let layers = wish.gpu_layers.map_or("all".to_owned(), |n| n.to_string());
        if self.role() != Role::Projector {
            all.push(one("gpu-layers", layers, wish.gpu_layers.is_some()));
        }
        if self.role() == Role::Model {
            let flash = match wish.flash_attention {
                Some(false) => "off",
                _ => "on",
            };
            all.push(one(
                "flash-attn",
                flash.into(),
                wish.flash_attention.is_some(),
            ));
            all.push(one("ubatch", "512".into(), false));
        }
        all
    }

    fn need(&self, wish: &Wish, context: Option<u64>) -> Need {
        let layers = wish.gpu_layers.map_or(u64::MAX, u64::from);
        let note = wish.gpu_layers.map_or("all".to_owned(), |n| n.to_string());
        let arithmetic = Arithmetic {
            headers: self.headers.iter().map(|header| &**header).collect(),
            missing_parts: self.missing,
            role: self.role(),
            settings: vec![Self::kv(wish, context)],
            offload: Offload {
                gpus: 1,
                gpu_layers: Some(layers),
                ..Offload::default()
            },
            projector_on_gpu: Some(true),
            logits: LogitRows::PerSlot,
            mapped: None,
            mapped_note: None,
            layers_note: ("gpu_layers", note.into()),
            notes: Vec::new(),
        };
        Need {
            context,
            parts: arithmetic.segments(&self.model.id, self.at),
        }
    }
}
