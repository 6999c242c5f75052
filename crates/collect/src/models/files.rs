//! Model files: read once through the machine, shared by all processes that have them.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;

use gguf::{HeaderReader, Step};
use model::{Gap, Stamp, Text};
use raw::{FileMeta, Machine, Question, Reply, Root};

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
    /// Something else, or a broken one; the sentence says what.
    NotModel(Text),
}

/// A file as seen through one root.
#[derive(Debug, Default)]
struct Entry {
    meta: Poll,
    reading: Option<(FileMeta, HeaderReader)>,
    /// A failed read, and when to try again: failures belong to this way to the file, not to its
    /// content.
    failed: Option<(Gap, u64)>,
    seen: u64,
}

/// Files by root and path, and headers by content.
#[derive(Default)]
pub(super) struct Files {
    entries: BTreeMap<(Root, Text), Entry>,
    headers: HashMap<FileMeta, (Outcome, Stamp)>,
    tick: u64,
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
            let used: Vec<FileMeta> = self
                .entries
                .values()
                .filter_map(|e| meta(&e.meta).ok())
                .map(|(m, _)| m)
                .collect();
            self.headers.retain(|meta, _| used.contains(meta));
        }
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
        let outcome = match self.headers.get(&found.0) {
            Some((outcome, at)) => {
                entry.reading = None;
                Ok((outcome.clone(), *at))
            }
            None => match entry.read(machine, root, path, found.0, now) {
                Ok(outcome) => {
                    self.headers.insert(found.0, (outcome.clone(), now));
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
    /// Goes on reading the header until an answer is outstanding.
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
        let mut reader = match self.reading.take() {
            Some((same, reader)) if same == file => reader,
            _ => HeaderReader::new(file.size),
        };
        loop {
            let question = match reader.step() {
                Step::Done => {
                    return Ok(match reader.into_header() {
                        Ok(header) => Outcome::Header(Arc::new(header)),
                        Err(error) => Outcome::NotModel(error.to_string().into()),
                    });
                }
                Step::Failed(error) => return Ok(Outcome::NotModel(error.to_string().into())),
                Step::Read { offset, len } => Question::File {
                    root,
                    path: path.clone(),
                    offset,
                    len,
                },
                Step::SkipStrings {
                    offset,
                    count,
                    length_bytes,
                    big_endian,
                } => {
                    let path = path.clone();
                    Question::SkipStrings {
                        root,
                        path,
                        offset,
                        count,
                        length_bytes,
                        big_endian,
                    }
                }
            };
            let answer = machine.post(&question);
            match (answer.map(|stamped| stamped.value), &question) {
                (Err(Gap::Pending), _) => {
                    self.reading = Some((file, reader));
                    return Err(Gap::Pending);
                }
                (Ok(Reply::Bytes(bytes)), Question::File { offset, .. }) => {
                    reader.supply(*offset, &bytes);
                }
                (Ok(Reply::End(end)), Question::SkipStrings { .. }) => reader.skipped(end),
                (answer, _) => {
                    let gap = answer.err().unwrap_or(Gap::Malformed);
                    self.failed = Some((gap, now.mono_ns + LOOK_EVERY_MS * 1_000_000));
                    return Err(gap);
                }
            }
        }
    }
}

fn meta(poll: &Poll) -> Result<(FileMeta, Stamp), Gap> {
    match poll.answer()? {
        (at, Reply::Meta(meta)) => Ok((*meta, at)),
        _ => Err(Gap::Malformed),
    }
}
