//! The servers behind workers: the process that answers for a runner is often its parent, which need not have any
//! GPU memory and is then not observed otherwise.
//!
//! A parent is looked at only where the worker's own words or the parent's name make a known server of it, and of it
//! only its command line and its ports. It lends nothing but its server's word to the worker.

use std::collections::BTreeMap;

use model::{PidSpace, ProcessKey, Stamp};
use raw::{Inline, Machine, ProcessRef, Reply};

use super::spec::{Spec, Subject};
use crate::parse::{self, stat};
use crate::processes::{Identity, Processes, Watched, arguments, reference};

/// Steps from a worker to its server: a worker of an engine of an API server.
const MAX_STEPS: usize = 3;

/// How often a parent is looked at again: its number may have gone to another.
const LOOK_EVERY_NS: u64 = 5_000_000_000;

/// The same for one of no interest.
const STRANGER_EVERY_NS: u64 = 60_000_000_000;

/// Most parents kept; there are a few servers on a machine.
const MAX_PARENTS: usize = 64;

/// Most that are remembered to be of no interest.
const MAX_STRANGERS: usize = 1_024;

/// One process that is a parent, as far as it was looked at.
struct Parent {
    key: ProcessKey,
    watched: Watched,
    looked_ns: u64,
    seen_ns: u64,
}

/// A parent that is none of the servers that its child may work for.
struct Stranger {
    seen_ns: u64,
    /// Those servers: a child whose command line is known later, or that becomes another program, may work for others.
    instead_of: Vec<&'static str>,
}

/// All of them.
#[derive(Default)]
pub(super) struct Parents {
    by_number: BTreeMap<u32, Parent>,
    /// Pairs of a process and its parent of which nothing is to be expected.
    strangers: BTreeMap<(u32, u32), Stranger>,
}

/// A server that was found behind a worker.
pub(super) struct Found<'a> {
    pub(super) key: ProcessKey,
    pub(super) who: ProcessRef,
    pub(super) spec: &'static Spec,
    pub(super) watched: &'a Watched,
}

/// What one step up led to.
enum Step {
    Server(&'static Spec),
    /// Another worker, whose parent is the next.
    Worker {
        parent: u32,
        start_ticks: u64,
    },
}

impl Parents {
    /// Forgets whom nobody has asked for in this refresh.
    pub(super) fn end(&mut self, now_ns: u64) {
        self.by_number.retain(|_, parent| parent.seen_ns == now_ns);
        self.strangers
            .retain(|_, it| now_ns < it.seen_ns.saturating_add(STRANGER_EVERY_NS));
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.by_number
            .values()
            .any(|parent| parent.watched.is_waiting())
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = ProcessKey> {
        self.by_number.values().map(|parent| parent.key)
    }

    /// The known server that this process works for, which is one of `specs`.
    pub(super) fn of<'a>(
        &'a mut self,
        machine: &mut dyn Machine,
        (who, watched): (ProcessRef, &Watched),
        specs: &[&'static Spec],
        processes: &'a Processes,
        now: Stamp,
    ) -> Option<Found<'a>> {
        // Before its own words are known nothing is known of whom it works for.
        if specs.is_empty() {
            return None;
        }
        let (mut number, mut started) = (watched.identity.parent, who.start_ticks);
        for _ in 0..MAX_STEPS {
            self.look(machine, (who.pid, number), started, specs, now)?;
            let parent = self.by_number.get_mut(&number)?;
            let parent_who = reference(parent.key)?;
            // One that has GPU memory itself is observed anyway.
            let observed = processes.get(parent.key);
            if observed.is_none() {
                parent.watched.ask_command_line(machine, parent_who, now);
            }
            match step(observed.unwrap_or(&parent.watched), parent_who, specs)? {
                Step::Worker {
                    parent,
                    start_ticks,
                } => (number, started) = (parent, start_ticks),
                Step::Server(spec) => {
                    if observed.is_none() {
                        parent.watched.ask_listeners(machine, parent_who, now);
                    }
                    let parent = self.by_number.get(&number)?;
                    return Some(Found {
                        key: parent.key,
                        who: parent_who,
                        spec,
                        watched: observed.unwrap_or(&parent.watched),
                    });
                }
            }
        }
        None
    }

