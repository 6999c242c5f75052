//! Logs of one process: which files they are, whether what they say is of this start of the process, and what it
//! claims.
//!
//! Only what the process can write to is a log of its own. What cannot be shown to be of this start (see `start`), and
//! a log that does not belong to this start, or tells of another model, is history: its events are shown and its
//! sizes are not used.

mod start;
mod tail;

use std::collections::BTreeMap;

use model::{
    Bytes, EvidenceKind, ModelEvent, ModelEventKind, PciAddress, Placement, Provenance, Reading,
    Reported, Said, SegmentKind, Source, Stamp, Text,
};
use raw::logs::{KeptLine, LineTime, LogExcerpt, Writer};
use raw::{Inline, JournalUnit, Machine, ProcessRef, Question, Reply};

use super::claim::{About, Claim, Named, Part};
use super::flags::Flags;
use super::gathering::resolved;
use crate::logs::{LoadedModel, Told, ToldEvent, ToldPart, of_runner, told};
use crate::parse::{maps, stat};
use crate::processes::{Processes, Watched};
use start::Agreement;
pub(super) use tail::Tail;

/// Most logs of one process.
const MAX_LOGS: usize = 4;

/// Times of files and of lines are known to a second, that of the start to about as much.
const TOLERANCE_US: i64 = 1_000_000;

/// Ollama logs the start of a runner before it starts it.
const RUNNER_LEAD_S: i64 = 60;

/// Ollama's log of its own where it has one; on Linux mostly the system's journal holds it.
const OLLAMA_LOG: &str = "~/.ollama/logs/server.log";

/// What a process is among, as far as its logs have to know.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    /// When the process started, microseconds since 1970.
    pub(crate) started_us: Option<i64>,
    /// Devices by their place on the bus.
    pub(crate) devices: &'a [(PciAddress, u32)],
}

impl Around<'_> {
    /// Whether something at this time happened after the process started; `None` where that cannot be told.
    pub(super) fn is_after_start(&self, wall_us: i64) -> Option<bool> {
        Some(wall_us >= self.started_us?.saturating_sub(TOLERANCE_US))
    }
}

/// A log of the process, and what it tells.
#[derive(Debug, Default)]
struct OwnLog {
    tail: Tail,
    found: Vec<Told>,
    /// Another process has been seen that can write to it: from then on only lines that say who wrote them count.
    is_shared: bool,
}

/// Logs of one process over time.
#[derive(Debug, Default)]
pub(super) struct Logs {
    generation: Option<u64>,
    paths: Vec<Text>,
    /// The port of a runner of Ollama.
    runner: Option<u64>,
    tails: BTreeMap<Text, OwnLog>,
    ollama: Tail,
    journal: Tail,
    told_of_runner: Vec<Told>,
    was_alone: Option<bool>,
}

impl Logs {
    /// Whether the process is a runner of Ollama.
    pub(super) const fn is_runner(&self) -> bool {
        self.runner.is_some()
    }

    pub(super) fn is_waiting(&self) -> bool {
        let own = self.tails.values().any(|log| log.tail.is_waiting());
        let of_runner = self.ollama.is_waiting() || self.journal.is_waiting();
        // How many runners there are is known in the next refresh.
        own || of_runner || (self.is_runner() && self.was_alone.is_none())
    }

    /// What the logs of this process claim. `runners` is how many runners of Ollama there were in the refresh before.
    #[expect(clippy::too_many_arguments, reason = "the collector's context")]
    pub(super) fn claims(
        &mut self,
        machine: &mut dyn Machine,
        who: ProcessRef,
        watched: &Watched,
        flags: &Flags,
        runners: usize,
        processes: &Processes,
        around: Around<'_>,
        now: Stamp,
    ) -> Vec<Claim> {
        if self.generation != Some(watched.generation) {
            self.generation = Some(watched.generation);
            self.paths = paths(watched, flags);
            self.runner = runner_port(machine, watched);
            self.tails.retain(|path, _| self.paths.contains(path));
        }
        let mut claims = Vec::new();
        for path in &self.paths {
            let log = self.tails.entry(path.clone()).or_default();
            let question = |known| Question::Log {
                who,
                path: path.clone(),
                known,
            };
            let mut changed = log.tail.ask(machine, question, now);
            let Some((at, excerpt)) = log.tail.excerpt() else {
                log.found = Vec::new();
                continue;
            };
            if !log.is_shared && start::others_write(processes, who, path, excerpt.file) {
                log.is_shared = true;
                changed = true;
            }
            if changed {
                log.found = if log.is_shared {
                    told(&by_itself(&excerpt.lines, who), excerpt.cut)
                } else {
                    told(&excerpt.lines, excerpt.cut)
                };
            }
            // A second log says what the first one said: the first that is of this start counts.
            let shows = |claims: &[Claim]| claims.iter().any(|claim| claim.kind.is_some());
            let of_this = Log {
                flags: Some(flags),
                ..Log::new(path, excerpt, at, around)
            };
            let told = of_this.claims(&log.found);
            if claims.is_empty() || (!shows(&claims) && shows(&told)) {
                claims = told;
            }
        }
        if self.runner.is_some() {
            claims.extend(self.of_ollama(machine, who, runners, around, now));
        }
        claims
    }

