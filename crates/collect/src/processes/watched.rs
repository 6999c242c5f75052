//! One process under observation, and the set of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use model::{Gap, ProcessKey, Stamp, Text};
use raw::{Inline, Machine, ProcessRef, Question, Reply, Stamped};

use super::containers::Containers;
use super::poll::Poll;
use crate::parse::{self, cgroup, stat, status};

/// Command lines can be rewritten by their process.
const COMMAND_LINE_EVERY_MS: u64 = 60_000;
/// Maps of a large process cost milliseconds; models are not loaded every second.
const FILES_EVERY_MS: u64 = 15_000;
/// The same while the process's virtual size has not changed since: nothing is mapped without that, and
/// hardly anything read.
const UNCHANGED_FILES_EVERY_MS: u64 = 60_000;
/// Ports change rarely.
const LISTENERS_EVERY_MS: u64 = 60_000;
/// Start times have the resolution of the clock tick, and the boot time is known to about as much.
const START_TOLERANCE_US: i64 = 50_000;
/// The rest of a process's facts does not change, but a failed read may succeed later.
const FACTS_EVERY_MS: u64 = 300_000;

/// The first line of a process's life that is read on each refresh.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) comm: Text,
    pub(crate) parent: u32,
    /// Size of its address space in bytes; `None` where `stat` does not tell.
    pub(crate) virtual_size: Option<u64>,
    /// Where its program lies; `None` where `stat` does not tell.
    image: Option<(u64, u64)>,
    pub(crate) at: Stamp,
}

impl Identity {
    /// What `stat` said at this moment.
    pub(crate) fn of(parsed: &stat::Stat<'_>, at: Stamp) -> Self {
        Self {
            comm: parsed.comm.into(),
            parent: parsed.parent,
            virtual_size: parsed.virtual_size,
            image: parsed.image,
            at,
        }
    }

    /// Whether the process, known by this identity before, executes the same program now.
    pub(crate) fn is_same_program(&self, now: &Self) -> bool {
        *self.comm == *now.comm && self.image == now.image
    }
}

/// A process by number and start time, with its facts as raw answers.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) identity: Identity,
    pub(crate) user_id: Result<(u32, Stamp), Gap>,
    /// The container that its control group names; `None` within where it names none.
    pub(crate) container: Result<(Option<cgroup::Found>, Stamp), Gap>,
    pub(crate) command_line: Poll,
    pub(crate) environment: Poll,
    pub(crate) links: Poll,
    pub(crate) maps: Poll,
    pub(crate) open_files: Poll,
    pub(crate) listeners: Poll,
    /// Its virtual size when its maps were read last.
    mapped_at: Option<u64>,
    /// Changes whenever an answer did that models are derived from.
    pub(crate) generation: u64,
}

/// All processes under observation.
#[derive(Default)]
pub(crate) struct Processes {
    watched: BTreeMap<ProcessKey, Watched>,
    users: BTreeMap<u32, Poll>,
    containers: Containers,
}

impl Processes {
    /// Looks process `pid` up, of whom a source spoke at `named_at`. `Err` says why not.
    pub(crate) fn identify(
        &mut self,
        machine: &mut dyn Machine,
        pid: u32,
        named_at: Stamp,
        started_us: impl Fn(u64) -> Option<i64>,
    ) -> Result<ProcessKey, Gap> {
        let answer = machine.inline(&Inline::Stat(pid))?;
        let Reply::Bytes(bytes) = &answer.value else {
            return Err(Gap::Malformed);
        };
        let text = parse::text(bytes);
        let parsed = stat::parse(&text).ok_or(Gap::Malformed)?;
        // A process younger than the list that names it has inherited the number.
        if started_us(parsed.start_ticks)
            .is_some_and(|us| us > named_at.wall_us + START_TOLERANCE_US)
        {
            return Err(Gap::Exited);
        }
        let key = ProcessKey {
            space: model::PidSpace::Local,
            pid,
            start_ticks: Some(parsed.start_ticks),
        };
        self.watch(
            machine,
            key,
            Identity::of(&parsed, answer.at),
            &Poll::default(),
        );
        Ok(key)
    }

    /// Observes the local process `key`, which has just been looked at. `maps` is what is known of its
    /// maps from before it was observed.
    pub(crate) fn watch(
        &mut self,
        machine: &mut dyn Machine,
        key: ProcessKey,
        identity: Identity,
        maps: &Poll,
    ) {
        let pid = key.pid;
        match self.watched.entry(key) {
            Entry::Occupied(entry) => {
                let watched = entry.into_mut();
                // Another program at the same start time is an exec: everything else is new too.
                let is_new = !watched.identity.is_same_program(&identity);
                watched.identity = identity;
                if is_new {
                    watched.restart();
                }
            }
            Entry::Vacant(entry) => {
                let watched = entry.insert(Watched::new(machine, pid, identity));
                watched.maps.clone_from(maps);
            }
        }
    }

    /// Forgets all but `keys`, which are sorted, and asks for the facts of those.
    pub(crate) fn refresh(&mut self, machine: &mut dyn Machine, keys: &[ProcessKey], now: Stamp) {
        self.watched
            .retain(|key, _| keys.binary_search(key).is_ok());
        for (key, watched) in &mut self.watched {
            watched.refresh(machine, *key, now);
        }
        let ids: Vec<u32> = self
            .watched
            .values()
            .filter_map(|w| w.user_id.as_ref().ok())
            .map(|(id, _)| *id)
            .collect();
        self.users.retain(|id, _| ids.contains(id));
        for id in ids {
            let name = self.users.entry(id).or_default();
            name.ask(machine, || Question::UserName(id), now, FACTS_EVERY_MS);
        }
        let contained = self.watched.values();
        let contained = contained.filter_map(|w| w.container.as_ref().ok()?.0.as_ref());
        self.containers.refresh(machine, contained, now);
    }

