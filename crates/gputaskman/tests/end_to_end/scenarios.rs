//! Drivers that misbehave: what fails is missing with its reason, and nothing else is.

use std::time::Duration;

use fake_nvml::{Code, Device, Fault, Generation, Kind, Process, Scenario};
use raw::nvml::DeviceCall;
use serde_json::Value;

use crate::support::json::{has_notice, leaves, list, process, with};
use crate::support::{Machine, Program, Task, children, driver, json};

const GIB: u64 = 1 << 30;

fn document(generation: Generation, scenario: &Scenario) -> Value {
    let driver = driver(generation, scenario);
    let ran = Program::line("--json").driver(&driver).run();
    let document = ran.ended(0).json();
    json::every_null_has_its_reason(&document);
    document
}

#[test]
fn an_idle_card_has_measured_zeros_and_no_process() {
    for generation in Generation::ALL {
        let document = document(generation, &Scenario::idle());
        let device = &document["devices"][0];
        assert_eq!(device["gpu_pct"], 0.0);
        assert_eq!(device["provenance"]["gpu_pct"]["class"], "measured");
        assert_eq!(document["processes"], serde_json::json!([]));
        assert_eq!(document["totals"]["measured_process_vram_bytes"], 0);
        assert_eq!(document["process_status"]["scan"], "complete");
    }
}

#[test]
fn devices_are_numbered_by_memory_and_then_by_bus_whatever_the_driver_says() {
    let card = |name: &str, gib: u64, pci: &str| Device {
        memory_total: (gib * GIB).into(),
        pci: pci.to_owned(),
        ..Device::new(name)
    };
    let cards = [
        card("small", 8, "00000000:01:00.0"),
        card("twin behind", 24, "00000000:81:00.0"),
        card("twin before", 24, "00000000:41:00.0"),
        card("large", 48, "00000000:C1:00.0"),
    ];
    let order = ["large", "twin before", "twin behind", "small"];
    for turn in 0..cards.len() {
        let mut devices = cards.to_vec();
        devices.rotate_left(turn);
        if turn % 2 == 1 {
            devices.reverse();
        }
        let scenario = Scenario {
            devices,
            ..Scenario::default()
        };
        let driver = driver(Generation::R580, &scenario);
        let document = Program::line("--json")
            .driver(&driver)
            .run()
            .ended(0)
            .json();
        let names: Vec<&Value> = list(&document, "devices")
            .iter()
            .map(|it| &it["name"])
            .collect();
        assert_eq!(names, order);
        let text = Program::line("--list-gpus").driver(&driver).run();
        let places: Vec<_> = order.map(|name| text.text().find(name).unwrap()).into();
        assert!(places.is_sorted(), "{}", text.text());
        for (index, name) in order.iter().enumerate() {
            let chosen = Program::new(["--json", "--gpu", &index.to_string()])
                .driver(&driver)
                .run();
            let chosen = chosen.ended(0).json();
            assert_eq!(list(&chosen, "devices").len(), 1);
            assert_eq!(chosen["devices"][0]["name"], *name);
            assert_eq!(chosen["devices"][0]["index"], index);
        }
    }
}

