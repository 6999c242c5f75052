//! Machines with DRM devices: those written down in `fixtures/drm`, and texts and attribute files that were collected
//! elsewhere, in folders of `FIXTURES_DIR`. Each is looked at as `--root` does.

mod charges;
mod collected;
mod meanings;
mod oddities;
mod recordings;
mod said;
mod sleeping;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collect::{Collector, Pace};
use machine_file::Entry;
use model::remedy::Refused;
use model::{ChargedBytes, Gap, Process, Snapshot};
use raw::{Machine, Settings};
use serde_json::Value;
use sources::{LiveMachine, Options};

use crate::support::{Folder, json};

/// Longest time between refreshes that these tests have to wait for a second reading, milliseconds.
const INTERVAL_MS: u64 = 250;

/// Refreshes after which an answer that is still pending never comes.
const MOST_REFRESHES: u32 = 200;

const PID: u32 = 4242;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/drm")
}

/// The machine of a file of `fixtures/drm`.
fn machine(name: &str) -> Folder {
    let text = fs::read_to_string(fixtures().join(format!("{name}.tree"))).unwrap();
    let folder = Folder::new();
    for (path, entry) in machine_file::read(&text).unwrap() {
        match entry {
            Entry::File(content) => {
                folder.write(path, content);
            }
            Entry::Link(to) => folder.link(path, &to),
        }
    }
    folder
}

/// The directory as a live machine.
fn live(root: &Path) -> LiveMachine {
    LiveMachine::new(Options {
        root: Some(root.to_owned()),
        nvml_library: Some(root.join("no-such-library")),
        settings: Settings {
            interval_ms: INTERVAL_MS,
            ..Settings::default()
        },
    })
}

/// A machine with the collector that looks at it.
struct Watch<M> {
    machine: M,
    collector: Collector,
}

impl<M: Machine> Watch<M> {
    fn of(machine: M) -> Self {
        let collector = Collector::new(machine.facts());
        Self { machine, collector }
    }

    fn refresh(&mut self) -> Arc<Snapshot> {
        let plan = self.collector.plan(Pace::OneShot(1_000_000_000));
        let tick = self.machine.begin_tick(&plan).unwrap();
        self.collector.tick(&mut self.machine, tick)
    }
}

/// What is said of a directory when nothing is pending any more.
fn look(root: &Path) -> Arc<Snapshot> {
    let mut watch = Watch::of(live(root));
    for _ in 0..MOST_REFRESHES {
        let snapshot = watch.refresh();
        if !snapshot.pending {
            let document: Value = serde_json::from_str(&output::json::to_line(&snapshot)).unwrap();
            json::every_null_has_its_reason(&document);
            for width in [60, 100, 200] {
                let text = output::text::report(&snapshot, width);
                assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
            }
            return snapshot;
        }
    }
    panic!("{}: still pending", root.display());
}

/// What a user without rights would be told: who runs the tests makes no difference.
fn without_rights(snapshot: &Snapshot) -> Snapshot {
    let mut said = snapshot.clone();
    said.host.privileged = Some(false);
    for refused in [Refused::Process, Refused::DeviceFile] {
        let (from, to) = (
            snapshot.standing().remedy(refused),
            said.standing().remedy(refused),
        );
        for notice in &mut said.notices {
            notice.text = notice.text.replace(from, to).into();
        }
    }
    said
}

/// The report without its first line, which has the time, and without the directory's name.
fn report(snapshot: &Snapshot, root: &Path) -> String {
    let text = output::text::report(&without_rights(snapshot), 100);
    let (_, rest) = text.split_once('\n').unwrap();
    let lines = rest.lines().filter(|line| {
        !line.contains(&*root.display().to_string()) && !line.contains("not a live machine")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn find(snapshot: &Snapshot, pid: u32) -> Option<&Process> {
    let mut processes = snapshot.processes.iter();
    processes.find(|process| process.key.pid == pid)
}

fn process(snapshot: &Snapshot, pid: u32) -> &Process {
    find(snapshot, pid).unwrap_or_else(|| panic!("no process {pid}"))
}

fn sizes(snapshot: &Snapshot, pid: u32) -> (Result<u64, Gap>, Result<u64, Gap>) {
    let memory = &process(snapshot, pid).charges[0].memory;
    let size = |reading: &model::Reading<ChargedBytes>| match reading.known() {
        Some(known) => Ok(known.value().0),
        None => Err(reading.gap().unwrap()),
    };
    (size(&memory.vram), size(&memory.spill))
}

/// A bare machine.
fn bare() -> Folder {
    let folder = Folder::new();
    folder.link("proc/self/ns/pid", "pid:[4026531836]");
    folder.write("proc/uptime", "20000.50 70000.00\n");
    folder
}

/// A process that has `node` open, of which the driver says `text`.
fn holds(folder: &Folder, node: &str, text: &str) {
    let zeros = "0 ".repeat(13);
    let stat = format!("{PID} (client) S 1 {PID} {PID} 0 -1 {zeros}77 1 1 0\n");
    folder.write(&format!("proc/{PID}/stat"), stat);
    folder.link(&format!("proc/{PID}/fd/5"), node);
    folder.write(&format!("proc/{PID}/fdinfo/5"), text);
}

#[test]
fn every_machine_that_is_written_down_says_what_was_reviewed() {
    let mut names: Vec<String> = fs::read_dir(fixtures())
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".tree").map(str::to_owned)
        })
        .collect();
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let folder = machine(&name);
        let snapshot = look(folder.path());
        insta::assert_snapshot!(format!("drm-{name}"), report(&snapshot, folder.path()));
    }
}
