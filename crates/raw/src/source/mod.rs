//! The sources and their raw records, one file each.

pub mod drm;
pub mod nvml;
pub mod reads;
