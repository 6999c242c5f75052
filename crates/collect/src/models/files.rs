//! Model files: read once through the machine, shared by all processes that have them.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;

use formats::{Description, Format};
use gguf::{HeaderReader, Step};
use model::{Gap, Stamp, Text};
use raw::{FileMeta, Machine, ModelFile, Question, Reply, Root};

use super::gathering::{is_blob, is_gguf_name};

use crate::processes::Poll;

/// A file is looked at again after this time, in case it was replaced.
const LOOK_EVERY_MS: u64 = 15_000;

/// Most files watched at once. A machine that serves more models than this is none we know.
const MAX_FILES: usize = 256;

/// Most headers kept.
const MAX_HEADERS: usize = 256;

/// What a file turned out to be.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// A GGUF file.
    Header(Arc<gguf::Header>),
    /// A file of another format.
    Other(Arc<Description>),
    /// Something else, or a broken one; the sentence says what.
    NotModel(Text),
}

/// How a file is read.
#[derive(Debug)]
enum Reading {
    /// By the GGUF reader, piece by piece.
    Gguf(FileMeta, Box<HeaderReader>),
    /// By whoever has the file: no bytes of other formats are handed out. With why it is no GGUF file, where the GGUF
    /// reader was there first.
    Other(Option<Text>),
}

/// A file as seen through one root.
#[derive(Debug, Default)]
struct Entry {
    meta: Poll,
    reading: Option<Reading>,
    /// A failed read, and when to try again: failures belong to this way to the file, not to its
    /// content.
    failed: Option<(Gap, u64)>,
    seen: u64,
}

/// Files by root and path, and headers by content.
#[derive(Default)]
pub(super) struct Files {
    entries: BTreeMap<(Root, Text), Entry>,
    headers: HashMap<Content, (Outcome, Stamp)>,
    tick: u64,
}

/// What a header is of: a file, by all ways that lead to it; where nothing identifies it, by this way alone.
type Content = (FileMeta, Option<(Root, Text)>);

fn content(meta: FileMeta, root: Root, path: &Text) -> Content {
    let way = || (root, path.clone());
    (meta, (!meta.is_identity()).then(way))
}

/// What is known of a file now.
pub(super) struct Look {
    pub(super) meta: Result<(FileMeta, Stamp), Gap>,
    pub(super) outcome: Result<(Outcome, Stamp), Gap>,
}

impl Files {
    /// Starts a refresh.
    pub(super) const fn begin(&mut self) {
        self.tick += 1;
    }

    /// Forgets files that nobody asked for in this refresh, and headers that nobody has.
    pub(super) fn end(&mut self) {
        let tick = self.tick;
        self.entries.retain(|_, entry| entry.seen == tick);
        if self.headers.len() > MAX_HEADERS {
            let entries = self.entries.iter();
            let used: Vec<Content> = entries
                .filter_map(|((root, path), it)| Some((root, path, meta(&it.meta).ok()?.0)))
                .map(|(root, path, meta)| content(meta, *root, path))
                .collect();
            self.headers.retain(|content, _| used.contains(content));
        }
    }

    /// How many headers are kept.
    #[cfg(test)]
    pub(super) fn headers_known(&self) -> usize {
        self.headers.len()
    }

    /// Whether an answer about a file is outstanding.
    pub(super) fn is_waiting(&self) -> bool {
        self.entries
            .values()
            .any(|entry| entry.meta.is_waiting() || entry.reading.is_some())
    }

    /// What is known of this file; asks for what is missing.
    pub(super) fn look(
        &mut self,
        machine: &mut dyn Machine,
        root: Root,
        path: &Text,
        now: Stamp,
    ) -> Look {
        let key = (root, path.clone());
        if !self.entries.contains_key(&key) && self.entries.len() >= MAX_FILES {
            return Look {
                meta: Err(Gap::OverBound),
                outcome: Err(Gap::OverBound),
            };
        }
        let entry = self.entries.entry(key).or_default();
        entry.seen = self.tick;
        let stat = || Question::Stat {
            root,
            path: path.clone(),
        };
        entry.meta.ask(machine, stat, now, LOOK_EVERY_MS);
        let meta = meta(&entry.meta);
        let found = match meta {
            Ok(found) => found,
            Err(gap) => {
                return Look {
                    meta: Err(gap),
                    outcome: Err(gap),
                };
            }
        };
        let content = content(found.0, root, path);
        let outcome = match self.headers.get(&content) {
            Some((outcome, at)) => {
                entry.reading = None;
                Ok((outcome.clone(), *at))
            }
            None => match entry.read(machine, root, path, found.0, now) {
                Ok(outcome) => {
                    self.headers.insert(content, (outcome.clone(), now));
                    Ok((outcome, now))
                }
                Err(gap) => Err(gap),
            },
        };
        Look {
            meta: Ok(found),
            outcome,
        }
    }
}

