//! The views of every sample, as a user sees them. Read the files in `snapshots/` in review: they
//! must be aligned and complete, and show no zero for what is unknown.

use model::{Selection, sample};
use output::{json, text};

#[test]
fn reports() {
    for (name, snapshot) in sample::all() {
        let report = text::report(&snapshot, text::WIDTH);
        insta::assert_snapshot!(format!("text_{name}"), report);
    }
}

#[test]
fn a_report_for_one_device_of_eight() {
    let mut snapshot = sample::servers();
    snapshot.selection = Selection::One(1);
    insta::assert_snapshot!(text::report(&snapshot, text::WIDTH));
}

#[test]
fn a_report_in_a_narrow_and_in_a_wide_terminal() {
    insta::assert_snapshot!("text_60", text::report(&sample::workstation(), 60));
    insta::assert_snapshot!("text_160", text::report(&sample::container(), 160));
}

#[test]
fn what_a_model_needs_and_whether_it_fits() {
    for width in [60, text::WIDTH, 160] {
        let inspection = text::inspection(&sample::inspection(), width);
        insta::assert_snapshot!(format!("inspect_{width}"), inspection);
    }
    insta::assert_snapshot!("fit", text::fit(&sample::fit(), text::WIDTH));
    insta::assert_snapshot!("inspect_json", json::inspect(&sample::inspection()));
    insta::assert_snapshot!("fit_json", json::fit(&sample::fit(), &sample::served()));
}

#[test]
fn device_lists() {
    for (name, snapshot) in sample::all() {
        insta::assert_snapshot!(format!("list_{name}"), text::list_gpus(&snapshot));
    }
    insta::assert_snapshot!("list_json", json::list_gpus(&sample::workstation()));
    insta::assert_snapshot!("list_json_no_gpu", json::list_gpus(&sample::no_gpu()));
}

#[test]
fn documents() {
    for (name, snapshot) in sample::all() {
        // Two hundred processes say nothing that eight do not.
        let mut snapshot = snapshot;
        if name == "servers" {
            snapshot.processes.truncate(3);
            snapshot.devices.truncate(2);
        }
        insta::assert_snapshot!(format!("json_{name}"), json::to_pretty(&snapshot));
    }
}

#[test]
fn a_container_with_a_name_of_blanks_is_reported_by_its_identifier() {
    let reports = |name: &str| {
        let snapshot = sample::in_containers_named(name);
        [70, 160].map(|width| text::report(&snapshot, width))
    };
    for report in reports("embeddings") {
        assert!(report.contains("embeddings"), "{report}");
    }
    let expected = reports("");
    for report in &expected {
        assert!(report.contains("0123456789ab"), "{report}");
        assert!(!report.contains("name  "), "{report}");
    }
    assert!(
        expected[1].contains("docker 0123456789ab"),
        "{}",
        expected[1]
    );
    for name in sample::NO_NAMES {
        assert_eq!(reports(name), expected, "{name:?}");
    }
}
