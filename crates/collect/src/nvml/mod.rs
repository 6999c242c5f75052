//! NVML's raw answers to readings of devices and processes.
//!
//! Facts: `nvml.h` 13.5 and the traps written at the constants of [`raw::nvml`].

mod answers;
mod details;
mod devices;
mod lists;
pub(crate) mod mig;
mod sample_calls;
mod samples;
mod state;
mod status;

pub(crate) use lists::{DeviceLists, ListGap};
pub(crate) use samples::Numbers;
pub(crate) use state::{ListedProcess, Nvml, Resting};
