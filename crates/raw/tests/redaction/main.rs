//! What redaction lets through: nothing that somebody named, everything that a diagnosis needs.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod kept;
mod leaks;
mod properties;
mod seen;
mod stores;
