//! `NAME.index.json`: which tensor is in which of a model's files. Its `weight_map` may be megabytes of names, of which
//! only those of the files are kept.

use std::collections::BTreeSet;

use crate::bytes::{file_name, len};
use crate::description::{Description, Flaw, Format};
use crate::error::{Error, What};
use crate::json::{Scalar, Scanner, Sink};
use crate::limits::{MAX_JSON_BYTES, MAX_PARTS};
use crate::reader::next_piece;
use crate::window::{Pause, Walker, Window, malformed};

#[derive(Debug)]
pub(crate) struct IndexWalker {
    scanner: Scanner,
    map: Map,
}

impl Default for IndexWalker {
    fn default() -> Self {
        Self {
            scanner: Scanner::new(0),
            map: Map::default(),
        }
    }
}

impl Walker for IndexWalker {
    fn walk(&mut self, window: Window<'_>) -> Pause {
        if let Some(pause) = feed(&mut self.scanner, window, &mut self.map) {
            return pause;
        }
        if !self.map.seen {
            return Pause::Failed(malformed(What::Json, 0));
        }
        let mut found = Description::new(Format::Index);
        found.tensors = Some(self.map.tensors);
        found.tensor_bytes = self.map.total;
        found.parts = std::mem::take(&mut self.map.parts).into_iter().collect();
        if self.map.dropped {
            found.flaw(Flaw::PartsDropped);
        }
        Pause::Done(Box::new(found))
    }
}

/// Feeds a whole file of JSON piece by piece; the pause until it has ended.
pub(crate) fn feed(
    scanner: &mut Scanner,
    window: Window<'_>,
    sink: &mut impl Sink,
) -> Option<Pause> {
    if window.end > MAX_JSON_BYTES {
        return Some(Pause::Failed(Error::TooLarge {
            what: What::Json,
            offset: 0,
        }));
    }
    if let Err(error) = scanner.feed(window.bytes, sink) {
        return Some(Pause::Failed(error));
    }
    if window.until() < window.end && len(window.bytes) > 0 {
        return Some(next_piece(&window));
    }
    scanner.finish(sink).err().map(Pause::Failed)
}

#[derive(Debug, Default)]
struct Map {
    seen: bool,
    dropped: bool,
    tensors: u64,
    total: Option<u64>,
    parts: BTreeSet<String>,
}

impl Sink for Map {
    fn open(&mut self, keys: &[Box<str>], _at: u64) -> Result<(), Error> {
        self.seen |= matches!(keys, [key] if &**key == "weight_map");
        Ok(())
    }

    fn scalar(&mut self, keys: &[Box<str>], value: Scalar<'_>, _at: u64) -> Result<(), Error> {
        match keys {
            [group, key] if &**group == "metadata" && &**key == "total_size" => {
                self.total = value.u64();
            }
            [group, _] if &**group == "weight_map" => {
                self.tensors = self.tensors.saturating_add(1);
                match value.text() {
                    Some(text) if self.parts.contains(text) => {}
                    Some(text) if self.parts.len() < MAX_PARTS => {
                        if let Some(part) = file_name(text) {
                            self.parts.insert(part);
                        } else {
                            self.dropped = true;
                        }
                    }
                    _ => self.dropped = true,
                }
            }
            _ => {}
        }
        Ok(())
    }
}
