//! The documents name the same minimum Rust as Cargo.toml: each mention of "Rust 1.NN" in them is that version, and
//! each of them has one.

use toml::Table;

use crate::tidy::report::Findings;
use crate::tidy::rust_code::line_at;
use crate::tidy::tree::Tree;

const DOCUMENTS: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    let Some(version) = tree.file("Cargo.toml").and_then(|file| minimum(&file.text)) else {
        findings.in_file("Cargo.toml", "workspace.package.rust-version is missing");
        return;
    };
    for path in DOCUMENTS {
        let text = tree.file(path).map_or("", |file| file.text.as_str());
        let mentions = versions(text);
        if mentions.is_empty() {
            findings.in_file(path, format!("does not say that Rust {version} is needed"));
        }
        for (line, mentioned) in mentions
            .iter()
            .filter(|(_, mentioned)| *mentioned != version)
        {
            findings.at(
                path,
                *line,
                format!("says Rust {mentioned}, Cargo.toml says {version}"),
            );
        }
    }
}

fn minimum(manifest: &str) -> Option<String> {
    let table: Table = manifest.parse().ok()?;
    Some(
        table
            .get("workspace")?
            .get("package")?
            .get("rust-version")?
            .as_str()?
            .to_owned(),
    )
}

/// Every "Rust 1.NN" with its line.
fn versions(text: &str) -> Vec<(usize, &str)> {
    text.match_indices("Rust 1.")
        .filter_map(|(offset, _)| {
            let number = text.get(offset + "Rust ".len()..)?;
            let end = number
                .find(|c: char| !(c.is_ascii_digit() || c == '.'))
                .unwrap_or(number.len());
            Some((
                line_at(text, offset),
                number.get(..end)?.trim_end_matches('.'),
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    const MANIFEST: (&str, &str) = ("Cargo.toml", "[workspace.package]\nrust-version = \"1.95\"");

    #[test]
    fn another_or_no_version_is_found() {
        let files = [
            MANIFEST,
            ("README.md", "\nNeeds Rust 1.88."),
            ("CONTRIBUTING.md", "Needs Rust."),
        ];
        assert_eq!(
            found("rust_version", &files),
            ["README.md:2", "CONTRIBUTING.md"]
        );
        let files = [
            MANIFEST,
            ("README.md", "Rust 1.95."),
            ("CONTRIBUTING.md", "Rust 1.95 or newer"),
        ];
        assert_eq!(found("rust_version", &files), Vec::<String>::new());
        assert_eq!(found("rust_version", &[]), ["Cargo.toml"]);
    }
}
