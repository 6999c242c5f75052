//! Which bytes are wanted, and which format reads them.

use crate::bytes::{len, size, u64_at};
use crate::config::ConfigWalker;
use crate::description::{Description, Format};
use crate::error::{Error, What};
use crate::ggml;
use crate::index::IndexWalker;
use crate::limits::{FIRST_WINDOW, MAX_REQUESTED_BYTES, MAX_STEPS, WINDOW};
use crate::names::{self, JsonFile};
use crate::onnx::OnnxWalker;
use crate::openvino;
use crate::pytorch;
use crate::safetensors::SafetensorsWalker;
use crate::window::{Pause, Walker, Window};
use crate::zip::ZipWalker;

/// What a [`FileReader`] needs next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `len` bytes of the file from `offset`, for [`FileReader::supply`].
    Read {
        /// In bytes from the start of the file.
        offset: u64,
        /// In bytes; never 0, and never beyond the end of the file.
        len: u32,
    },
    /// Nothing: [`FileReader::into_description`] has the result.
    Done,
    /// Nothing: the file cannot be described.
    Failed(Error),
}

/// Finds out what a file is from pieces that its caller brings, as [`step`](Self::step) asks for them.
///
/// ```
/// use formats::{FileReader, Format, Step};
///
/// let file: &[u8] = b"ftrt\x18\0\0\0";
/// let mut reader = FileReader::new("model.engine", file.len() as u64);
/// while let Step::Read { offset, len } = reader.step() {
///     reader.supply(offset, &file[offset as usize..][..len as usize]);
/// }
/// assert_eq!(reader.into_description()?.format, Format::TensorRt);
/// # Ok::<(), formats::Error>(())
/// ```
#[derive(Debug)]
pub struct FileReader {
    name: String,
    /// Where bytes are known to end: the file's length, or less once a supply was short.
    end: u64,
    requested: u64,
    steps: u32,
    walker: Option<Box<dyn Walker>>,
    wanted: Step,
    found: Option<Box<Description>>,
}

impl FileReader {
    /// A reader for a file of this name (or path) and length.
    pub fn new(name: &str, file_len: u64) -> Self {
        let mut reader = Self {
            name: names::base(name).to_owned(),
            end: file_len,
            requested: 0,
            steps: 0,
            walker: None,
            wanted: Step::Failed(Error::NotModel),
            found: None,
        };
        if file_len > 0 {
            reader.pause(Pause::Read {
                offset: 0,
                len: u64::from(FIRST_WINDOW),
            });
        }
        reader
    }

    /// What is needed next; the same until it was brought.
    pub fn step(&self) -> Step {
        self.wanted.clone()
    }

    /// Brings the bytes of a [`Step::Read`]. Fewer than asked for mean that the file ends there; bytes from another
    /// offset than the one asked for are ignored.
    pub fn supply(&mut self, offset: u64, bytes: &[u8]) {
        let Step::Read {
            offset: wanted,
            len: asked,
        } = self.wanted
        else {
            return;
        };
        if offset != wanted {
            return;
        }
        let asked = size(u64::from(asked));
        let bytes = bytes.get(..asked).unwrap_or(bytes);
        if bytes.len() < asked {
            self.end = self.end.min(offset.saturating_add(len(bytes)));
        }
        let window = Window {
            start: offset,
            bytes,
            end: self.end,
        };
        let pause = match &mut self.walker {
            Some(walker) => walker.walk(window),
            None => match identify(&self.name, window) {
                Found::Is(description) => Pause::Done(description),
                Found::Walk(mut walker) => {
                    let pause = walker.walk(window);
                    self.walker = Some(walker);
                    pause
                }
                Found::Nothing => Pause::Failed(Error::NotModel),
            },
        };
        self.pause(pause);
    }

    /// The result, once [`step`](Self::step) says [`Step::Done`].
    pub fn into_description(self) -> Result<Description, Error> {
        match (self.wanted, self.found) {
            (Step::Done, Some(found)) => Ok(*found),
            (Step::Failed(error), _) => Err(error),
            _ => Err(Error::Unfinished),
        }
    }

    fn pause(&mut self, pause: Pause) {
        self.wanted = match pause {
            Pause::Done(description) => {
                self.found = Some(description);
                Step::Done
            }
            Pause::Failed(error) => Step::Failed(error),
            Pause::Read { offset, len } => self.request(offset, len),
        };
    }

    fn request(&mut self, offset: u64, wanted: u64) -> Step {
        let len = wanted.min(self.end.saturating_sub(offset));
        self.steps = self.steps.saturating_add(1);
        self.requested = self.requested.saturating_add(len);
        if len == 0 {
            return Step::Failed(Error::Truncated {
                offset,
                needed: wanted,
                end: self.end,
            });
        }
        match u32::try_from(len) {
            Ok(len) if self.requested <= MAX_REQUESTED_BYTES && self.steps <= MAX_STEPS => {
                Step::Read { offset, len }
            }
            _ => Step::Failed(Error::TooLarge {
                what: What::Header,
                offset,
            }),
        }
    }
}

/// What the first bytes tell.
enum Found {
    Is(Box<Description>),
    Walk(Box<dyn Walker>),
    Nothing,
}

/// By magic bytes first, and by name only where a format has none.
fn identify(name: &str, window: Window<'_>) -> Found {
    let start = window.bytes;
    let is = |format| Found::Is(Box::new(Description::new(format)));
    match start.get(..4) {
        Some(b"GGUF") => return is(Format::Gguf),
        Some(b"ftrt" | b"ptrt") => return is(Format::TensorRt),
        Some(b"PK\x03\x04") => return Found::Walk(Box::new(ZipWalker::default())),
        _ => {}
    }
    if let Some(description) = ggml::describe(start) {
        return Found::Is(Box::new(description));
    }
    if start.get(4..8) == Some(b"TFL3") {
        return is(Format::TfLite);
    }
    if start.get(8) == Some(&b'{')
        && let Some(header) = u64_at(start, 0)
        && (SafetensorsWalker::may_be(header, window.end)
            || names::has_extension(name, "safetensors"))
    {
        return Found::Walk(Box::new(SafetensorsWalker::new(header)));
    }
    if let Some(description) = pytorch::pickle(start) {
        return Found::Is(Box::new(description));
    }
    match names::json_file(name) {
        Some(JsonFile::Index) => return Found::Walk(Box::new(IndexWalker::default())),
        Some(JsonFile::Config) => return Found::Walk(Box::new(ConfigWalker::config())),
        Some(JsonFile::Diffusers) => return Found::Walk(Box::new(ConfigWalker::diffusers())),
        None => {}
    }
    if let Some(description) = openvino::describe(start) {
        return Found::Is(Box::new(description));
    }
    if OnnxWalker::may_be(start, window.end) {
        return Found::Walk(Box::new(OnnxWalker::default()));
    }
    Found::Nothing
}

/// The next piece of a file that is read from front to end.
pub(crate) fn next_piece(window: &Window<'_>) -> Pause {
    Pause::Read {
        offset: window.until(),
        len: u64::from(WINDOW),
    }
}
