//! Modes, errors, links and the engines that only newer drivers tell of, in all generations.

use fake_nvml::{Code, Fault, Generation};
use serde_json::{Value, json};

use crate::support::json::list;
use crate::support::{Program, captures, driver, rich};

/// The document of the machine with everything, and what its driver answers.
fn document(generation: Generation, faults: &[Fault]) -> Value {
    let (machine, mut scenario) = rich::machine();
    scenario.faults.extend(faults.iter().cloned());
    let driver = driver(generation, &scenario);
    Program::line("--json")
        .driver(&driver)
        .root(machine.path())
        .run()
        .ended(0)
        .json()
}

fn reason<'a>(object: &'a Value, path: &str) -> &'a Value {
    &object["provenance"][path]["reason"]
}

/// JPEG and OFA load of the first process of the scenario.
fn load(document: &Value) -> &Value {
    let process = list(document, "processes")
        .iter()
        .find(|process| process["pid"] == 4001)
        .unwrap();
    &process["devices"][0]
}

#[test]
fn every_generation_tells_what_it_has_a_call_for_and_why_not() {
    for generation in Generation::ALL {
        let document = document(generation, &[]);
        let device = &document["devices"][0];
        let details = &device["details"];
        let newer = generation >= Generation::R535;
        for (key, value) in [
            (
                "clocks_event_reasons",
                json!(["sw_power_cap", "board_limit", "0x1000"]),
            ),
            ("clocks_event_reasons_mask", json!("0x1204")),
            ("total_energy_millijoules", json!(1_000_000_000)),
            ("persistence_mode", json!(false)),
            ("compute_mode", json!("default")),
            ("ecc_mode", json!(true)),
            ("ecc_mode_pending", json!(false)),
            ("ecc_volatile_corrected", json!(3)),
            ("ecc_volatile_uncorrected", json!(1)),
            ("ecc_aggregate_corrected", json!(40)),
            ("ecc_aggregate_uncorrected", json!(2)),
            ("retired_pages_single_bit", json!(2)),
            ("retired_pages_double_bit", json!(1)),
            ("retired_pages_pending", json!(true)),
            ("vbios_version", json!("95.03.1E.00.01")),
            ("board_part_number", json!("900-5G133-1700-000")),
        ] {
            assert_eq!(details[key], value, "{key} of {generation:?}");
        }
        let counter = &device["provenance"]["details.clocks_event_reasons"]["counter"];
        let name = if newer { "Event" } else { "Throttle" };
        assert_eq!(*counter, format!("GetCurrentClocks{name}Reasons"));
        for (key, value) in [
            ("remapped_rows_correctable", json!(4)),
            ("remapped_rows_uncorrectable", json!(5)),
            ("remapped_rows_pending", json!(true)),
            ("remapped_rows_failed", json!(true)),
        ] {
            if generation == Generation::R390 {
                assert_eq!(details[key], Value::Null);
                let path = format!("details.{key}");
                assert_eq!(reason(device, &path), "symbol_absent");
            } else {
                assert_eq!(details[key], value, "{key} of {generation:?}");
            }
        }
        let links = list(details, "nvlinks");
        assert_eq!(links.len(), 2);
        assert_eq!(links[0]["active"], true);
        assert_eq!(links[0]["version"], "4.0");
        assert_eq!(links[0]["remote_pci"], "0000:c5:00.0");
        assert_eq!(links[1]["active"], false);
        assert_eq!(reason(&links[1], "remote_pci"), "not_applicable");
        assert!(!device.to_string().contains("serial"));

        let charge = load(&document);
        for (key, of_device, of_process) in [("jpeg_pct", 21.0, 31.0), ("ofa_pct", 22.0, 32.0)] {
            let path = format!("engines.{key}");
            if newer {
                assert_eq!(device[key], of_device, "{generation:?}");
                assert_eq!(charge["engines"][key], of_process);
            } else {
                assert_eq!(device[key], Value::Null, "{generation:?}");
                assert_eq!(reason(device, key), "symbol_absent");
                assert_eq!(charge["engines"][key], Value::Null);
                assert_eq!(reason(charge, &path), "symbol_absent");
            }
        }
        // The busiest engine of those that are told of.
        let busiest = if newer { 32.0 } else { 3.0 };
        assert_eq!(charge["engines"]["gpu_pct"], busiest, "{generation:?}");
        assert_eq!(charge["engines"]["compute_pct"], 3.0);
    }
}

