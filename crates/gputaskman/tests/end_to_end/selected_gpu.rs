//! `--gpu` by number, PCI address and UUID: the same device by whichever name.

use fake_nvml::{Device, Generation, Scenario};
use serde_json::Value;

use crate::support::{Folder, Program, driver};

const FIRST: &str = "GPU-11112222-3333-4444-5555-666677778888";
const SECOND: &str = "GPU-1111aaaa-3333-4444-5555-666677778888";
const THIRD: &str = "GPU-99990000-3333-4444-5555-666677778888";

/// Three cards alike, the last on the same bus number of another domain as the first.
fn three() -> Scenario {
    let card = |uuid: &str, pci: &str| Device {
        uuid: uuid.to_owned(),
        pci: pci.to_owned(),
        ..Device::default()
    };
    Scenario {
        devices: vec![
            card(FIRST, "00000000:01:00.0"),
            card(SECOND, "00000000:C1:00.0"),
            card(THIRD, "00000001:01:00.0"),
        ],
        ..Scenario::default()
    }
}

fn only(shown: &Value) -> (&Value, &Value) {
    let devices = shown["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 1, "{shown}");
    (&shown["selected_device"], &devices[0]["uuid"])
}

const NAMES: &[(&str, u32, &str)] = &[
    ("0000:01:00.0", 0, FIRST),
    ("00000000:01:00.0", 0, FIRST),
    ("0000:c1:00.0", 1, SECOND),
    ("0000:C1:00.0", 1, SECOND),
    ("c1:00.0", 1, SECOND),
    ("C1:00.0", 1, SECOND),
    ("0001:01:00.0", 2, THIRD),
    ("00000001:01:00.0", 2, THIRD),
    (FIRST, 0, FIRST),
    ("gpu-1111AAAA-3333-4444-5555-666677778888", 1, SECOND),
    ("GPU-1111a", 1, SECOND),
    ("GPU-9", 2, THIRD),
    ("2", 2, THIRD),
];

#[test]
fn a_gpu_has_the_same_report_by_each_of_its_names() {
    let driver = driver(Generation::R580, &three());
    for (name, index, uuid) in NAMES {
        let shown = Program::line("--json --gpu")
            .arg(name)
            .driver(&driver)
            .run();
        shown.ended(0);
        let shown = shown.json();
        assert_eq!(only(&shown), (&(*index).into(), &(*uuid).into()), "{name}");
        let text = Program::line("--once --gpu")
            .arg(name)
            .driver(&driver)
            .run();
        text.ended(0);
        let heads: Vec<&str> = text
            .text()
            .lines()
            .filter(|line| line.starts_with("GPU "))
            .collect();
        assert!(
            matches!(heads.as_slice(), [head] if head.starts_with(&format!("GPU {index} "))),
            "{name}: {heads:?}"
        );
    }
}

#[test]
fn a_name_that_no_gpu_has_or_several_have_is_refused_with_the_names_there_are() {
    let driver = driver(Generation::R580, &three());
    let every = [
        "0 (0000:01:00.0, GPU-11112222-",
        "1 (0000:c1:00.0, GPU-1111aaaa-",
        "2 (0001:01:00.0, GPU-99990000-",
    ];
    for name in [
        "3",
        "x",
        "1.5",
        "0000:02:00.0",
        "01:00.1",
        "GPU-2",
        "MIG-1111",
        "GPU-",
        "01:00",
    ] {
        for how in [
            "--json",
            "--once",
            "--list-gpus",
            "record --count 1 -o x.ndjson",
            "",
        ] {
            Program::line(how)
                .args(["--gpu", name])
                .driver(&driver)
                .run()
                .refused(2, &[&[name][..], &every].concat());
        }
    }
    for (name, which) in [
        ("01:00.0", ["0 (0000:01:00.0", "2 (0001:01:00.0"]),
        ("GPU-1111", ["0 (0000:01:00.0", "1 (0000:c1:00.0"]),
    ] {
        Program::line("--json --gpu")
            .arg(name)
            .driver(&driver)
            .run()
            .refused(2, &[&[name, "more than one"][..], &which, &every].concat());
    }
}

#[test]
fn a_recording_shows_the_gpu_that_is_named_and_holds_no_uuid_that_was_typed() {
    let driver = driver(Generation::R580, &three());
    let folder = Folder::new();
    let file = folder.at("capture.ndjson");
    let recorded = Program::line("record --json --count 2 --gpu")
        .args([SECOND, "-o"])
        .arg(&file)
        .driver(&driver)
        .run();
    recorded.ended(0);
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(!written.contains(&SECOND["GPU-".len()..]), "{written}");
    let replay = |line: &str| Program::line(line).arg("replay").arg(&file).run();
    let last = recorded.lines().pop().unwrap();
    let hidden = last["devices"][0]["uuid"].as_str().unwrap();
    assert_eq!(only(&last), (&1.into(), &hidden.into()));
    assert_eq!(replay("--json").stdout, recorded.stdout);
    for name in [hidden, "0000:c1:00.0", "C1:00.0", "1"] {
        let shown = replay(&format!("--json --once --gpu {name}")).json();
        assert_eq!(only(&shown), (&1.into(), &hidden.into()), "{name}");
    }
    for name in [SECOND, "0000:02:00.0", "x", "7"] {
        for how in ["--json", "--once", ""] {
            replay(&format!("{how} --gpu {name}"))
                .refused(2, &[name, "0 (0000:01:00.0", hidden, "2 (0001:01:00.0"]);
        }
    }
}

#[test]
fn a_named_gpu_without_any_gpu_is_no_mistake_of_the_user() {
    for name in ["0", "0000:01:00.0", "GPU-1111"] {
        let shown = Program::line("--json --gpu").arg(name).run();
        shown.ended(3);
        assert_eq!(shown.json()["devices"].as_array().map(Vec::len), Some(0));
    }
    Program::line("--json --gpu x").run().refused(2, &["\"x\""]);
}
