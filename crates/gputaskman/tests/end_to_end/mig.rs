//! GPUs in MIG mode: the whole and its instances, each with what it tells itself, and nothing counted twice.

use std::collections::BTreeMap;

use fake_nvml::{Code, Fault, Generation, Scenario};
use serde_json::Value;

use crate::support::json::{list, process};
use crate::support::{Machine, Program, driver, json};

const MIB: u64 = 1 << 20;

/// Where the driver's eighth device stands in the order of the program.
fn split(document: &Value) -> &Value {
    let mut devices = list(document, "devices").iter();
    devices.find(|it| it["pci"] == "0000:8b:00.0").unwrap()
}

fn document(generation: Generation, scenario: &Scenario) -> Value {
    let driver = driver(generation, scenario);
    let machine = Machine::new();
    let ran = Program::line("--json")
        .driver(&driver)
        .root(machine.path())
        .run();
    let document = ran.ended(0).json();
    json::every_null_has_its_reason(&document);
    document
}

/// Instance, process, bytes.
fn rows(document: &Value) -> Vec<(u64, u64, Option<u64>)> {
    let index = &split(document)["index"];
    let mut rows = Vec::new();
    for process in list(document, "processes") {
        for charge in list(process, "devices")
            .iter()
            .filter(|it| it["device_index"] == *index)
        {
            let gpu = charge["mig_instance"]["gpu"].as_u64().unwrap();
            assert_eq!(charge["engines"]["gpu_pct"], Value::Null);
            assert_eq!(charge["provenance"]["engines.gpu_pct"]["reason"], "mig");
            rows.push((
                gpu,
                process["pid"].as_u64().unwrap(),
                charge["memory"]["vram_bytes"].as_u64(),
            ));
        }
    }
    rows.sort_unstable();
    rows
}

fn expected_rows() -> Vec<(u64, u64, Option<u64>)> {
    (0..25)
        .map(|n| match n {
            0..12 => (1, 20_176 + n, Some(1600 * MIB)),
            12..20 => (5, 20_176 + n, Some(1000 * MIB)),
            20..24 => (9, 20_176 + n, Some(480 * MIB)),
            _ => (9, 20_176 + n, None),
        })
        .collect()
}

