//! Recording: writes what a machine hands out, exactly as it was handed out.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::value::RawValue;

use super::format::{LIBRARY, Line, Manifest, Payload, SWEEP, gap_detail, pair, source};
use super::limits;
use crate::machine::{Answer, Ended, Machine, MachineFacts, Published, Stamped, Tick, TickPlan};
use crate::source::drm::DrmSweep;
use crate::source::nvml::NvmlSweep;
use crate::source::reads::{Inline, Question};
use crate::source::replies::Reply;

/// Writes a capture line by line. A failed write stops the recording, never the monitor; the error
/// is kept for whoever asks.
pub struct Recorder<W: Write> {
    sink: Option<W>,
    error: Option<io::Error>,
    remembered: HashMap<Box<str>, u32>,
    remembered_bytes: usize,
    next_id: u32,
    tick: u64,
    line: Vec<u8>,
}

impl<W: Write> Recorder<W> {
    /// Starts a capture with its manifest.
    pub fn new(sink: W, manifest: &Manifest) -> io::Result<Self> {
        let mut recorder = Self {
            sink: Some(sink),
            error: None,
            remembered: HashMap::new(),
            remembered_bytes: 0,
            next_id: 1,
            tick: 0,
            line: Vec::new(),
        };
        serde_json::to_writer(&mut recorder.line, manifest)?;
        recorder.flush_line();
        match recorder.error.take() {
            Some(error) => Err(error),
            None => Ok(recorder),
        }
    }

    /// The write error that ended the recording, if one did.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Flushes and gives the sink back; the first write error, if there was one.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        match self.sink.take() {
            Some(mut sink) => sink.flush().map(|()| sink),
            None => Err(io::Error::other("the recording has already ended")),
        }
    }

    fn tick(&mut self, tick: Tick) {
        self.tick = tick.number;
        self.write(&Line {
            t: tick.number,
            now: Some(pair(tick.now)),
            extra: tick.extra,
            ..Line::default()
        });
        // So that a recording that is cut off holds every refresh before the last.
        if let Some(sink) = &mut self.sink
            && let Err(error) = sink.flush()
        {
            self.fail(error);
        }
    }

    fn answer(&mut self, from: &'static str, question: &str, answer: Answer<Payload>) {
        let base = Line {
            t: self.tick,
            s: Some(from.into()),
            q: Some(question.into()),
            ..Line::default()
        };
        match answer {
            Err(gap) => self.write(&Line {
                gap: Some(gap.code().into()),
                detail: gap_detail(gap),
                ..base
            }),
            Ok(Stamped { at, value }) => {
                let Ok(body) = serde_json::to_string(&value) else {
                    return self.fail(io::Error::other("an answer could not be serialised"));
                };
                let at = Some(pair(at));
                if let Some(id) = self.remembered.get(body.as_str()) {
                    let same = Some(*id);
                    return self.write(&Line { at, same, ..base });
                }
                let id = self.remember(&body);
                match RawValue::from_string(body) {
                    Ok(raw) => {
                        self.write(&Line {
                            at,
                            id: Some(id),
                            a: Some(&raw),
                            ..base
                        });
                    }
                    Err(error) => self.fail(error.into()),
                }
            }
        }
    }

    fn remember(&mut self, body: &str) -> u32 {
        if self.remembered_bytes + body.len() > limits::MAX_REMEMBERED_BYTES {
            self.remembered.clear();
            self.remembered_bytes = 0;
        }
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        self.remembered_bytes += body.len();
        self.remembered.insert(body.into(), id);
        id
    }

    fn write(&mut self, line: &Line<'_>) {
        self.line.clear();
        match serde_json::to_writer(&mut self.line, line) {
            Ok(()) => self.flush_line(),
            Err(error) => self.fail(error.into()),
        }
    }

    fn flush_line(&mut self) {
        self.line.push(b'\n');
        if let Some(sink) = &mut self.sink
            && let Err(error) = sink.write_all(&self.line)
        {
            self.fail(error);
        }
        self.line.clear();
    }

    fn fail(&mut self, error: io::Error) {
        self.sink = None;
        self.error.get_or_insert(error);
    }

    fn sweep(&mut self, published: &Published<NvmlSweep>) {
        match published {
            Published::NotAsked => {}
            Published::Overdue(since) => self.write(&Line {
                t: self.tick,
                s: Some(source::NVML.into()),
                overdue: Some(pair(*since)),
                ..Line::default()
            }),
            Published::Missing(gap) => self.answer(source::NVML, SWEEP, Err(*gap)),
            Published::New(Stamped { at, value }) => {
                let header = Payload::Sweep(value.header());
                self.answer(
                    source::NVML,
                    SWEEP,
                    Ok(Stamped {
                        at: *at,
                        value: header,
                    }),
                );
                let library = value.library.clone().map(|s| map(s, Payload::Library));
                self.answer(source::NVML, LIBRARY, library);
                for (question, answer) in value.parts() {
                    let answer = answer.clone().map(|s| map(s, Payload::Call));
                    self.answer(source::NVML, &question, answer);
                }
            }
        }
    }
}

