//! Which of the driver's process numbers belongs to which process of a container.
//!
//! In a nested PID namespace the driver names processes by the host's numbers. They mean nothing
//! here: an equal number in the local `/proc` is a coincidence and is never looked at. What is
//! known instead:
//!
//! * A process gets its numbers in all nested namespaces in one go when it is forked, so both
//!   namespaces order their processes alike until a counter wraps.
//! * A CUDA context needs `libcuda` mapped first, so nothing that the driver listed before a process
//!   mapped it can be that process.
//! * A host number stays with its process for as long as the process lives.
//!
//! [`Pairing`] puts these together over time. A pair that was seen to start, or that is part of a
//! full count, is *pinned* and stays through exits of others. Everything else is a guess, made anew
//! from each sample and never remembered.
//!
//! This module must not read, must not know a clock, and must not compare a host number with a local
//! one. Memory sizes play no part: they decide nothing about who is who.

mod alignment;
mod outcome;
mod pins;
mod sample;
mod state;
#[cfg(test)]
mod tests;
mod unpinned;

pub use outcome::{Mode, Outcome, Pair};
pub use sample::{Candidate, Listed, Local, Sample};
pub use state::{ORPHAN_GRACE, Pairing, WINDOW_US};
