//! Whose memory and load it is, across several cards and makers.

use model::{DeviceKind, Gap};

use super::{Watch, find, live, look, machine, process, sizes};
use crate::support::{Program, driver, json, models};

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

#[test]
fn queues_that_were_thrown_off_the_card_are_told_of() {
    let folder = machine("amd-card");
    let mut watch = Watch::of(live(folder.path()));
    let mut told = Vec::new();
    for refresh in 0..60 {
        let snapshot = watch.refresh();
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
