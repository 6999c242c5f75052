//! Logs of model programs, reduced while they are read: which lines survive, and which fields of them.
//!
//! Logs hold prompts, transcriptions and names. A line passes only where a rule of a family matches it, and of such
//! a line only numbers, words of closed sets, paths of model files and names of models. Nothing else leaves the
//! reader, so nothing else is in a capture. What the fields mean is told in `collect`.

mod diffusion;
mod lines;
mod llama;
mod memory;
mod ollama;
mod scan;
mod serving;
mod whisper;

use model::Text;
use serde::{Deserialize, Serialize};

pub use lines::{MAX_LINE_BYTES, Stripped, stripped, wall_us};
pub use scan::MAX_NAME_BYTES;

use super::replies::FileMeta;
use scan::Fields;

/// Bytes read from the end of a log. A load of a model prints about 40 KiB at its most talkative level.
pub const LOG_TAIL_BYTES: u64 = 512 * 1024;

/// Most lines kept of one log; the newest ones. A load prints about thirty of them.
pub const MAX_KEPT_LINES: usize = 2_048;

/// What is kept of a log.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct LogExcerpt {
    /// Size and identity of the file when it was read; `None` for what is no file (a journal).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileMeta>,
    /// The file is the one that the question knew, and was not read again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// When the file was made, microseconds since 1970; `None` where the file system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born_us: Option<i64>,
    /// The time that its last line says, kept or not; `None` where that says none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LineTime>,
    /// The beginning is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The lines that a rule matched, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<KeptLine>,
}

/// What is kept of a line.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct KeptLine {
    /// The rule that matched it.
    pub is: LineKind,
    /// When it was written, as far as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<LineTime>,
    /// Who wrote it, where one log is of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Writer>,
    /// Its fields, in the order of the rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

impl KeptLine {
    /// The text of a field.
    pub fn text(&self, position: usize) -> Option<&Text> {
        self.fields.get(position).map(Field::text)
    }
}

/// When a line was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineTime {
    /// Microseconds since the program started.
    SinceStart(u64),
    /// Microseconds since 1970 UTC.
    Wall(i64),
}

/// Who wrote a line into a log of several.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// The server on this port (`[8081] `, a router's children).
    Port(u32),
    /// The process of this number, in its own namespace (`(EngineCore_DP0 pid=123)`).
    Pid(u32),
    /// The rank of tensor parallelism (`TP1]`).
    Rank(u32),
}

/// A field that survives.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Digits and a point, as printed.
    Number(Text),
    /// A word of a closed set.
    Word(Text),
    /// A path of a model file.
    Path(Text),
    /// A model's name.
    Name(Text),
}

impl Field {
    /// Its text.
    pub const fn text(&self) -> &Text {
        match self {
            Self::Number(text) | Self::Word(text) | Self::Path(text) | Self::Name(text) => text,
        }
    }
}

/// What a line says. The fields stand behind each.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// The program has started.
    Started,
    /// The time since the start went back: from here on another run writes.
    Restarted,
    /// A server listens: port.
    Listening,
    /// A server begins to load: path.
    Loading,
    /// The next model is the draft model: path.
    LoadingDraft,
    /// The header of a model file was read: path.
    Header,
    /// Whether the model is only planned and nothing is allocated: 0 or 1.
    NoAlloc,
    /// A buffer of llama.cpp: device, kind (`model`, `KV`, `RS`, `compute`, `output`, `LoRA`, `projector`), size,
    /// unit.
    Buffer,
    /// A context is made.
    Context,
    /// A setting of a context: key, value.
    Setting,
    /// Types of a context's cache: keys, values.
    CacheTypes,
    /// A server's slots: number; tokens of one; whether they share the cache.
    Slots,
    /// Tokens of one slot, where a line for each slot says it: tokens.
    Slot,
    /// Layers on the device: number, of how many.
    Offloaded,
    /// A device is used: device, PCI address (`none` where it does not say).
    Device,
    /// A row of the memory table, MiB: device, then total, free, self, model, context, compute, unaccounted; or
    /// self, model, context, compute.
    MemoryRow,
    /// The server has unloaded its model and sleeps.
    Sleeping,
    /// The server ends.
    Leaving,
    /// Of 2023: weights in system memory: size, unit.
    OldWeights,
    /// Of 2023: weights in device memory: size, unit.
    OldDeviceWeights,
    /// Of 2023: the cache, wherever it lies: size, unit.
    OldCache,
    /// Of 2023: the part of the cache in device memory: size, unit.
    OldDeviceCache,
    /// Of 2023: compute buffer in system memory: size, unit.
    OldCompute,
    /// Of 2023: compute buffer in device memory: size, unit.
    OldDeviceCompute,
    /// Ollama starts a runner: path, port.
    Runner,
    /// What Ollama's own engine allocated: kind (`weights`, `cache`, `graph`, `total`), device, size, unit.
    EngineBuffer,
    /// What Ollama estimated before loading: kind (`full`, `kv`), size, unit.
    EngineEstimate,
    /// vLLM: weights: size, unit.
    VllmWeights,
    /// vLLM: memory for the cache: size, unit.
    VllmCache,
    /// vLLM: tokens that the cache has room for.
    VllmTokens,
    /// vLLM: a part of its profile: kind (`non_torch`, `activation`), size, unit.
    VllmOther,
    /// vLLM: captured graphs: size, unit.
    VllmGraphs,
    /// vLLM, `SGLang`: a model is loaded: name.
    ServingModel,
    /// `SGLang`: weights: size, unit.
    SglangWeights,
    /// `SGLang`: a pool: tokens, size of keys, unit, size of values, unit.
    SglangPool,
    /// `SGLang`: captured graphs: size, unit.
    SglangGraphs,
    /// whisper.cpp begins to load: path.
    WhisperLoading,
    /// whisper.cpp: weights: device (`none` where it does not say), size, unit.
    WhisperWeights,
    /// whisper.cpp: the device it uses.
    WhisperDevice,
    /// whisper.cpp: a cache: which (`self`, `cross`, `pad`), size, unit.
    WhisperCache,
    /// whisper.cpp: a compute buffer: which (`conv`, `encode`, `cross`, `decode`), size, unit.
    WhisperCompute,
    /// stable-diffusion.cpp: weights: where (`VRAM`, `RAM`), size, unit.
    DiffusionWeights,
    /// stable-diffusion.cpp: a compute buffer, which is freed after its stage: where, size, unit.
    DiffusionCompute,
    /// Device memory ran out: size, unit where it says how much was wanted.
    OutOfMemory,
    /// An application has loaded a model: name.
    AppLoaded,
    /// An application has used its model: name, or nothing.
    AppUsed,
    /// An application has unloaded its model: name, or nothing.
    AppUnloaded,
}

