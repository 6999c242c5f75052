//! What stands around the text of a line: colours, times, who wrote it, JSON.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use super::scan::{Fields, digits, word};
use super::{LineTime, Writer, llama};

/// Bytes of a line that are looked at. A command line that Ollama logs has some hundred.
pub const MAX_LINE_BYTES: usize = 16 * 1024;

/// Words at the start of a line among which its time and its writer are looked for.
const PREFIX_WORDS: usize = 6;

/// Most rows of a memory table in one line of JSON.
const MAX_ROWS: usize = 64;

/// A line without what stands around its text.
#[derive(Clone, Debug)]
pub struct Stripped<'a> {
    /// When it was written.
    pub at: Option<LineTime>,
    /// Who wrote it.
    pub by: Option<Writer>,
    /// Its text; several where a line of JSON holds several.
    pub texts: Vec<Content<'a>>,
}

/// What a line holds.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// A row of a memory table, as fields.
    Row(Fields),
}

/// The text of a line; `None` for an empty one.
pub fn stripped(line: &[u8]) -> Option<Stripped<'_>> {
    let line = line.get(..MAX_LINE_BYTES).unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    let text = if text.contains('\u{1b}') {
        Cow::Owned(without_colours(&text))
    } else {
        text
    };
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return None;
    }
    if let Some(found) = trimmed.find('{').and_then(|at| json(trimmed.get(at..)?)) {
        return Some(found);
    }
    let (at, by) = prefix(trimmed);
    Some(Stripped {
        at,
        by,
        texts: vec![Content::Text(text)],
    })
}

/// Leaves out control sequences (`ESC [ … letter`).
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = match behind.strip_prefix('[') {
            Some(sequence) => {
                let end = sequence.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c));
                end.and_then(|end| sequence.get(end + 1..)).unwrap_or("")
            }
            None => behind,
        };
    }
    plain.push_str(rest);
    plain
}

/// The time and the writer that the first words of a line tell.
fn prefix(text: &str) -> (Option<LineTime>, Option<Writer>) {
    let (mut at, mut by) = (None, None);
    for word in text.split_whitespace().take(PREFIX_WORDS) {
        at = at.or_else(|| time(word));
        by = by.or_else(|| writer(word));
    }
    (at, by)
}

/// `0.00.022.288` (minutes, seconds, milliseconds, microseconds), `2026-11-30T12:00:00Z`, `time=2026-…`,
/// `1606731234.123456`.
fn time(word: &str) -> Option<LineTime> {
    let word = word.strip_prefix("time=").unwrap_or(word);
    if word.len() > 20 && word.as_bytes().get(10) == Some(&b'T')
        || word.len() == 20 && word.ends_with('Z')
    {
        return wall_us(word).map(LineTime::Wall);
    }
    if !word.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let parts: Vec<&str> = word.split('.').collect();
    let number = |text: &str| text.parse::<u64>().ok();
    match parts.as_slice() {
        [minutes, seconds, milli, micro]
            if seconds.len() == 2 && milli.len() == 3 && micro.len() == 3 =>
        {
            let seconds = number(minutes)?
                .checked_mul(60)?
                .checked_add(number(seconds)?)?;
            let micro = number(milli)? * 1_000 + number(micro)?;
            Some(LineTime::SinceStart(
                seconds.checked_mul(1_000_000)?.checked_add(micro)?,
            ))
        }
        [seconds, micro] if seconds.len() == 10 && micro.len() == 6 => {
            let seconds = i64::try_from(number(seconds)?).ok()?;
            let micro = i64::try_from(number(micro)?).ok()?;
            Some(LineTime::Wall(seconds * 1_000_000 + micro))
        }
        _ => None,
    }
}

/// Microseconds since 1970 of a time in RFC 3339.
pub fn wall_us(text: &str) -> Option<i64> {
    text.parse::<Timestamp>()
        .ok()
        .map(Timestamp::as_microsecond)
}

/// `[8081]`, `pid=123)`, `TP1]`.
fn writer(word: &str) -> Option<Writer> {
    let digits = |text: &str| {
        let is_number = text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| is_number)
    };
    let bracketed = word.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    if let Some(port) = bracketed.and_then(digits) {
        return Some(Writer::Port(port));
    }
    if let Some(pid) = word.strip_prefix("pid=") {
        return digits(pid.strip_suffix([')', ':']).unwrap_or(pid)).map(Writer::Pid);
    }
    let rank = word.strip_suffix([']', ':'])?;
    let rank = rank.strip_prefix('[').unwrap_or(rank);
    digits(rank.strip_prefix("TP")?).map(Writer::Rank)
}

/// A line of JSON: of `--log-jsonl`, or of a container's log.
fn json(text: &str) -> Option<Stripped<'static>> {
    if !text.starts_with("{\"") {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let string = |name: &str| value.get(name).and_then(Value::as_str);
    if let Some(line) = string("log") {
        let (mut at, by) = prefix(line);
        at = string("time").and_then(wall_us).map(LineTime::Wall).or(at);
        let texts = vec![Content::Text(Cow::Owned(line.to_owned()))];
        return Some(Stripped { at, by, texts });
    }
    let at = value
        .get("time")
        .and_then(Value::as_u64)
        .map(LineTime::SinceStart);
    if let Some(message) = string("msg") {
        let texts = message.lines().filter(|line| !line.trim().is_empty());
        let texts = texts.map(|line| Content::Text(Cow::Owned(line.to_owned())));
        return Some(Stripped {
            at,
            by: None,
            texts: texts.collect(),
        });
    }
    let rows = value.get("data")?.get("rows")?.as_array()?;
    let texts = rows.iter().take(MAX_ROWS).filter_map(row);
    Some(Stripped {
        at,
        by: None,
        texts: texts.map(Content::Row).collect(),
    })
}

/// The columns of the memory table, in the order of its lines of text.
const COLUMNS: [&str; 7] = [
    "total",
    "free",
    "self",
    "model",
    "context",
    "compute",
    "unaccounted",
];

fn row(row: &Value) -> Option<Fields> {
    let name = row.get("name")?.as_str()?;
    let mut fields = vec![word(&llama::device(name))];
    for column in COLUMNS {
        let number = row.get(column).and_then(Value::as_u64);
        fields.extend(number.map(|number| digits(number.to_string())));
    }
    [5, 8].contains(&fields.len()).then_some(fields)
}
