//! Folders and manifests of stores, asked for once and again from time to time.

use std::collections::BTreeMap;

use model::{Gap, Stamp, Text};
use raw::{FolderEntryKind, Machine, ManifestEntry, ManifestForm, Question, Reply, Root};

use crate::processes::Poll;

/// A folder is asked again after this time, whether its names have changed. Shorter than the time after which a
/// file's names are looked up again, so that each look asks.
const FOLDER_EVERY_MS: u64 = 55_000;

/// A manifest is read again after this time: one that is written over in place leaves its folder as it was.
const MANIFEST_EVERY_MS: u64 = 300_000;

/// Most folders and manifests known at once.
const MAX_SHELVES: usize = 2048;

/// Folders and manifests by root and path.
#[derive(Default)]
pub(super) struct Shelves {
    folders: BTreeMap<(Root, Text), Shelf>,
    manifests: BTreeMap<(Root, Text), Poll>,
}

/// A folder as it was last read.
#[derive(Default)]
struct Shelf {
    mtime_ns: Option<i64>,
    entries: Vec<(Text, FolderEntryKind)>,
    answered_ns: Option<u64>,
    asked_ns: Option<u64>,
    /// What was asked and is outstanding: an answer is to the question as it was.
    outstanding: Option<Question>,
}

impl Shelves {
    /// Forgets what lies below roots that are not kept.
    pub(super) fn retain(&mut self, keep: impl Fn(Root) -> bool) {
        self.folders.retain(|(root, _), _| keep(*root));
        self.manifests.retain(|(root, _), _| keep(*root));
    }

    fn is_full(&self) -> bool {
        self.folders.len() + self.manifests.len() >= MAX_SHELVES
    }

    /// The names in a folder, none where it cannot be read; `None` while that is asked.
    pub(super) fn folder(
        &mut self,
        machine: &mut dyn Machine,
        root: Root,
        path: &str,
        now: Stamp,
    ) -> Option<Vec<(Text, FolderEntryKind)>> {
        let key = (root, Text::from(path));
        if !self.folders.contains_key(&key) && self.is_full() {
            return Some(Vec::new());
        }
        let shelf = self.folders.entry(key).or_default();
        shelf.ask(machine, root, path, now);
        shelf.outstanding.is_none().then(|| shelf.entries.clone())
    }

    /// What a manifest says, nothing where it cannot be read; `None` while that is asked.
    pub(super) fn manifest(
        &mut self,
        machine: &mut dyn Machine,
        root: Root,
        path: &str,
        form: ManifestForm,
        now: Stamp,
    ) -> Option<Vec<ManifestEntry>> {
        let key = (root, Text::from(path));
        if !self.manifests.contains_key(&key) && self.is_full() {
            return Some(Vec::new());
        }
        let poll = self.manifests.entry(key).or_default();
        let question = || Question::Manifest {
            root,
            path: path.into(),
            form,
        };
        poll.ask(machine, question, now, MANIFEST_EVERY_MS);
        match poll.answer() {
            _ if poll.is_waiting() => None,
            Ok((_, Reply::Manifest(entries))) => Some(entries.clone()),
            _ => Some(Vec::new()),
        }
    }
}

impl Shelf {
    fn ask(&mut self, machine: &mut dyn Machine, root: Root, path: &str, now: Stamp) {
        let is_old = |at: u64| now.mono_ns >= at.saturating_add(FOLDER_EVERY_MS * 1_000_000);
        let is_due = self.outstanding.is_some() || self.answered_ns.is_none_or(is_old);
        if !is_due || self.asked_ns == Some(now.mono_ns) {
            return;
        }
        self.asked_ns = Some(now.mono_ns);
        let question = self.outstanding.take().unwrap_or_else(|| Question::Folder {
            root,
            path: path.into(),
            known_ns: self.mtime_ns,
        });
        let answer = match machine.post(&question) {
            Err(Gap::Pending) => {
                self.outstanding = Some(question);
                return;
            }
            answer => answer,
        };
        self.answered_ns = Some(now.mono_ns);
        match answer.map(|stamped| stamped.value) {
            Ok(Reply::Folder(folder)) => {
                self.mtime_ns = Some(folder.mtime_ns);
                if let Some(entries) = folder.entries {
                    let entries = entries.into_iter();
                    self.entries = entries.map(|entry| (entry.name, entry.kind)).collect();
                }
            }
            _ => {
                self.mtime_ns = None;
                self.entries.clear();
            }
        }
    }
}
