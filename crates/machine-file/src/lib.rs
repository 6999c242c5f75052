//! Test only. A machine written down in one file: what lies below its root, a line an entry. `fixtures/drm/README.md`
//! says how such a file is written.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt;

/// What lies at a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Entry {
    /// A file with this content.
    File(Vec<u8>),
    /// A link with this text.
    Link(String),
}

/// A line that is none of the known kinds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownLine {
    /// From 1.
    pub number: usize,
    /// What stands there.
    pub text: String,
}

impl fmt::Display for UnknownLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is no entry: {}", self.number, self.text)
    }
}

impl Error for UnknownLine {}

/// Paths below the root with what lies there, in the order of the file.
pub fn read(text: &str) -> Result<Vec<(&str, Entry)>, UnknownLine> {
    let mut entries = Vec::new();
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let unknown = || UnknownLine {
            number,
            text: line.to_owned(),
        };
        let entry = if let Some((path, to)) = line.split_once(" -> ") {
            (path, Entry::Link(to.to_owned()))
        } else if let Some(path) = line.strip_suffix(" @") {
            let mut content = String::new();
            while let Some(more) = lines.peek().and_then(|(_, line)| line.strip_prefix('\t')) {
                content.push_str(more);
                content.push('\n');
                lines.next();
            }
            (path, Entry::File(content.into_bytes()))
        } else if let Some((path, digits)) = line.split_once(" : ") {
            (path, Entry::File(bytes(digits).ok_or_else(unknown)?))
        } else if let Some((path, text)) = line.split_once(" = ") {
            let text = text.replace("\\n", "\n").replace("\\t", "\t") + "\n";
            (path, Entry::File(text.into_bytes()))
        } else if let Some(path) = line.strip_suffix(" =") {
            (path, Entry::File(b"\n".to_vec()))
        } else {
            return Err(unknown());
        };
        entries.push(entry);
    }
    Ok(entries)
}

/// Bytes written as hexadecimal digits, two each.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text
        .chars()
        .filter(|it| !it.is_whitespace())
        .map(|digit| digit.to_digit(16))
        .collect();
    let byte = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    digits?.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::{Entry, read};

    #[test]
    fn every_kind_of_line_is_an_entry_and_any_other_is_named() {
        let text = "# a machine\n\na = 1\\n2\\t3\nb =\nc : 01 ff0a\nd -> ../e\nf @\n\tone = 1\n\t\ntwo: 2\n";
        let error = read(text).unwrap_err();
        assert_eq!((error.number, &*error.text), (10, "two: 2"));
        let file = |bytes: &[u8]| Entry::File(bytes.to_vec());
        let whole = text.replace("two: 2\n", "");
        let entries = read(&whole).unwrap();
        let expected = [
            ("a", file(b"1\n2\t3\n")),
            ("b", file(b"\n")),
            ("c", file(&[1, 255, 10])),
            ("d", Entry::Link("../e".to_owned())),
            ("f", file(b"one = 1\n\n")),
        ];
        assert_eq!(entries, expected);
        for odd in ["c : 0", "c : zz"] {
            assert!(read(odd).is_err(), "{odd}");
        }
    }
}
