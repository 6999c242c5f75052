//! Texts and attribute files that were collected elsewhere, in folders of `FIXTURES_DIR`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use model::{Device, DeviceKind, Gap};

use super::{PID, bare, holds, look};
use crate::support::skipped;

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
