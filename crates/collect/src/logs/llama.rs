//! llama.cpp, of 2023 to 2026, and what has it inside.
//!
//! A load is a server's `loading model`, or a start of the program. In it, the header of a file begins a model and
//! `constructing llama_context` a context of the last model. Within a context a second compute line of a device
//! replaces the first (adapters make it reserve twice), and cache lines add up (two caches with a sliding window);
//! contexts add up. A model that is only planned (`no_alloc = 1`) allocates nothing whatever its lines say.

use std::collections::BTreeMap;

use model::{Bytes, ModelEventKind, PciAddress, Placement, SegmentKind, Text};
use raw::logs::{Field, KeptLine, LineKind, LineTime};

use super::parts::{Units, merged, number, part, placed, size, text};
use super::{LoadedModel, Told, ToldEvent, ToldPart};

/// Most models and contexts of one load; a process with more is none we know.
const MAX_MODELS: usize = 64;
const MAX_CONTEXTS: usize = 64;

/// Most events that are kept, the newest.
const MAX_EVENTS: usize = 32;

/// `MB` of 2023 are binary too.
const UNITS: Units = Units::Binary;

/// A context of a model.
#[derive(Default)]
struct Context {
    sizes: Vec<(SegmentKind, Text, Bytes)>,
    /// Buffers of which the last line counts.
    replaced: BTreeMap<(SegmentKind, Text), Bytes>,
    settings: BTreeMap<Text, Field>,
    cache_types: Option<(Text, Text)>,
}

impl Context {
    fn is_empty(&self) -> bool {
        self.sizes.is_empty() && self.replaced.is_empty()
    }

    fn has_compute(&self) -> bool {
        let is_compute = |kind: &SegmentKind| *kind == SegmentKind::Compute;
        self.replaced.keys().any(|(kind, _)| is_compute(kind))
            || self.sizes.iter().any(|(kind, ..)| is_compute(kind))
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.settings.get(key)?.text().parse().ok()
    }

    /// Tokens of one slot.
    fn tokens(&self) -> Option<u64> {
        self.number("n_ctx_seq")
            .or_else(|| self.number("n_ctx_per_seq"))
            .or_else(|| match self.number("n_seq_max") {
                // Before 2025 all sequences shared one cache.
                None | Some(1) => self.number("n_ctx"),
                Some(_) => None,
            })
    }

    fn parts(&self) -> impl Iterator<Item = ToldPart> {
        let sums = self.sizes.iter().cloned();
        let last = self.replaced.iter();
        let last = last.map(|((kind, device), bytes)| (*kind, device.clone(), *bytes));
        sums.chain(last)
            .filter_map(|(kind, device, bytes)| part(kind, &device, bytes))
    }
}

/// A model while its lines are read.
#[derive(Default)]
struct Loading {
    path: Option<Text>,
    is_draft: bool,
    /// A server said that it loads it; the header of the file is still to come.
    is_announced: bool,
    awaits_header: bool,
    is_planned: bool,
    weights: Vec<(SegmentKind, Text, Bytes)>,
    contexts: Vec<Context>,
    offloaded: Option<(u64, u64)>,
    /// Sizes of 2023, by kind and place.
    old: BTreeMap<(SegmentKind, bool), Bytes>,
}

impl Loading {
    fn holds_anything(&self) -> bool {
        !self.weights.is_empty() || !self.contexts.is_empty() || !self.old.is_empty()
    }

    /// Sizes of 2023 name no device. Of the cache, the part that is not said to be on the device is in system memory
    /// where no layer was offloaded, and otherwise somewhere.
    fn old_parts(&self) -> Vec<ToldPart> {
        let mut parts = Vec::new();
        let on_device = |kind| self.old.get(&(kind, true)).copied();
        for ((kind, is_device), bytes) in &self.old {
            let placement = match (kind, is_device) {
                (_, true) => Placement::Gpu,
                (SegmentKind::Kv, false) => match (on_device(SegmentKind::Kv), self.offloaded) {
                    // The line of the whole cache repeats what the device's says.
                    (Some(there), _) if there >= *bytes => continue,
                    (Some(there), _) => {
                        let rest = Bytes(bytes.0 - there.0);
                        parts.push(placed(*kind, Placement::Cpu, rest));
                        continue;
                    }
                    (None, None | Some((0, _))) => Placement::Cpu,
                    (None, Some(_)) => Placement::Unknown,
                },
                (_, false) => Placement::Cpu,
            };
            parts.push(placed(*kind, placement, *bytes));
        }
        parts
    }

