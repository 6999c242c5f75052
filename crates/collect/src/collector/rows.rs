//! Whose rows the driver's numbers are.

use std::collections::BTreeMap;

use model::names::counted;
use model::remedy::Standing;
use model::{
    Charge, Gap, Mode, Notice, PidMark, PidMatch, PidSpace, Process, ProcessKey, Severity, Stamp,
};
use raw::Machine;

use super::Collector;
use crate::drm::DrmProcess;
use crate::nvml::{ListedProcess, Numbers};
use crate::processes::Nested;

/// What is known of a process before anything of it is looked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Why nothing can be looked up.
    pub(crate) why_unknown: Option<Gap>,
    /// The driver's entry it was matched to, where that needed matching.
    pub(crate) pid_match: Option<PidMatch>,
    /// What it has on each device.
    pub(crate) charges: Vec<Charge>,
}

impl Collector {
    /// Of which namespace the driver's numbers are.
    pub(super) fn numbers(&self) -> Numbers {
        if self.host.may_look_up() {
            Numbers::Own
        } else {
            Numbers::Foreign
        }
    }

    /// The driver's entries by process.
    pub(super) fn rows(
        &mut self,
        machine: &mut dyn Machine,
        listed: Vec<(ListedProcess, Charge)>,
        now: Stamp,
    ) -> BTreeMap<ProcessKey, Row> {
        let mut rows: BTreeMap<ProcessKey, Row> = BTreeMap::new();
        if self.numbers() == Numbers::Own {
            for (process, charge) in listed {
                let (key, why_unknown) = self.looked_up(machine, process);
                let row = rows.entry(key).or_insert_with(|| Row {
                    why_unknown,
                    ..Row::default()
                });
                row.charges.push(charge);
            }
            return rows;
        }
        if self.host.mode() == Mode::Container {
            let lists = self.nvml.listed();
            self.nested
                .refresh(machine, lists, &mut self.processes, now);
        }
        for (process, charge) in listed {
            let (key, row, charge) = self.matched(machine, process.pid, charge);
            rows.entry(key).or_insert(row).charges.push(charge);
        }
        for key in self.nested.unlisted(machine, &mut self.processes) {
            rows.entry(key).or_default();
        }
        rows
    }

    /// Adds what processes have open themselves: their numbers are of this namespace, and nobody else may have taken
    /// them since. Gives the numbers of those that only the compute driver knows and of which `/proc` shows nothing.
    pub(super) fn add_holders(
        &mut self,
        machine: &mut dyn Machine,
        held: Vec<(DrmProcess, Charge)>,
        rows: &mut BTreeMap<ProcessKey, Row>,
    ) -> Vec<u32> {
        let mut hidden = Vec::new();
        for (process, charge) in held {
            let (host, clock_ticks) = (&self.host, self.facts.clock_ticks);
            let started_us = |ticks| host.started_us(ticks, clock_ticks);
            let found = self
                .processes
                .identify(machine, process.pid, process.at, started_us);
            let is_same = |key: &ProcessKey| {
                process.start_ticks.is_none() || key.start_ticks == process.start_ticks
            };
            match found {
                Ok(key) if is_same(&key) => rows.entry(key).or_default().charges.push(charge),
                // It holds the device, and nothing else can be told of it.
                Err(gap) if process.is_holder && process.start_ticks.is_none() => {
                    let key = ProcessKey {
                        space: PidSpace::Local,
                        pid: process.pid,
                        start_ticks: None,
                    };
                    let unknown = || Row {
                        why_unknown: Some(gap),
                        ..Row::default()
                    };
                    rows.entry(key).or_insert_with(unknown).charges.push(charge);
                }
                Err(gap) if !process.is_holder && gap != Gap::NotRecorded => {
                    if !hidden.contains(&process.pid) {
                        hidden.push(process.pid);
                    }
                }
                // Another process has the number now, or none.
                Ok(_) | Err(_) => {}
            }
        }
        hidden
    }

