//! The JSON contract, checked on every sample.

use std::collections::{BTreeMap, BTreeSet};

use model::{Bytes, Selection, Snapshot, receipt, sample};
use output::json;
use serde_json::{Map, Value};

fn documents() -> Vec<(&'static str, Value)> {
    sample::all()
        .into_iter()
        .map(|(name, snapshot)| (name, document(&snapshot)))
        .collect()
}

/// The documents that are no snapshots, beside them.
fn all_documents() -> Vec<(&'static str, Value)> {
    let parsed = |text: String| serde_json::from_str(&text).unwrap_or_default();
    let fit = json::fit(&sample::fit(), &sample::served());
    let mut all = documents();
    all.push(("inspect", parsed(json::inspect(&sample::inspection()))));
    all.push(("fit", parsed(fit)));
    all
}

fn document(snapshot: &Snapshot) -> Value {
    serde_json::from_str(&json::to_line(snapshot)).unwrap_or_default()
}

/// Takes the path of a leaf, the leaf, and its entry.
type Visit<'v, 'a> = &'v mut dyn FnMut(&[String], &Value, Option<&'a Value>);

/// Calls `visit` with every leaf, its path, and the maps in scope with their path lengths.
fn walk<'a>(
    value: &'a Value,
    path: &mut Vec<String>,
    maps: &mut Vec<(usize, &'a Map<String, Value>)>,
    visit: Visit<'_, 'a>,
) {
    match value {
        Value::Object(fields) => {
            let own = fields.get("provenance").and_then(Value::as_object);
            if let Some(map) = own {
                maps.push((path.len(), map));
            }
            for (key, field) in fields.iter().filter(|(key, _)| *key != "provenance") {
                path.push(key.clone());
                walk(field, path, maps, visit);
                path.pop();
            }
            if own.is_some() {
                maps.pop();
            }
        }
        Value::Array(elements) => {
            for element in elements {
                let name = ["id", "category"]
                    .iter()
                    .find_map(|key| element.get(key)?.as_str());
                path.push(name.unwrap_or("[]").to_owned());
                walk(element, path, maps, visit);
                path.pop();
            }
        }
        leaf => {
            let entry = maps
                .iter()
                .rev()
                .find_map(|(depth, map)| map.get(&path[*depth..].join(".")));
            visit(path, leaf, entry);
        }
    }
}

fn each_leaf(document: &Value, mut visit: impl FnMut(&[String], &Value, Option<&Value>)) {
    walk(document, &mut Vec::new(), &mut Vec::new(), &mut visit);
}

#[test]
fn every_null_has_a_reason() {
    let known: BTreeSet<&str> = model::Gap::ALL
        .iter()
        .map(|gap| gap.code())
        .chain(["not_read"])
        .collect();
    for (name, document) in all_documents() {
        let mut nulls = 0;
        each_leaf(&document, |path, leaf, entry| {
            let reason = entry.and_then(|entry| entry.get("reason")?.as_str());
            if leaf.is_null() {
                nulls += 1;
                let reason = reason.unwrap_or_else(|| panic!("{name}: {path:?} has no reason"));
                assert!(known.contains(reason), "{reason}");
            } else {
                assert_eq!(reason, None, "{name}: {path:?} has a value and a reason");
            }
        });
        assert!(nulls > 0);
    }
}

#[test]
fn every_number_has_a_class_a_source_and_an_age() {
    // Names, positions and counts of the document itself, and ages.
    let exempt = [
        "sample_index",
        "sample_ms",
        "listed",
        "unreadable",
        "hidden",
        "selected_device",
        "index",
        "driver_index",
        "device_index",
        "pid",
        "foreign_pid",
        "answered_by",
        "status",
        "age_ms",
        "port",
        "gpu",
        "compute",
        "link",
        "parts_missing",
        "clients",
        "[]",
    ];
    for (name, document) in all_documents() {
        each_leaf(&document, |path, leaf, entry| {
            let field = path.last().map(String::as_str).unwrap_or_default();
            if !leaf.is_number() || exempt.contains(&field) {
                return;
            }
            let entry = entry.unwrap_or_else(|| panic!("{name}: {path:?} cannot be traced"));
            assert!(entry["source"].is_string(), "{path:?}");
            match entry["class"].as_str() {
                Some("measured" | "reported" | "inferred") => {
                    assert!(entry["age_ms"].is_u64(), "{path:?}");
                    assert!(entry["counter"].is_string(), "{path:?}");
                }
                Some("estimated") => assert!(entry["method"].is_string(), "{path:?}"),
                other => panic!("{name}: {path:?} is a number of class {other:?}"),
            }
        });
    }
}