    fn into_model(self, slots: &Slots, alone: bool) -> LoadedModel {
        let draft = self.is_draft;
        let weights = self.weights.iter().cloned();
        let weights = weights.filter_map(|(kind, device, bytes)| part(kind, &device, bytes));
        // Which of several models a context belongs to can be told only where each made its own.
        let contexts = self
            .contexts
            .iter()
            .filter(|_| alone || self.contexts.len() == 1);
        let mut parts: Vec<ToldPart> = weights.collect();
        parts.extend(contexts.flat_map(Context::parts));
        parts.extend(self.old_parts());
        for part in &mut parts {
            if draft && part.kind != SegmentKind::Projector {
                part.kind = SegmentKind::Draft;
            }
        }
        let first = self.contexts.first();
        let setting = |key: &str| first?.settings.get(key).map(|it| it.text().clone());
        LoadedModel {
            parts: merged(parts),
            context: slots.tokens.filter(|_| !draft).or_else(|| first?.tokens()),
            slots: slots.count.or_else(|| first?.number("n_seq_max")),
            unified: slots
                .unified
                .or_else(|| setting("kv_unified").map(|it| &*it == "true")),
            offloaded: self.offloaded,
            path: self.path,
            name: None,
            is_draft: draft,
            cache_tokens: first.and_then(|context| context.number("n_ctx")),
            ubatch: first.and_then(|context| context.number("n_ubatch")),
            batch: first.and_then(|context| context.number("n_batch")),
            cache_types: first.and_then(|context| context.cache_types.clone()),
        }
    }
}

/// What the server says of its slots.
struct Slots {
    count: Option<u64>,
    tokens: Option<u64>,
    unified: Option<bool>,
}

impl Slots {
    const UNKNOWN: Self = Self {
        count: None,
        tokens: None,
        unified: None,
    };
}

/// One load: everything since the server began it.
#[derive(Default)]
struct Block {
    models: Vec<Loading>,
    slots: Option<Slots>,
    /// Its beginning was seen.
    is_whole: bool,
    last: Option<LineTime>,
    is_gone: bool,
}

impl Block {
    fn model(&mut self) -> &mut Loading {
        if self.models.is_empty() {
            self.models.push(Loading::default());
        }
        let last = self.models.len() - 1;
        &mut self.models[last]
    }

    fn begin_model(&mut self, model: Loading) {
        if self.models.len() < MAX_MODELS {
            self.models.push(model);
        }
    }

    fn context(&mut self) -> &mut Context {
        let model = self.model();
        if model.contexts.is_empty() {
            model.contexts.push(Context::default());
        }
        let last = model.contexts.len() - 1;
        &mut model.contexts[last]
    }

    fn begin_context(&mut self) {
        let model = self.model();
        if model.contexts.len() < MAX_CONTEXTS {
            model.contexts.push(Context::default());
        }
    }

    /// The header of a file: of the model that was announced, or of another.
    fn header(&mut self, path: Option<Text>) {
        if let Some(last) = self.models.last_mut().filter(|last| last.awaits_header) {
            last.awaits_header = false;
            last.path = last.path.take().or(path);
            return;
        }
        // Loaded again, or for real after it was planned or looked at.
        let known = self.models.iter().position(|model| model.path == path);
        let (mut is_draft, mut is_announced) = (false, false);
        if let Some(known) = known {
            let known = self.models.remove(known);
            (is_draft, is_announced) = (known.is_draft, known.is_announced);
        }
        self.begin_model(Loading {
            path,
            is_draft,
            is_announced,
            ..Loading::default()
        });
    }

