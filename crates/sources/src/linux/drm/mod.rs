//! DRM devices: attribute files, and who has their nodes open.
//!
//! * `sweep`: what a plan asks, on a thread of its own.
//! * `search`: which processes have a node open, within a budget, and without looking at everything each time.
//! * `nodes`: which open file is a node.
//!
//! No node is ever opened: that would wake its device. What a driver says of a node is read where another process has
//! it open.

mod nodes;
mod search;
mod sweep;

#[cfg(test)]
mod tests;

pub(crate) use sweep::DrmDriver;
