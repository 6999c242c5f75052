//! Interpretation: raw answers in, snapshots out.
//!
//! [`Collector::tick`] asks a [`raw::Machine`] and makes a [`model::Snapshot`] of the answers. It
//! cannot fail: what is missing is a reading with a reason, and a stage that panics becomes a notice
//! while the others go on. The same answers give the same snapshot on every operating system.
//!
//! This crate must not read files, clocks or the environment, must not know what a view looks like,
//! and holds no `cfg` of an operating system.
#![forbid(unsafe_code)]

mod assemble;
mod backends;
mod collector;
pub mod drm;
mod health;
mod host;
pub mod logs;
mod models;
mod nvml;
pub mod pairing;
pub mod parse;
mod processes;
pub mod requirement;
mod rest;
mod stage;

pub use backends::BACKENDS;
pub use collector::{Collector, Pace};
pub use models::servers_that_read;
