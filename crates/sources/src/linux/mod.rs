//! Reads of files, processes and sockets on Linux.
//!
//! * `place`: where `/proc`, `/sys` and the root of a process are, on the live machine or below a directory.
//! * `beneath`: opening files that cannot leave a root and cannot block.
//! * `inline`: reads the kernel answers from memory.
//! * `drm`: attribute files of DRM devices and who has their nodes open.
//! * `posted`: reads that may hang; one module each where there is more to do than to read a text.
//!
//! It must not interpret what it reads beyond what the question asks for.

mod apps;
mod beneath;
mod containers;
mod device_names;
mod drm;
mod environment;
mod errors;
mod files;
mod inline;
mod journal;
mod listeners;
mod logs;
mod maps;
mod networks;
mod open_files;
mod place;
mod posted;
mod stores;
mod subject;
mod text;
mod users;

#[cfg(test)]
mod tests;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

pub(crate) use apps::Apps;
pub(crate) use drm::DrmDriver;
pub(crate) use inline::InlineReads;
pub(crate) use place::Place;
pub(crate) use posted::PostedReads;

/// Opening with these does not wait for the other end of a pipe, nor make a terminal ours.
pub(crate) fn without_waiting(options: &mut OpenOptions) {
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC);
}
