//! The views of a snapshot that go to a pipe: text for people and `grep`, JSON for programs, and
//! the number formats that the terminal interface shares with them.
//!
//! Everything here is a pure function of a [`model::Snapshot`]. This crate reads nothing, writes
//! nothing and knows no clock. It never invents a number: what is missing is printed as `n/a` with
//! its reason, or as `null` with an entry in the sibling `provenance` map.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod compare;
pub mod filter;
pub mod format;
pub mod json;
pub mod privacy;
mod shown;
mod sleep;
pub mod text;
pub mod words;

pub use sleep::sleep;

/// Version of the program, printed in every view.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
