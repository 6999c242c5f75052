//! What one look at the driver and at the local processes saw.

/// One look. The driver's list must be older than the local facts: otherwise a process could be
/// listed before it was seen to have mapped anything, and the pair would look impossible. For the
/// same reason an answer about a process that comes later than the list belongs to the list's
/// moment: step again with it, and the same moment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sample {
    /// Moment of the driver's list: monotonic microseconds since any start. The same moment again
    /// means the same list with newer local facts.
    pub now_us: u64,
    /// Whether the program runs in the initial PID namespace, where the driver's numbers are local.
    pub initial_namespace: bool,
    /// Every process that the driver lists, over all devices and lists. A number may be repeated.
    pub listed: Vec<Listed>,
    /// Whether a list could not be read, so that there may be more than `listed`: then nothing becomes
    /// sure.
    pub lists_missing: bool,
    /// Every live local process, not only candidates: an exit shows by its absence.
    pub local: Vec<Candidate>,
}

/// A process in the driver's lists.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Listed {
    /// Its number, in the host's namespace.
    pub pid: u32,
    /// Whether a compute list names it (`C`, `C+G`). What only draws needs no `libcuda` and is not
    /// paired.
    pub compute: bool,
}

/// A live local process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Candidate {
    /// Who it is.
    pub local: Local,
    /// Whether it has a file named `libcuda.so*` mapped. `None`: that cannot be read and the process
    /// is large enough to hold a context; one that is too small for it counts as `false`, or a
    /// container whose first process belongs to another user could never show a sure pair.
    pub cuda: Option<bool>,
}

/// A local process by start time and number; in order of creation, also over a wrap of the numbers.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Local {
    /// Start time in any unit that grows: clock ticks since boot in `/proc/PID/stat`.
    pub start: u64,
    /// Number in the program's own namespace.
    pub pid: u32,
}
