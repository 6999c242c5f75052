//! The three ways to a sure pair.

use super::sample::Local;
use super::state::{Pairing, Present, WINDOW_US};
use super::unpinned::{FreeHost, FreeLocal, Unpinned};
use model::MatchReason;

/// How many starts a sample can pin while order is doubted. Each has all that is left compared again,
/// a millisecond with 500 on both sides; what is over is pinned in the next samples.
const STARTS_WITHOUT_ORDER: usize = 16;

/// A pair that is kept until one of the two has gone, or is proven wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Pin {
    pub(super) local: Local,
    pub(super) why: MatchReason,
}

impl Pairing {
    /// Pins what has no alternative and was seen to start: in every largest matching the two are
    /// together, the process came after the first sample, and was listed soon afterwards.
    pub(super) fn pin_starts(&mut self, present: &Present) {
        if !self.order_doubted {
            // A match that is in every largest matching still is in every one of the rest, because
            // pins bind the rest to their order: all can be pinned at once.
            for (host, local) in self.starts(&self.unpinned(present)) {
                self.pin(host, local, MatchReason::Start);
            }
            return;
        }
        // Without order a pin does not bind the rest, so that it has to be looked at again.
        for _ in 0..STARTS_WITHOUT_ORDER {
            let starts = self.starts(&self.unpinned(present));
            let Some((host, local)) = starts.first() else {
                break;
            };
            self.pin(*host, *local, MatchReason::Start);
        }
    }

    fn starts(&self, free: &Unpinned) -> Vec<(u32, Local)> {
        let is_start = |host: &FreeHost, local: &FreeLocal| {
            self.came_later(local) && host.within(WINDOW_US, local)
        };
        // Most samples have nothing new, and then nothing needs to be computed.
        let has_start = free
            .locals
            .iter()
            .any(|local| free.hosts.iter().any(|host| is_start(host, local)));
        if !has_start {
            return Vec::new();
        }
        free.at(free.alignment().certain())
            .filter(|(host, local)| is_start(host, local))
            .map(|(host, local)| (host.pid, local.local))
            .collect()
    }

    /// Notices that host numbers have started again from below: one new number, one new process,
    /// and the number is below all known ones while the process is younger than all known ones.
    pub(super) fn pin_wrapped(&mut self, present: &Present) {
        let free = self.unpinned(present);
        let now = present.now_us;
        let mut hosts = free.hosts.iter().filter(|host| host.seen_us == now);
        let mut locals =
            (free.locals.iter()).filter(|local| now.saturating_sub(local.mapped_us) <= WINDOW_US);
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return;
        };
        let (Some(local), None) = (locals.next(), locals.next()) else {
            return;
        };
        let is_wrap = self.came_later(local)
            && host.in_time(local)
            && !host.in_order(local)
            && self.pins.keys().all(|pinned| host.pid < *pinned)
            && self.pins.values().all(|pin| pin.local < local.local);
        if is_wrap {
            self.pin(host.pid, local.local, MatchReason::Start);
            self.order_doubted = true;
        }
    }

    /// Pins everything that is left if both sides are equally many, all of it fits in order, and
    /// nothing was listed late.
    pub(super) fn pin_counts(&mut self, present: &Present) {
        let free = self.unpinned(present);
        let is_equal = free.hosts.len() == free.locals.len();
        let is_ordered = !self.order_doubted || free.hosts.len() == 1;
        if self.count_doubted || !is_equal || !is_ordered {
            return;
        }
        // Of two equally long rows, only place by place matches all and keeps the order.
        let rows = || free.hosts.iter().zip(&free.locals);
        if rows().all(|(host, local)| host.in_order(local) && host.within(WINDOW_US, local)) {
            for (host, local) in rows() {
                self.pin(host.pid, local.local, MatchReason::Count);
            }
        }
    }

    fn pin(&mut self, host: u32, local: Local, why: MatchReason) {
        self.pins.insert(host, Pin { local, why });
    }

    /// Whether a process mapped the library while the program watched.
    fn came_later(&self, local: &FreeLocal) -> bool {
        self.first_us.is_some_and(|first| local.mapped_us > first)
    }
}
