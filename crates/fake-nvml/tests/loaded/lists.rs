use fake_nvml::{Device, Generation, Kind, Process, Quirks, Scenario, Value};

use crate::ffi::{Buffer, Loaded, touched};

const COMPUTE: &str = "nvmlDeviceGetComputeRunningProcesses";
const GRAPHICS: &str = "nvmlDeviceGetGraphicsRunningProcesses";
const MPS: &str = "nvmlDeviceGetMPSComputeRunningProcesses";

fn versioned(name: &str, version: &str) -> String {
    format!("{name}{version}")
}

fn one_process() -> Scenario {
    let process = Process {
        protected_memory: 5,
        ..Process::new(4711, Kind::Compute, 3 << 20)
    };
    Scenario::empty().with_device(Device::new("one process").with_process(process))
}

#[test]
fn each_list_version_writes_entries_of_its_own_length() {
    let widths = [
        (Generation::R390, "", vec![(0, 4), (8, 16)]),
        (Generation::R470, "_v2", vec![(0, 4), (8, 24)]),
        (Generation::R535, "_v2", vec![(0, 4), (8, 24)]),
        (Generation::R535, "_v3", vec![(0, 4), (8, 32)]),
        (Generation::R580, "", vec![(0, 4), (8, 16)]),
        (Generation::R580, "_v3", vec![(0, 4), (8, 24)]),
    ];
    for (generation, version, expected) in widths {
        let loaded = Loaded::started(generation, &one_process());
        let mut buffer = Buffer::new(256);
        let name = versioned(COMPUTE, version);
        assert_eq!(
            loaded.list(&name, loaded.handle(0), 8, Some(&mut buffer)),
            (0, 1)
        );
        assert_eq!(
            touched(&buffer.bytes()),
            expected,
            "{name} of {}",
            generation.name()
        );
        assert_eq!((buffer.u32(0), buffer.u64(8)), (4711, 3 << 20));
    }
}

#[test]
fn the_entry_length_can_be_chosen_against_the_generation() {
    let quirks = Quirks {
        v3_entry_bytes: Some(24),
        ..Quirks::default()
    };
    let loaded = Loaded::started(
        Generation::R535,
        &Scenario {
            quirks,
            ..one_process()
        },
    );
    let mut buffer = Buffer::new(64);
    assert_eq!(
        loaded.list(
            &versioned(COMPUTE, "_v3"),
            loaded.handle(0),
            2,
            Some(&mut buffer)
        ),
        (0, 1)
    );
    assert_eq!(touched(&buffer.bytes()), [(0, 4), (8, 24)]);
}

#[test]
fn early_535_writes_past_a_buffer_of_short_entries() {
    let card = (0..8).fold(Device::new("eight"), |card, number| {
        card.with_process(Process::new(100 + number, Kind::Compute, 1))
    });
    let scenario = Scenario::empty().with_device(card);
    let loaded = Loaded::started(Generation::R535, &scenario);
    let mut buffer = Buffer::new(8 * 32);
    assert_eq!(
        loaded.list(
            &versioned(COMPUTE, "_v3"),
            loaded.handle(0),
            8,
            Some(&mut buffer)
        ),
        (0, 8)
    );
    assert_eq!(buffer.u32(7 * 32), 107);
    assert_ne!(touched(&buffer.bytes()[8 * 24..]), []);
}

#[test]
fn a_guarded_list_stops_where_a_buffer_of_short_entries_ends() {
    let card = (0..8).fold(Device::new("eight"), |card, number| {
        card.with_process(Process::new(100 + number, Kind::Compute, 1))
    });
    let quirks = Quirks {
        guard_v3_lists: true,
        ..Quirks::default()
    };
    let scenario = Scenario {
        quirks,
        ..Scenario::empty().with_device(card)
    };
    let loaded = Loaded::started(Generation::R535, &scenario);
    let mut buffer = Buffer::new(8 * 32);
    assert_eq!(
        loaded.list(
            &versioned(COMPUTE, "_v3"),
            loaded.handle(0),
            8,
            Some(&mut buffer)
        ),
        (0, 8)
    );
    assert_eq!(touched(&buffer.bytes()[8 * 24..]), []);
}

#[test]
fn a_list_that_does_not_fit_tells_the_count_and_writes_nothing() {
    for (generation, version) in [(Generation::R390, ""), (Generation::R580, "_v3")] {
        let loaded = Loaded::started(generation, &Scenario::workstation());
        let card = loaded.handle(0);
        let name = versioned(COMPUTE, version);
        assert_eq!(loaded.list(&name, card, 0, None), (7, 8));
        let mut buffer = Buffer::new(8 * 32);
        assert_eq!(loaded.list(&name, card, 7, Some(&mut buffer)), (7, 8));
        assert_eq!(touched(&buffer.bytes()), []);
        assert_eq!(loaded.list(&name, card, 8, Some(&mut buffer)), (0, 8));
    }
}

#[test]
fn a_null_buffer_with_a_count_is_an_invalid_argument() {
    let loaded = Loaded::started(Generation::R580, &Scenario::workstation());
    assert_eq!(loaded.list(COMPUTE, loaded.handle(0), 64, None).0, 2);
}

#[test]
fn an_empty_list_succeeds_without_a_buffer() {
    let loaded = Loaded::started(Generation::R580, &Scenario::idle());
    for list in [COMPUTE, GRAPHICS, MPS] {
        assert_eq!(
            loaded.list(&versioned(list, "_v3"), loaded.handle(0), 0, None),
            (0, 0)
        );
    }
}

