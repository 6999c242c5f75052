//! Redaction of what is read of model stores: folders' names, links and manifests.
//!
//! Below strict, what a registry calls a model stays readable, as the name of a model's file does.

use super::format::Redaction;
use super::pseudonyms::Pseudonyms;
use crate::source::stores::{FolderEntry, FolderEntryKind, ManifestEntry};

/// Media types of layers that hold weights.
const MEDIA_TYPES: &[&str] = &[
    "application/vnd.ollama.image.model",
    "application/vnd.ollama.image.projector",
    "application/vnd.ollama.image.adapter",
    "application/vnd.ollama.image.draft",
    "application/vnd.ollama.image.tensor",
];

/// A name in the folder `path`.
pub(super) fn entry(path: &str, entry: &mut FolderEntry, names: &mut Pseudonyms) {
    let is_strict = names.level() == Redaction::Strict;
    if !is_strict && path.split('/').any(|component| component == "manifests") {
        // A name that a stand-in could be taken for is one of nobody's.
        if let FolderEntryKind::Link(to) = &mut entry.kind {
            *to = names.path(to).into();
        }
        return;
    }
    match &mut entry.kind {
        FolderEntryKind::Folder => entry.name = names.folder(&entry.name).into(),
        FolderEntryKind::File => entry.name = names.path(&entry.name).into(),
        FolderEntryKind::Link(to) => {
            entry.name = names.path(&entry.name).into();
            *to = names.path(to).into();
        }
    }
}

/// What a manifest says of one thing. Digests are replaced as they are in the names of blobs.
pub(super) fn manifest(entry: &mut ManifestEntry, names: &mut Pseudonyms) {
    if names.level() != Redaction::Strict {
        return;
    }
    for name in &mut entry.names {
        *name = names.word("f", name).into();
    }
    for digest in &mut entry.digests {
        *digest = names.hexadecimal(digest).into();
    }
    // What is no type of Ollama's own is anybody's word.
    let own = entry.media_type.take();
    entry.media_type = own.filter(|it| MEDIA_TYPES.contains(&&**it));
}
