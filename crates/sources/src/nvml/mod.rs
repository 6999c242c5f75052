//! NVML: loading it, asking it, and settling the memory layout of what it writes.
//!
//! It must not give a return code or a value a meaning; that is the collector's part.

mod details;
mod ffi;
mod library;
mod lists;
mod loader;
mod mig;
mod samples;
mod stride;
mod sweep;

pub(crate) use loader::NAMES;
pub(crate) use sweep::{Nvml, NvmlDriver};
