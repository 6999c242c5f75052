//! What is said of sleep, rights and processes that cannot be seen.

use std::fs;

use model::remedy::{NOT_WOKEN, Refused};
use model::{Gap, Notice, PowerState, Snapshot, SourceState, SourceStatus};

use super::{Watch, bare, holds, live, look, machine, process};
use crate::support::Folder;

const CARD: &str = "sys/class/drm/card1/device";
const HOLDERS: [u32; 7] = [100, 200, 300, 400, 401, 500, 600];

fn text(snapshot: &Snapshot) -> String {
    // One line a note.
    output::text::report(snapshot, 4000)
}

fn source<'a>(snapshot: &'a Snapshot, id: &str) -> &'a SourceStatus {
    let mut sources = snapshot.sources.iter();
    sources.find(|source| source.id == id).unwrap()
}

fn notice<'a>(snapshot: &'a Snapshot, code: &str) -> Option<&'a Notice> {
    snapshot.notices.iter().find(|it| it.code == code)
}

/// The card with nobody but `kept` around.
fn card_with(kept: &[u32]) -> Folder {
    let folder = machine("amd-card");
    for pid in HOLDERS.iter().filter(|pid| !kept.contains(pid)) {
        fs::remove_dir_all(folder.at(&format!("proc/{pid}"))).unwrap();
    }
    fs::remove_dir_all(folder.at("sys/class/kfd/kfd/proc")).unwrap();
    folder
}

/// What is said once the card is left alone.
fn left_alone(folder: &Folder) -> std::sync::Arc<Snapshot> {
    let mut watch = Watch::of(live(folder.path()));
    for _ in 0..20 {
        let snapshot = watch.refresh();
        if snapshot.devices.first().and_then(|it| it.gpu.gap()) == Some(Gap::LeftAlone) {
            return snapshot;
        }
    }
    panic!("it is not left alone");
}

#[test]
fn that_nobody_uses_a_card_is_said_of_processes_that_can_be_seen_only() {
    // Process 500 cannot be looked into.
    for (kept, hidden) in [(&[][..], 0), (&[500][..], 1)] {
        let snapshot = left_alone(&card_with(kept));
        assert_eq!(snapshot.process_status.hidden, hidden);
        let text = text(&snapshot);
        assert!(!text.contains("nobody uses"), "{text}");
        assert!(
            text.contains("no process that can be seen uses it"),
            "{text}"
        );
        assert_eq!(
            text.contains("but 1 cannot be looked at"),
            hidden == 1,
            "{text}"
        );
        assert_eq!(
            text.contains("none that can be seen; 1 cannot"),
            hidden == 1
        );
        let status = &snapshot.devices[0].counter_status;
        assert!(
            status.contains("no process that can be seen uses it"),
            "{status}"
        );
    }
}

#[test]
fn no_option_is_advised_that_does_not_wake_the_card() {
    let folder = machine("amd-card");
    folder.write(&format!("{CARD}/power/runtime_status"), "suspended\n");
    let snapshot = look(folder.path());
    let device = &snapshot.devices[0];
    assert_eq!(device.power_state.value(), Some(&PowerState::Suspended));
    let text = text(&snapshot);
    assert!(text.contains(NOT_WOKEN), "{text}");
    assert!(!text.contains("W on the screen"), "{text}");
    for source in &snapshot.sources {
        assert!(source.hint.as_ref().is_none_or(|it| !it.contains("--wake")));
    }
}

#[test]
fn of_a_sleeping_card_nobody_has_a_load_and_sizes_are_said_to_be_of_now() {
    let folder = machine("amd-card");
    let awake = look(folder.path());
    let load = |snapshot: &Snapshot| process(snapshot, 200).charges[0].engines.busiest.gap();
    assert_eq!(load(&awake), None);
    folder.write(&format!("{CARD}/power/runtime_status"), "suspended\n");
    let snapshot = look(folder.path());
    assert_eq!(load(&snapshot), Some(Gap::Asleep));
    let document = output::json::to_line(&snapshot);
    let reasons = document;
    assert!(reasons.contains("\"asleep\""));
    let used = snapshot.devices[0].memory.used.known().unwrap();
    assert!(
        snapshot.at.ms_since(used.from.at) < 3000,
        "read while it sleeps"
    );
    assert!(
        text(&snapshot)
            .contains("asleep; sizes are the kernel's own count, read without waking it")
    );
}