    /// The process behind a number of this namespace.
    fn looked_up(
        &mut self,
        machine: &mut dyn Machine,
        process: ListedProcess,
    ) -> (ProcessKey, Option<Gap>) {
        let ListedProcess { pid, at } = process;
        let (host, clock_ticks) = (&self.host, self.facts.clock_ticks);
        let started_us = |ticks| host.started_us(ticks, clock_ticks);
        match self.processes.identify(machine, pid, at, started_us) {
            Ok(key) => (key, None),
            Err(gap) => (
                ProcessKey {
                    space: PidSpace::Local,
                    pid,
                    start_ticks: None,
                },
                Some(gap),
            ),
        }
    }

    /// The process that a number of another namespace was matched to. The number itself is never looked
    /// up: an equal one here is another process.
    fn matched(
        &mut self,
        machine: &mut dyn Machine,
        pid: u32,
        charge: Charge,
    ) -> (ProcessKey, Row, Charge) {
        if let Some((key, entry)) = self.nested.owner(machine, pid, &mut self.processes) {
            let row = Row {
                pid_match: Some(entry),
                ..Row::default()
            };
            return (key, row, charge.inferred(entry.why.basis()));
        }
        let key = ProcessKey {
            space: PidSpace::Host,
            pid,
            start_ticks: None,
        };
        let gap = if self.nested.is_undecided() {
            Gap::Pending
        } else {
            Gap::OutsideNamespace
        };
        let row = Row {
            why_unknown: Some(gap),
            ..Row::default()
        };
        (key, row, charge)
    }
}

/// Numbers named before the rest is counted.
const NAMED: usize = 5;

/// What is to be said of processes that only the compute driver shows: `/proc` may be mounted with `hidepid`.
pub(super) fn hidden(pids: &[u32], standing: Standing) -> Option<Notice> {
    let (named, rest) = pids.split_at_checked(NAMED).unwrap_or((pids, &[]));
    let named: Vec<String> = named.iter().map(u32::to_string).collect();
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    // Nothing is hidden from root, so that it is no matter of rights.
    let remedy = match standing.privileged {
        Some(true) => "",
        Some(false) | None => {
            "; run with sudo, or as a member of the group that /proc is mounted for (gid=), to see them"
        }
    };
    (!pids.is_empty()).then(|| Notice {
        code: "hidden_processes",
        severity: Severity::Info,
        subject: "processes".into(),
        text: format!(
            "ROCm's driver counts memory for {} process(es) of which /proc shows nothing here ({}{more}): they are \
             hidden (hidepid) or have just ended; their memory is in the unattributed part{remedy}",
            pids.len(),
            named.join(", ")
        )
        .into(),
    })
}

/// What is to be said of rows whose numbers are not of this namespace.
pub(super) fn notices(nested: &Nested, processes: &[Process]) -> Vec<Notice> {
    let notice = |code, text: String| Notice {
        code,
        severity: Severity::Info,
        subject: "processes".into(),
        text: text.into(),
    };
    let mut notices = Vec::new();
    let foreign = processes
        .iter()
        .filter(|process| process.key.space == PidSpace::Host)
        .count();
    if foreign > 0 {
        let why = match nested.unseen() {
            Some(gap) => format!("; nothing can be matched to them: {}", gap.sentence()),
            None => String::new(),
        };
        notices.push(notice(
            "outside_namespace",
            format!(
                "{} numbered in the host's PID namespace (H:) and not looked up in this one{why}",
                counted(foreign, "process is", "processes are")
            ),
        ));
    }
    let guessed = processes
        .iter()
        .filter_map(|process| process.pid_match)
        .filter(|entry| entry.why.mark() == PidMark::Guess)
        .count();
    if guessed > 0 {
        notices.push(notice(
            "guessed_owners",
            format!(
                "{} matched to the driver's entries by a guess (?); run on the host, or the container \
                 with --pid=host, to be sure",
                counted(guessed, "process is", "processes are")
            ),
        ));
    }
    notices
}
