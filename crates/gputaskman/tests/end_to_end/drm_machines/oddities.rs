//! Nodes, names and numbers that do not fit together: nothing is lost without a word, and nothing is charged twice.

use std::fs;

use model::{Device, Gap, Snapshot};

use super::{PID, bare, holds, look, machine, process, sizes};
use crate::support::Folder;

const CARD: &str = "sys/class/drm/card1/device";

fn source<'a>(snapshot: &'a Snapshot, id: &str) -> &'a str {
    let mut sources = snapshot.sources.iter();
    &sources.find(|source| source.id == id).unwrap().detail
}

/// Puts an NVIDIA card beside the others, with its node and its place on the bus.
fn add_nvidia(folder: &Folder) {
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
}

#[test]
fn an_nvidia_card_without_its_library_is_named_beside_another_card() {
    let folder = machine("amd-card");
    let before = look(folder.path());
    assert!(before.notices.iter().all(|it| it.code != "device_unread"));
    let holders = source(&before, "drm.fdinfo").to_owned();
    add_nvidia(&folder);
    // It has the NVIDIA card's node open only, and so none of the other.
    holds(&folder, "/dev/dri/renderD129", "pos:\t0\n");
    let snapshot = look(folder.path());
    let unread = snapshot
        .notices
        .iter()
        .find(|it| it.code == "device_unread");
    let unread = unread.unwrap();
    assert_eq!(&*unread.subject, "0000:01:00.0");
    assert!(unread.text.ends_with("there is no NVIDIA driver library"));
    let lines = output::text::report(&snapshot, 200);
    let lines = lines.lines().filter(|line| line.contains("0000:01:00.0"));
    assert_eq!(lines.count(), 1);
    let count = |detail: &str| detail.split("; ").nth(1).unwrap().to_owned();
    assert_eq!(count(source(&snapshot, "drm.fdinfo")), count(&holders));
    assert!(holders.contains(" them open"));
}

#[test]
fn a_card_on_the_bus_without_a_node_is_named() {
    let folder = machine("amd-card");
    for (address, vendor) in [("0000:0a:00.0", "0x1002"), ("0000:00:02.0", "0x8086")] {
        let device = format!("sys/bus/pci/devices/{address}");
        folder.write(&format!("{device}/class"), "0x030000\n");
        folder.write(&format!("{device}/vendor"), format!("{vendor}\n"));
    }
    let snapshot = look(folder.path());
    let unread = snapshot.notices.iter();
    let unread = unread.filter(|it| it.code == "device_unread");
    let unread: Vec<&str> = unread.map(|it| &*it.subject).collect();
    assert_eq!(unread, ["0000:00:02.0", "0000:0a:00.0"]);
}

#[test]
fn a_text_of_a_device_that_is_not_here_is_shown_with_its_node_and_not_charged() {
    let folder = machine("amd-card");
    let text = |place: &str| {
        let texts = fs::read_to_string(folder.at("proc/200/fdinfo/5")).unwrap();
        let lines = texts.lines().filter(|line| !line.starts_with("drm-client"));
        let lines = lines.map(|line| match line.strip_prefix("drm-pdev:") {
            Some(_) => format!("drm-pdev:\t{place}\n"),
            None => format!("{line}\n"),
        });
        lines.collect::<String>() + "drm-client-id:\t77777\n"
    };
    let link = folder.at(&format!("proc/{PID}/fd/5"));
    holds(&folder, "/dev/dri/renderD128", &text("0000:99:00.0"));
    let snapshot = look(folder.path());
    assert_eq!(
        sizes(&snapshot, PID),
        (Err(Gap::Incomplete), Err(Gap::Incomplete))
    );
    let charge = &process(&snapshot, PID).charges[0];
    assert_eq!(charge.drm.as_ref().unwrap().reasons, [Gap::Incomplete]);
    // The text says where it belongs, whatever its node is called.
    let own = text(&snapshot.devices[0].key.to_string());
    fs::remove_file(&link).unwrap();
    holds(&folder, "/dev/dri/renderD190", &own);
    let snapshot = look(folder.path());
    assert!(sizes(&snapshot, PID).0.is_ok());
    assert!(!source(&snapshot, "drm.fdinfo").contains("no device that is here"));
    // Neither text nor node is of a device here.
    fs::remove_file(&link).unwrap();
    holds(&folder, "/dev/dri/renderD190", &text("0000:99:00.0"));
    let snapshot = look(folder.path());
    let said = source(&snapshot, "drm.fdinfo");
    assert!(said.contains("1 open node is of no device that is here"));
}

#[test]
fn two_nodes_of_a_driver_that_says_no_place_are_one_device() {
    let folder = bare();
    for node in ["card0", "renderD128"] {
        let device = format!("sys/class/drm/{node}/device");
        folder.write(&format!("{device}/uevent"), "DRIVER=panfrost\n");
        folder.write(&format!("{device}/drm/card0/dev"), "226:0\n");
        folder.write(&format!("{device}/drm/renderD128/dev"), "226:128\n");
    }
    let text = "drm-driver:\tpanfrost\ndrm-client-id:\t7\ndrm-total-memory:\t1 MiB\n\
                drm-shared-memory:\t0\ndrm-resident-memory:\t1 MiB\n";
    holds(&folder, "/dev/dri/renderD128", text);
    let snapshot = look(folder.path());
    let keys: Vec<_> = snapshot
        .devices
        .iter()
        .map(|it| it.key.to_string())
        .collect();
    assert_eq!(keys, ["card0"]);
    assert_eq!(sizes(&snapshot, PID).1, Ok(1 << 20));
}