impl<W: Write> Recorder<W> {
    fn drm_sweep(&mut self, published: &Published<DrmSweep>) {
        match published {
            Published::NotAsked => {}
            Published::Overdue(since) => self.write(&Line {
                t: self.tick,
                s: Some(source::DRM.into()),
                overdue: Some(pair(*since)),
                ..Line::default()
            }),
            Published::Missing(gap) => self.answer(source::DRM, SWEEP, Err(*gap)),
            Published::New(Stamped { at, value }) => {
                let header = Stamped {
                    at: *at,
                    value: Payload::DrmSweep(value.header()),
                };
                self.answer(source::DRM, SWEEP, Ok(header));
                for (question, answer) in value.parts() {
                    let answer = answer.map(|s| map(s, Payload::Reply));
                    self.answer(source::DRM, &question, answer);
                }
            }
        }
    }
}

fn map<T, U>(from: Stamped<T>, convert: impl FnOnce(T) -> U) -> Stamped<U> {
    Stamped {
        at: from.at,
        value: convert(from.value),
    }
}

/// A machine whose answers are written to a capture as they are handed out.
pub struct RecordingMachine<M, W: Write> {
    inner: M,
    recorder: Recorder<W>,
}

impl<M: Machine, W: Write> RecordingMachine<M, W> {
    /// Records `inner`. What `inner` hands out is what the capture holds: redaction belongs beneath.
    pub const fn new(inner: M, recorder: Recorder<W>) -> Self {
        Self { inner, recorder }
    }

    /// The recorder, to ask for its error.
    pub const fn recorder(&self) -> &Recorder<W> {
        &self.recorder
    }

    /// Ends the recording.
    pub fn finish(self) -> io::Result<W> {
        self.recorder.finish()
    }
}

impl<M: Machine, W: Write> Machine for RecordingMachine<M, W> {
    fn facts(&self) -> &MachineFacts {
        self.inner.facts()
    }

    fn begin_tick(&mut self, plan: &TickPlan) -> Result<Tick, Ended> {
        let tick = self.inner.begin_tick(plan)?;
        self.recorder.tick(tick);
        Ok(tick)
    }

    fn nvml(&mut self) -> Published<NvmlSweep> {
        let published = self.inner.nvml();
        self.recorder.sweep(&published);
        published
    }

    fn drm(&mut self) -> Published<DrmSweep> {
        let published = self.inner.drm();
        self.recorder.drm_sweep(&published);
        published
    }

    fn inline(&mut self, question: &Inline) -> Answer<Reply> {
        let answer = self.inner.inline(question);
        self.reply(source::INLINE, &question.key(), &answer);
        answer
    }

    fn post(&mut self, question: &Question) -> Answer<Reply> {
        let answer = self.inner.post(question);
        self.reply(source::POSTED, &question.key(), &answer);
        answer
    }
}

impl<M, W: Write> RecordingMachine<M, W> {
    fn reply(&mut self, from: &'static str, question: &str, answer: &Answer<Reply>) {
        let answer = answer.clone().map(|s| map(s, Payload::Reply));
        self.recorder.answer(from, question, answer);
    }
}

/// A sink that keeps a capture in memory, for tests and for small recordings.
pub fn to_memory(manifest: &Manifest) -> io::Result<Recorder<Vec<u8>>> {
    Recorder::new(Vec::new(), manifest)
}
