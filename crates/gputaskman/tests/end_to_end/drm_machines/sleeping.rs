//! What is not opened while a card sleeps, or so that it can fall asleep.

use std::fs;
use std::path::{Path, PathBuf};

use model::Gap;
use rustix::fs::inotify;

use super::{Watch, live, look, machine, sizes};

/// Opens of these files while `run` runs.
fn opened(files: &[PathBuf], run: impl FnOnce()) -> usize {
    let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
    let watch = inotify::init(flags).unwrap();
    for file in files {
        inotify::add_watch(&watch, file, inotify::WatchFlags::OPEN).unwrap();
    }
    run();
    let mut buffer = [std::mem::MaybeUninit::<u8>::uninit(); 4096];
    let mut events = inotify::Reader::new(watch, &mut buffer);
    std::iter::from_fn(|| events.next().ok().map(drop)).count()
}

fn files_below(folder: &Path, wanted: &dyn Fn(&str) -> bool, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            files_below(&path, wanted, found);
        } else if kind.is_file() && wanted(&path.to_string_lossy()) {
            found.push(path);
        }
    }
}

#[test]
fn a_sleeping_card_is_not_asked_for_anything_that_would_wake_it() {
    // Of amdgpu the memory manager's files and the texts may be read; of xe nothing.
    for (name, card, harmless) in [
        (
            "amd-card",
            "card1",
            &[
                "mem_info_",
                "uevent",
                "runtime_status",
                "control",
                "revision",
                "product_name",
                "major",
            ][..],
        ),
        (
            "intel-card-xe",
            "card1",
            &["uevent", "runtime_status", "control", "revision"][..],
        ),
    ] {
        let folder = machine(name);
        folder.write("dev/dri/renderD128", "");
        folder.write("dev/dri/renderD129", "");
        folder.write(&format!("dev/dri/{card}"), "");
        let status = format!("sys/class/drm/{card}/device/power/runtime_status");
        let mut guarded = Vec::new();
        let is_harmless = |path: &str| {
            harmless
                .iter()
                .any(|name| path.rsplit('/').next().unwrap().starts_with(name))
        };
        files_below(
            &folder.at(&format!("sys/class/drm/{card}")),
            &|path| !is_harmless(path),
            &mut guarded,
        );
        files_below(&folder.at("dev"), &|_| true, &mut guarded);
        if name.ends_with("xe") {
            guarded.push(folder.at("proc/800/fdinfo/4"));
        }
        assert!(
            guarded
                .iter()
                .any(|path| path.to_string_lossy().contains("hwmon"))
        );
        folder.write(&status, "suspended\n");
        let count = opened(&guarded, || {
            let snapshot = look(folder.path());
            let device = snapshot
                .devices
                .iter()
                .find(|device| device.key.to_string() != "0000:00:02.0");
            let device = device.unwrap();
            assert_eq!(
                device.power_state.value(),
                Some(&model::PowerState::Suspended)
            );
            assert_eq!(&*device.counter_status, "asleep");
            if name.ends_with("xe") {
                assert_eq!(sizes(&snapshot, 800).0, Err(Gap::Asleep));
            }
        });
        assert_eq!(count, 0, "{name}");
        folder.write(&status, "active\n");
        let count = opened(&guarded, || drop(look(folder.path())));
        assert!(count > 0, "{name}: the watch sees nothing");
        let mut nodes = Vec::new();
        files_below(&folder.at("dev"), &|_| true, &mut nodes);
        assert_eq!(
            opened(&nodes, || drop(look(folder.path()))),
            0,
            "a node was opened"
        );
    }
}

#[test]
fn a_card_of_which_nobody_knows_whether_it_sleeps_is_not_asked_either() {
    let folder = machine("amd-card");
    let card = "sys/class/drm/card1/device";
    let status = format!("{card}/power/runtime_status");
    let mut guarded = Vec::new();
    let is_guarded = |path: &str| {
        ["hwmon", "busy_percent", "pp_dpm", "gpu_metrics", "link"]
            .iter()
            .any(|name| path.contains(name))
    };
    files_below(&folder.at(card), &is_guarded, &mut guarded);
    for (text, gap, is_left_alone) in [
        ("", Gap::PowerUnknown, true),
        ("\n", Gap::PowerUnknown, true),
        ("error\n", Gap::PowerUnknown, true),
        ("dozing\n", Gap::PowerUnknown, true),
        ("suspended\n", Gap::Asleep, true),
        ("unsupported\n", Gap::PowerUnknown, false),
    ] {
        folder.write(&status, text);
        let mut snapshot = None;
        let count = opened(&guarded, || snapshot = Some(look(folder.path())));
        let device = &snapshot.as_ref().unwrap().devices[0];
        assert_eq!(count == 0, is_left_alone, "{text:?}");
        // Also of what has to be looked for first.
        for reading in [device.gpu.gap(), device.temperature.gap(), device.fan.gap()] {
            assert_eq!(reading == Some(gap), is_left_alone, "{text:?}: {reading:?}");
        }
        assert!(device.memory.used.value().is_some(), "that wakes nothing");
    }
    // Where there is no such file, nothing is put to sleep.
    fs::remove_file(folder.at(&status)).unwrap();
    let count = opened(&guarded, || drop(look(folder.path())));
    assert!(count > 0);
}

#[test]
fn an_unused_card_that_may_sleep_is_left_alone_after_the_first_look() {
    let folder = machine("amd-card");
    for pid in [100, 200, 300, 400, 401] {
        fs::remove_dir_all(folder.at(&format!("proc/{pid}"))).unwrap();
    }
    // Whoever has memory by way of the compute driver uses the card.
    fs::remove_dir_all(folder.at("sys/class/kfd/kfd/proc/300")).unwrap();
    fs::remove_dir_all(folder.at("sys/class/kfd/kfd/proc/500")).unwrap();
    let mut watch = Watch::of(live(folder.path()));
    let mut last = None;
    for _ in 0..20 {
        let snapshot = watch.refresh();
        let gap = snapshot.devices.first().and_then(|device| device.gpu.gap());
        last = Some(snapshot);
        if gap == Some(Gap::LeftAlone) {
            break;
        }
    }
    let last = last.unwrap();
    let device = &last.devices[0];
    assert_eq!(device.gpu.gap(), Some(Gap::LeftAlone));
    assert_eq!(device.temperature.gap(), Some(Gap::LeftAlone));
    assert!(
        device.memory.used.value().is_some(),
        "that touches no hardware"
    );
}
