//! Machines with DRM devices: those written down in `fixtures/drm`, and texts and attribute files that were collected
//! elsewhere, in folders of `FIXTURES_DIR`. Each is looked at as `--root` does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collect::{Collector, Pace};
use model::{ChargedBytes, Device, DeviceKind, Gap, Process, Snapshot};
use raw::capture::{Capture, Manifest, RecordingMachine, Redaction, ReplayMachine};
use raw::{Machine as _, Settings, TickPlan};
use rustix::fs::inotify;
use serde_json::Value;
use sources::{LiveMachine, Options};

use crate::support::{Folder, Program, driver, json, models, skipped};

/// Longest time between refreshes that these tests have to wait for a second reading, milliseconds.
const INTERVAL_MS: u64 = 250;

/// Refreshes after which an answer that is still pending never comes.
const MOST_REFRESHES: u32 = 200;

const PID: u32 = 4242;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/drm")
}

/// The machine of a file of `fixtures/drm`.
fn machine(name: &str) -> Folder {
    let text = fs::read_to_string(fixtures().join(format!("{name}.tree"))).unwrap();
    let folder = Folder::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((path, to)) = line.split_once(" -> ") {
            folder.link(path, to);
        } else if let Some(path) = line.strip_suffix(" @") {
            let mut content = String::new();
            while let Some(more) = lines.peek().and_then(|line| line.strip_prefix('\t')) {
                content.push_str(more);
                content.push('\n');
                lines.next();
            }
            folder.write(path, content);
        } else if let Some((path, bytes)) = line.split_once(" : ") {
            folder.write(path, hexadecimal(bytes));
        } else if let Some((path, text)) = line.split_once(" = ") {
            folder.write(
                path,
                format!("{}\n", text.replace("\\n", "\n").replace("\\t", "\t")),
            );
        } else if let Some(path) = line.strip_suffix(" =") {
            folder.write(path, "\n");
        } else {
            panic!("{name}: {line}");
        }
    }
    folder
}

fn hexadecimal(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// What is said of a directory when nothing is pending any more.
fn look(root: &Path) -> Arc<Snapshot> {
    let mut machine = LiveMachine::new(Options {
        root: Some(root.to_owned()),
        nvml_library: Some(root.join("no-such-library")),
        settings: Settings {
            interval_ms: INTERVAL_MS,
            ..Settings::default()
        },
    });
    let mut collector = Collector::new(machine.facts());
    for _ in 0..MOST_REFRESHES {
        let plan = collector.plan(Pace::OneShot(1_000_000_000));
        let tick = machine.begin_tick(&plan).unwrap();
        let snapshot = collector.tick(&mut machine, tick);
        if !snapshot.pending {
            let document: Value = serde_json::from_str(&output::json::to_line(&snapshot)).unwrap();
            json::every_null_has_its_reason(&document);
            for width in [60, 100, 200] {
                let text = output::text::report(&snapshot, width);
                assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
            }
            return snapshot;
        }
    }
    panic!("{}: still pending", root.display());
}

/// The report without its first line, which has the time, and without the directory's name.
fn report(snapshot: &Snapshot, root: &Path) -> String {
    let text = output::text::report(snapshot, 100);
    let (_, rest) = text.split_once('\n').unwrap();
    let lines = rest.lines().filter(|line| {
        !line.contains(&*root.display().to_string()) && !line.contains("not a live machine")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_machine_that_is_written_down_says_what_was_reviewed() {
    let mut names: Vec<String> = fs::read_dir(fixtures())
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".tree").map(str::to_owned)
        })
        .collect();
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let folder = machine(&name);
        let snapshot = look(folder.path());
        insta::assert_snapshot!(format!("drm-{name}"), report(&snapshot, folder.path()));
    }
}

fn find(snapshot: &Snapshot, pid: u32) -> Option<&Process> {
    let mut processes = snapshot.processes.iter();
    processes.find(|process| process.key.pid == pid)
}

fn process(snapshot: &Snapshot, pid: u32) -> &Process {
    find(snapshot, pid).unwrap_or_else(|| panic!("no process {pid}"))
}