#[test]
fn devices_of_one_name_in_two_parts_of_the_tree_are_two() {
    let folder = bare();
    for (number, path) in [(0, "/soc@0/gpu@100"), (1, "/soc@1/gpu@100")] {
        for node in [format!("card{number}"), format!("renderD{}", 128 + number)] {
            let uevent = format!("DRIVER=v3d\nOF_NAME=gpu\nOF_FULLNAME={path}\n");
            folder.write(&format!("sys/class/drm/{node}/device/uevent"), uevent);
        }
    }
    let snapshot = look(folder.path());
    let keys: Vec<_> = snapshot
        .devices
        .iter()
        .map(|it| it.key.to_string())
        .collect();
    assert_eq!(keys, ["/soc@0/gpu@100", "/soc@1/gpu@100"]);
}

#[test]
fn a_name_of_which_nothing_can_be_seen_is_passed_over() {
    let folder = machine("amd-card");
    let list = "/usr/share/hwdata/pci.ids".trim_start_matches('/');
    let named = |folder: &Folder| look(folder.path()).devices[0].name.value().cloned();
    folder.write(&format!("{CARD}/product_name"), "Made-up Card\0\0\n");
    assert_eq!(named(&folder).as_deref(), Some("Made-up Card"));
    for nothing in [&b"\0\0\0\n"[..], b"\xff\xfe\n", b"\x1b\x07\n", b"\n"] {
        folder.write(&format!("{CARD}/product_name"), nothing);
        let name = named(&folder).unwrap();
        assert!(name.contains("(1002:"), "{name}");
    }
    let uevent = fs::read_to_string(folder.at(&format!("{CARD}/uevent"))).unwrap();
    let ids = uevent.lines().find_map(|line| line.strip_prefix("PCI_ID="));
    let (vendor, device) = ids.unwrap().split_once(':').unwrap();
    let (vendor, device) = (vendor.to_lowercase(), device.to_lowercase());
    folder.write(list, format!("{vendor}  Maker\n\t{device}  Listed Card\n"));
    assert_eq!(named(&folder).as_deref(), Some("Listed Card"));
    folder.write(list, format!("{vendor}  Maker\n\t{device}  \0\0\n"));
    assert!(named(&folder).unwrap().contains("(1002:"));
}

/// The card of `amd-card` with this table in place of the files that say the same.
fn with_table(table: &[u8]) -> Device {
    let folder = machine("amd-card");
    for file in ["gpu_busy_percent", "mem_busy_percent"] {
        drop(fs::remove_file(folder.at(&format!("{CARD}/{file}"))));
    }
    folder.write(&format!("{CARD}/gpu_metrics"), table);
    look(folder.path()).devices[0].clone()
}

#[test]
fn what_is_wrong_with_gpu_metrics_is_the_reason() {
    let table = |size: u16, revision: u8, load: u16| {
        let mut bytes = vec![0xff; 120];
        bytes[..2].copy_from_slice(&size.to_le_bytes());
        bytes[2..4].copy_from_slice(&[1, revision]);
        bytes[16..18].copy_from_slice(&load.to_le_bytes());
        bytes
    };
    for (table, expected) in [
        (table(120, 3, 100), None),
        (table(120, 3, 101), Some(Gap::Implausible)),
        (table(120, 3, u16::MAX), Some(Gap::NotSupported)),
        (table(119, 3, 50), Some(Gap::Malformed)),
        (table(u16::MAX, 3, 50), Some(Gap::Malformed)),
        (table(120, 9, 50), Some(Gap::NotRecognised)),
        (b"\x78".to_vec(), Some(Gap::Malformed)),
        (Vec::new(), Some(Gap::Malformed)),
    ] {
        assert_eq!(with_table(&table).gpu.gap(), expected, "{table:?}");
    }
}

#[test]
fn whether_a_card_may_be_suspended_is_known_without_its_state() {
    let folder = machine("amd-card");
    let place = look(folder.path()).devices[0].key.to_string();
    // By the bus alone: the folder of the node does not tell.
    fs::remove_file(folder.at(&format!("{CARD}/power/control"))).unwrap();
    let device = format!("sys/bus/pci/devices/{place}");
    folder.write(&format!("{device}/class"), "0x030000\n");
    folder.write(&format!("{device}/vendor"), "0x1002\n");
    folder.write(&format!("{device}/power/control"), "auto\n");
    let may = || look(folder.path()).devices[0].may_suspend;
    assert_eq!(may().value(), Some(&true));
    for (status, expected) in [
        ("unsupported\n", Some(true)),
        ("active\n", Some(true)),
        ("", None),
        ("suspended\n", None),
    ] {
        folder.write(&format!("{device}/power/runtime_status"), status);
        assert_eq!(may().value().copied(), expected, "{status:?}");
    }
    assert_eq!(may().gap(), Some(Gap::Asleep));
}

#[test]
fn what_is_said_of_a_number_that_two_devices_have_is_charged_on_neither() {
    let folder = machine("amd-card");
    let told = |snapshot: &Snapshot| {
        let drm = process(snapshot, 300).charges[0].drm.as_ref().unwrap();
        let kfd = drm.kfd.as_ref().unwrap();
        kfd.vram.value().copied().ok_or(kfd.vram.gap())
    };
    assert!(told(&look(folder.path())).is_ok());
    let node = "sys/class/kfd/kfd/topology/nodes/7";
    folder.write(&format!("{node}/gpu_id"), "20817\n");
    folder.write(&format!("{node}/properties"), "drm_render_minor 199\n");
    let snapshot = look(folder.path());
    assert_eq!(told(&snapshot), Err(Some(Gap::Ambiguous)));
    // Known to the compute driver only.
    assert!(sizes(&snapshot, 500).0.is_err());
}