#[test]
fn a_failing_call_takes_away_its_own_reading_only() {
    let scenario = Scenario::workstation();
    let machine = Machine::new();
    for pid in 4001..=4012 {
        machine.add(&Task::new(pid, "worker"));
    }
    let run = |scenario: &Scenario| {
        let driver = driver(Generation::R580, scenario);
        let ran = Program::line("--json")
            .driver(&driver)
            .root(machine.path())
            .run();
        ran.ended(0).json()
    };
    let whole = run(&scenario);
    for call in DeviceCall::ALL {
        let is_list = call.name().contains("Process");
        for code in [Code::NOT_SUPPORTED, Code::NO_PERMISSION, Code::UNKNOWN] {
            let name = format!("nvml{}*", call.name());
            let broken = run(&scenario.clone().with_fault(Fault::returning(&name, code)));
            json::every_null_has_its_reason(&broken);
            for leaf in leaves(&broken) {
                let known = leaves(&whole).into_iter().find(|it| it.path == leaf.path);
                let Some(known) = known else { continue };
                let last = leaf.path.rsplit('.').next().unwrap();
                if known.value == leaf.value || ["timestamp", "start_time"].contains(&last) {
                    continue;
                }
                if leaf.value.is_null() || !leaf.value.is_number() {
                    continue;
                }
                // Other numbers: sums over the lists, where a list is missing.
                assert!(is_list, "{name} {code:?}: {} is {}", leaf.path, leaf.value);
                assert_ne!(
                    leaf.value.as_f64(),
                    Some(0.0),
                    "{name} {code:?}: {}",
                    leaf.path
                );
            }
            let lost = leaves(&broken)
                .iter()
                .filter(|leaf| leaf.value.is_null())
                .count();
            let had = leaves(&whole)
                .iter()
                .filter(|leaf| leaf.value.is_null())
                .count();
            // Memory has six fields with what follows from them, the samples five for each of twelve processes.
            let most = if is_list { 100 } else { 8 };
            assert!(
                lost <= had + most,
                "{name} {code:?}: {lost} nulls instead of {had}"
            );
        }
    }
}

#[test]
fn each_faulty_card_keeps_what_it_can_tell() {
    let processes = children::many(7);
    let mut scenario = Scenario::faulty().with_pids(processes.iter().map(children::Waiting::pid));
    for (slot, device) in scenario.devices.iter_mut().enumerate() {
        device.pci = format!("00000000:{:02X}:00.0", 0x11 + slot);
    }
    for generation in Generation::ALL {
        let document = document(generation, &scenario);
        assert_eq!(list(&document, "devices").len(), 5, "{generation:?}");
        let by_bus = |slot: usize| {
            let pci = format!("0000:{:02x}:00.0", 0x11 + slot);
            with(&document["devices"], "pci", pci)
        };
        // 0: garbage among its samples.
        for child in &processes[..3] {
            let charge = &process(&document, child.pid())["devices"][0];
            assert_eq!(
                charge["engines"]["gpu_pct"], 20.0,
                "{generation:?} {charge}"
            );
        }
        // 2: reports almost nothing.
        let silent = by_bus(2);
        assert_eq!(silent["power_watts"], Value::Null);
        assert!(silent["memory"]["vram_total_bytes"].is_u64());
        assert!(silent["temperature_celsius"].is_number());
        // 3: refuses its lists.
        let closed = by_bus(3);
        assert!(closed["memory"]["vram_used_bytes"].is_u64());
        assert_eq!(
            closed["memory"]["vram_attributed_bytes"],
            Value::Null,
            "{generation:?}"
        );
        assert_eq!(document["process_status"]["scan"], "partial");
        // 4: gives no handle; it is listed last and says why.
        let lost = list(&document, "devices").last().unwrap();
        assert_eq!(lost["name"], Value::Null);
        assert_eq!(lost["provenance"]["name"]["reason"], "gpu_lost");
        let subject = format!("gpu:{}", lost["index"]);
        has_notice(&document, &subject, "device_lost");
    }
}

#[test]
fn a_card_lost_while_it_is_watched_keeps_no_load() {
    let scenario = Scenario::faulty();
    let folder = crate::support::Folder::new();
    let driver = driver(Generation::R580, &scenario);
    let ran = Program::line("record --json --redact none -i 0.25 --count 4 -o")
        .arg(folder.at("faulty.ndjson"))
        .driver(&driver)
        .run();
    let documents = ran.ended(0).lines();
    let last = documents.last().unwrap();
    let lost: Vec<&Value> = list(last, "notices")
        .iter()
        .filter(|notice| notice["code"] == "device_lost")
        .collect();
    assert_eq!(lost.len(), 2, "{}", last["notices"]);
    for document in &documents {
        json::every_null_has_its_reason(document);
        let count = list(document, "devices").len();
        assert!(
            count == 5 || (count == 0 && document["pending"] == true),
            "{document}"
        );
    }
}

