//! What changes underneath while it is watched: the driver goes and comes back, a GPU is lost and returns, processes end
//! and their numbers are given to others. The program says what is wrong, goes on, and recovers by itself.

use std::io::{BufRead as _, BufReader};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use fake_nvml::build::{Driver, STATISTICS_VARIABLE};
use fake_nvml::{Code, Device, Fault, Generation, Kind, Process, Scenario};
use serde_json::Value;

use crate::support::json::{has_notice, list, process, with};
use crate::support::program::{LIMIT, Started};
use crate::support::{Folder, Machine, Program, Task, driver, json};

const GIB: u64 = 1 << 30;

/// The program while it prints a document at every refresh.
pub(crate) struct Watched {
    documents: Receiver<Value>,
    started: Started,
    _folder: Folder,
}

impl Watched {
    pub(crate) fn start(program: impl FnOnce(Program) -> Program) -> Self {
        let folder = Folder::new();
        let line = Program::line("record --json --redact none -i 0.25 -o");
        let mut started = program(line.arg(folder.at("watched.ndjson"))).start();
        let output = BufReader::new(started.child.stdout.take().unwrap());
        let (sender, documents) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                let document = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(document).is_err() {
                    return;
                }
            }
        });
        Self {
            documents,
            started,
            _folder: folder,
        }
    }

    /// The first document that is as wanted; every one before it keeps the rules and passes `each`.
    pub(crate) fn until(&self, wanted: impl Fn(&Value) -> bool, each: impl Fn(&Value)) -> Value {
        loop {
            let document = self.documents.recv_timeout(LIMIT).unwrap();
            json::every_null_has_its_reason(&document);
            each(&document);
            if wanted(&document) {
                return document;
            }
        }
    }

    pub(crate) fn end(self) {
        self.started.signal(rustix::process::Signal::INT);
        self.started.finish().ended(130);
    }
}

fn source(document: &Value) -> &Value {
    with(&document["sources"], "id", "nvml")
}

fn devices(document: &Value) -> usize {
    list(document, "devices").len()
}

fn change(driver: &Driver, scenario: &Scenario) {
    scenario.write(&driver.scenario_path()).unwrap();
}

/// How often the library was initialised.
fn initialised(statistics: &str) -> u64 {
    let lines = statistics
        .lines()
        .filter(|line| line.ends_with("\tnvmlInit_v2"));
    lines
        .map(|line| line.split('\t').next().unwrap().parse::<u64>().unwrap())
        .sum()
}

#[test]
fn a_driver_that_is_reloaded_underneath_is_connected_to_again() {
    let folder = Folder::new();
    let statistics = folder.at("statistics");
    let whole = Scenario::workstation();
    let driver = driver(Generation::R580, &whole);
    let watched = Watched::start(|it| it.driver(&driver).env(STATISTICS_VARIABLE, &statistics));
    watched.until(|document| devices(document) == 1, |_| {});
    // Every call says that there is no session, and another one is refused.
    let mut gone = whole
        .clone()
        .with_fault(Fault::returning("nvmlDevice*", Code::UNINITIALIZED));
    gone.init = Code(18);
    change(&driver, &gone);
    let broken = watched.until(|document| source(document)["state"] == "error", |_| {});
    assert!(source(&broken)["hint"].is_string());
    let told = watched.until(
        |document| {
            let detail = source(document)["detail"].as_str().unwrap();
            devices(document) == 0 && detail.contains("different versions")
        },
        |document| {
            if devices(document) == 0 && source(document)["state"] == "error" {
                has_notice(document, "nvml", "driver_gone");
            }
        },
    );
    assert!(source(&told)["hint"].as_str().unwrap().contains("reboot"));
    change(&driver, &whole);
    let back = watched.until(|document| devices(document) == 1, |_| {});
    assert_eq!(source(&back)["state"], "ok");
    assert_eq!(list(&back, "processes").len(), 12);
    watched.end();
    // At the start, when it was refused, and when it came back: at most every 10 s, though there were four refreshes
    // a second.
    let text = std::fs::read_to_string(&statistics).unwrap();
    assert_eq!(initialised(&text), 3, "{text}");
}