    /// Looks at process `number`, where it may be a server and is older than its child.
    fn look(
        &mut self,
        machine: &mut dyn Machine,
        (child, number): (u32, u32),
        child_started: u64,
        specs: &[&'static Spec],
        now: Stamp,
    ) -> Option<()> {
        let is_stranger = self.strangers.get(&(child, number));
        let is_new = |at: u64, every: u64| now.mono_ns < at.saturating_add(every);
        let kinds = || specs.iter().map(|spec| spec.kind);
        let is_stranger = is_stranger.is_some_and(|it| {
            is_new(it.seen_ns, STRANGER_EVERY_NS) && kinds().eq(it.instead_of.iter().copied())
        });
        if number == 0 || is_stranger {
            return None;
        }
        let may_be = |name: &str| specs.iter().any(|spec| spec.may_be_parent(name));
        let known = self.by_number.get_mut(&number).filter(|parent| {
            is_new(parent.looked_ns, LOOK_EVERY_NS) && may_be(&parent.watched.identity.comm)
        });
        if let Some(parent) = known {
            parent.seen_ns = now.mono_ns;
            return Some(());
        }
        let found = identify(machine, number).filter(|(key, identity)| {
            may_be(&identity.comm) && key.start_ticks.is_some_and(|at| at <= child_started)
        });
        let Some((key, identity)) = found else {
            if self.strangers.len() < MAX_STRANGERS {
                let stranger = Stranger {
                    seen_ns: now.mono_ns,
                    instead_of: kinds().collect(),
                };
                self.strangers.insert((child, number), stranger);
            }
            return None;
        };
        let is_full = self.by_number.len() >= MAX_PARENTS;
        let same = self.by_number.get_mut(&number).filter(|parent| {
            parent.key == key && parent.watched.identity.is_same_program(&identity)
        });
        match same {
            Some(parent) => (parent.looked_ns, parent.seen_ns) = (now.mono_ns, now.mono_ns),
            None if is_full => return None,
            None => {
                let parent = Parent {
                    key,
                    watched: Watched::new(machine, number, identity),
                    looked_ns: now.mono_ns,
                    seen_ns: now.mono_ns,
                };
                self.by_number.insert(number, parent);
            }
        }
        Some(())
    }
}

/// What a parent is to a worker of `specs`; `None` before its command line is known, and where it is nothing.
fn step(watched: &Watched, who: ProcessRef, specs: &[&'static Spec]) -> Option<Step> {
    let words = arguments(watched)?;
    let subject = Subject {
        arguments: &words,
        folder: None,
        has_ai_runtime: true,
        never_sleeps: false,
    };
    let name = &watched.identity.comm;
    let named = || specs.iter().filter(|spec| spec.may_be_parent(name));
    if let Some(spec) = named().find(|spec| (spec.serves)(&subject)) {
        return Some(Step::Server(spec));
    }
    let passes = named().any(|spec| spec.has_levels && (spec.works)(&subject));
    passes.then_some(Step::Worker {
        parent: watched.identity.parent,
        start_ticks: who.start_ticks,
    })
}

fn identify(machine: &mut dyn Machine, number: u32) -> Option<(ProcessKey, Identity)> {
    let answer = machine.inline(&Inline::Stat(number)).ok()?;
    let Reply::Bytes(bytes) = &answer.value else {
        return None;
    };
    let text = parse::text(bytes);
    let parsed = stat::parse(&text)?;
    let key = ProcessKey {
        space: PidSpace::Local,
        pid: number,
        start_ticks: Some(parsed.start_ticks),
    };
    Some((key, Identity::of(&parsed, answer.at)))
}