    fn is_complete(&self, cut: bool) -> bool {
        let real = || self.models.iter().filter(|model| !model.is_planned);
        let contexts = || real().flat_map(|model| &model.contexts);
        let is_made = contexts().all(Context::has_compute);
        let is_old = real().any(|model| model.old.contains_key(&(SegmentKind::Compute, false)));
        let has_end = self.slots.is_some() || contexts().next().is_some() || is_old;
        has_end && is_made && (self.is_whole || !cut)
    }

    fn paths(&self) -> Vec<Option<Text>> {
        let models = self.models.iter().filter(|it| !it.is_planned);
        models.map(|it| it.path.clone()).collect()
    }

    fn into_models(self) -> Vec<LoadedModel> {
        let Self { models, slots, .. } = self;
        // No word of them: every figure in it is missing.
        let slots = slots.unwrap_or(Slots::UNKNOWN);
        let real: Vec<Loading> = models
            .into_iter()
            .filter(|it| !it.is_planned && (it.is_announced || it.holds_anything()))
            .collect();
        // Contexts that were made after another model was loaded may be that one's.
        let alone = real.iter().filter(|it| it.contexts.is_empty()).count() == 0 || real.len() == 1;
        real.into_iter()
            .map(|it| it.into_model(&slots, alone))
            .collect()
    }
}

/// What the lines of llama.cpp tell. Lines of a router's children are left out: they are other processes.
pub(super) fn told(lines: &[KeptLine], cut: bool) -> Option<Told> {
    let mut told = Told {
        family: "llama.cpp",
        ..Told::default()
    };
    let mut block = Block::default();
    let mut has_any = false;
    for line in lines.iter().filter(|line| line.by.is_none()) {
        let begins = matches!(line.is, LineKind::Loading | LineKind::Runner)
            || (line.is == LineKind::Started && !block.models.iter().any(is_untouched));
        if begins {
            finish(&mut block, &mut told, cut);
            block.is_whole = true;
        }
        // What an earlier run loaded is gone with it, whether or not it said so.
        if line.is == LineKind::Restarted {
            finish(&mut block, &mut told, cut);
            told.port = None;
            block.is_whole = true;
        }
        has_any |= take(&mut block, &mut told, line);
        if line.at.is_some() {
            block.last = line.at;
        }
    }
    if !has_any {
        return None;
    }
    told.complete = block.is_complete(cut) && !block.is_gone;
    note_loaded(&block, &mut told, cut);
    let is_gone = block.is_gone;
    told.models = block.into_models();
    if is_gone {
        told.models.clear();
    }
    let surplus = told.events.len().saturating_sub(MAX_EVENTS);
    told.events.drain(..surplus);
    Some(told)
}

/// A model that was announced and of which nothing has been said since.
fn is_untouched(model: &Loading) -> bool {
    model.is_announced && model.awaits_header && !model.holds_anything()
}

/// A load has been followed by another.
fn finish(block: &mut Block, told: &mut Told, cut: bool) {
    note_loaded(block, told, cut);
    *block = Block::default();
}

fn note_loaded(block: &Block, told: &mut Told, cut: bool) {
    if block.is_gone || !block.is_complete(cut) {
        return;
    }
    for path in block.paths() {
        told.events.push(ToldEvent {
            kind: ModelEventKind::Loaded,
            path,
            name: None,
            at: block.last,
            bytes: None,
        });
    }
}

