//! Every crate root but those of `sources` and the simulated driver forbids unsafe code, which no inner item can undo.

use crate::tidy::report::Findings;
use crate::tidy::tree::{SourceFile, Tree};

const EXEMPT: [&str; 2] = ["sources", "fake-nvml"];

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files().iter().filter(|file| is_crate_root(file)) {
        let exempt = file
            .crate_folder()
            .is_some_and(|folder| EXEMPT.contains(&folder));
        if !exempt
            && !file
                .code()
                .is_some_and(|code| code.contains("#![forbid(unsafe_code)]"))
        {
            findings.in_file(
                &file.path,
                "a crate root starts with #![forbid(unsafe_code)]",
            );
        }
    }
}

fn is_crate_root(file: &SourceFile) -> bool {
    let folder = file
        .crate_folder()
        .map(|folder| format!("crates/{folder}/src/"));
    let source = folder.as_deref().unwrap_or("xtask/src/");
    let Some(inside) = file.path.strip_prefix(source) else {
        return false;
    };
    let binary = inside
        .strip_prefix("bin/")
        .is_some_and(|name| !name.contains('/'));
    ["lib.rs", "main.rs"].contains(&inside) || (binary && file.code().is_some())
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    #[test]
    fn a_root_without_the_attribute_is_found() {
        let files = [
            ("crates/model/src/lib.rs", "//! #![forbid(unsafe_code)]"),
            ("crates/raw/src/lib.rs", "#![forbid(unsafe_code)]"),
            ("crates/gputaskman/src/main.rs", ""),
            ("crates/gputaskman/src/bin/gtm.rs", ""),
            ("crates/gputaskman/src/cli.rs", ""),
            ("crates/sources/src/lib.rs", ""),
            ("xtask/src/main.rs", ""),
        ];
        assert_eq!(
            found("forbid_unsafe", &files),
            [
                "crates/model/src/lib.rs",
                "crates/gputaskman/src/main.rs",
                "crates/gputaskman/src/bin/gtm.rs",
                "xtask/src/main.rs"
            ]
        );
    }
}
