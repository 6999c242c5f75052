//! Reading a capture: bounded, and with an error that names the line.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use model::Gap;
use thiserror::Error;

use super::format::{FORMAT, Line, Manifest, Payload, stamp};
use super::limits;
use crate::machine::{Answer, Stamped, Tick};

/// Why a capture cannot be read.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The bytes could not be read or decompressed.
    #[error("reading the capture failed after line {line}")]
    Read {
        /// Last line that was read.
        line: usize,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// There is nothing in it.
    #[error("the capture is empty")]
    Empty,
    /// The first line is no manifest.
    #[error("this is no capture: its first line is no manifest of the format {FORMAT}")]
    NoManifest(#[source] Option<serde_json::Error>),
    /// A manifest of another version.
    #[error("the capture has the format {0}; this program reads {FORMAT}")]
    Version(String),
    /// A line that does not follow the format.
    #[error("line {line} of the capture does not follow the format: {what}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A bound was exceeded.
    #[error("line {line} of the capture exceeds the limit of {limit} {unit}")]
    TooLarge {
        /// The line, from 1.
        line: usize,
        /// The bound.
        limit: u64,
        /// Of what.
        unit: &'static str,
    },
}

/// One answer of a capture.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) source: Box<str>,
    pub(crate) question: Box<str>,
    pub(crate) answer: Answer<Arc<Payload>>,
    pub(crate) overdue: Option<model::Stamp>,
}

/// One refresh of a capture.
#[derive(Clone, Debug)]
pub(crate) struct RecordedTick {
    pub(crate) tick: Tick,
    pub(crate) answers: Vec<Recorded>,
}

/// A capture in memory. Equal answers share their body.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Its first line.
    pub manifest: Manifest,
    /// Whether the file ends in the middle of a line, as a recording does that was cut off.
    pub cut_off: bool,
    pub(crate) ticks: Vec<RecordedTick>,
}

impl Capture {
    /// Reads a capture, compressed or not.
    pub fn load(input: impl Read) -> Result<Self, CaptureError> {
        let mut input = BufReader::with_capacity(64 << 10, input);
        let start = input
            .fill_buf()
            .map_err(|cause| CaptureError::Read { line: 0, cause })?;
        if start.starts_with(&[0x1f, 0x8b]) {
            Self::from_lines(BufReader::with_capacity(
                64 << 10,
                MultiGzDecoder::new(input),
            ))
        } else {
            Self::from_lines(input)
        }
    }

    /// Number of refreshes.
    pub fn tick_count(&self) -> usize {
        self.ticks.len()
    }

    /// Number of answers in all refreshes.
    pub fn answer_count(&self) -> usize {
        self.ticks.iter().map(|tick| tick.answers.len()).sum()
    }

    /// Source and question of answer number `index`, counted over all refreshes.
    pub fn question(&self, index: usize) -> Option<(&str, &str)> {
        let answer = self
            .ticks
            .iter()
            .flat_map(|tick| &tick.answers)
            .nth(index)?;
        Some((&answer.source, &answer.question))
    }

    /// The same capture without answer number `index`, as if it had never been recorded.
    #[must_use]
    pub fn without(&self, index: usize) -> Self {
        let mut rest = self.clone();
        let mut at = index;
        for tick in &mut rest.ticks {
            if at < tick.answers.len() {
                tick.answers.remove(at);
                break;
            }
            at -= tick.answers.len();
        }
        rest
    }

    /// The same capture without any answer whose source and question satisfy `remove`.
    #[must_use]
    pub fn without_matching(&self, remove: impl Fn(&str, &str) -> bool) -> Self {
        let mut rest = self.clone();
        for tick in &mut rest.ticks {
            tick.answers
                .retain(|answer| !remove(&answer.source, &answer.question));
        }
        rest
    }

    fn from_lines(mut input: impl BufRead) -> Result<Self, CaptureError> {
        let mut reader = LineReader {
            line: 0,
            total: 0,
            buffer: Vec::new(),
        };
        let manifest = match reader.next(&mut input)? {
            LineEnd::End => return Err(CaptureError::Empty),
            LineEnd::Whole | LineEnd::CutOff => manifest(&reader.buffer)?,
        };
        let mut loading = Loading {
            bodies: HashMap::new(),
            ticks: Vec::new(),
        };
        let mut cut_off = false;
        loop {
            let end = match reader.next(&mut input) {
                Ok(end) => end,
                // A compressed recording that was cut off ends inside a block.
                Err(CaptureError::Read { cause, .. })
                    if cause.kind() == io::ErrorKind::UnexpectedEof
                        && !loading.ticks.is_empty() =>
                {
                    cut_off = true;
                    break;
                }
                Err(error) => return Err(error),
            };
            match end {
                LineEnd::End => break,
                LineEnd::Whole => loading.line(reader.line, &reader.buffer)?,
                LineEnd::CutOff => {
                    cut_off = loading.line(reader.line, &reader.buffer).is_err();
                    break;
                }
            }
        }
        Ok(Self {
            manifest,
            cut_off,
            ticks: loading.ticks,
        })
    }
}

