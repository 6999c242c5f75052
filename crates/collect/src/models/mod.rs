//! What a process works with: model files and how we know, runtimes, category, parts of the memory.

mod category;
mod claim;
mod claims;
mod described;
mod files;
mod flags;
mod gathering;
mod memory;
mod named_file;
mod reach;
mod runtimes;
mod server;
mod shards;

pub(crate) use category::categorise;
pub(crate) use claims::{Findings, Models};
pub(crate) use memory::{Arithmetic, Role};
pub(crate) use named_file::{NamedFile, Unread};
pub(crate) use runtimes::no_runtimes;
pub(crate) use shards::Shards;