#[test]
fn why_a_card_does_not_sleep_is_told_by_its_own_folder() {
    let folder = machine("amd-card");
    let may = |folder: &Folder| {
        let snapshot = look(folder.path());
        let may = snapshot.devices[0].may_suspend.value().copied();
        (may, text(&snapshot))
    };
    let (auto, held) = may(&folder);
    assert_eq!(auto, Some(true));
    assert!(
        held.contains(
            "  sleep     awake, may sleep (power/control is auto); may be kept awake by "
        ),
        "{held}"
    );
    assert!(held.contains("game.x86_64 200"), "{held}");
    folder.write(&format!("{CARD}/power/control"), "on\n");
    let (on, never) = may(&folder);
    assert_eq!(on, Some(false));
    assert!(
        never.contains("  sleep     never: the kernel is told to keep it on"),
        "{never}"
    );
    // Where the folder of the node has no such file, that of the bus may.
    fs::remove_file(folder.at(&format!("{CARD}/power/control"))).unwrap();
    for (file, text) in [
        ("class", "0x030000\n"),
        ("vendor", "0x1002\n"),
        ("power/control", "auto\n"),
    ] {
        folder.write(&format!("sys/bus/pci/devices/0000:03:00.0/{file}"), text);
    }
    assert_eq!(may(&folder).0, Some(true));
}

#[test]
fn that_the_kernel_may_suspend_a_card_is_asked_again() {
    let folder = machine("amd-card");
    let mut watch = Watch::of(live(folder.path()));
    let mut may = || {
        let snapshot = watch.refresh();
        let first = snapshot.devices.first();
        first.and_then(|device| device.may_suspend.value().copied())
    };
    while may() != Some(true) {}
    folder.write(&format!("{CARD}/power/control"), "on\n");
    // Refreshes come every quarter of a second, and it is asked every five.
    assert!((0..40).any(|_| may() == Some(false)));
}

#[test]
fn a_column_that_is_left_out_for_two_reasons_names_the_rows_of_each() {
    let folder = machine("amd-card");
    // Sizes of one are shared with another process, and the other came through the display node.
    for pid in [200, 300, 500, 600] {
        fs::remove_dir_all(folder.at(&format!("proc/{pid}"))).unwrap();
    }
    let text = text(&look(folder.path()));
    let notes: Vec<&str> = text.lines().filter(|line| line.contains("SPILL")).collect();
    assert_eq!(notes.len(), 2, "{text}");
    assert!(
        notes
            .iter()
            .all(|note| !note.contains("SPILL of every row")),
        "{text}"
    );
    for rows in ["SPILL, VRAM of 100: ", "SPILL, VRAM, GPU% of 400, 401: "] {
        assert!(notes.iter().any(|note| note.contains(rows)), "{text}");
    }
    assert!(text.contains("PAGED of every row"), "{text}");
}

#[test]
fn a_hint_follows_from_what_was_refused_and_who_asks() {
    let snapshot = look(machine("amd-card").path());
    assert!(snapshot.process_status.hidden > 0);
    let advice = snapshot.standing().remedy(Refused::Process);
    assert_eq!(
        source(&snapshot, "drm.fdinfo").hint.as_deref(),
        Some(advice)
    );
    assert!(
        notice(&snapshot, "unreadable_holders")
            .unwrap()
            .text
            .ends_with(advice)
    );
    // Without anything refused nothing is advised.
    let folder = card_with(&[200]);
    let snapshot = look(folder.path());
    assert_eq!(source(&snapshot, "drm.fdinfo").hint, None);
    assert!(!text(&snapshot).contains("sudo"));
}

#[test]
fn a_compute_driver_that_cannot_be_read_is_named() {
    let folder = machine("amd-card");
    // Larger than any number: not even root can make sense of it.
    folder.write(
        "sys/class/kfd/kfd/topology/nodes/7/gpu_id",
        vec![b'1'; 1 << 20],
    );
    let snapshot = look(folder.path());
    let said = notice(&snapshot, "compute_driver_unreadable").unwrap();
    assert!(said.text.contains("/sys/class/kfd"), "{}", said.text);
    assert!(
        source(&snapshot, "drm.fdinfo")
            .detail
            .contains("/sys/class/kfd: ")
    );
    // Where there is none, nothing is said of it.
    fs::remove_dir_all(folder.at("sys/class/kfd")).unwrap();
    let snapshot = look(folder.path());
    assert!(notice(&snapshot, "compute_driver_unreadable").is_none());
}

