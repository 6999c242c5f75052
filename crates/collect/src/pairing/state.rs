//! What is kept between samples, and the order in which a sample is worked through.

use std::collections::{BTreeMap, BTreeSet};

use super::outcome::{Mode, Outcome, Pair};
use super::pins::Pin;
use super::sample::{Local, Sample};
use super::unpinned::{FreeHost, FreeLocal, Unpinned};
use model::MatchReason;

/// How long after mapping the library a process may be listed for the two to have appeared
/// together. Making a context takes up to some seconds on a cold device; the longer the wait, the
/// more likely the number is that of a stranger.
pub const WINDOW_US: u64 = 5_000_000;

/// For how many samples a number may be listed after its process has gone. The driver cleans up
/// after an exit and lists are read before `/proc`, so one or two say nothing; more mean that the
/// number never was that process's.
pub const ORPHAN_GRACE: u32 = 2;

/// The pairing of one container over time.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Pairing {
    /// The first sample. What was there already was not seen to start.
    pub(super) first_us: Option<u64>,
    /// The newest sample.
    pub(super) last_us: Option<u64>,
    /// When a host number was first listed; kept while it is listed or pinned.
    pub(super) seen: BTreeMap<u32, u64>,
    /// When a live local process was first seen to have the library mapped.
    pub(super) mapped: BTreeMap<Local, u64>,
    pub(super) pins: BTreeMap<u32, Pin>,
    /// Pinned numbers that are listed though their process has gone, and for how many lists.
    pub(super) orphans: BTreeMap<u32, u32>,
    /// Numbers proven to be of processes outside the container; for good, as one that is listed
    /// again is rather the same process than another with its number.
    pub(super) foreign: BTreeSet<u32>,
    /// A pair was proven wrong, so an equal count is no proof here.
    pub(super) count_doubted: bool,
    /// Numbers have wrapped, so their order is no proof here.
    pub(super) order_doubted: bool,
}

/// A sample with repetitions merged, in order.
pub(super) struct Present {
    pub(super) now_us: u64,
    lists_missing: bool,
    /// In a compute list.
    compute: BTreeSet<u32>,
    /// In another list; may be in a compute list too.
    drawing: BTreeSet<u32>,
    live: BTreeMap<Local, Option<bool>>,
}

impl Present {
    fn of(sample: &Sample) -> Self {
        let numbers = |compute: bool| {
            let listed = sample.listed.iter().filter(move |l| l.compute == compute);
            listed.map(|listed| listed.pid).collect()
        };
        Self {
            now_us: sample.now_us,
            lists_missing: sample.lists_missing,
            compute: numbers(true),
            drawing: numbers(false),
            live: sample.local.iter().map(|l| (l.local, l.cuda)).collect(),
        }
    }

    fn is_unreadable(&self) -> bool {
        self.live.values().any(Option::is_none)
    }
}

impl Pairing {
    /// Takes a sample in and says what follows. Call it for each list that the driver gave, with the
    /// processes of all devices, and again with the same moment if there are newer local facts only.
    /// Do not call it for a list that could not be read: it would look as if everything had ended.
    pub fn step(&mut self, sample: &Sample) -> Outcome {
        if sample.initial_namespace {
            return Outcome::identity();
        }
        let present = Present::of(sample);
        self.observe(&present);
        self.settle_exits(&present);
        if !present.is_unreadable() && !present.lists_missing {
            self.pin_starts(&present);
            self.pin_wrapped(&present);
            self.pin_counts(&present);
        }
        self.outcome(&present)
    }

    /// Whether equal counts still make a pair sure; false for good after a pair was proven wrong.
    pub const fn trusts_counts(&self) -> bool {
        !self.count_doubted
    }

    /// Whether numbers are still taken to be in order of creation; false for good after a wrap.
    pub const fn trusts_order(&self) -> bool {
        !self.order_doubted
    }

    fn observe(&mut self, present: &Present) {
        let now = present.now_us;
        self.first_us.get_or_insert(now);
        for host in &present.compute {
            self.seen.entry(*host).or_insert(now);
        }
        self.mapped
            .retain(|local, _| present.live.contains_key(local));
        for (local, cuda) in &present.live {
            if *cuda == Some(true) {
                self.mapped.entry(*local).or_insert(now);
            }
        }
    }

