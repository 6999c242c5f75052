//! One figure of a scenario: a number, a refusal, or several of these in turn.

use serde::{Deserialize, Serialize};

use crate::code::Code;

/// What a call answers for one figure.
///
/// In a scenario file: `42`, `"0x10de"`, `"16376 MiB"`, `"320 W"`; `"n/a"` (`NOT_SUPPORTED`),
/// `"lost"` (`GPU_IS_LOST`) or the name of any return code; `[10, "n/a", 30]` for one after the
/// other by call count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Spelling", into = "Spelling")]
pub enum Value {
    Number(u64),
    Fails(Code),
    Cycle(Vec<Value>),
}

impl Value {
    /// The call answers `NOT_SUPPORTED`; a process's memory reads `UINT64_MAX`.
    pub const NOT_AVAILABLE: Self = Self::Fails(Code::NOT_SUPPORTED);

    /// The answer to the `ordinal`th call, counted from 1.
    pub fn at(&self, ordinal: u64) -> Result<u64, Code> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Fails(code) => Err(*code),
            Self::Cycle(values) => {
                let length = u64::try_from(values.len()).unwrap_or(u64::MAX);
                let turn = ordinal.saturating_sub(1).checked_rem(length).unwrap_or(0);
                let value = usize::try_from(turn).ok().and_then(|turn| values.get(turn));
                value.map_or(Err(Code::NOT_SUPPORTED), |value| value.at(ordinal))
            }
        }
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<Code> for Value {
    fn from(code: Code) -> Self {
        Self::Fails(code)
    }
}

impl From<Vec<u64>> for Value {
    fn from(numbers: Vec<u64>) -> Self {
        Self::Cycle(numbers.into_iter().map(Self::Number).collect())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelling {
    Number(u64),
    Text(String),
    Cycle(Vec<Value>),
}

impl TryFrom<Spelling> for Value {
    type Error = String;

    fn try_from(spelling: Spelling) -> Result<Self, String> {
        match spelling {
            Spelling::Number(number) => Ok(Self::Number(number)),
            Spelling::Cycle(values) => Ok(Self::Cycle(values)),
            Spelling::Text(text) => from_text(&text).ok_or_else(|| {
                format!("{text:?} is no number, unit, \"n/a\", \"lost\" or return code")
            }),
        }
    }
}

fn from_text(text: &str) -> Option<Value> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("n/a") {
        return Some(Value::NOT_AVAILABLE);
    }
    if text.eq_ignore_ascii_case("lost") {
        return Some(Value::Fails(Code::GPU_IS_LOST));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(Value::Number);
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, unit) = text.split_at_checked(end)?;
        let factor = match unit.trim() {
            "" | "B" | "MHz" | "%" | "C" | "mW" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "W" => 1000,
            _ => return None,
        };
        return digits
            .parse::<u64>()
            .ok()?
            .checked_mul(factor)
            .map(Value::Number);
    }
    Code::from_name(text).map(Value::Fails)
}

impl From<Value> for Spelling {
    fn from(value: Value) -> Self {
        match value {
            Value::Number(number) => Self::Number(number),
            Value::Fails(Code::NOT_SUPPORTED) => Self::Text("n/a".to_owned()),
            Value::Fails(code) => Self::Text(
                code.name()
                    .map_or_else(|| "UNKNOWN".to_owned(), str::to_owned),
            ),
            Value::Cycle(values) => Self::Cycle(values),
        }
    }
}
