//! Devices of the kernel's DRM drivers: what the texts of open devices say, and what it allows to be said of processes.
//!
//! * `fdinfo`: one text.
//! * `attribution`: whose the memory is, with every reason why it is nobody's.
//! * `discovery`, `state`, `device_state`: which devices there are, and what is kept between sweeps.
//! * `charges`: rows as charges, `unseen`: rows that only the compute driver knows.
//! * `amdgpu`, `intel`, `gpu_metrics`, `kfd`: what their files say.
//! * `engines`: load from counters, `classes`: engines as columns.

mod amdgpu;
mod attribution;
mod charges;
mod classes;
mod device_state;
mod devices;
mod discovery;
mod engines;
mod fdinfo;
mod files;
mod gpu_metrics;
mod intel;
mod kfd;
mod memory;
mod rates;
mod sensors;
mod sizes;
mod state;
mod status;
mod unseen;

pub(crate) use charges::DrmProcess;
pub(crate) use state::Drm;

pub use attribution::{Attribution, Bounds, Descriptor, DeviceFacts, Holder, Node, Row, Sample};
pub use classes::{Columns, Video};
pub use engines::Loads;
pub use fdinfo::{Engine, Fdinfo, Number, Region, Unreadable};
pub use sizes::{Limits, RegionSums};

#[cfg(test)]
mod tests;
