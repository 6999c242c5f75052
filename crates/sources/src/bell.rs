//! What the sampling thread waits on: one condition variable for everything that can end its wait.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Rung when something has changed. Whoever waits looks at the things themselves; the bell carries nothing.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rings: Mutex<u64>,
    rung: Condvar,
}

impl Bell {
    /// How often it has rung. Take this before looking at what it rings for.
    pub(crate) fn rings(&self) -> u64 {
        *locked(&self.rings)
    }

    /// Ends every wait.
    pub(crate) fn ring(&self) {
        {
            let mut rings = locked(&self.rings);
            *rings = rings.wrapping_add(1);
        }
        // With the lock released, or whoever wakes would have to wait for it.
        self.rung.notify_all();
    }

    /// Waits until it has rung since `heard`, at most `nanoseconds`.
    pub(crate) fn wait(&self, heard: u64, nanoseconds: u64) {
        let rings = locked(&self.rings);
        if *rings == heard && nanoseconds > 0 {
            // A spurious end of the wait is harmless: the caller looks again.
            drop(
                self.rung
                    .wait_timeout(rings, Duration::from_nanos(nanoseconds)),
            );
        }
    }
}

/// Locks also after a panic elsewhere: no state behind our locks is ever left half changed.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
