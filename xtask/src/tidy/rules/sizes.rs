//! A file does one thing; a long one does several. Files that hold only tests are not counted.

use crate::tidy::report::Findings;
use crate::tidy::tree::Tree;

/// Above this a file should be looked at.
const REVIEW: usize = 500;
/// Above this it has to be split.
const MOST: usize = 700;

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree
        .files()
        .iter()
        .filter(|file| file.code().is_some() && !file.is_test())
    {
        let lines = file.text.lines().count();
        if lines > MOST {
            findings.in_file(
                &file.path,
                format!("{lines} lines, more than {MOST}: split it"),
            );
        } else if lines > REVIEW {
            findings.warn(
                &file.path,
                format!("{lines} lines: does it still do one thing?"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    #[test]
    fn a_file_above_700_lines_is_found_and_its_tests_are_not() {
        let long = "//\n".repeat(701);
        let fits = "//\n".repeat(700);
        let files = [
            ("crates/model/src/long.rs", long.as_str()),
            ("crates/model/src/fits.rs", fits.as_str()),
            ("crates/model/src/long/tests.rs", long.as_str()),
            ("crates/model/tests/all.rs", long.as_str()),
            ("docs/long.md", long.as_str()),
        ];
        assert_eq!(found("sizes", &files), ["crates/model/src/long.rs"]);
    }
}
