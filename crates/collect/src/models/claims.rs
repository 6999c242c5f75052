//! Which models a process has, and by what evidence.

use std::collections::BTreeMap;

use model::{
    Bytes, Category, Estimated, Evidence, EvidenceKind, Gap, Measured, Model, Notice, ProcessKey,
    Reading, Reported, Runtime, Segment, Server, Severity, Stamp, Text,
};
use raw::{Machine, ProcessRef, Root, Settings};

use super::category::ByLoad;
use super::claim::{Claim, Named, Target};
use super::described::{Described, without_file};
use super::files::{Files, Outcome};
use super::flags::Flags;
use super::gathering::{Candidate, Gathered, by_model, candidates, gather, resolved};
use super::memory::{Inputs, Sizes};
use super::reach::Forwarders;
use super::runtimes;
use super::server::Asked;
use super::shards::shards;
use crate::processes::Watched;

/// Models of all processes over time.
#[derive(Default)]
pub(crate) struct Models {
    files: Files,
    forwarders: Forwarders,
    known: BTreeMap<ProcessKey, Known>,
}

/// What is derived from one process's answers; made anew when those change.
struct Known {
    generation: Option<u64>,
    runtimes: Result<Vec<Runtime>, Gap>,
    flags: Flags,
    candidates: Vec<Candidate>,
    server: Asked,
    by_load: ByLoad,
    sizes: Sizes,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            generation: None,
            runtimes: Err(Gap::Pending),
            flags: Flags::default(),
            candidates: Vec::new(),
            server: Asked::default(),
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
        self.runtimes = runtimes::runtimes(&watched.maps);
        self.flags = flags(watched);
        self.candidates = candidates(watched, &self.flags);
    }
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
    pub(crate) fn begin(&mut self) {
        self.files.begin();
        self.forwarders.begin();
    }

    /// Ends a refresh: forgets processes other than `keys`, which are sorted.
    pub(crate) fn end(&mut self, keys: &[ProcessKey]) {
        self.files.end();
        self.known.retain(|key, _| keys.binary_search(key).is_ok());
    }

    /// Whether an answer is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        self.files.is_waiting()
            || self.forwarders.is_waiting()
            || self.known.values().any(|known| known.server.is_waiting())
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
        key: ProcessKey,
        who: ProcessRef,
        watched: &Watched,
        now: Stamp,
    ) -> Findings {
        let settings = machine.facts().settings.clone();
        if !settings.models {
            return Findings::default();
        }
        let known = self.known.entry(key).or_default();
        known.renew(watched);
        known.sizes.begin();
        let said = if known.flags.is_server && settings.probe {
            known
                .server
                .ask(machine, who, watched, &mut self.forwarders, now)
        } else {
            Err(None)
        };
        let (said, server_unasked) = match said {
            Ok(said) => (Some(said), None),
            Err(why_not) => (None, why_not),
        };
        let (server, mut claims) = match said {
            Some(said) => (Some(said.server), said.claims),
            None => (None, Vec::new()),
        };
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
            let sizes = &mut known.sizes;
            let add = Adding {
                files,
                machine: &mut *machine,
                sizes,
            };
            add_model(&mut findings, add, who, parts, &joined, &sources);
        }
        // Words that show nothing and name nothing that is here are about something else.
        unjoined.retain(|claim| claim.kind.is_some());
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

/// What a model is added with.
struct Adding<'a> {
    files: &'a mut Files,
    machine: &'a mut dyn Machine,
    sizes: &'a mut Sizes,
}

fn add_model(
    findings: &mut Findings,
    add: Adding<'_>,
    who: ProcessRef,
    parts: &[Gathered],
    claims: &[&Claim],
    sources: &Sources<'_>,
) {
    let Adding {
        files,
        machine,
        sizes,
    } = add;
    let Some(first) = parts.first() else { return };
    let found = shards(files, machine, Root::Process(who), parts, sources.now);
    let (headers, missing_parts) = (&found.headers, found.missing);
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
        headers,
        sizes: &found.sizes(),
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
        headers,
        missing_parts,
        flags: sources.flags,
        server: findings.server.as_ref().filter(|_| is_served(&model)),
        assumed_layers: sources.settings.gpu_layers,
        at: sources.now,
    };
    findings.segments.extend(sizes.of(&model, &inputs));
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
