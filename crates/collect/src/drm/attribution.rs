//! Whose is the memory: what of a device may be charged to which process.
//!
//! A *client* is one opening of a device's node; copies of its descriptor are the same client. A process is charged
//! only if every one of its clients on the device passes every rule: a part of a process's memory is no figure for
//! the process. What cannot be charged stays in the device's remainder.

use std::collections::{BTreeMap, BTreeSet};

use model::Gap;

use super::engines::{Baselines, Loads, Newcomer};
use super::fdinfo::Fdinfo;
use super::memory::Place;
use super::sizes::{self, Limits, RegionSums};

/// Through which node a device was opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Node {
    /// `/dev/dri/cardN`, with display control: buffers of others are shown through it.
    Primary,
    /// `/dev/dri/renderDN`.
    Render,
}

/// One descriptor of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// The device, by a number that the caller chose.
    pub slot: u32,
    /// Its node.
    pub node: Node,
    /// Whether the node has been taken away since.
    pub is_deleted: bool,
    /// When the text was read, monotonic nanoseconds.
    pub at_ns: u64,
    /// Its text, or why there is none.
    pub text: Result<Fdinfo, Gap>,
}

/// A process with at least one descriptor of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    /// Number.
    pub pid: u32,
    /// Start time, ticks since boot; `None` where it cannot be told.
    pub start_ticks: Option<u64>,
    /// Whether it has `/dev/kfd` open.
    pub has_kfd: bool,
    /// Its parent; `None` where that cannot be told.
    pub parent: Option<u32>,
    /// Whether it was forked and has executed no program since (`PF_FORKNOEXEC` of its flags).
    pub has_only_forked: bool,
    /// Whether it opens display nodes for others and keeps a copy, as session managers do.
    pub keeps_sessions: bool,
    /// Its descriptors.
    pub descriptors: Vec<Descriptor>,
}

/// What was seen at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Start of the newest complete search for holders, monotonic nanoseconds.
    pub searched_ns: u64,
    /// Whether the search was complete and is recent enough to count.
    pub is_complete: bool,
    /// Everybody who was found.
    pub holders: Vec<Holder>,
    /// Processes that live and whose descriptors could not be listed.
    pub unreadable: Vec<u32>,
}

/// What is to be known of a device.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct DeviceFacts {
    /// Whether work on it can be submitted through `/dev/kfd`, where it is not timed.
    pub has_user_queues: bool,
    /// Its memory.
    pub limits: Limits,
}

/// One process on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Number.
    pub pid: u32,
    /// Start time; `None` where it cannot be told.
    pub start_ticks: Option<u64>,
    /// The device.
    pub slot: u32,
    /// Device memory that is certainly the process's, bytes.
    pub vram: Result<u64, Gap>,
    /// System memory that the device can reach and that is certainly the process's, bytes.
    pub system: Result<u64, Gap>,
    /// Why memory is not charged, the first reason first.
    pub reasons: Vec<Gap>,
    /// Device memory its clients have, shared or not, bytes. For reference: never to be added up.
    pub vram_resident: Result<u64, Gap>,
    /// The same of system memory.
    pub system_resident: Result<u64, Gap>,
    /// The most device memory that its clients can have, wherever it lies at the moment, bytes.
    pub vram_wanted: Option<u64>,
    /// Bounds of what is its own where nothing can be charged, bytes.
    pub vram_bounds: Option<Bounds>,
    /// Bytes that the driver would rather have in device memory and that are not there.
    pub displaced: Option<u64>,
    /// Memory by region. For reference, as above.
    pub regions: BTreeMap<String, RegionSums>,
    /// What its clients have of device memory and how much of that there is, bytes, where the first is more.
    pub vram_beyond: Option<(u64, u64)>,
    /// The same of system memory.
    pub system_beyond: Option<(u64, u64)>,
    /// Load by engine class as the driver names it, percent, 0 to 100.
    pub loads: Result<Loads, Gap>,
    /// Clients.
    pub clients: u32,
    /// Numbers of the other processes that hold one of its clients, in order.
    pub shared_with: Vec<u32>,
    /// Driver, as the texts name it.
    pub driver: Option<String>,
    /// When the newest text was read, monotonic nanoseconds.
    pub at_ns: u64,
}

/// The least and the most it can be, bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bounds {
    /// What is not shared at all.
    pub low: u64,
    /// Everything that is there.
    pub high: u64,
}

