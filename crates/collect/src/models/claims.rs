//! Which models a process has, and by what evidence.

use std::collections::BTreeMap;
use std::sync::Arc;

use gguf::{Header, ShardName};
use model::{
    Bytes, Category, Estimated, Evidence, EvidenceKind, Gap, Measured, Model, Notice, ProcessKey,
    Reading, Reported, Runtime, Segment, Server, Severity, Stamp, Text,
};
use raw::{Machine, ProcessRef, Root, Settings};

use super::category::ByLoad;
use super::claim::{Claim, Named, Target};
use super::contradiction::named_but_not_mapped;
use super::described::{Described, without_file};
use super::files::{Files, Look, Outcome};
use super::flags::Flags;
use super::gathering::{Candidate, Gathered, by_model, candidates, gather, resolved};
use super::memory::{Inputs, segments};
use super::runtimes;
use super::servers::{About, Heard, Role, Servers};
use crate::processes::{Processes, Watched};

/// Most parts of a split model that are looked for.
const MAX_PARTS: u32 = 64;

/// Models of all processes over time.
#[derive(Default)]
pub(crate) struct Models {
    files: Files,
    servers: Servers,
    known: BTreeMap<ProcessKey, Known>,
}

/// What is derived from one process's answers; made anew when those change.
struct Known {
    generation: Option<u64>,
    runtimes: Result<Vec<Runtime>, Gap>,
    flags: Flags,
    candidates: Vec<Candidate>,
    role: Role,
    by_load: ByLoad,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            generation: None,
            runtimes: Err(Gap::Pending),
            flags: Flags::default(),
            candidates: Vec::new(),
            role: Role::default(),
            by_load: ByLoad::default(),
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
        self.runtimes = runtimes::runtimes(&watched.maps);
        self.flags = flags(watched);
        self.candidates = candidates(watched, &self.flags);
        let folder = watched.links.answer().ok();
        let folder = folder.and_then(|(_, reply)| crate::processes::link(reply, "cwd").ok());
        let has_ai = self.runtimes.as_deref().is_ok_and(runtimes::have_ai);
        let arguments = crate::processes::arguments(watched);
        let role = |arguments| Role::of(arguments, folder, has_ai);
        self.role = arguments.map_or_else(Role::default, role);
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
}

/// What is known of one process's models.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) models: Vec<Model>,
    pub(crate) reported: Vec<Segment<Reported<Bytes>>>,
    pub(crate) segments: Vec<Segment<Estimated<Bytes>>>,
    pub(crate) server: Option<Server>,
    pub(crate) server_unasked: Option<Gap>,
    pub(crate) notices: Vec<Notice>,
}

impl Findings {
    /// Adds the sizes that `claims` report of the parts of `model`.
    fn add_reported(&mut self, model: &Model, claims: &[&Claim]) {
        for part in claims.iter().flat_map(|claim| &claim.about.parts) {
            self.reported.push(Segment {
                model_id: model.id.clone(),
                kind: part.kind,
                bytes: part.bytes,
                placement: part.placement,
                device_index: part.device_index,
                inputs: part.inputs.clone(),
            });
        }
    }
}

impl Models {
    /// Starts a refresh.
    pub(crate) fn begin(&mut self, now: Stamp) {
        self.files.begin();
        self.servers.begin(now);
    }

    /// Ends a refresh: forgets processes other than `keys`, which are sorted.
    pub(crate) fn end(&mut self, keys: &[ProcessKey]) {
        self.files.end();
        self.servers.end(keys);
        self.known.retain(|key, _| keys.binary_search(key).is_ok());
    }

