//! Four driver generations, one machine: the same processes with the same memory, and every difference has its reason.

use std::collections::BTreeMap;

use fake_nvml::{Generation, Kind, Scenario};
use serde_json::Value;

use crate::support::json::{Leaf, leaves, list, number_of};
use crate::support::{Program, children, driver, json};

/// Changes from run to run, or is the driver's own name.
fn is_of_the_run(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap();
    ["timestamp", "start_time", "driver", "cuda"].contains(&last)
        || path == "sources.nvml.detail"
        // What a window holds depends on when it was opened.
        || path == "sample_ms"
}

/// Follows from the reserved part, which older drivers count as used.
fn depends_on_reserved(path: &str) -> bool {
    [
        "memory.vram_reserved_bytes",
        "memory.vram_used_bytes",
        "memory.vram_unattributed_bytes",
        "categories.unattributed.vram_bytes",
    ]
    .iter()
    .any(|end| path.ends_with(end))
}

/// Process, memory, lists, instance.
type Row = (u32, Option<u64>, Vec<String>);

fn rows(document: &Value) -> Vec<Row> {
    let mut rows: Vec<Row> = list(document, "processes")
        .iter()
        .flat_map(|process| {
            list(process, "devices").iter().map(|charge| {
                let lists = list(charge, "lists").iter();
                (
                    number_of(process),
                    charge["memory"]["vram_bytes"].as_u64(),
                    lists
                        .map(|name| name.as_str().unwrap().to_owned())
                        .collect(),
                )
            })
        })
        .collect();
    rows.sort();
    rows
}

fn by_path(document: &Value) -> BTreeMap<String, Leaf<'_>> {
    leaves(document)
        .into_iter()
        .map(|leaf| (leaf.path.clone(), leaf))
        .collect()
}

/// What the scenario says, as rows.
fn expected(scenario: &Scenario, has_mps_list: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = scenario
        .devices
        .iter()
        .flat_map(|device| &device.processes)
        .filter(|process| has_mps_list || process.kind != Kind::Mps)
        .map(|process| {
            let fake_nvml::Pid::Literal(pid) = process.pid else {
                panic!("{process:?}")
            };
            let memory = match process.memory {
                fake_nvml::Value::Number(bytes) => Some(bytes),
                _ => None,
            };
            let lists: &[&str] = match process.kind {
                Kind::Compute => &["compute"],
                Kind::Graphics => &["graphics"],
                Kind::Both => &["compute", "graphics"],
                Kind::Mps => &["mps"],
                Kind::Unlisted => &[],
            };
            (
                pid,
                memory,
                lists.iter().map(|name| (*name).to_owned()).collect(),
            )
        })
        .collect();
    rows.sort();
    rows
}

fn has_mps_list(generation: Generation) -> bool {
    generation != Generation::R390
}

#[test]
fn a_workstation_has_the_same_processes_and_memory_on_every_generation() {
    let processes = children::many(12);
    let scenario = Scenario::workstation().with_pids(processes.iter().map(children::Waiting::pid));
    let mut documents = Vec::new();
    for generation in Generation::ALL {
        let driver = driver(generation, &scenario);
        let ran = Program::line("--json").driver(&driver).run();
        let document = ran.ended(0).json();
        json::every_null_has_its_reason(&document);
        assert_eq!(
            rows(&document),
            expected(&scenario, has_mps_list(generation)),
            "{generation:?}"
        );
        if has_mps_list(generation) {
            assert_eq!(document["notices"], serde_json::json!([]));
        } else {
            json::has_notice(&document, "nvml", "no_mps_list");
        }
        documents.push((generation, document));
    }
    let (_, newest) = documents
        .iter()
        .find(|(generation, _)| *generation == Generation::R580)
        .unwrap();
    let newest = by_path(newest);
    for (generation, document) in &documents {
        let here = by_path(document);
        for (path, leaf) in &here {
            if is_of_the_run(path) || path.starts_with("notices") {
                continue;
            }
            match newest.get(path) {
                Some(known) if known.value == leaf.value && known.reason() == leaf.reason() => {}
                Some(_) if leaf.value.is_null() => {
                    assert_eq!(
                        leaf.reason(),
                        Some("symbol_absent"),
                        "{generation:?}: {path}"
                    );
                }
                Some(known) if generation.name() == "r390" && is_about_lists(path) => {
                    // One process fewer is listed.
                    assert!(known.value.is_number(), "{path}");
                }
                _ => assert!(
                    depends_on_reserved(path),
                    "{generation:?}: {path} {}",
                    leaf.value
                ),
            }
        }
        for path in newest.keys().filter(|path| !here.contains_key(*path)) {
            if path.starts_with("notices") {
                continue;
            }
            let of_the_mps_client = newest[path].path.contains(&processes[9].pid().to_string());
            assert!(of_the_mps_client, "{generation:?} lacks {path}");
        }
    }
}

