//! What the numbers of a header can be. A number beyond is a damaged file or one made to mislead: nothing is computed
//! with it, and it is not shown as what the model is.

use std::ops::RangeInclusive;

use crate::header::Header;
use crate::limits::MAX_LAYERS;
use crate::metadata::Value;

/// Keys below the architecture's name, each with the least and the largest value that a model can have. Real models stay
/// a hundred times below: 130 layers, 10 million tokens of context, embeddings of 16 thousand elements, 256 heads.
const NUMBERS: [(&str, RangeInclusive<u64>); 24] = [
    ("block_count", 1..=MAX_LAYERS),
    ("nextn_predict_layers", 0..=MAX_LAYERS),
    ("context_length", 1..=1 << 30),
    ("embedding_length", 1..=1 << 20),
    ("vocab_size", 0..=1 << 30),
    ("feed_forward_length", 0..=1 << 24),
    ("expert_feed_forward_length", 0..=1 << 24),
    ("expert_count", 0..=1 << 16),
    ("expert_used_count", 0..=1 << 16),
    ("attention.head_count", 0..=1 << 16),
    ("attention.head_count_kv", 0..=1 << 16),
    ("attention.key_length", 0..=1 << 16),
    ("attention.value_length", 0..=1 << 16),
    ("attention.key_length_swa", 0..=1 << 16),
    ("attention.value_length_swa", 0..=1 << 16),
    ("attention.key_length_mla", 0..=1 << 16),
    ("attention.value_length_mla", 0..=1 << 16),
    ("attention.indexer.key_length", 0..=1 << 16),
    ("attention.shared_kv_layers", 0..=MAX_LAYERS),
    ("attention.sliding_window", 0..=1 << 30),
    ("ssm.conv_kernel", 0..=1 << 16),
    ("ssm.inner_size", 0..=1 << 24),
    ("ssm.state_size", 0..=1 << 24),
    ("ssm.group_count", 0..=1 << 16),
];

impl Header {
    /// The first key whose number no model can have; of an array, any of its numbers. Not the context that the model was
    /// trained for: nothing is computed with it where another is asked for.
    pub fn impossible_number(&self) -> Option<&'static str> {
        NUMBERS
            .iter()
            .filter(|(key, _)| *key != "context_length")
            .find(|(key, possible)| self.is_beyond(key, possible))
            .map(|(key, _)| *key)
    }

    /// A number that a model can have; else none.
    pub(crate) fn possible(&self, wanted: &str) -> Option<u64> {
        let possible = NUMBERS.iter().find(|(key, _)| *key == wanted);
        let number = self.u64(wanted)?;
        possible
            .is_none_or(|(_, possible)| possible.contains(&number))
            .then_some(number)
    }

    fn is_beyond(&self, key: &str, possible: &RangeInclusive<u64>) -> bool {
        match self.value(key) {
            None => false,
            // Numbers below zero are none of these.
            Some(Value::Array(array)) => array
                .to_u64s()
                .is_some_and(|numbers| numbers.iter().any(|number| !possible.contains(number))),
            Some(value) => value
                .as_u64()
                .is_some_and(|number| !possible.contains(&number)),
        }
    }
}
