//! Rules about this repository that the compiler does not know: sizes, names, where the outside world may be touched,
//! which crate may use which, what a fixture must say. Each rule is one file below `rules/` with a test that shows
//! it finding a violation.
//!
//! A rule reads a [`Tree`], never the disk, so its test is a few literal files.

mod report;
mod rules;
mod rust_code;
mod tree;

#[cfg(test)]
mod tests;

pub use report::{Report, Violation, check};
pub use rules::RULES;
pub use tree::{SourceFile, Tree};
