//! Without a GPU the program says what it looked for, and how to see it all the same.

use std::path::Path;

use fake_nvml::{Code, Fault, Generation, Scenario};

use crate::support::{Machine, Program, driver, json, skipped};

/// Every source the program has, in the order it tries them.
const SOURCES: [&str; 3] = ["nvml", "drm.fdinfo", "pci"];

/// A machine with a real driver cannot be made to have none.
fn has_a_driver() -> bool {
    let found = Path::new("/dev/nvidiactl").exists() || Path::new("/usr/lib/wsl/lib").exists();
    if found {
        skipped("this machine has an NVIDIA driver");
    }
    found
}

fn sources(document: &serde_json::Value) -> Vec<&str> {
    json::list(document, "sources")
        .iter()
        .map(|source| source["id"].as_str().unwrap())
        .collect()
}

#[test]
fn the_report_explains_every_source_and_names_the_demonstration() {
    if has_a_driver() {
        return;
    }
    let ran = Program::line("--once").run();
    ran.ended(3);
    for words in SOURCES
        .iter()
        .chain(&["looked for", "libnvidia-ml.so.1", "gputaskman demo"])
    {
        assert!(ran.text().contains(words), "{words} in {}", ran.text());
    }
    assert_eq!(ran.stderr, "");
}

#[test]
fn the_document_has_no_device_and_every_source() {
    if has_a_driver() {
        return;
    }
    let ran = Program::line("--json").run();
    let document = ran.ended(3).json();
    assert_eq!(document["devices"], serde_json::json!([]));
    assert_eq!(sources(&document), SOURCES);
    assert_eq!(
        json::with(&document["sources"], "id", "nvml")["state"],
        "absent"
    );
    for source in json::list(&document, "sources") {
        assert_ne!(source["detail"], "", "{source}");
    }
    json::every_null_has_its_reason(&document);
    assert_eq!(ran.stderr, "");
}

#[test]
fn the_list_of_gpus_ends_with_code_3_in_both_forms() {
    if has_a_driver() {
        return;
    }
    let text = Program::line("--list-gpus").run();
    assert!(text.ended(3).text().contains("libnvidia-ml.so.1"));
    let document = Program::line("--list-gpus --json").run();
    let document = document.ended(3).json();
    assert_eq!(document["devices"], serde_json::json!([]));
    assert_eq!(sources(&document), SOURCES);
    json::every_null_has_its_reason(&document);
}

#[test]
fn a_gpu_number_without_any_gpu_is_no_wrong_number() {
    let empty = driver(Generation::R580, &Scenario::empty());
    for line in ["--gpu 5 --once", "--gpu 5 --json", "--gpu 5 --list-gpus"] {
        let ran = Program::line(line).driver(&empty).run();
        ran.ended(3);
        assert_ne!(ran.text(), "", "{line}");
    }
}

#[test]
fn without_terminal_and_mode_it_is_the_report_with_a_note() {
    let idle = driver(Generation::R580, &Scenario::idle());
    let ran = Program::line("").driver(&idle).run();
    ran.ended(0);
    assert!(
        ran.text().contains("NVIDIA GeForce RTX 4080"),
        "{}",
        ran.text()
    );
    assert!(ran.stderr.contains("--once"), "{}", ran.stderr);
    assert!(!ran.text().contains('\u{1b}'), "escapes in a report");

    let empty = driver(Generation::R580, &Scenario::empty());
    let ran = Program::line("").driver(&empty).run();
    assert!(ran.ended(3).text().contains("gputaskman demo"));
}

#[test]
fn a_driver_that_cannot_be_initialised_says_its_code_and_what_to_do() {
    for (code, number, words) in [
        (Code::DRIVER_NOT_LOADED, "error 9", "modprobe nvidia"),
        (Code::LIB_RM_VERSION_MISMATCH, "error 18", "reboot"),
        (Code::NO_PERMISSION, "error 4", "/dev/nvidia"),
    ] {
        let scenario = Scenario {
            init: code,
            ..Scenario::idle()
        };
        let broken = driver(Generation::R535, &scenario);
        let ran = Program::line("--once").driver(&broken).run();
        let text = ran
            .ended(3)
            .text()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(text.contains(number) && text.contains(words), "{text}");
        let document = Program::line("--json").driver(&broken).run();
        let document = document.ended(3).json();
        let state = &json::with(&document["sources"], "id", "nvml")["state"];
        assert!(state == "error" || state == "denied", "{state}");
    }
}

#[test]
fn a_card_that_no_driver_speaks_for_is_named() {
    let empty = driver(Generation::R580, &Scenario::empty());
    let machine = Machine::new();
    let ran = Program::line("--once")
        .driver(&empty)
        .root(machine.path())
        .run();
    let text = ran.ended(3).text();
    assert!(
        text.contains("0000:01:00.0") && text.contains("NVIDIA"),
        "{text}"
    );
}

#[test]
fn a_card_that_sleeps_is_shown_and_not_woken() {
    let machine = Machine::new();
    machine.file(
        "sys/bus/pci/devices/0000:01:00.0/power/runtime_status",
        "suspended\n",
    );
    let idle = driver(Generation::R580, &Scenario::idle());
    let ran = Program::line("--json")
        .driver(&idle)
        .root(machine.path())
        .run();
    let document = ran.ended(0).json();
    let device = json::with(&document["devices"], "index", 0);
    assert_eq!(device["power_state"], "suspended");
    assert_eq!(device["pci"], "0000:01:00.0");
    assert_eq!(device["memory"]["vram_used_bytes"], serde_json::Value::Null);
    assert_eq!(
        device["provenance"]["memory.vram_used_bytes"]["reason"],
        "asleep"
    );
    assert_eq!(
        json::with(&document["sources"], "id", "nvml")["state"],
        "skipped"
    );
    json::every_null_has_its_reason(&document);
}

#[test]
fn a_driver_that_cannot_count_its_devices_is_an_error_and_not_none() {
    let scenario =
        Scenario::workstation().with_fault(Fault::returning("nvmlDeviceGetCount*", Code(999)));
    let driver = driver(Generation::R580, &scenario);
    let ran = Program::line("--json").driver(&driver).run();
    let document = ran.ended(3).json();
    let source = json::with(&document["sources"], "id", "nvml");
    assert_eq!(source["state"], "error");
    assert!(
        source["detail"]
            .as_str()
            .unwrap()
            .contains("NVML error 999"),
        "{source}"
    );
}
