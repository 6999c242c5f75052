//! Which models a process has, and by what evidence.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    Bytes, Estimated, Gap, Measured, Model, Notice, ProcessKey, Reading, Reported, Runtime,
    Segment, Server, Stamp, Text,
};
use raw::apps::Adapter;
use raw::{Machine, ProcessRef, Root};

use super::apps::{App, adapter_of};
use super::building::{Adding, Of, Sources, add_model};
use super::category::{ByLoad, Found, of_program};
use super::claim::{Claim, Named, Target};
use super::contradiction::named_but_not_mapped;
use super::described::without_file;
use super::files::Files;
use super::flags::Flags;
use super::gathering::{Candidate, bounded, by_model, candidates, gather, left_out, resolved};
use super::logs::{Around, Logs};
use super::mapped::{Extents, extents};
use super::memory::Sizes;
use super::patterns::Program;
use super::ran_out::ran_out;
use super::runtimes;
use super::servers::{About, Heard, Role, Servers};
use super::stores::{Homes, Stores};
use crate::processes::{Processes, Watched, arguments};

/// Models of all processes over time.
#[derive(Default)]
pub(crate) struct Models {
    files: Files,
    servers: Servers,
    stores: Stores,
    known: BTreeMap<ProcessKey, Known>,
    /// Adapters of applications; read once.
    adapters: Option<Arc<[Adapter]>>,
    /// Runners of Ollama in the refresh before.
    runners: usize,
}

/// What is derived from one process's answers; made anew when those change.
struct Known {
    generation: Option<u64>,
    runtimes: Result<Vec<Runtime>, Gap>,
    /// What kind of work the program is for, by its own words.
    program: Option<Found>,
    flags: Flags,
    /// What is mapped of model files.
    extents: Extents,
    /// Where stores may be besides.
    homes: Homes,
    candidates: Vec<Candidate>,
    /// Files that may be models and are not among the candidates.
    left_out: usize,
    role: Role,
    logs: Logs,
    app: App,
    /// Which adapter describes the process, and by which generation of its answers.
    adapter: Option<usize>,
    adapter_of: Option<u64>,
    by_load: ByLoad,
    sizes: Sizes,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            generation: None,
            runtimes: Err(Gap::Pending),
            program: None,
            flags: Flags::default(),
            extents: Extents::default(),
            homes: Homes::default(),
            candidates: Vec::new(),
            left_out: 0,
            role: Role::default(),
            logs: Logs::default(),
            app: App::default(),
            adapter: None,
            adapter_of: None,
            by_load: ByLoad::default(),
            sizes: Sizes::default(),
        }
    }
}

impl Known {
    /// Derives anew what depends on answers that have changed. Reading all that a process has mapped takes
    /// longer than the rest of a refresh together.
    fn renew(&mut self, watched: &Watched) {
        if self.generation == Some(watched.generation) {
            return;
        }
        self.generation = Some(watched.generation);
        let arguments = arguments(watched);
        // tidy: words that are looked through for names, not a reading
        let words = arguments.as_deref().unwrap_or_default();
        let link = |wanted| {
            let (_, reply) = watched.links.answer().ok()?;
            crate::processes::link(reply, wanted).ok()
        };
        let (executable, folder) = (link("exe"), link("cwd"));
        let program = Program::of(words, executable.as_deref(), folder.as_deref());
        self.program = of_program(&program, words, executable.as_deref());
        self.runtimes = runtimes::runtimes(&watched.maps, &program);
        let environment = watched.environment.text().ok();
        let environment = environment.as_ref().map(|(_, text)| &**text);
        self.flags = arguments.as_ref().map_or_else(Flags::default, |arguments| {
            Flags::read(arguments, environment)
        });
        let maps = watched.maps.text();
        self.extents = maps.map_or_else(|_| Extents::default(), |(_, text)| extents(&text));
        self.homes = Homes::of(environment);
        (self.candidates, self.left_out) = bounded(candidates(watched, &self.flags));
        let has_ai = self.runtimes.as_deref().is_ok_and(runtimes::have_ai);
        let role = |arguments| Role::of(arguments, folder, has_ai);
        self.role = arguments.map_or_else(Role::default, role);
        self.role.never_sleeps = self.flags.never_sleeps();
    }
}

