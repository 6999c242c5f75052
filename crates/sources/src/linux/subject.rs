//! The process a question is about, held open so that it cannot become another one.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use model::Gap;
use raw::ProcessRef;
use rustix::io::Errno;

use super::beneath;
use super::errors::{gap_in_process, gap_of_process};
use super::place::Place;
use super::text::{EMPTY_PAGE, Unread, read_all, read_once};

/// The start time is field 22; the fields behind the name start with the third.
const START_FIELD: usize = 22 - 3;

/// A process whose start time is the one asked about.
pub(super) struct Subject {
    folder: OwnedFd,
    who: ProcessRef,
    /// Its `stat`, open: it stays with its process and says when that has ended. Below a directory, where files can
    /// be replaced, it is opened each time.
    stat: Option<File>,
}

impl Subject {
    pub(super) fn open(place: &Place, who: ProcessRef) -> Result<Self, Gap> {
        let missing = |error| place.why_missing(who.pid, error);
        let folder = place.process(who.pid).map_err(missing)?;
        let stat = beneath::open_in(folder.as_fd(), "stat").map_err(missing)?;
        confirm(&stat, who)?;
        Ok(Self {
            folder,
            who,
            stat: (!place.is_directory()).then_some(stat),
        })
    }

    /// Whether it is still that process; otherwise what was read is about another one, or about none.
    pub(super) fn confirm(&self) -> Result<(), Gap> {
        match &self.stat {
            Some(stat) => confirm(stat, self.who),
            None => {
                let stat = beneath::open_in(self.folder.as_fd(), "stat");
                confirm(&stat.map_err(gap_of_process)?, self.who)
            }
        }
    }

    /// A text in its folder.
    pub(super) fn text(&self, name: &str, bound: usize) -> Result<Vec<u8>, Gap> {
        let file = beneath::open_in(self.folder.as_fd(), name).map_err(gap_in_process)?;
        let mut text = Vec::new();
        read_all(&file, &mut text, bound).map_err(|error| error.gap(gap_in_process))?;
        Ok(text)
    }

    /// As much of a text in its folder as the bound allows, and no error where it is longer.
    pub(super) fn start_of_text(&self, name: &str, bound: usize) -> Result<Vec<u8>, Errno> {
        let (folder, name) = match name.split_once('/') {
            Some((folder, name)) => (beneath::folder_in(self.folder.as_fd(), folder)?, name),
            None => (self.folder.try_clone().map_err(|_| Errno::MFILE)?, name),
        };
        let file = beneath::open_in(folder.as_fd(), name)?;
        let mut text = Vec::new();
        match read_all(&file, &mut text, bound) {
            Ok(()) | Err(Unread::OverBound) => Ok(text),
            Err(Unread::System(error)) => Err(error),
        }
    }

    pub(super) fn folder(&self) -> &OwnedFd {
        &self.folder
    }
}

/// `/proc/PID/stat` has 52 numbers and a name of at most 64 bytes, far less than a page.
fn confirm(stat: &File, who: ProcessRef) -> Result<(), Gap> {
    let mut page = EMPTY_PAGE;
    let text = read_once(stat, &mut page).map_err(|error| error.gap(gap_of_process))?;
    match start_ticks(text) {
        Some(ticks) if ticks == who.start_ticks => Ok(()),
        Some(_) => Err(Gap::Exited),
        None => Err(Gap::Malformed),
    }
}

/// Field 22. The name before it may contain spaces and parentheses, so the fields are counted from the last one.
pub(super) fn start_ticks(stat: &[u8]) -> Option<u64> {
    let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(end_of_name + 1..)?).ok()?;
    fields
        .split_ascii_whitespace()
        .nth(START_FIELD)?
        .parse()
        .ok()
}