    /// What Ollama's log tells of this runner, where it is the only one.
    fn of_ollama(
        &mut self,
        machine: &mut dyn Machine,
        who: ProcessRef,
        runners: usize,
        around: Around<'_>,
        now: Stamp,
    ) -> Vec<Claim> {
        if runners == 0 {
            return Vec::new();
        }
        self.was_alone = Some(runners == 1);
        let (Some(port), Some(started_us)) = (self.runner, around.started_us) else {
            return Vec::new();
        };
        if runners > 1 {
            return Vec::new();
        }
        let question = |known| Question::Log {
            who,
            path: OLLAMA_LOG.into(),
            known,
        };
        let mut changed = self.ollama.ask(machine, question, now);
        if self.ollama.gap().is_some() {
            let since_s = started_us / 1_000_000 - RUNNER_LEAD_S;
            let question = |_| Question::Journal {
                unit: JournalUnit::Ollama,
                since_s,
            };
            changed |= self.journal.ask(machine, question, now);
        }
        let (name, tail) = match self.ollama.excerpt() {
            Some(_) => ("server.log", &self.ollama),
            None => ("journal of ollama", &self.journal),
        };
        let Some((at, excerpt)) = tail.excerpt() else {
            return Vec::new();
        };
        let lines = of_runner(&excerpt.lines, port);
        if changed {
            self.told_of_runner = told(lines, excerpt.cut);
        }
        // An older runner may have had the same port.
        let started = lines.first().and_then(|line| line.at);
        let lead_us = RUNNER_LEAD_S * 1_000_000;
        let is_of_this = match started {
            Some(LineTime::Wall(at)) => (at - started_us).abs() <= lead_us,
            _ => false,
        };
        let log = Log {
            is_current: Some(is_of_this),
            is_proven: is_of_this,
            ..Log::new(name, excerpt, at, around)
        };
        log.claims(&self.told_of_runner)
    }
}

/// Lines of a log of several that this process says it wrote.
fn by_itself(lines: &[KeptLine], who: ProcessRef) -> Vec<KeptLine> {
    let is_own = |line: &&KeptLine| line.by == Some(Writer::Pid(who.pid));
    lines.iter().filter(is_own).cloned().collect()
}

/// Files that are logs of this process: the one that its command line names, and of those that it has open for writing
/// standard error and output, and what is called a log.
fn paths(watched: &Watched, flags: &Flags) -> Vec<Text> {
    let mut paths: Vec<Text> = Vec::new();
    paths.extend(flags.log_file.as_ref().map(|path| resolved(path, watched)));
    if let Ok((_, reply)) = watched.open_files.answer() {
        let open = reply.open_files();
        let written = || open.iter().filter(|file| file.writes == Some(true));
        for fd in ["2", "1"] {
            let of_fd = written().find(|file| &*file.fd == fd);
            paths.extend(of_fd.map(|file| file.path.clone()));
        }
        let named = written().filter(|file| is_log_name(&file.path));
        paths.extend(named.map(|file| file.path.clone()));
    }
    let mut seen: Vec<Text> = Vec::new();
    for path in paths {
        let is_deleted = maps::without_mark(&path).1;
        if !is_deleted && path.starts_with('/') && !seen.contains(&path) {
            seen.push(path);
        }
    }
    seen.truncate(MAX_LOGS);
    seen
}

/// `server.log`; not `000003.log`, which is a journal of a database.
fn is_log_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".log")
        .is_some_and(|stem| !stem.is_empty() && !stem.bytes().all(|b| b.is_ascii_digit()))
}