/// The process whose models are asked for.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) key: ProcessKey,
    pub(crate) who: ProcessRef,
    pub(crate) watched: &'a Watched,
    /// Its device memory on all devices, where every size is measured.
    pub(crate) measured: Option<Bytes>,
    pub(crate) around: Around<'a>,
}

/// What is known of one process's models.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) models: Vec<Model>,
    pub(crate) reported: Vec<Segment<Reported<Bytes>>>,
    pub(crate) segments: Vec<Segment<Estimated<Bytes>>>,
    pub(crate) server: Option<Server>,
    pub(crate) server_unasked: Option<Gap>,
    /// Why no models were looked for.
    pub(crate) models_unread: Option<Gap>,
    pub(crate) notices: Vec<Notice>,
}

impl Models {
    /// Starts a refresh.
    pub(crate) fn begin(&mut self, now: Stamp) {
        self.files.begin();
        self.servers.begin(now);
        self.stores.begin();
        let known = self.known.values();
        self.runners = known.filter(|known| known.logs.is_runner()).count();
    }

    /// Ends a refresh: forgets processes other than `keys`, which are sorted.
    pub(crate) fn end(&mut self, keys: &[ProcessKey]) {
        self.files.end();
        self.stores.end();
        self.servers.end(keys);
        self.known.retain(|key, _| keys.binary_search(key).is_ok());
    }

