//! A test that cannot run says so where it is seen. The test harness hides what `println!` and `eprintln!` write in a
//! test that passes, so a skip is written with `writeln!` to `std::io::stderr()`, which it does not catch.

use crate::tidy::report::Findings;
use crate::tidy::rust_code::{bracketed, line_at};
use crate::tidy::tree::Tree;

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.below("crates/") {
        let Some(code) = file.code() else { continue };
        // Blanked code has as many characters as the text, not as many bytes; with ASCII text the offsets agree.
        for (offset, opening) in code
            .match_indices("print!(")
            .chain(code.match_indices("println!("))
        {
            let line = line_at(code, offset);
            let length = bracketed(code.get(offset + opening.len() - 1..).unwrap_or_default())
                .lines()
                .count();
            let said: Vec<&str> = file
                .text
                .lines()
                .skip(line - 1)
                .take(length.max(1))
                .collect();
            if said.iter().any(|text| text.contains("SKIPPED")) {
                findings.at(
                    &file.path,
                    line,
                    "a skip must be seen: writeln!(std::io::stderr(), \"SKIPPED: …\")",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    #[test]
    fn a_skip_that_the_harness_swallows_is_found() {
        let files = [
            (
                "crates/gputaskman/tests/a.rs",
                "\nfn f() { eprintln!(\"SKIPPED: no GPU\"); }",
            ),
            (
                "crates/gputaskman/tests/b.rs",
                "println!(\n    \"SKIPPED: {}\",\n    why,\n);",
            ),
            (
                "crates/gputaskman/tests/c.rs",
                "writeln!(std::io::stderr(), \"SKIPPED: no GPU\").unwrap();",
            ),
        ];
        assert_eq!(
            found("visible_skips", &files),
            [
                "crates/gputaskman/tests/a.rs:2",
                "crates/gputaskman/tests/b.rs:1"
            ]
        );
    }
}
