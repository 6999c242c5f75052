//! No name of a person in fixtures: home folders appear only with a stand-in for the user's name.

use crate::tidy::report::Findings;
use crate::tidy::rust_code::line_at;
use crate::tidy::tree::{SourceFile, Tree};

/// Stand-ins, and folders that systems make themselves.
const NOBODY: [&str; 6] = ["user", "USER", "u", "Public", "Default", "Shared"];

/// What comes before a user's name; in JSON a backslash is written twice.
const HOMES: [&str; 4] = ["/home/", "/Users/", "\\Users\\", "\\\\Users\\\\"];

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files().iter().filter(|file| is_fixture(file)) {
        for home in HOMES {
            for (offset, _) in file.text.match_indices(home) {
                let name = user_name(file.text.get(offset + home.len()..).unwrap_or_default());
                if !name.is_empty() && !NOBODY.contains(&name) {
                    findings.at(
                        &file.path,
                        line_at(&file.text, offset),
                        format!("a home folder of `{name}`: write `user` instead"),
                    );
                }
            }
        }
    }
}

/// Fixtures, and what tests keep beside the code: everything there that is not code.
fn is_fixture(file: &SourceFile) -> bool {
    file.path.starts_with("fixtures/") || (file.crate_folder().is_some() && file.code().is_none())
}

fn user_name(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || "._-".contains(c)))
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    #[test]
    fn a_users_name_in_a_fixture_is_found() {
        let files = [
            ("fixtures/logs/a.log", "\nloading /home/jane/model.gguf"),
            ("fixtures/logs/b.log", "C:\\Users\\Jane\\x"),
            (
                "fixtures/captures/c.ndjson",
                "{\"path\":\"C:\\\\Users\\\\Jane\\\\x\"}",
            ),
            (
                "fixtures/captures/d.ndjson",
                "{\"path\":\"/mnt/c/Users/Jane\"}",
            ),
            ("crates/output/src/snapshots/e.snap", "/Users/jane/x"),
            (
                "fixtures/logs/fine.log",
                "/home/user/x /Users/u/x C:\\Users\\USER\\x /home/$USER /Users/Shared/x",
            ),
            (
                "crates/raw/src/redact.rs",
                "const HOME: &str = \"/home/jane\";",
            ),
        ];
        assert_eq!(
            found("home_paths", &files),
            [
                "fixtures/logs/a.log:2",
                "fixtures/logs/b.log:1",
                "fixtures/captures/c.ndjson:1",
                "fixtures/captures/d.ndjson:1",
                "crates/output/src/snapshots/e.snap:1"
            ]
        );
    }
}