    /// The process with this key, to ask about it out of turn.
    pub(crate) fn get_mut(&mut self, key: ProcessKey) -> Option<&mut Watched> {
        self.watched.get_mut(&key)
    }

    /// The process with this key.
    pub(crate) fn get(&self, key: ProcessKey) -> Option<&Watched> {
        self.watched.get(&key)
    }

    /// All that are observed.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&ProcessKey, &Watched)> {
        self.watched.iter()
    }

    /// The name of a user.
    pub(crate) fn user(&self, id: u32) -> Option<&Poll> {
        self.users.get(&id)
    }

    /// What containers are called.
    pub(crate) const fn containers(&self) -> &Containers {
        &self.containers
    }

    /// Whether any answer is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        self.containers.is_waiting()
            || self.users.values().any(Poll::is_waiting)
            || self.watched.values().any(Watched::is_waiting)
    }
}

impl Watched {
    /// Process `pid`, of which nothing has been asked yet but who it is.
    pub(crate) fn new(machine: &mut dyn Machine, pid: u32, identity: Identity) -> Self {
        Self {
            identity,
            user_id: text(machine, &Inline::Status(pid)).and_then(|(text, at)| {
                status::user_id(&text)
                    .map(|id| (id, at))
                    .ok_or(Gap::Malformed)
            }),
            container: text(machine, &Inline::Cgroup(pid))
                .map(|(text, at)| (cgroup::container(&text), at)),
            command_line: Poll::default(),
            environment: Poll::default(),
            links: Poll::default(),
            maps: Poll::default(),
            open_files: Poll::default(),
            listeners: Poll::default(),
            mapped_at: None,
            generation: 0,
        }
    }

    fn restart(&mut self) {
        for poll in self.polls_mut() {
            poll.again();
        }
    }

    fn polls_mut(&mut self) -> [&mut Poll; 6] {
        [
            &mut self.command_line,
            &mut self.environment,
            &mut self.links,
            &mut self.maps,
            &mut self.open_files,
            &mut self.listeners,
        ]
    }

    /// Whether an answer is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        [
            &self.command_line,
            &self.environment,
            &self.links,
            &self.maps,
            &self.open_files,
            &self.listeners,
        ]
        .iter()
        .any(|poll| poll.is_waiting())
    }

    fn refresh(&mut self, machine: &mut dyn Machine, key: ProcessKey, now: Stamp) {
        let Some(who) = reference(key) else { return };
        let files_every_ms = self.files_every_ms();
        let mut changed = self.ask_command_line(machine, who, now);
        changed |= self
            .links
            .ask(machine, || Question::Links(who), now, FACTS_EVERY_MS);
        changed |= self
            .open_files
            .ask(machine, || Question::OpenFiles(who), now, files_every_ms);
        changed |=
            self.environment
                .ask(machine, || Question::Environment(who), now, FACTS_EVERY_MS);
        self.ask_listeners(machine, who, now);
        if changed {
            self.generation += 1;
        }
        self.ask_maps(machine, who, now);
    }

    /// Asks for its command line where it is time to. Whether it is another now.
    pub(crate) fn ask_command_line(
        &mut self,
        machine: &mut dyn Machine,
        who: ProcessRef,
        now: Stamp,
    ) -> bool {
        let question = || Question::CommandLine(who);
        self.command_line
            .ask(machine, question, now, COMMAND_LINE_EVERY_MS)
    }

    /// Asks for its ports where it is time to.
    pub(crate) fn ask_listeners(&mut self, machine: &mut dyn Machine, who: ProcessRef, now: Stamp) {
        let question = || Question::Listeners(who);
        self.listeners
            .ask(machine, question, now, LISTENERS_EVERY_MS);
    }

    fn files_every_ms(&self) -> u64 {
        let size = self.identity.virtual_size;
        if size.is_some() && size == self.mapped_at {
            UNCHANGED_FILES_EVERY_MS
        } else {
            FILES_EVERY_MS
        }
    }

    /// Asks for its maps where it is time to.
    pub(crate) fn ask_maps(
        &mut self,
        machine: &mut dyn Machine,
        who: ProcessRef,
        now: Stamp,
    ) -> &Poll {
        let ask = || Question::Maps(who);
        let every_ms = self.files_every_ms();
        if self.maps.ask(machine, ask, now, every_ms) {
            self.generation += 1;
        }
        if self.maps.was_answered(now) {
            self.mapped_at = self.identity.virtual_size;
        }
        &self.maps
    }
}

/// The process to ask about; `None` for one that cannot be looked up.
pub(crate) fn reference(key: ProcessKey) -> Option<ProcessRef> {
    let start_ticks = key.start_ticks?;
    (key.space == model::PidSpace::Local).then_some(ProcessRef {
        pid: key.pid,
        start_ticks,
    })
}

fn text(machine: &mut dyn Machine, question: &Inline) -> Result<(String, Stamp), Gap> {
    let Stamped { at, value } = machine.inline(question)?;
    match value {
        Reply::Bytes(bytes) => Ok((String::from_utf8_lossy(&bytes).into_owned(), at)),
        _ => Err(Gap::Malformed),
    }
}

#[cfg(test)]
mod tests;