/// The port of a runner of Ollama: by its own name, or of a llama-server whose parent is Ollama.
fn runner_port(machine: &mut dyn Machine, watched: &Watched) -> Option<u64> {
    let (_, reply) = watched.command_line.answer().ok()?;
    let arguments = crate::processes::command_line(reply)?;
    let program = arguments.first()?.rsplit('/').next()?;
    let is_own = match program {
        "ollama" | "ollama.exe" => arguments.get(1).is_some_and(|it| &**it == "runner"),
        "ollama_llama_server" => true,
        "llama-server" => parent_is_ollama(machine, watched.identity.parent),
        _ => false,
    };
    if !is_own {
        return None;
    }
    let at = arguments.iter().position(|it| &**it == "--port")?;
    arguments.get(at + 1)?.parse().ok()
}

fn parent_is_ollama(machine: &mut dyn Machine, parent: u32) -> bool {
    let Ok(answer) = machine.inline(&Inline::Stat(parent)) else {
        return false;
    };
    match answer.value {
        Reply::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            stat::parse(&text).is_some_and(|stat| stat.comm == "ollama")
        }
        _ => false,
    }
}

/// A log and whether it is of this start of the process.
struct Log<'a> {
    name: Text,
    at: Stamp,
    around: Around<'a>,
    /// Whether it was written after the process started; `None` where that cannot be told.
    is_current: Option<bool>,
    /// Whether the file itself shows that this start wrote what it tells.
    is_proven: bool,
    /// The settings of the process, which may agree with what it tells.
    flags: Option<&'a Flags>,
}

impl<'a> Log<'a> {
    fn new(path: &str, excerpt: &LogExcerpt, at: Stamp, around: Around<'a>) -> Self {
        let written = excerpt.file.and_then(|file| Some(file.mtime_ns? / 1_000));
        Self {
            name: path.rsplit('/').next().unwrap_or(path).into(),
            at,
            around,
            is_current: written.and_then(|written| around.is_after_start(written)),
            is_proven: start::is_proven(excerpt, around),
            flags: None,
        }
    }

    const fn from(&self, counter: &'static str) -> Provenance {
        Provenance {
            source: Source::Log,
            counter,
            at: self.at,
        }
    }

    fn claims(&self, told: &[Told]) -> Vec<Claim> {
        told.iter().flat_map(|told| self.of_family(told)).collect()
    }

    fn of_family(&self, told: &Told) -> Vec<Claim> {
        let mut claims = Vec::new();
        // The last events are those of the load that the models are of.
        let newest = told.events.len().saturating_sub(told.models.len().max(1));
        let loaded_us = told.events.iter().skip(newest).find_map(wall_us);
        let is_fresh = match loaded_us {
            Some(at) => self.around.is_after_start(at),
            None => self.is_current,
        };
        let agreement = self
            .flags
            .map_or(Agreement::Silent, |flags| start::agreement(told, flags));
        let is_shown = match agreement {
            Agreement::Agrees => true,
            Agreement::Contradicts => false,
            Agreement::Silent => self.is_proven || loaded_us.is_some(),
        };
        let is_of_this_start =
            told.complete && is_shown && is_fresh == Some(true) && self.is_current != Some(false);
        for model in &told.models {
            claims.push(self.of_model(told, model, is_of_this_start));
        }
        for (position, event) in told.events.iter().enumerate() {
            let is_newest = position >= newest || told.models.is_empty();
            let fresh = match (wall_us(event), self.is_current) {
                (Some(at), _) => self.around.is_after_start(at),
                (None, Some(false)) => Some(false),
                (None, current) if is_newest && is_shown => current,
                (None, _) => None,
            };
            // Of whatever run, it says nothing of this one.
            if event.kind == ModelEventKind::Unloaded && fresh.is_none() {
                continue;
            }
            let event = ModelEvent {
                kind: event.kind,
                wall_us: wall_us(event),
                fresh,
                log: self.name.clone(),
                bytes: event.bytes,
            };
            let told_of = told.events.get(position);
            let named = told_of.map_or(Named::TheOnly, |it| {
                named(it.path.as_ref(), it.name.as_ref())
            });
            let about = About {
                events: vec![event],
                ..About::default()
            };
            claims.push(self.claim(told, named, None, about));
        }
        claims
    }

    fn claim(&self, told: &Told, named: Named, kind: Option<EvidenceKind>, about: About) -> Claim {
        Claim {
            named,
            kind,
            detail: format!("{} ({})", self.name, told.family).into(),
            at: self.at,
            about,
        }
    }

