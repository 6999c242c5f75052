//! The panels, one a file.

mod absence;
mod charts;
mod footer;
mod header;
mod inspector;
pub(crate) mod instances;
mod memory;
mod notices;
pub(crate) mod processes;
mod readings;
mod sleep;

pub(crate) use absence::Absence;
pub(crate) use charts::Charts;
pub(crate) use footer::Footer;
pub(crate) use header::Header;
pub(crate) use inspector::Inspector;
pub(crate) use instances::Instances;
pub(crate) use memory::{Memory, OLD_MS};
pub(crate) use notices::{Notices, notes, old};
pub(crate) use processes::Processes;
pub(crate) use readings::Readings;
pub(crate) use sleep::Sleep;
