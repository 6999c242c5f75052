//! Bytes of the caches and states a llama.cpp server allocates for a context.
//!
//! The rules are those of llama.cpp b11434 (October 2026), checked against the buffer sizes it logs; [`Era`] has those
//! of earlier builds, where sliding windows came in May 2025 and the padding to 256 in November 2025. Other engines
//! differ.
//!
//! A server's settings are rarely all known. [`estimate`] then spans what the server could have chosen, and says so;
//! for an architecture it has no rule for it gives a reason instead of a number.

mod architecture;
mod assumption;
mod cells;
mod effective;
mod estimate;
mod settings;
mod state;
mod structure;
mod why_not;

pub use assumption::Assumption;
pub use effective::{Effective, Kept, effective, kept};
pub use estimate::{CacheKind, KvEstimate, KvPart, estimate, estimate_prediction};
pub use settings::{CacheType, Era, KvSettings};
pub use why_not::WhyNot;

pub(crate) use estimate::{Choice, choices, contexts};
pub(crate) use structure::Structure;