/// Keys of every kind of object, by its path without positions.
fn keys(value: &Value, path: &str, into: &mut BTreeMap<String, BTreeSet<Vec<String>>>) {
    match value {
        Value::Object(fields) => {
            // Their keys are data.
            if !path.ends_with(".inputs") && !path.contains(".endpoints") {
                let names = fields.keys().cloned().collect();
                into.entry(path.to_owned()).or_default().insert(names);
            }
            for (key, field) in fields.iter().filter(|(key, _)| *key != "provenance") {
                keys(field, &format!("{path}.{key}"), into);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                keys(element, &format!("{path}[]"), into);
            }
        }
        _ => {}
    }
}

#[test]
fn every_object_of_a_kind_has_the_same_keys_in_every_sample() {
    let mut all = BTreeMap::new();
    for (_, document) in documents() {
        keys(&document, "$", &mut all);
    }
    assert!(all.len() > 20, "{:?}", all.keys());
    for (path, sets) in all {
        assert_eq!(sets.len(), 1, "{path}: {sets:?}");
    }
}

#[test]
fn no_entry_points_nowhere_and_none_is_there_twice() {
    for (name, snapshot) in sample::all() {
        let check = |map: &json::v1::ProvenanceMap, object: &Value| {
            let mut seen = BTreeSet::new();
            for (path, _) in &map.0 {
                assert!(seen.insert(path.clone()), "{name}: {path} twice");
                let mut found = Vec::new();
                each_leaf(object, |at, _, _| found.push(at.join(".")));
                // A path names a leaf, or a list or object that has leaves or none.
                let first = path.split('.').next().unwrap_or_default();
                let direct = object.get(first).is_some();
                assert!(
                    direct || found.iter().any(|at| at == path),
                    "{name}: {path}"
                );
            }
        };
        let document = json::snapshot(&snapshot);
        let value = serde_json::to_value(&document).unwrap();
        check(&document.provenance, &value);
        for (device, value) in document
            .devices
            .iter()
            .zip(value["devices"].as_array().unwrap())
        {
            check(&device.provenance, value);
        }
        for (process, value) in document
            .processes
            .iter()
            .zip(value["processes"].as_array().unwrap())
        {
            check(&process.provenance, value);
            for (charge, value) in process
                .devices
                .iter()
                .zip(value["devices"].as_array().unwrap())
            {
                check(&charge.provenance, value);
            }
        }
    }
}