fn sizes(snapshot: &Snapshot, pid: u32) -> (Result<u64, Gap>, Result<u64, Gap>) {
    let memory = &process(snapshot, pid).charges[0].memory;
    let size = |reading: &model::Reading<ChargedBytes>| match reading.known() {
        Some(known) => Ok(known.value().0),
        None => Err(reading.gap().unwrap()),
    };
    (size(&memory.vram), size(&memory.spill))
}

#[test]
fn a_card_charges_each_byte_at_most_once() {
    let folder = machine("amd-card");
    let snapshot = look(folder.path());
    let device = &snapshot.devices[0];
    assert_eq!(device.kind, DeviceKind::Discrete);
    let mib = |n: u64| n << 20;
    assert_eq!(
        sizes(&snapshot, 100),
        (Err(Gap::PrimaryNode), Err(Gap::PrimaryNode))
    );
    assert_eq!(sizes(&snapshot, 200), (Ok(mib(2048)), Ok(mib(528))));
    assert_eq!(sizes(&snapshot, 300), (Ok(mib(6200)), Ok(mib(64))));
    assert_eq!(sizes(&snapshot, 400).0, Err(Gap::SharedClient));
    // Known to the compute driver only, and the game's client could hold the bytes; what it says of process 300 is part
    // of that process's 6200 MiB.
    let unread = Err(Gap::Incomplete);
    assert_eq!(sizes(&snapshot, 500), (unread, unread));
    let charged = mib(2048) + mib(6200);
    assert_eq!(device.memory.attributed.known.0, charged);
    assert_eq!(device.memory.attributed.missing, 4);
    let rest = device.memory.unattributed.known().unwrap();
    assert_eq!((rest.low.0, rest.high.0), (0, 9_663_676_416 - charged));
    assert!(
        snapshot
            .processes
            .iter()
            .all(|process| process.key.pid != 600)
    );
    let drm = |pid: u32| process(&snapshot, pid).charges[0].drm.as_ref().unwrap();
    assert_eq!(
        drm(100).vram_bounds.known().map(|it| (it.low.0, it.high.0)),
        Some((mib(50), mib(200)))
    );
    assert_eq!(
        drm(200).displaced.known().map(|it| it.high.0),
        Some(mib(512))
    );
    let kfd = drm(300).kfd.as_ref().unwrap();
    assert_eq!(kfd.vram.value().map(|bytes| bytes.0), Some(6_442_450_944));
    assert_eq!(
        process(&snapshot, 300).charges[0].engines.busiest.gap(),
        Some(Gap::Kfd)
    );
    assert!(
        process(&snapshot, 200).charges[0]
            .engines
            .graphics
            .known()
            .is_some()
    );
}

#[test]
fn cards_of_several_makers_are_numbered_in_one_order() {
    let folder = machine("intel-card-xe");
    let snapshot = look(folder.path());
    let devices: Vec<_> = snapshot
        .devices
        .iter()
        .map(|it| (it.index, it.key.to_string(), it.kind))
        .collect();
    let expected = [
        (0, "0000:0b:00.0".to_owned(), DeviceKind::Discrete),
        (1, "0000:00:02.0".to_owned(), DeviceKind::Integrated),
    ];
    assert_eq!(devices, expected);
    assert_eq!(process(&snapshot, 800).charges[0].device_index, 0);
    let ran = Program::line("--json --gpu 1").root(folder.path()).run();
    ran.ended(0);
    let document = ran.json();
    let rows: Vec<_> = json::list(&document, "processes")
        .iter()
        .map(json::number_of)
        .collect();
    assert_eq!(rows, [810]);
}

