//! Inside a nested PID namespace: the local processes that could be behind the driver's numbers, and
//! which of them is taken for which.
//!
//! The pairing itself is [`crate::pairing`]. Here its samples are put together: the driver's lists as
//! far as they were read, every live process with its start time, and which of them have a file named
//! `libcuda.so*` mapped. Maps are read when a process is new and again whenever its virtual size has
//! changed, because a library cannot be mapped without that; once it is seen it stays.

use std::collections::BTreeMap;

use model::{Gap, PidMatch, PidSpace, ProcessKey, Stamp};
use raw::{Inline, Machine, ProcessRef, Question, Reply};

use super::poll::Poll;
use super::watched::{Identity, Processes};
use crate::nvml::DeviceLists;
use crate::pairing::{Candidate, Listed, Local, Outcome, Pairing, Sample};
use crate::parse::{self, maps, stat};

/// A process whose maps cannot be read is taken for a possible owner from this virtual size on: a CUDA
/// context reserves more address space. Not confirmed on hardware.
const CONTEXT_LEAST_BYTES: u64 = 1 << 30;

/// Processes that are looked at; in a container with more, nothing is paired.
const MAX_PROCESSES: usize = 4096;

/// The number of a namespace's first process.
const FIRST_PROCESS: u32 = 1;

/// Maps are asked for when the virtual size has changed, never by age.
const NEVER_MS: u64 = u64::MAX / 1_000_000;

/// The pairing with what it needs to know, over time.
#[derive(Default)]
pub(crate) struct Nested {
    pairing: Pairing,
    /// The newest list of each device that was read; a device that does not answer keeps its last one.
    lists: BTreeMap<u32, Vec<Listed>>,
    lists_missing: bool,
    /// Moment of the newest lists.
    at: Option<Stamp>,
    residents: BTreeMap<Local, Resident>,
    /// Numbers of processes that are there and of which not even the start time can be read.
    hidden: Vec<u32>,
    /// Why the local processes could not be listed.
    unseen: Option<Gap>,
    is_due: bool,
    outcome: Option<Outcome>,
}

/// A live local process.
struct Resident {
    identity: Identity,
    /// The virtual size at which the maps were last asked for.
    maps_of: Option<u64>,
    /// Not used while the process is observed: then its maps are asked for there.
    maps: Poll,
    is_waiting: bool,
    has_library: Option<bool>,
}

impl Nested {
    /// Takes in the driver's newest lists and what has changed among the local processes.
    pub(crate) fn refresh(
        &mut self,
        machine: &mut dyn Machine,
        lists: Option<DeviceLists>,
        processes: &mut Processes,
        now: Stamp,
    ) {
        let Some(DeviceLists { at, devices }) = lists else {
            return;
        };
        if self.at != Some(at) {
            // The next lists are here before every answer about the last ones was: what is not known of
            // them stays unknown.
            if self.is_due {
                self.step();
            }
            self.at = Some(at);
            self.lists
                .retain(|slot, _| devices.iter().any(|(device, _)| device == slot));
            self.lists_missing = devices.iter().any(|(_, list)| list.is_none());
            for (slot, list) in devices {
                if let Some(list) = list {
                    self.lists.insert(slot, list);
                }
            }
            self.look(machine);
            self.is_due = self.unseen.is_none();
        }
        for (local, resident) in &mut self.residents {
            resident.ask(machine, *local, processes, now);
        }
        if self.is_due && !self.is_waiting() {
            self.step();
        }
    }

