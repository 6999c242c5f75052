//! ARCHITECTURE.md names every crate and every kind of fixture, so that a newcomer finds out what a folder is for.

use crate::tidy::report::Findings;
use crate::tidy::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    let Some(map) = tree.file(MAP) else {
        findings.in_file(MAP, "there is no ARCHITECTURE.md");
        return;
    };
    for parent in ["crates/", "fixtures/"] {
        for name in tree.folders_in(parent) {
            let folder = format!("{parent}{name}");
            if !names(&map.text, &folder) {
                findings.in_file(MAP, format!("`{folder}` is not named"));
            }
        }
    }
}

/// Whether `text` holds `folder` not merely as the beginning of a longer name.
fn names(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        let next = text
            .get(at + folder.len()..)
            .and_then(|rest| rest.chars().next());
        !next.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    #[test]
    fn a_folder_that_is_not_named_is_found() {
        let files = [
            (
                "ARCHITECTURE.md",
                "`crates/model`, `crates/raw-more` and `fixtures/captures/`",
            ),
            ("crates/model/src/lib.rs", ""),
            ("crates/raw/src/lib.rs", ""),
            ("fixtures/captures/a.ndjson", ""),
            ("fixtures/drm/a", ""),
        ];
        assert_eq!(
            found("architecture", &files),
            ["ARCHITECTURE.md", "ARCHITECTURE.md"]
        );
        assert_eq!(found("architecture", &[]), ["ARCHITECTURE.md"]);
    }
}
