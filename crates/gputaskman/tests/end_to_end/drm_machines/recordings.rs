//! Recordings of such machines, whole and with answers taken out.

use std::path::Path;
use std::sync::Arc;

use collect::Collector;
use raw::capture::{Capture, Manifest, RecordingMachine, Redaction, ReplayMachine};
use raw::{Machine as _, TickPlan};
use serde_json::Value;

use super::{Watch, live, machine};
use crate::support::{Program, json};

#[test]
fn a_recording_of_a_machine_with_such_devices_says_the_same_again() {
    let folder = machine("amd-card");
    for redact in ["none", "paths", "strict"] {
        let file = folder.at(&format!("{redact}.ndjson"));
        let line = format!("record --json --duration 1 -i 0.5 --redact {redact} -o");
        let recorded = Program::line(&line).arg(&file).root(folder.path()).run();
        recorded.ended(0);
        let replayed = Program::line("replay --json").arg(&file).run();
        replayed.ended(0);
        assert_eq!(recorded.text(), replayed.text(), "{redact}");
        assert!(recorded.text().contains("drm-resident-vram"), "{redact}");
    }
}

#[test]
fn keys_and_values_that_are_not_known_are_in_no_recording_at_any_level() {
    let folder = machine("amd-card");
    let file = "proc/200/fdinfo/5";
    let text = std::fs::read_to_string(folder.at(file)).unwrap();
    let hostile = "drm-client-name:\tcanaryname\nx-canarykey:\t1\namd-canarydriver:\t1 KiB\n\
                   drm-total-canary region:\t1\ndrm-total-\u{1b}[31mcanaryescape:\t1\n\
                   drm-purgeable-vram:\tcanaryvalue\ndrm-shared-doorbell:\tcanaryshare\ncanaryline\n";
    folder.write(file, format!("{text}{hostile}"));
    for redact in ["none", "paths", "strict"] {
        let file = folder.at(&format!("{redact}.ndjson"));
        let line = format!("record --json --duration 1 -i 0.5 --redact {redact} -o");
        let recorded = Program::line(&line).arg(&file).root(folder.path()).run();
        recorded.ended(0);
        let capture = std::fs::read_to_string(&file).unwrap();
        assert!(capture.contains("fdinfo 200@"), "{redact}");
        for text in [&*capture, recorded.text()] {
            assert!(!text.contains("canary"), "{redact}");
        }
    }
}

/// Refreshes of a recording in memory.
fn recorded(root: &Path, refreshes: usize) -> Capture {
    let live = live(root);
    let manifest = Manifest::new(live.facts(), Redaction::None, "test".to_owned());
    let recorder = raw::capture::record::to_memory(&manifest).unwrap();
    let mut watch = Watch::of(RecordingMachine::new(live, recorder));
    for _ in 0..refreshes {
        watch.refresh();
    }
    Capture::load(&*watch.machine.finish().unwrap()).unwrap()
}

#[test]
fn without_any_single_answer_the_rest_is_said_and_every_null_has_its_reason() {
    let folder = machine("amd-card");
    let capture = recorded(folder.path(), 6);
    let whole = capture.answer_count();
    assert!(whole > 200, "{whole} answers");
    for index in 0..whole {
        let without = Arc::new(capture.without(index));
        let mut replay = ReplayMachine::new(without);
        let mut collector = Collector::new(replay.facts());
        while let Ok(tick) = replay.begin_tick(&TickPlan::default()) {
            let snapshot = collector.tick(&mut replay, tick);
            let place = || {
                format!(
                    "without {:?}, refresh {}",
                    capture.question(index),
                    snapshot.tick
                )
            };
            assert!(
                snapshot
                    .notices
                    .iter()
                    .all(|notice| notice.code != "internal"),
                "{}",
                place()
            );
            let document: Value = serde_json::from_str(&output::json::to_line(&snapshot)).unwrap();
            json::every_null_has_its_reason(&document);
            for device in &snapshot.devices {
                let charged = device.memory.attributed.known.0;
                assert!(charged <= 9_663_676_416, "{}: {charged}", place());
            }
        }
    }
}
