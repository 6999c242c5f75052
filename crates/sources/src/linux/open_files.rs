//! What a process has open.

use std::os::fd::{AsFd, BorrowedFd};

use model::Gap;
use raw::OpenFile;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, statat};

use super::beneath;
use super::errors::gap_in_process;
use super::place::{Place, link_text};
use super::subject::Subject;

/// Descriptors looked at. Servers have one per connection, but open their models and sockets first.
const MAX_DESCRIPTORS: usize = 4_096;

/// Bytes of a descriptor's number in decimal; anything longer is none.
const NUMBER_BYTES: usize = 10;

/// Bytes of a `fdinfo` that are read; its flags stand on the second line.
const FDINFO_BOUND: usize = 16 * 1024;

/// The descriptors of a process with their link texts, by number, and the folder they are in.
pub(super) fn descriptors(subject: &Subject) -> Result<(Dir, Vec<(u32, String)>), Gap> {
    let folder = beneath::folder_in(subject.folder().as_fd(), "fd").map_err(gap_in_process)?;
    let mut folder = Dir::new(folder).map_err(gap_in_process)?;
    let mut numbers = Vec::new();
    for entry in &mut folder {
        let Ok(entry) = entry else { break };
        let name = entry.file_name().to_bytes();
        let number = std::str::from_utf8(name)
            .ok()
            .filter(|_| name.len() <= NUMBER_BYTES);
        if let Some(number) = number.and_then(|name| name.parse::<u32>().ok()) {
            numbers.push(number);
        }
        if numbers.len() == MAX_DESCRIPTORS {
            break;
        }
    }
    numbers.sort_unstable();
    let opened = folder.fd().map_err(gap_in_process)?;
    let links = numbers.into_iter().filter_map(|number| {
        // One that was closed meanwhile is none.
        let text = link_text(opened, &number.to_string()).ok()?;
        Some((number, text))
    });
    let links = links.collect();
    Ok((folder, links))
}

/// Those that are regular files.
pub(super) fn regular_files(place: &Place, subject: &Subject) -> Result<Vec<OpenFile>, Gap> {
    let (folder, links) = descriptors(subject)?;
    let links = links
        .into_iter()
        .filter(|(_, text)| text.starts_with('/') && !text.starts_with("/dev/"));
    let found = links.filter_map(|(number, path)| {
        let fd = number.to_string();
        let (file, writes) = if place.is_directory() {
            let file = regular_below(place, subject, &path)?;
            (file, writes_by_text(subject, &fd))
        } else {
            let folder = folder.fd().ok()?;
            let stat = statat(folder, &fd, AtFlags::empty()).ok()?;
            let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            let file = is_regular.then_some(Some((stat.st_dev, stat.st_ino)))?;
            (file, writes(folder, &fd))
        };
        Some(OpenFile {
            fd: fd.into(),
            path: path.into(),
            writes,
            file,
        })
    });
    Ok(found.collect())
}

/// Whether a descriptor can be written to: the kernel gives the link the rights that it was opened with.
fn writes(folder: BorrowedFd<'_>, fd: &str) -> Option<bool> {
    let link = statat(folder, fd, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(Mode::from_raw_mode(link.st_mode).contains(Mode::WUSR))
}

/// The same below a directory, where a link has no such rights: `flags:` of `fdinfo`, in octal, whose two lowest bits
/// are 0 for reading alone.
fn writes_by_text(subject: &Subject, fd: &str) -> Option<bool> {
    let text = subject.text(&format!("fdinfo/{fd}"), FDINFO_BOUND).ok()?;
    let text = String::from_utf8_lossy(&text);
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
    Some(flags & 0o3 != 0)
}

/// Below a directory a link is a text: what it names counts unless it is there and no regular file. Device and inode
/// where it is there.
#[expect(
    clippy::option_option,
    reason = "no regular file; one that is not there"
)]
fn regular_below(place: &Place, subject: &Subject, path: &str) -> Option<Option<(u64, u64)>> {
    let root = place.process_root(subject.folder()).ok()?;
    let Ok(found) = beneath::find(root.as_fd(), path, OFlags::empty()) else {
        return Some(None);
    };
    let stat = fstat(found.as_fd()).ok()?;
    let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    is_regular.then_some(Some((stat.st_dev, stat.st_ino)))
}
