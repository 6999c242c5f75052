//! The only crate that calls the operating system: driver libraries, files, sockets, clocks, signals.
//!
//! [`LiveMachine`] answers the questions of [`raw::Machine`] about the machine it runs on, or, with
//! [`Options::root`], about a directory that looks like one. It interprets nothing: return codes, texts and
//! sentinels are handed on as they came, bounded and stamped.
//!
//! Nothing here may keep the caller waiting longer than its plan says: drivers are asked on threads of their own
//! (`worker`), reads that can hang on another few (`posted`), and a thread that hangs is left behind.
//!
//! Platform code is chosen in this file and nowhere else. `unsafe` is in files named `ffi.rs` only.

#[cfg(target_os = "linux")]
mod bell;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod ffi;
#[cfg(target_os = "linux")]
mod http;
#[cfg(target_os = "linux")]
mod leaving;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod nvml;
#[cfg(any(test, not(target_os = "linux")))]
mod plain_files;
#[cfg(target_os = "linux")]
mod posted;
#[cfg(unix)]
mod signals;
#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(target_os = "linux")]
mod worker;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
pub use live::{LiveMachine, Waker};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{LiveMachine, Waker};

/// How to look at the machine.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A directory that stands for the machine: `/proc`, `/sys`, `/dev` and `/etc` are taken from below it.
    pub root: Option<PathBuf>,
    /// The NVML library to load instead of searching for it by name.
    pub nvml_library: Option<PathBuf>,
    /// What shapes the run.
    pub settings: raw::Settings,
}

/// A regular file that the user named, or that lies in a folder the user named, open for reading. What is none is
/// refused without opening it, since a FIFO without a writer and some devices never let go; and should something
/// else take its name meanwhile, opening does not wait either.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let regular = |meta: std::fs::Metadata| match meta.is_file() {
        true => Ok(()),
        false if meta.is_dir() => Err(io::Error::other("it is no regular file but a folder")),
        false => Err(io::Error::other("it is no regular file")),
    };
    regular(std::fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(target_os = "linux")]
    linux::without_waiting(&mut options);
    let file = options.open(path)?;
    regular(file.metadata()?)?;
    Ok(file)
}

/// Calls `notify` with the number of every SIGTERM, SIGHUP and SIGINT, on a thread of its own, instead of letting
/// them end the process. Does nothing on systems without such signals.
pub fn termination_signals(notify: impl Fn(i32) + Send + 'static) -> io::Result<()> {
    #[cfg(unix)]
    return signals::on_termination(notify);
    #[cfg(not(unix))]
    {
        drop(notify);
        Ok(())
    }
}

/// Ends the process with this code if a driver library is still being loaded: the usual way out would wait for it.
/// Does nothing otherwise.
pub fn leave_if_stuck(code: u8) {
    #[cfg(target_os = "linux")]
    leaving::leave_if_stuck(code);
    #[cfg(not(target_os = "linux"))]
    let _ = code;
}
