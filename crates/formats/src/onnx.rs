//! ONNX: a protobuf whose fields are walked as far as the weights; what they hold is stepped over.

use std::collections::BTreeSet;

use crate::bytes::{file_name, len, name};
use crate::description::{Description, Flaw, Format};
use crate::dtype::Dtype;
use crate::error::{Error, What};
use crate::limits::{
    MAX_DIMENSIONS, MAX_NAME_BYTES, MAX_PARTS, MAX_REQUESTED_BYTES, MAX_STEPS, WINDOW,
};
use crate::tensors::{Tensors, bytes_of};
use crate::window::{Pause, Walker, Window, malformed};

/// Versions of the format that are plausible; 13 is of 2025.
const VERSIONS: std::ops::RangeInclusive<u64> = 1..=64;

/// Bytes of a text that is looked at: longer ones name nothing.
const MAX_TEXT_BYTES: u64 = 4 * MAX_NAME_BYTES as u64;

/// Bytes of a tag and a length, at most: two numbers of seven bits a byte.
const HEAD_BYTES: u64 = 20;

/// Fields of `ModelProto`.
mod model {
    pub(super) const IR_VERSION: u64 = 1;
    pub(super) const PRODUCER_NAME: u64 = 2;
    pub(super) const GRAPH: u64 = 7;
}

/// Field of `GraphProto`.
const INITIALIZER: u64 = 5;

/// Fields of `TensorProto`.
mod tensor {
    pub(super) const DIMS: u64 = 1;
    pub(super) const DATA_TYPE: u64 = 2;
    pub(super) const EXTERNAL_DATA: u64 = 13;
}

/// A stretch of the file that a message takes.
#[derive(Debug, Clone, Copy)]
struct Level {
    at: u64,
    end: u64,
}

#[derive(Debug, Default)]
pub(crate) struct OnnxWalker {
    model: Option<Level>,
    graph: Option<Level>,
    initializer: Option<Level>,
    pending: Initializer,
    version: Option<u64>,
    producer: Option<String>,
    seen_graph: bool,
    tensors: Tensors,
    parts: BTreeSet<String>,
    dropped: bool,
    requested: u64,
    steps: u32,
}

#[derive(Debug, Default)]
struct Initializer {
    elements: Option<u64>,
    dimensions: u32,
    dtype: Option<Dtype>,
    impossible: bool,
}

impl OnnxWalker {
    /// Whether a file starts like one: a version, then fields of a model that fit into the file, a graph or a producer
    /// among the first.
    pub(crate) fn may_be(start: &[u8], end: u64) -> bool {
        let Some(([0x08], rest)) = start.split_at_checked(1) else {
            return false;
        };
        let Some((version, used)) = varint(rest) else {
            return false;
        };
        let next = rest.get(used..).and_then(varint);
        let Some((tag, tag_bytes)) = next.filter(|_| VERSIONS.contains(&version)) else {
            return false;
        };
        let at = used.saturating_add(tag_bytes);
        // Producer, its version, domain, documentation, graph, opset: all have a length.
        let follows = matches!(tag, 0x12 | 0x1a | 0x22 | 0x32 | 0x3a | 0x42);
        match rest.get(at..).and_then(varint) {
            Some((length, _)) if follows => length > 0 && length <= end,
            // The model's own version.
            Some(_) => tag == 0x28,
            None => false,
        }
    }

    fn go(&mut self, window: Window<'_>) -> Result<(), Pause> {
        loop {
            if let Some(level) = self.initializer {
                let level = self.tensor_field(window, level)?;
                self.initializer = level;
            } else if let Some(level) = self.graph {
                self.graph = self.graph_field(window, level)?;
            } else {
                let level = self.model.unwrap_or(Level {
                    at: 0,
                    end: window.end,
                });
                self.model = Some(self.model_field(window, level)?);
            }
        }
    }

