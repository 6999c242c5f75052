//! How a driver's entry was matched to a local process where the two are numbered in different PID
//! namespaces.

use crate::reading::InferenceBasis;

/// The driver's entry that a process was matched to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PidMatch {
    /// The number in the driver's lists.
    pub foreign_pid: u32,
    /// What the match rests on.
    pub why: MatchReason,
}

/// A mark beside a matched process number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PidMark {
    /// `*`: every process accounted for, or seen starting.
    Sure,
    /// `?`: a guess.
    Guess,
}

/// What a match rests on, or why it is only a guess. Of several reasons for a guess the first in this
/// order is given.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum MatchReason {
    /// Every listed process and every candidate was accounted for.
    Count,
    /// The two appeared together while the program watched.
    Start,
    /// A list of the driver could not be read.
    ListMissing,
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

impl MatchReason {
    /// The stable code used in JSON (`pid_match.why`).
    pub const fn code(self) -> &'static str {
        self.row().0
    }

    /// One sentence for a person.
    pub const fn sentence(self) -> &'static str {
        self.row().1
    }

    /// How sure a pair with this reason is.
    pub const fn mark(self) -> PidMark {
        self.basis().mark()
    }

    /// How the owner of a size is inferred by a pair with this reason.
    pub const fn basis(self) -> InferenceBasis {
        match self {
            Self::Count => InferenceBasis::Count,
            Self::Start => InferenceBasis::Start,
            Self::ListMissing
            | Self::Unreadable
            | Self::Distrust
            | Self::OrderUntrusted
            | Self::MoreHost
            | Self::MoreLocal
            | Self::Late => InferenceBasis::Order,
        }
    }

    const fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::Count => (
                "count",
                "every entry of the driver and every process that could hold one is accounted for",
            ),
            Self::Start => (
                "start",
                "the process and the driver's entry appeared together while watching",
            ),
            Self::ListMissing => (
                "list_missing",
                "a guess by start order: a process list of the driver could not be read",
            ),
            Self::Unreadable => (
                "unreadable",
                "a guess by start order: a process that may use the GPU cannot be looked into",
            ),
            Self::Distrust => (
                "distrust",
                "a guess by start order: an earlier match turned out wrong",
            ),
            Self::OrderUntrusted => (
                "order_untrusted",
                "a guess: process numbers have wrapped, so their order proves nothing",
            ),
            Self::MoreHost => (
                "more_host",
                "a guess by start order: the driver lists more processes than are visible here",
            ),
            Self::MoreLocal => (
                "more_local",
                "a guess by start order: more processes could hold a context than the driver lists",
            ),
            Self::Late => (
                "late",
                "a guess by start order: it was listed long after it loaded the driver's library",
            ),
        }
    }

    /// Every reason, for listings and tests.
    pub const ALL: [Self; 9] = [
        Self::Count,
        Self::Start,
        Self::ListMissing,
        Self::Unreadable,
        Self::Distrust,
        Self::OrderUntrusted,
        Self::MoreHost,
        Self::MoreLocal,
        Self::Late,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_count_and_a_start_are_sure_and_nothing_else_claims_to_be() {
        for reason in MatchReason::ALL {
            let guess = reason.basis() == InferenceBasis::Order;
            assert_eq!(guess, reason.mark() == PidMark::Guess, "{reason:?}");
            assert_eq!(
                guess,
                reason.sentence().starts_with("a guess"),
                "{reason:?}"
            );
        }
    }
}
