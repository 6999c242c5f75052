//! Replays every capture below `fixtures/captures` and below the folders in `FIXTURES_DIR`.
//!
//! What the program says of a capture of this repository is compared with a snapshot; what must hold of every capture
//! is checked for all. A new folder with a capture needs nothing here.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a runner walks folders and fails loudly"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collect::Collector;
use model::{ChargedBytes, Device, Reading, Snapshot};
use raw::capture::{Capture, ReplayMachine};
use raw::{Machine as _, TickPlan};
use serde_json::{Map, Value};
use tui::{Picture, Theme};

/// How a capture begins.
const FORMAT: &[u8] = b"{\"format\":\"gputaskman.capture/";

/// Folders within folders that are looked into.
const DEPTH: usize = 8;

/// Processes of which a snapshot file holds the JSON. The text has all of them.
const IN_FULL: usize = 20;

/// Columns of the text, and others that must do.
const WIDTHS: [usize; 3] = [100, 60, 200];

#[test]
fn every_capture_of_the_repository_says_what_was_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/captures");
    let found = captures(&folder);
    assert!(!found.is_empty(), "no capture below {}", folder.display());
    for file in found {
        let last = check(&file);
        let name = name(&file, &folder);
        insta::assert_snapshot!(
            name.clone() + "-text",
            output::text::report(&last, WIDTHS[0])
        );
        insta::assert_snapshot!(name + "-json", reviewable(&output::json::to_line(&last)));
    }
}

/// Sizes of the screens that are reviewed.
const SIZES: [(u16, u16); 4] = [(60, 15), (80, 24), (120, 40), (200, 60)];

#[test]
fn every_capture_of_the_repository_has_the_reviewed_screens() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../fixtures/captures");
    let mut files: Vec<(String, PathBuf)> = captures(&folder)
        .into_iter()
        .map(|file| (name(&file, &folder), file))
        .collect();
    files.push(("demo".to_owned(), here.join("demo.ndjson.gz")));
    for (name, file) in files {
        let refreshes = replay(&Arc::new(
            Capture::load(File::open(&file).unwrap()).unwrap(),
        ));
        let mut screens = String::new();
        for (width, height) in SIZES {
            for (look, theme, ascii) in [
                ("auto", Theme::Auto, false),
                ("mono", Theme::Mono, false),
                ("ascii", Theme::Auto, true),
            ] {
                let options = tui::Options {
                    session: tui::Session::Replay { name: name.clone() },
                    theme,
                    truecolor: true,
                    ascii,
                    mouse: true,
                    interval: std::time::Duration::from_secs(1),
                    wake: None,
                };
                let screen = Picture::of(&options, (width, height), refreshes.clone()).text();
                assert!(
                    !ascii || screen.is_ascii(),
                    "{name} {width}x{height}\n{screen}"
                );
                assert_eq!(screen.lines().count(), usize::from(height));
                let widest = screen.lines().map(output::format::display_width).max();
                assert!(widest <= Some(usize::from(width)), "{name}\n{screen}");
                let _ = writeln!(screens, "==== {width}x{height} {look}\n{screen}");
            }
        }
        insta::assert_snapshot!(name + "-screens", screens);
    }
}

#[test]
fn every_other_capture_keeps_the_rules() {
    let folders = std::env::var_os("FIXTURES_DIR").unwrap_or_default();
    for folder in std::env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty()) {
        assert!(
            folder.is_dir(),
            "FIXTURES_DIR: there is no folder {}",
            folder.display()
        );
        for file in captures(&folder) {
            check(&file);
        }
    }
}

#[test]
fn the_demonstration_keeps_the_rules() {
    let last = check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("demo.ndjson.gz"));
    assert_eq!(last.origin.kind, model::OriginKind::Synthetic);
    assert!(last.origin.note.is_some());
}

/// The files below a folder that begin as captures do.
fn captures(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    add_captures(folder, DEPTH, &mut found);
    found.sort();
    found
}

fn add_captures(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap();
    for entry in entries {
        let (path, kind) = entry
            .map(|entry| (entry.path(), entry.file_type()))
            .unwrap();
        let kind = kind.unwrap();
        if kind.is_dir() && depth > 0 {
            add_captures(&path, depth - 1, found);
        } else if kind.is_file() && is_capture(&path) {
            found.push(path);
        }
    }
}

