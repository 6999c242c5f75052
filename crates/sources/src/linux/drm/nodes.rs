//! Which open file is a node of a DRM device.

use std::os::fd::OwnedFd;

use raw::drm::FIRST_RENDER_MINOR;
use rustix::fs::{AtFlags, FileType, major, minor, statat};

/// Major number of DRM devices (`include/uapi/linux/major.h` has no name for it; `drivers/gpu/drm/drm_internal.h`).
const DRM_MAJOR: u32 = 226;

/// What the kernel appends to the link of a file that has been removed.
const DELETED: &str = " (deleted)";

/// Device files that every process has open and that are no nodes, so that they need no second look.
const ORDINARY: [&str; 11] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/pts/",
    "/dev/ptmx",
    "/dev/random",
    "/dev/urandom",
    "/dev/shm/",
    "/dev/input/",
    "/dev/nvidia",
];

/// An open node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Open {
    /// Of a DRM device.
    Drm { minor: u32, is_deleted: bool },
    /// `/dev/kfd`, the compute queues of AMD devices.
    Kfd,
}

/// What the descriptor `name` in the folder `fds` is, with the text of its link.
///
/// A container may have a node under another name, so that the device number decides. A directory that stands for a
/// machine has no device numbers: there the name does.
pub(super) fn open_node(link: &str, fds: &OwnedFd, name: &str, by_name: bool) -> Option<Open> {
    if !link.starts_with("/dev/") || ORDINARY.iter().any(|ordinary| link.starts_with(ordinary)) {
        return None;
    }
    let (path, is_deleted) = match link.strip_suffix(DELETED) {
        Some(path) => (path, true),
        None => (link, false),
    };
    if path == "/dev/kfd" {
        return Some(Open::Kfd);
    }
    let minor = if by_name {
        named(path)?
    } else {
        let stat = statat(fds, name, AtFlags::empty()).ok()?;
        let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
        (is_device && major(stat.st_rdev) == DRM_MAJOR).then(|| minor(stat.st_rdev))?
    };
    Some(Open::Drm { minor, is_deleted })
}

/// The minor number of a node by its usual name.
fn named(path: &str) -> Option<u32> {
    let name = path.strip_prefix("/dev/dri/")?;
    let (digits, first) = match name.strip_prefix("renderD") {
        Some(digits) => (digits, FIRST_RENDER_MINOR),
        None => (name.strip_prefix("card")?, 0),
    };
    let number: u32 = digits.parse().ok()?;
    let is_one = digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_one && number >= first && (first > 0 || number < FIRST_RENDER_MINOR)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_their_minor_number_in_their_name() {
        for (path, expected) in [
            ("/dev/dri/card0", Some(0)),
            ("/dev/dri/card12", Some(12)),
            ("/dev/dri/renderD128", Some(128)),
            ("/dev/dri/renderD190", Some(190)),
            ("/dev/dri/renderD1", None),
            ("/dev/dri/card128", None),
            ("/dev/dri/card", None),
            ("/dev/dri/card+1", None),
            ("/dev/dri/card1-DP-1", None),
            ("/dev/dri/by-path/x", None),
            ("/dev/accel/accel0", None),
        ] {
            assert_eq!(named(path), expected, "{path}");
        }
    }
}