#[test]
fn keys_are_those_of_the_published_sample_in_its_order() {
    let line = json::to_line(&sample::workstation());
    let order = [
        "$schema",
        "schema_version",
        "tool",
        "timestamp",
        "sample_ms",
        "mode",
        "host",
        "origin",
        "sources",
        "process_status",
        "selected_device",
        "devices",
        "luid",
        "driver",
        "kind",
        "power_state",
        "memory",
        "vram_total_bytes",
        "vram_used_bytes",
        "vram_free_bytes",
        "vram_reserved_bytes",
        "vram_attributed_bytes",
        "vram_unattributed_bytes",
        "shared_total_bytes",
        "shared_used_bytes",
        "gpu_pct",
        "memory_activity_pct",
        "encoder_pct",
        "decoder_pct",
        "core_clock_mhz",
        "memory_clock_mhz",
        "video_clock_mhz",
        "temperature_celsius",
        "power_watts",
        "power_limit_watts",
        "fan_pct",
        "pcie_rx_bytes_per_s",
        "pcie_tx_bytes_per_s",
        "pcie_gen",
        "pcie_width",
        "counter_status",
        "counter_adapter_matched",
        "categories",
        "categories_normalized",
        "provenance",
        "processes",
        "pid",
        "pid_namespace",
        "foreign_pid",
        "start_time",
        "pid_match",
        "name",
        "exe",
        "user",
        "command_line",
        "parent_pid",
        "ports",
        "container",
        "category",
        "category_reason",
        "runtimes",
        "library",
        "devices",
        "device_index",
        "memory",
        "vram_bytes",
        "spill_bytes",
        "commit_bytes",
        "paged_bytes",
        "vram_resident_bytes",
        "gtt_resident_bytes",
        "engines",
        "gpu_pct",
        "graphics_pct",
        "compute_pct",
        "copy_pct",
        "encode_pct",
        "decode_pct",
        "video_pct",
        "vram_inferred_by",
        "vram_mark",
        "vram_unattributed_reason",
        "provenance",
        "models",
        "id",
        "name",
        "path",
        "format",
        "size_on_disk_bytes",
        "architecture",
        "quantization",
        "parameters",
        "layers",
        "context_trained",
        "context_used",
        "kind",
        "kind_hint",
        "kind_label",
        "label",
        "evidence",
        "family",
        "detail",
        "conflict",
        "events",
        "segments_reported",
        "model_id",
        "segment",
        "bytes",
        "device_index",
        "placement",
        "source",
        "observed_at",
        "segments_estimated",
        "bytes_low",
        "bytes_high",
        "device_index",
        "placement",
        "method",
        "inputs",
        "receipt",
        "measured_bytes",
        "remainder_low_bytes",
        "remainder_high_bytes",
        "class",
        "note",
        "server",
        "port",
        "state",
        "context",
        "slots_total",
        "slots_busy",
        "tokens_per_s",
        "age_ms",
        "endpoints",
        "provenance",
        "totals",
        "measured_process_vram_bytes",
        "inferred_process_vram_bytes",
        "wsl_vm_bytes",
        "excluded",
        "notices",
        "severity",
        "subject",
        "text",
    ];
    let mut rest = line.as_str();
    for key in order {
        let quoted = format!("\"{key}\":");
        let at = rest
            .find(&quoted)
            .unwrap_or_else(|| panic!("{key} is missing or out of order"));
        rest = &rest[at + quoted.len()..];
    }
}

#[test]
fn large_numbers_are_whole_and_signed_ones_keep_their_sign() {
    let mut snapshot = sample::hostile();
    let first = &mut snapshot.processes[0];
    first.receipts = vec![receipt::Receipt {
        device_index: 0,
        measured: Bytes((1 << 53) + 1),
        remainder_low: i64::MIN,
        remainder_high: -((1 << 53) + 1),
        parts_missing: 0,
        lines: Vec::new(),
    }];
    let line = json::to_line(&snapshot);
    for number in [
        "\"vram_bytes\":18446744073709551615,",
        "\"measured_bytes\":9007199254740993,",
        "\"remainder_low_bytes\":-9223372036854775808,",
        "\"remainder_high_bytes\":-9007199254740993,",
    ] {
        assert!(line.contains(number), "{number}");
    }
}

#[test]
fn a_document_is_one_line_that_no_terminal_obeys() {
    for (name, snapshot) in sample::all() {
        let line = json::to_line(&snapshot);
        assert!(!line.chars().any(char::is_control), "{name}");
        assert!(
            !line.contains(['\u{2028}', '\u{2029}', '\u{202e}']),
            "{name}"
        );
        let pretty: Value = serde_json::from_str(&json::to_pretty(&snapshot)).unwrap();
        assert_eq!(pretty, document(&snapshot));
    }
}

#[test]
fn a_selection_leaves_its_device_and_nothing_of_another() {
    let mut snapshot = sample::servers();
    snapshot.selection = Selection::One(1);
    let document = document(&snapshot);
    assert_eq!(document["selected_device"], 1);
    assert_eq!(document["devices"].as_array().map(Vec::len), Some(1));
    assert_eq!(document["devices"][0]["index"], 1);
    let processes = document["processes"].as_array().unwrap();
    assert_eq!(document["process_status"]["listed"], processes.len());
    let mut sum = 0;
    for process in processes {
        let charges = process["devices"].as_array().unwrap();
        assert_eq!(charges.len(), 1);
        assert_eq!(charges[0]["device_index"], 1);
        sum += charges[0]["memory"]["vram_bytes"].as_u64().unwrap();
    }
    assert_eq!(document["totals"]["measured_process_vram_bytes"], sum);
}

#[test]
fn without_a_device_nothing_is_summed() {
    let document = document(&sample::no_gpu());
    assert_eq!(document["devices"], Value::Array(Vec::new()));
    assert_eq!(
        document["totals"]["measured_process_vram_bytes"],
        Value::Null
    );
    assert_eq!(document["sources"][1]["state"], "denied");
}
