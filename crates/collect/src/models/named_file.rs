//! A model file that the user named, apart from any process.

use model::{Gap, Model, Stamp, Text};
use raw::{Machine, Root};

use super::described::Described;
use super::files::{Files, Outcome};
use super::flags::Flags;
use super::gathering::Gathered;
use super::shards::{Shards, shards};

/// A file on its way through a machine's answers.
#[derive(Default)]
pub(crate) struct NamedFile {
    files: Files,
}

/// A file that was read.
pub(crate) struct Read {
    pub(crate) model: Model,
    pub(crate) shards: Shards,
    pub(crate) truncated: bool,
}

/// Why a file is no model.
pub(crate) enum Unread {
    /// It could not be read.
    Gap(Gap),
    /// It is a model of another format; the sentence says which.
    OtherFormat(Text),
    /// It is something else, or broken; the sentence says what.
    NotModel(Text),
}

impl NamedFile {
    /// What is known of the file now; `Gap::Pending` while answers are outstanding.
    pub(crate) fn look(
        &mut self,
        machine: &mut dyn Machine,
        path: &Text,
        now: Stamp,
    ) -> Result<Read, Unread> {
        let files = &mut self.files;
        files.begin();
        let look = files.look(machine, Root::Host, path, now);
        match &look.outcome {
            Ok((Outcome::Header(_), _)) => {}
            Ok((Outcome::Other(found), _)) => {
                let format = found.format.id();
                let why =
                    format!("a model in the format {format}; the arithmetic knows GGUF files");
                return Err(Unread::OtherFormat(why.into()));
            }
            Ok((Outcome::NotModel(why), _)) => return Err(Unread::NotModel(why.clone())),
            Err(gap) => return Err(Unread::Gap(*gap)),
        }
        let parts = [Gathered::alone(path.clone(), look)];
        let shards = shards(files, machine, Root::Host, &parts, now);
        if files.is_waiting() {
            return Err(Unread::Gap(Gap::Pending));
        }
        let [first] = &parts;
        let model = Described {
            first,
            headers: &shards.headers,
            sizes: &shards.sizes(),
            missing_parts: shards.missing,
            before: 0,
            server: None,
            server_unasked: None,
            flags: &Flags::default(),
            claims: &[],
            paths: &first.paths,
            store_names: &[],
            now,
        }
        .into_model(Vec::new());
        Ok(Read {
            model,
            truncated: shards.headers.iter().any(|it| it.truncated_data()),
            shards,
        })
    }
}