/// Every reason in order of precedence.
const PRECEDENCE: [Gap; 12] = [
    Gap::PartialScan,
    Gap::Asleep,
    Gap::TimedOut,
    Gap::Incomplete,
    Gap::SharedClient,
    Gap::DeviceGone,
    Gap::NoStats,
    Gap::PrimaryNode,
    Gap::Legacy,
    Gap::UnreadableValue,
    Gap::Implausible,
    Gap::SharedBuffers,
];

/// Reasons that are of one size, and leave the other one as it is.
const OF_ONE_SIZE: [Gap; 2] = [Gap::UnreadableValue, Gap::Implausible];

/// Reasons that leave nothing to say about engines either.
const WITHOUT_LOAD: [Gap; 7] = [
    Gap::PartialScan,
    Gap::Asleep,
    Gap::TimedOut,
    Gap::Incomplete,
    Gap::SharedClient,
    Gap::DeviceGone,
    Gap::NoStats,
];

/// A client by device and number.
pub(super) type ClientId = (u32, u64);

/// A process by number and start time.
pub(super) type ProcessId = (u32, Option<u64>);

/// Attribution over time: what is kept is the counters from which loads are computed.
#[derive(Debug, Default)]
pub struct Attribution {
    baselines: Baselines,
    before: Option<Before>,
}

/// What was seen the time before.
#[derive(Debug)]
struct Before {
    searched_ns: u64,
    is_complete: bool,
    clients: BTreeSet<ClientId>,
    holders: BTreeSet<ProcessId>,
    /// Processes of which a part could not be read.
    incomplete: BTreeSet<ProcessId>,
    unreadable: BTreeSet<u32>,
}