#[test]
fn instances_behind_a_hole_are_shown_with_their_memory_and_processes() {
    for generation in [Generation::R470, Generation::R535, Generation::R580] {
        let document = document(generation, &Scenario::servers());
        let device = split(&document);
        assert_eq!(device["mig"]["enabled"], true);
        let instances = list(&device["mig"], "instances");
        let told: Vec<_> = instances
            .iter()
            .map(|it| {
                (
                    it["index"].as_u64().unwrap(),
                    it["gpu_instance"].as_u64().unwrap(),
                    it["memory"]["vram_total_bytes"].as_u64().unwrap() / MIB,
                    it["memory"]["vram_used_bytes"].as_u64().unwrap() / MIB,
                    it["memory"]["vram_attributed_bytes"].as_u64().unwrap() / MIB,
                    it["listed"].as_u64().unwrap(),
                    it["attributes"]["gpu_slices"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (0, 1, 40_448, 21_000, 12 * 1600, 12, 3),
                (1, 5, 20_096, 8000, 8 * 1000, 8, 2),
                (3, 9, 9984, 2000, 4 * 480, 5, 1),
            ],
            "{generation:?}"
        );
        for instance in instances {
            assert_eq!(instance["gpu_pct"], Value::Null);
            assert_eq!(instance["provenance"]["gpu_pct"]["reason"], "mig");
            assert!(instance["uuid"].as_str().unwrap().starts_with("MIG-"));
        }
        // One row lacks a size, so the sum of its instance is a lower bound.
        let bound = &instances[2]["provenance"]["memory.vram_attributed_bytes"]["bound"];
        assert_eq!(bound, "lower");
        for field in [
            "gpu_pct",
            "memory_activity_pct",
            "encoder_pct",
            "decoder_pct",
        ] {
            assert_eq!(device[field], Value::Null);
            assert_eq!(device["provenance"][field]["reason"], "mig", "{field}");
        }
        assert_eq!(rows(&document), expected_rows(), "{generation:?}");
        // The whole is the driver's own figure, and its rows are there once.
        let memory = &device["memory"];
        assert_eq!(
            memory["vram_attributed_bytes"],
            (12 * 1600 + 8 * 1000 + 4 * 480) * MIB
        );
        let other = &list(&document, "devices")[0];
        assert_eq!(other["mig"]["enabled"], false);
        assert_eq!(other["mig"]["instances"], serde_json::json!([]));
    }
}

#[test]
fn what_the_whole_refuses_does_not_hide_its_instances() {
    let whole = document(Generation::R580, &Scenario::servers());
    for refused in [
        "nvmlDeviceGetMemoryInfo*",
        "nvmlDeviceGet*RunningProcesses*",
        "nvmlDeviceGetMigMode",
        "*",
    ] {
        let mut scenario = Scenario::servers();
        // With everything refused there is still the handle, the place on the bus, and the instances.
        let calls: &[&str] = match refused {
            "*" => &[
                "nvmlDeviceGetMemoryInfo*",
                "nvmlDeviceGet*RunningProcesses*",
                "nvmlDeviceGetMigMode",
                "nvmlDeviceGetPower*",
                "nvmlDeviceGetName",
            ],
            one => &[one],
        };
        for call in calls {
            scenario.faults.push(
                Fault::returning(call, Code::NO_PERMISSION)
                    .on(7)
                    .of_the_whole(),
            );
        }
        let document = document(Generation::R580, &scenario);
        let device = split(&document);
        let instances = |document: &Value| -> Vec<Value> {
            let all = list(&split(document)["mig"], "instances").iter();
            all.map(|it| {
                serde_json::json!([it["uuid"], it["memory"], it["listed"], it["attributes"]])
            })
            .collect()
        };
        assert_eq!(instances(&document), instances(&whole), "{refused}");
        assert_eq!(rows(&document), expected_rows(), "{refused}");
        assert_eq!(document["process_status"]["scan"], "complete", "{refused}");
        if refused.contains("Memory") || refused == "*" {
            assert_eq!(device["memory"]["vram_used_bytes"], Value::Null);
            let reason = &device["provenance"]["memory.vram_used_bytes"]["reason"];
            assert_eq!(reason, "permission");
        }
        if refused == "nvmlDeviceGetMigMode" {
            assert_eq!(device["mig"]["enabled"], Value::Null);
            assert_eq!(device["provenance"]["mig.enabled"]["reason"], "permission");
        }
    }
}

#[test]
fn a_list_without_instances_and_the_instances_lists_are_one_row_a_process() {
    let mut scenario = Scenario::servers();
    scenario.quirks.lists_without_instances = true;
    for generation in [Generation::R470, Generation::R535, Generation::R580] {
        let document = document(generation, &scenario);
        assert_eq!(rows(&document), expected_rows(), "{generation:?}");
        let total = &split(&document)["memory"]["vram_attributed_bytes"];
        assert_eq!(*total, (12 * 1600 + 8 * 1000 + 4 * 480) * MIB);
    }
}

#[test]
fn a_process_on_two_instances_has_a_row_on_each() {
    let mut scenario = Scenario::servers();
    scenario.devices[7].processes = vec![
        fake_nvml::Process::new(77, fake_nvml::Kind::Compute, 300 * MIB).on_instance(1, 0),
        fake_nvml::Process::new(77, fake_nvml::Kind::Compute, 200 * MIB).on_instance(9, 0),
        // In both of the lists of its instance: once.
        fake_nvml::Process::new(78, fake_nvml::Kind::Both, 100 * MIB).on_instance(9, 0),
    ];
    for plain in [false, true] {
        scenario.quirks.lists_without_instances = plain;
        let document = document(Generation::R580, &scenario);
        let charges: BTreeMap<u64, u64> = list(process(&document, 77), "devices")
            .iter()
            .map(|it| {
                let gpu = it["mig_instance"]["gpu"].as_u64().unwrap();
                (gpu, it["memory"]["vram_bytes"].as_u64().unwrap() / MIB)
            })
            .collect();
        assert_eq!(charges, BTreeMap::from([(1, 300), (9, 200)]));
        let device = split(&document);
        assert_eq!(device["memory"]["vram_attributed_bytes"], 600 * MIB);
        let held: Vec<_> = list(&device["mig"], "instances")
            .iter()
            .map(|it| it["memory"]["vram_attributed_bytes"].as_u64().unwrap() / MIB)
            .collect();
        assert_eq!(held, [300, 0, 300]);
    }
}

#[test]
fn the_report_and_the_list_of_gpus_name_the_instances() {
    let driver = driver(Generation::R580, &Scenario::servers());
    let machine = Machine::new();
    let run = |line: &str| {
        let ran = Program::line(line)
            .driver(&driver)
            .root(machine.path())
            .run();
        ran.ended(0);
        ran.text().to_owned()
    };
    let listed = run("--list-gpus");
    for words in [
        "MIG 1/0  3g.40gb",
        "MIG 5/0  2g.20gb",
        "MIG 9/0  1g.10gb",
        "MIG-51d00000",
    ] {
        assert!(listed.contains(words), "{words} in {listed}");
    }
    let report = run("--once");
    for words in [
        "3 instances",
        "7.81 GiB of 19.6 GiB used",
        "12 processes",
        "MIG 5/0",
    ] {
        assert!(report.contains(words), "{words} in {report}");
    }
    let json: Value = serde_json::from_str(&run("--list-gpus --json")).unwrap();
    let devices = list(&json, "devices");
    let counts: Vec<usize> = devices
        .iter()
        .map(|it| list(it, "instances").len())
        .collect();
    assert_eq!(counts, [0, 0, 0, 0, 0, 0, 0, 3]);
}

/// The document, the report and the list of GPUs.
fn told(scenario: &Scenario) -> (Value, String, String) {
    let driver = driver(Generation::R580, scenario);
    let machine = Machine::new();
    let run = |line: &str| {
        let ran = Program::line(line).driver(&driver).root(machine.path());
        let ran = ran.run();
        ran.ended(0);
        // The report is wrapped.
        let words: Vec<&str> = ran.text().split_whitespace().collect();
        words.join(" ")
    };
    let document = document(Generation::R580, scenario);
    (document, run("--once"), run("--list-gpus"))
}

#[test]
fn instances_that_the_driver_does_not_count_are_missing_with_its_reason() {
    let fault = Fault::returning("nvmlDeviceGetMaxMigDeviceCount", Code::NO_PERMISSION);
    let (document, report, listed) = told(&Scenario::servers().with_fault(fault.on(7)));
    let device = split(&document);
    assert_eq!(device["mig"]["enabled"], true);
    assert_eq!(device["mig"]["instances"], serde_json::json!([]));
    let trace = &device["provenance"]["mig.instances"];
    assert_eq!(trace["reason"], "permission");
    assert_eq!(trace["counter"], "DeviceGetMaxMigDeviceCount");
    assert!(report.contains("MIG on instances n/a"), "{report}");
    assert!(report.contains("MIG instances of GPU"), "{report}");
    assert!(listed.contains("MIG instances are not known: "), "{listed}");
}

#[test]
fn slots_that_are_refused_are_not_counted_as_instances() {
    let refused = Fault::returning("nvmlDeviceGetMigDeviceHandleByIndex", Code::NO_PERMISSION);
    let (document, report, listed) = told(&Scenario::servers().with_fault(refused.on(7)));
    for slot in list(&split(&document)["mig"], "instances") {
        assert_eq!(slot["uuid"], Value::Null);
        assert_eq!(slot["provenance"]["uuid"]["reason"], "permission");
    }
    for text in [&report, &listed] {
        assert!(text.contains("7 slots could not be read: "), "{text}");
        assert!(!text.contains("7 instances"), "{text}");
        assert!(!text.contains("MIG slot"), "{text}");
    }
    assert!(report.contains("no instance that can be seen"), "{report}");
}

#[test]
fn a_card_that_knows_no_mig_says_so() {
    for generation in Generation::ALL {
        let document = document(generation, &Scenario::workstation());
        let device = &document["devices"][0];
        assert_eq!(device["mig"], Value::Null);
        let reason = if generation == Generation::R390 {
            "symbol_absent"
        } else {
            "not_supported"
        };
        assert_eq!(device["provenance"]["mig"]["reason"], reason);
    }
}
