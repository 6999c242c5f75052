//! Writing JSON so that it is safe to show and to split into lines.
//!
//! JSON leaves C1 controls, direction overrides and the Unicode line breaks as they are. They are
//! written as `\u` escapes here: a terminal then shows them instead of obeying them, and no reader
//! takes one for the end of an NDJSON line. A parser sees the same text either way.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use model::names::is_invisible;

pub(super) fn compact(document: &impl Serialize) -> String {
    write(document, Escaping(CompactFormatter))
}

pub(super) fn pretty(document: &impl Serialize) -> String {
    write(document, Escaping(PrettyFormatter::new()))
}

/// Our documents hold nothing that cannot be written: map keys are text, numbers are finite, and
/// the sink is memory. Should that ever fail, an empty text is no JSON, and a reader sees it.
fn write(document: &impl Serialize, formatter: impl Formatter) -> String {
    let mut out = Vec::with_capacity(4096);
    let written = document.serialize(&mut Serializer::with_formatter(&mut out, formatter));
    debug_assert!(written.is_ok(), "{written:?}");
    match written {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => String::new(),
    }
}

struct Escaping<F>(F);

/// Passes the named calls on unchanged.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(fn $name<W: ?Sized + io::Write>(&mut self, writer: &mut W $(, $argument: $kind)*) -> io::Result<()> {
            self.0.$name(writer $(, $argument)*)
        })*
    };
}

impl<F: Formatter> Formatter for Escaping<F> {
    pass_on! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut plain_from = 0;
        for (at, c) in fragment.char_indices() {
            if c.is_control() || is_invisible(c) {
                let plain = fragment.get(plain_from..at).unwrap_or_default();
                writer.write_all(plain.as_bytes())?;
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
                plain_from = at + c.len_utf8();
            }
        }
        let plain = fragment.get(plain_from..).unwrap_or_default();
        writer.write_all(plain.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_reads_back() {
        let name = "a\u{1b}[31m\u{85}\u{202e}\u{2028}\u{e0041}\u{540d}\"\\";
        let text = compact(&name);
        assert_eq!(
            text,
            "\"a\\u001b[31m\\u0085\\u202e\\u2028\\udb40\\udc41\u{540d}\\\"\\\\\""
        );
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), name);
    }

    #[test]
    fn layout_is_that_of_serde_json() {
        let value = serde_json::json!({"a": [1, {"b": null}], "c": [], "d": {}});
        assert_eq!(compact(&value), serde_json::to_string(&value).unwrap());
        assert_eq!(
            pretty(&value),
            serde_json::to_string_pretty(&value).unwrap()
        );
    }
}
