//! The sources and their raw records, one file each.

pub mod containers;
pub mod drm;
pub mod endpoints;
pub mod networks;
pub mod nvml;
pub mod reads;
