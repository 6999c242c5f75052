//! What an error of the system means for an answer.

use std::io;

use model::Gap;
use rustix::io::Errno;

/// About a thing: what is not there is not present.
pub(super) fn gap(error: Errno) -> Gap {
    match error {
        // The last four: a component is no directory, a link loops or is not followed, a name is too long for
        // any file to have it, a device node has no device.
        Errno::NOENT
        | Errno::SRCH
        | Errno::NOTDIR
        | Errno::LOOP
        | Errno::NAMETOOLONG
        | Errno::NXIO
        | Errno::NODEV
        | Errno::ISDIR => Gap::NotPresent,
        Errno::ACCESS | Errno::PERM => Gap::Permission,
        // Attributes of devices that do not have the thing, or not now.
        Errno::OPNOTSUPP | Errno::INVAL | Errno::NODATA | Errno::IO | Errno::BUSY => {
            Gap::NotSupported
        }
        Errno::TIMEDOUT | Errno::AGAIN => Gap::TimedOut,
        _ => Gap::Internal,
    }
}

/// About an attribute of a device: the driver's own error is the reason. amdgpu says EPERM while a device sleeps or is
/// reset, EINVAL and EOPNOTSUPP for what a chip does not have, ENODATA for what it does not have now.
pub(super) fn gap_of_attribute(error: Errno) -> Gap {
    match error {
        Errno::PERM | Errno::INVAL | Errno::NODATA | Errno::IO | Errno::BUSY => {
            Gap::DriverError(error.raw_os_error())
        }
        other => gap(other),
    }
}

/// About a process: what is not there has ended.
pub(super) fn gap_of_process(error: Errno) -> Gap {
    match gap(error) {
        Gap::NotPresent => Gap::Exited,
        other => other,
    }
}

/// The same for an error of the standard library.
pub(super) fn gap_of_io(error: &io::Error) -> Gap {
    Errno::from_io_error(error).map_or(Gap::Internal, gap)
}