fn manifest(line: &[u8]) -> Result<Manifest, CaptureError> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: String,
    }
    let format: Format =
        serde_json::from_slice(line).map_err(|error| CaptureError::NoManifest(Some(error)))?;
    if !format.format.starts_with("gputaskman.capture/") {
        return Err(CaptureError::NoManifest(None));
    }
    if format.format != FORMAT {
        return Err(CaptureError::Version(format.format));
    }
    serde_json::from_slice(line).map_err(|error| CaptureError::NoManifest(Some(error)))
}

enum LineEnd {
    Whole,
    CutOff,
    End,
}

struct LineReader {
    line: usize,
    total: u64,
    buffer: Vec<u8>,
}

impl LineReader {
    fn next(&mut self, input: &mut impl BufRead) -> Result<LineEnd, CaptureError> {
        self.line += 1;
        self.buffer.clear();
        let read = input
            .take(limits::MAX_LINE_BYTES as u64 + 1)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|cause| CaptureError::Read {
                line: self.line - 1,
                cause,
            })?;
        if read > limits::MAX_LINE_BYTES {
            let limit = limits::MAX_LINE_BYTES as u64;
            return Err(CaptureError::TooLarge {
                line: self.line,
                limit,
                unit: "bytes in a line",
            });
        }
        self.total += read as u64;
        if self.total > limits::MAX_CAPTURE_BYTES {
            let limit = limits::MAX_CAPTURE_BYTES;
            return Err(CaptureError::TooLarge {
                line: self.line,
                limit,
                unit: "bytes in all",
            });
        }
        Ok(match self.buffer.last() {
            None => LineEnd::End,
            Some(b'\n') => LineEnd::Whole,
            Some(_) => LineEnd::CutOff,
        })
    }
}

struct Loading {
    bodies: HashMap<u32, Arc<Payload>>,
    ticks: Vec<RecordedTick>,
}

impl Loading {
    fn line(&mut self, number: usize, text: &[u8]) -> Result<(), CaptureError> {
        let malformed = |what: &str| CaptureError::Malformed {
            line: number,
            what: what.to_owned(),
        };
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let line: Line<'_> =
            serde_json::from_slice(text).map_err(|error| malformed(&error.to_string()))?;
        if let Some(now) = line.now {
            if self
                .ticks
                .last()
                .is_some_and(|last| last.tick.number >= line.t)
            {
                return Err(malformed("a refresh out of order"));
            }
            if self.ticks.len() >= limits::MAX_TICKS {
                let limit = limits::MAX_TICKS as u64;
                return Err(CaptureError::TooLarge {
                    line: number,
                    limit,
                    unit: "refreshes",
                });
            }
            let tick = Tick {
                number: line.t,
                now: stamp(now),
                extra: line.extra,
            };
            self.ticks.push(RecordedTick {
                tick,
                answers: Vec::new(),
            });
            return Ok(());
        }
        let answer = self.answer(&line).map_err(|what| malformed(&what))?;
        let Some(tick) = self
            .ticks
            .last_mut()
            .filter(|tick| tick.tick.number == line.t)
        else {
            return Err(malformed("an answer outside its refresh"));
        };
        if tick.answers.len() >= limits::MAX_ANSWERS_PER_TICK {
            let limit = limits::MAX_ANSWERS_PER_TICK as u64;
            return Err(CaptureError::TooLarge {
                line: number,
                limit,
                unit: "answers in a refresh",
            });
        }
        tick.answers.push(Recorded {
            source: line.s.as_deref().unwrap_or("").into(),
            question: line.q.as_deref().unwrap_or("").into(),
            answer,
            overdue: line.overdue.map(stamp),
        });
        Ok(())
    }

    fn answer(&mut self, line: &Line<'_>) -> Result<Answer<Arc<Payload>>, String> {
        if let Some(code) = &line.gap {
            let detail = line.detail.unwrap_or(i32::MIN);
            return Gap::from_code(code, detail)
                .map(Err)
                .ok_or_else(|| format!("the unknown gap {code:?}"));
        }
        if line.overdue.is_some() {
            return Ok(Err(Gap::TimedOut));
        }
        let at = line.at.map(stamp).ok_or("an answer without its moment")?;
        let body = match (line.a, line.same) {
            (Some(raw), None) => {
                let body: Payload =
                    serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
                let body = Arc::new(body);
                if let Some(id) = line.id {
                    self.bodies.insert(id, Arc::clone(&body));
                }
                body
            }
            // The line it refers to was taken out of the file: not recorded, and no error.
            (None, Some(same)) => match self.bodies.get(&same) {
                Some(body) => Arc::clone(body),
                None => return Ok(Err(Gap::NotRecorded)),
            },
            _ => return Err("an answer needs either a body or a reference to one".to_owned()),
        };
        Ok(Ok(Stamped { at, value: body }))
    }
}
