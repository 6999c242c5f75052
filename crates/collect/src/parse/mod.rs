//! Texts of the kernel and of programs, to records. Parsers never fail as a whole: what does not
//! follow the format is left out, and the caller sees that nothing came.

use std::borrow::Cow;

pub mod cgroup;
pub mod maps;
pub mod stat;
pub mod status;

/// Bytes as text, with U+FFFD for what is none. The library's own function for this looks at each byte by itself
/// also where all is well, and most of what is read is plain ASCII.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
