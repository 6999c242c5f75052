//! A machine of a few processes whose servers answer from a table, with a clock that only the test moves. Everything
//! asked of a server is noted with its moment.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use model::{Gap, Stamp};
use raw::capture::{RedactingMachine, Redaction};
use raw::logs::LogExcerpt;
use raw::{
    Endpoint, FileMeta, HttpReply, Inline, Listener, OpenFile, Question, Reply, Script, Synthetic,
};
use serde_json::Value;

use crate::models::Around;
use crate::models::claims::{Asked, Findings, Models};
use crate::processes::{Processes, reference};

const SECOND_NS: u64 = 1_000_000_000;

/// One process.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) parent: u32,
    pub(super) arguments: String,
    pub(super) mapped: Vec<&'static str>,
    pub(super) ports: Vec<u16>,
    /// What it has written to its standard output, a file.
    pub(super) log: Option<&'static str>,
    pub(super) environment: Result<&'static str, Gap>,
    /// Another process listens on its ports too.
    pub(super) shares_ports: bool,
    /// Why its ports cannot be read.
    pub(super) hidden_ports: Option<Gap>,
}

impl Task {
    pub(super) fn new(name: &'static str, line: &str) -> Self {
        Self {
            name,
            parent: 1,
            arguments: line.replace('|', "\0") + "\0",
            mapped: Vec::new(),
            ports: Vec::new(),
            log: None,
            environment: Ok(""),
            shares_ports: false,
            hidden_ports: None,
        }
    }

    pub(super) fn writing(mut self, log: &'static str) -> Self {
        self.log = Some(log);
        self
    }

    pub(super) fn at(mut self, port: u16) -> Self {
        self.ports.push(port);
        self
    }

    pub(super) fn child_of(mut self, parent: u32) -> Self {
        self.parent = parent;
        self
    }

    pub(super) fn mapping(mut self, path: &'static str) -> Self {
        self.mapped.push(path);
        self
    }
}

/// What a server answers.
pub(super) type Answers = BTreeMap<(u32, Endpoint), Result<(u16, Value), Gap>>;

pub(super) struct Simulated {
    pub(super) now: Stamp,
    pub(super) tasks: BTreeMap<u32, Task>,
    pub(super) answers: Answers,
    /// Files by their inode; their content cannot be read.
    pub(super) files: BTreeMap<&'static str, u64>,
    /// Second, process and endpoint of each GET.
    pub(super) asked: Vec<(u64, u32, Endpoint)>,
    /// Answers come in the refresh after the one in which they were asked for.
    pub(super) is_late: bool,
    outstanding: BTreeSet<String>,
    processes: Processes,
    models: Models,
    pub(super) measured: Option<model::Bytes>,
}

/// What of the machine the collector sees: apart from it, so that both can be borrowed.
struct Side<'a> {
    now: &'a Cell<Stamp>,
    tasks: &'a BTreeMap<u32, Task>,
    answers: &'a Answers,
    files: &'a BTreeMap<&'static str, u64>,
    asked: &'a mut Vec<(u64, u32, Endpoint)>,
    is_late: bool,
    /// Questions that wait for the next refresh.
    outstanding: &'a mut BTreeSet<String>,
}

impl Script for Side<'_> {
    fn now(&self) -> Stamp {
        self.now.get()
    }
    fn inline(&mut self, question: &Inline) -> Result<Reply, Gap> {
        let value = match question {
            Inline::Stat(pid) => {
                let task = self.tasks.get(pid).ok_or(Gap::Exited)?;
                let zeros = "0 ".repeat(13);
                let (name, parent) = (task.name, task.parent);
                // Children are younger.
                let start = 1000 + pid;
                Reply::text(&format!(
                    "{pid} ({name}) S {parent} {pid} {pid} 0 -1 {zeros}{start} 5000 1 0\n"
                ))
            }
            Inline::Status(_) => Reply::text("Uid:\t1000\t1000\t1000\t1000\n"),
            _ => return Err(Gap::NotPresent),
        };
        Ok(value)
    }
    fn post(&mut self, question: &Question) -> Result<Reply, Gap> {
        let task = question.who().and_then(|who| self.tasks.get(&who.pid));
        let task = task.ok_or(Gap::NotPresent)?;
        if self.is_late && !self.outstanding.remove(&format!("{question:?}")) {
            self.outstanding.insert(format!("{question:?}"));
            return Err(Gap::Pending);
        }
        let value = match question {
            Question::CommandLine(_) => Reply::text(&task.arguments),
            Question::Environment(_) => Reply::text(task.environment?),
            Question::Stat { path, .. } => Reply::Meta(FileMeta {
                dev: Some(1),
                ino: Some(*self.files.get(&**path).ok_or(Gap::NotPresent)?),
                size: 1_000,
                mtime_ns: Some(0),
            }),
            Question::Links(_) => Reply::Links(vec![("cwd".into(), "/".into())]),
            Question::OpenFiles(_) => {
                let of_log = |_| OpenFile {
                    fd: "1".into(),
                    path: "/srv/out.txt".into(),
                    writes: Some(true),
                    file: Some((1, 99)),
                };
                Reply::Open(task.log.map(of_log).into_iter().collect())
            }
            Question::Log { path, .. } if &**path == "/srv/out.txt" => Reply::Log(LogExcerpt {
                lines: raw::logs::kept(task.log.unwrap_or_default().as_bytes()),
                file: Some(FileMeta {
                    dev: Some(1),
                    ino: Some(99),
                    size: 1,
                    mtime_ns: Some(0),
                }),
                // Made since the process started.
                born_us: Some(1),
                ..LogExcerpt::default()
            }),
            Question::Maps(_) => {
                let line = |path: &&str| format!("1000-2000 r--s 00000000 08:01 7 {path}\n");
                Reply::text(&task.mapped.iter().map(line).collect::<String>())
            }
            Question::Listeners(_) if task.hidden_ports.is_some() => {
                return Err(task.hidden_ports.unwrap_or(Gap::Permission));
            }
            Question::Listeners(_) => Reply::Listeners(
                task.ports
                    .iter()
                    .map(|port| Listener {
                        port: *port,
                        loopback: true,
                        v6: false,
                        any: false,
                        foreign: false,
                        shared: task.shares_ports,
                    })
                    .collect(),
            ),
            Question::Http { who, endpoint, .. } => {
                let second = self.now.get().mono_ns / SECOND_NS;
                self.asked.push((second, who.pid, *endpoint));
                let answer = self.answers.get(&(who.pid, *endpoint));
                let (status, body) = answer.cloned().unwrap_or(Ok((404, Value::Null)))?;
                Reply::Http(HttpReply {
                    status,
                    fields: super::flattened(&body),
                })
            }
            _ => return Err(Gap::NotPresent),
        };
        Ok(value)
    }
}

