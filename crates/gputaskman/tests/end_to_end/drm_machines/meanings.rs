//! What readings mean: of which kind a device is and how that is known, what its system memory is called, which rule
//! decided, and what does not fit together.

use std::fs;
use std::path::Path;
use std::process::Command;

use model::{DeviceKind, Gap, KfdStanding, Snapshot};
use serde_json::Value;

use super::{PID, bare, holds, look, machine, process, report, sizes};
use crate::support::{Folder, Program, json};

const CARD: &str = "sys/class/drm/card1/device";

fn document(snapshot: &Snapshot) -> Value {
    serde_json::from_str(&output::json::to_line(snapshot)).unwrap()
}

fn notice<'a>(snapshot: &'a Snapshot, code: &str) -> Option<&'a str> {
    let mut notices = snapshot.notices.iter();
    notices.find(|it| it.code == code).map(|it| &*it.text)
}

/// A table `gpu_metrics` of this format in which nothing is filled in.
fn table(format: u8, size: u8) -> Vec<u8> {
    let mut bytes = vec![0xff; usize::from(size)];
    bytes[..4].copy_from_slice(&[size, 0, format, 1]);
    bytes
}

fn remove(folder: &Folder, names: &[&str]) {
    for name in names {
        let path = folder.at(name);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
}

/// The card of `amd-card` with nothing that tells of which kind it is.
fn kindless() -> Folder {
    let folder = machine("amd-card");
    remove(&folder, &[&format!("{CARD}/hwmon"), "sys/class/kfd"]);
    for name in [
        "mem_busy_percent",
        "pcie_bw",
        "mem_info_vram_vendor",
        "gpu_metrics",
    ] {
        drop(fs::remove_file(folder.at(&format!("{CARD}/{name}"))));
    }
    folder
}

fn kind(folder: &Folder) -> (DeviceKind, Option<&'static str>) {
    let device = &look(folder.path()).devices[0];
    (device.kind, device.kind_evidence)
}

#[test]
fn a_kind_has_the_evidence_that_decided_it_and_without_any_it_is_unknown() {
    let folder = kindless();
    assert_eq!(kind(&folder), (DeviceKind::Unknown, None));
    let snapshot = look(folder.path());
    let device = &document(&snapshot)["devices"][0];
    assert_eq!(
        (&device["kind"], &device["kind_evidence"]),
        (&"unknown".into(), &Value::Null)
    );
    let text = report(&snapshot, folder.path());
    assert!(
        text.contains("card or part of the processor: not known"),
        "{text}"
    );
    // Each sign is surer than those before it.
    let signs: [(&str, &[u8], DeviceKind, &str); 5] = [
        (
            "mem_info_vram_vendor",
            b"samsung\n",
            DeviceKind::Discrete,
            "mem_info_vram_vendor",
        ),
        ("pcie_bw", b"\n", DeviceKind::Discrete, "pcie_bw"),
        (
            "mem_busy_percent",
            b"7\n",
            DeviceKind::Discrete,
            "mem_busy_percent",
        ),
        (
            "gpu_metrics",
            &table(2, 120),
            DeviceKind::Integrated,
            "gpu_metrics format of processors",
        ),
        (
            "hwmon/hwmon3/in1_label",
            b"vddnb\n",
            DeviceKind::Integrated,
            "hwmon in1_label vddnb",
        ),
    ];
    for (name, content, expected, evidence) in signs {
        folder.write(&format!("{CARD}/hwmon/hwmon3/name"), "amdgpu\n");
        folder.write(&format!("{CARD}/{name}"), content);
        assert_eq!(kind(&folder), (expected, Some(evidence)), "{name}");
        let snapshot = look(folder.path());
        let device = &document(&snapshot)["devices"][0];
        assert_eq!(device["kind_evidence"], evidence);
        let text = report(&snapshot, folder.path());
        let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            told.contains(&format!("{} by {evidence}", expected.id())),
            "{text}"
        );
    }
    // Cards and accelerators that are processors too have tables of format 1.
    let folder = kindless();
    folder.write(&format!("{CARD}/gpu_metrics"), table(1, 120));
    assert_eq!(kind(&folder), (DeviceKind::Unknown, None));
    folder.write(&format!("{CARD}/gpu_metrics"), &table(2, 120)[..60]);
    assert_eq!(kind(&folder).0, DeviceKind::Unknown, "it is cut off");
}

