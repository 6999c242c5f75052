//! What a GGUF model file says about itself, and how much memory a server needs for it.
//!
//! * [`HeaderReader`] reads a header without doing IO: it says which bytes it wants, the caller brings them,
//!   at once or several refreshes later. [`read_header`] does the same in one call over a [`ReadAt`].
//! * [`Header`] answers questions about the model: architecture, size, quantization, [`Kind`].
//! * [`weights`] sums tensor bytes per layer, [`kv`] the cache and state buffers, [`compute`] the scratch buffer of a
//!   graph; [`placement`] says on which devices they lie.
//!
//! A file is hostile until shown otherwise: every length is checked against the file before it is used, nothing is
//! allocated by a declared size (see [`limits`]), and no input may make this crate panic. Where a quantity is not
//! known the answer is a [`Range`] or a reason, never a guess that looks exact.
//!
//! The crate must not open files, read clocks or depend on other crates of the workspace.

#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod bytes;
mod error;
mod flaw;
mod header;
mod kind;
mod layout;
mod metadata;
mod numbers;
mod per_layer;
mod quantization;
mod range;
mod read_at;
mod reader;
mod role;
mod shard;
mod strings;
mod tensor;

pub mod compute;
pub mod kv;
pub mod limits;
pub mod placement;
pub mod weights;

pub use error::Error;
pub use flaw::Flaw;
pub use header::Header;
pub use kind::{Kind, Pooling};
pub use metadata::{Array, Metadata, Value, ValueType};
pub use per_layer::PerLayer;
pub use quantization::{FileType, Quantization};
pub use range::Range;
pub use read_at::{ReadAt, read_header};
pub use reader::{HeaderReader, Step, TextSpan};
pub use shard::{ShardName, Split};
pub use strings::skip_strings;
pub use tensor::{Tensor, TensorType};
