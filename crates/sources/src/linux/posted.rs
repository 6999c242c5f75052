//! What each posted question reads.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use model::{Gap, Text};
use raw::{Endpoint, ProcessRef, Question, Reply, Root};

use super::apps::Apps;
use super::beneath;
use super::errors::{gap, gap_in_process, gap_of_process};
use super::place::{Place, link_text};
use super::subject::Subject;
use super::{
    containers, device_names, environment, files, journal, listeners, logs, maps, networks,
    open_files, stores, users,
};
use crate::http;
use crate::posted::Reader;

/// Bytes of a command line. The kernel allows more, but no flag worth reading stands behind this much.
const COMMAND_LINE_BOUND: usize = 128 * 1024;

/// The posted reads.
pub(crate) struct PostedReads {
    place: Arc<Place>,
    apps: Apps,
}

impl PostedReads {
    pub(crate) fn new(place: Arc<Place>, apps: Apps) -> Self {
        Self { place, apps }
    }

    /// Reads something about a process that is the same one before and after.
    fn of<T>(
        &self,
        who: ProcessRef,
        read: impl FnOnce(&Subject) -> Result<T, Gap>,
    ) -> Result<T, Gap> {
        let subject = Subject::open(&self.place, who)?;
        let value = read(&subject);
        subject.confirm()?;
        value
    }

    /// Reads a file seen from a root.
    fn beneath<T>(
        &self,
        root: Root,
        read: impl FnOnce(&OwnedFd) -> Result<T, Gap>,
    ) -> Result<T, Gap> {
        match root {
            Root::Host => read(self.place.root().map_err(gap)?),
            Root::Process(who) => self.of(who, |subject| {
                let root = self.place.process_root(subject.folder());
                read(&root.map_err(gap_of_process)?)
            }),
        }
    }

    fn get(&self, who: ProcessRef, port: u16, endpoint: Endpoint) -> Result<Reply, Gap> {
        let reached = self.of(who, |subject| {
            listeners::reached_at(&self.place, subject, port)
        })?;
        let listener = reached.ok_or(Gap::NotPresent)?;
        if listener.shared {
            return Err(Gap::SharedPort);
        }
        http::get(listener, endpoint).map(Reply::Http)
    }
}

impl Reader for PostedReads {
    fn read(&self, question: &Question) -> Result<Reply, Gap> {
        match question {
            Question::File {
                root,
                path,
                offset,
                len,
            } => {
                let bytes = self.beneath(*root, |root| files::part(root, path, *offset, *len))?;
                Ok(Reply::Bytes(bytes.into()))
            }
            Question::SkipStrings {
                root,
                path,
                offset,
                count,
                length_bytes,
                big_endian,
            } => self
                .beneath(*root, |root| {
                    files::skip_strings(root, path, *offset, *count, *length_bytes, *big_endian)
                })
                .map(Reply::End),
            Question::ModelFile { root, path } => self
                .beneath(*root, |root| files::model(root, path))
                .map(Reply::Model),
            Question::Stat { root, path } => self
                .beneath(*root, |root| files::meta(root, path))
                .map(Reply::Meta),
            Question::Folder {
                root,
                path,
                known_ns,
            } => self
                .beneath(*root, |root| stores::folder(root, path, *known_ns))
                .map(Reply::Folder),
            Question::Manifest { root, path, form } => self
                .beneath(*root, |root| stores::manifest(root, path, *form))
                .map(Reply::Manifest),
            Question::Maps(who) => self.of(*who, |subject| {
                let file = beneath::open_in(subject.folder().as_fd(), "maps");
                let kept = maps::compact(file.map_err(gap_in_process)?)?;
                Ok(Reply::Bytes(kept.into()))
            }),
            Question::CommandLine(who) => self.of(*who, |subject| {
                let text = subject.text("cmdline", COMMAND_LINE_BOUND)?;
                Ok(Reply::Bytes(text.into()))
            }),
            Question::Environment(who) => self.of(*who, |subject| {
                Ok(Reply::Bytes(environment::allowed(subject)?.into()))
            }),
            Question::Links(who) => self.of(*who, links).map(Reply::Links),
            Question::OpenFiles(who) => self
                .of(*who, |subject| {
                    open_files::regular_files(&self.place, subject)
                })
                .map(Reply::Open),
            Question::Listeners(who) => self
                .of(*who, |subject| listeners::of(&self.place, subject))
                .map(Reply::Listeners),
            Question::UserName(uid) => {
                users::name(&self.place, *uid).map(|name| Reply::text(&name))
            }
            Question::DeviceName {
                vendor,
                device,
                revision,
            } => device_names::name(&self.place, *vendor, *device, *revision)
                .map(|name| Reply::text(&name)),
            Question::Network(who) => self.of(*who, networks::of).map(Reply::Network),
            Question::Forwarders => networks::forwarders(&self.place).map(Reply::Forwarders),
            Question::Container { runtime, id, owner } => {
                containers::named(&self.place, *runtime, id, *owner)
            }
            Question::Log { who, path, known } => self.of(*who, |subject| {
                let file = logs::open(&self.place, subject, path)?;
                logs::tail(&file, *known, raw::logs::kept).map(Reply::Log)
            }),
            // The journal of this machine tells nothing of a directory.
            Question::Journal { .. } if self.place.is_directory() => Err(Gap::NotApplicable),
            Question::Journal { unit, since_s } => journal::read(*unit, *since_s).map(Reply::Log),
            Question::App { who, app, part } => self.of(*who, |subject| {
                self.apps.read(&self.place, subject, app, *part)
            }),
            Question::Http {
                who,
                port,
                endpoint,
            } => self.get(*who, *port, *endpoint),
        }
    }
}

/// The links that can be read; the reason of the first where none can.
fn links(subject: &Subject) -> Result<Vec<(Text, Text)>, Gap> {
    let read = |name: &str| {
        link_text(subject.folder(), name).map(|text| (Text::from(name), Text::from(text)))
    };
    let (exe, cwd) = (read("exe"), read("cwd"));
    match (exe, cwd) {
        // A kernel thread has neither, which is no sign of its end.
        (Err(error), Err(_)) => Err(gap(error)),
        (exe, cwd) => Ok(exe.into_iter().chain(cwd).collect()),
    }
}
