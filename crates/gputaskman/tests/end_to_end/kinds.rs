//! What kind of device it is, named wherever devices are named: shares of a host's card, cards that were handed through,
//! chips that share the system's memory.

use fake_nvml::{Device, Generation, Scenario};
use serde_json::Value;

use crate::support::json::{leaves, list};
use crate::support::{Machine, Program, driver, json};

fn run(generation: Generation, scenario: &Scenario, machine: &Machine, line: &str) -> String {
    let driver = driver(generation, scenario);
    let ran = Program::line(line)
        .driver(&driver)
        .root(machine.path())
        .run();
    ran.ended(0).text().to_owned()
}

fn document(generation: Generation, scenario: &Scenario) -> Value {
    let text = run(generation, scenario, &Machine::new(), "--json");
    let document = serde_json::from_str(&text).unwrap();
    json::every_null_has_its_reason(&document);
    document
}

#[test]
fn each_way_to_reach_a_card_is_named_as_what_it_is() {
    let ways = [
        (0, "none", None),
        (1, "passthrough", Some("passed through to this VM")),
        (2, "vgpu", Some("vGPU of a host")),
        (3, "host_vgpu", Some("host of vGPUs")),
        (4, "host_vsga", Some("host of vSGA")),
    ];
    for (mode, id, label) in ways {
        let scenario = Scenario::empty().with_device(Device {
            virtualization: mode.into(),
            ..Device::new("NVIDIA A16")
        });
        let document = document(Generation::R580, &scenario);
        assert_eq!(document["devices"][0]["virtualization"], id);
        let machine = Machine::new();
        for line in ["--once", "--list-gpus"] {
            let text = run(Generation::R580, &scenario, &machine, line);
            let named = ways.iter().filter_map(|(_, _, label)| *label);
            let found: Vec<&str> = named.filter(|label| text.contains(label)).collect();
            assert_eq!(found, Vec::from_iter(label), "{line}: {text}");
        }
    }
}

#[test]
fn a_mode_that_nobody_knows_is_implausible_and_a_missing_call_is_said() {
    let scenario = Scenario::empty().with_device(Device {
        virtualization: 77.into(),
        ..Device::new("NVIDIA A16")
    });
    for (generation, reason) in [
        (Generation::R580, "implausible"),
        (Generation::R390, "symbol_absent"),
    ] {
        let document = document(generation, &scenario);
        let device = &document["devices"][0];
        assert_eq!(device["virtualization"], Value::Null);
        assert_eq!(device["provenance"]["virtualization"]["reason"], reason);
    }
}

#[test]
fn what_a_guest_is_not_told_is_missing_because_it_is_a_guest() {
    for generation in [Generation::R470, Generation::R535, Generation::R580] {
        let document = document(generation, &Scenario::vgpu());
        let device = &document["devices"][0];
        assert_eq!(device["kind"], "discrete");
        assert_eq!(device["memory"]["vram_total_bytes"], 4096_u64 << 20);
        assert_eq!(device["gpu_pct"], 21.0);
        for field in [
            "power_watts",
            "temperature_celsius",
            "fan_pct",
            "core_clock_mhz",
            "encoder_pct",
        ] {
            assert_eq!(device[field], Value::Null, "{field}");
            assert_eq!(device["provenance"][field]["reason"], "vgpu", "{field}");
        }
        // It knows no MIG, which is not the host's doing.
        assert_eq!(device["provenance"]["mig"]["reason"], "not_supported");
        let charge = &list(&document, "processes")[0]["devices"][0];
        assert_eq!(charge["engines"]["gpu_pct"], 20.0);
    }
}

#[test]
fn the_systems_memory_is_no_memory_of_the_gpu() {
    let machine = Machine::new();
    let kib = 131_938_816_u64;
    machine.folder().write(
        "proc/meminfo",
        format!(
            "MemTotal: {kib} kB\nMemFree: {} kB\nMemAvailable: {} kB\n",
            kib / 2,
            kib / 4
        ),
    );
    for generation in Generation::ALL {
        let text = run(generation, &Scenario::unified(), &machine, "--json");
        let document: Value = serde_json::from_str(&text).unwrap();
        json::every_null_has_its_reason(&document);
        assert_eq!(document["devices"][0]["kind"], "unified");
        let of_system = [kib, kib / 2, kib / 4, kib - kib / 2, kib - kib / 4].map(|kib| kib * 1024);
        for leaf in leaves(&document) {
            let number = leaf.value.as_u64();
            assert!(
                number.is_none_or(|n| !of_system.contains(&n)),
                "{}",
                leaf.path
            );
        }
        for line in ["--once", "--list-gpus"] {
            let text = run(generation, &Scenario::unified(), &machine, line);
            assert!(text.contains("unified memory"), "{line}: {text}");
        }
    }
}
