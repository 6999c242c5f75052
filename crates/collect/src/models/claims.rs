//! Which models a process has, and by what evidence.

use std::collections::BTreeMap;
use std::sync::Arc;

use gguf::{Header, ShardName};
use model::{
    Bytes, Estimated, Evidence, EvidenceKind, Gap, Model, Notice, ProcessKey, Segment, Server,
    Severity, Stamp, Text,
};
use raw::{FileMeta, Machine, ProcessRef, Reply, Root, Settings};

use super::described::Described;
use super::files::{Files, Look, Outcome};
use super::flags::Flags;
use super::memory::{Inputs, segments};
use super::server::Asked;
use crate::parse::maps;
use crate::processes::Watched;

/// Most model files looked at for one process.
const MAX_CANDIDATES: usize = 32;

/// Most parts of a split model that are looked for.
const MAX_PARTS: u32 = 64;

/// Models of all processes over time.
#[derive(Default)]
pub(crate) struct Models {
    files: Files,
    known: BTreeMap<ProcessKey, Known>,
}

/// What is derived from one process's answers; made anew when those change.
#[derive(Default)]
struct Known {
    generation: Option<u64>,
    flags: Flags,
    candidates: Vec<Candidate>,
    server: Asked,
}

/// One fact that names a file.
#[derive(Clone, Debug)]
struct Candidate {
    path: Text,
    kind: EvidenceKind,
    detail: Text,
    at: Stamp,
    /// The file has been deleted or replaced since it was mapped: its path leads elsewhere.
    deleted: bool,
}

/// What is known of one process's models.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) models: Vec<Model>,
    pub(crate) segments: Vec<Segment<Estimated<Bytes>>>,
    pub(crate) server: Option<Server>,
    pub(crate) notices: Vec<Notice>,
}

/// A model while its evidence is gathered.
pub(super) struct Gathered {
    pub(super) path: Text,
    meta: Option<FileMeta>,
    pub(super) look: Look,
    evidence: Vec<Evidence>,
    deleted: bool,
}

impl Models {
    /// Starts a refresh.
    pub(crate) fn begin(&mut self) {
        self.files.begin();
    }

    /// Ends a refresh: forgets processes other than `keys`.
    pub(crate) fn end(&mut self, keys: &[ProcessKey]) {
        self.files.end();
        self.known.retain(|key, _| keys.contains(key));
    }

