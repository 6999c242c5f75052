//! The repository's own tools: checks that the compiler does not make, and measurements of the finished program.
//!
//! Nothing here is part of `gputaskman`; no crate may depend on this one.
#![forbid(unsafe_code)]

use std::path::PathBuf;

pub mod demo;
pub mod drm_tree;
pub mod fuzz;
mod gguf_file;
pub mod measure;
mod program;
pub mod tidy;

/// The root of this repository, from where cargo built this tool.
pub fn repository() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}
