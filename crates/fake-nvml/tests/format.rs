//! The scenario format.

use fake_nvml::{Code, Kind, Pid, Scenario, Value};

fn all_ready() -> [Scenario; 9] {
    [
        Scenario::empty(),
        Scenario::idle(),
        Scenario::workstation(),
        Scenario::servers(),
        Scenario::faulty(),
        Scenario::hanging(),
        Scenario::container_split(),
        Scenario::unified(),
        Scenario {
            clock_us: Some(vec![3, 2].into()),
            ..Scenario::default()
        },
    ]
}

#[test]
fn a_scenario_survives_being_written_and_read() {
    for scenario in all_ready() {
        assert_eq!(Scenario::from_json(&scenario.to_json()).unwrap(), scenario);
    }
}

#[test]
fn the_examples_in_the_readme_are_scenarios() {
    let readme = include_str!("../README.md");
    let examples: Vec<&str> = readme
        .split("```json\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!examples.is_empty());
    for example in examples {
        Scenario::from_json(example).unwrap_or_else(|error| panic!("{error} in {example}"));
    }
}

#[test]
fn the_readme_names_every_key() {
    let readme = include_str!("../README.md");
    let text = Scenario::workstation()
        .with_fault(fake_nvml::Fault::default())
        .to_json();
    let servers = Scenario::servers().to_json();
    let keys = text
        .lines()
        .chain(servers.lines())
        .filter_map(|line| line.split('"').nth(1));
    for key in keys.filter(|key| {
        key.chars()
            .all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c))
    }) {
        assert!(readme.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn values_are_numbers_units_refusals_and_cycles() {
    let value = |text: &str| serde_json::from_str::<Value>(text);
    assert_eq!(value("7").unwrap(), Value::Number(7));
    assert_eq!(value("\"0x10de\"").unwrap(), Value::Number(0x10DE));
    assert_eq!(value("\"3 MiB\"").unwrap(), Value::Number(3 << 20));
    assert_eq!(value("\"320W\"").unwrap(), Value::Number(320_000));
    assert_eq!(value("\"n/a\"").unwrap(), Value::NOT_AVAILABLE);
    assert_eq!(value("\"lost\"").unwrap(), Value::Fails(Code::GPU_IS_LOST));
    assert_eq!(
        value("\"NO_PERMISSION\"").unwrap(),
        Value::Fails(Code::NO_PERMISSION)
    );
    let cycle = value("[1, \"n/a\"]").unwrap();
    assert_eq!(
        [1, 2, 3].map(|call| cycle.at(call)),
        [Ok(1), Err(Code::NOT_SUPPORTED), Ok(1)]
    );
    for wrong in [
        "\"3 parsecs\"",
        "\"maybe\"",
        "-1",
        "1.5",
        "{}",
        "\"99999999999 GiB\"",
    ] {
        assert!(value(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn misspelt_keys_are_errors() {
    for text in [
        r#"{ "device": [] }"#,
        r#"{ "devices": [ { "temprature": 1 } ] }"#,
        r#"{ "devices": [ { "processes": [ { "type": "X" } ] } ] }"#,
        r#"{ "devices": [ { "processes": [ { "pid": "self" } ] } ] }"#,
        r#"{ "faults": [ { "return": "OH_NO" } ] }"#,
    ] {
        assert!(Scenario::from_json(text).is_err(), "{text}");
    }
}

#[test]
fn real_pids_take_the_places_of_the_written_ones_in_order() {
    let scenario = Scenario::workstation().with_pids([71, 72]);
    assert_eq!(scenario.process_count(), 12);
    let pids: Vec<&Pid> = scenario.devices[0]
        .processes
        .iter()
        .map(|process| &process.pid)
        .collect();
    assert_eq!(
        pids[..3],
        [&Pid::Literal(71), &Pid::Literal(72), &Pid::Literal(4003)]
    );
}

#[test]
fn ready_scenarios_hold_what_they_promise() {
    let workstation = Scenario::workstation();
    let processes = &workstation.devices[0].processes;
    for kind in [Kind::Compute, Kind::Graphics, Kind::Both, Kind::Mps] {
        assert!(
            processes.iter().any(|process| process.kind == kind),
            "{kind:?}"
        );
    }
    let servers = Scenario::servers();
    assert_eq!((servers.devices.len(), servers.process_count()), (8, 200));
}

#[test]
fn codes_are_known_by_name_and_number() {
    for code in (0..=30).chain([999]).map(Code) {
        let text = serde_json::to_string(&code).unwrap();
        assert_eq!(serde_json::from_str::<Code>(&text).unwrap(), code);
    }
    assert_eq!(
        Code::from_name("nvml_error_gpu_is_lost"),
        Some(Code::GPU_IS_LOST)
    );
    assert_eq!(serde_json::from_str::<Code>("4711").unwrap(), Code(4711));
}