/// The rules of one family of programs: what is kept of a line's text.
struct Family {
    keep: fn(&str) -> Option<(LineKind, Fields)>,
}

/// All families. whisper.cpp stands before llama.cpp, whose words of 2023 it shares.
const FAMILIES: &[Family] = &[
    Family { keep: memory::keep },
    Family {
        keep: whisper::keep,
    },
    Family { keep: llama::keep },
    Family { keep: ollama::keep },
    Family {
        keep: serving::keep,
    },
    Family {
        keep: diffusion::keep,
    },
];

/// What is kept of the bytes of a log, of any program in the table. Never fails and never keeps more than
/// [`MAX_KEPT_LINES`].
pub fn kept(bytes: &[u8]) -> Vec<KeptLine> {
    keep_with(bytes, |text, kept| {
        let found = FAMILIES.iter().find_map(|family| (family.keep)(text));
        kept.extend(found);
    })
}

/// A model's name as a field: letters, digits and the signs of such names, so that no sentence is one.
pub(super) fn name_field(text: &str) -> Option<Field> {
    scan::name(text)
}

/// Threads of one run write their lines out of order by this much at most; a time since the start that goes back further
/// is of another run. No server is ready to be ended again within it.
const OUT_OF_ORDER_US: u64 = 100_000;

/// Goes through the lines of a log with these rules.
pub(super) fn keep_with(
    bytes: &[u8],
    mut rules: impl FnMut(&str, &mut Vec<(LineKind, Fields)>),
) -> Vec<KeptLine> {
    let mut lines: std::collections::VecDeque<KeptLine> = std::collections::VecDeque::new();
    let mut found = Vec::new();
    let mut since_start = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(Stripped { at, by, texts }) = stripped(line) else {
            continue;
        };
        if let (Some(LineTime::SinceStart(now)), None) = (at, by) {
            let was_kept = lines.back().is_some_and(|it| it.is != LineKind::Restarted);
            if now.saturating_add(OUT_OF_ORDER_US) >= since_start {
                since_start = since_start.max(now);
            } else {
                if was_kept {
                    push(&mut lines, LineKind::Restarted, at, by, Vec::new());
                }
                since_start = now;
            }
        }
        for text in &texts {
            match text {
                lines::Content::Text(text) => rules(text, &mut found),
                lines::Content::Row(fields) => {
                    found.push((LineKind::MemoryRow, fields.clone()));
                }
            }
            for (is, fields) in found.drain(..) {
                push(&mut lines, is, at, by, fields);
            }
        }
    }
    lines.into()
}

fn push(
    lines: &mut std::collections::VecDeque<KeptLine>,
    is: LineKind,
    at: Option<LineTime>,
    by: Option<Writer>,
    fields: Fields,
) {
    if lines.len() == MAX_KEPT_LINES {
        lines.pop_front();
    }
    lines.push_back(KeptLine { is, at, by, fields });
}

/// The time that the last line says. `bytes` ends with a whole line.
pub fn last_time(bytes: &[u8]) -> Option<LineTime> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    stripped(bytes.rsplit(|byte| *byte == b'\n').next()?)?.at
}

/// The end of a log from the start of a line, where its beginning is missing.
pub fn from_line_start(tail: &[u8]) -> &[u8] {
    let start = tail.iter().position(|byte| *byte == b'\n');
    start.and_then(|at| tail.get(at + 1..)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
