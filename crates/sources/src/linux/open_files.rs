//! What a process has open.

use std::os::fd::AsFd;

use model::{Gap, Text};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, statat};

use super::beneath;
use super::errors::gap_in_process;
use super::place::{Place, link_text};
use super::subject::Subject;

/// Descriptors looked at. Servers have one per connection, but open their models and sockets first.
const MAX_DESCRIPTORS: usize = 4_096;

/// Bytes of a descriptor's number in decimal; anything longer is none.
const NUMBER_BYTES: usize = 10;

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
pub(super) fn regular_files(place: &Place, subject: &Subject) -> Result<Vec<(Text, Text)>, Gap> {
    let (folder, links) = descriptors(subject)?;
    let regular = |number: &str, text: &str| {
        if place.is_directory() {
            is_regular_below(place, subject, text)
        } else {
            let found = folder
                .fd()
                .and_then(|folder| statat(folder, number, AtFlags::empty()));
            found.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
        }
    };
    Ok(links
        .into_iter()
        .filter(|(_, text)| text.starts_with('/') && !text.starts_with("/dev/"))
        .map(|(number, text)| (number.to_string(), text))
        .filter(|(number, text)| regular(number, text))
        .map(|(number, text)| (number.into(), text.into()))
        .collect())
}

/// Below a directory a link is a text: what it names counts unless it is there and no regular file.
fn is_regular_below(place: &Place, subject: &Subject, path: &str) -> bool {
    let Ok(root) = place.process_root(subject.folder()) else {
        return false;
    };
    match beneath::find(root.as_fd(), path, OFlags::empty()) {
        Ok(found) => beneath::file_type(found.as_fd()) == Ok(FileType::RegularFile),
        Err(_) => true,
    }
}