impl Entry {
    /// Goes on reading the file until an answer is outstanding.
    fn read(
        &mut self,
        machine: &mut dyn Machine,
        root: Root,
        path: &Text,
        file: FileMeta,
        now: Stamp,
    ) -> Result<Outcome, Gap> {
        if let Some((gap, due_ns)) = self.failed
            && now.mono_ns < due_ns
        {
            return Err(gap);
        }
        self.failed = None;
        let gguf = || Reading::Gguf(file, Box::new(HeaderReader::new(file.size)));
        let mut reading = match self.reading.take() {
            Some(Reading::Gguf(same, _)) if same != file => gguf(),
            Some(reading) => reading,
            // Most files of stores are GGUF; of the others the first bytes decide just as well.
            None if is_gguf_name(path) || is_blob(path) => gguf(),
            None => Reading::Other(None),
        };
        loop {
            let known = match &mut reading {
                Reading::Gguf(_, reader) => header(machine, root, path, reader),
                Reading::Other(_) => described(machine, root, path),
            };
            let before = match &reading {
                Reading::Other(why) => why.clone(),
                Reading::Gguf(..) => None,
            };
            match (known, before) {
                (Err(Gap::Pending), _) => {
                    self.reading = Some(reading);
                    return Err(Gap::Pending);
                }
                (Ok(Known::Is(outcome)), _) => return Ok(outcome),
                // Of another format by its first bytes.
                (Ok(Known::NotGguf(why)), _) => reading = Reading::Other(Some(why)),
                (Ok(Known::Gguf), None) => reading = gguf(),
                // What the GGUF reader said stands where the other one knows no more.
                (_, Some(why)) | (Ok(Known::Refused(why)), None) => {
                    return Ok(Outcome::NotModel(why));
                }
                (Err(gap), None) => {
                    self.failed = Some((gap, now.mono_ns + LOOK_EVERY_MS * 1_000_000));
                    return Err(gap);
                }
            }
        }
    }
}

/// What one reader came to.
enum Known {
    Is(Outcome),
    /// The other reader says that it is GGUF.
    Gguf,
    /// The GGUF reader says that it is not.
    NotGguf(Text),
    Refused(Text),
}

/// Asks what a file of another format is.
fn described(machine: &mut dyn Machine, root: Root, path: &Text) -> Result<Known, Gap> {
    let path = path.clone();
    let answer = machine.post(&Question::ModelFile { root, path })?;
    match answer.value {
        Reply::Model(ModelFile::Described(found)) if found.format == Format::Gguf => {
            Ok(Known::Gguf)
        }
        Reply::Model(ModelFile::Described(found)) => {
            Ok(Known::Is(Outcome::Other(Arc::from(found))))
        }
        Reply::Model(ModelFile::Refused(error)) => Ok(Known::Refused(error.to_string().into())),
        _ => Err(Gap::Malformed),
    }
}

/// Brings the GGUF reader what it wants.
fn header(
    machine: &mut dyn Machine,
    root: Root,
    path: &Text,
    reader: &mut HeaderReader,
) -> Result<Known, Gap> {
    loop {
        let step = reader.step();
        let Some(question) = Question::of_header(&step, root, path) else {
            if let Step::Failed(error) = step {
                let why = error.to_string().into();
                return Ok(match error {
                    gguf::Error::NotGguf { .. } | gguf::Error::OtherFormat(_) => {
                        Known::NotGguf(why)
                    }
                    _ => Known::Refused(why),
                });
            }
            let done = std::mem::replace(reader, HeaderReader::new(0));
            return Ok(match done.into_header() {
                Ok(header) => Known::Is(Outcome::Header(Arc::new(header))),
                Err(error) => Known::Refused(error.to_string().into()),
            });
        };
        match (machine.post(&question)?.value, &question) {
            (Reply::Bytes(bytes), Question::File { offset, .. }) => reader.supply(*offset, &bytes),
            (Reply::End(end), Question::SkipStrings { .. }) => reader.skipped(end),
            _ => return Err(Gap::Malformed),
        }
    }
}

fn meta(poll: &Poll) -> Result<(FileMeta, Stamp), Gap> {
    match poll.answer()? {
        (at, Reply::Meta(meta)) => Ok((*meta, at)),
        _ => Err(Gap::Malformed),
    }
}
