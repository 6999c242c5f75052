//! What the AMD compute driver says of a process.

use crate::reading::{Measured, Reading};
use crate::units::{Bytes, Percent};

/// What the AMD compute driver says of one process on one device. Its memory is part of what the nodes say, and is
/// never added to it. A device in several partitions has a node each: figures are sums over them.
#[derive(Clone, Debug, PartialEq)]
pub struct KfdFigures {
    /// Memory allocated as device memory.
    pub vram: Reading<Measured<Bytes>>,
    /// Share of time in which a copy engine worked for its queues.
    pub copy: Reading<Measured<Percent>>,
    /// Time its queues were off the device for lack of memory, milliseconds since they were made.
    pub evicted_ms: Reading<Measured<u64>>,
    /// Compute units with work of it at this moment.
    pub occupied_units: Reading<Measured<u32>>,
    /// Whether its memory is what the process is charged, and by which rule.
    pub standing: KfdStanding,
}

/// Whether the compute driver's count is charged, and by which rule.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KfdStanding {
    /// No node of the process can be seen, the device is a card, and no other row can hold the same bytes.
    Charged,
    /// What its nodes say is charged, and holds it.
    InClients,
    /// Its nodes hold it, and nothing of them can be charged.
    ClientsUncharged,
    /// The count itself is missing or cannot be true.
    NoFigure,
    /// Not everybody who may hold the same bytes has been looked at.
    PartialScan,
    /// With it the rows would add up to more than the device has in use.
    ExceedsUsed,
    /// The clients of another row are large enough to hold the same bytes.
    InAnotherRow,
    /// The device is none that is known to have memory of its own, so that the bytes may lie in system memory.
    NotACard,
}

impl KfdStanding {
    /// Whether the count is what the process is charged.
    pub const fn is_charged(self) -> bool {
        matches!(self, Self::Charged)
    }

    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Charged => "charged",
            Self::InClients => "in_clients",
            Self::ClientsUncharged => "clients_uncharged",
            Self::NoFigure => "no_figure",
            Self::PartialScan => "partial_scan",
            Self::ExceedsUsed => "exceeds_used",
            Self::InAnotherRow => "in_another_row",
            Self::NotACard => "not_a_card",
        }
    }

    /// The rule, for a person; the subject is the count.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Charged => {
                "charged: no open node of the process can be seen, and no other row can hold the same bytes"
            }
            Self::InClients => {
                "in no sum: it is part of the VRAM of its open nodes, which is charged"
            }
            Self::ClientsUncharged => {
                "in no sum: it is part of what its open nodes have, of which nothing can be charged"
            }
            Self::NoFigure => "in no sum: the count is missing or cannot be true",
            Self::PartialScan => "in no sum: not every process has been looked at",
            Self::ExceedsUsed => {
                "in no sum: with it the rows would make more than the device has in use"
            }
            Self::InAnotherRow => "in no sum: the same bytes may be in another process's row",
            Self::NotACard => {
                "in no sum: only of a card it is sure that the bytes lie in VRAM, and this is not known to be one"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_charged_count_does_not_say_that_it_is_in_no_sum() {
        use KfdStanding as S;
        for standing in [
            S::Charged,
            S::InClients,
            S::ClientsUncharged,
            S::NoFigure,
            S::PartialScan,
            S::ExceedsUsed,
            S::InAnotherRow,
            S::NotACard,
        ] {
            let is_out = standing.sentence().starts_with("in no sum");
            assert_ne!(is_out, standing.is_charged(), "{standing:?}");
        }
    }
}
