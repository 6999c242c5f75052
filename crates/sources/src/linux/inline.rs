//! Reads that the kernel answers from memory, on the sampling thread.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

use model::{Gap, Text};
use raw::{Answer, Inline, Reply, Stamped};
use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;

use super::beneath;
use super::errors::{gap, gap_of_process};
use super::place::{Place, link_text};
use super::text::{EMPTY_PAGE, Page, read_all, read_once};
use crate::clock;

#[cfg(test)]
mod tests;

/// Bytes of a file; attributes of `/sys` have at most a page, texts of `/proc` that are asked for a few.
const FILE_BOUND: usize = 64 * 1024;

/// Names in a folder. `/proc` has one per process, `/sys` and `/dev` far fewer.
const NAMES_BOUND: usize = 65_536;

/// Open `stat` files of processes that are kept, so that reading one again is a single call without a walk along its
/// path. Well below the usual limit of 1024 descriptors (`RLIMIT_NOFILE`); of processes beyond it the file is opened
/// each time.
const KEPT_FILES: usize = 256;

/// Refreshes for which one is kept that is not asked for.
const KEPT_TICKS: u64 = 4;

/// The inline reads with their buffers.
pub(crate) struct InlineReads {
    place: Arc<Place>,
    buffer: Vec<u8>,
    /// For `stat`, read for every process on each refresh: never cleared, since what counts is what was read.
    page: Box<Page>,
    stats: HashMap<u32, Kept>,
    tick: u64,
}

struct Kept {
    file: File,
    tick: u64,
}

impl InlineReads {
    pub(crate) fn new(place: Arc<Place>) -> Self {
        Self {
            place,
            buffer: Vec::new(),
            page: Box::new(EMPTY_PAGE),
            stats: HashMap::new(),
            tick: 0,
        }
    }

    /// A refresh begins; files that were not asked for lately are closed.
    pub(crate) fn begin_tick(&mut self) {
        self.tick += 1;
        let oldest = self.tick.saturating_sub(KEPT_TICKS);
        self.stats.retain(|_, kept| kept.tick >= oldest);
    }

    pub(crate) fn read(&mut self, question: &Inline) -> Answer<Reply> {
        let value = match question {
            Inline::Stat(pid) => self.stat(*pid)?,
            Inline::Status(pid) => {
                self.of_process(*pid, "status")?;
                status_lines(&self.buffer)
            }
            Inline::Cgroup(pid) => {
                self.of_process(*pid, "cgroup")?;
                self.bytes()
            }
            Inline::PidNamespace => {
                let proc = self.place.proc().map_err(gap)?;
                Reply::text(&link_text(proc, "self/ns/pid").map_err(gap)?)
            }
            Inline::Small(path) => self.small(path)?,
            Inline::Names(path) => self.names(path)?,
        };
        Ok(Stamped {
            at: clock::stamp(),
            value,
        })
    }

    fn bytes(&self) -> Reply {
        Reply::Bytes(self.buffer.as_slice().into())
    }

    fn of_process(&mut self, pid: u32, name: &str) -> Result<(), Gap> {
        let missing = |error| self.place.why_missing(pid, error);
        let folder = self.place.process(pid).map_err(missing)?;
        let file = beneath::open_in(folder.as_fd(), name).map_err(missing)?;
        read_all(&file, &mut self.buffer, FILE_BOUND).map_err(|e| e.gap(gap_of_process))
    }

    /// An open `stat` stays with its process: after its end it says so, also when the number is used again.
    fn stat(&mut self, pid: u32) -> Result<Reply, Gap> {
        if self.place.is_directory() {
            // Files here can be replaced, and folders be links: nothing is kept.
            self.of_process(pid, "stat")?;
            return Ok(self.bytes());
        }
        if let Some(kept) = self.stats.get_mut(&pid) {
            kept.tick = self.tick;
            if let Ok(text) = read_once(&kept.file, &mut self.page) {
                return Ok(Reply::Bytes(text.into()));
            }
            self.stats.remove(&pid);
        }
        let proc = self.place.proc().map_err(gap_of_process)?;
        let path = format!("{pid}/stat");
        let file = beneath::open_in(proc.as_fd(), &path);
        let file = file.map_err(|error| self.place.why_missing(pid, error))?;
        let text = read_once(&file, &mut self.page).map_err(|e| e.gap(gap_of_process))?;
        let reply = Reply::Bytes(text.into());
        if self.stats.len() < KEPT_FILES {
            let tick = self.tick;
            self.stats.insert(pid, Kept { file, tick });
        }
        Ok(reply)
    }

    fn small(&mut self, path: &Text) -> Result<Reply, Gap> {
        if !is_below(path, &["/proc/", "/sys/"]) {
            return Err(Gap::NotPresent);
        }
        let file = if self.place.is_directory() {
            self.place.open(path)?
        } else {
            beneath::open_in(self.place.root().map_err(gap)?.as_fd(), path).map_err(gap)?
        };
        read_all(&file, &mut self.buffer, FILE_BOUND).map_err(|e| e.gap(gap))?;
        Ok(self.bytes())
    }

    fn names(&self, path: &Text) -> Result<Reply, Gap> {
        if !is_below(path, &["/sys/", "/dev/", "/proc/"]) {
            return Err(Gap::NotPresent);
        }
        let root = self.place.root().map_err(gap)?;
        let folder = if self.place.is_directory() {
            let found = beneath::find(root.as_fd(), path, OFlags::DIRECTORY).map_err(gap)?;
            beneath::folder_in(found.as_fd(), ".")
        } else {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            openat(root, &**path, flags, Mode::empty())
        };
        sorted_names(Dir::new(folder.map_err(gap)?)).map(Reply::Names)
    }
}

/// Whether a path is in one of these folders, or the folder itself, and does not climb out of it.
fn is_below(path: &str, folders: &[&str]) -> bool {
    let inside = folders
        .iter()
        .any(|folder| path.starts_with(folder) || path == folder.trim_end_matches('/'));
    inside && !path.split('/').any(|name| name == "..")
}

fn sorted_names(folder: Result<Dir, Errno>) -> Result<Vec<Text>, Gap> {
    let mut names = Vec::new();
    for entry in folder.map_err(gap)? {
        let entry = entry.map_err(gap)?;
        let name = entry.file_name().to_string_lossy();
        if name == "." || name == ".." {
            continue;
        }
        if names.len() == NAMES_BOUND {
            return Err(Gap::OverBound);
        }
        names.push(Text::from(name));
    }
    names.sort_unstable();
    Ok(names)
}

/// The lines of `/proc/PID/status` that are asked for.
fn status_lines(text: &[u8]) -> Reply {
    const KEPT: [&[u8]; 4] = [b"Name:", b"PPid:", b"Uid:", b"NSpid:"];
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let kept = lines.filter(|line| KEPT.iter().any(|name| line.starts_with(name)));
    Reply::Bytes(kept.flatten().copied().collect())
}
