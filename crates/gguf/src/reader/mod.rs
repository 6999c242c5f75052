//! Reads a header piece by piece, without doing IO. The parts of a file are in the order they stand there: preamble,
//! metadata entries, tensor table.

mod entry;
mod preamble;
mod table;
mod texts;
mod walk;

pub use texts::TextSpan;
pub use walk::{HeaderReader, Step};
