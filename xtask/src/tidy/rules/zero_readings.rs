//! Unknown is never zero: what interprets or shows readings may not replace a missing one by a default.
//!
//! Where a zero is right (a count of things seen, an axis that starts there), say so on the line or the one above:
//! `// tidy: REASON`. What is plainly no reading passes: a part of a slice or string, a place in a list, a width.

use crate::tidy::report::Findings;
use crate::tidy::rust_code::{bracketed, line_at};
use crate::tidy::tree::Tree;

const FOLDERS: [&str; 3] = [
    "crates/collect/src/",
    "crates/output/src/",
    "crates/tui/src/",
];

const METHOD: &str = "unwrap_or";

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    for file in FOLDERS.iter().flat_map(|folder| tree.below(folder)) {
        let Some(code) = file.shipped_code() else {
            continue;
        };
        let text: Vec<&str> = file.text.lines().collect();
        for (offset, _) in code.match_indices(METHOD) {
            let (before, call) = code.split_at(offset);
            let call = call.get(METHOD.len()..).unwrap_or_default();
            if !puts_zero(call) || is_no_reading(before) {
                continue;
            }
            let line = line_at(&code, offset);
            let around = text.iter().skip(line.saturating_sub(2)).take(2);
            if !around.into_iter().any(|line| gives_reason(line)) {
                findings.at(
                    &file.path,
                    line,
                    "a missing reading may become zero here; if it cannot, say why: // tidy: REASON",
                );
            }
        }
    }
}

/// Whether what follows `unwrap_or` is `_default()`, or a zero in brackets.
fn puts_zero(call: &str) -> bool {
    if !call.starts_with('(') {
        return call.starts_with("_default()");
    }
    let argument = bracketed(call).trim();
    let number = argument.split(['u', 'i', 'f']).next().unwrap_or(argument);
    number.starts_with('0') && number.chars().all(|c| matches!(c, '0' | '.' | '_'))
}

/// Calls whose missing result is no missing reading: places, widths, indices made from other integers.
const NO_READINGS: [&str; 5] = [
    ".position",
    ".width",
    "::width",
    "usize::try_from",
    "u16::try_from",
];

/// Whether the call before is one of those, or `.get(…)` with a range.
fn is_no_reading(before: &str) -> bool {
    let receiver = before.trim_end().trim_end_matches('.').trim_end();
    let Some(inside) = receiver.strip_suffix(')') else {
        return false;
    };
    let mut depth = 1_usize;
    for (at, character) in inside.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let (name, arguments) = inside.split_at(at);
            let part = name.strip_suffix(".get").is_some() && arguments.contains("..");
            return part || NO_READINGS.iter().any(|call| name.ends_with(call));
        }
    }
    false
}

fn gives_reason(line: &str) -> bool {
    line.split_once("// tidy:")
        .is_some_and(|(_, reason)| !reason.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::puts_zero;
    use crate::tidy::report::found;

    #[test]
    fn a_default_without_a_reason_is_found() {
        let files = [
            (
                "crates/collect/src/a.rs",
                "fn f() {\n    x.unwrap_or(0);\n    y\n        .unwrap_or( 0.0 );\n}",
            ),
            (
                "crates/tui/src/b.rs",
                "// tidy: a count of rows\nx.len().unwrap_or(0);\n\n// tidy:\ny.unwrap_or_default();",
            ),
            (
                "crates/output/src/c.rs",
                "x.unwrap_or(0); // tidy: an axis starts at zero",
            ),
            ("crates/output/src/tests.rs", "x.unwrap_or(0);"),
            ("crates/gguf/src/lib.rs", "x.unwrap_or(0);"),
            (
                "crates/output/src/d.rs",
                "// x.unwrap_or(0)\n#[cfg(test)]\nmod t { fn f() { x.unwrap_or(0); } }",
            ),
            (
                "crates/output/src/e.rs",
                "text.get(a(1)..b)\n    .unwrap_or_default();\nlist.get(1).unwrap_or_default();\nusize::try_from(f(1)).unwrap_or(0);",
            ),
        ];
        assert_eq!(
            found("zero_readings", &files),
            [
                "crates/collect/src/a.rs:2",
                "crates/collect/src/a.rs:4",
                "crates/output/src/e.rs:3",
                "crates/tui/src/b.rs:5",
            ]
        );
    }

    #[test]
    fn zeros_in_all_spellings() {
        for zero in [
            "(0)",
            "( 0.0 )",
            "(0.)",
            "(0u64)",
            "(0_u64)",
            "(0.0_f64)",
            "_default()",
        ] {
            assert!(puts_zero(zero), "{zero}");
        }
        for other in [
            "(1)",
            "(10)",
            "(0.5)",
            "(f64::NAN)",
            "(x)",
            "_else(|| 1)",
            "(u64::MAX)",
        ] {
            assert!(!puts_zero(other), "{other}");
        }
    }
}
