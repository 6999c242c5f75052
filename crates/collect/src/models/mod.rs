//! What a process works with: model files and how we know, runtimes, category, parts of the memory.

mod apps;
mod building;
mod catalogue;
mod category;
mod claim;
mod claims;
mod contradiction;
mod described;
mod files;
mod flags;
mod gathering;
mod held;
mod hints;
mod logs;
mod mapped;
mod memory;
mod named_file;
mod other_formats;
mod patterns;
mod ran_out;
mod reach;
mod runtimes;
mod servers;
mod shards;
mod spelling;
mod stores;

pub(crate) use category::{Found, categorise};
pub(crate) use claims::{Asked, Findings, Models};
pub(crate) use logs::Around;
pub(crate) use memory::{Arithmetic, Role};
pub(crate) use named_file::{NamedFile, Unread};
pub(crate) use runtimes::no_runtimes;
pub use servers::servers_that_read;
pub(crate) use shards::Shards;
