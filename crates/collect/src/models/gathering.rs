//! Files that may be models, by every kind of evidence, and what is known of each file.

use std::collections::BTreeSet;
use std::sync::Arc;

use formats::Description;
use gguf::ShardName;
use model::{Evidence, EvidenceKind, Gap, Notice, ProcessKey, Severity, Stamp, Text};
use raw::{FileMeta, Machine, OpenFile, Root};

use super::files::{Files, Look, Outcome};
use super::flags::Flags;
use super::other_formats;
use crate::parse::maps;
use crate::processes::Watched;

/// Most facts about model files that are looked at for one process; what is left out is said.
const MAX_CANDIDATES: usize = 32;

/// One fact that names a file.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) path: Text,
    pub(super) kind: EvidenceKind,
    pub(super) detail: Text,
    pub(super) at: Stamp,
    /// The file has been deleted or replaced since it was mapped: its path leads elsewhere.
    pub(super) deleted: bool,
}

/// A model while its evidence is gathered.
pub(super) struct Gathered {
    pub(super) path: Text,
    /// Every path that something names it by.
    pub(super) paths: Vec<Text>,
    pub(super) meta: Option<FileMeta>,
    pub(super) look: Look,
    pub(super) evidence: Vec<Evidence>,
    deleted: bool,
    /// The pipeline it is a component of: folder and index.
    pub(super) pipeline: Option<(Text, Arc<Description>)>,
}

impl Gathered {
    fn is_only_named(&self) -> bool {
        let named = |one: &Evidence| one.kind == EvidenceKind::CommandLine;
        self.evidence.iter().all(named)
    }

    fn is_served(&self) -> bool {
        let mut evidence = self.evidence.iter();
        evidence.any(|one| one.kind == EvidenceKind::Api)
    }

    /// A file that somebody named, without evidence that anybody has it.
    pub(super) fn alone(path: Text, look: Look) -> Self {
        Self {
            paths: vec![path.clone()],
            path,
            meta: look.meta.ok().map(|(meta, _)| meta),
            look,
            evidence: Vec::new(),
            deleted: false,
            pipeline: None,
        }
    }
}

/// Files that may be models, by every kind of evidence. Recomputed from answers, never from
/// earlier conclusions.
pub(super) fn candidates(watched: &Watched, flags: &Flags) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    if let Ok((at, text)) = watched.maps.text() {
        let mut mapped: Vec<(&str, bool)> = maps::parse(&text)
            .filter(|mapping| may_be_model(mapping.path))
            .map(|mapping| (mapping.path, mapping.deleted))
            .collect();
        mapped.sort_unstable();
        mapped.dedup();
        for (path, deleted) in mapped {
            // The kernel writes a line break in a name as `\\012`.
            let path = path.replace("\\012", "\n").into();
            let kind = EvidenceKind::Mapped;
            found.push(Candidate {
                path,
                kind,
                detail: "maps".into(),
                at,
                deleted,
            });
        }
    }
    if let Ok((at, reply)) = watched.open_files.answer() {
        for OpenFile { fd, path, .. } in reply.open_files().iter() {
            let (path, deleted) = maps::without_mark(path);
            if !may_be_model(path) {
                continue;
            }
            let detail = format!("fd {fd}").into();
            found.push(Candidate {
                path: path.into(),
                kind: EvidenceKind::Open,
                detail,
                at,
                deleted,
            });
        }
    }
    let named_at = watched.command_line.answer().map(|(at, _)| at);
    if let Ok(at) = named_at {
        for (flag, value) in &flags.models {
            found.push(Candidate {
                path: resolved(value, watched),
                kind: EvidenceKind::CommandLine,
                detail: Text::from(*flag),
                at,
                deleted: false,
            });
        }
    }
    found.sort_by_key(|candidate| is_vague(&candidate.path));
    found
}

/// The first of `candidates` that are looked at, and how many other files they name.
pub(super) fn bounded(mut candidates: Vec<Candidate>) -> (Vec<Candidate>, usize) {
    let beyond = candidates.split_off(candidates.len().min(MAX_CANDIDATES));
    let is_looked_at = |path: &Text| candidates.iter().any(|one| one.path == *path);
    let others: BTreeSet<Text> = beyond
        .into_iter()
        .map(|one| one.path)
        .filter(|path| !is_looked_at(path))
        .collect();
    (candidates, others.len())
}

/// What is said where files were left out.
pub(super) fn left_out(count: usize, key: ProcessKey) -> Option<Notice> {
    (count > 0).then(|| Notice {
        code: "models_left_out",
        severity: Severity::Warning,
        subject: format!("pid:{}", key.pid).into(),
        text: format!(
            "{count} more files that may be models were not looked at: it names more than {MAX_CANDIDATES}"
        )
        .into(),
    })
}

/// Model files by name: an extension of theirs, or a blob of a store, which is named by its hash.
pub(super) fn may_be_model(path: &str) -> bool {
    formats::names::may_be_model(path) || is_blob(path)
}

/// Whether a file is named by its hash, as stores do.
pub(super) fn is_blob(path: &str) -> bool {
    formats::names::content_hash(path.rsplit('/').next().unwrap_or(path)).is_some()
}

/// Extensions that models share with much else: looked at last, so that they crowd out no model.
fn is_vague(path: &str) -> bool {
    let vague = ["bin", "plan", "engine", "pt"];
    vague
        .iter()
        .any(|extension| formats::names::has_extension(path, extension))
}