#[test]
fn a_node_that_cannot_be_told_and_its_missing_card_are_named() {
    let folder = machine("amd-card");
    let uevent = "sys/class/drm/card7/device/uevent";
    folder.write(uevent, vec![b'X'; 1 << 20]);
    let snapshot = look(folder.path());
    let said = notice(&snapshot, "node_unreadable").unwrap();
    assert!(said.text.contains("card7"), "{}", said.text);
}

#[test]
fn processes_that_only_the_compute_driver_shows_are_counted() {
    let folder = machine("amd-card");
    assert!(notice(&look(folder.path()), "hidden_processes").is_none());
    // As with hidepid=2: no folder of it in /proc.
    fs::remove_dir_all(folder.at("proc/300")).unwrap();
    let snapshot = look(folder.path());
    let said = notice(&snapshot, "hidden_processes").unwrap();
    assert!(
        said.text.contains("1 process(es)") && said.text.contains("(300)"),
        "{}",
        said.text
    );
    assert!(said.text.contains("hidepid"));
    let is_root = snapshot.host.privileged == Some(true);
    assert_eq!(said.text.contains("sudo"), !is_root);
}

#[test]
fn a_newer_kernel_is_advised_by_the_running_one() {
    let folder = machine("amd-card");
    let client = "drm-driver:\tamdgpu\ndrm-client-id:\t770077\ndrm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t9 KiB\n";
    holds(&folder, "/dev/dri/renderD128", client);
    let release = "proc/sys/kernel/osrelease";
    for (running, advised) in [
        ("6.14.0-15-generic\n", None),
        ("5.15.0\n", Some("; this is 5.15")),
        ("custom\n", Some(" on")),
    ] {
        folder.write(release, running);
        let text = text(&look(folder.path()));
        let mut notes = text.lines().filter(|line| line.contains("(legacy)"));
        let note = notes.next().unwrap_or_else(|| panic!("{text}"));
        match advised {
            Some(words) => assert!(
                note.contains("from about Linux 6.") && note.ends_with(words),
                "{note}"
            ),
            None => assert!(note.ends_with("(legacy)"), "{note}"),
        }
    }
}

#[test]
fn without_a_gpu_every_place_is_named_and_what_to_do() {
    let folder = bare();
    let snapshot = look(folder.path());
    let said = source(&snapshot, "drm.fdinfo");
    assert_eq!(said.state, SourceState::Absent);
    for place in ["/sys/class/drm", "/dev/dri", "/sys/class/kfd"] {
        assert!(said.detail.contains(place), "{place}: {}", said.detail);
    }
    assert!(said.hint.as_ref().unwrap().contains("amdgpu, i915, xe"));
    // A GPU on the bus without a driver.
    for (file, text) in [("class", "0x030000\n"), ("vendor", "0x1002\n")] {
        folder.write(&format!("sys/bus/pci/devices/0000:03:00.0/{file}"), text);
    }
    let snapshot = look(folder.path());
    let hint = source(&snapshot, "drm.fdinfo").hint.clone().unwrap();
    assert!(
        hint.contains("0000:03:00.0") && hint.contains("modprobe"),
        "{hint}"
    );
    // In a container.
    let folder = bare();
    fs::remove_file(folder.at("proc/self/ns/pid")).unwrap();
    folder.link("proc/self/ns/pid", "pid:[4026532000]");
    let snapshot = look(folder.path());
    let hint = source(&snapshot, "drm.fdinfo").hint.clone().unwrap();
    assert!(hint.contains("--device /dev/dri"), "{hint}");
    let text = text(&snapshot);
    assert!(text.contains("--device /dev/dri"), "{text}");
    // Under WSL.
    let folder = bare();
    folder.write(
        "proc/sys/kernel/osrelease",
        "5.15.167.4-microsoft-standard-WSL2\n",
    );
    folder.write("dev/dxg", "");
    let snapshot = look(folder.path());
    let hint = source(&snapshot, "drm.fdinfo").hint.clone().unwrap();
    assert!(hint.contains("WSL"), "{hint}");
}
