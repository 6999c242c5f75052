//! Leaving the process while a library is being loaded.
//!
//! A library whose constructor hangs, or that lies on a file system that does, holds the loader's
//! lock. The usual way out of a process runs destructors under that lock and would wait for ever.

use std::sync::atomic::{AtomicU32, Ordering};

/// Loads that have not returned. One number for the process, since the lock is one for the process.
static LOADING: AtomicU32 = AtomicU32::new(0);

/// Counts while it lives.
pub(crate) struct Loading(());

impl Loading {
    pub(crate) fn start() -> Self {
        LOADING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        LOADING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ends the process at once if a load has not returned; else does nothing.
pub(crate) fn leave_if_stuck(code: u8) {
    if LOADING.load(Ordering::SeqCst) > 0 {
        crate::ffi::exit_now(i32::from(code));
    }
}