    fn of_model(&self, told: &Told, model: &LoadedModel, is_of_this_start: bool) -> Claim {
        let named = named(model.path.as_ref(), model.name.as_ref());
        let mut about = About {
            name: model.name.clone(),
            ..About::default()
        };
        if !is_of_this_start {
            if !model.parts.is_empty() {
                about.log_unused = Some(self.unused(told).into());
            }
            return self.claim(told, named, None, about);
        }
        about.context = model
            .context
            .filter(|tokens| *tokens > 0)
            .map(|value| Reported {
                value,
                by: self.from("context of a slot"),
            });
        about.parts = model
            .parts
            .iter()
            .map(|it| self.part(told, model, it))
            .collect();
        let said = [
            ("slots", model.slots.map(|it| it.to_string())),
            ("kv_unified", model.unified.map(|it| it.to_string())),
            ("cache_tokens", model.cache_tokens.map(|it| it.to_string())),
            (
                "layers_offloaded",
                model.offloaded.map(|(count, of)| format!("{count}/{of}")),
            ),
        ];
        about.said = said
            .into_iter()
            .filter_map(|(field, value)| {
                Some(Said {
                    field,
                    value: value?.into(),
                    by: self.from(field),
                })
            })
            .collect();
        // What names no model shows nothing of one.
        let kind = (named != Named::TheOnly).then_some(EvidenceKind::Log);
        self.claim(told, named, kind, about)
    }

    /// Why the sizes of a log that is not of this start, or of a load that goes on, are not used.
    fn unused(&self, told: &Told) -> String {
        let why = if !told.complete {
            "the load that it tells of has not come to its end"
        } else if self.is_current.is_none() {
            "whether it is of this start of the process cannot be told"
        } else {
            "it tells of an earlier start of the process"
        };
        format!("{}: read, sizes not used: {why}", self.name)
    }

    fn part(&self, told: &Told, model: &LoadedModel, part: &ToldPart) -> Part {
        let mut inputs: Vec<(&'static str, Text)> = Vec::new();
        if !part.device.is_empty() {
            inputs.push(("buffer", part.device.clone()));
        }
        if part.is_span {
            let words = "span of the mapped file: may overlap what lies on a device";
            inputs.push(("size", words.into()));
        }
        if part.bytes == Bytes(0) {
            inputs.push((model::receipt::ROUNDED, "less than 0.01 MiB".into()));
        }
        if part.kind == SegmentKind::Pool {
            inputs.push(("size", "reserved, not used".into()));
        }
        if part.kind == SegmentKind::Weights
            && let Some((count, of)) = model.offloaded
        {
            inputs.push(("layers on devices", format!("{count}/{of}").into()));
        }
        inputs.push(("log", self.name.clone()));
        let device_index = (part.placement == Placement::Gpu)
            .then(|| self.device(told, &part.device))
            .flatten();
        Part {
            kind: part.kind,
            bytes: Reading::Known(Reported {
                value: part.bytes,
                by: self.from("buffer size"),
            }),
            placement: part.placement,
            device_index,
            inputs,
        }
    }

    /// The device that a buffer's name stands for, by the place on the bus that the log gives it.
    fn device(&self, told: &Told, buffer: &str) -> Option<u32> {
        let name = buffer.split('_').next()?;
        let (_, address) = told.devices.iter().find(|(known, _)| &**known == name)?;
        let found = self.around.devices.iter();
        let mut found = found.filter(|(known, _)| known == address);
        found.next().map(|(_, index)| *index)
    }
}

fn named(path: Option<&Text>, name: Option<&Text>) -> Named {
    match (path, name) {
        (Some(path), _) => Named::File(path.clone()),
        (None, Some(name)) => Named::Id(name.clone()),
        (None, None) => Named::TheOnly,
    }
}

const fn wall_us(event: &ToldEvent) -> Option<i64> {
    match event.at {
        Some(LineTime::Wall(at)) => Some(at),
        Some(LineTime::SinceStart(_)) | None => None,
    }
}

/// Whether the last of these events leaves the model in memory.
pub(super) fn is_loaded(events: &[ModelEvent]) -> bool {
    let told = |it: &&ModelEvent| it.kind != ModelEventKind::OutOfMemory;
    let last = events.iter().rfind(told);
    last.is_some_and(|it| it.kind != ModelEventKind::Unloaded && it.fresh == Some(true))
}

#[cfg(test)]
mod tests;
