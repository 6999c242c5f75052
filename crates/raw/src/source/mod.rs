//! The sources and their raw records, one file each.

pub mod apps;
pub mod containers;
pub mod drm;
pub mod endpoints;
pub mod logs;
pub mod model_files;
pub mod networks;
pub mod nvml;
pub mod reads;
pub mod replies;
pub mod stores;
