//! Safetensors: a length, JSON that lists the tensors, their data.

use crate::bytes::name;
use crate::config::architecture;
use crate::description::{Description, Flaw, Format, Kind};
use crate::dtype::Dtype;
use crate::error::{Error, What};
use crate::json::{Scalar, Scanner, Sink};
use crate::known::kind_of_architecture;
use crate::limits::{MAX_DIMENSIONS, MAX_SAFETENSORS_HEADER};
use crate::reader::next_piece;
use crate::tensors::{Tensors, bytes_of};
use crate::window::{Pause, Walker, Window, malformed};

/// Bytes of the length before the header.
const LENGTH_BYTES: u64 = 8;

/// Parts of tensor names that adapters have (PEFT, kohya, diffusers).
const ADAPTER_MARKS: &[&str] = &[
    ".lora_A.",
    ".lora_B.",
    ".lora_down.",
    ".lora_up.",
    ".lora.down.",
    ".lora.up.",
    ".hada_w1_",
    ".lokr_w",
];

/// Starts of tensor names that checkpoints of image generators have (Stable Diffusion, Flux).
const DIFFUSION_MARKS: &[&str] = &[
    "model.diffusion_model.",
    "first_stage_model.",
    "double_blocks.",
    "down_blocks.0.",
];

#[derive(Debug)]
pub(crate) struct SafetensorsWalker {
    header: u64,
    scanner: Scanner,
    table: Table,
}

impl SafetensorsWalker {
    /// Whether a file of this size may start with a header of this size.
    pub(crate) const fn may_be(header: u64, file: u64) -> bool {
        header >= 2
            && header <= MAX_SAFETENSORS_HEADER
            && header <= file.saturating_sub(LENGTH_BYTES)
    }

    pub(crate) fn new(header: u64) -> Self {
        Self {
            header,
            scanner: Scanner::new(LENGTH_BYTES),
            table: Table::default(),
        }
    }

    fn go(&mut self, window: Window<'_>) -> Result<Pause, Error> {
        if self.header > MAX_SAFETENSORS_HEADER {
            return Err(Error::TooLarge {
                what: What::HeaderLength,
                offset: 0,
            });
        }
        let end = LENGTH_BYTES.saturating_add(self.header);
        window
            .reach(LENGTH_BYTES, self.header)
            .map_err(|_| Error::Truncated {
                offset: LENGTH_BYTES,
                needed: self.header,
                end: window.end,
            })?;
        self.table.data_bytes = window.end.saturating_sub(end);
        let from = window.start.max(LENGTH_BYTES);
        let count = end.min(window.until()).saturating_sub(from);
        let piece = window.get(from, count).unwrap_or_default();
        self.scanner.feed(piece, &mut self.table)?;
        if window.until() < end {
            return Ok(next_piece(&window));
        }
        self.scanner.finish(&mut self.table)?;
        Ok(Pause::Done(Box::new(self.table.describe())))
    }
}

impl Walker for SafetensorsWalker {
    fn walk(&mut self, window: Window<'_>) -> Pause {
        self.go(window).unwrap_or_else(Pause::Failed)
    }
}

/// The tensors so far, and the one whose entry is being read.
#[derive(Debug, Default)]
struct Table {
    data_bytes: u64,
    tensors: Tensors,
    entry: Entry,
    adapter: bool,
    diffusion: bool,
    truncated: bool,
    mismatched: bool,
    title: Option<String>,
    architecture: Option<String>,
    producer: Option<String>,
}

#[derive(Debug, Default)]
struct Entry {
    dtype: Option<Dtype>,
    /// `None` until a shape was seen.
    elements: Option<u64>,
    dimensions: u32,
    offsets: [Option<u64>; 2],
    impossible: bool,
}

impl Entry {
    fn dimension(&mut self, value: Option<u64>) {
        self.dimensions = self.dimensions.saturating_add(1);
        let product = value.and_then(|value| self.elements.unwrap_or(1).checked_mul(value));
        self.impossible |= product.is_none() || self.dimensions > MAX_DIMENSIONS;
        self.elements = product;
    }

