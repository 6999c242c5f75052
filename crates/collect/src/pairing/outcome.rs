//! Who belongs to whom, and how sure that is.

use model::{MatchReason, PidMark};

use super::sample::Local;

/// What follows from the samples up to now. Sorted by number, so that it does not depend on the
/// order in which anything was listed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// What the driver's numbers are.
    pub mode: Mode,
    /// Host numbers with their local processes; no host and no local process is in two.
    pub pairs: Vec<Pair>,
    /// Host numbers without one (`H:1234`): outside the container, or owner not determined.
    pub host_rows: Vec<u32>,
    /// Local processes that could hold a context and have no listed number now: memory unknown.
    pub local_null: Vec<Local>,
}

impl Outcome {
    /// The outcome where there is nothing to pair.
    pub(super) const fn identity() -> Self {
        Self {
            mode: Mode::Identity,
            pairs: Vec::new(),
            host_rows: Vec::new(),
            local_null: Vec::new(),
        }
    }
}

/// What the driver's numbers are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// Local numbers.
    Identity,
    /// Numbers of another namespace, paired as far as possible.
    Paired,
}

impl Mode {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Paired => "paired",
        }
    }
}

/// A host number and the local process it is taken for.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Pair {
    /// The driver's number.
    pub host: u32,
    /// The local process.
    pub local: Local,
    /// What the pair rests on.
    pub why: MatchReason,
}

impl Pair {
    /// How sure the pair is.
    pub const fn mark(self) -> PidMark {
        self.why.mark()
    }
}