    fn model_field(&mut self, window: Window<'_>, level: Level) -> Result<Level, Pause> {
        if level.at >= level.end {
            return Err(match self.version {
                Some(_) if self.seen_graph => Pause::Done(Box::new(self.describe(true))),
                _ => Pause::Failed(Error::NotModel),
            });
        }
        let field = field(window, level)?;
        match (field.number, field.value) {
            (model::IR_VERSION, Value::Number(version)) => self.version = Some(version),
            (model::PRODUCER_NAME, Value::Bytes { at, len }) if len <= MAX_TEXT_BYTES => {
                let text = String::from_utf8_lossy(window.need_here(at, len)?);
                self.producer = name(&text);
            }
            (model::GRAPH, Value::Bytes { at, len }) => {
                self.seen_graph = true;
                self.graph = Some(Level {
                    at,
                    end: at.saturating_add(len),
                });
            }
            _ => {}
        }
        Ok(Level {
            at: field.after,
            ..level
        })
    }

    fn graph_field(&mut self, window: Window<'_>, level: Level) -> Result<Option<Level>, Pause> {
        if level.at >= level.end {
            return Ok(None);
        }
        let field = field(window, level)?;
        if let (INITIALIZER, Value::Bytes { at, len }) = (field.number, field.value) {
            self.pending = Initializer::default();
            self.initializer = Some(Level {
                at,
                end: at.saturating_add(len),
            });
        }
        Ok(Some(Level {
            at: field.after,
            ..level
        }))
    }

    fn tensor_field(&mut self, window: Window<'_>, level: Level) -> Result<Option<Level>, Pause> {
        if level.at >= level.end {
            self.tensor(level.end)?;
            return Ok(None);
        }
        let field = field(window, level)?;
        match (field.number, field.value) {
            (tensor::DIMS, Value::Number(size)) => self.pending.dimension(size),
            // Packed: a run of numbers.
            (tensor::DIMS, Value::Bytes { at, len }) if len <= u64::from(MAX_DIMENSIONS) * 10 => {
                let mut rest = window.need_here(at, len)?;
                while let Some((size, used)) = varint(rest) {
                    self.pending.dimension(size);
                    rest = rest.get(used..).unwrap_or_default();
                }
            }
            (tensor::DATA_TYPE, Value::Number(number)) => {
                self.pending.dtype = Some(Dtype::of_onnx(number));
            }
            (tensor::EXTERNAL_DATA, Value::Bytes { at, len }) if len <= MAX_TEXT_BYTES => {
                let entry = window.need_here(at, len)?;
                if let Some(location) = location(entry) {
                    self.external(location);
                }
            }
            _ => {}
        }
        Ok(Some(Level {
            at: field.after,
            ..level
        }))
    }

    fn external(&mut self, location: &[u8]) {
        let text = String::from_utf8_lossy(location);
        match file_name(&text) {
            Some(part) if self.parts.len() < MAX_PARTS => {
                self.parts.insert(part);
            }
            _ => self.dropped = true,
        }
    }

    fn tensor(&mut self, at: u64) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending);
        let dtype = pending.dtype.unwrap_or(Dtype::Other);
        let elements = pending.elements.unwrap_or(1);
        let bytes = bytes_of(dtype, elements);
        if pending.impossible || (bytes.is_none() && dtype != Dtype::Other) {
            return Err(malformed(What::Tensor, at));
        }
        self.tensors.add(dtype, elements, bytes.unwrap_or(0));
        Ok(())
    }

    fn describe(&mut self, complete: bool) -> Description {
        let mut found = Description::new(Format::Onnx);
        found.version = self.version;
        found.producer = self.producer.take();
        found.parts = std::mem::take(&mut self.parts).into_iter().collect();
        if self.dropped {
            found.flaw(Flaw::PartsDropped);
        }
        if !complete {
            found.flaw(Flaw::TableTooLong);
        } else if self.tensors.count > 0 {
            found.tensors = Some(self.tensors.count);
            let shares = self.tensors.shares();
            if shares.iter().all(|share| share.dtype != Dtype::Other) {
                found.tensor_bytes = Some(self.tensors.bytes());
            }
            found.dtypes = shares;
        }
        found
    }
}

