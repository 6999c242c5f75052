//! A file or folder is named for what it holds; these names say only that somebody had no better idea.

use crate::tidy::report::Findings;
use crate::tidy::tree::Tree;

const BANNED: [&str; 6] = ["util", "utils", "common", "helper", "helpers", "misc"];

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files().iter().filter(|file| file.code().is_some()) {
        let stem = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        if let Some(name) = stem.split('/').find(|part| BANNED.contains(part)) {
            findings.in_file(
                &file.path,
                format!("`{name}` names nothing: say what it holds"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    #[test]
    fn empty_names_are_found_for_files_and_folders() {
        let files = [
            ("crates/model/src/utils.rs", ""),
            ("crates/model/src/common/units.rs", ""),
            ("crates/model/tests/helpers.rs", ""),
            ("crates/model/src/utility_bills.rs", ""),
            ("docs/misc.md", ""),
        ];
        assert_eq!(
            found("banned_names", &files),
            [
                "crates/model/src/utils.rs",
                "crates/model/src/common/units.rs",
                "crates/model/tests/helpers.rs"
            ]
        );
    }
}