/// Takes a line; whether it was one of ours.
fn take(block: &mut Block, told: &mut Told, line: &KeptLine) -> bool {
    match line.is {
        LineKind::Started => told.port = None,
        LineKind::Loading | LineKind::Runner => block.begin_model(announced(line, false)),
        LineKind::LoadingDraft => block.begin_model(announced(line, true)),
        LineKind::Header => block.header(text(line, 0)),
        LineKind::NoAlloc => block.model().is_planned = number(line, 0) == Some(1),
        LineKind::Buffer => buffer(block, line),
        LineKind::Context => block.begin_context(),
        LineKind::CacheTypes => {
            let types = text(line, 0).zip(text(line, 1));
            let context = block.context();
            context.cache_types = context.cache_types.take().or(types);
        }
        LineKind::Listening => {
            told.port = line.text(0).and_then(|port| port.parse().ok());
            // Many programs listen.
            return false;
        }
        LineKind::Setting => setting(block, line),
        LineKind::Slots => {
            block.slots = Some(Slots {
                count: number(line, 0),
                tokens: number(line, 1),
                unified: line.text(2).map(|value| &**value == "true"),
            });
        }
        LineKind::Slot => {
            let slots = block.slots.get_or_insert(Slots::UNKNOWN);
            slots.tokens = slots.tokens.or(number(line, 0));
        }
        LineKind::Offloaded => {
            let layers = number(line, 0).zip(number(line, 1));
            block.model().offloaded = layers;
        }
        LineKind::Device => device(told, line),
        LineKind::Sleeping | LineKind::Leaving => {
            if !block.is_gone && block.models.iter().any(|it| !it.is_planned) {
                note_loaded(block, told, false);
                for path in block.paths() {
                    told.events.push(ToldEvent {
                        kind: ModelEventKind::Unloaded,
                        path,
                        name: None,
                        at: line.at,
                        bytes: None,
                    });
                }
            }
            block.is_gone = true;
        }
        LineKind::OldWeights => old(block, line, SegmentKind::Weights, false),
        LineKind::OldDeviceWeights => old(block, line, SegmentKind::Weights, true),
        LineKind::OldCache => old(block, line, SegmentKind::Kv, false),
        LineKind::OldDeviceCache => old(block, line, SegmentKind::Kv, true),
        LineKind::OldCompute => old(block, line, SegmentKind::Compute, false),
        LineKind::OldDeviceCompute => old(block, line, SegmentKind::Compute, true),
        _ => return false,
    }
    // A runner alone is Ollama's word.
    line.is != LineKind::Runner
}

fn announced(line: &KeptLine, is_draft: bool) -> Loading {
    Loading {
        path: text(line, 0),
        is_draft,
        is_announced: true,
        awaits_header: true,
        ..Loading::default()
    }
}

fn buffer(block: &mut Block, line: &KeptLine) {
    let (Some(device), Some(kind), Some(bytes)) =
        (text(line, 0), line.text(1), size(line, 2, UNITS))
    else {
        return;
    };
    match &**kind {
        "model" => {
            let part = (SegmentKind::Weights, device, bytes);
            block.model().weights.push(part);
        }
        "LoRA" => {
            let part = (SegmentKind::Adapter, device, bytes);
            block.model().weights.push(part);
        }
        "projector" => {
            let part = (SegmentKind::Projector, device, bytes);
            block.model().weights.push(part);
        }
        "KV" => {
            let part = (SegmentKind::Kv, device, bytes);
            block.context().sizes.push(part);
        }
        "RS" => {
            let part = (SegmentKind::State, device, bytes);
            block.context().sizes.push(part);
        }
        "compute" => {
            let place = (SegmentKind::Compute, device);
            block.context().replaced.insert(place, bytes);
        }
        "output" => {
            let place = (SegmentKind::Output, device);
            block.context().replaced.insert(place, bytes);
        }
        _ => {}
    }
}

/// Where no line says that a context is made (2024), the first setting behind the buffers of another does.
fn setting(block: &mut Block, line: &KeptLine) {
    let (Some(key), Some(value)) = (text(line, 0), line.fields.get(1)) else {
        return;
    };
    let is_used = |context: &Context| !context.is_empty();
    if block.model().contexts.last().is_none_or(is_used) {
        block.begin_context();
    }
    block.context().settings.insert(key, value.clone());
}

fn device(told: &mut Told, line: &KeptLine) {
    let address = line.text(1).and_then(|address| PciAddress::parse(address));
    if let (Some(name), Some(address)) = (text(line, 0), address) {
        told.devices.retain(|(known, _)| *known != name);
        told.devices.push((name, address));
    }
}

fn old(block: &mut Block, line: &KeptLine, kind: SegmentKind, is_device: bool) {
    if let Some(bytes) = size(line, 0, UNITS) {
        block.model().old.insert((kind, is_device), bytes);
    }
}
