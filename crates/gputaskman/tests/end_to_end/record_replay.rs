//! What was printed while recording is what the recording prints, byte for byte, wherever it is replayed.

use std::path::Path;

use fake_nvml::{Generation, Scenario};

use crate::support::models::{self, LLAMA};
use crate::support::{Folder, Machine, Program, Ran, captures, children, driver, json, rich};

const LEVELS: [&str; 3] = ["strict", "paths", "none"];

fn record(level: &str, file: &Path) -> Program {
    Program::new([
        "record", "--json", "-i", "0.25", "--count", "3", "--redact", level, "-o",
    ])
    .arg(file)
}

fn replay(file: &Path) -> Program {
    Program::line("replay --json").arg(file)
}

#[track_caller]
fn is_the_same(recorded: &Ran, replayed: &Ran, what: &str) {
    assert_eq!(replayed.code, recorded.code, "{what}");
    let (recorded, replayed) = (recorded.text(), replayed.text());
    assert_ne!(recorded, "", "{what}");
    assert_eq!(recorded.lines().count(), replayed.lines().count(), "{what}");
    for (number, (recorded, replayed)) in recorded.lines().zip(replayed.lines()).enumerate() {
        assert!(
            recorded == replayed,
            "{what}: line {}\n{recorded}\n{replayed}",
            number + 1
        );
    }
    assert!(recorded == replayed, "{what}: line ends");
}

#[test]
fn a_workstation_replays_with_library_and_processes_gone() {
    for level in LEVELS {
        for ending in ["ndjson", "ndjson.gz"] {
            let folder = Folder::new();
            let model = folder.write("my models/tiny-q4_k_m.gguf", models::whole(LLAMA));
            let arguments = [
                "-m",
                model.to_str().unwrap(),
                "-c",
                "4096",
                "--api-key",
                "hunter2",
            ];
            let server = children::Start::new("llama-server", &arguments)
                .holding(&model)
                .start();
            let others = children::many(11);
            let pids = others.iter().map(children::Waiting::pid);
            let scenario =
                Scenario::workstation().with_pids([server.pid()].into_iter().chain(pids));
            let driver = driver(Generation::R580, &scenario);
            let file = folder.at(&format!("capture.{ending}"));
            let recorded = record(level, &file).driver(&driver).run();
            recorded.ended(0);
            assert_eq!(recorded.lines().len(), 3);
            drop((server, others, driver));
            std::fs::remove_file(&model).unwrap();
            is_the_same(
                &recorded,
                &replay(&file).run(),
                &format!("{level} {ending}"),
            );
        }
    }
}

#[test]
fn a_synthetic_machine_replays_with_the_machine_gone() {
    for level in LEVELS {
        for generation in Generation::ALL {
            let (machine, scenario) = rich::machine();
            let driver = driver(generation, &scenario);
            let folder = Folder::new();
            let file = folder.at("capture.ndjson");
            let recorded = record(level, &file)
                .driver(&driver)
                .root(machine.path())
                .run();
            recorded.ended(0);
            drop((machine, driver));
            is_the_same(
                &recorded,
                &replay(&file).run(),
                &format!("{level} {generation:?}"),
            );
        }
    }
}

#[test]
fn a_count_is_that_of_the_lines_and_of_what_is_said_to_be_recorded() {
    let (machine, scenario) = rich::machine();
    let driver = driver(Generation::R580, &scenario);
    let folder = Folder::new();
    for count in [1, 2, 4] {
        let file = folder.at(&format!("{count}.ndjson"));
        let number = count.to_string();
        let recorded = Program::new([
            "record", "--json", "-i", "0.25", "--redact", "none", "--count", &number, "-o",
        ])
        .arg(&file)
        .driver(&driver)
        .root(machine.path())
        .run();
        assert_eq!(recorded.ended(0).lines().len(), count);
        let said = format!(
            "{count} refresh{} recorded",
            if count == 1 { "" } else { "es" }
        );
        assert!(recorded.stderr.contains(&said), "{}", recorded.stderr);
        let replayed = replay(&file).run();
        is_the_same(&recorded, &replayed, &number);
        // Nothing is lost: what came late is in the last line, as in the report.
        assert_eq!(
            recorded.lines()[count - 1]["processes"][0]["models"][0]["name"],
            "Tiny llama"
        );
        // Without its marks, as it was before there were any, each refresh stands for itself.
        let text = std::fs::read_to_string(&file).unwrap();
        let ticks = text.matches("\"now\":").count();
        assert!(ticks > count, "{ticks}");
        let old = folder.write("old.ndjson", text.replace(",\"extra\":true", ""));
        assert_eq!(replay(&old).run().ended(0).lines().len(), ticks);
    }
}

#[test]
fn a_replay_asks_nothing_of_the_machine_it_runs_on() {
    let (machine, scenario) = rich::machine();
    let recording = driver(Generation::R470, &scenario);
    let folder = Folder::new();
    let file = folder.at("capture.ndjson");
    let recorded = record("none", &file)
        .driver(&recording)
        .root(machine.path())
        .run();
    // Another driver is there while it is replayed, and the machine is this one.
    let other = driver(Generation::R580, &Scenario::servers());
    let statistics = folder.at("statistics");
    let replayed = replay(&file)
        .driver(&other)
        .env(fake_nvml::build::STATISTICS_VARIABLE, &statistics)
        .run();
    is_the_same(&recorded, &replayed, "on another machine");
    assert!(!statistics.exists(), "the driver was called");
}

