//! Evidence that a process has a model, and the label that it earns.

use crate::Text;
use crate::ids::Stamp;

/// One fact about a model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Evidence {
    /// What kind of fact.
    pub kind: EvidenceKind,
    /// The locator: a path, a flag, an endpoint.
    pub detail: Text,
    /// When it was seen.
    pub at: Stamp,
}

/// Kinds of evidence, strongest first.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum EvidenceKind {
    /// A server that owns the process names it as loaded: its own, or that of a known parent.
    Api,
    /// The file is mapped.
    Mapped,
    /// The file is open.
    Open,
    /// An argument of the process, or an allowed variable of its environment, resolves to it.
    CommandLine,
    /// A log of the process, written after it started, says that it was loaded.
    Log,
    /// Settings of the application name it.
    Settings,
    /// It lies in the application's folder of models.
    Installed,
}

impl EvidenceKind {
    /// All kinds, strongest first.
    pub const ALL: &'static [Self] = &[
        Self::Api,
        Self::Mapped,
        Self::Open,
        Self::CommandLine,
        Self::Log,
        Self::Settings,
        Self::Installed,
    ];

    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Mapped => "mapped",
            Self::Open => "open",
            Self::CommandLine => "cmdline",
            Self::Log => "log",
            Self::Settings => "settings",
            Self::Installed => "installed",
        }
    }

    /// The family it counts for: mapped and open are one fact of the kernel. Settings and installed files
    /// are no evidence that anything is loaded, and count for none.
    pub const fn family(self) -> Option<EvidenceFamily> {
        match self {
            Self::Api => Some(EvidenceFamily::Api),
            Self::Mapped | Self::Open => Some(EvidenceFamily::Kernel),
            Self::CommandLine => Some(EvidenceFamily::CommandLine),
            Self::Log => Some(EvidenceFamily::Log),
            Self::Settings | Self::Installed => None,
        }
    }
}

/// Independent families of evidence.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum EvidenceFamily {
    /// Said by the server.
    Api,
    /// Shown by the kernel.
    Kernel,
    /// Asked for by whoever started it.
    CommandLine,
    /// Written down by the process.
    Log,
}

impl EvidenceFamily {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Kernel => "kernel",
            Self::CommandLine => "cmdline",
            Self::Log => "log",
        }
    }
}

/// How sure the identification is. Says nothing about residency or activity.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum EvidenceLabel {
    /// Only settings or installed files name it.
    Candidate,
    /// Only a log tells that it was loaded once.
    History,
    /// The server, the kernel or the command line names it.
    Likely,
    /// At least two families, the server or the kernel among them.
    Confirmed,
}

impl EvidenceLabel {
    /// The label that `kinds` earn, whatever their order.
    pub fn of(kinds: impl IntoIterator<Item = EvidenceKind>) -> Self {
        let mut families: Vec<EvidenceFamily> =
            kinds.into_iter().filter_map(EvidenceKind::family).collect();
        families.sort_unstable();
        families.dedup();
        let has = |family| families.contains(&family);
        let strong = has(EvidenceFamily::Api) || has(EvidenceFamily::Kernel);
        if families.len() >= 2 && strong {
            Self::Confirmed
        } else if strong || has(EvidenceFamily::CommandLine) {
            Self::Likely
        } else if has(EvidenceFamily::Log) {
            Self::History
        } else {
            Self::Candidate
        }
    }

    /// What it means, in a few words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Confirmed => "two kinds of evidence, one of server or kernel",
            Self::Likely => "one kind of evidence",
            Self::History => "only a log names it",
            Self::Candidate => "only settings or a folder of models name it",
        }
    }

    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::History => "history",
            Self::Likely => "likely",
            Self::Confirmed => "confirmed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EvidenceKind::{Api, CommandLine, Installed, Log, Mapped, Open, Settings};

    #[test]
    fn mapped_and_open_are_one_fact() {
        assert_eq!(EvidenceLabel::of([Mapped, Open]), EvidenceLabel::Likely);
        assert_eq!(
            EvidenceLabel::of([Mapped, CommandLine]),
            EvidenceLabel::Confirmed
        );
        assert_eq!(EvidenceLabel::of([Api, Open]), EvidenceLabel::Confirmed);
        assert_eq!(EvidenceLabel::of([CommandLine]), EvidenceLabel::Likely);
    }

    #[test]
    fn what_neither_server_nor_kernel_shows_is_never_confirmed() {
        assert_eq!(EvidenceLabel::of([CommandLine, Log]), EvidenceLabel::Likely);
        assert_eq!(EvidenceLabel::of([Log, Settings]), EvidenceLabel::History);
        let weak = [Settings, Installed];
        assert_eq!(EvidenceLabel::of(weak), EvidenceLabel::Candidate);
        assert_eq!(EvidenceLabel::of([Log, Mapped]), EvidenceLabel::Confirmed);
    }

    #[test]
    fn more_evidence_never_lowers_the_label() {
        let all = EvidenceKind::ALL;
        let subsets = 1_u32 << all.len();
        for subset in 0..subsets {
            let pick = |bits: u32| {
                let chosen = move |(i, _): &(usize, &EvidenceKind)| bits & (1 << i) != 0;
                all.iter().enumerate().filter(chosen).map(|(_, kind)| *kind)
            };
            for extra in 0..all.len() {
                let more = subset | (1 << extra);
                assert!(EvidenceLabel::of(pick(more)) >= EvidenceLabel::of(pick(subset)));
            }
        }
    }

    #[test]
    fn order_and_repetition_of_evidence_do_not_matter() {
        for a in EvidenceKind::ALL {
            for b in EvidenceKind::ALL {
                let once = EvidenceLabel::of([*a, *b]);
                assert_eq!(once, EvidenceLabel::of([*b, *a]));
                assert_eq!(once, EvidenceLabel::of([*a, *b, *a, *b, *b]));
            }
        }
    }
}
