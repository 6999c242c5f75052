//! Redaction of model file headers: text in their metadata is overwritten in place, so that every
//! offset stays what it was.
//!
//! A second reader walks along with the collector's, over the same windows, and knows where text
//! stands. What it cannot follow is not let through.

use std::collections::HashMap;
use std::sync::Arc;

use gguf::{HeaderReader, Step, TextSpan};
use model::{Gap, Text};

use super::pseudonyms::Pseudonyms;
use crate::source::reads::Root;

mod broken;

/// Keys whose text names a format, never a person or a model.
const KEPT_KEYS: &[&str] = &[
    "general.architecture",
    "general.type",
    "general.size_label",
    "tokenizer.ggml.model",
    "tokenizer.ggml.pre",
    "clip.projector_type",
    "adapter.type",
    "stt.variant",
];

/// Ends of such keys below the architecture's name.
const KEPT_ENDS: &[&str] = &[".decision.type", ".rope.scaling.type"];

/// Most files whose headers are being read at once.
const MAX_HEADERS: usize = 256;

/// Readers that walk along.
#[derive(Default)]
pub(super) struct Headers {
    readers: HashMap<(Root, Text), HeaderReader>,
    sizes: HashMap<(Root, Text), u64>,
}

impl Headers {
    /// Notes the size of a file, which a reader needs from the start.
    pub(super) fn size(&mut self, root: Root, path: &Text, size: u64) {
        if self.sizes.len() >= MAX_HEADERS {
            self.sizes.clear();
        }
        self.sizes.insert((root, path.clone()), size);
    }

    /// The bytes of a file from `offset` with their text hidden.
    pub(super) fn window(
        &mut self,
        root: Root,
        path: &Text,
        offset: u64,
        bytes: &[u8],
        names: &Pseudonyms,
    ) -> Result<Arc<[u8]>, Gap> {
        let key = (root, path.clone());
        if offset == 0 {
            if self.readers.len() >= MAX_HEADERS {
                self.readers.clear();
            }
            let size = self.sizes.get(&key).copied().unwrap_or(u64::MAX);
            self.readers.insert(key.clone(), HeaderReader::new(size));
        }
        let reader = self.readers.get_mut(&key).ok_or(Gap::Redacted)?;
        if !matches!(reader.step(), Step::Read { offset: wanted, .. } if wanted == offset) {
            return Err(Gap::Redacted);
        }
        reader.supply(offset, bytes);
        let mut hidden = bytes.to_vec();
        for span in reader
            .take_texts()
            .iter()
            .filter(|span| !is_kept(&span.key))
        {
            hide(&mut hidden, offset, bytes, span, names);
        }
        let over = match reader.step() {
            Step::Read { .. } | Step::SkipStrings { .. } => None,
            // The tensors' data, which nobody asked for.
            Step::Done => Some(reader.position()),
            Step::Failed(error) => {
                let at = usize::try_from(reader.position().saturating_sub(offset));
                let rest = at.ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                Some(broken::end(&error, reader.position(), rest))
            }
        };
        if let Some(over) = over {
            let from = usize::try_from(over.saturating_sub(offset)).unwrap_or(usize::MAX);
            if let Some(rest) = hidden.get_mut(from..) {
                rest.fill(0);
            }
            self.readers.remove(&key);
        }
        Ok(hidden.into())
    }

    /// Strings were skipped up to `end`.
    pub(super) fn skipped(&mut self, root: Root, path: &Text, end: u64) {
        if let Some(reader) = self.readers.get_mut(&(root, path.clone())) {
            reader.skipped(end);
        }
    }
}

fn is_kept(key: &str) -> bool {
    KEPT_KEYS.contains(&key) || KEPT_ENDS.iter().any(|end| key.ends_with(end))
}

/// Overwrites the part of a text that lies in the window with letters derived from the text, so
/// that two models stay two.
fn hide(hidden: &mut [u8], start: u64, bytes: &[u8], span: &TextSpan, names: &Pseudonyms) {
    let end = span.offset.saturating_add(span.len);
    let local = |at: u64| usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX);
    let range = local(span.offset.max(start)).min(bytes.len())..local(end).min(bytes.len());
    let (Some(text), Some(target)) = (bytes.get(range.clone()), hidden.get_mut(range)) else {
        return;
    };
    let letters = names.letters(&String::from_utf8_lossy(text));
    for (byte, letter) in target.iter_mut().zip(letters.bytes().cycle()) {
        *byte = letter;
    }
}
