//! The end of a log, reduced while it is read: what no rule matches does not leave this file.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use model::Gap;
use raw::FileMeta;
use raw::logs::{KeptLine, LOG_TAIL_BYTES, LogExcerpt, from_line_start};
use rustix::fs::OFlags;

use super::beneath;
use super::errors::{gap, gap_of_io, gap_of_process};
use super::files;
use super::place::Place;
use super::subject::Subject;
use super::users;

/// Bytes of `/proc/PID/status` that are read; the user ids are in the first kilobyte.
const STATUS_BOUND: usize = 16 * 1024;

/// What is kept of a log of this process; only its size and time where it is the one that is known.
pub(super) fn tail(
    file: &File,
    known: Option<FileMeta>,
    keep: impl FnOnce(&[u8]) -> Vec<KeptLine>,
) -> Result<LogExcerpt, Gap> {
    let meta = files::meta_of(file)?;
    let mut excerpt = LogExcerpt {
        file: Some(meta),
        born_us: files::born_us(file),
        ..LogExcerpt::default()
    };
    if known == Some(meta) {
        excerpt.unchanged = true;
        return Ok(excerpt);
    }
    let start = meta.size.saturating_sub(LOG_TAIL_BYTES);
    let bytes = part(file, start, meta.size - start)?;
    excerpt.cut = start > 0;
    let whole = if excerpt.cut {
        from_line_start(&bytes)
    } else {
        &bytes
    };
    // A line that is still being written may end within a number.
    let end = whole.iter().rposition(|byte| *byte == b'\n');
    let whole = whole.get(..end.map_or(0, |end| end + 1));
    let whole = whole.unwrap_or_default();
    excerpt.last = raw::logs::last_time(whole);
    excerpt.lines = keep(whole);
    Ok(excerpt)
}

/// Bytes of a file, fewer at its end.
pub(super) fn part(file: &File, start: u64, len: u64) -> Result<Vec<u8>, Gap> {
    let mut bytes = vec![0; usize::try_from(len).map_err(|_| Gap::OverBound)?];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let at = start.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        match file.read_at(rest, at) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(gap_of_io(&error)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// A file that a process or an adapter names: absolute, or below the home of the process's owner (`~/`), where no
/// link is followed and the owner must be that user or root.
pub(super) fn open(place: &Place, subject: &Subject, path: &str) -> Result<File, Gap> {
    let root = place.process_root(subject.folder());
    let root = root.map_err(gap_of_process)?;
    match path.strip_prefix("~/") {
        None => beneath::open_regular(root.as_fd(), path),
        Some(path) => {
            let (home, owner) = home(place, subject, &root)?;
            beneath::open_owned(home.as_fd(), path, owner)
        }
    }
}

/// The home folder of the owner of a process, seen from its root, and that owner.
pub(super) fn home(
    place: &Place,
    subject: &Subject,
    root: &OwnedFd,
) -> Result<(OwnedFd, u32), Gap> {
    let status = subject.text("status", STATUS_BOUND)?;
    let status = String::from_utf8_lossy(&status);
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let owner = ids.and_then(|ids| ids.split_whitespace().next()?.parse::<u32>().ok());
    let owner = owner.ok_or(Gap::Malformed)?;
    let home = users::home(place, owner).ok_or(Gap::NotPresent)?;
    let folder = beneath::find(root.as_fd(), &home, OFlags::DIRECTORY).map_err(gap)?;
    Ok((folder, owner))
}

#[cfg(test)]
mod tests;