pub(super) fn is_gguf_name(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("gguf"))
}

/// A path as the process meant it: relative to its working directory.
pub(super) fn resolved(path: &str, watched: &Watched) -> Text {
    if path.starts_with('/') {
        return path.into();
    }
    let folder = watched
        .links
        .answer()
        .ok()
        .and_then(|(_, reply)| crate::processes::link(reply, "cwd").ok());
    match folder {
        Some(folder) => {
            let path = path.strip_prefix("./").unwrap_or(path);
            format!("{}/{path}", folder.trim_end_matches('/')).into()
        }
        None => path.into(),
    }
}

/// A path that a deleted file is mapped or open by leads to another file now, whatever else names it.
fn spread_deletion(candidates: &mut [Candidate]) {
    let gone: Vec<Text> = candidates
        .iter()
        .filter(|one| one.deleted)
        .map(|one| one.path.clone())
        .collect();
    for candidate in candidates {
        candidate.deleted |= gone.contains(&candidate.path);
    }
}

/// Looks at every candidate's file and joins the evidence about one file: by device and inode
/// where they could be read, else by path alone. Never by a similar name.
pub(super) fn gather(
    files: &mut Files,
    machine: &mut dyn Machine,
    root: Root,
    mut candidates: Vec<Candidate>,
    now: Stamp,
) -> Vec<Gathered> {
    spread_deletion(&mut candidates);
    let mut gathered: Vec<Gathered> = Vec::new();
    for candidate in candidates {
        let Candidate {
            path,
            kind,
            detail,
            at,
            deleted,
        } = candidate;
        let named = path.clone();
        let evidence = Evidence { kind, detail, at };
        let same_path = gathered
            .iter_mut()
            .find(|g| g.path == path && g.deleted == deleted);
        if let Some(known) = same_path {
            known.evidence.push(evidence);
            continue;
        }
        let look = if deleted {
            Look {
                meta: Err(Gap::NotPresent),
                outcome: Err(Gap::NotPresent),
            }
        } else {
            files.look(machine, root, &path, now)
        };
        // Programs that take a folder are given it by name only.
        let is_folder =
            kind == EvidenceKind::CommandLine && look.meta.is_err() && !may_be_model(&path);
        let within = is_folder.then(|| other_formats::in_folder(files, machine, root, &path, now));
        let (path, look) = within.flatten().unwrap_or((path, look));
        let meta = look.meta.ok().map(|(meta, _)| meta);
        let same_file = gathered
            .iter_mut()
            .find(|g| meta.is_some_and(|meta| meta.is_identity()) && g.meta == meta);
        match same_file {
            Some(known) => {
                // A store's blob is mapped by its hash; the name somebody gave it tells more.
                if is_blob(&known.path) && !is_blob(&path) {
                    known.path = path;
                }
                known.paths.push(named);
                known.evidence.push(evidence);
            }
            None => {
                gathered.push(Gathered {
                    paths: vec![named],
                    path,
                    meta,
                    look,
                    evidence: vec![evidence],
                    deleted,
                    pipeline: None,
                });
            }
        }
    }
    // A file that is no model is something else's, whatever its name may hint at; one whose extension belongs to models
    // alone is shown, with the reason.
    gathered.retain(|g| match &g.look.outcome {
        Ok((Outcome::Header(_), _)) => true,
        Ok((Outcome::Other(found), _)) => other_formats::is_model(found, &g.path),
        // What a program is to write is named too.
        Err(Gap::NotPresent | Gap::NotRegular) if !is_gguf_name(&g.path) && g.is_only_named() => {
            false
        }
        // What a server says that it has loaded is its word, and is shown to be none.
        Ok((Outcome::NotModel(_), _)) if g.is_served() => true,
        Ok((Outcome::NotModel(_), _)) | Err(_) => formats::names::claims_model(&g.path),
    });
    for file in &mut gathered {
        file.pipeline = other_formats::pipeline(files, machine, root, file, now);
    }
    gathered
}

/// Parts of one split model go together, first part first.
pub(super) fn by_model(gathered: Vec<Gathered>) -> Vec<Vec<Gathered>> {
    let mut models: Vec<(Option<Text>, Vec<Gathered>)> = Vec::new();
    for part in gathered {
        let stem = match &part.pipeline {
            Some((folder, _)) => Some(format!("{folder}/model_index.json").into()),
            None => shard_stem(&part.path),
        };
        let same = models
            .iter_mut()
            .find(|(known, _)| stem.is_some() && *known == stem);
        match same {
            Some((_, parts)) => parts.push(part),
            None => models.push((stem, vec![part])),
        }
    }
    models
        .into_iter()
        .map(|(_, mut parts)| {
            parts.sort_by(|a, b| a.path.cmp(&b.path));
            parts
        })
        .collect()
}

fn shard_stem(path: &str) -> Option<Text> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if let Some(part) =
        formats::names::Part::parse(name).filter(|part| part.count > 1 && part.extension != "gguf")
    {
        return Some(format!("{folder}/{}.{}", part.stem, part.extension).into());
    }
    let shard = ShardName::parse(name).filter(|shard| shard.count > 1)?;
    Some(format!("{folder}/{}", shard.stem).into())
}

#[cfg(test)]
mod tests;