#[test]
fn a_driver_that_stops_counting_its_gpus_is_named_and_its_last_readings_are_no_longer_ok() {
    let whole = Scenario::workstation();
    let driver = driver(Generation::R580, &whole);
    let watched = Watched::start(|it| it.driver(&driver));
    let works = |document: &Value| devices(document) == 1 && source(document)["state"] == "ok";
    let before = watched.until(works, |_| {});
    assert_eq!(before["process_status"]["scan"], "complete");
    let failing = whole.clone();
    let failing = failing.with_fault(Fault::returning("nvmlDeviceGetCount*", Code(999)));
    change(&driver, &failing);
    let failed = |document: &Value| source(document)["state"] == "error";
    let after = watched.until(failed, |_| {});
    has_notice(&after, "nvml", "driver_failed");
    let notices = list(&after, "notices");
    let notice = notices.iter().find(|it| it["code"] == "driver_failed");
    let text = notice.unwrap()["text"].as_str().unwrap();
    assert!(text.contains("NVML error 999"), "{text}");
    assert!(text.ends_with("shown with their age"), "{text}");
    assert_eq!(after["process_status"]["scan"], "partial");
    let device = &list(&after, "devices")[0];
    assert!(device["gpu_pct"].is_number());
    let status = device["counter_status"].as_str().unwrap();
    assert!(
        status.starts_with("the driver fails: NVML error 999; last readings"),
        "{status}"
    );
    change(&driver, &whole);
    let back = watched.until(works, |_| {});
    assert_eq!(back["process_status"]["scan"], "complete");
    assert!(
        list(&back, "notices")
            .iter()
            .all(|it| it["code"] != "driver_failed")
    );
    watched.end();
}

#[test]
fn a_lost_gpu_that_comes_back_is_shown_again_beside_one_that_never_stopped() {
    let card = |name: &str, uuid: &str, lost| Device {
        uuid: uuid.to_owned(),
        lost,
        ..Device::new(name)
    };
    let scenario = |lost, name, uuid| {
        let other = card("NVIDIA A", "GPU-aaaa", false);
        let other = other.with_process(Process::new(1, Kind::Compute, GIB).busy(20, 3));
        Scenario::empty()
            .with_device(other)
            .with_device(card(name, uuid, lost))
    };
    let driver = driver(Generation::R580, &scenario(false, "NVIDIA B", "GPU-bbbb"));
    let watched = Watched::start(|it| it.driver(&driver));
    let other_works = |document: &Value| {
        for device in list(document, "devices") {
            if device["name"] == "NVIDIA A" {
                assert!(device["gpu_pct"].is_number(), "{device}");
                let age = device["provenance"]["gpu_pct"]["age_ms"].as_u64().unwrap();
                assert!(age < 3000, "{age}");
            }
        }
    };
    watched.until(|document| devices(document) == 2, other_works);
    change(&driver, &scenario(true, "NVIDIA B", "GPU-bbbb"));
    let is_lost = |document: &Value| {
        let mut all = list(document, "notices").iter();
        all.any(|notice| notice["code"] == "device_lost")
    };
    let lost = watched.until(is_lost, other_works);
    let device = with(&lost["devices"], "uuid", "GPU-bbbb");
    assert_eq!(device["provenance"]["gpu_pct"]["reason"], "gpu_lost");
    // In its place another one comes back.
    change(&driver, &scenario(false, "NVIDIA C", "GPU-cccc"));
    let back = watched.until(|document| !is_lost(document), other_works);
    let device = with(&back["devices"], "uuid", "GPU-cccc");
    assert_eq!(device["name"], "NVIDIA C");
    assert!(device["gpu_pct"].is_number());
    watched.end();
}

