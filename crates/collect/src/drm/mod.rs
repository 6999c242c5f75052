//! Devices of the kernel's DRM drivers: what the texts of open devices say, and what it allows to be said of processes.
//!
//! * `fdinfo`: one text.
//! * `attribution`: whose the memory is, with every reason why it is nobody's.
//! * `engines`: load from counters, `classes`: engines as columns.

mod attribution;
mod classes;
mod engines;
mod fdinfo;
mod memory;

pub use attribution::{Attribution, Bounds, Descriptor, Holder, Node, Row, Sample};
pub use classes::{Columns, Video};
pub use engines::Loads;
pub use fdinfo::{Engine, Fdinfo, Number, Region, Unreadable};

#[cfg(test)]
mod tests;