fn is_capture(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    if name.ends_with(".ndjson.gz") {
        return true;
    }
    let mut start = Vec::new();
    let read = |file: File| file.take(FORMAT.len() as u64).read_to_end(&mut start);
    name.ends_with(".ndjson") && File::open(path).and_then(read).is_ok() && start == FORMAT
}

/// `linux-gpu-workload` of `fixtures/captures/linux-gpu-workload/capture.ndjson`.
fn name(file: &Path, folder: &Path) -> String {
    let below = file.strip_prefix(folder).unwrap();
    let place = match below.parent() {
        Some(parent) if below.file_stem().is_some_and(|stem| stem == "capture") => parent,
        _ => below,
    };
    let parts: Vec<_> = place.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("-").replace('.', "-")
}

/// Replays a capture twice, checks what must hold of every refresh, and gives the last one.
fn check(file: &Path) -> Arc<Snapshot> {
    let shown = file.display();
    let capture =
        Capture::load(File::open(file).unwrap()).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let capture = Arc::new(capture);
    assert!(capture.tick_count() > 0, "{shown} holds no refresh");
    let (once, again) = (replay(&capture), replay(&capture));
    for (first, second) in once.iter().zip(&again) {
        let place = format!("{shown}, refresh {}", first.tick);
        let line = output::json::to_line(first);
        assert!(
            line == output::json::to_line(second),
            "{place}: replayed twice, it differs"
        );
        check_nulls(&line, &place);
        check_rows(first, &place);
        for device in &first.devices {
            check_account(first, device, &place);
        }
        for width in WIDTHS {
            let text = output::text::report(first, width);
            let control = text.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(control, None, "{place}: a control character in the text");
        }
    }
    once.last().cloned().unwrap()
}

fn replay(capture: &Arc<Capture>) -> Vec<Arc<Snapshot>> {
    let mut machine = ReplayMachine::new(Arc::clone(capture));
    let mut collector = Collector::new(machine.facts());
    let mut snapshots = Vec::new();
    while let Ok(tick) = machine.begin_tick(&TickPlan::default()) {
        snapshots.push(collector.tick(&mut machine, tick));
    }
    snapshots
}

/// A value that is missing says why, in the nearest `provenance` around it.
fn check_nulls(line: &str, place: &str) {
    let document: Value = serde_json::from_str(line).unwrap();
    let mut silent = Vec::new();
    find_silent(&document, &Map::new(), "", &mut silent);
    assert!(silent.is_empty(), "{place}: no reason for {silent:?}");
}