#[test]
fn a_gpu_whose_calls_all_say_that_it_is_lost_is_lost_although_it_has_a_handle() {
    let mut scenario = Scenario::workstation();
    for call in [
        "nvmlDeviceGetMemoryInfo*",
        "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGet*Processes*",
    ] {
        scenario
            .faults
            .push(Fault::returning(call, Code::GPU_IS_LOST));
    }
    let driver = driver(Generation::R580, &scenario);
    let document = Program::line("--json")
        .driver(&driver)
        .run()
        .ended(0)
        .json();
    json::every_null_has_its_reason(&document);
    has_notice(&document, "gpu:0", "device_lost");
}

#[test]
fn a_list_of_five_hundred_is_read_whole_in_every_generation() {
    let processes = (0..500).map(|n| Process::new(100_000 + n, Kind::Compute, 10 << 20));
    let mut card = Device::new("NVIDIA A");
    card.processes = processes.collect();
    let scenario = Scenario::empty().with_device(card);
    let machine = Machine::new();
    for generation in Generation::ALL {
        let driver = driver(generation, &scenario);
        let ran = Program::line("--json")
            .driver(&driver)
            .root(machine.path())
            .run();
        let document = ran.ended(0).json();
        let pids: Vec<u64> = list(&document, "processes")
            .iter()
            .map(|it| it["pid"].as_u64().unwrap())
            .collect();
        assert_eq!(pids.len(), 500, "{generation:?}");
        assert!(
            pids.iter()
                .eq((100_000..100_500).collect::<Vec<u64>>().iter())
        );
        let total = &document["totals"]["measured_process_vram_bytes"];
        assert_eq!(*total, 500 * (10_u64 << 20), "{generation:?}");
    }
}

#[test]
fn a_list_that_grows_while_it_is_watched_is_read_whole() {
    let scenario = |count: u32| {
        let mut card = Device::new("NVIDIA A");
        card.processes = (0..count)
            .map(|n| Process::new(100_000 + n, Kind::Compute, 10 << 20))
            .collect();
        Scenario::empty().with_device(card)
    };
    let machine = Machine::new();
    let driver = driver(Generation::R535, &scenario(3));
    let watched = Watched::start(|it| it.driver(&driver).root(machine.path()));
    for count in [3, 500, 2] {
        change(&driver, &scenario(count));
        let wanted = usize::try_from(count).unwrap();
        watched.until(
            |document| list(document, "processes").len() == wanted,
            |_| {},
        );
    }
    watched.end();
}

#[test]
fn a_number_that_is_given_to_another_process_brings_nothing_of_the_first() {
    let machine = Machine::new();
    machine.add(&Task::new(500, "before"));
    let card = Device::new("NVIDIA A").with_process(Process::new(500, Kind::Compute, GIB));
    let driver = driver(Generation::R580, &Scenario::empty().with_device(card));
    let watched = Watched::start(|it| it.driver(&driver).root(machine.path()));
    let named = |document: &Value, name: &str| {
        let mut all = list(document, "processes").iter();
        all.any(|it| it["name"] == name && it["exe"] == format!("/usr/bin/{name}"))
    };
    let first = watched.until(|document| named(document, "before"), |_| {});
    let first = process(&first, 500)["start_time"].clone();
    let mut young = Task::new(500, "behind");
    young.start_ticks += 5000;
    // The files of the first go before those of the second come, as in the kernel.
    std::fs::remove_dir_all(machine.folder().at("proc/500")).unwrap();
    watched.until(
        |document| process(document, 500)["provenance"]["name"]["reason"] == "exited",
        |document| {
            // The driver still lists it, with its memory.
            let row = process(document, 500);
            assert_eq!(row["devices"][0]["memory"]["vram_bytes"], GIB);
        },
    );
    machine.add(&young);
    let second = watched.until(
        |document| named(document, "behind"),
        |document| {
            let row = process(document, 500);
            if row["name"] == "behind" {
                assert_ne!(row["exe"], "/usr/bin/before", "{row}");
                assert_ne!(row["start_time"], first, "{row}");
            }
            assert_eq!(list(document, "processes").len(), 1);
        },
    );
    assert_eq!(
        process(&second, 500)["devices"][0]["memory"]["vram_bytes"],
        GIB
    );
    watched.end();
}
