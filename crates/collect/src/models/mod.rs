//! What a process works with: model files and how we know, runtimes, category, parts of the memory.

mod category;
mod claim;
mod claims;
mod contradiction;
mod described;
mod files;
mod flags;
mod gathering;
mod memory;
mod reach;
mod runtimes;
mod servers;

pub(crate) use category::categorise;
pub(crate) use claims::{Asked, Findings, Models};
pub(crate) use runtimes::no_runtimes;
