//! Which crate of ours may use which: the table of ARCHITECTURE.md, over `[dependencies]` and `[build-dependencies]`
//! of each manifest, target tables included. A test may use any crate.

use toml::{Table, Value};

use crate::tidy::report::Findings;
use crate::tidy::tree::Tree;

/// Crate folder and the folders it may use.
const EDGES: [(&str, &[&str]); 9] = [
    ("model", &[]),
    ("gguf", &[]),
    ("formats", &[]),
    ("raw", &["model", "gguf", "formats"]),
    ("sources", &["model", "raw", "gguf", "formats"]),
    ("collect", &["model", "raw", "gguf", "formats"]),
    ("output", &["model"]),
    ("tui", &["model", "output"]),
    (
        "gputaskman",
        &[
            "model", "gguf", "formats", "raw", "sources", "collect", "output", "tui",
        ],
    ),
];

/// Used by tests only: nothing may depend on them but themselves.
const TEST_ONLY: [&str; 2] = ["fake-nvml", "machine-file"];

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    let workspace = tree
        .file("Cargo.toml")
        .and_then(|file| file.text.parse::<Table>().ok());
    let manifests = tree
        .below("crates/")
        .filter(|file| file.file_name() == "Cargo.toml");
    for file in manifests {
        let Some(folder) = file.crate_folder() else {
            continue;
        };
        let Ok(manifest) = file.text.parse::<Table>() else {
            findings.in_file(&file.path, "this manifest is no TOML");
            continue;
        };
        if TEST_ONLY.contains(&folder) {
            continue;
        }
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == folder) else {
            findings.in_file(
                &file.path,
                "a new crate needs a line in the table of crate_edges.rs and ARCHITECTURE.md",
            );
            continue;
        };
        for used in dependencies(&manifest, workspace.as_ref()) {
            if !allowed.contains(&used.as_str()) {
                findings.in_file(&file.path, format!("`{folder}` may not use `{used}`"));
            }
        }
    }
}

/// Folders below `crates/` that a manifest's code depends on.
fn dependencies(manifest: &Table, workspace: Option<&Table>) -> Vec<String> {
    let target_tables = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(|targets| targets.values().filter_map(Value::as_table));
    std::iter::once(manifest)
        .chain(target_tables)
        .flat_map(|holder| ["dependencies", "build-dependencies"].map(|kind| holder.get(kind)))
        .flatten()
        .filter_map(Value::as_table)
        .flat_map(|table| table.iter())
        .filter_map(|(name, dependency)| folder_of(name, dependency, workspace))
        .collect()
}

/// The last part of a dependency's path, when it has one: our crates are used by path, here or in the workspace table.
fn folder_of(name: &str, dependency: &Value, workspace: Option<&Table>) -> Option<String> {
    let inherited = || {
        workspace?
            .get("workspace")?
            .get("dependencies")?
            .get(name)?
            .get("path")
    };
    let path = dependency.get("path").or_else(inherited)?.as_str()?;
    path.rsplit('/')
        .find(|part| !part.is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    const ROOT: (&str, &str) = (
        "Cargo.toml",
        "[workspace.dependencies]\nmodel = { path = \"crates/model\" }\ncollect = { path = \"crates/collect\" }",
    );

    #[test]
    fn an_edge_outside_the_table_is_found() {
        let files = [
            ROOT,
            (
                "crates/output/Cargo.toml",
                "[dependencies]\nmodel.workspace = true\ncollect.workspace = true",
            ),
            (
                "crates/tui/Cargo.toml",
                "[target.'cfg(unix)'.dependencies.x]\npath = \"../sources\"",
            ),
            (
                "crates/model/Cargo.toml",
                "[build-dependencies]\ngguf = { path = \"../gguf/\" }",
            ),
            (
                "crates/gputaskman/Cargo.toml",
                "[dependencies]\nfake-nvml = { path = \"../fake-nvml\" }",
            ),
            (
                "crates/gguf/Cargo.toml",
                "[dependencies]\nserde = \"1\"\n[dev-dependencies]\nmodel.workspace = true",
            ),
            (
                "crates/raw/Cargo.toml",
                "[dependencies]\nmodel.workspace = true",
            ),
            ("crates/fresh/Cargo.toml", ""),
            ("crates/collect/Cargo.toml", "[dependencies"),
        ];
        assert_eq!(
            found("crate_edges", &files),
            [
                "crates/output/Cargo.toml",
                "crates/tui/Cargo.toml",
                "crates/model/Cargo.toml",
                "crates/gputaskman/Cargo.toml",
                "crates/fresh/Cargo.toml",
                "crates/collect/Cargo.toml"
            ]
        );
    }
}
