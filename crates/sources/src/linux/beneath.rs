//! Opening files beneath a root that links cannot leave, without blocking on what is no regular file.
//!
//! A process chooses its own root, mounts and links, and a monitor with full rights follows them: a link in a
//! container must end in the container, and opening a FIFO or a device node must not happen at all.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use model::Gap;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use super::errors::{NO_FILE, gap};

/// Attempts where the kernel could not decide because of renames meanwhile.
const RESOLVE_TRIES: u32 = 8;

/// Components of a path that is walked by hand; `PATH_MAX` allows no more than this many useful ones.
const MAX_COMPONENTS: usize = 256;

/// A reference to what is at `path` seen from `root`, links followed as if `root` were `/`.
pub(super) fn find(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
    for _ in 0..RESOLVE_TRIES {
        match openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Kernels before 5.6, and sandboxes that know no better answer.
            Err(Errno::NOSYS | Errno::PERM) => return walk(root, path, flags),
            result => return result,
        }
    }
    Err(Errno::AGAIN)
}

/// What is at `path` below `root`, which a user may have filled: no link on the way is followed, and none leads out.
pub(super) fn find_unlinked(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    for _ in 0..RESOLVE_TRIES {
        match openat2(root, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::NOSYS | Errno::PERM) => return walk(root, path, flags),
            // The link itself, where it is the last name.
            Ok(found) if file_type(found.as_fd())? == FileType::Symlink => return Err(Errno::LOOP),
            result => return result,
        }
    }
    Err(Errno::AGAIN)
}

/// A regular file below a folder of a user, no link on the way, which is the user's or root's; open for reading.
/// Anything else is not present.
pub(super) fn open_owned(home: BorrowedFd<'_>, path: &str, owner: u32) -> Result<File, Gap> {
    let found = find_unlinked(home, path).map_err(|error| match error {
        Errno::LOOP => Gap::NotPresent,
        error => gap(error),
    })?;
    let facts = fstat(&found).map_err(gap)?;
    let is_regular = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
    if !is_regular || ![0, owner].contains(&facts.st_uid) {
        return Err(Gap::NotPresent);
    }
    reopen(found.as_fd()).map_err(gap)
}

/// The same as [`find`] where the kernel cannot confine links: a path with one is not followed.
pub(super) fn walk(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let names: Vec<&str> = path
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".")
        .collect();
    if names.contains(&"..") || names.len() > MAX_COMPONENTS {
        return Err(Errno::LOOP);
    }
    let step = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let Some((last, folders)) = names.split_last() else {
        return openat(root, ".", step | OFlags::DIRECTORY, Mode::empty());
    };
    let mut at = root.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    for folder in folders {
        at = openat(&at, *folder, step | OFlags::DIRECTORY, Mode::empty())?;
    }
    let found = openat(&at, *last, step | flags, Mode::empty())?;
    if file_type(found.as_fd())? == FileType::Symlink {
        return Err(Errno::LOOP);
    }
    Ok(found)
}

/// A reference to a regular file; anything else is none.
pub(super) fn find_regular(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Gap> {
    if !path.starts_with('/') || path.contains('\0') {
        return Err(Gap::NotPresent);
    }
    let found = find(root, path, OFlags::empty()).map_err(gap)?;
    match file_type(found.as_fd()).map_err(gap)? {
        FileType::RegularFile => Ok(found),
        _ => Err(Gap::NotRegular),
    }
}

/// A regular file, open for reading.
pub(super) fn open_regular(root: BorrowedFd<'_>, path: &str) -> Result<File, Gap> {
    reopen(find_regular(root, path)?.as_fd()).map_err(gap)
}

/// A folder, open to be listed.
pub(super) fn open_folder(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Gap> {
    if !path.starts_with('/') || path.contains('\0') {
        return Err(Gap::NotPresent);
    }
    let found = find(root, path, OFlags::DIRECTORY).map_err(|error| match error {
        Errno::NOTDIR => Gap::NotPresent,
        error => gap(error),
    })?;
    reopen(found.as_fd()).map(OwnedFd::from).map_err(gap)
}

/// Opens for reading what was found. Goes through our own `/proc/self/fd`, so that it is the same file, whatever
/// has taken its name meanwhile.
fn reopen(found: BorrowedFd<'_>) -> Result<File, Errno> {
    let own = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(own, flags, Mode::empty()).map(File::from)
}

/// A file with a fixed name in a folder that is already open; no link.
pub(super) fn open_in(folder: BorrowedFd<'_>, name: &str) -> Result<File, Errno> {
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = openat(folder, name, flags, Mode::empty())?;
    match file_type(file.as_fd())? {
        FileType::RegularFile => Ok(file.into()),
        FileType::Directory => Err(Errno::ISDIR),
        _ => Err(NO_FILE),
    }
}

/// A folder with a fixed name in a folder that is already open; no link.
pub(super) fn folder_in(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat(folder, name, flags, Mode::empty())
}

pub(super) fn file_type(file: BorrowedFd<'_>) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode))
}