    /// Whether an answer is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        self.files.is_waiting() || self.servers.is_waiting()
    }

    /// The category of this process: as found now, or as its load decided a moment ago.
    pub(crate) fn category(
        &mut self,
        key: ProcessKey,
        found: (Category, &'static str),
        now: Stamp,
    ) -> (Category, &'static str) {
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

    /// What is known of the models of this process now.
    pub(crate) fn of(
        &mut self,
        machine: &mut dyn Machine,
        process: &Asked<'_>,
        processes: &Processes,
        now: Stamp,
    ) -> Findings {
        let Asked {
            key, who, watched, ..
        } = *process;
        let settings = machine.facts().settings.clone();
        if !settings.models {
            return Findings::default();
        }
        let known = self.known.entry(key).or_default();
        known.renew(watched);
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
            Heard::default()
        };
        let Heard {
            server,
            mut claims,
            unasked: server_unasked,
        } = heard;
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
        let sources = Sources {
            flags: &known.flags,
            settings: &settings,
            key,
            now,
        };
        let found = by_model(gathered);
        let mut unjoined: Vec<&Claim> = claims.iter().collect();
        for parts in &found {
            let paths: Vec<Text> = parts.iter().flat_map(|part| part.paths.clone()).collect();
            let target = Target {
                paths: &paths,
                store_names: &[],
            };
            let joined: Vec<&Claim> = unjoined
                .extract_if(.., |claim| claim.named.is(&target, found.len()))
                .collect();
            let files = &mut self.files;
            add_model(&mut findings, files, machine, who, parts, &joined, &sources);
        }
        // Words that show nothing and name nothing that is here are about something else.
        unjoined.retain(|claim| claim.kind.is_some() && !claim.about.must_join);
        while let Some(first) = unjoined.first().copied() {
            let same: Vec<&Claim> = unjoined
                .extract_if(.., |claim| claim.named == first.named)
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

/// What the models of one process are derived from beside their files.
struct Sources<'a> {
    flags: &'a Flags,
    settings: &'a Settings,
    key: ProcessKey,
    now: Stamp,
}

fn flags(watched: &Watched) -> Flags {
    let answer = watched.command_line.answer();
    let arguments = answer
        .ok()
        .and_then(|(_, reply)| crate::processes::command_line(reply));
    let Some(arguments) = arguments else {
        return Flags::default();
    };
    let environment = watched.environment.text().ok();
    Flags::read(&arguments, environment.as_ref().map(|(_, text)| &**text))
}

fn add_model(
    findings: &mut Findings,
    files: &mut Files,
    machine: &mut dyn Machine,
    who: ProcessRef,
    parts: &[Gathered],
    claims: &[&Claim],
    sources: &Sources<'_>,
) {
    let Some(first) = parts.first() else { return };
    let headers_of = |look: &Look| match &look.outcome {
        Ok((Outcome::Header(header), _)) => Some(Arc::clone(header)),
        _ => None,
    };
    // Parts that nothing named, such as those of a server that was only given the first.
    let mut headers: Vec<Arc<Header>> = parts.iter().filter_map(|p| headers_of(&p.look)).collect();
    let mut missing_parts = parts.len() - headers.len();
    let mut sizes = parts
        .iter()
        .map(|p| p.meta.map(|meta| meta.size))
        .collect::<Vec<_>>();
    let (folder, name) = first.path.rsplit_once('/').unwrap_or(("", &first.path));
    if let Some(shard) = ShardName::parse(name).filter(|shard| shard.count > 1) {
        for number in 1..=shard.count.min(MAX_PARTS) {
            let Some(sibling) = shard.sibling(number) else {
                continue;
            };
            let path: Text = format!("{folder}/{sibling}").into();
            if parts.iter().any(|part| part.path == path) {
                continue;
            }
            let look = files.look(machine, Root::Process(who), &path, sources.now);
            sizes.push(look.meta.ok().map(|(meta, _)| meta.size));
            match headers_of(&look) {
                Some(header) if number == 1 => headers.insert(0, header),
                Some(header) => headers.push(header),
                None => missing_parts += 1,
            }
        }
        let beyond = usize::try_from(shard.count.saturating_sub(MAX_PARTS)).unwrap_or(usize::MAX);
        missing_parts = missing_parts.saturating_add(beyond);
    }
    let mut evidence: Vec<Evidence> = parts.iter().flat_map(|p| p.evidence.clone()).collect();
    // What names a file is among its candidates already.
    let otherwise = |claim: &&&Claim| !matches!(claim.named, Named::File(_));
    evidence.extend(
        claims
            .iter()
            .filter(otherwise)
            .filter_map(|claim| claim.evidence()),
    );
    evidence.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| a.detail.cmp(&b.detail)));
    evidence.dedup_by(|a, b| a.kind == b.kind && a.detail == b.detail);
    let model = Described {
        first,
        headers: &headers,
        sizes: &sizes,
        missing_parts,
        before: findings.models.len(),
        server: findings.server.as_ref(),
        server_unasked: findings.server_unasked,
        flags: sources.flags,
        claims,
        now: sources.now,
    }
    .into_model(evidence);
    if let Ok((Outcome::NotModel(why), _)) = &first.look.outcome {
        findings.notices.push(Notice {
            code: "model_unreadable",
            severity: Severity::Warning,
            subject: format!("pid:{}", sources.key.pid).into(),
            text: format!("{}: {why}", first.path).into(),
        });
    }
    if headers.iter().any(|header| header.truncated_data()) {
        findings.notices.push(Notice {
            code: "model_truncated",
            severity: Severity::Warning,
            subject: format!("pid:{}", sources.key.pid).into(),
            text: format!(
                "{}: the file is shorter than the tensors it declares: an incomplete copy or download",
                first.path
            )
            .into(),
        });
    }
    let inputs = Inputs {
        headers: &headers,
        missing_parts,
        flags: sources.flags,
        server: findings.server.as_ref().filter(|_| is_served(&model)),
        assumed_layers: sources.settings.gpu_layers,
        at: sources.now,
    };
    let parts = segments(&model, &inputs);
    findings.segments.extend(parts);
    findings.add_reported(&model, claims);
    findings.models.push(model);
}

/// Whether what the server says of its context is about this model: it names one model.
fn is_served(model: &Model) -> bool {
    model
        .evidence
        .iter()
        .any(|evidence| evidence.kind == EvidenceKind::Api)
}
