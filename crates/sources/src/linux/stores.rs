//! Folders and manifests of model stores.
//!
//! A folder is listed without following a link in it. A manifest is parsed into types that have the wanted fields
//! only: templates, prompts and licences that lie beside them never leave this file.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use model::{Gap, Text};
use raw::{Folder, FolderEntry, FolderEntryKind, ManifestEntry, ManifestForm};
use raw::{MAX_FOLDER_NAMES, MAX_MANIFEST_ENTRIES};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use serde::Deserialize;

use super::beneath;
use super::errors::{gap, gap_of_io};
use super::place::link_text;

/// Names looked at in one folder, kept or not.
const MAX_LOOKED_AT: usize = 8 * MAX_FOLDER_NAMES;

/// Bytes of a manifest. One with thousands of layers has about a hundred bytes for each.
const MANIFEST_BOUND: u64 = 2 * 1024 * 1024;

/// Bytes of a tag or a media type.
const NAME_BOUND: usize = 256;

/// Digits of a SHA-256.
const DIGEST_DIGITS: usize = 64;

/// The names in a folder, unless its modification time is `known`.
pub(super) fn folder(root: &OwnedFd, path: &str, known: Option<i64>) -> Result<Folder, Gap> {
    let found = File::from(beneath::open_folder(root.as_fd(), path)?);
    let meta = found.metadata().map_err(|error| gap_of_io(&error))?;
    let mtime_ns = meta
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(meta.mtime_nsec());
    if known == Some(mtime_ns) {
        let entries = None;
        return Ok(Folder { mtime_ns, entries });
    }
    let mut names = Vec::new();
    let mut folder = Dir::new(OwnedFd::from(found)).map_err(gap)?;
    for entry in (&mut folder).take(MAX_LOOKED_AT) {
        let entry = entry.map_err(gap)?;
        if let Ok(name) = entry.file_name().to_str()
            && !matches!(name, "." | "..")
        {
            names.push((name.to_owned(), entry.file_type()));
        }
    }
    names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let opened = folder.fd().map_err(gap)?;
    let entries = names.into_iter().filter_map(|(name, kind)| {
        let kind = match kind {
            FileType::Unknown => {
                let stat = statat(opened, &*name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                FileType::from_raw_mode(stat.st_mode)
            }
            kind => kind,
        };
        let kind = match kind {
            FileType::RegularFile => FolderEntryKind::File,
            FileType::Directory => FolderEntryKind::Folder,
            FileType::Symlink => FolderEntryKind::Link(link_text(opened, &name).ok()?.into()),
            _ => return None,
        };
        let name = name.into();
        Some(FolderEntry { name, kind })
    });
    let entries = Some(entries.take(MAX_FOLDER_NAMES).collect());
    Ok(Folder { mtime_ns, entries })
}

/// The kept fields of a manifest.
pub(super) fn manifest(
    root: &OwnedFd,
    path: &str,
    form: ManifestForm,
) -> Result<Vec<ManifestEntry>, Gap> {
    let file = beneath::open_regular(root.as_fd(), path)?;
    let mut text = Vec::new();
    let read = file.take(MANIFEST_BOUND + 1).read_to_end(&mut text);
    read.map_err(|error| gap_of_io(&error))?;
    if text.len() as u64 > MANIFEST_BOUND {
        return Err(Gap::OverBound);
    }
    parsed(&text, form)
}

#[derive(Deserialize)]
struct OllamaManifest {
    #[serde(default)]
    layers: Vec<OllamaLayer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OllamaLayer {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    digest: String,
}

#[derive(Deserialize)]
struct DockerModels {
    #[serde(default)]
    models: Vec<DockerModel>,
}

#[derive(Deserialize)]
struct DockerModel {
    #[serde(default)]
    id: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
}

fn parsed(text: &[u8], form: ManifestForm) -> Result<Vec<ManifestEntry>, Gap> {
    let malformed = |_| Gap::Malformed;
    Ok(match form {
        ManifestForm::Ollama => {
            let manifest: OllamaManifest = serde_json::from_slice(text).map_err(malformed)?;
            let layers = manifest.layers.into_iter().take(MAX_MANIFEST_ENTRIES);
            let entry = |layer: OllamaLayer| ManifestEntry {
                names: Vec::new(),
                media_type: plain(&layer.media_type),
                digests: digest(&layer.digest).into_iter().collect(),
            };
            layers.map(entry).collect()
        }
        ManifestForm::DockerModels => {
            let index: DockerModels = serde_json::from_slice(text).map_err(malformed)?;
            let models = index.models.into_iter().take(MAX_MANIFEST_ENTRIES);
            let entry = |model: DockerModel| {
                let digests = std::iter::once(&model.id).chain(&model.files);
                let kept = MAX_FOLDER_NAMES;
                ManifestEntry {
                    names: model
                        .tags
                        .iter()
                        .take(kept)
                        .filter_map(|it| plain(it))
                        .collect(),
                    media_type: None,
                    digests: digests.take(kept).filter_map(|it| digest(it)).collect(),
                }
            };
            models.map(entry).collect()
        }
    })
}

/// A tag or a media type: one word of the characters that registries allow, no sentence.
fn plain(text: &str) -> Option<Text> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-/:+".contains(&b);
    let fits = !text.is_empty() && text.len() <= NAME_BOUND && text.bytes().all(is_plain);
    fits.then(|| text.into())
}

fn digest(text: &str) -> Option<Text> {
    let digits = text.strip_prefix("sha256:")?;
    let is_digest = digits.len() == DIGEST_DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_digest.then(|| digits.to_ascii_lowercase().into())
}

#[cfg(test)]
mod tests {
    use raw::{ProcessRef, Question, Reply, Root};

    use super::super::tests::Tree;
    use super::*;

    #[test]
    fn of_a_manifest_nothing_but_types_and_digests_is_kept() {
        let digest = "ab".repeat(32);
        let text = format!(
            r#"{{"config":{{"digest":"sha256:{digest}","secret":"canary"}},"layers":[
            {{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{digest}","size":1,"from":"/home/canary"}},
            {{"mediaType":"application/vnd.ollama.image.system","digest":"You are canary","text":"canary"}},
            {{"mediaType":"a canary sentence"}}],"system":"canary"}}"#
        );
        let kept = parsed(text.as_bytes(), ManifestForm::Ollama).unwrap();
        assert_eq!(kept.len(), 3);
        assert_eq!(*kept[0].digests, [Text::from(digest)]);
        assert!(!format!("{kept:?}").contains("canary"), "{kept:?}");
        assert_eq!(parsed(b"[", ManifestForm::Ollama), Err(Gap::Malformed));
    }

    #[test]
    fn of_docker_s_list_tags_and_digests_are_kept() {
        let digest = "cd".repeat(32);
        let text = format!(
            r#"{{"models":[{{"id":"sha256:{digest}","tags":["ai/smollm2:latest","a canary"],
            "files":["sha256:{digest}","/home/canary"],"config":"canary"}}]}}"#
        );
        let kept = parsed(text.as_bytes(), ManifestForm::DockerModels).unwrap();
        assert_eq!(kept[0].names, [Text::from("ai/smollm2:latest")]);
        assert_eq!(kept[0].digests.len(), 2);
        assert!(!format!("{kept:?}").contains("canary"), "{kept:?}");
    }

    const WHO: ProcessRef = ProcessRef {
        pid: 7,
        start_ticks: 99,
    };

    fn listed(tree: &Tree, root: Root, path: &str, known_ns: Option<i64>) -> Result<Folder, Gap> {
        let path = path.into();
        let question = Question::Folder {
            root,
            path,
            known_ns,
        };
        match tree.posted(&question)? {
            Reply::Folder(folder) => Ok(folder),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_folder_is_listed_without_following_what_is_in_it_and_only_where_it_changed() {
        let tree = Tree::new();
        tree.file("m/b/file", "x")
            .folder("m/b/a folder")
            .link("m/b/link", "../../secret")
            .fifo("m/b/fifo");
        let folder = listed(&tree, Root::Host, "/m/b", None).unwrap();
        let entries = folder.entries.unwrap();
        let kinds: Vec<_> = entries.iter().map(|it| (&*it.name, &it.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("a folder", &FolderEntryKind::Folder),
                ("file", &FolderEntryKind::File),
                ("link", &FolderEntryKind::Link("../../secret".into())),
            ]
        );
        let same = listed(&tree, Root::Host, "/m/b", Some(folder.mtime_ns)).unwrap();
        assert_eq!((same.mtime_ns, same.entries), (folder.mtime_ns, None));
        let other = listed(&tree, Root::Host, "/m/b", Some(1)).unwrap();
        assert!(other.entries.is_some());
    }

    #[test]
    fn neither_a_file_nor_a_relative_path_nor_nothing_is_a_folder() {
        let tree = Tree::new();
        tree.file("m/file", "x").fifo("m/fifo");
        for path in ["/m/file", "/m/fifo", "m", "/gone", "/m/\0"] {
            let found = listed(&tree, Root::Host, path, None);
            assert_eq!(found, Err(Gap::NotPresent), "{path:?}");
        }
    }

    #[test]
    fn a_folder_of_a_container_is_the_one_in_its_own_root() {
        let tree = Tree::new();
        tree.process(7, 99)
            .file("proc/7/root/m/inside", "")
            .file("m/outside", "")
            .link("proc/7/root/out", "../../../m");
        let own = listed(&tree, Root::Process(WHO), "/m", None).unwrap();
        assert_eq!(&*own.entries.unwrap()[0].name, "inside");
        // The link ends in the container, where there is no such folder, or is not followed at all.
        if let Ok(folder) = listed(&tree, Root::Process(WHO), "/out", None) {
            assert_eq!(&*folder.entries.unwrap()[0].name, "inside");
        }
    }

    #[test]
    fn names_and_bytes_are_bounded() {
        let tree = Tree::new();
        for number in 0..MAX_FOLDER_NAMES + 5 {
            tree.file(&format!("m/{number:05}"), "");
        }
        let folder = listed(&tree, Root::Host, "/m", None).unwrap();
        assert_eq!(folder.entries.unwrap().len(), MAX_FOLDER_NAMES);
        let large = " ".repeat(usize::try_from(MANIFEST_BOUND).unwrap() + 1);
        tree.file("large", large).file("words", "{\"layers\":[{}]}");
        let manifest = |path: &str| {
            tree.posted(&Question::Manifest {
                root: Root::Host,
                path: path.into(),
                form: ManifestForm::Ollama,
            })
        };
        assert_eq!(manifest("/large"), Err(Gap::OverBound));
        let empty = ManifestEntry::default();
        assert_eq!(manifest("/words"), Ok(Reply::Manifest(vec![empty])));
        assert_eq!(manifest("/gone"), Err(Gap::NotPresent));
    }
}