/// Counts and sums over the process lists.
fn is_about_lists(path: &str) -> bool {
    [
        "process_status.listed",
        "totals.measured_process_vram_bytes",
    ]
    .contains(&path)
        || path.ends_with("memory.vram_attributed_bytes")
        || path.contains(".categories.")
}

#[test]
fn used_memory_of_old_drivers_contains_the_reserved_part() {
    let scenario = Scenario::workstation();
    let used = |generation| {
        let driver = driver(generation, &scenario);
        let document = Program::line("--json")
            .driver(&driver)
            .run()
            .ended(0)
            .json();
        let memory = document["devices"][0]["memory"].clone();
        (
            memory["vram_used_bytes"].as_u64().unwrap(),
            memory["vram_reserved_bytes"].as_u64(),
        )
    };
    let (new, reserved) = used(Generation::R580);
    for generation in [Generation::R470, Generation::R390] {
        assert_eq!(
            used(generation),
            (new + reserved.unwrap(), None),
            "{generation:?}"
        );
    }
    assert_eq!(used(Generation::R535), (new, reserved));
}

#[test]
fn two_hundred_processes_on_eight_gpus_are_two_hundred_rows() {
    let processes = children::many(200);
    let scenario = Scenario::servers().with_pids(processes.iter().map(children::Waiting::pid));
    for generation in Generation::ALL {
        let driver = driver(generation, &scenario);
        let ran = Program::line("--json").driver(&driver).run();
        let document = ran.ended(0).json();
        json::every_null_has_its_reason(&document);
        let expected = expected(&scenario, has_mps_list(generation));
        if has_mps_list(generation) {
            assert_eq!(expected.len(), 200);
        }
        assert_eq!(rows(&document), expected, "{generation:?}");
        assert_eq!(list(&document, "processes").len(), expected.len());
        assert_eq!(document["process_status"]["listed"], expected.len());
        let indices: Vec<&Value> = list(&document, "devices")
            .iter()
            .map(|device| &device["index"])
            .collect();
        assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7], "{generation:?}");
        let text = Program::line("--once").driver(&driver).run();
        for process in &processes[..50] {
            assert!(text.ended(0).text().contains(&process.pid().to_string()));
        }
    }
}

/// A scenario, its cards that answer, and whose processes are listed.
type Table = (&'static str, Scenario, usize, &'static [u32]);

#[test]
fn the_smaller_scenarios_give_their_tables_on_every_generation() {
    let tables: [Table; 4] = [
        ("idle", Scenario::idle(), 1, &[]),
        (
            "container_split",
            Scenario::container_split(),
            1,
            &[324, 331],
        ),
        ("unified", Scenario::unified(), 1, &[7001]),
        // The second is lost before its lists are read, the fourth refuses them, the fifth has no handle.
        ("faulty", Scenario::faulty(), 5, &[5001, 5002, 5003, 5006]),
    ];
    for (name, scenario, devices, pids) in tables {
        for generation in Generation::ALL {
            let driver = driver(generation, &scenario);
            let ran = Program::line("--json").driver(&driver).run();
            let document = ran.ended(0).json();
            json::every_null_has_its_reason(&document);
            let mut expected = expected(&scenario, has_mps_list(generation));
            expected.retain(|(pid, ..)| pids.contains(pid));
            assert_eq!(expected.len(), pids.len(), "{name}");
            assert_eq!(rows(&document), expected, "{name} on {generation:?}");
            assert_eq!(
                list(&document, "devices").len(),
                devices,
                "{name} on {generation:?}"
            );
        }
    }
}

#[test]
fn load_of_a_process_on_a_partitioned_gpu_is_unknown_and_says_so() {
    let scenario = Scenario::servers();
    for generation in [Generation::R580, Generation::R535, Generation::R470] {
        let driver = driver(generation, &scenario);
        let document = Program::line("--json")
            .driver(&driver)
            .run()
            .ended(0)
            .json();
        let bus = "0000:8B:00.0";
        let device = list(&document, "devices")
            .iter()
            .find(|device| {
                device["pci"]
                    .as_str()
                    .is_some_and(|pci| pci.eq_ignore_ascii_case(bus))
            })
            .unwrap();
        let mut found = 0;
        for process in list(&document, "processes") {
            for charge in list(process, "devices") {
                if charge["device_index"] != device["index"] {
                    assert_eq!(charge["mig_instance"], Value::Null);
                    continue;
                }
                found += 1;
                assert_eq!(charge["engines"]["gpu_pct"], Value::Null);
                assert_eq!(charge["provenance"]["engines.gpu_pct"]["reason"], "mig");
                assert!(
                    charge["mig_instance"]["gpu"].is_u64(),
                    "{generation:?} {charge}"
                );
            }
        }
        assert_eq!(found, 25, "{generation:?}");
        assert!(device["counter_status"].as_str().unwrap().contains("MIG"));
    }
}