fn find_silent(value: &Value, around: &Map<String, Value>, key: &str, silent: &mut Vec<String>) {
    let below = |part: &str| {
        if key.is_empty() {
            part.to_owned()
        } else {
            format!("{key}.{part}")
        }
    };
    match value {
        Value::Null => {
            let says = |trace: &Value| trace.get("reason").is_some_and(Value::is_string);
            if !around.get(key).is_some_and(says) {
                silent.push(key.to_owned());
            }
        }
        Value::Object(fields) => {
            let own = fields.get("provenance").and_then(Value::as_object);
            for (name, value) in fields.iter().filter(|(name, _)| *name != "provenance") {
                match own {
                    Some(own) => find_silent(value, own, name, silent),
                    None => find_silent(value, around, &below(name), silent),
                }
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                // Entries of a list are known by what they are.
                let named = ["id", "category"]
                    .iter()
                    .find_map(|name| item.get(name)?.as_str());
                let part = named.map_or_else(|| number.to_string(), str::to_owned);
                find_silent(item, around, &below(&part), silent);
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// No process stands in two rows, none is charged twice on a device, and no stage has failed.
fn check_rows(snapshot: &Snapshot, place: &str) {
    let mut keys = BTreeSet::new();
    for process in &snapshot.processes {
        assert!(keys.insert(process.key), "{place}: {:?} twice", process.key);
        let mut charged = BTreeSet::new();
        for charge in &process.charges {
            let device = charge.device_index;
            assert!(
                charged.insert((device, charge.instance)),
                "{place}: {:?} is charged twice on GPU {device}",
                process.key
            );
            assert!(
                snapshot.devices.iter().any(|known| known.index == device),
                "{place}: {:?} is charged on GPU {device}, which is not there",
                process.key
            );
        }
    }
    let failed = snapshot
        .notices
        .iter()
        .find(|notice| notice.code == "internal");
    assert_eq!(failed, None, "{place}");
}

/// The rows of a device add up to what it says of them, and with the rest to what is used.
fn check_account(snapshot: &Snapshot, device: &Device, place: &str) {
    let place = format!("{place}, GPU {}", device.index);
    let charges = snapshot
        .processes
        .iter()
        .flat_map(|process| &process.charges);
    let rows: u64 = charges
        .filter(|charge| charge.device_index == device.index)
        .filter_map(|charge| charge.memory.vram.known())
        .map(|bytes: &ChargedBytes| bytes.value().0)
        .sum();
    let memory = &device.memory;
    assert_eq!(memory.attributed.known.0, rows, "{place}");
    let shares: u64 = device
        .categories
        .iter()
        .map(|share| share.memory.known.0)
        .sum();
    assert!(
        shares <= rows,
        "{place}: categories of {shares}, rows of {rows}"
    );
    match (memory.used.value(), &memory.unattributed) {
        (None, Reading::Known(rest)) => panic!("{place}: {rest:?} of an unknown size"),
        (Some(used), Reading::Known(rest)) if device.categories_normalized => {
            assert!(rows > used.0, "{place}: rows of {rows} fit into {used:?}");
            assert_eq!((rest.low.0, rest.high.0), (0, 0), "{place}");
        }
        (Some(used), Reading::Known(rest)) => {
            assert_eq!(rows + rest.high.0, used.0, "{place}");
            let low = if memory.attributed.is_complete() {
                rest.high
            } else {
                model::Bytes(0)
            };
            assert_eq!(rest.low, low, "{place}");
        }
        // Without its lists nobody knows what is in no row.
        (Some(used), Reading::Missing(missing)) => assert_eq!(
            snapshot.process_status.scan,
            model::ScanState::Partial,
            "{place}: {used:?} are used, and the rest is missing: {missing:?}"
        ),
        (None, Reading::Missing(_)) => {}
    }
    if let (Some(used), Some(total)) = (memory.used.value(), memory.total.value()) {
        assert!(used <= total, "{place}: {used:?} of {total:?} are used");
    }
}

/// JSON to be read in a review: an object without others in it on one line, equal reasons once.
fn reviewable(line: &str) -> String {
    let mut document: Value = serde_json::from_str(line).unwrap();
    let mut left_out = 0;
    if let Some(processes) = document.get_mut("processes").and_then(Value::as_array_mut) {
        left_out = processes.len().saturating_sub(IN_FULL);
        processes.truncate(IN_FULL);
    }
    gather_provenance(&mut document);
    let mut text = String::new();
    write_value(&document, 0, &mut text);
    text.push('\n');
    if left_out > 0 {
        writeln!(text, "and {left_out} processes more").unwrap();
    }
    text
}

/// Turns a map from keys to traces around: trace to its keys.
fn gather_provenance(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "provenance" {
                    let mut by_trace: BTreeMap<String, Vec<&str>> = BTreeMap::new();
                    for (key, trace) in value.as_object().into_iter().flatten() {
                        let words: Vec<String> = trace
                            .as_object()
                            .into_iter()
                            .flatten()
                            .map(|(name, value)| match value {
                                Value::String(text) => format!("{name}={text}"),
                                other => format!("{name}={other}"),
                            })
                            .collect();
                        by_trace.entry(words.join(", ")).or_default().push(key);
                    }
                    let gathered: Map<String, Value> = by_trace
                        .into_iter()
                        .map(|(trace, keys)| (trace, keys.join(" ").into()))
                        .collect();
                    *value = Value::Object(gathered);
                } else {
                    gather_provenance(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(gather_provenance),
        _ => {}
    }
}

fn write_value(value: &Value, depth: usize, text: &mut String) {
    let holds_more = |value: &Value| match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
        _ => false,
    };
    let one_line = value.to_string();
    let entries: Vec<(Option<&String>, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (Some(name), value))
            .collect(),
        Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
        _ => Vec::new(),
    };
    let simple = !entries.iter().any(|(_, value)| holds_more(value));
    if entries.is_empty() || (simple && one_line.len() <= 160) {
        text.push_str(&one_line);
        return;
    }
    let (open, close) = if value.is_object() {
        ('{', '}')
    } else {
        ('[', ']')
    };
    text.push(open);
    let indent = "  ".repeat(depth + 1);
    for (number, (name, value)) in entries.iter().enumerate() {
        text.push_str(if number > 0 { ",\n" } else { "\n" });
        text.push_str(&indent);
        if let Some(name) = name {
            write!(text, "{name:?}: ").unwrap();
        }
        write_value(value, depth + 1, text);
    }
    write!(text, "\n{}{close}", "  ".repeat(depth)).unwrap();
}
