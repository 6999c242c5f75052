//! Redaction of what is known of model files: names and titles become stand-ins, words that name formats stay.

use formats::{Description, Format};

use super::format::Redaction;
use super::pseudonyms::Pseudonyms;
use crate::source::model_files::ModelFile;

/// The same without anybody's text.
pub(super) fn redacted(mut file: ModelFile, names: &mut Pseudonyms) -> ModelFile {
    if let ModelFile::Described(found) = &mut file {
        description(found, names);
    }
    file
}

fn description(found: &mut Description, names: &mut Pseudonyms) {
    if names.level() == Redaction::Strict {
        if let Some(title) = &mut found.title {
            *title = names.letters(title);
        }
        for word in [&mut found.architecture, &mut found.producer]
            .into_iter()
            .flatten()
        {
            if !formats::is_known_word(word) {
                *word = names.letters(word);
            }
        }
    }
    for part in &mut found.parts {
        if found.format == Format::Diffusers {
            // Folders, each called by its role; as in the paths of what lies in them.
            *part = names.folder(part);
        } else {
            *part = names.path(part);
        }
    }
}
