//! Every capture says where it comes from: a folder below `fixtures/captures/` in its `capture.toml`, a single file in
//! its first line (the manifest) or in a `.toml` of the same name beside it.

use serde_json::Value as Json;
use toml::Table;

use crate::tidy::report::Findings;
use crate::tidy::tree::{SourceFile, Tree};

const FOLDER: &str = "fixtures/captures/";

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    for name in tree.folders_in(FOLDER) {
        let manifest = format!("{FOLDER}{name}/capture.toml");
        if !tree
            .file(&manifest)
            .is_some_and(|file| toml_says_origin(&file.text))
        {
            findings.in_file(
                &manifest,
                "a capture needs a manifest with a line `origin = \"…\"`",
            );
        }
    }
    for file in tree.below(FOLDER).filter(|file| is_capture(file)) {
        let stem = file.path.split(".ndjson").next().unwrap_or(&file.path);
        let beside = tree
            .file(&format!("{stem}.toml"))
            .is_some_and(|file| toml_says_origin(&file.text));
        if !beside && !first_line_says_origin(&file.text) {
            findings.in_file(
                &file.path,
                format!("neither its first line nor {stem}.toml says its `origin`"),
            );
        }
    }
}

/// A capture in one file; those inside a folder are covered by the folder's manifest.
fn is_capture(file: &SourceFile) -> bool {
    let inside = file.path.strip_prefix(FOLDER).unwrap_or_default();
    !inside.contains('/') && (inside.ends_with(".ndjson") || inside.ends_with(".ndjson.gz"))
}

fn toml_says_origin(text: &str) -> bool {
    text.parse::<Table>()
        .ok()
        .and_then(|table| {
            table
                .get("origin")?
                .as_str()
                .map(|origin| !origin.trim().is_empty())
        })
        .unwrap_or(false)
}

fn first_line_says_origin(text: &str) -> bool {
    let manifest = text
        .lines()
        .next()
        .and_then(|line| serde_json::from_str::<Json>(line).ok());
    manifest.is_some_and(|manifest| has_origin(&manifest))
}

/// The manifest may nest its fields one level down.
fn has_origin(manifest: &Json) -> bool {
    let says = |object: &Json| {
        object
            .get("origin")
            .and_then(Json::as_str)
            .is_some_and(|origin| !origin.trim().is_empty())
    };
    says(manifest)
        || manifest
            .as_object()
            .is_some_and(|fields| fields.values().any(says))
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    #[test]
    fn a_capture_without_an_origin_is_found() {
        let files = [
            (
                "fixtures/captures/linux-a/capture.toml",
                "origin = \"synthetic\"",
            ),
            ("fixtures/captures/linux-a/0.ndjson", ""),
            ("fixtures/captures/linux-b/capture.toml", "origin = \" \""),
            ("fixtures/captures/linux-c/0.ndjson", ""),
            (
                "fixtures/captures/d.ndjson",
                "{\"manifest\":{\"origin\":\"synthetic\"}}\n{}",
            ),
            (
                "fixtures/captures/e.ndjson.gz",
                "{\"version\":1}\n{\"origin\":\"late\"}",
            ),
            ("fixtures/captures/f.ndjson", "{}"),
            (
                "fixtures/captures/f.toml",
                "origin = \"a desktop, driver 580\"",
            ),
        ];
        assert_eq!(
            found("captures", &files),
            [
                "fixtures/captures/linux-b/capture.toml",
                "fixtures/captures/linux-c/capture.toml",
                "fixtures/captures/e.ndjson.gz"
            ]
        );
    }
}