impl Simulated {
    pub(super) fn new(tasks: impl IntoIterator<Item = (u32, Task)>) -> Self {
        Self {
            now: Stamp {
                mono_ns: SECOND_NS,
                wall_us: 0,
            },
            tasks: tasks.into_iter().collect(),
            answers: BTreeMap::new(),
            files: BTreeMap::new(),
            asked: Vec::new(),
            is_late: false,
            outstanding: BTreeSet::new(),
            processes: Processes::default(),
            models: Models::default(),
            measured: None,
        }
    }

    pub(super) fn answering(mut self, pid: u32, endpoint: Endpoint, body: Value) -> Self {
        self.answer(pid, endpoint, Ok((200, body)));
        self
    }

    pub(super) fn answer(
        &mut self,
        pid: u32,
        endpoint: Endpoint,
        answer: Result<(u16, Value), Gap>,
    ) {
        self.answers.insert((pid, endpoint), answer);
    }

    /// One refresh a second later, in which the processes `pids` have GPU memory.
    pub(super) fn refresh(&mut self, pids: &[u32]) -> BTreeMap<u32, Findings> {
        self.refreshes(1, pids, Redaction::None)
    }

    /// The last of so many refreshes, one a second, through one machine that redacts at this level.
    pub(super) fn refreshes(
        &mut self,
        seconds: u64,
        pids: &[u32],
        level: Redaction,
    ) -> BTreeMap<u32, Findings> {
        let clock = Cell::new(self.now);
        let side = Side {
            now: &clock,
            tasks: &self.tasks,
            answers: &self.answers,
            files: &self.files,
            asked: &mut self.asked,
            is_late: self.is_late,
            outstanding: &mut self.outstanding,
        };
        let mut side = RedactingMachine::new(Synthetic::new(side), level);
        let measured = self.measured;
        let mut found = BTreeMap::new();
        for _ in 0..seconds {
            let mut now = clock.get();
            now.mono_ns += SECOND_NS;
            clock.set(now);
            found.clear();
            let mut keys: Vec<_> = pids
                .iter()
                .map(|pid| self.processes.identify(&mut side, *pid, now, |_| None))
                .map(Result::unwrap)
                .collect();
            keys.sort_unstable();
            self.processes.refresh(&mut side, &keys, now);
            self.models.begin(now);
            for key in &keys {
                let asked = Asked {
                    key: *key,
                    who: reference(*key).unwrap(),
                    watched: self.processes.get(*key).unwrap(),
                    measured,
                    around: Around {
                        started_us: Some(0),
                        devices: &[],
                    },
                };
                let findings = self.models.of(&mut side, &asked, &self.processes, now);
                found.insert(key.pid, findings);
            }
            self.models.end(&keys);
        }
        self.now = clock.get();
        found
    }

    /// Whether an answer is outstanding, so that a report would wait.
    pub(super) fn is_waiting(&self) -> bool {
        self.models.is_waiting() || self.processes.is_waiting()
    }

    /// The last of so many refreshes, one a second.
    pub(super) fn after(&mut self, seconds: u64, pids: &[u32]) -> BTreeMap<u32, Findings> {
        (1..seconds).for_each(|_| drop(self.refresh(pids)));
        self.refresh(pids)
    }

    /// Which endpoints of a process were asked, each once.
    pub(super) fn endpoints(&self, pid: u32) -> Vec<Endpoint> {
        let mut all: Vec<Endpoint> = self
            .asked
            .iter()
            .filter(|(_, of, _)| *of == pid)
            .map(|(_, _, endpoint)| *endpoint)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
