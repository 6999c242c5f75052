//! What an error of the system means for an answer.

use std::io;

use model::Gap;
use rustix::io::Errno;

/// What is said of a pipe, a socket or a device in place of a file, before anything is read of it: the kernel's own
/// answer to reading one from a place in it.
pub(super) const NO_FILE: Errno = Errno::SPIPE;

/// About a thing: what is not there is not present.
pub(super) fn gap(error: Errno) -> Gap {
    match error {
        // The last four: a component is no directory, a name is too long for any file to have it, a device node has
        // no device.
        Errno::NOENT
        | Errno::SRCH
        | Errno::NOTDIR
        | Errno::NAMETOOLONG
        | Errno::NXIO
        | Errno::NODEV => Gap::NotPresent,
        // A folder; a link that loops or is not followed; what cannot be read from a place in it ([`NO_FILE`]).
        Errno::ISDIR | Errno::LOOP | NO_FILE => Gap::NotRegular,
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

/// About a file in the folder of a process that is asked afterwards whether it still is that process
/// ([`super::subject::Subject::confirm`]): a file that is missing is missing, also where the process lives.
pub(super) fn gap_in_process(error: Errno) -> Gap {
    match error {
        // What the file is about has gone: the process has no memory any more.
        Errno::SRCH => Gap::Exited,
        other => gap(other),
    }
}

/// The same for an error of the standard library.
pub(super) fn gap_of_io(error: &io::Error) -> Gap {
    Errno::from_io_error(error).map_or(Gap::Internal, gap)
}
