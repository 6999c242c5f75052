//! Reading a bounded text from the start of an open file.

use std::fs::File;
use std::os::unix::fs::FileExt;

use model::Gap;
use rustix::io::Errno;

/// Bytes by which a buffer grows; a page is what most files of `/proc` hand out at once.
const STEP: usize = 4096;

/// Reads the whole file into `buffer`, which is cleared first.
pub(super) fn read_all(file: &File, buffer: &mut Vec<u8>, bound: usize) -> Result<(), Unread> {
    buffer.clear();
    loop {
        let filled = buffer.len();
        // One byte more than the bound tells "too long" from "just as long".
        let room = STEP.max(filled).min((bound + 1).saturating_sub(filled));
        if room == 0 {
            return Err(Unread::OverBound);
        }
        buffer.resize(filled + room, 0);
        let read = read_at(file, buffer.get_mut(filled..).unwrap_or_default(), filled);
        let count = *read.as_ref().unwrap_or(&0);
        buffer.truncate(filled + count);
        read.map_err(Unread::System)?;
        if count == 0 {
            return Ok(());
        }
    }
}

/// Room for a file of `/proc` that is shorter than a page.
pub(super) type Page = [u8; STEP];

pub(super) const EMPTY_PAGE: Page = [0; STEP];

/// Reads a file of `/proc` that the kernel makes in one piece and that is shorter than a page, with a single call.
pub(super) fn read_once<'a>(file: &File, page: &'a mut Page) -> Result<&'a [u8], Unread> {
    match read_at(file, page, 0) {
        Ok(STEP) => Err(Unread::OverBound),
        Ok(count) => page.get(..count).ok_or(Unread::OverBound),
        Err(error) => Err(Unread::System(error)),
    }
}

/// Why a text could not be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unread {
    /// The system said so.
    System(Errno),
    /// It is longer than its bound.
    OverBound,
}

impl Unread {
    pub(super) fn gap(self, of: fn(Errno) -> Gap) -> Gap {
        match self {
            Self::System(error) => of(error),
            Self::OverBound => Gap::OverBound,
        }
    }
}

fn read_at(file: &File, buffer: &mut [u8], offset: usize) -> Result<usize, Errno> {
    loop {
        match file.read_at(buffer, u64::try_from(offset).unwrap_or(u64::MAX)) {
            Ok(count) => return Ok(count),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INTR) => {}
                known => return Err(known.unwrap_or(Errno::IO)),
            },
        }
    }
}
