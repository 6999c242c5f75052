//! Who belongs to whom, and how sure that is.

use model::{InferenceBasis, PidMark};

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
    pub why: Why,
}

impl Pair {
    /// How sure the pair is.
    pub const fn mark(self) -> PidMark {
        self.why.mark()
    }
}

/// What a pair rests on, or why it is only a guess. Of several reasons for a guess the first in this
/// order is given.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Why {
    /// Every listed process and every candidate was accounted for.
    Count,
    /// The two appeared together while the program watched.
    Start,
    /// A process that may hold a context cannot be looked into.
    Unreadable,
    /// A pair turned out wrong earlier, so equal counts no longer count.
    Distrust,
    /// Process numbers have wrapped, so their order proves nothing any more.
    OrderUntrusted,
    /// More processes are listed than there are candidates.
    MoreHost,
    /// There are more candidates than listed processes.
    MoreLocal,
    /// The numbers of both sides are equal, but it was listed too long after it mapped the library.
    Late,
}

impl Why {
    /// The stable code used in JSON.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Start => "start",
            Self::Unreadable => "unreadable",
            Self::Distrust => "distrust",
            Self::OrderUntrusted => "order_untrusted",
            Self::MoreHost => "more_host",
            Self::MoreLocal => "more_local",
            Self::Late => "late",
        }
    }

    /// How sure a pair with this reason is.
    pub const fn mark(self) -> PidMark {
        match self {
            Self::Count | Self::Start => PidMark::Sure,
            Self::Unreadable
            | Self::Distrust
            | Self::OrderUntrusted
            | Self::MoreHost
            | Self::MoreLocal
            | Self::Late => PidMark::Guess,
        }
    }

    /// How the owner of a size is inferred by a pair with this reason.
    pub const fn basis(self) -> InferenceBasis {
        match self {
            Self::Count => InferenceBasis::Count,
            Self::Start => InferenceBasis::Start,
            Self::Unreadable
            | Self::Distrust
            | Self::OrderUntrusted
            | Self::MoreHost
            | Self::MoreLocal
            | Self::Late => InferenceBasis::Order,
        }
    }
}
