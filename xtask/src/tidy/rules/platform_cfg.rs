//! The operating system is asked about in one place, so that all the rest is built and tested on every system.
//!
//! Files that hold only tests may name a system (a test that loads the simulated Linux driver runs on Linux only),
//! and so may the simulated driver itself.

use crate::tidy::report::Findings;
use crate::tidy::rust_code::{bracketed, line_at, words};
use crate::tidy::tree::Tree;

const ALLOWED: [&str; 2] = ["crates/sources/src/lib.rs", "crates/sources/src/live.rs"];

const PREDICATES: [&str; 10] = [
    "unix",
    "windows",
    "target_os",
    "target_family",
    "target_arch",
    "target_env",
    "target_vendor",
    "target_abi",
    "target_endian",
    "target_pointer_width",
];

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files() {
        if ALLOWED.contains(&file.path.as_str()) || file.crate_folder() == Some("fake-nvml") {
            continue;
        }
        let Some(code) = file.shipped_code() else {
            continue;
        };
        for opening in ["cfg(", "cfg!(", "cfg_attr("] {
            for (offset, _) in code.match_indices(opening) {
                let condition =
                    bracketed(code.get(offset + opening.len() - 1..).unwrap_or_default());
                if let Some(word) = words(condition).find(|word| PREDICATES.contains(word)) {
                    findings.at(
                        &file.path,
                        line_at(&code, offset),
                        format!("`{word}` is asked here; only {} may", ALLOWED.join(" and ")),
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    #[test]
    fn a_system_is_asked_about_only_in_sources() {
        let files = [
            (
                "crates/collect/src/lib.rs",
                "\n#[cfg(target_os = \"linux\")]\nfn f() {}",
            ),
            ("crates/tui/src/lib.rs", "fn f() { if cfg!(windows) {} }"),
            (
                "crates/raw/src/lib.rs",
                "#![cfg_attr(not(unix), allow(unused))]",
            ),
            (
                "crates/sources/src/linux/proc.rs",
                "#[cfg(all(feature = \"x\", target_arch = \"arm\"))] f();",
            ),
            ("crates/sources/src/live.rs", "#[cfg(unix)] fn f() {}"),
            ("crates/fake-nvml/src/lib.rs", "#[cfg(unix)] fn f() {}"),
            (
                "crates/output/src/lib.rs",
                "// cfg(windows)\n#[cfg(feature = \"windows\")] fn f() {}",
            ),
            (
                "crates/gputaskman/tests/driver.rs",
                "#![cfg(target_os = \"linux\")]",
            ),
        ];
        assert_eq!(
            found("platform_cfg", &files),
            [
                "crates/collect/src/lib.rs:2",
                "crates/tui/src/lib.rs:1",
                "crates/raw/src/lib.rs:1",
                "crates/sources/src/linux/proc.rs:1"
            ]
        );
    }
}
