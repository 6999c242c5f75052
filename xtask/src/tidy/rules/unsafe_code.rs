//! `unsafe` stands only where the outside is called: in files named `ffi.rs` of `sources` and of the simulated driver.

use crate::tidy::report::Findings;
use crate::tidy::rust_code::lines_with_word;
use crate::tidy::tree::Tree;

const CRATES: [&str; 2] = ["sources", "fake-nvml"];

pub(super) fn check(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files() {
        let Some(code) = file.code() else { continue };
        let allowed = file.file_name() == "ffi.rs"
            && file
                .crate_folder()
                .is_some_and(|folder| CRATES.contains(&folder));
        if !allowed {
            for line in lines_with_word(code, "unsafe") {
                findings.at(
                    &file.path,
                    line,
                    "`unsafe` belongs in an ffi.rs of crates/sources",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::report::found;

    #[test]
    fn unsafe_outside_ffi_files_is_found() {
        let files = [
            (
                "crates/sources/src/nvml/mod.rs",
                "// unsafe\nfn f() { unsafe { g() } }",
            ),
            (
                "crates/sources/src/nvml/ffi.rs",
                "fn f() { unsafe { g() } }",
            ),
            (
                "crates/fake-nvml/src/ffi.rs",
                "#[unsafe(no_mangle)] fn f() {}",
            ),
            ("crates/collect/src/ffi.rs", "unsafe fn f() {}"),
            (
                "crates/model/src/lib.rs",
                "#![forbid(unsafe_code)] const S: &str = \"unsafe\";",
            ),
        ];
        assert_eq!(
            found("unsafe_code", &files),
            [
                "crates/sources/src/nvml/mod.rs:2",
                "crates/collect/src/ffi.rs:1"
            ]
        );
    }
}