#[test]
fn a_hanging_card_holds_up_neither_the_report_nor_the_other_card() {
    let processes = children::many(2);
    let pids = || processes.iter().map(children::Waiting::pid);
    let mut first_hangs = Scenario::hanging().with_pids(pids());
    first_hangs.devices.swap(0, 1);
    for fault in &mut first_hangs.faults {
        fault.device = Some(0);
    }
    for scenario in [Scenario::hanging().with_pids(pids()), first_hangs] {
        for generation in Generation::ALL {
            let driver = driver(generation, &scenario);
            let ran = Program::line("--json").driver(&driver).run();
            let document = ran.ended(0).json();
            json::every_null_has_its_reason(&document);
            // A sweep is given up after 2 s and the next one leaves the card out; far less than the hang.
            assert!(ran.took < Duration::from_secs(12), "{:?}", ran.took);
            assert_eq!(list(&document, "devices").len(), 2, "{generation:?}");
            let (known, hung): (Vec<&Value>, Vec<&Value>) = list(&document, "devices")
                .iter()
                .partition(|device| device["gpu_pct"].is_number());
            assert_eq!(
                (known.len(), hung.len()),
                (1, 1),
                "{generation:?}: {document}"
            );
            assert!(known[0]["memory"]["vram_used_bytes"].is_u64());
            assert_eq!(hung[0]["provenance"]["gpu_pct"]["reason"], "timed_out");
            assert_eq!(
                hung[0]["provenance"]["memory.vram_used_bytes"]["reason"],
                "timed_out"
            );
            let rows: Vec<u32> = list(&document, "processes")
                .iter()
                .map(json::number_of)
                .collect();
            assert_eq!(rows, [processes[0].pid()], "{generation:?}");
            let subject = format!("gpu:{}", hung[0]["index"]);
            has_notice(&document, &subject, "device_hung");
            assert_eq!(document["process_status"]["scan"], "partial");
        }
    }
}

#[test]
fn numbers_of_samples_that_are_of_another_namespace_are_joined_to_nothing() {
    let processes = children::many(2);
    let scenario =
        Scenario::container_split().with_pids(processes.iter().map(children::Waiting::pid));
    for generation in Generation::ALL {
        let document = document(generation, &scenario);
        assert_eq!(list(&document, "processes").len(), 2);
        for child in &processes {
            let charge = &process(&document, child.pid())["devices"][0];
            assert_eq!(charge["memory"]["vram_bytes"], 900 << 20);
            assert_eq!(charge["engines"]["gpu_pct"], Value::Null);
            assert_eq!(
                charge["provenance"]["engines.gpu_pct"]["reason"],
                "pid_split"
            );
        }
    }
}

#[test]
fn a_chip_that_shares_the_systems_memory_has_none_of_its_own_and_not_zero() {
    let processes = children::many(1);
    let scenario = Scenario::unified().with_pids(processes.iter().map(children::Waiting::pid));
    for generation in Generation::ALL {
        let document = document(generation, &scenario);
        let device = &document["devices"][0];
        assert_eq!(device["kind"], "unified", "{generation:?}");
        for field in [
            "vram_total_bytes",
            "vram_used_bytes",
            "vram_free_bytes",
            "vram_unattributed_bytes",
        ] {
            assert_eq!(
                device["memory"][field],
                Value::Null,
                "{generation:?} {field}"
            );
        }
        assert_eq!(
            device["provenance"]["memory.vram_total_bytes"]["reason"],
            "not_supported"
        );
        let charge = &process(&document, processes[0].pid())["devices"][0];
        assert_eq!(charge["memory"]["vram_bytes"], 3000_u64 << 20);
        let text = Program::line("--once")
            .driver(&driver(generation, &scenario))
            .run();
        assert!(text.ended(0).text().contains("n/a"), "{}", text.text());
    }
}