#[test]
fn system_memory_of_a_part_of_the_processor_is_shared_and_no_spill() {
    let folder = machine("amd-processor");
    let snapshot = look(folder.path());
    let text = report(&snapshot, folder.path());
    assert!(text.contains("SHARED") && !text.contains("SPILL"), "{text}");
    assert!(text.contains("carve-out 420 MiB of 512 MiB"), "{text}");
    let role = |snapshot: &Snapshot, pid| {
        let document = document(snapshot);
        let charge = &json::process(&document, pid)["devices"][0];
        charge["drm"]["system_memory_role"]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(role(&snapshot, 700).as_deref(), Some("shared"));
    assert_eq!(sizes(&snapshot, 700).1, Ok(20_000 << 20));
    // A card that has become a part of the processor has nothing that was pushed out.
    let folder = machine("amd-card");
    let displaced = |snapshot: &Snapshot| {
        let drm = process(snapshot, 200).charges[0].drm.as_ref().unwrap();
        drm.displaced
            .known()
            .map(|it| it.high.0)
            .ok_or(drm.displaced.gap())
    };
    let snapshot = look(folder.path());
    assert_eq!(role(&snapshot, 200).as_deref(), Some("spill"));
    assert_eq!(displaced(&snapshot), Ok(512 << 20));
    folder.write(&format!("{CARD}/gpu_metrics"), table(2, 120));
    let snapshot = look(folder.path());
    assert_eq!(role(&snapshot, 200).as_deref(), Some("shared"));
    assert_eq!(displaced(&snapshot), Err(Some(Gap::NotApplicable)));
    assert!(!report(&snapshot, folder.path()).contains("should be in VRAM"));
    let folder = kindless();
    let snapshot = look(folder.path());
    assert_eq!(role(&snapshot, 200).as_deref(), Some("unknown"));
    assert!(!report(&snapshot, folder.path()).contains("SPILL"));
}

#[test]
fn a_size_beyond_its_device_is_told_with_both_figures_and_their_files() {
    let folder = machine("amd-card");
    let snapshot = look(folder.path());
    let text = notice(&snapshot, "size_exceeds_used").unwrap();
    for part in [
        "process 200",
        "528.0 MiB",
        "drm-resident-gtt",
        "256.0 MiB",
        "mem_info_gtt_used",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(notice(&snapshot, "size_exceeds_total").is_none());
    folder.write(
        &format!("{CARD}/mem_info_gtt_used"),
        format!("{}\n", 600_u64 << 20),
    );
    assert!(notice(&look(folder.path()), "size_exceeds_used").is_none());
    folder.write(
        &format!("{CARD}/mem_info_gtt_total"),
        format!("{}\n", 500_u64 << 20),
    );
    let snapshot = look(folder.path());
    let text = notice(&snapshot, "size_exceeds_total").unwrap();
    for part in [
        "process 200",
        "528.0 MiB",
        "drm-resident-gtt",
        "500.0 MiB",
        "mem_info_gtt_total",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(sizes(&snapshot, 200).1, Err(Gap::Implausible));
}

#[test]
fn the_rule_about_the_compute_drivers_count_is_told_wherever_it_is() {
    let folder = machine("amd-card");
    let standing = |snapshot: &Snapshot, pid| {
        let drm = process(snapshot, pid).charges[0].drm.as_ref().unwrap();
        drm.kfd.as_ref().unwrap().standing
    };
    let snapshot = look(folder.path());
    assert_eq!(standing(&snapshot, 300), KfdStanding::InClients);
    assert_eq!(standing(&snapshot, 500), KfdStanding::InAnotherRow);
    let kfd = |snapshot: &Snapshot, pid| {
        let document = document(snapshot);
        json::process(&document, pid)["devices"][0]["drm"]["kfd"].clone()
    };
    let of_500 = kfd(&snapshot, 500);
    assert_eq!(
        (&of_500["charged"], &of_500["uncharged_reason"]),
        (&false.into(), &"in_another_row".into())
    );
    let text = report(&snapshot, folder.path());
    assert!(text.contains("the same bytes may be in another"), "{text}");
    // Its own node cannot be read.
    remove(&folder, &["proc/300/fdinfo"]);
    let snapshot = look(folder.path());
    assert_eq!(standing(&snapshot, 300), KfdStanding::ClientsUncharged);
    assert_eq!(
        kfd(&snapshot, 300)["rule"],
        KfdStanding::ClientsUncharged.sentence()
    );
    folder.write(&format!("{CARD}/mem_info_vram_used"), "1000000\n");
    assert_eq!(
        standing(&look(folder.path()), 500),
        KfdStanding::ExceedsUsed
    );
    folder.write("sys/class/kfd/kfd/proc/500/vram_20817", "-1\n");
    assert_eq!(standing(&look(folder.path()), 500), KfdStanding::NoFigure);
    let folder = kindless();
    let node = "sys/class/kfd/kfd/topology/nodes/1";
    folder.write(&format!("{node}/gpu_id"), "20817\n");
    folder.write(&format!("{node}/properties"), "drm_render_minor 128\n");
    folder.write("sys/class/kfd/kfd/proc/500/vram_20817", "4096\n");
    assert_eq!(standing(&look(folder.path()), 500), KfdStanding::NotACard);
}

#[test]
fn the_partitions_of_a_device_make_one_figure_of_a_process() {
    let folder = machine("amd-card");
    let vram = |folder: &Folder| {
        let snapshot = look(folder.path());
        let drm = process(&snapshot, 300).charges[0].drm.as_ref().unwrap();
        let kfd = drm.kfd.as_ref().unwrap();
        kfd.vram.value().map(|bytes| bytes.0).ok_or(kfd.vram.gap())
    };
    let alone = vram(&folder).unwrap();
    let properties = fs::read_to_string(folder.at("sys/class/kfd/kfd/topology/nodes/1/properties"));
    // A partition has the place of the others and a render node of its own.
    let properties = properties
        .unwrap()
        .replace("drm_render_minor 128", "drm_render_minor 129");
    folder.write("sys/class/kfd/kfd/topology/nodes/2/gpu_id", "777\n");
    folder.write("sys/class/kfd/kfd/topology/nodes/2/properties", properties);
    assert_eq!(
        vram(&folder),
        Err(Some(Gap::InputMissing)),
        "one is not told"
    );
    folder.write("sys/class/kfd/kfd/proc/300/vram_777", "4096\n");
    assert_eq!(vram(&folder), Ok(alone + 4096));
}

#[test]
fn what_is_certain_although_nothing_can_be_charged_is_shown_in_its_class() {
    let folder = machine("amd-card");
    let text = "drm-driver:\tamdgpu\ndrm-client-id:\t99\ndrm-pdev:\t0000:03:00.0\n\
                drm-total-vram:\t8 MiB\ndrm-shared-vram:\t0\ndrm-resident-vram:\t8 MiB\n\
                drm-total-gtt:\t4 MiB\ndrm-shared-gtt:\t1 MiB\ndrm-resident-gtt:\t4 MiB\n";
    holds(&folder, "/dev/dri/renderD128", text);
    let snapshot = look(folder.path());
    assert_eq!(sizes(&snapshot, PID).0, Err(Gap::SharedBuffers));
    let report = report(&snapshot, folder.path());
    let row = report
        .lines()
        .find(|line| line.trim_start().starts_with(&format!("{PID} ")));
    assert!(row.unwrap().contains("~8.00M"), "{report}");
    assert!(
        report.contains("VRAM 8.00M exactly, derived (~)"),
        "{report}"
    );
    let document = document(&snapshot);
    let drm = &json::process(&document, PID)["devices"][0]["drm"];
    assert_eq!(drm["vram_at_least_bytes"], 8 << 20);
    let trace = &drm["provenance"]["vram_at_least_bytes"];
    assert_eq!(
        (&trace["class"], &trace["bound"]),
        (&"estimated".into(), &Value::Null)
    );
}

#[test]
fn no_line_of_engine_time_is_no_work_only_where_the_device_is_known_to_time_any() {
    let folder = machine("amd-processor");
    let idle = "drm-driver:\tamdgpu\ndrm-client-id:\t99\ndrm-pdev:\t0000:64:00.0\n\
                drm-total-vram:\t0\ndrm-shared-vram:\t0\ndrm-resident-vram:\t0\n\
                drm-total-gtt:\t0\ndrm-shared-gtt:\t0\ndrm-resident-gtt:\t0\n";
    holds(&folder, "/dev/dri/renderD128", idle);
    let busiest = |folder: &Folder| {
        let snapshot = look(folder.path());
        let busiest = process(&snapshot, PID).charges[0].engines.busiest;
        busiest.known().map(|it| it.value().0).ok_or(busiest.gap())
    };
    assert_eq!(busiest(&folder), Ok(0.0), "another client has such lines");
    remove(&folder, &["proc/700"]);
    assert_eq!(busiest(&folder), Err(Some(Gap::NoEngineLine)));
}

#[test]
fn what_both_directions_of_video_share_is_named_as_the_reason() {
    for (name, pid) in [("amd-processor", 700), ("intel-card-xe", 800)] {
        let folder = machine(name);
        let snapshot = look(folder.path());
        let engines = &process(&snapshot, pid).charges[0].engines;
        let expected = match engines.video.gap() {
            Some(Gap::NoCounter) => Gap::NoCounter,
            _ => Gap::SharedEngine,
        };
        for direction in [&engines.encode, &engines.decode] {
            assert_eq!(direction.gap(), Some(expected), "{name}");
        }
        // Where only the sums over clients are known of the device, these name the engine.
        for device in &snapshot.devices {
            let mut loads = device.visible_loads.iter();
            if loads.any(|(name, _)| matches!(&**name, "video" | "vcs")) {
                assert_eq!(device.decoder.gap(), Some(Gap::SharedEngine), "{name}");
            }
        }
    }
    // The one figure that the card has of its video engines.
    let folder = machine("amd-card");
    let device = &look(folder.path()).devices[0];
    assert!(
        device
            .sensors
            .iter()
            .any(|it| it.id == "video_engine" && it.value.known().is_some())
    );
    assert_eq!(device.encoder.gap(), Some(Gap::SharedEngine));
    assert!(Gap::SharedEngine.sentence().contains("\"video\""));
}

fn pipe(path: &Path) {
    drop(fs::remove_file(path));
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_pipe_in_place_of_any_file_is_told_as_such_and_never_waited_for() {
    let folder = machine("amd-card");
    pipe(&folder.at(&format!("{CARD}/mem_info_vram_used")));
    pipe(&folder.at("proc/200/stat"));
    let snapshot = look(folder.path());
    assert_eq!(snapshot.devices[0].memory.used.gap(), Some(Gap::NotRegular));
    assert_eq!(process(&snapshot, 200).name.gap(), Some(Gap::NotRegular));
    pipe(&folder.at("sys/class/kfd/kfd/topology/nodes/1/gpu_id"));
    let mut sources = look(folder.path()).sources.clone();
    sources.retain(|source| source.id == "drm.fdinfo");
    let detail = &sources[0].detail;
    assert!(
        detail.contains("/sys/class/kfd: ") && detail.contains("no regular file"),
        "{detail}"
    );
    pipe(&folder.at(&format!("{CARD}/uevent")));
    let snapshot = look(folder.path());
    let text = notice(&snapshot, "node_unreadable").unwrap();
    assert!(
        text.contains("card1") && text.contains("no regular file"),
        "{text}"
    );
    let device = &snapshot.devices[0];
    for gap in [
        device.memory.total.gap(),
        device.gpu.gap(),
        device.power.gap(),
    ] {
        assert_eq!(gap, Some(Gap::NotRegular));
    }
}

#[test]
fn a_file_that_a_living_process_lacks_is_missing_and_the_process_has_not_ended() {
    let folder = machine("amd-card");
    let snapshot = look(folder.path());
    let it = process(&snapshot, 200);
    assert_eq!(it.command_line.gap(), Some(Gap::NotPresent));
    assert_eq!(it.runtimes.gap(), Some(Gap::NotPresent));
}

#[test]
fn a_long_name_is_bounded_wherever_it_is_shown() {
    let folder = machine("amd-card");
    folder.write(
        &format!("{CARD}/product_name"),
        format!("{}\n", "Radeon ".repeat(60)),
    );
    let snapshot = look(folder.path());
    let name = snapshot.devices[0].name.value().unwrap();
    assert!(
        name.starts_with("Radeon Radeon") && name.ends_with('\u{2026}'),
        "{name}"
    );
    assert!(name.chars().count() <= model::names::MOST_OF_NAME);
    for width in [60, 100] {
        let text = output::text::report(&snapshot, width);
        let wide = text.lines().map(|line| line.chars().count()).max();
        assert!(wide.unwrap() <= width, "{text}");
    }
    // Bytes that are no text are no name.
    folder.write(&format!("{CARD}/product_name"), b"Rad\xff\xfeeon\n");
    let name = look(folder.path()).devices[0]
        .name
        .value()
        .unwrap()
        .to_string();
    assert!(name.contains("(1002:"), "{name}");
}

#[test]
fn a_folder_that_is_no_machine_is_refused_and_one_that_is_a_part_of_one_is_not() {
    let folder = Folder::new();
    folder.write("notes.txt", "no machine\n");
    for line in ["--once", "--json", "--list-gpus"] {
        let ran = Program::line(line).root(folder.path()).run();
        ran.ended(2);
        let text = &ran.stderr;
        assert!(text.contains("proc, sys and dev"), "{text}");
    }
    Program::line("--json").root(bare().path()).run().ended(3);
}
