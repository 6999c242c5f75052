//! Every change is told in the changelog's section for what is not released yet, so there is always one.

use crate::tidy::report::Findings;
use crate::tidy::tree::Tree;

const PATH: &str = "CHANGELOG.md";

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    let text = tree.file(PATH).map_or("", |file| file.text.as_str());
    let is_section = |line: &str| {
        line.strip_prefix("## ")
            .is_some_and(|title| title.trim().trim_matches(['[', ']']) == "Unreleased")
    };
    if !text.lines().any(is_section) {
        findings.in_file(PATH, "has no section `## [Unreleased]`");
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    #[test]
    fn a_changelog_without_the_section_is_found() {
        assert_eq!(found("changelog", &[]), ["CHANGELOG.md"]);
        assert_eq!(
            found("changelog", &[("CHANGELOG.md", "## 0.1.0\nUnreleased")]),
            ["CHANGELOG.md"]
        );
        assert_eq!(
            found("changelog", &[("CHANGELOG.md", "# C\n\n## [Unreleased]\n")]),
            Vec::<String>::new()
        );
    }
}
