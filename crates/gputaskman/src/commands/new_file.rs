//! Files that the program writes where it is told to: new ones only.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use crate::failure::Failure;

/// Creates a file; `what` is it for whoever reads why that failed.
pub(super) fn create(path: &Path, what: &str) -> Result<File, Failure> {
    let created = OpenOptions::new().write(true).create_new(true).open(path);
    created.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::AlreadyExists => "what exists is never overwritten: choose a new name",
            _ => "the folder must exist and be writable",
        };
        Failure::failed(anyhow::Error::new(error).context(what.to_owned())).with_hint(hint)
    })
}
