//! What stores of models call a file. A name is a name: it is never evidence that anything is loaded.
//!
//! A file's own path tells whose store it is in: a blob of Ollama lies beside its manifests, one of Hugging Face's
//! cache beside links with the files' names. Only where nothing lies beside it, the places where the process' own
//! environment says that models are kept are looked at too.

mod place;
mod shelves;

use std::collections::BTreeMap;

use model::{Stamp, Text};
use raw::{FolderEntryKind, Machine, ManifestForm, Root};

pub(super) use place::Homes;
use place::{Place, repository_name};
use shelves::Shelves;

/// Names are looked up again after this time: models are pulled, copied and renamed.
const LOOK_EVERY_MS: u64 = 60_000;

/// Most files whose names are known at once.
const MAX_FILES: usize = 256;

/// Most manifests read for one file.
const MAX_MANIFESTS: usize = 512;

/// Most names kept of one file: a blob may belong to many tags.
const MAX_NAMES: usize = 64;

/// Most paths of one file that are looked at: as it is mapped, named and served.
const MAX_PATHS: usize = 8;

/// Folders between a snapshot and a file in it, e.g. `q4/model.gguf`.
const MAX_SNAPSHOT_DEPTH: u32 = 3;

/// Most snapshots of a repository looked through, and most folders in one.
const MAX_SNAPSHOTS: usize = 16;

/// What stores call files, by root and path.
#[derive(Default)]
pub(super) struct Stores {
    shelves: Shelves,
    files: BTreeMap<(Root, Text), File>,
    tick: u64,
}

/// One file's names.
#[derive(Default)]
struct File {
    names: Vec<Text>,
    /// When they were found; `None` before.
    found_ns: Option<u64>,
    waiting: bool,
    seen: u64,
}

impl Stores {
    /// Starts a refresh.
    pub(super) const fn begin(&mut self) {
        self.tick += 1;
    }

    /// Ends a refresh: forgets files that nobody asked for.
    pub(super) fn end(&mut self) {
        let tick = self.tick;
        self.files.retain(|_, file| file.seen == tick);
        let files = &self.files;
        self.shelves
            .retain(|root| files.keys().any(|(known, _)| *known == root));
    }

    /// Whether an answer is outstanding.
    pub(super) fn is_waiting(&self) -> bool {
        self.files.values().any(|file| file.waiting)
    }

    /// What stores call the file that lies at each of `paths`, shortest first.
    pub(super) fn names_of(
        &mut self,
        machine: &mut dyn Machine,
        root: Root,
        paths: &[Text],
        homes: &Homes,
        now: Stamp,
    ) -> Vec<Text> {
        let mut names = Vec::new();
        for path in paths.iter().take(MAX_PATHS) {
            let found = self.names(machine, root, path, homes, now);
            names.extend_from_slice(found);
        }
        in_order(names)
    }

    /// What stores call the file at `path`, shortest first; asks for what is missing.
    fn names(
        &mut self,
        machine: &mut dyn Machine,
        root: Root,
        path: &Text,
        homes: &Homes,
        now: Stamp,
    ) -> &[Text] {
        let key = (root, path.clone());
        if !self.files.contains_key(&key) && self.files.len() >= MAX_FILES {
            return &[];
        }
        let file = self.files.entry(key).or_default();
        file.seen = self.tick;
        let is_old = |at: u64| now.mono_ns >= at.saturating_add(LOOK_EVERY_MS * 1_000_000);
        if file.waiting || file.found_ns.is_none_or(is_old) {
            let mut look = Look {
                shelves: &mut self.shelves,
                machine,
                root,
                now,
                names: Vec::new(),
                waiting: false,
            };
            look.up(path, homes);
            file.waiting = look.waiting;
            // What was known stays until everything has been looked through again.
            if !look.waiting {
                file.names = in_order(look.names);
                file.found_ns = Some(now.mono_ns);
            }
        }
        &file.names
    }
}

/// Shortest first, each once.
fn in_order(mut names: Vec<Text>) -> Vec<Text> {
    names.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    names.dedup();
    names.truncate(MAX_NAMES);
    names
}

/// One look through the stores for one file.
struct Look<'a> {
    shelves: &'a mut Shelves,
    machine: &'a mut dyn Machine,
    root: Root,
    now: Stamp,
    names: Vec<Text>,
    /// An answer is outstanding.
    waiting: bool,
}

/// What has a name in a folder.
type Entry = (Text, FolderEntryKind);

