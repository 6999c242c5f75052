//! What no pin accounts for: two rows in order of creation, and which of them may belong together.

use super::alignment::Alignment;
use super::sample::Local;

/// A listed host number without a pin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct FreeHost {
    pub(super) pid: u32,
    /// When it was first listed.
    pub(super) seen_us: u64,
    /// How many pinned host numbers lie below it.
    pub(super) rank: usize,
}

/// A candidate without a pin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct FreeLocal {
    pub(super) local: Local,
    /// When it was first seen to have the library mapped.
    pub(super) mapped_us: u64,
    /// How many pinned local processes are older.
    pub(super) rank: usize,
}

/// Both rows, hosts by number, locals by start and number.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Unpinned {
    pub(super) hosts: Vec<FreeHost>,
    pub(super) locals: Vec<FreeLocal>,
}

impl FreeHost {
    /// Whether it can be in time: nothing is listed before it has mapped the library.
    pub(super) const fn in_time(&self, local: &FreeLocal) -> bool {
        self.seen_us >= local.mapped_us
    }

    /// Whether it lies between the same pins. Pins are in the same order on both sides for as long
    /// as order is trusted, so that equal places mean the same neighbours.
    pub(super) const fn in_order(&self, local: &FreeLocal) -> bool {
        self.rank == local.rank
    }

    /// Whether it was listed soon enough after the library was mapped.
    pub(super) const fn within(&self, window_us: u64, local: &FreeLocal) -> bool {
        self.in_time(local) && self.seen_us.abs_diff(local.mapped_us) <= window_us
    }
}

impl Unpinned {
    /// The largest matchings of what is possible.
    pub(super) fn alignment(&self) -> Alignment<impl Fn(usize, usize) -> bool> {
        Alignment::new(self.hosts.len(), self.locals.len(), |host, local| {
            matches!(
                (self.hosts.get(host), self.locals.get(local)),
                (Some(host), Some(local)) if host.in_time(local) && host.in_order(local)
            )
        })
    }

    /// The hosts and locals at these places.
    pub(super) fn at(
        &self,
        places: Vec<(usize, usize)>,
    ) -> impl Iterator<Item = (&FreeHost, &FreeLocal)> {
        places
            .into_iter()
            .filter_map(|(host, local)| Some((self.hosts.get(host)?, self.locals.get(local)?)))
    }
}