    /// Whether an answer is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        self.files.is_waiting() || self.known.values().any(|known| known.server.is_waiting())
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
        if known.generation != Some(watched.generation) {
            known.generation = Some(watched.generation);
            known.flags = flags(watched);
            known.candidates = candidates(watched, &known.flags);
        }
        let said = if known.flags.is_server && settings.probe {
            known.server.ask(machine, who, &watched.listeners, now)
        } else {
            None
        };
        let mut candidates = known.candidates.clone();
        if let Some((path, at)) = said.as_ref().and_then(|said| said.model_path.clone()) {
            candidates.insert(
                0,
                Candidate {
                    path: resolved(&path, watched),
                    kind: EvidenceKind::Api,
                    detail: "/props model_path".into(),
                    at,
                    deleted: false,
                },
            );
        }
        let server = said.map(|said| said.server);
        let gathered = gather(
            &mut self.files,
            machine,
            Root::Process(who),
            candidates,
            now,
        );
        let mut findings = Findings {
            server,
            ..Findings::default()
        };
        for parts in by_model(gathered) {
            let sources = Sources {
                flags: &known.flags,
                settings: &settings,
                key,
                now,
            };
            add_model(
                &mut findings,
                &mut self.files,
                machine,
                who,
                &parts,
                &sources,
            );
        }
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

/// Files that may be models, by every kind of evidence. Recomputed from answers, never from
/// earlier conclusions.
fn candidates(watched: &Watched, flags: &Flags) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    if let Ok((at, text)) = watched.maps.text() {
        let mut mapped: Vec<(&str, bool)> = maps::parse(&text)
            .filter(|mapping| may_be_model(mapping.path))
            .map(|mapping| (mapping.path, mapping.deleted))
            .collect();
        mapped.sort_unstable();
        mapped.dedup();
        for (path, deleted) in mapped {
            let (path, kind) = (path.into(), EvidenceKind::Mapped);
            found.push(Candidate {
                path,
                kind,
                detail: "maps".into(),
                at,
                deleted,
            });
        }
    }
    if let Ok((at, Reply::Links(links))) = watched.open_files.answer() {
        for (fd, link) in links.iter().filter(|(_, link)| may_be_model(link)) {
            let deleted = link.ends_with(" (deleted)");
            let path = link.strip_suffix(" (deleted)").unwrap_or(link).into();
            let detail = format!("fd {fd}").into();
            found.push(Candidate {
                path,
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
    found.truncate(MAX_CANDIDATES);
    found
}

/// Model files by name: `.gguf`, or a blob of a store, which is named by its hash.
fn may_be_model(path: &str) -> bool {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_hex = |text: &str| text.len() >= 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_gguf_name(name) || name.strip_prefix("sha256-").is_some_and(is_hex) || is_hex(name)
}

fn is_gguf_name(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("gguf"))
}

/// A path as the process meant it: relative to its working directory.
fn resolved(path: &str, watched: &Watched) -> Text {
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

/// Looks at every candidate's file and joins the evidence about one file: by device and inode
/// where they could be read, else by path. Never by a similar name.
fn gather(
    files: &mut Files,
    machine: &mut dyn Machine,
    root: Root,
    candidates: Vec<Candidate>,
    now: Stamp,
) -> Vec<Gathered> {
    let mut gathered: Vec<Gathered> = Vec::new();
    for candidate in candidates {
        let Candidate {
            path,
            kind,
            detail,
            at,
            deleted,
        } = candidate;
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
        let meta = look.meta.ok().map(|(meta, _)| meta);
        let same_file = gathered
            .iter_mut()
            .find(|g| meta.is_some() && g.meta == meta);
        match same_file {
            Some(known) => {
                // A store's blob is mapped by its hash; the name somebody gave it tells more.
                if !is_gguf_name(&known.path) && is_gguf_name(&path) {
                    known.path = path;
                }
                known.evidence.push(evidence);
            }
            None => {
                gathered.push(Gathered {
                    path,
                    meta,
                    look,
                    evidence: vec![evidence],
                    deleted,
                });
            }
        }
    }
    // A blob that is no GGUF file is something else's; a file called .gguf that is none is shown,
    // with the reason.
    gathered.retain(|g| match &g.look.outcome {
        Ok((Outcome::Header(_), _)) => true,
        Ok((Outcome::NotModel(_), _)) | Err(_) => is_gguf_name(&g.path),
    });
    gathered
}

/// Parts of one split model go together, first part first.
fn by_model(gathered: Vec<Gathered>) -> Vec<Vec<Gathered>> {
    let mut models: Vec<(Option<Text>, Vec<Gathered>)> = Vec::new();
    for part in gathered {
        let stem = shard_stem(&part.path);
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
    let shard = ShardName::parse(name).filter(|shard| shard.count > 1)?;
    Some(format!("{folder}/{}", shard.stem).into())
}

fn add_model(
    findings: &mut Findings,
    files: &mut Files,
    machine: &mut dyn Machine,
    who: ProcessRef,
    parts: &[Gathered],
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
        missing_parts += usize::try_from(shard.count.saturating_sub(MAX_PARTS)).unwrap_or(0);
    }
    let mut evidence: Vec<Evidence> = parts.iter().flat_map(|p| p.evidence.clone()).collect();
    evidence.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| a.detail.cmp(&b.detail)));
    evidence.dedup_by(|a, b| a.kind == b.kind && a.detail == b.detail);
    let model = Described {
        first,
        headers: &headers,
        sizes: &sizes,
        findings,
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
    findings.models.push(model);
    findings
        .models
        .sort_by_key(|model| std::cmp::Reverse(model.label));
}

/// Whether what the server says of its context is about this model: it names one model.
fn is_served(model: &Model) -> bool {
    model
        .evidence
        .iter()
        .any(|evidence| evidence.kind == EvidenceKind::Api)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_recognised_by_extension_or_as_blobs() {
        let hash = "a".repeat(64);
        for path in [
            "/m/a.gguf".to_owned(),
            "/m/A.GGUF (deleted)".to_owned(),
            format!("/home/u/.ollama/models/blobs/sha256-{hash}"),
            format!("/home/u/.cache/huggingface/hub/models--x/blobs/{hash}"),
        ] {
            assert!(may_be_model(&path), "{path}");
        }
        for path in [
            "/m/a.gguf.part",
            "/usr/lib/libcuda.so.1",
            "/m/gguf",
            "/dev/nvidia0",
        ] {
            assert!(!may_be_model(path), "{path}");
        }
    }

    #[test]
    fn parts_of_a_split_model_share_a_stem() {
        assert_eq!(
            shard_stem("/m/x-00001-of-00002.gguf"),
            shard_stem("/m/x-00002-of-00002.gguf")
        );
        assert_ne!(
            shard_stem("/a/x-00001-of-00002.gguf"),
            shard_stem("/b/x-00001-of-00002.gguf")
        );
        assert_eq!(shard_stem("/m/x.gguf"), None);
    }
}
