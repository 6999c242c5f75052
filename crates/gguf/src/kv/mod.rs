//! Bytes of the caches and states a llama.cpp server allocates for a context.
//!
//! The rules are those of llama.cpp b11434 (October 2026), checked against the buffer sizes it logs. Other engines
//! and builds before 2026 differ: sliding windows came in May 2025, the padding to 256 in November 2025.
//!
//! A server's settings are rarely all known. [`estimate`] then spans what the server could have chosen, and says so;
//! for an architecture it has no rule for it gives a reason instead of a number.

mod architecture;
mod assumption;
mod cells;
mod estimate;
mod settings;
mod state;
mod structure;
mod why_not;

pub use assumption::Assumption;
pub use estimate::{CacheKind, KvEstimate, KvPart, estimate};
pub use settings::{CacheType, KvSettings};
pub use why_not::WhyNot;

pub(crate) use estimate::{Choice, choices, contexts};
pub(crate) use structure::Structure;