#[test]
fn both_layouts_of_the_third_process_list_are_told_apart_and_never_overrun() {
    let processes: Vec<Process> = (0..40)
        .map(|number| Process::new(30_000 + number, Kind::Compute, u64::from(number + 1) << 20))
        .collect();
    let mut card = Device::new("NVIDIA RTX A4000");
    card.processes = processes;
    for bytes in [24, 32] {
        for generation in [Generation::R580, Generation::R535] {
            let mut scenario = Scenario::default().with_device(card.clone());
            scenario.quirks.v3_entry_bytes = Some(bytes);
            scenario.quirks.guard_v3_lists = true;
            let document = document(generation, &scenario);
            assert_eq!(
                list(&document, "processes").len(),
                40,
                "{generation:?} {bytes}"
            );
            for number in 0..40_u32 {
                let row = process(&document, 30_000 + number);
                let memory = &row["devices"][0]["memory"]["vram_bytes"];
                assert_eq!(
                    *memory,
                    u64::from(number + 1) << 20,
                    "{generation:?} {bytes}"
                );
            }
        }
    }
}

#[test]
fn a_list_that_grows_between_two_calls_is_read_whole_or_says_so() {
    let scenario = Scenario::workstation().with_fault(Fault {
        until: Some(1),
        ..Fault::returning(
            "nvmlDeviceGetComputeRunningProcesses*",
            Code::INSUFFICIENT_SIZE,
        )
    });
    for generation in Generation::ALL {
        let document = document(generation, &scenario);
        let compute = list(&document, "processes")
            .iter()
            .flat_map(|process| list(process, "devices"))
            .filter(|charge| list(charge, "lists").contains(&"compute".into()))
            .count();
        assert!(
            compute == 8 || document["process_status"]["scan"] == "partial",
            "{generation:?}: {compute}"
        );
    }
}

#[test]
fn a_driver_that_never_gets_ready_is_waited_for_and_then_told_of() {
    // Initialising the library, getting the number of devices, getting the handle of one of two.
    let hang = |call: &str| Fault::sleeping(call, 3_600_000);
    let two = || {
        Scenario::default()
            .with_device(Device::new("A"))
            .with_device(Device::new("B"))
    };
    let scenarios = [
        (two().with_fault(hang("nvmlInit*")), 3),
        (two().with_fault(hang("nvmlDeviceGetCount*")), 3),
        (
            two().with_fault(hang("nvmlDeviceGetHandleByIndex*").on(0)),
            0,
        ),
    ];
    // All at once: each takes the 20 s that a device without persistence mode may need.
    let drivers = scenarios.map(|(scenario, code)| (driver(Generation::R580, &scenario), code));
    let started: Vec<_> = drivers
        .iter()
        .map(|(driver, code)| (Program::line("--json").driver(driver).start(), *code))
        .collect();
    for (started, code) in started {
        let ran = started.finish();
        let document = ran.ended(code).json();
        json::every_null_has_its_reason(&document);
        assert!(ran.took < Duration::from_secs(40), "{:?}", ran.took);
        assert!(ran.stderr.contains("20 s"), "{}", ran.stderr);
        if code == 0 {
            assert_eq!(list(&document, "devices").len(), 2);
            assert_eq!(document["devices"][0]["name"], "B");
            assert_eq!(document["devices"][0]["gpu_pct"], 0.0);
            assert_eq!(document["devices"][1]["gpu_pct"], Value::Null);
        } else {
            let state = &with(&document["sources"], "id", "nvml")["state"];
            assert!(state == "pending" || state == "timeout", "{state}");
            assert!(document["totals"]["measured_process_vram_bytes"].is_null());
        }
    }
}
