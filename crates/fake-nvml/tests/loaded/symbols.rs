use std::collections::BTreeSet;
use std::process::Command;

use fake_nvml::build::library_path;
use fake_nvml::{Generation, Scenario};

use crate::ffi::Loaded;

#[test]
fn each_generation_has_its_symbols_and_lacks_the_later_ones() {
    let all = Generation::R580.symbols();
    for generation in Generation::ALL {
        let loaded = Loaded::new(generation, &Scenario::empty());
        let own = generation.symbols();
        for name in &all {
            assert_eq!(
                loaded.has(name),
                own.contains(name),
                "{name} in {}",
                generation.name()
            );
        }
    }
}

#[test]
fn what_each_generation_lacks_is_what_its_drivers_lack() {
    let lacks = |generation: Generation, name: &str| !generation.symbols().contains(&name);
    for name in [
        "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetMPSComputeRunningProcesses",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetAttributes_v2",
        "nvmlDeviceGetArchitecture",
        "nvmlDeviceGetRemappedRows",
    ] {
        assert!(
            lacks(Generation::R390, name) && !lacks(Generation::R470, name),
            "{name}"
        );
    }
    for name in [
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetSupportedClocksEventReasons",
        "nvmlDeviceGetProcessesUtilizationInfo",
        "nvmlDeviceGetJpgUtilization",
        "nvmlDeviceGetOfaUtilization",
    ] {
        assert!(
            lacks(Generation::R470, name) && !lacks(Generation::R535, name),
            "{name}"
        );
    }
    for name in [
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetFanSpeedRPM",
        "nvmlDeviceGetRunningProcessDetailList",
    ] {
        assert!(
            lacks(Generation::R535, name) && !lacks(Generation::R580, name),
            "{name}"
        );
    }
}

/// Looks at the file itself, where binutils are there to do it.
#[test]
fn a_library_exports_nothing_else() {
    for generation in Generation::ALL {
        let mut nm = Command::new("nm");
        nm.args(["-D", "--defined-only"])
            .arg(library_path(generation));
        let Ok(output) = nm.output() else { return };
        if !output.status.success() || std::env::consts::OS != "linux" {
            return;
        }
        let text = String::from_utf8(output.stdout).unwrap();
        let mut exported: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.split_whitespace().last())
            .collect();
        assert!(exported.remove("fake_nvml_use_scenario"));
        let wanted: BTreeSet<&str> = generation.symbols().into_iter().collect();
        assert_eq!(exported, wanted, "{}", generation.name());
    }
}

#[test]
fn every_exported_device_call_has_an_answer() {
    // FUNCTION_NOT_FOUND is what the library answers to a name that no code stands behind.
    for generation in Generation::ALL {
        let loaded = Loaded::started(generation, &Scenario::servers());
        let handles = [0, 7].map(|index| loaded.handle(index));
        for name in generation.symbols() {
            for handle in handles {
                let answer = match shape(name) {
                    Shape::Text => loaded.text(name, handle).err(),
                    Shape::Figure => loaded.structure(name, handle, &[]).err(),
                    Shape::Chosen => loaded.chosen(name, handle, 0).err(),
                    Shape::Pair => loaded.pair(name, handle).err(),
                    Shape::Other => None,
                };
                assert_ne!(answer, Some(13), "{name} in {}", generation.name());
            }
        }
    }
}

enum Shape {
    Text,
    Figure,
    Chosen,
    Pair,
    Other,
}

fn shape(name: &str) -> Shape {
    let Some(what) = name.strip_prefix("nvmlDeviceGet") else {
        return Shape::Other;
    };
    match what {
        "Name" | "UUID" | "Serial" | "VbiosVersion" | "BoardPartNumber" => Shape::Text,
        "ClockInfo"
        | "MaxClockInfo"
        | "Temperature"
        | "TemperatureThreshold"
        | "FanSpeed_v2"
        | "PcieThroughput"
        | "NvLinkState"
        | "NvLinkVersion" => Shape::Chosen,
        "EncoderUtilization"
        | "DecoderUtilization"
        | "JpgUtilization"
        | "OfaUtilization"
        | "CudaComputeCapability"
        | "EccMode"
        | "MigMode" => Shape::Pair,
        // Each in its own test.
        "TotalEccErrors" | "RetiredPages" | "RemappedRows" => Shape::Other,
        _ if what.starts_with("NvLinkRemotePciInfo") => Shape::Other,
        _ if what.starts_with("Count") || what.contains("Handle") => Shape::Other,
        _ if what.contains("Process") || what == "Samples" => Shape::Other,
        _ => Shape::Figure,
    }
}
