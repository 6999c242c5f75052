//! Files, subprocesses and the environment are touched by `sources` and by the binary's commands, and by nothing else:
//! that is what makes every other crate a pure function of its input.
//!
//! clippy's `disallowed-methods` says the same about single functions; this rule also sees imports and whole modules.

use crate::tidy::report::Findings;
use crate::tidy::rust_code::{bracketed, line_at};
use crate::tidy::tree::Tree;

/// Files and folders (with their `/`) that may.
const ALLOWED: [&str; 7] = [
    "crates/sources/",
    "crates/fake-nvml/",
    "crates/gputaskman/src/commands/",
    "crates/gputaskman/src/main.rs",
    "crates/gputaskman/src/bin/",
    "crates/gputaskman/src/cli.rs",
    "xtask/",
];

const OUTSIDE: [&str; 3] = ["std::fs", "std::env", "std::process::Command"];

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files() {
        if ALLOWED.iter().any(|allowed| file.path.starts_with(allowed)) {
            continue;
        }
        let Some(code) = file.shipped_code() else {
            continue;
        };
        let mut seen = Vec::new();
        for (line, path) in std_paths(&code) {
            let outside = OUTSIDE.iter().find(|outside| is_within(&path, outside));
            if let Some(outside) = outside.filter(|_| !seen.contains(&line)) {
                seen.push(line);
                findings.at(
                    &file.path,
                    line,
                    format!("{outside} belongs in crates/sources or in a command"),
                );
            }
        }
    }
}

fn is_within(path: &str, outside: &str) -> bool {
    path.strip_prefix(outside)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Every path below `std` in `code` with its line; groups in braces are spelled out, and `use std::process;` counts
/// as an import of all of it.
fn std_paths(code: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    for (offset, _) in code.match_indices("std::") {
        let before = code
            .get(..offset)
            .and_then(|before| before.chars().next_back());
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let line = line_at(code, offset);
        spell_out("", code.get(offset..).unwrap_or_default(), &mut |path| {
            paths.push((line, path));
        });
    }
    for (offset, _) in code.match_indices("process::Command") {
        paths.push((line_at(code, offset), "std::process::Command".to_owned()));
    }
    paths
}

/// Walks one path or use tree from the start of `text`.
fn spell_out(prefix: &str, text: &str, found: &mut impl FnMut(String)) {
    let text = text.trim_start();
    if text.starts_with('{') {
        let mut depth = 0_usize;
        for part in bracketed(text).split(|c: char| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        }) {
            spell_out(prefix, part, found);
        }
        return;
    }
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path = match (prefix, name) {
        (_, "" | "self") => prefix.to_owned(),
        ("", _) => name.to_owned(),
        _ => format!("{prefix}::{name}"),
    };
    match rest.trim_start().strip_prefix("::") {
        Some(deeper) if !deeper.trim_start().starts_with('<') => spell_out(&path, deeper, found),
        _ => found(path),
    }
}

#[cfg(test)]
mod tests {
    use super::std_paths;
    use crate::tidy::report::found;

    #[test]
    fn files_commands_and_environment_are_found() {
        let files = [
            (
                "crates/collect/src/a.rs",
                "\nfn f() { std::fs::read(\"x\"); }",
            ),
            (
                "crates/collect/src/b.rs",
                "use std::{\n    collections::BTreeMap,\n    env,\n};",
            ),
            (
                "crates/collect/src/c.rs",
                "use std::process;\nfn f() { process::Command::new(\"x\"); }",
            ),
            (
                "crates/collect/src/d.rs",
                "use std::process::{Command, Stdio};",
            ),
            (
                "crates/collect/src/fine.rs",
                "use std::process::ExitCode; // std::fs\nconst F: &str = env!(\"X\");",
            ),
            ("crates/collect/src/tests.rs", "use std::fs;"),
            ("crates/sources/src/linux/proc.rs", "use std::fs;"),
            ("crates/gputaskman/src/commands/record.rs", "use std::fs;"),
            ("crates/gputaskman/src/settings.rs", "use std::env;"),
            (
                "crates/model/src/lib.rs",
                "#[cfg(test)]\nmod tests { use std::fs; }",
            ),
        ];
        assert_eq!(
            found("outside_world", &files),
            [
                "crates/collect/src/a.rs:2",
                "crates/collect/src/b.rs:1",
                "crates/collect/src/c.rs:2",
                "crates/collect/src/d.rs:1",
                "crates/gputaskman/src/settings.rs:1"
            ]
        );
    }

    #[test]
    fn grouped_imports_are_spelled_out() {
        let paths: Vec<String> = std_paths("use std::{fs::{self, File}, io};")
            .into_iter()
            .map(|p| p.1)
            .collect();
        assert_eq!(paths, ["std::fs", "std::fs::File", "std::io"]);
    }
}
