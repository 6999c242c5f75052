//! One model from its files and from what is said of it.

use model::{
    Evidence, EvidenceKind, Model, Notice, ProcessKey, Runtime, Segment, Severity, Stamp, Text,
};
use raw::{Machine, ProcessRef, Root, Settings};

use super::claim::{Claim, Named};
use super::claims::Findings;
use super::described::Described;
use super::files::{Files, Outcome};
use super::flags::Flags;
use super::gathering::Gathered;
use super::held::{has_unloaded, is_held, named_no_model};
use super::mapped::{Extents, Silent, split};
use super::memory::{Inputs, Sizes};
use super::other_formats;
use super::shards::shards;

impl Findings {
    /// Adds the sizes that `claims` report of the parts of `model`. A log's sizes are used where something else says
    /// too that the process has this file: alone it may be another start's.
    pub(super) fn add_reported(&mut self, model: &Model, claims: &[&Claim]) {
        if self.server.as_ref().is_some_and(has_unloaded) {
            return;
        }
        let is_told = |kind| matches!(kind, EvidenceKind::Settings | EvidenceKind::Installed);
        let is_shown = model
            .evidence
            .iter()
            .any(|it| it.kind != EvidenceKind::Log && !is_told(it.kind));
        let is_used = |claim: &&&Claim| {
            let is_file = matches!(claim.named, Named::File(_));
            is_shown || !is_file || claim.kind != Some(EvidenceKind::Log)
        };
        let used = claims.iter().filter(is_used);
        for part in used.flat_map(|claim| &claim.about.parts) {
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

/// What the models of one process are derived from beside their files.
pub(super) struct Sources<'a> {
    pub(super) flags: &'a Flags,
    pub(super) extents: &'a Extents,
    pub(super) runtimes: &'a [Runtime],
    pub(super) settings: &'a Settings,
    pub(super) key: ProcessKey,
    pub(super) now: Stamp,
}

/// What one model is made of.
pub(super) struct Of<'a> {
    pub(super) parts: &'a [Gathered],
    /// Every path that something names one of its files by.
    pub(super) paths: &'a [Text],
    /// What stores call it, shortest first.
    pub(super) store_names: &'a [Text],
    pub(super) claims: &'a [&'a Claim],
}

/// What a model is added with.
pub(super) struct Adding<'a> {
    pub(super) files: &'a mut Files,
    pub(super) machine: &'a mut dyn Machine,
    pub(super) sizes: &'a mut Sizes,
}

pub(super) fn add_model(
    findings: &mut Findings,
    add: Adding<'_>,
    who: ProcessRef,
    of: &Of<'_>,
    sources: &Sources<'_>,
) {
    let (parts, claims) = (of.parts, of.claims);
    let Adding {
        files,
        machine,
        sizes,
    } = add;
    let Some(first) = parts.first() else { return };
    let evidence = evidence(parts, claims);
    if let Some(found) = other_formats::Found::of(files, machine, who, parts, sources.now) {
        add_other(findings, first, &found, evidence, of, sources);
        return;
    }
    let found = shards(files, machine, Root::Process(who), parts, sources.now);
    let (headers, missing_parts) = (&found.headers, found.missing);
    let mut model = Described {
        first,
        headers,
        sizes: &found.sizes(),
        missing_parts,
        before: findings.models.len(),
        server: findings.server.as_ref(),
        server_unasked: findings.server_unasked,
        flags: sources.flags,
        claims,
        paths: of.paths,
        store_names: of.store_names,
        now: sources.now,
    }
    .into_model(evidence);
    if let Ok((Outcome::NotModel(why), _)) = &first.look.outcome {
        named_no_model(&mut model, why);
        findings.notices.push(Notice {
            code: "model_unreadable",
            severity: Severity::Warning,
            subject: format!("pid:{}", sources.key.pid).into(),
            text: format!("{}: {why}", first.path).into(),
        });
    }
    if headers.iter().any(|header| header.truncated_data()) {
        findings.notices.push(truncated(&first.path, sources));
    }
    let extents = of.paths.iter().find_map(|path| sources.extents.get(path));
    let mapped = match headers.as_slice() {
        [header] => split(header, extents, sources.flags, sources.runtimes),
        _ => Err(Silent::NotMapped),
    };
    let inputs = Inputs {
        mapped: mapped.as_ref(),
        headers,
        missing_parts,
        flags: sources.flags,
        server: findings.server.as_ref().filter(|_| is_served(&model)),
        assumed_layers: sources.settings.gpu_layers,
        at: sources.now,
    };
    if is_held(&model, findings.server.as_ref()) {
        findings.segments.extend(sizes.of(&model, &inputs));
    }
    findings.add_reported(&model, claims);
    findings.models.push(model);
}

/// A model of another format than GGUF.
fn add_other(
    findings: &mut Findings,
    first: &Gathered,
    found: &other_formats::Found,
    evidence: Vec<Evidence>,
    of: &Of<'_>,
    sources: &Sources<'_>,
) {
    let model = Described {
        first,
        headers: &[],
        sizes: &found.sizes,
        missing_parts: found.missing,
        before: findings.models.len(),
        server: findings.server.as_ref(),
        server_unasked: findings.server_unasked,
        flags: sources.flags,
        claims: of.claims,
        paths: of.paths,
        store_names: of.store_names,
        now: sources.now,
    };
    let model = found.describe(model.into_model(evidence));
    if found.is_truncated() {
        findings.notices.push(truncated(&first.path, sources));
    }
    if is_held(&model, findings.server.as_ref()) {
        findings.segments.extend(found.weights(&model));
    }
    findings.add_reported(&model, of.claims);
    findings.models.push(model);
}

fn truncated(path: &str, sources: &Sources<'_>) -> Notice {
    Notice {
        code: "model_truncated",
        severity: Severity::Warning,
        subject: format!("pid:{}", sources.key.pid).into(),
        text: format!(
            "{path}: the file is shorter than the tensors it declares: an incomplete copy or download"
        )
        .into(),
    }
}

/// All that shows the model, once each.
fn evidence(parts: &[Gathered], claims: &[&Claim]) -> Vec<Evidence> {
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
    evidence
}

/// Whether what the server says of its context is about this model: it names one model.
fn is_served(model: &Model) -> bool {
    model
        .evidence
        .iter()
        .any(|evidence| evidence.kind == EvidenceKind::Api)
}
