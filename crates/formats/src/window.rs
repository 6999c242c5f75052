//! The bytes at hand, and what a walker asks for next.

use crate::bytes::{len, size};
use crate::description::Description;
use crate::error::{Error, What};
use crate::limits::{FIRST_WINDOW, WINDOW};

/// Bytes of the file as they were brought.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window<'a> {
    /// Where they stand in the file.
    pub(crate) start: u64,
    pub(crate) bytes: &'a [u8],
    /// Where the file ends.
    pub(crate) end: u64,
}

impl<'a> Window<'a> {
    /// `count` bytes from `at`, where the window holds them.
    pub(crate) fn get(&self, at: u64, count: u64) -> Option<&'a [u8]> {
        let from = size(at.checked_sub(self.start)?);
        self.bytes.get(from..from.checked_add(size(count))?)
    }

    /// `count` bytes from `at`, or the pause that brings them.
    pub(crate) fn need(&self, at: u64, count: u64) -> Result<&'a [u8], Pause> {
        self.reach(at, count)?;
        self.get(at, count).ok_or(Pause::Read {
            offset: at,
            len: count.max(u64::from(WINDOW)),
        })
    }

    /// The same, where what follows is likely to be stepped over.
    pub(crate) fn need_here(&self, at: u64, count: u64) -> Result<&'a [u8], Pause> {
        self.reach(at, count)?;
        self.get(at, count).ok_or(Pause::Read {
            offset: at,
            len: count.max(u64::from(FIRST_WINDOW)),
        })
    }

    /// Whether the file has `count` bytes from `at`.
    pub(crate) fn reach(&self, at: u64, count: u64) -> Result<(), Error> {
        if count > self.end.saturating_sub(at) {
            return Err(Error::Truncated {
                offset: at,
                needed: count,
                end: self.end,
            });
        }
        Ok(())
    }

    /// Where the window ends.
    pub(crate) fn until(&self) -> u64 {
        self.start.saturating_add(len(self.bytes))
    }
}

/// Why a walk paused.
#[derive(Debug)]
pub(crate) enum Pause {
    /// These bytes are needed; cut at the end of the file by whoever asks for them.
    Read {
        offset: u64,
        len: u64,
    },
    /// The file is described.
    Done(Box<Description>),
    Failed(Error),
}

impl From<Error> for Pause {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A shorthand for the commonest error.
pub(crate) const fn malformed(what: What, offset: u64) -> Error {
    Error::Malformed { what, offset }
}

/// Reads one format. Every call moves on, or ends.
pub(crate) trait Walker: std::fmt::Debug + Send {
    /// Goes as far as these bytes reach.
    fn walk(&mut self, window: Window<'_>) -> Pause;
}
