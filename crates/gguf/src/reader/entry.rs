//! The metadata: keys, and values that are kept, skipped or only counted.

use crate::bytes::clean_text;
use crate::error::Error;
use crate::flaw::Flaw;
use crate::limits::{
    ENTRY_OVERHEAD, MAX_KEPT_ARRAY_COUNT, MAX_KEPT_BYTES, MAX_KEPT_STRING_BYTES,
    MAX_KEPT_TOKENIZER_STRING_BYTES, MAX_KEY_BYTES,
};
use crate::metadata::{Value, ValueType};

use super::walk::{HeaderReader, Pause, State};

impl HeaderReader {
    pub(super) fn key(&mut self) -> Result<(), Pause> {
        let (key, size) = self.name("key", MAX_KEY_BYTES)?;
        self.at = self.at.saturating_add(size);
        self.metadata_left = self.metadata_left.saturating_sub(1);
        self.state = State::ValueType { key };
        Ok(())
    }

    pub(super) fn value_type(&mut self, key: Box<str>) -> Result<(), Pause> {
        let encoding = self.encoding;
        let Some(type_id) = encoding.u32(self.need(4)?) else {
            return Err(Pause::Need(4));
        };
        let Some(kind) = ValueType::from_id(type_id) else {
            return Err(self.unknown_type(&key, type_id).into());
        };
        self.at = self.at.saturating_add(4);
        self.state = State::Value { key, kind };
        Ok(())
    }

    pub(super) fn scalar(&mut self, key: Box<str>, kind: ValueType) -> Result<(), Pause> {
        let size = kind.size().unwrap_or(1);
        let encoding = self.encoding;
        let Some(value) = kind.decode(encoding, self.need(size)?) else {
            return Err(Pause::Need(size));
        };
        self.keep(key, value, size);
        Ok(())
    }

    pub(super) fn string(&mut self, key: Box<str>) -> Result<(), Pause> {
        let head = u64::from(self.encoding.length_bytes);
        let encoding = self.encoding;
        let Some(length) = encoding.length(self.need(head)?) else {
            return Err(Pause::Need(head));
        };
        let size = head.saturating_add(length);
        self.reach(size)?;
        self.texts.add(&key, self.at.saturating_add(head), length);
        let wanted = keeps_string(&key, length);
        if !wanted || !self.has_room(length) {
            self.keep(key, Value::SkippedText { bytes: length }, size);
            return Ok(());
        }
        let text = self.need(size)?;
        let text = clean_text(
            text.get(usize::from(encoding.length_bytes)..)
                .unwrap_or_default(),
        );
        self.kept = self.kept.saturating_add(length);
        self.keep(key, Value::Text(text), size);
        Ok(())
    }

    pub(super) fn array(&mut self, key: Box<str>) -> Result<(), Pause> {
        let encoding = self.encoding;
        let head = u64::from(encoding.length_bytes).saturating_add(4);
        let bytes = self.need(head)?;
        let (Some(type_id), Some(count)) = (
            encoding.u32(bytes),
            bytes.get(4..).and_then(|bytes| encoding.length(bytes)),
        ) else {
            return Err(Pause::Need(head));
        };
        let Some(element) = ValueType::from_id(type_id) else {
            return Err(self.unknown_type(&key, type_id).into());
        };
        let skipped = Value::SkippedArray { element, count };
        match (element, element.size()) {
            (ValueType::Array, _) => Err(Error::NestedArray {
                key: key.into(),
                offset: self.at,
            }
            .into()),
            (_, None) => {
                let least = count.saturating_mul(u64::from(encoding.length_bytes));
                self.reach(head.saturating_add(least))?;
                self.keep(key.clone(), skipped, head);
                self.state = State::Strings { key, left: count };
                Ok(())
            }
            (_, Some(element_size)) => {
                let body = count.saturating_mul(element_size);
                let size = head.saturating_add(body);
                self.reach(size)?;
                let wanted = count <= MAX_KEPT_ARRAY_COUNT && !key.starts_with("tokenizer.");
                if !wanted || !self.has_room(body) {
                    self.keep(key, skipped, size);
                    return Ok(());
                }
                let body_start = usize::from(encoding.length_bytes).saturating_add(4);
                let array = self
                    .need(size)?
                    .get(body_start..)
                    .and_then(|bytes| element.decode_array(encoding, bytes));
                self.kept = self.kept.saturating_add(count.saturating_mul(8));
                self.keep(key, array.map_or(skipped, Value::Array), size);
                Ok(())
            }
        }
    }

    /// Steps over the strings that lie in the window anyway, and asks for the end of the others.
    pub(super) fn strings(&mut self, key: Box<str>, left: u64) -> Result<(), Pause> {
        let head = u64::from(self.encoding.length_bytes);
        let encoding = self.encoding;
        if left == 0 {
            self.next_entry();
            return Ok(());
        }
        self.reach(left.saturating_mul(head))?;
        let Some(length) = self.peek(head).and_then(|bytes| encoding.length(bytes)) else {
            return Err(Pause::Strings(left));
        };
        let size = head.saturating_add(length);
        self.reach(size)?;
        self.texts.add(&key, self.at.saturating_add(head), length);
        self.at = self.at.saturating_add(size);
        self.state = State::Strings {
            key,
            left: left.saturating_sub(1),
        };
        Ok(())
    }

    /// Records a value of `size` bytes in the file and goes on to the next entry.
    pub(super) fn keep(&mut self, key: Box<str>, value: Value, size: u64) {
        self.at = self.at.saturating_add(size);
        self.kept = self
            .kept
            .saturating_add(ENTRY_OVERHEAD)
            .saturating_add(u64::try_from(key.len()).unwrap_or(u64::MAX));
        if self.kept > MAX_KEPT_BYTES {
            self.flaws.add(Flaw::ValuesDropped);
        } else if self.metadata.contains(&key) {
            self.flaws.add(Flaw::DuplicateKey(key));
        } else {
            self.metadata.insert(key, value);
        }
        self.next_entry();
    }

    pub(super) fn has_room(&mut self, bytes: u64) -> bool {
        let room = self.kept.saturating_add(bytes) <= MAX_KEPT_BYTES;
        if !room {
            self.flaws.add(Flaw::ValuesDropped);
        }
        room
    }

    pub(super) fn unknown_type(&self, key: &str, type_id: u32) -> Error {
        Error::UnknownValueType {
            key: key.into(),
            type_id,
            offset: self.at,
        }
    }
}

/// Templates are a page of text each and only their presence is told; of the vocabulary nothing is wanted.
fn keeps_string(key: &str, length: u64) -> bool {
    if key.starts_with("tokenizer.") {
        length <= MAX_KEPT_TOKENIZER_STRING_BYTES && !key.starts_with("tokenizer.chat_template")
    } else {
        length <= MAX_KEPT_STRING_BYTES
    }
}