#[test]
fn misbehaving_drivers_replay_too() {
    for scenario in [
        Scenario::empty(),
        Scenario::idle(),
        Scenario::faulty(),
        Scenario::container_split(),
        Scenario::unified(),
        Scenario::vgpu(),
        Scenario::servers(),
        Scenario::hanging(),
    ] {
        let driver = driver(Generation::R535, &scenario);
        let machine = Machine::new();
        let folder = Folder::new();
        let file = folder.at("capture.ndjson");
        let count = if scenario.devices.is_empty() {
            "1"
        } else {
            "3"
        };
        let recorded = Program::new(["record", "--json", "-i", "0.25", "--count", count, "-o"])
            .arg(&file)
            .driver(&driver)
            .root(machine.path())
            .run();
        drop((machine, driver));
        is_the_same(
            &recorded,
            &replay(&file).run(),
            &format!("{:?}", scenario.faults),
        );
        for document in recorded.lines() {
            json::every_null_has_its_reason(&document);
        }
    }
}

#[test]
fn once_shows_the_last_refresh_in_both_forms() {
    let (machine, scenario) = rich::machine();
    let driver = driver(Generation::R580, &scenario);
    let folder = Folder::new();
    let file = folder.at("capture.ndjson");
    let recorded = record("none", &file)
        .driver(&driver)
        .root(machine.path())
        .run();
    let last = recorded.lines().pop().unwrap();
    let once = Program::line("replay --once --json").arg(&file).run();
    assert_eq!(once.ended(0).json(), last);
    let text = Program::line("replay --once").arg(&file).run();
    for words in ["NVIDIA GeForce RTX 4080", "Tiny llama", "4004"] {
        assert!(
            text.ended(0).text().contains(words),
            "{words} in {}",
            text.text()
        );
    }
}

#[test]
fn an_interrupted_recording_is_whole() {
    use std::io::{BufRead as _, BufReader, Read as _};
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        for ending in ["ndjson", "ndjson.gz"] {
            let driver = driver(Generation::R580, &Scenario::workstation());
            let folder = Folder::new();
            let file = folder.at(&format!("capture.{ending}"));
            let mut started = Program::line("record --json -i 0.25 --redact none -o")
                .arg(&file)
                .driver(&driver)
                .start();
            let mut output = BufReader::new(started.child.stdout.take().unwrap());
            let mut printed = String::new();
            for _ in 0..3 {
                output.read_line(&mut printed).unwrap();
            }
            started.signal(signal);
            output.read_to_string(&mut printed).unwrap();
            let ran = started.finish();
            assert_eq!(ran.code, Some(130), "{signal:?} {ending}: {}", ran.stderr);
            assert!(!captures::load(&file).cut_off);
            let replayed = replay(&file).run();
            assert_eq!(replayed.ended(0).text(), printed, "{signal:?} {ending}");
        }
    }
}

#[test]
fn a_recording_for_some_seconds_ends_by_itself() {
    let driver = driver(Generation::R580, &Scenario::idle());
    let folder = Folder::new();
    let file = folder.at("capture.ndjson");
    let recorded = Program::line("record --json -i 0.25 --duration 700ms -o")
        .arg(&file)
        .driver(&driver)
        .run();
    recorded.ended(0);
    assert!(
        (2..=8).contains(&recorded.lines().len()),
        "{}",
        recorded.lines().len()
    );
    is_the_same(&recorded, &replay(&file).run(), "by duration");
}

#[test]
fn a_recording_without_a_gpu_replays_its_explanation() {
    let empty = driver(Generation::R580, &Scenario::empty());
    let machine = Machine::new();
    let folder = Folder::new();
    let file = folder.at("capture.ndjson");
    let recorded = Program::line("record --json --count 1 -o")
        .arg(&file)
        .driver(&empty)
        .root(machine.path())
        .run();
    recorded.ended(3);
    is_the_same(&recorded, &replay(&file).run(), "without a GPU");
    let text = Program::line("replay --once").arg(&file).run();
    assert!(text.ended(3).text().contains("0000:01:00.0"));
}

#[test]
fn what_was_recorded_under_a_note_says_that_it_is_synthetic() {
    let driver = driver(Generation::R580, &Scenario::idle());
    let folder = Folder::new();
    let file = folder.at("capture.ndjson");
    Program::new([
        "record",
        "--count",
        "1",
        "--synthetic",
        "made by a test",
        "-o",
    ])
    .arg(&file)
    .driver(&driver)
    .run()
    .ended(0);
    let document = Program::line("replay --once --json").arg(&file).run();
    let document = document.ended(0).json();
    assert_eq!(document["origin"]["kind"], "synthetic");
    assert_eq!(document["origin"]["note"], "made by a test");
}
