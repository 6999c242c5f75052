//! A GPU that sleeps beside one that works: the real program asks the driver nothing about it.

use fake_nvml::{Device, Fault, Generation, Kind, Process, Scenario};
use serde_json::Value;

use crate::support::json::{list, with};
use crate::support::terminal::Start;
use crate::support::{Machine, Program, driver, json};

const FIRST: &str = "0000:01:00.0";
const SECOND: &str = "0000:02:00.0";

fn two_cards() -> Scenario {
    let card = |name, gib: u64| Device {
        memory_total: (gib << 30).into(),
        ..Device::new(name)
    };
    let working =
        card("NVIDIA RTX A2000", 8).with_process(Process::new(500, Kind::Compute, 1 << 30));
    Scenario::empty()
        .with_device(working)
        .with_device(card("NVIDIA RTX A6000", 48))
}

fn machine(second: &str) -> Machine {
    let machine = Machine::new();
    machine.card(FIRST, "active", "auto");
    machine.card(SECOND, second, "auto");
    machine
}

fn documents(machine: &Machine, scenario: &Scenario, line: &str) -> Vec<Value> {
    let driver = driver(Generation::R580, scenario);
    let ran = Program::line(line)
        .driver(&driver)
        .root(machine.path())
        .run();
    ran.ended(0);
    let documents = if line.contains("record") {
        ran.lines()
    } else {
        vec![ran.json()]
    };
    documents.iter().for_each(json::every_null_has_its_reason);
    documents
}

#[test]
fn nothing_is_asked_of_the_one_that_sleeps() {
    // Any call about it, and getting its handle, would take an hour.
    let scenario = two_cards().with_fault(Fault::sleeping("*", 3_600_000).on(1));
    let folder = crate::support::Folder::new();
    let line = format!(
        "record --json --redact none -i 0.25 --count 4 -o {}",
        folder.at("asleep.ndjson").display()
    );
    for document in documents(&machine("suspended"), &scenario, &line)
        .iter()
        .skip(2)
    {
        let sleeping = with(&document["devices"], "pci", SECOND);
        assert_eq!(sleeping["power_state"], "suspended");
        assert_eq!(sleeping["counter_status"], "asleep");
        assert_eq!(
            sleeping["provenance"]["memory.vram_used_bytes"]["reason"],
            "asleep"
        );
        let working = with(&document["devices"], "pci", FIRST);
        assert_eq!(working["memory"]["vram_total_bytes"], 8_u64 << 30);
        assert_eq!(list(document, "processes").len(), 1);
        assert_eq!(document["process_status"]["scan"], "complete");
    }
}

#[test]
fn with_the_option_it_is_read() {
    let document = &documents(&machine("suspended"), &two_cards(), "--json --wake")[0];
    let woken = with(&document["devices"], "pci", SECOND);
    assert_eq!(woken["name"], "NVIDIA RTX A6000");
    assert_eq!(woken["memory"]["vram_total_bytes"], 48_u64 << 30);
    let listed = Program::line("--list-gpus")
        .driver(&driver(Generation::R580, &two_cards()))
        .root(machine("suspended").path())
        .run();
    let listed = listed.ended(0).text();
    assert!(
        listed
            .lines()
            .any(|line| line.contains(SECOND) && line.ends_with("suspended")),
        "{listed}"
    );
    let without = &documents(&machine("suspended"), &two_cards(), "--json")[0];
    assert_eq!(
        with(&without["devices"], "pci", SECOND)["name"],
        Value::Null
    );
    // All of them asleep.
    let machine = machine("suspended");
    machine.card(FIRST, "suspended", "auto");
    let document = &documents(&machine, &two_cards(), "--json --wake")[0];
    assert_eq!(list(document, "devices").len(), 2);
    for device in list(document, "devices") {
        assert!(device["memory"]["vram_total_bytes"].is_u64(), "{device}");
    }
}

#[test]
fn an_idle_card_keeps_its_figures_while_it_is_left_alone() {
    let folder = crate::support::Folder::new();
    let line = format!(
        "record --json --redact none -i 0.25 --count 6 -o {}",
        folder.at("idle.ndjson").display()
    );
    let documents = documents(&machine("active"), &two_cards(), &line);
    let last = documents.last().unwrap();
    let idle = with(&last["devices"], "pci", SECOND);
    assert!(
        idle["counter_status"]
            .as_str()
            .unwrap()
            .starts_with("idle, may sleep")
    );
    assert_eq!(idle["power_state"], "active");
    assert_eq!(idle["memory"]["vram_total_bytes"], 48_u64 << 30);
    let age = |device: &Value| {
        let age = &device["provenance"]["memory.vram_used_bytes"]["age_ms"];
        age.as_u64().unwrap()
    };
    assert!(age(idle) >= 1000, "{}", age(idle));
    assert!(age(with(&last["devices"], "pci", FIRST)) < 1000);
}

#[test]
fn what_rests_replays_as_it_was() {
    for (second, wake) in [("suspended", ""), ("active", ""), ("suspended", "--wake")] {
        let folder = crate::support::Folder::new();
        let file = folder.at("resting.ndjson");
        let driver = driver(Generation::R580, &two_cards());
        let ran = Program::line(&format!("record --json -i 0.25 --count 5 {wake} -o"))
            .arg(&file)
            .driver(&driver)
            .root(machine(second).path())
            .run();
        let replayed = Program::line("replay --json").arg(&file).run();
        assert_eq!(
            replayed.ended(0).text(),
            ran.ended(0).text(),
            "{second} {wake}"
        );
    }
}

#[test]
fn a_key_on_the_screen_wakes_the_card_that_is_shown() {
    let machine = machine("suspended");
    let driver = driver(Generation::R580, &two_cards());
    // A refresh an hour: the key does not wait for it.
    let mut terminal = Start::line("-i 3600")
        .driver(&driver)
        .root(machine.path())
        .start();
    terminal.shows("RTX A2000");
    terminal.types("1");
    terminal.shows("suspended, W wakes it");
    terminal.shows(&format!("GPU at {SECOND}"));
    terminal.types("W");
    terminal.shows("RTX A6000");
    terminal.types("q");
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn a_uuid_that_may_be_that_of_a_sleeping_gpu_is_not_said_to_be_nobodys() {
    let machine = machine("suspended");
    let driver = driver(Generation::R580, &two_cards());
    let run = |line: &str| {
        Program::line(line)
            .driver(&driver)
            .root(machine.path())
            .run()
    };
    let uuid = "GPU-99999999-9999-9999-9999-999999999999";
    let ran = run(&format!("--once --gpu {uuid}"));
    ran.refused(
        2,
        &["sleeps", SECOND, "--wake", "by its number or PCI address"],
    );
    assert!(!ran.stderr.contains("does not exist"), "{}", ran.stderr);
    // A GPU that is awake tells its own.
    run("--once --gpu 7").refused(2, &["does not exist"]);
}