    fn offset(&mut self, value: Option<u64>) {
        match (value, &mut self.offsets) {
            (Some(value), [place @ None, _] | [Some(_), place @ None]) => *place = Some(value),
            _ => self.impossible = true,
        }
    }
}

impl Sink for Table {
    fn open(&mut self, keys: &[Box<str>], _at: u64) -> Result<(), Error> {
        if keys.len() == 1 {
            self.entry = Entry::default();
        }
        Ok(())
    }

    fn scalar(&mut self, keys: &[Box<str>], value: Scalar<'_>, at: u64) -> Result<(), Error> {
        let wrong = || malformed(What::Tensor, at);
        match keys {
            [group, key] if is_metadata(group) => self.metadata(key, value),
            [_, key] if &**key == "dtype" => {
                self.entry.dtype = Some(Dtype::of_safetensors(value.text().ok_or_else(wrong)?));
            }
            [_, key, _] if &**key == "shape" => self.entry.dimension(value.u64()),
            [_, key, _] if &**key == "data_offsets" => self.entry.offset(value.u64()),
            // Tensors are objects.
            [] | [_] => return Err(wrong()),
            [_, key] if key.is_empty() => return Err(wrong()),
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, keys: &[Box<str>], at: u64) -> Result<(), Error> {
        match keys {
            [tensor] if !is_metadata(tensor) => self.tensor(tensor, at),
            _ => Ok(()),
        }
    }
}

fn is_metadata(key: &str) -> bool {
    key == "__metadata__"
}

impl Table {
    /// Of anybody's text only what is listed here is kept.
    fn metadata(&mut self, key: &str, value: Scalar<'_>) {
        let Some(text) = value.text() else { return };
        match key {
            "format" => self.producer = name(text),
            "modelspec.title" => self.title = name(text),
            "modelspec.architecture" => self.architecture = architecture(text),
            "ss_network_module" | "lora_adapter_metadata" => self.adapter = true,
            _ => {}
        }
    }

    fn tensor(&mut self, name: &str, at: u64) -> Result<(), Error> {
        let entry = std::mem::take(&mut self.entry);
        let wrong = malformed(What::Tensor, at);
        let (Some(dtype), [Some(begin), Some(end)], false) =
            (entry.dtype, entry.offsets, entry.impossible)
        else {
            return Err(wrong);
        };
        let bytes = end.checked_sub(begin).ok_or(wrong)?;
        // No dimension: one number.
        let elements = entry.elements.unwrap_or(1);
        match bytes_of(dtype, elements) {
            Some(computed) => self.mismatched |= computed != bytes,
            None if dtype == Dtype::Other => {}
            None => return Err(wrong),
        }
        self.truncated |= end > self.data_bytes;
        self.adapter |= ADAPTER_MARKS.iter().any(|mark| name.contains(mark));
        self.diffusion |= DIFFUSION_MARKS.iter().any(|mark| name.starts_with(mark));
        self.tensors.add(dtype, elements, bytes);
        Ok(())
    }

    fn describe(&mut self) -> Description {
        let mut found = Description::new(Format::Safetensors);
        found.title = self.title.take();
        found.producer = self.producer.take();
        found.architecture = self.architecture.take();
        found.tensors = Some(self.tensors.count);
        found.tensor_bytes = Some(self.tensors.bytes());
        found.dtypes = self.tensors.shares();
        found.kind = if self.adapter {
            Kind::Adapter
        } else {
            match found.architecture.as_deref().map(kind_of_architecture) {
                Some(kind) if kind != Kind::Unknown => kind,
                _ if self.diffusion => Kind::Diffusion,
                _ => Kind::Unknown,
            }
        };
        for (is, flaw) in [
            (self.truncated, Flaw::TruncatedData),
            (self.mismatched, Flaw::SizeMismatch),
            (
                !self.truncated && self.tensors.bytes() > self.data_bytes,
                Flaw::Overlapping,
            ),
        ] {
            if is {
                found.flaw(flaw);
            }
        }
        found
    }
}