#[test]
fn a_card_of_another_driver_stands_behind_an_nvidia_card_that_is_shown_once() {
    let folder = machine("amd-card");
    for node in ["card0", "renderD129"] {
        let uevent = "DRIVER=nvidia\nPCI_ID=10DE:2704\nPCI_SLOT_NAME=0000:01:00.0\n";
        folder.write(&format!("sys/class/drm/{node}/device/uevent"), uevent);
    }
    for (file, text) in [
        ("class", "0x030000\n"),
        ("vendor", "0x10de\n"),
        ("power/runtime_status", "active\n"),
    ] {
        folder.write(&format!("sys/bus/pci/devices/0000:01:00.0/{file}"), text);
    }
    // The game has the NVIDIA card's node open too, and computes on it.
    folder.link("proc/200/fd/7", "/dev/dri/renderD129");
    folder.write("proc/200/fdinfo/7", "pos:\t0\n");
    let nvidia = fake_nvml::Device::new("NVIDIA RTX A4000")
        .with_process(fake_nvml::Process::new(200, fake_nvml::Kind::Compute, 1 << 30).busy(40, 20));
    let scenario = fake_nvml::Scenario::default().with_device(nvidia);
    let driver = driver(fake_nvml::Generation::R580, &scenario);
    let ran = Program::line("--json")
        .driver(&driver)
        .root(folder.path())
        .run();
    ran.ended(0);
    let document = ran.json();
    json::every_null_has_its_reason(&document);
    let devices = json::list(&document, "devices");
    let vendors: Vec<_> = devices
        .iter()
        .map(|it| (it["index"].as_u64(), it["vendor"].as_str()))
        .collect();
    assert_eq!(vendors, [(Some(0), Some("nvidia")), (Some(1), Some("amd"))]);
    let rows = json::list(json::process(&document, 200), "devices");
    let sizes: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["device_index"].as_u64(),
                row["memory"]["vram_bytes"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        sizes,
        [(Some(0), Some(1 << 30)), (Some(1), Some(2048 << 20))]
    );
}

