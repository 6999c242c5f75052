//! Whether what a log tells is of this start of a process: a file is written to by earlier runs, and by other
//! processes.

use gguf::kv::CacheType;
use model::ProcessKey;
use raw::logs::{LineTime, LogExcerpt};
use raw::{FileMeta, OpenFile, ProcessRef};

use super::Around;
use crate::logs::{LoadedModel, Told};
use crate::models::flags::Flags;
use crate::processes::Processes;

/// How far the time of the last line may be from that of the file: the start and the file's time are known to about
/// a second each, and a program's clock begins a little after its process.
const CLOCK_TOLERANCE_US: i64 = 2_000_000;

/// Cells of a cache are rounded up to this; before late 2025 to less.
const CELLS: u64 = 256;

/// What a log's own facts say of the command line of its process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Agreement {
    /// The model and something that the command line sets are the same, and nothing is another.
    Agrees,
    /// Something is another than the command line sets: another run's, or another process's.
    Contradicts,
    /// Too little to tell.
    Silent,
}

/// Whether the file itself shows that all in it, or its end, was written by this start: it was made since, or its last
/// line's time since the start, counted from the start, is when it was written last.
pub(super) fn is_proven(excerpt: &LogExcerpt, around: Around<'_>) -> bool {
    if excerpt.born_us.and_then(|born| around.is_after_start(born)) == Some(true) {
        return true;
    }
    let (Some(LineTime::SinceStart(since)), Some(start), Some(file)) =
        (excerpt.last, around.started_us, excerpt.file)
    else {
        return false;
    };
    let Some(written_ns) = file.mtime_ns else {
        return false;
    };
    let said = i64::try_from(since).map_or(i64::MAX, |since| start.saturating_add(since));
    (written_ns / 1_000).abs_diff(said) <= CLOCK_TOLERANCE_US.unsigned_abs()
}

/// Whether another observed process can write to the file.
pub(super) fn others_write(
    processes: &Processes,
    who: ProcessRef,
    path: &str,
    file: Option<FileMeta>,
) -> bool {
    let file = file.and_then(|file| file.dev.zip(file.ino));
    let others = processes
        .all()
        .filter(|(key, _): &(&ProcessKey, _)| key.pid != who.pid);
    let mut open = others.filter_map(|(_, other)| other.open_files.answer().ok());
    let is_it = |it: &OpenFile| {
        it.writes == Some(true)
            && match (it.file, file) {
                (Some(theirs), Some(own)) => theirs == own,
                _ => *it.path == *path,
            }
    };
    open.any(|(_, reply)| reply.open_files().iter().any(is_it))
}

/// What the newest load in a log says of the command line.
pub(super) fn agreement(told: &Told, flags: &Flags) -> Agreement {
    let model = told.models.iter().find(|model| !model.is_draft);
    let Some(model) = model.filter(|_| flags.is_llama && told.family == "llama.cpp") else {
        return Agreement::Silent;
    };
    let main = flags.models.iter().find(|(flag, _)| *flag == "-m");
    let is_same_model = match (main, &model.path) {
        (Some((_, named)), Some(path)) => named == path,
        _ => false,
    };
    let port = flags.port.filter(|port| *port > 0).zip(told.port);
    let found = [
        port.map(|(asked, said)| asked == said),
        context(model, flags),
        batch(model, flags),
        types(model, flags),
        flags
            .parallel
            .zip(model.slots)
            .map(|(asked, said)| u64::from(asked) == said),
        flags
            .gpu_layers
            .zip(model.offloaded)
            .map(|(asked, (said, of))| asked.min(of) == said),
    ];
    if found.contains(&Some(false)) {
        return Agreement::Contradicts;
    }
    if is_same_model && found.contains(&Some(true)) {
        Agreement::Agrees
    } else {
        Agreement::Silent
    }
}

/// Each slot's cells are rounded up, so that there may be a few more than asked for.
fn context(model: &LoadedModel, flags: &Flags) -> Option<bool> {
    let asked = flags.context.filter(|tokens| *tokens > 0)?;
    let cells = model.cache_tokens?;
    let more = CELLS.saturating_mul(model.slots.unwrap_or(1).max(1));
    Some(cells >= asked && cells - asked < more)
}

/// What a micro-batch is where nothing sets it; no sign of this process.
const UBATCH: u64 = 512;

/// A micro-batch is cut to the batch.
fn batch(model: &LoadedModel, flags: &Flags) -> Option<bool> {
    let asked = u64::from(flags.ubatch?);
    let said = model.ubatch?;
    match model.batch {
        _ if asked == said => (asked != UBATCH).then_some(true),
        _ if said > asked => Some(false),
        Some(batch) => Some(said == batch),
        None => None,
    }
}

/// Unset types are half precision, which is no sign of this process.
fn types(model: &LoadedModel, flags: &Flags) -> Option<bool> {
    let (keys, values) = model.cache_types.as_ref()?;
    let asked = [(flags.type_k, keys), (flags.type_v, values)];
    let asked = asked
        .into_iter()
        .filter_map(|(asked, said)| Some((asked?, said)));
    let mut found = None;
    for (asked, said) in asked {
        if asked.name() != &**said {
            return Some(false);
        }
        if asked != CacheType::F16 {
            found = Some(true);
        }
    }
    found
}

#[cfg(test)]
mod tests;