impl Attribution {
    /// Takes in what was seen, and says whose it is. `facts`: what is known of a device.
    pub fn take(&mut self, sample: &Sample, facts: impl Fn(u32) -> DeviceFacts) -> Vec<Row> {
        let mut parts = parts(sample);
        for (heir, of_parent) in self.heirs(sample) {
            parts
                .retain(|(holder, slot), part| *holder != heir || !part.is_copy(&of_parent, *slot));
        }
        let mut owners: BTreeMap<ClientId, BTreeSet<ProcessId>> = BTreeMap::new();
        for ((process, _), part) in &parts {
            for client in part.clients.keys() {
                owners.entry(*client).or_default().insert(*process);
            }
        }
        let keepers: BTreeSet<ProcessId> = sample
            .holders
            .iter()
            .filter(|holder| holder.keeps_sessions)
            .map(|holder| (holder.pid, holder.start_ticks))
            .collect();
        // The copy of a display node's client that a session manager keeps does no work: the load is the other
        // holder's. Memory is not charged through that node anyway.
        let others = |process: &ProcessId, part: &Part<'_>| -> BTreeSet<u32> {
            let is_copy = |it: &&ProcessId| {
                part.reasons.contains(&Gap::PrimaryNode)
                    && !keepers.contains(process)
                    && keepers.contains(*it)
            };
            let owners = part.clients.keys().filter_map(|client| owners.get(client));
            let owners = owners.flatten();
            let others = owners.filter(|it| *it != process && !is_copy(it));
            others.map(|(pid, _)| *pid).collect()
        };
        if !sample.is_complete {
            self.baselines.forget();
        }
        let mut rows = Vec::new();
        let mut incomplete = BTreeSet::new();
        for ((process, slot), part) in &parts {
            let facts = facts(*slot);
            let mut reasons = part.reasons.clone();
            if part.is_beyond(facts.limits) {
                reasons.insert(Gap::Implausible);
            }
            if !sample.is_complete {
                reasons.insert(Gap::PartialScan);
            }
            let shared_with = others(process, part);
            if !shared_with.is_empty() {
                reasons.insert(Gap::SharedClient);
            }
            let reasons: Vec<Gap> = PRECEDENCE
                .into_iter()
                .filter(|reason| reasons.contains(reason))
                .collect();
            if reasons
                .iter()
                .any(|r| [Gap::Incomplete, Gap::Asleep, Gap::TimedOut].contains(r))
            {
                incomplete.insert(*process);
            }
            let loads = self.loads(sample, *process, part);
            let without = reasons.iter().find(|reason| WITHOUT_LOAD.contains(reason));
            let loads = match without {
                _ if part.has_kfd && facts.has_user_queues => Err(Gap::Kfd),
                Some(reason) => Err(*reason),
                None if part.clients.is_empty() => {
                    Err(reasons.first().copied().unwrap_or(Gap::NoStats))
                }
                None => loads,
            };
            let mut row = part.row(*process, *slot, facts.limits, reasons, loads);
            row.shared_with.extend(shared_with);
            rows.push(row);
        }
        if sample.is_complete {
            self.baselines.end();
        }
        self.before = Some(Before {
            searched_ns: sample.searched_ns,
            is_complete: sample.is_complete,
            clients: owners.into_keys().collect(),
            holders: sample.holders.iter().map(Holder::process).collect(),
            incomplete,
            unreadable: sample.unreadable.iter().copied().collect(),
        });
        rows
    }

    /// Loads of all clients of a process on a device together, and their counters for the next time.
    fn loads(
        &mut self,
        sample: &Sample,
        process: ProcessId,
        part: &Part<'_>,
    ) -> Result<Loads, Gap> {
        let unread = part.reasons.contains(&Gap::Incomplete);
        if !sample.is_complete || unread {
            return Err(Gap::NoBaseline);
        }
        let mut sum = Ok(Loads::new());
        for (id, (text, at_ns)) in &part.clients {
            let newcomer = self.newcomer(process, *id);
            let loads = self.baselines.take((process, *id), text, *at_ns, newcomer);
            sum = match (sum, loads) {
                (Ok(sum), Ok(loads)) => Ok(super::engines::add(sum, loads)),
                (Err(Gap::NoBaseline), _) | (_, Err(Gap::NoBaseline)) => Err(Gap::NoBaseline),
                (Err(gap), _) | (_, Err(gap)) => Err(gap),
            };
        }
        sum
    }

    /// Processes that hold nothing but what a fork has left them with, and their parents' clients: forked since the
    /// search before, by a process that holds the same, and not yet another program. They are about to execute one, which
    /// closes what they hold, or to end. Whoever is still there the next time is a holder like any other.
    fn heirs(&self, sample: &Sample) -> Vec<(ProcessId, BTreeSet<ClientId>)> {
        let Some(before) = self.before.as_ref().filter(|it| it.is_complete) else {
            return Vec::new();
        };
        let is_new = |holder: &Holder| {
            !before.holders.contains(&holder.process()) && !before.unreadable.contains(&holder.pid)
        };
        let forked = sample.holders.iter();
        let forked = forked.filter(|holder| holder.has_only_forked && is_new(holder));
        let heir = |holder: &Holder| {
            let mut holders = sample.holders.iter();
            let parent = holders.find(|it| Some(it.pid) == holder.parent)?;
            // A chain of forks has nobody in it who is sure to own anything.
            (!parent.has_only_forked).then(|| (holder.process(), parent.clients()))
        };
        forked.filter_map(heir).collect()
    }

    /// What is known of a client without counters from the time before.
    fn newcomer(&self, process: ProcessId, client: ClientId) -> Newcomer {
        match &self.before {
            None => Newcomer::FirstSample,
            Some(before)
                if !before.is_complete
                    || before.incomplete.contains(&process)
                    || before.unreadable.contains(&process.0) =>
            {
                Newcomer::NoBaseline
            }
            // It has come from another process, with its history.
            Some(before) if before.clients.contains(&client) => Newcomer::FirstSample,
            Some(before) => Newcomer::OpenedSince(before.searched_ns),
        }
    }
}

impl Holder {
    fn process(&self) -> ProcessId {
        (self.pid, self.start_ticks)
    }

    fn clients(&self) -> BTreeSet<ClientId> {
        let of_text = |it: &Descriptor| Some((it.slot, it.text.as_ref().ok()?.client?.ok()?));
        self.descriptors.iter().filter_map(of_text).collect()
    }
}

/// What one process has of one device.
#[derive(Default)]
struct Part<'a> {
    /// Its clients with their texts and the moments of these.
    clients: BTreeMap<ClientId, (&'a Fdinfo, u64)>,
    /// Texts that name no client.
    nameless: Vec<&'a Fdinfo>,
    reasons: BTreeSet<Gap>,
    has_kfd: bool,
    driver: Option<&'a str>,
    at_ns: u64,
}

fn parts(sample: &Sample) -> BTreeMap<(ProcessId, u32), Part<'_>> {
    let mut parts: BTreeMap<(ProcessId, u32), Part<'_>> = BTreeMap::new();
    for holder in &sample.holders {
        let process = (holder.pid, holder.start_ticks);
        for descriptor in &holder.descriptors {
            let part = parts.entry((process, descriptor.slot)).or_default();
            part.has_kfd = holder.has_kfd;
            part.add(descriptor);
        }
    }
    for part in parts.values_mut() {
        let texts: Vec<&Fdinfo> = part.texts().collect();
        part.reasons
            .extend(texts.into_iter().flat_map(sizes::doubts));
    }
    parts
}

