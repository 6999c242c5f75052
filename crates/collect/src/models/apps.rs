//! Applications that an adapter describes: what their settings, their log and their folder of models claim.

use model::{EvidenceKind, ModelEvent, ModelEventKind, Stamp, Text};
use raw::apps::Adapter;
use raw::logs::{LineKind, LineTime};
use raw::{AppPart, Machine, ProcessRef, Question, Reply};

use super::claim::{About, Claim, Named};
use super::logs::{Around, Tail, is_loaded};
use crate::processes::{Poll, Watched};

/// How often settings and folders are read.
const READ_EVERY_MS: u64 = 60_000;

/// Most events of one model that are shown, the newest.
const MAX_EVENTS: usize = 16;

/// Two lines about one load are this close to each other, microseconds.
const SAME_LOAD_US: i64 = 2_000_000;

/// An application over time.
#[derive(Debug, Default)]
pub(super) struct App {
    setting: Poll,
    log: Tail,
    installed: Poll,
}

/// Which adapter describes this process, by the name of the process or of its executable, or by the end of the
/// executable's path.
pub(super) fn adapter_of(adapters: &[Adapter], watched: &Watched) -> Option<usize> {
    let links = watched.links.answer().ok();
    let executable = links.and_then(|(_, reply)| crate::processes::link(reply, "exe").ok());
    let executable = executable.as_deref().unwrap_or("");
    let name = executable.rsplit('/').next().unwrap_or(executable);
    let is_it = |wanted: &Text| {
        if wanted.contains('/') {
            executable.ends_with(&format!("/{wanted}"))
        } else {
            **wanted == *name || **wanted == *watched.identity.comm
        }
    };
    let found = |adapter: &Adapter| adapter.processes.iter().any(is_it);
    adapters.iter().position(found)
}

impl App {
    pub(super) fn is_waiting(&self) -> bool {
        self.setting.is_waiting() || self.log.is_waiting() || self.installed.is_waiting()
    }

    /// What the application claims.
    pub(super) fn claims(
        &mut self,
        machine: &mut dyn Machine,
        who: ProcessRef,
        adapter: &Adapter,
        around: Around<'_>,
        now: Stamp,
    ) -> Vec<Claim> {
        let os = machine.facts().os.clone();
        let question = |part| Question::App {
            who,
            app: adapter.app.clone(),
            part,
        };
        let mut claims = Vec::new();
        if let Some(settings) = adapter.settings.as_ref() {
            let asked = || question(AppPart::Setting);
            self.setting.ask(machine, asked, now, READ_EVERY_MS);
            claims.extend(self.of_settings(&settings.key));
        }
        if let Some(log) = adapter.log.as_ref() {
            self.log
                .ask(machine, |known| question(AppPart::Log(known)), now);
            let path = log.paths.on(&os).map_or("log", |path| path);
            let name: Text = path.rsplit('/').next().unwrap_or(path).into();
            claims.extend(self.of_log(&name, around));
        }
        if adapter.models.is_some() {
            let asked = || question(AppPart::Installed);
            self.installed.ask(machine, asked, now, READ_EVERY_MS);
            // What else could be loaded tells something only while nothing says what is.
            if claims.is_empty() {
                claims = self.of_folder();
            }
        }
        claims
    }

    fn of_settings(&self, key: &Text) -> Option<Claim> {
        let (at, value) = self.setting.text().ok()?;
        let value = Text::from(&*value);
        Some(Claim {
            named: Named::Id(value.clone()),
            kind: Some(EvidenceKind::Settings),
            detail: format!("settings {key}").into(),
            at,
            about: About {
                name: Some(value),
                ..About::default()
            },
        })
    }

    /// One claim for each model that the log names. The application has one model at a time: the one that it
    /// loaded last, unless it has unloaded it since.
    fn of_log(&self, log: &Text, around: Around<'_>) -> Vec<Claim> {
        let Some((at, excerpt)) = self.log.excerpt() else {
            return Vec::new();
        };
        let mut models: Vec<(Text, Vec<ModelEvent>)> = Vec::new();
        let mut current: Option<usize> = None;
        for line in &excerpt.lines {
            let kind = match line.is {
                LineKind::AppLoaded => ModelEventKind::Loaded,
                LineKind::AppUsed => ModelEventKind::Used,
                LineKind::AppUnloaded => ModelEventKind::Unloaded,
                _ => continue,
            };
            let named = line.text(0).map(|name| {
                let known = models.iter().position(|(known, _)| known == name);
                known.unwrap_or_else(|| {
                    models.push((name.clone(), Vec::new()));
                    models.len() - 1
                })
            });
            // A line without a name is about the model that was loaded before it.
            let Some(position) = named.or(current) else {
                continue;
            };
            let wall_us = match line.at {
                Some(LineTime::Wall(at)) => Some(at),
                Some(LineTime::SinceStart(_)) | None => None,
            };
            let event = ModelEvent {
                kind,
                wall_us,
                fresh: wall_us.and_then(|at| around.is_after_start(at)),
                log: log.clone(),
                bytes: None,
            };
            if kind == ModelEventKind::Loaded {
                current = Some(position);
            }
            if let Some((_, events)) = models.get_mut(position) {
                let is_repeated = events.last().is_some_and(|last| is_same(last, &event));
                // Many uses in a row are one fact: the last.
                let is_used_again = kind == ModelEventKind::Used
                    && events.last().is_some_and(|last| last.kind == kind);
                if is_repeated || is_used_again {
                    events.pop();
                }
                events.push(event);
            }
        }
        let claims = models.into_iter().enumerate();
        let claims = claims.map(|(position, (name, mut events))| {
            let surplus = events.len().saturating_sub(MAX_EVENTS);
            events.drain(..surplus);
            let is_here = current == Some(position) && is_loaded(&events);
            Claim {
                named: Named::Id(name.clone()),
                kind: is_here.then_some(EvidenceKind::Log),
                detail: log.clone(),
                at,
                about: About {
                    name: Some(name),
                    events,
                    ..About::default()
                },
            }
        });
        claims.collect()
    }

    fn of_folder(&self) -> Vec<Claim> {
        let Ok((at, Reply::Names(names))) = self.installed.answer() else {
            return Vec::new();
        };
        let claims = names.iter().map(|name| Claim {
            named: Named::Id(name.clone()),
            kind: Some(EvidenceKind::Installed),
            detail: "folder of models".into(),
            at,
            about: About {
                name: Some(name.clone()),
                ..About::default()
            },
        });
        claims.collect()
    }
}

/// Whether two events are two lines about one.
fn is_same(one: &ModelEvent, other: &ModelEvent) -> bool {
    let near = one.wall_us.zip(other.wall_us);
    one.kind == other.kind && near.is_some_and(|(a, b)| (b - a).abs() <= SAME_LOAD_US)
}
