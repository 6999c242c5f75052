//! The snapshot as JSON.
//!
//! The types of [`v1`] are the contract with programs that read it, and are apart from the model:
//! renaming a field there cannot change a key here. Keys are always present and in a fixed order.
//!
//! * `null` means "not available"; the reason stands in the nearest `provenance` map.
//! * `0` means a measured zero, `[]` that it was looked for and nothing was found.
//! * Every number has an entry in the nearest `provenance` map: its class, source, counter and age.
//!
//! A `provenance` key is the path from the object that holds the map, with dots. An element of a
//! list that has no map of its own is named by its `id` or its `category`
//! (`categories.llm.vram_bytes`).

mod bundle;
mod device;
mod device_details;
mod escape;
mod memory_part;
mod mig;
mod process;
mod provenance;
mod requirement;
mod total;
pub mod v1;
mod workload;

pub(crate) use process::mark;

use model::Snapshot;
use model::inspection::{Fit, Inspection};
use serde::Serialize;

pub use bundle::{gpu_list, snapshot};

/// The snapshot as one line, without a line break at its end.
pub fn to_line(from: &Snapshot) -> String {
    escape::compact(&snapshot(from))
}

/// The snapshot with indentation, without a line break at its end.
pub fn to_pretty(from: &Snapshot) -> String {
    escape::pretty(&snapshot(from))
}

/// The devices alone (`--list-gpus --json`), with indentation, without a line break at its end.
pub fn list_gpus(from: &Snapshot) -> String {
    escape::pretty(&gpu_list(from))
}

/// What a model file needs (`inspect --json`), with indentation, without a line break at its end.
pub fn inspect(from: &Inspection) -> String {
    escape::pretty(&requirement::inspect(from))
}

/// Whether a model fits (`fit --json`), with indentation, without a line break at its end.
pub fn fit(from: &Fit, now: &Snapshot) -> String {
    escape::pretty(&requirement::fit(from, now))
}

/// Any document of ours as one line, in the same spelling as [`to_line`].
pub fn line(document: &impl Serialize) -> String {
    escape::compact(document)
}