    /// Whether an answer that the newest lists wait for is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_due && self.residents.values().any(|it| it.is_waiting)
    }

    /// Whether nothing is known yet of whom the driver's numbers are.
    pub(crate) const fn is_undecided(&self) -> bool {
        self.is_due && self.outcome.is_none()
    }

    /// Why nothing can be paired.
    pub(crate) const fn unseen(&self) -> Option<Gap> {
        self.unseen
    }

    /// The live local process that the driver's number `pid` is taken for, now under observation.
    pub(crate) fn owner(
        &self,
        machine: &mut dyn Machine,
        pid: u32,
        processes: &mut Processes,
    ) -> Option<(ProcessKey, PidMatch)> {
        let pairs = &self.outcome.as_ref()?.pairs;
        let pair = pairs.iter().find(|pair| pair.host == pid)?;
        let entry = PidMatch {
            foreign_pid: pid,
            why: pair.why,
        };
        Some((self.watch(machine, pair.local, processes)?, entry))
    }

    /// Live local processes that could hold a context and have no number of the driver's, now under
    /// observation.
    pub(crate) fn unlisted(
        &self,
        machine: &mut dyn Machine,
        processes: &mut Processes,
    ) -> Vec<ProcessKey> {
        let unlisted = self.outcome.iter().flat_map(|outcome| &outcome.local_null);
        unlisted
            .filter_map(|local| self.watch(machine, *local, processes))
            .collect()
    }

    fn watch(
        &self,
        machine: &mut dyn Machine,
        local: Local,
        processes: &mut Processes,
    ) -> Option<ProcessKey> {
        let resident = self.residents.get(&local)?;
        let key = key(local);
        processes.watch(machine, key, resident.identity.clone(), &resident.maps);
        Some(key)
    }

    fn look(&mut self, machine: &mut dyn Machine) {
        let names = match machine.inline(&Inline::Names("/proc".into())) {
            Ok(answer) => match answer.value {
                Reply::Names(names) => names,
                _ => return self.see_nothing(Gap::Malformed),
            },
            Err(gap) => return self.see_nothing(gap),
        };
        let pids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        if pids.len() > MAX_PROCESSES {
            return self.see_nothing(Gap::OverBound);
        }
        self.unseen = None;
        let mut before = std::mem::take(&mut self.residents);
        self.hidden.clear();
        // Every namespace has a first process; where it is not shown (hidepid), others are not either.
        if !pids.contains(&FIRST_PROCESS) {
            self.hidden.push(FIRST_PROCESS);
        }
        for pid in pids {
            let answer = match machine.inline(&Inline::Stat(pid)) {
                Ok(answer) => answer,
                Err(Gap::Exited) => continue,
                Err(_) => {
                    self.hidden.push(pid);
                    continue;
                }
            };
            let Reply::Bytes(bytes) = &answer.value else {
                self.hidden.push(pid);
                continue;
            };
            let text = parse::text(bytes);
            let Some(parsed) = stat::parse(&text) else {
                self.hidden.push(pid);
                continue;
            };
            // It holds nothing any more, whoever forgot to wait for it.
            if parsed.has_ended() {
                continue;
            }
            let local = Local {
                start: parsed.start_ticks,
                pid,
            };
            let identity = Identity::of(&parsed, answer.at);
            let resident = match before.remove(&local) {
                Some(mut resident) => {
                    resident.meet(identity);
                    resident
                }
                None => Resident::new(identity),
            };
            self.residents.insert(local, resident);
        }
    }

    fn see_nothing(&mut self, gap: Gap) {
        self.unseen = Some(gap);
        self.residents.clear();
        self.hidden.clear();
        self.outcome = None;
    }

    fn step(&mut self) {
        self.is_due = false;
        let Some(at) = self.at else { return };
        let locals = self.residents.iter().map(|(local, resident)| Candidate {
            local: *local,
            cuda: resident.may_hold_a_context(),
        });
        let hidden = self.hidden.iter().map(|pid| Candidate {
            local: Local {
                start: 0,
                pid: *pid,
            },
            cuda: None,
        });
        let sample = Sample {
            now_us: at.mono_ns / 1000,
            initial_namespace: false,
            listed: self.lists.values().flatten().copied().collect(),
            lists_missing: self.lists_missing,
            local: locals.chain(hidden).collect(),
        };
        self.outcome = Some(self.pairing.step(&sample));
    }
}

impl Resident {
    fn new(identity: Identity) -> Self {
        Self {
            identity,
            maps_of: None,
            maps: Poll::default(),
            is_waiting: false,
            has_library: None,
        }
    }

    fn meet(&mut self, identity: Identity) {
        // Another program is executed in the process: what was mapped is gone.
        if !self.identity.is_same_program(&identity) {
            self.has_library = None;
            self.maps_of = None;
        }
        self.identity = identity;
    }

    fn ask(
        &mut self,
        machine: &mut dyn Machine,
        local: Local,
        processes: &mut Processes,
        now: Stamp,
    ) {
        if self.has_library == Some(true) {
            return;
        }
        let who = ProcessRef {
            pid: local.pid,
            start_ticks: local.start,
        };
        let has_changed = self.maps_of.is_none() || self.maps_of != self.identity.virtual_size;
        if has_changed {
            self.maps_of = self.identity.virtual_size.or(Some(0));
        }
        let maps = match processes.get_mut(key(local)) {
            Some(watched) => {
                if has_changed {
                    watched.maps.again();
                }
                watched.ask_maps(machine, who, now)
            }
            None => {
                if has_changed {
                    self.maps.again();
                }
                self.maps
                    .ask(machine, || Question::Maps(who), now, NEVER_MS);
                &self.maps
            }
        };
        self.is_waiting = maps.is_waiting();
        self.has_library = match maps.answer() {
            _ if self.is_waiting => None,
            Ok((_, Reply::Bytes(text))) => Some(has_library(&parse::text(text))),
            // What has ended holds nothing.
            Err(Gap::Exited) => Some(false),
            Ok(_) | Err(_) => None,
        };
    }

    /// `None`: that cannot be told.
    fn may_hold_a_context(&self) -> Option<bool> {
        let is_small = || {
            let size = self.identity.virtual_size?;
            (size < CONTEXT_LEAST_BYTES && !self.is_waiting).then_some(false)
        };
        self.has_library.or_else(is_small)
    }
}

const fn key(local: Local) -> ProcessKey {
    ProcessKey {
        space: PidSpace::Local,
        pid: local.pid,
        start_ticks: Some(local.start),
    }
}

fn has_library(text: &str) -> bool {
    maps::parse(text).any(|mapping| {
        let name = mapping.path.rsplit('/').next();
        name.is_some_and(|name| name.starts_with("libcuda.so"))
    })
}
