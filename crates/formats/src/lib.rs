//! What a model file that is not GGUF is, and what its header tells.
//!
//! * [`FileReader`] does no IO: it says which bytes of a file it wants, its caller brings them. [`describe`] does the
//!   same in one call over a [`ReadAt`].
//! * [`Description`] is the result: format, tensor sizes by type, and the few names worth knowing. Text of the file
//!   that is not on a list here does not get into it, so that no comment, template or training log leaves the reader.
//! * [`names`] tells which files may be models by their extension, and where a file's neighbours lie.
//!
//! What a file is, is decided by its first bytes; its name decides only where a format has no such mark (JSON, XML).
//! Nothing is unpickled, decompressed or executed, and no weights are read. A file is hostile until shown otherwise:
//! see [`limits`].
//!
//! The crate must not open files, read clocks or depend on other crates of the workspace.

#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod bytes;
mod config;
mod description;
mod dtype;
mod error;
mod ggml;
mod index;
mod json;
mod known;
mod onnx;
mod openvino;
mod pytorch;
mod read_at;
mod reader;
mod safetensors;
mod tensors;
mod window;
mod zip;

pub mod limits;
pub mod names;

pub use description::{Description, Flaw, Format, Kind};
pub use dtype::{Dtype, Share};
pub use error::{Error, What};

pub use known::is_known_word;
pub use read_at::{ReadAt, describe};
pub use reader::{FileReader, Step};
