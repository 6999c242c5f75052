//! Captures: the answers a collector was handed, in a file, and the machines that write and read
//! them.
//!
//! A capture is NDJSON, gzip-compressed where its name ends in `.gz`: a manifest, then per refresh
//! a line with the clock and one line per answer. Equal answers are written once. The format is
//! described in `docs/capture-format.md`.

mod arguments;
pub mod format;
mod headers;
pub mod limits;
pub mod load;
mod model_files;
pub mod pseudonyms;
pub mod record;
pub mod redact;
pub mod replay;
mod stores;
mod vocabulary;

pub use format::{Manifest, Redaction};
pub use load::{Capture, CaptureError};
pub use record::{Recorder, RecordingMachine};
pub use redact::RedactingMachine;
pub use replay::ReplayMachine;
