//! Where things are: on the live machine, or below a directory that stands for one.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use model::Gap;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, open, readlinkat, statat};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::beneath;
use super::errors::{gap, gap_of_process};

/// The machine's root folder and its `/proc`.
pub(crate) struct Place {
    /// `/`, or the directory; an error if it cannot be opened.
    root: Result<OwnedFd, Errno>,
    proc: Result<OwnedFd, Errno>,
    is_directory: bool,
}

impl Place {
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        let is_directory = directory.is_some();
        let path = directory.unwrap_or_else(|| PathBuf::from("/"));
        let folder = |path: &Path| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            open(path, flags, Mode::empty())
        };
        let root = folder(&path);
        let proc = match &root {
            Ok(root) if is_directory => beneath::find(root.as_fd(), "proc", OFlags::DIRECTORY),
            Ok(_) => folder(Path::new("/proc")),
            Err(error) => Err(*error),
        };
        Self {
            root,
            proc,
            is_directory,
        }
    }

    /// Whether a directory stands for the machine.
    pub(super) fn is_directory(&self) -> bool {
        self.is_directory
    }

    pub(super) fn root(&self) -> Result<&OwnedFd, Errno> {
        self.root.as_ref().map_err(|error| *error)
    }

    pub(super) fn proc(&self) -> Result<&OwnedFd, Errno> {
        self.proc.as_ref().map_err(|error| *error)
    }

    /// The folder of a process.
    pub(super) fn process(&self, pid: u32) -> Result<OwnedFd, Errno> {
        beneath::folder_in(self.proc()?.as_fd(), &pid.to_string())
    }

    /// Why a process has no folder: it has ended, or it is hidden from this user (`hidepid` of `/proc`). Asking whether
    /// a signal could be sent sends none.
    pub(super) fn why_absent(&self, pid: u32, error: Errno) -> Gap {
        let gap = gap_of_process(error);
        if gap != Gap::Exited || self.is_directory {
            return gap;
        }
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        match pid.map(test_kill_process) {
            Some(Err(Errno::PERM)) => Gap::Permission,
            // It may be seen, and has gone between the two questions or has just begun.
            Some(Ok(()) | Err(_)) | None => Gap::Exited,
        }
    }

    /// Why a file of a process is missing: it has ended, or it lives and has no such file.
    pub(super) fn why_missing(&self, pid: u32, error: Errno) -> Gap {
        let is_there = || {
            let proc = self.proc().ok()?;
            statat(proc, pid.to_string(), AtFlags::SYMLINK_NOFOLLOW).ok()
        };
        match gap_of_process(error) {
            Gap::Exited if error != Errno::SRCH && is_there().is_some() => Gap::NotPresent,
            Gap::Exited => self.why_absent(pid, error),
            gap => gap,
        }
    }

    /// The root of a process. Below a directory it is the folder `root` of the process, or the directory itself
    /// where that is missing or a link, as in copies of `/proc`.
    pub(super) fn process_root(&self, process: &OwnedFd) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if !self.is_directory {
            return rustix::fs::openat(process, "root", flags, Mode::empty());
        }
        let found = statat(process, "root", AtFlags::SYMLINK_NOFOLLOW);
        match found.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::Directory) => {
                rustix::fs::openat(process, "root", flags | OFlags::NOFOLLOW, Mode::empty())
            }
            _ => self.root()?.try_clone().map_err(|_| Errno::MFILE),
        }
    }

    /// A regular file of the machine by its absolute path.
    pub(super) fn open(&self, path: &str) -> Result<File, Gap> {
        beneath::open_regular(self.root().map_err(gap)?.as_fd(), path)
    }
}

/// The text of a link, as it is.
pub(super) fn link_text(folder: impl AsFd, name: &str) -> Result<String, Errno> {
    let text = readlinkat(folder, name, Vec::new())?;
    Ok(String::from_utf8_lossy(text.as_bytes()).into_owned())
}
