//! The key-value part of a header, as far as it is kept.

use std::collections::BTreeMap;

use crate::bytes::Encoding;

/// The type of a value or array element in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the specification's")]
pub enum ValueType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

impl ValueType {
    pub(crate) fn from_id(id: u32) -> Option<Self> {
        Some(match id {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::F32,
            7 => Self::Bool,
            8 => Self::String,
            9 => Self::Array,
            10 => Self::U64,
            11 => Self::I64,
            12 => Self::F64,
            _ => return None,
        })
    }

    /// Bytes of one value in the file; `None` for strings and arrays.
    pub const fn size(self) -> Option<u64> {
        match self {
            Self::U8 | Self::I8 | Self::Bool => Some(1),
            Self::U16 | Self::I16 => Some(2),
            Self::U32 | Self::I32 | Self::F32 => Some(4),
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::String | Self::Array => None,
        }
    }

    /// A value of a fixed size; `None` for strings and arrays, and where bytes are missing.
    pub(crate) fn decode(self, encoding: Encoding, bytes: &[u8]) -> Option<Value> {
        Some(match self {
            Self::U8 => Value::Unsigned(u64::from(*bytes.first()?)),
            Self::I8 => Value::Signed(i64::from(i8::from_le_bytes([*bytes.first()?]))),
            Self::U16 => Value::Unsigned(u64::from(encoding.u16(bytes)?)),
            Self::I16 => Value::Signed(i64::from(encoding.i16(bytes)?)),
            Self::U32 => Value::Unsigned(u64::from(encoding.u32(bytes)?)),
            Self::I32 => Value::Signed(i64::from(encoding.i32(bytes)?)),
            Self::F32 => Value::Float(f64::from(encoding.f32(bytes)?)),
            Self::Bool => Value::Bool(*bytes.first()? != 0),
            Self::U64 => Value::Unsigned(encoding.u64(bytes)?),
            Self::I64 => Value::Signed(encoding.i64(bytes)?),
            Self::F64 => Value::Float(encoding.f64(bytes)?),
            Self::String | Self::Array => return None,
        })
    }

    /// `bytes` as an array of this type.
    pub(crate) fn decode_array(self, encoding: Encoding, bytes: &[u8]) -> Option<Array> {
        let size = usize::try_from(self.size()?).ok()?;
        let values = bytes
            .chunks_exact(size)
            .filter_map(|chunk| self.decode(encoding, chunk));
        Some(match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => {
                Array::Unsigned(values.filter_map(|v| v.as_u64()).collect())
            }
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => {
                Array::Signed(values.filter_map(|v| v.as_i64()).collect())
            }
            Self::F32 | Self::F64 => Array::Float(values.filter_map(|v| v.as_f64()).collect()),
            Self::Bool => Array::Bool(values.filter_map(|v| v.as_bool()).collect()),
            Self::String | Self::Array => return None,
        })
    }
}

/// A value of the metadata. Widths are not kept: a `u8` and a `u64` of 7 are both `Unsigned(7)`.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    /// Fit for a terminal: no control characters.
    Text(Box<str>),
    Array(Array),
    /// A string that is there, but too long or of no use here.
    SkippedText {
        /// Its length in the file.
        bytes: u64,
    },
    /// An array that is there, but of strings, too long, or of no use here.
    SkippedArray {
        element: ValueType,
        count: u64,
    },
}

/// An array of numbers or flags, at most [`limits::MAX_KEPT_ARRAY_COUNT`](crate::limits::MAX_KEPT_ARRAY_COUNT) long.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum Array {
    Unsigned(Box<[u64]>),
    Signed(Box<[i64]>),
    Float(Box<[f64]>),
    Bool(Box<[bool]>),
}

impl Value {
    /// A whole number that is not negative, of any width.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::Unsigned(value) => Some(value),
            Self::Signed(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// A whole number of any width.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Self::Unsigned(value) => i64::try_from(value).ok(),
            Self::Signed(value) => Some(value),
            _ => None,
        }
    }

    /// A number with a fraction.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Float(value) => Some(value),
            _ => None,
        }
    }

    /// A flag.
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Self::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Text that was kept.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Array {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Unsigned(values) => values.len(),
            Self::Signed(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whole numbers that are not negative, flags as 0 and 1; `None` if any element is something else.
    pub fn to_u64s(&self) -> Option<Box<[u64]>> {
        match self {
            Self::Unsigned(values) => Some(values.clone()),
            Self::Signed(values) => values.iter().map(|v| u64::try_from(*v).ok()).collect(),
            Self::Bool(values) => Some(values.iter().map(|v| u64::from(*v)).collect()),
            Self::Float(_) => None,
        }
    }
}

/// The kept metadata, by key. A key whose value has the wrong type counts as absent in the typed look-ups.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metadata {
    entries: BTreeMap<Box<str>, Value>,
}

impl Metadata {
    /// Adds a value; `false` if the key is there already, whose value then stays.
    pub(crate) fn insert(&mut self, key: Box<str>, value: Value) -> bool {
        match self.entries.entry(key) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(value);
                true
            }
            std::collections::btree_map::Entry::Occupied(_) => false,
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)
    }

    /// Whether the key is there, whatever its value.
    pub fn contains(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Whether any key starts so.
    pub fn contains_prefix(&self, prefix: &str) -> bool {
        self.entries.keys().any(|key| key.starts_with(prefix))
    }

    /// A whole number that is not negative, of any width.
    pub fn u64(&self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    /// A flag.
    pub fn bool(&self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    /// Text that was kept.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// How many elements the array of a key has, kept or not.
    pub fn array_len(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            Value::Array(array) => u64::try_from(array.len()).ok(),
            Value::SkippedArray { count, .. } => Some(*count),
            _ => None,
        }
    }

    /// All entries, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (&**key, value))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