    /// Whether an answer is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        self.files.is_waiting()
            || self.servers.is_waiting()
            || self.stores.is_waiting()
            || self
                .known
                .values()
                .any(|known| known.logs.is_waiting() || known.app.is_waiting())
    }

    /// The category of this process: as found now, or as its load decided a moment ago.
    pub(crate) fn category(&mut self, key: ProcessKey, found: Found, now: Stamp) -> Found {
        self.known.entry(key).or_default().by_load.held(found, now)
    }

    /// The runtimes that this process has mapped.
    pub(crate) fn runtimes(
        &mut self,
        key: ProcessKey,
        watched: &Watched,
        now: Stamp,
    ) -> Reading<Measured<Vec<Runtime>>> {
        let known = self.known.entry(key).or_default();
        known.renew(watched);
        runtimes::reading(&known.runtimes, &watched.maps, now)
    }

    /// What kind of work the program of this process is for, by its own words, as found with its runtimes.
    pub(crate) fn program(&self, key: ProcessKey) -> Option<Found> {
        self.known.get(&key)?.program
    }

    /// What is known of the models of this process now.
    pub(crate) fn of(
        &mut self,
        machine: &mut dyn Machine,
        process: &Asked<'_>,
        processes: &Processes,
        now: Stamp,
    ) -> Findings {
        let Asked {
            key,
            who,
            watched,
            around,
            ..
        } = *process;
        let settings = machine.facts().settings.clone();
        if !settings.models {
            return Findings {
                server_unasked: Some(Gap::Disabled),
                models_unread: Some(Gap::Disabled),
                ..Findings::default()
            };
        }
        let adapters = self
            .adapters
            .get_or_insert_with(|| raw::apps::all(&settings.adapters).into());
        let known = self.known.entry(key).or_default();
        known.renew(watched);
        known.sizes.begin();
        let heard = if settings.probe {
            let about = About {
                key,
                who,
                watched,
                flags: &known.flags,
                role: &known.role,
                measured: process.measured,
            };
            self.servers.hear(machine, &about, processes, now)
        } else {
            Heard {
                unasked: Some(Gap::Disabled),
                ..Heard::default()
            }
        };
        let Heard {
            server,
            mut claims,
            unasked: server_unasked,
        } = heard;
        let mut logged = known.logs.claims(
            machine,
            who,
            watched,
            &known.flags,
            self.runners,
            processes,
            around,
            now,
        );
        // What the server says now goes before what it logged when it started.
        if server.as_ref().is_some_and(|it| it.context.gap().is_none()) {
            let contexts = logged.iter_mut();
            contexts.for_each(|claim| claim.about.context = None);
        }
        claims.append(&mut logged);
        if known.adapter_of != known.generation {
            known.adapter_of = known.generation;
            known.adapter = adapter_of(adapters, watched);
        }
        if let Some(adapter) = known.adapter.and_then(|position| adapters.get(position)) {
            claims.extend(known.app.claims(machine, who, adapter, around, now));
        }
        let mut candidates = Vec::new();
        for claim in &mut claims {
            let Named::File(path) = &mut claim.named else {
                continue;
            };
            *path = resolved(path, watched);
            candidates.extend(claim.kind.map(|kind| Candidate {
                path: path.clone(),
                kind,
                detail: claim.detail.clone(),
                at: claim.at,
                deleted: false,
            }));
        }
        candidates.extend_from_slice(&known.candidates);
        let gathered = gather(
            &mut self.files,
            machine,
            Root::Process(who),
            candidates,
            now,
        );
        let mut findings = Findings {
            server,
            server_unasked,
            ..Findings::default()
        };
        findings.notices.extend(left_out(known.left_out, key));
        let sources = Sources {
            flags: &known.flags,
            extents: &known.extents,
            runtimes: known.runtimes.as_deref().unwrap_or(&[]),
            settings: &settings,
            key,
            now,
        };
        findings.notices.extend(ran_out(key, &claims));
        let found = by_model(gathered);
        let mut unjoined: Vec<&Claim> = claims.iter().collect();
        for parts in &found {
            let paths: Vec<Text> = parts.iter().flat_map(|part| part.paths.clone()).collect();
            let own = parts.first().map_or(&[][..], |part| &part.paths);
            let store_names =
                self.stores
                    .names_of(machine, Root::Process(who), own, &known.homes, now);
            let target = Target {
                paths: &paths,
                store_names: &store_names,
            };
            let joined: Vec<&Claim> = unjoined
                .extract_if(.., |claim| claim.named.is(&target, found.len()))
                .collect();
            let files = &mut self.files;
            let of = Of {
                parts,
                paths: &paths,
                store_names: &store_names,
                claims: &joined,
            };
            let add = Adding {
                files,
                machine: &mut *machine,
                sizes: &mut known.sizes,
            };
            add_model(&mut findings, add, who, &of, &sources);
        }
        // Words that show nothing and name nothing that is here are about something else.
        let shown = unjoined.iter().filter(|claim| claim.kind.is_some());
        let shown: Vec<Named> = shown.map(|claim| claim.named.clone()).collect();
        // What names no model is about the only one that somebody names.
        let only = shown
            .first()
            .filter(|first| found.is_empty() && shown.iter().all(|other| other == *first));
        let is_about = |claim: &Claim| {
            shown.contains(&claim.named) || (only.is_some() && claim.named == Named::TheOnly)
        };
        unjoined.retain(|claim| is_about(claim));
        unjoined.retain(|claim| !claim.about.must_join);
        while let Some(first) = unjoined.first().copied() {
            let same: Vec<&Claim> = unjoined
                .extract_if(.., |claim| {
                    claim.named == first.named || (only.is_some() && claim.named == Named::TheOnly)
                })
                .collect();
            let before = findings.models.len();
            if let Some(model) = without_file(&same, before, now) {
                findings.add_reported(&model, &same);
                findings.models.push(model);
            }
        }
        // A server that answers for itself has one model; a parent's word is about the worker's file anyway.
        let answers_itself = |server: &Server| server.answered_by.is_none();
        if findings.server.as_ref().is_some_and(answers_itself) {
            named_but_not_mapped(&mut findings.models);
        }
        findings
            .models
            .sort_by_key(|model| std::cmp::Reverse(model.label));
        findings
    }
}