#[test]
fn where_the_newer_call_is_refused_the_older_one_gives_what_it_has() {
    let name = "nvmlDeviceGetProcessesUtilizationInfo";
    for (code, why) in [
        (Code::NOT_SUPPORTED, "not_supported"),
        (Code::NO_PERMISSION, "permission"),
        (Code::ARGUMENT_VERSION_MISMATCH, "driver_error"),
    ] {
        let document = document(Generation::R580, &[Fault::returning(name, code)]);
        let charge = load(&document);
        let engines = &charge["engines"];
        assert_eq!(
            (&engines["compute_pct"], &engines["gpu_pct"]),
            (&json!(3.0), &json!(3.0))
        );
        assert_eq!(engines["jpeg_pct"], Value::Null);
        assert_eq!(reason(charge, "engines.jpeg_pct"), why);
        assert_eq!(reason(charge, "engines.ofa_pct"), why);
    }
}

#[test]
fn a_report_shows_what_holds_clocks_and_errors_and_nothing_where_all_is_well() {
    let (machine, mut scenario) = rich::machine();
    let report = |scenario: &fake_nvml::Scenario| {
        let driver = driver(Generation::R580, scenario);
        let line = Program::line("--once").driver(&driver).root(machine.path());
        line.run().ended(0).text().to_owned()
    };
    let text = report(&scenario);
    for words in [
        "clocks held by SW power cap, board limit, 0x1000 (0x1204)",
        "1 uncorrected ECC since the driver load",
        "row remapping waits for a reset",
        "row remapping has failed",
        "jpeg 21%  ofa 22%",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    for mask in [0, 1] {
        scenario.devices[0] = fake_nvml::Device {
            clocks_event_reasons: mask.into(),
            ..fake_nvml::Device::default()
        };
        let text = report(&scenario);
        assert!(!text.contains("  limits"), "{text}");
        assert!(!text.contains("  errors"), "{text}");
    }
}

#[test]
fn a_recording_without_the_details_misses_them_and_nothing_else() {
    let (machine, scenario) = rich::machine();
    let driver = driver(Generation::R580, &scenario);
    let folder = crate::support::Folder::new();
    let file = folder.at("capture.ndjson");
    let recorded = Program::line("record --json -i 0.25 --count 2 --redact none -o")
        .arg(&file)
        .driver(&driver)
        .root(machine.path())
        .run();
    recorded.ended(0);
    // As a version recorded it that did not know these calls.
    let newer = |question: &str| {
        let Some((_, call)) = question.split_once('/') else {
            return false;
        };
        let known = raw::nvml::DeviceCall::ALL
            .iter()
            .find(|known| known.name() == call);
        known.is_some_and(|call| call.group() == raw::nvml::Groups::DETAILS)
    };
    let capture = captures::load(&file).without_matching(|_, question| newer(question));
    let mut replay = raw::capture::ReplayMachine::new(std::sync::Arc::new(capture));
    let mut collector = collect::Collector::new(raw::Machine::facts(&replay));
    let mut lines = 0;
    while let Ok(tick) = raw::Machine::begin_tick(&mut replay, &raw::TickPlan::default()) {
        let snapshot = collector.tick(&mut replay, tick);
        let document: Value = serde_json::from_str(&output::json::to_line(&snapshot)).unwrap();
        let Some(device) = document["devices"].get(0) else {
            continue;
        };
        lines += 1;
        for key in ["ecc_mode", "nvlinks", "total_energy_millijoules"] {
            assert_eq!(device["details"][key], Value::Null);
            let path = format!("details.{key}");
            assert_eq!(reason(device, &path), "not_recorded");
        }
        assert_eq!(device["details"]["clocks_event_reasons_mask"], "0x1204");
        assert_eq!(device["temperature_celsius"], 64.0);
    }
    assert!(lines >= 2, "{lines}");
}