impl Look<'_> {
    fn up(&mut self, path: &str, homes: &Homes) {
        match homes.place(path) {
            None => {}
            Some(Place::Named(name)) => self.names.push(name),
            Some(Place::Ollama { store, digest }) => {
                self.ollama(store, digest);
                // The folder of blobs may be a link to another disk.
                for other in homes.ollama() {
                    if self.names.is_empty() && !self.waiting && **other != *store {
                        self.ollama(other, digest);
                    }
                }
            }
            Some(Place::Docker { store, digest }) => self.docker(store, digest),
            Some(Place::CacheBlob { repository, hash }) => self.snapshots(repository, hash),
            Some(Place::LlamaCache { folder, file }) => self.llama_cache(folder, file),
        }
    }

    fn folder(&mut self, path: &str) -> Vec<Entry> {
        let found = self.shelves.folder(self.machine, self.root, path, self.now);
        self.waiting |= found.is_none();
        // tidy: names that are not known yet, not a reading
        found.unwrap_or_default()
    }

    fn folders(&mut self, path: &str) -> Vec<Text> {
        let entries = self.folder(path).into_iter();
        let folders = entries.filter(|(_, kind)| *kind == FolderEntryKind::Folder);
        folders.map(|(name, _)| name).collect()
    }

    /// `manifests/HOST/NAMESPACE/MODEL/TAG` below a store of Ollama.
    fn ollama(&mut self, store: &str, digest: &str) {
        let mut left = MAX_MANIFESTS;
        let manifests = format!("{store}/manifests");
        for host in self.folders(&manifests) {
            for namespace in self.folders(&format!("{manifests}/{host}")) {
                let of = format!("{manifests}/{host}/{namespace}");
                for model in self.folders(&of) {
                    for (tag, kind) in self.folder(&format!("{of}/{model}")) {
                        if kind != FolderEntryKind::File {
                            continue;
                        }
                        if left == 0 {
                            return;
                        }
                        left -= 1;
                        let manifest = format!("{of}/{model}/{tag}");
                        if self.has_layer(&manifest, digest) {
                            self.names
                                .push(ollama_name(&host, &namespace, &model, &tag));
                        }
                    }
                }
            }
        }
    }

    fn has_layer(&mut self, manifest: &str, digest: &str) -> bool {
        let form = ManifestForm::Ollama;
        let found = self
            .shelves
            .manifest(self.machine, self.root, manifest, form, self.now);
        self.waiting |= found.is_none();
        let holds_weights = |media_type: &str| {
            let kind = media_type.strip_prefix("application/vnd.ollama.image.");
            kind.is_some_and(|kind| WEIGHT_LAYERS.contains(&kind))
        };
        found.is_some_and(|layers| {
            layers.iter().any(|layer| {
                layer.media_type.as_deref().is_some_and(holds_weights)
                    && layer.digests.iter().any(|it| **it == *digest)
            })
        })
    }

    /// `models.json` of Docker Model Runner; `digest` is that of a file, or of the model for its unpacked copy.
    fn docker(&mut self, store: &str, digest: &str) {
        let path = format!("{store}/models.json");
        let form = ManifestForm::DockerModels;
        let found = self
            .shelves
            .manifest(self.machine, self.root, &path, form, self.now);
        self.waiting |= found.is_none();
        let has = |digests: &[Text]| digests.iter().any(|it| **it == *digest);
        for entry in found.into_iter().flatten() {
            if has(&entry.digests) {
                self.names.extend(entry.names.iter().cloned());
            }
        }
    }

    /// `snapshots/COMMIT/FILE`, links to `blobs/HASH`, of a repository in Hugging Face's cache.
    fn snapshots(&mut self, repository: &str, hash: &str) {
        let name = repository_name(repository);
        let snapshots = format!("{repository}/snapshots");
        let mut models = Vec::new();
        let mut files = Vec::new();
        for commit in self.folders(&snapshots).into_iter().take(MAX_SNAPSHOTS) {
            let mut folders = vec![(format!("{snapshots}/{commit}"), String::new(), 0)];
            let mut looked_at = 0;
            while let Some((folder, inside, depth)) = folders.pop() {
                looked_at += 1;
                if looked_at > MAX_SNAPSHOTS {
                    break;
                }
                for (entry, kind) in self.folder(&folder) {
                    match kind {
                        FolderEntryKind::Folder if depth < MAX_SNAPSHOT_DEPTH => {
                            let inside = format!("{inside}{entry}/");
                            folders.push((format!("{folder}/{entry}"), inside, depth + 1));
                        }
                        FolderEntryKind::Link(to) => {
                            let file = format!("{inside}{entry}");
                            if to.rsplit('/').next() == Some(hash) {
                                files.push(file.clone());
                            }
                            if entry.to_ascii_lowercase().ends_with(".gguf") {
                                models.push(file);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        models.sort_unstable();
        models.dedup();
        files.sort_unstable();
        files.dedup();
        // The repository's name is that of a file only where it is the only one of its kind.
        if models.len() == 1 && models == files {
            self.names.push(name.clone());
        }
        let full = files.iter().map(|file| format!("{name}/{file}").into());
        self.names.extend(full);
    }

    /// `ORG_REPO_FILE` beside `manifest=ORG=REPO=TAG.json`, as llama.cpp kept downloads before 2026.
    fn llama_cache(&mut self, folder: &str, file: &str) {
        let entries = self.folder(folder);
        let repositories = entries.iter().filter_map(|(entry, _)| {
            let entry = entry.strip_prefix("manifest=")?.strip_suffix(".json")?;
            let (organisation, rest) = entry.split_once('=')?;
            Some((organisation, rest.rsplit_once('=')?.0))
        });
        let names = repositories.filter_map(|(organisation, repository)| {
            let own = file.strip_prefix(&*format!("{organisation}_{repository}_"))?;
            Some(format!("{organisation}/{repository}/{own}").into())
        });
        self.names.extend(names);
    }
}

/// Layers of Ollama that hold weights.
const WEIGHT_LAYERS: &[&str] = &["model", "projector", "adapter", "draft", "tensor"];

/// As Ollama prints it: without its own registry and its own library.
fn ollama_name(host: &str, namespace: &str, model: &str, tag: &str) -> Text {
    match (host, namespace) {
        ("registry.ollama.ai", "library") => format!("{model}:{tag}"),
        ("registry.ollama.ai", namespace) => format!("{namespace}/{model}:{tag}"),
        (host, namespace) => format!("{host}/{namespace}/{model}:{tag}"),
    }
    .into()
}

#[cfg(test)]
mod tests;