    /// What becomes of pins whose process has gone.
    fn settle_exits(&mut self, present: &Present) {
        let is_new_list = self.last_us != Some(present.now_us);
        self.last_us = Some(present.now_us);
        self.pins.retain(|host, pin| {
            present.live.contains_key(&pin.local) || present.compute.contains(host)
        });
        let mut orphans = BTreeMap::new();
        for (host, pin) in &self.pins {
            if !present.live.contains_key(&pin.local) {
                // tidy: a count of lists, not a reading
                let before = self.orphans.get(host).copied().unwrap_or(0);
                orphans.insert(*host, before + u32::from(is_new_list));
            }
        }
        let disproven: Vec<u32> = orphans
            .extract_if(.., |_, lists| *lists > ORPHAN_GRACE)
            .map(|(host, _)| host)
            .collect();
        if !disproven.is_empty() {
            self.count_doubted = true;
            self.pins
                .retain(|host, pin| pin.why != MatchReason::Count && !disproven.contains(host));
            self.foreign.extend(disproven);
        }
        orphans.retain(|host, _| self.pins.contains_key(host));
        self.orphans = orphans;
        self.seen
            .retain(|host, _| present.compute.contains(host) || self.pins.contains_key(host));
    }

    /// What no pin accounts for, as far as it can be paired.
    pub(super) fn unpinned(&self, present: &Present) -> Unpinned {
        let pinned_hosts: Vec<u32> = self.pins.keys().copied().collect();
        let mut pinned_locals: Vec<Local> = self.pins.values().map(|pin| pin.local).collect();
        pinned_locals.sort_unstable();
        let trusted = !self.order_doubted;
        let is_free = |host: &&u32| !self.pins.contains_key(host) && !self.foreign.contains(host);
        let hosts = present.compute.iter().filter(is_free).filter_map(|host| {
            Some(FreeHost {
                pid: *host,
                seen_us: *self.seen.get(host)?,
                rank: usize::from(trusted) * pinned_hosts.partition_point(|pinned| pinned < host),
            })
        });
        let locals = self.candidates(present).filter_map(|(local, mapped_us)| {
            let older = pinned_locals.partition_point(|pinned| *pinned < local);
            let is_pinned = pinned_locals.get(older) == Some(&local);
            (!is_pinned).then_some(FreeLocal {
                local,
                mapped_us,
                rank: usize::from(trusted) * older,
            })
        });
        Unpinned {
            hosts: hosts.collect(),
            locals: locals.collect(),
        }
    }

    /// Live processes that have the library mapped, or had when it last could be read.
    fn candidates(&self, present: &Present) -> impl Iterator<Item = (Local, u64)> {
        let mapped = self.mapped.iter().map(|(local, at)| (*local, *at));
        mapped.filter(|(local, _)| present.live.get(local) != Some(&Some(false)))
    }

    fn outcome(&self, present: &Present) -> Outcome {
        let shown = self.pins.iter().filter(|(host, pin)| {
            present.compute.contains(host) && present.live.contains_key(&pin.local)
        });
        let mut pairs: Vec<Pair> = shown
            .map(|(host, pin)| Pair {
                host: *host,
                local: pin.local,
                why: pin.why,
            })
            .collect();
        pairs.extend(self.guesses(present));
        pairs.sort_unstable();
        let hosts: BTreeSet<u32> = pairs.iter().map(|pair| pair.host).collect();
        let locals: BTreeSet<Local> = pairs.iter().map(|pair| pair.local).collect();
        let listed = present.compute.union(&present.drawing);
        let candidates = self.candidates(present).map(|(local, _)| local);
        Outcome {
            mode: Mode::Paired,
            host_rows: listed.filter(|h| !hosts.contains(h)).copied().collect(),
            local_null: candidates.filter(|l| !locals.contains(l)).collect(),
            pairs,
        }
    }

    /// Pairs of what is left, by order alone. They are not kept: nothing may rest on them.
    fn guesses(&self, present: &Present) -> Vec<Pair> {
        let free = self.unpinned(present);
        if free.hosts.is_empty() || free.locals.is_empty() {
            return Vec::new();
        }
        let why = match free.hosts.len().cmp(&free.locals.len()) {
            _ if present.lists_missing => MatchReason::ListMissing,
            _ if present.is_unreadable() => MatchReason::Unreadable,
            _ if self.count_doubted => MatchReason::Distrust,
            _ if self.order_doubted => MatchReason::OrderUntrusted,
            std::cmp::Ordering::Greater => MatchReason::MoreHost,
            std::cmp::Ordering::Less => MatchReason::MoreLocal,
            std::cmp::Ordering::Equal => MatchReason::Late,
        };
        let matches = free.at(free.alignment().newest());
        matches
            .map(|(host, local)| Pair {
                host: host.pid,
                local: local.local,
                why,
            })
            .collect()
    }
}
