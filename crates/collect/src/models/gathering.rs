//! Files that may be models, by every kind of evidence, and what is known of each file.

use gguf::ShardName;
use model::{Evidence, EvidenceKind, Gap, Stamp, Text};
use raw::{FileMeta, Machine, Reply, Root};

use super::files::{Files, Look, Outcome};
use super::flags::Flags;
use crate::parse::maps;
use crate::processes::Watched;

/// Most model files looked at for one process.
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
}

impl Gathered {
    /// A file that somebody named, without evidence that anybody has it.
    pub(super) fn alone(path: Text, look: Look) -> Self {
        Self {
            paths: vec![path.clone()],
            path,
            meta: look.meta.ok().map(|(meta, _)| meta),
            look,
            evidence: Vec::new(),
            deleted: false,
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
    if let Ok((at, Reply::Links(links))) = watched.open_files.answer() {
        for (fd, link) in links {
            let (path, deleted) = maps::without_mark(link);
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
    found.truncate(MAX_CANDIDATES);
    found
}

/// Model files by name: `.gguf`, or a blob of a store, which is named by its hash.
fn may_be_model(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_hex = |text: &str| text.len() >= 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_gguf_name(name) || name.strip_prefix("sha256-").is_some_and(is_hex) || is_hex(name)
}

fn is_gguf_name(path: &str) -> bool {
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
/// where they could be read, else by path. Never by a similar name.
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
                    known.path = path.clone();
                }
                known.paths.push(path);
                known.evidence.push(evidence);
            }
            None => {
                gathered.push(Gathered {
                    paths: vec![path.clone()],
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
pub(super) fn by_model(gathered: Vec<Gathered>) -> Vec<Vec<Gathered>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_recognised_by_extension_or_as_blobs() {
        let hash = "a".repeat(64);
        for path in [
            "/m/a.gguf".to_owned(),
            "/m/A.GGUF".to_owned(),
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

    #[test]
    fn a_deleted_files_path_is_no_evidence_of_what_lies_there_now_whoever_names_it() {
        let named = |kind, path: &str, deleted| Candidate {
            path: path.into(),
            kind,
            detail: "".into(),
            at: Stamp {
                mono_ns: 0,
                wall_us: 0,
            },
            deleted,
        };
        let mut candidates = [
            named(EvidenceKind::Api, "/m/a.gguf", false),
            named(EvidenceKind::Mapped, "/m/a.gguf", true),
            named(EvidenceKind::CommandLine, "/m/a.gguf", false),
            named(EvidenceKind::CommandLine, "/m/b.gguf", false),
        ];
        spread_deletion(&mut candidates);
        assert_eq!(candidates.map(|one| one.deleted), [true, true, true, false]);
    }
}