#[test]
fn a_model_on_a_processor_with_graphics_is_weighed_against_both_kinds_of_memory() {
    let folder = machine("amd-processor");
    let model = "/models/tiny.gguf";
    folder.write(model.trim_start_matches('/'), models::whole(models::LLAMA));
    folder.write(
        "proc/700/cmdline",
        format!("llama-server\0-m\0{model}\0-ngl\099\0"),
    );
    folder.write(
        "proc/700/maps",
        format!("7f00000000-7f00100000 r--s 00000000 08:01 77 {model}\n"),
    );
    folder.link("proc/700/exe", "/usr/bin/llama-server");
    folder.link("proc/700/cwd", "/");
    let ran = Program::line("--json").root(folder.path()).run();
    ran.ended(0);
    let document = ran.json();
    json::every_null_has_its_reason(&document);
    let receipt = &json::process(&document, 700)["receipt"];
    let held = (20_000_u64 << 20) + (2208 << 10);
    assert_eq!(receipt["measured_bytes"], held);
}

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
fn an_unused_card_that_may_sleep_is_left_alone_after_the_first_look() {
    let folder = machine("amd-card");
    for pid in [100, 200, 300, 400, 401] {
        fs::remove_dir_all(folder.at(&format!("proc/{pid}"))).unwrap();
    }
    // Whoever has memory by way of the compute driver uses the card.
    fs::remove_dir_all(folder.at("sys/class/kfd/kfd/proc/300")).unwrap();
    fs::remove_dir_all(folder.at("sys/class/kfd/kfd/proc/500")).unwrap();
    let root = folder.path();
    let mut machine = LiveMachine::new(Options {
        root: Some(root.to_owned()),
        nvml_library: Some(root.join("no-such-library")),
        settings: Settings {
            interval_ms: INTERVAL_MS,
            ..Settings::default()
        },
    });
    let mut collector = Collector::new(machine.facts());
    let mut last = None;
    for _ in 0..20 {
        let plan = collector.plan(Pace::OneShot(1_000_000_000));
        let tick = machine.begin_tick(&plan).unwrap();
        let snapshot = collector.tick(&mut machine, tick);
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

#[test]
fn queues_that_were_thrown_off_the_card_are_told_of() {
    let folder = machine("amd-card");
    let root = folder.path();
    let mut machine = LiveMachine::new(Options {
        root: Some(root.to_owned()),
        nvml_library: Some(root.join("no-such-library")),
        settings: Settings {
            interval_ms: INTERVAL_MS,
            ..Settings::default()
        },
    });
    let mut collector = Collector::new(machine.facts());
    let mut told = Vec::new();
    for refresh in 0..60 {
        let plan = collector.plan(Pace::OneShot(1_000_000_000));
        let tick = machine.begin_tick(&plan).unwrap();
        let snapshot = collector.tick(&mut machine, tick);
        let notices = snapshot.notices.iter();
        told.extend(
            notices
                .filter(|it| it.code == "queues_evicted")
                .map(|it| it.subject.to_string()),
        );
        if !told.is_empty() {
            break;
        }
        let copy = find(&snapshot, 300).and_then(|process| {
            let charge = process.charges.first()?;
            let kfd = charge.drm.as_ref()?.kfd.as_ref()?;
            kfd.copy.value().map(|share| share.0)
        });
        if let Some(share) = copy {
            assert!((0.0..=100.0).contains(&share));
        }
        folder.write(
            "sys/class/kfd/kfd/proc/300/stats_20817/evicted_ms",
            format!("{}\n", refresh / 10),
        );
    }
    assert_eq!(told, ["pid:300"]);
}

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

/// Refreshes of a recording in memory.
fn recorded(root: &Path, refreshes: usize) -> Capture {
    let live = LiveMachine::new(Options {
        root: Some(root.to_owned()),
        nvml_library: Some(root.join("no-such-library")),
        settings: Settings {
            interval_ms: INTERVAL_MS,
            ..Settings::default()
        },
    });
    let manifest = Manifest::new(live.facts(), Redaction::None, "test".to_owned());
    let mut machine =
        RecordingMachine::new(live, raw::capture::record::to_memory(&manifest).unwrap());
    let mut collector = Collector::new(machine.facts());
    for _ in 0..refreshes {
        let plan = collector.plan(Pace::OneShot(1_000_000_000));
        let tick = machine.begin_tick(&plan).unwrap();
        collector.tick(&mut machine, tick);
    }
    Capture::load(&*machine.finish().unwrap()).unwrap()
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

/// The folder with DRM texts and attribute files among those of `FIXTURES_DIR`.
fn collected() -> Option<PathBuf> {
    let folders = std::env::var_os("FIXTURES_DIR").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .flat_map(|folder| [folder.clone(), folder.join("drm")])
        .find(|folder| folder.join("SOURCES.md").is_file() && folder.join("synthetic").is_dir());
    if found.is_none() {
        skipped("drm_machines: FIXTURES_DIR names no folder with collected DRM texts");
    }
    found
}

/// A bare machine.
fn bare() -> Folder {
    let folder = Folder::new();
    folder.link("proc/self/ns/pid", "pid:[4026531836]");
    folder.write("proc/uptime", "20000.50 70000.00\n");
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A process that has `node` open, of which the driver says `text`.
fn holds(folder: &Folder, node: &str, text: &str) {
    let zeros = "0 ".repeat(13);
    let stat = format!("{PID} (client) S 1 {PID} {PID} 0 -1 {zeros}77 1 1 0\n");
    folder.write(&format!("proc/{PID}/stat"), stat);
    folder.link(&format!("proc/{PID}/fd/5"), node);
    folder.write(&format!("proc/{PID}/fdinfo/5"), text);
}

/// What the first reason is of each collected text, or what system memory is charged where there is none.
const TEXTS: [(&str, Result<u64, Option<Gap>>); 27] = [
    (
        "fdinfo-amdgpu-5.15-dialect-CONSTRUCTED",
        Err(Some(Gap::Legacy)),
    ),
    (
        "fdinfo-amdgpu-6.14dev-all-regions",
        Err(Some(Gap::SharedBuffers)),
    ),
    (
        "fdinfo-amdgpu-6.14dev-compositor-compute",
        Err(Some(Gap::SharedBuffers)),
    ),
    (
        "fdinfo-amdgpu-6.14dev-game-busy",
        Err(Some(Gap::SharedBuffers)),
    ),
    (
        "fdinfo-amdgpu-6.6-double-header-FRAGMENT",
        Err(Some(Gap::Legacy)),
    ),
    (
        "fdinfo-amdgpu-6.x-legacy-memory-only",
        Err(Some(Gap::Legacy)),
    ),
    ("fdinfo-amdgpu-7.2-desktop", Err(Some(Gap::SharedBuffers))),
    // Its header was cut off: nothing says whose it is.
    (
        "fdinfo-amdgpu-apu-llm-gtt-FRAGMENT",
        Err(Some(Gap::NoStats)),
    ),
    ("fdinfo-amdgpu-rx6800-fresh-open", Err(Some(Gap::Legacy))),
    (
        "fdinfo-amdgpu-rx9070xt-ffmpeg-FRAGMENT",
        Err(Some(Gap::Legacy)),
    ),
    ("fdinfo-amdxdna-npu-6.13", Err(None)),
    ("fdinfo-i915-a310-render-6.8", Err(Some(Gap::Legacy))),
    (
        "fdinfo-i915-a310-shared-exceeds-resident",
        Err(Some(Gap::Legacy)),
    ),
    ("fdinfo-i915-dg2-desktop", Err(Some(Gap::SharedBuffers))),
    ("fdinfo-i915-igpu-5.19-engines-only", Err(Some(Gap::Legacy))),
    ("fdinfo-i915-igpu-compositor", Err(Some(Gap::SharedBuffers))),
    ("fdinfo-i915-igpu-fresh-open", Err(Some(Gap::Legacy))),
    ("fdinfo-i915-igpu-manpage", Ok(6044 << 10)),
    ("fdinfo-msm-glmark2-6.0", Err(Some(Gap::Legacy))),
    ("fdinfo-not-drm", Err(Some(Gap::NoStats))),
    ("fdinfo-panfrost-kerneldoc", Ok(36_496 << 10)),
    ("fdinfo-panthor-rk3588", Ok(26_876 << 10)),
    ("fdinfo-v3d-chromium-6.11", Err(Some(Gap::SharedBuffers))),
    ("fdinfo-v3d-rpi5-resident", Err(Some(Gap::SharedBuffers))),
    ("fdinfo-xe-32g-llm-total-differs", Err(Some(Gap::Legacy))),
    ("fdinfo-xe-b70-llm-7.1", Err(Some(Gap::Legacy))),
    ("fdinfo-xe-dg2-kerneldoc", Err(Some(Gap::SharedBuffers))),
];

#[test]
fn every_collected_text_is_charged_or_says_why_not() {
    let Some(collected) = collected() else { return };
    let known: BTreeMap<_, _> = TEXTS.into_iter().collect();
    let mut run = 0;
    for entry in fs::read_dir(&collected).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let file = collected.join(&name).join("fdinfo");
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        run += 1;
        let value = |key: &str| {
            let line = text
                .lines()
                .find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(':'));
            line.map(|value| value.trim().to_owned())
        };
        let folder = bare();
        let driver = value("drm-driver").unwrap_or_else(|| "amdgpu".to_owned());
        let mut uevent = format!("DRIVER={driver}\n");
        if let Some(place) = value("drm-pdev").or_else(|| value("pdev")) {
            uevent = format!("{uevent}PCI_ID=1002:0001\nPCI_SLOT_NAME={place}\n");
        }
        folder.write("sys/class/drm/renderD128/device/uevent", uevent);
        let is_npu = driver.contains("accel");
        holds(
            &folder,
            if is_npu {
                "/dev/accel/accel0"
            } else {
                "/dev/dri/renderD128"
            },
            &text,
        );
        let snapshot = look(folder.path());
        let found = snapshot
            .processes
            .iter()
            .find(|process| process.key.pid == PID);
        let said = match found {
            None => Err(None),
            Some(process) => {
                let charge = &process.charges[0];
                let reasons = &charge.drm.as_ref().unwrap().reasons;
                match (reasons.first(), charge.memory.spill.known()) {
                    (None, Some(system)) => Ok(system.value().0),
                    (reason, None) => Err(reason.copied()),
                    (Some(reason), Some(_)) => panic!("{name}: {reason:?} and charged"),
                }
            }
        };
        let expected = known.get(&*name);
        assert!(
            expected.is_none_or(|expected| *expected == said),
            "{name}: {said:?}"
        );
    }
    assert!(run > 0, "no text in {}", collected.display());
}

#[test]
fn every_collected_device_says_what_its_files_say() {
    let Some(collected) = collected() else { return };
    let mut run = 0;
    for entry in fs::read_dir(&collected).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let sys = collected.join(&name).join("sys");
        let Some(card) = ["card0", "card1"]
            .map(|card| sys.join(card))
            .into_iter()
            .find(|card| card.is_dir())
        else {
            continue;
        };
        run += 1;
        let folder = bare();
        let node = card.file_name().unwrap().to_string_lossy().into_owned();
        copy(&card, &folder.at(&format!("sys/class/drm/{node}")));
        copy(&card, &folder.at("sys/class/drm/renderD128"));
        if sys.join("kfd").is_dir() {
            copy(&sys.join("kfd"), &folder.at("sys/class/kfd/kfd"));
        }
        // Somebody uses it, or a card that may sleep would be left alone.
        holds(&folder, "/dev/dri/renderD128", "pos:\t0\n");
        let snapshot = look(folder.path());
        assert_eq!(snapshot.devices.len(), 1, "{name}");
        check_device(&name, &snapshot.devices[0], &card.join("device"));
    }
    assert!(run > 0, "no device in {}", collected.display());
}

fn check_device(name: &str, device: &Device, files: &Path) {
    let expected = match name {
        _ if name.ends_with("-apu") => DeviceKind::Integrated,
        _ if name.starts_with("radeon") => DeviceKind::Unknown,
        "intel-cometlake-i915" | "intel-tigerlake-xe" => DeviceKind::Integrated,
        _ => DeviceKind::Discrete,
    };
    assert_eq!(device.kind, expected, "{name}");
    let number = |file: &str| {
        fs::read_to_string(files.join(file))
            .ok()?
            .trim()
            .parse::<u64>()
            .ok()
    };
    let is_amdgpu = name.starts_with("amd-");
    if is_amdgpu {
        let total = device.memory.total.value().map(|bytes| bytes.0);
        assert_eq!(total, number("mem_info_vram_total"), "{name}");
        assert_eq!(
            device.memory.used.value().map(|bytes| bytes.0),
            number("mem_info_vram_used"),
            "{name}"
        );
        if let Some(busy) = number("gpu_busy_percent").filter(|busy| *busy <= 100) {
            let said = device.gpu.value().map(|share| share.0.to_string());
            assert_eq!(said, Some(busy.to_string()), "{name}");
        }
    }
    let hwmon = fs::read_dir(files.join("hwmon"))
        .ok()
        .and_then(|mut it| it.next()?.ok());
    let monitored = hwmon.map(|hwmon| format!("hwmon/{}", hwmon.file_name().to_string_lossy()));
    if let Some(monitored) = monitored.filter(|_| is_amdgpu) {
        let edge = number(&format!("{monitored}/temp1_input")).map(|it| it / 1000);
        let said = device.temperature.value().map(|it| it.0.to_string());
        assert_eq!(said, edge.map(|it| it.to_string()), "{name}");
        let power = ["power1_average", "power1_input"]
            .iter()
            .find_map(|file| number(&format!("{monitored}/{file}")));
        assert_eq!(device.power.value().is_some(), power.is_some(), "{name}");
    }
    if name.starts_with("radeon") {
        assert!(device.temperature.known().is_none(), "{name}: half read");
    }
    for sensor in &device.sensors {
        if let Some(value) = sensor.value.value() {
            assert!(
                value.is_finite() && *value >= -60.0,
                "{name}: {} {value}",
                sensor.id
            );
        }
    }
}
