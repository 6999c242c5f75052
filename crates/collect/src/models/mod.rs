//! What a process works with: model files and how we know, runtimes, category, parts of the memory.

mod apps;
mod category;
mod claim;
mod claims;
mod described;
mod files;
mod flags;
mod gathering;
mod logs;
mod memory;
mod reach;
mod runtimes;
mod server;

pub(crate) use category::categorise;
pub(crate) use claims::{Findings, Models};
pub(crate) use logs::Around;
pub(crate) use runtimes::no_runtimes;
