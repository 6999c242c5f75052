//! The machine's clocks.

use model::Stamp;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Both clocks, one after the other.
pub(crate) fn stamp() -> Stamp {
    Stamp {
        mono_ns: monotonic_ns(),
        wall_us: wall_us(),
    }
}

/// `CLOCK_MONOTONIC`, nanoseconds. It stands still while the machine sleeps.
pub(crate) fn monotonic_ns() -> u64 {
    u64::try_from(nanoseconds(clock_gettime(ClockId::Monotonic))).unwrap_or(0)
}

/// `CLOCK_REALTIME`, microseconds since 1970. Can jump.
pub(crate) fn wall_us() -> i64 {
    nanoseconds(clock_gettime(ClockId::Realtime)) / 1_000
}

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec)
}