#[test]
fn some_libraries_answer_the_null_probe_with_success() {
    let quirks = Quirks {
        list_probe_succeeds: true,
        ..Quirks::default()
    };
    let loaded = Loaded::started(
        Generation::R580,
        &Scenario {
            quirks,
            ..Scenario::workstation()
        },
    );
    assert_eq!(loaded.list(COMPUTE, loaded.handle(0), 0, None), (0, 8));
}

#[test]
fn a_process_of_both_types_is_in_two_lists_and_an_mps_client_in_its_own() {
    let loaded = Loaded::started(Generation::R580, &Scenario::workstation());
    let card = loaded.handle(0);
    let pids = |list| {
        let mut buffer = Buffer::new(64 * 32);
        let (code, count) = loaded.list(&versioned(list, "_v2"), card, 64, Some(&mut buffer));
        assert_eq!(code, 0);
        (0..usize::try_from(count).unwrap())
            .map(|entry| buffer.u32(entry * 24))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        pids(COMPUTE),
        [4003, 4004, 4005, 4006, 4007, 4008, 4011, 4012]
    );
    assert_eq!(pids(GRAPHICS), [4001, 4002, 4003, 4009, 4011]);
    assert_eq!(pids(MPS), [4010]);
}

#[test]
fn memory_that_is_not_available_is_all_ones() {
    let card =
        Device::new("one").with_process(Process::new(1, Kind::Graphics, Value::NOT_AVAILABLE));
    let loaded = Loaded::started(Generation::R390, &Scenario::empty().with_device(card));
    let mut buffer = Buffer::new(64);
    assert_eq!(
        loaded.list(GRAPHICS, loaded.handle(0), 2, Some(&mut buffer)),
        (0, 1)
    );
    assert_eq!(buffer.u64(8), u64::MAX);
}

#[test]
fn instance_ids_are_given_in_mig_mode_only() {
    let loaded = Loaded::started(Generation::R580, &Scenario::servers());
    let name = versioned(COMPUTE, "_v3");
    let mut buffer = Buffer::new(64 * 32);
    assert_eq!(
        loaded.list(&name, loaded.handle(0), 64, Some(&mut buffer)),
        (0, 25)
    );
    assert_eq!((buffer.u32(16), buffer.u32(20)), (u32::MAX, u32::MAX));
    let parent = loaded.handle(7);
    assert_eq!(loaded.list(&name, parent, 64, Some(&mut buffer)), (0, 21));
    assert_eq!((buffer.u32(16), buffer.u32(20)), (1, 0));
    assert_eq!(
        (buffer.u32(20 * 24 + 16), buffer.u64(20 * 24 + 8)),
        (9, u64::MAX)
    );
    let counts = [0, 1, 3].map(|slot| {
        let instance = loaded.mig_handle(parent, slot).unwrap();
        let (code, compute) = loaded.list(&name, instance, 64, Some(&mut Buffer::new(64 * 32)));
        let mps = loaded
            .list(
                &versioned(MPS, "_v3"),
                instance,
                64,
                Some(&mut Buffer::new(64 * 32)),
            )
            .1;
        (code, compute, mps)
    });
    assert_eq!(counts, [(0, 12, 0), (0, 8, 0), (0, 1, 4)]);
}

#[test]
fn the_detail_list_checks_version_and_mode_and_needs_hopper() {
    let name = "nvmlDeviceGetRunningProcessDetailList";
    let loaded = Loaded::started(Generation::R580, &Scenario::servers());
    let card = loaded.handle(0);
    let mut buffer = Buffer::new(64 * 32);
    let mut call = |card, header| {
        let (code, header) = loaded.structure_with_list(name, card, header, &mut buffer);
        (code, header[2])
    };
    let version = 0x0100_0018;
    assert_eq!(call(card, [version, 0, 64, 0]), (0, 25));
    assert_eq!(call(card, [version, 3, 24, 0]), (7, 25));
    assert_eq!(call(card, [version, 2, 64, 0]), (0, 0));
    assert_eq!(call(card, [version, 4, 64, 0]).0, 2);
    assert_eq!(call(card, [1, 0, 64, 0]).0, 25);
    assert_eq!(call(loaded.handle(7), [version, 3, 64, 0]), (0, 25));
    let older = Loaded::started(Generation::R580, &Scenario::workstation());
    let answer = older.structure_with_list(name, older.handle(0), [version, 0, 64, 0], &mut buffer);
    assert_eq!(answer.0, 3);
}

#[test]
fn a_process_with_several_types_of_pid_is_where_its_pid_is() {
    let text = r#"{ "devices": [ { "processes": [
        { "pid": "@self", "type": "C" },
        { "pid": "@pids:1", "count": 3, "type": "C" },
        { "pid": 70, "count": 2, "type": "C" }
    ] } ] }"#;
    let loaded = Loaded::new(Generation::R580, &Scenario::from_json(text).unwrap());
    let folder = loaded.driver.as_ref().unwrap().folder();
    std::fs::write(folder.join("pids"), "31\n32\n").unwrap();
    assert_eq!(loaded.plain("nvmlInit_v2"), 0);
    let mut buffer = Buffer::new(64 * 32);
    assert_eq!(
        loaded.list(COMPUTE, loaded.handle(0), 64, Some(&mut buffer)),
        (0, 5)
    );
    let pids = [0, 1, 2, 3, 4].map(|entry| buffer.u32(entry * 16));
    assert_eq!(pids, [std::process::id(), 31, 32, 70, 71]);
}