impl<'a> Part<'a> {
    fn add(&mut self, descriptor: &'a Descriptor) {
        self.at_ns = self.at_ns.max(descriptor.at_ns);
        if descriptor.node == Node::Primary {
            self.reasons.insert(Gap::PrimaryNode);
        }
        let text = match &descriptor.text {
            Ok(text) => text,
            Err(gap @ (Gap::Asleep | Gap::TimedOut)) => {
                self.reasons.insert(*gap);
                return;
            }
            Err(_) => {
                self.reasons.insert(Gap::Incomplete);
                return;
            }
        };
        if text.is_cut {
            self.reasons.insert(Gap::Incomplete);
        }
        self.driver = self.driver.or(text.driver.as_deref());
        match text.client {
            Some(Ok(id)) if text.driver.is_some() => {
                self.clients
                    .entry((descriptor.slot, id))
                    .or_insert((text, descriptor.at_ns));
            }
            _ if text.is_old_dialect && text.driver.is_none() => {
                self.reasons.insert(Gap::Legacy);
                self.nameless.push(text);
            }
            _ if text.has_stats() => {
                self.reasons.insert(Gap::Incomplete);
                self.nameless.push(text);
            }
            _ if text.is_cut => {}
            _ if descriptor.is_deleted => {
                self.reasons.insert(Gap::DeviceGone);
            }
            _ => {
                self.reasons.insert(Gap::NoStats);
            }
        }
    }

    /// Whether all of it are these clients, every text of them read.
    fn is_copy(&self, clients: &BTreeSet<ClientId>, slot: u32) -> bool {
        let mut own = self.clients.keys();
        self.nameless.is_empty()
            && !self.reasons.contains(&Gap::Incomplete)
            && !self.clients.is_empty()
            && own.all(|client| client.0 == slot && clients.contains(client))
    }

    /// Whether its clients together have more than there is.
    fn is_beyond(&self, limits: Limits) -> bool {
        let texts: Vec<&Fdinfo> = self.texts().collect();
        let own = |place| sizes::within(&texts, place, limits);
        [Place::Device, Place::System]
            .into_iter()
            .any(|place| own(place) == Err(Gap::Implausible))
    }

    fn texts(&self) -> impl Iterator<Item = &'a Fdinfo> {
        let clients = self.clients.values().map(|(text, _)| *text);
        clients.chain(self.nameless.iter().copied())
    }

    fn row(
        &self,
        (pid, start_ticks): ProcessId,
        slot: u32,
        limits: Limits,
        reasons: Vec<Gap>,
        loads: Result<Loads, Gap>,
    ) -> Row {
        let texts: Vec<&Fdinfo> = self.texts().collect();
        let own = |place| sizes::within(&texts, place, limits);
        let resident = |place| {
            own(place).map_err(|gap| match reasons.first() {
                Some(first) if !OF_ONE_SIZE.contains(&gap) => *first,
                _ => gap,
            })
        };
        // A size that cannot be read or be true leaves the other one as it is; a flaw in what is shared does not, and
        // whatever speaks against the client speaks against all its sizes.
        let is_of_one_size = reasons.iter().all(|reason| OF_ONE_SIZE.contains(reason))
            && !sizes::has_flawed_share(&texts);
        let charged = |place| match *reasons {
            [first, ..] if !is_of_one_size => Err(first),
            _ => own(place),
        };
        let single = !reasons.contains(&Gap::SharedClient);
        let bounded = !reasons.is_empty()
            && reasons
                .iter()
                .all(|r| [Gap::PrimaryNode, Gap::SharedBuffers].contains(r));
        Row {
            pid,
            start_ticks,
            slot,
            vram: charged(Place::Device),
            system: charged(Place::System),
            vram_resident: resident(Place::Device),
            system_resident: resident(Place::System),
            vram_wanted: sizes::wanted(&texts),
            vram_bounds: bounded.then(|| sizes::vram_bounds(&texts)).flatten(),
            regions: sizes::by_region(&texts),
            vram_beyond: sizes::beyond(&texts, Place::Device, limits),
            system_beyond: sizes::beyond(&texts, Place::System, limits),
            displaced: single.then(|| sizes::displaced(&texts)).flatten(),
            loads,
            clients: u32::try_from(self.clients.len()).unwrap_or(u32::MAX),
            shared_with: Vec::new(),
            driver: self.driver.map(str::to_owned),
            at_ns: self.at_ns,
            reasons,
        }
    }
}