impl Walker for OnnxWalker {
    fn walk(&mut self, window: Window<'_>) -> Pause {
        let Err(pause) = self.go(window) else {
            return Pause::Failed(Error::NotModel);
        };
        // A table of weights that is too long to be walked is no reason to know nothing of the file.
        if let Pause::Read { len, .. } = &pause {
            self.steps = self.steps.saturating_add(1);
            self.requested = self.requested.saturating_add(*len);
            let room = MAX_REQUESTED_BYTES.saturating_sub(2 * u64::from(WINDOW));
            if self.seen_graph
                && (self.requested > room || self.steps >= MAX_STEPS.saturating_sub(2))
            {
                return Pause::Done(Box::new(self.describe(false)));
            }
        }
        pause
    }
}

impl Initializer {
    fn dimension(&mut self, size: u64) {
        self.dimensions = self.dimensions.saturating_add(1);
        let product = self.elements.unwrap_or(1).checked_mul(size);
        self.impossible |= product.is_none() || self.dimensions > MAX_DIMENSIONS;
        self.elements = product;
    }
}

enum Value {
    Number(u64),
    Bytes { at: u64, len: u64 },
    Fixed,
}

struct Field {
    number: u64,
    value: Value,
    after: u64,
}

/// The field at the start of a level.
fn field(window: Window<'_>, level: Level) -> Result<Field, Pause> {
    let wrong = malformed(What::Field, level.at);
    let room = level.end.saturating_sub(level.at).min(HEAD_BYTES);
    let head = window.need_here(level.at, room)?;
    let (tag, tag_bytes) = varint(head).ok_or(wrong)?;
    let rest = head.get(tag_bytes..).unwrap_or_default();
    let after_tag = level.at.saturating_add(tag_bytes as u64);
    let (value, after) = match tag & 7 {
        0 => {
            let (number, used) = varint(rest).ok_or(wrong)?;
            (Value::Number(number), after_tag.saturating_add(used as u64))
        }
        1 => (Value::Fixed, after_tag.saturating_add(8)),
        2 => {
            let (len, used) = varint(rest).ok_or(wrong)?;
            let at = after_tag.saturating_add(used as u64);
            (Value::Bytes { at, len }, at.saturating_add(len))
        }
        5 => (Value::Fixed, after_tag.saturating_add(4)),
        _ => return Err(wrong.into()),
    };
    if after > level.end || tag >> 3 == 0 {
        return Err(Error::Truncated {
            offset: level.at,
            needed: after.saturating_sub(level.at),
            end: level.end,
        }
        .into());
    }
    Ok(Field {
        number: tag >> 3,
        value,
        after,
    })
}

/// A number of seven bits a byte, and how many bytes it took.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0_u64;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        let shift = u32::try_from(index).ok()?.checked_mul(7)?;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some((number, index.checked_add(1)?));
        }
    }
    None
}

/// The value of `location` in a pair of key and value.
fn location(entry: &[u8]) -> Option<&[u8]> {
    let mut rest = entry;
    let mut is_location = false;
    let mut value = None;
    while let Some((tag, used)) = varint(rest) {
        let (length, length_bytes) = varint(rest.get(used..)?)?;
        let from = used.checked_add(length_bytes)?;
        let to = from.checked_add(crate::bytes::size(length))?;
        let bytes = rest.get(from..to)?;
        match tag {
            0x0a => is_location = bytes == b"location",
            0x12 => value = Some(bytes),
            _ => return None,
        }
        rest = rest.get(to..)?;
    }
    value.filter(|value| is_location && len(value) > 0)
}
