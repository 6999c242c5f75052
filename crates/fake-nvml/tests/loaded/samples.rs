use std::time::{SystemTime, UNIX_EPOCH};

use fake_nvml::{
    Device, Generation, Kind, Pid, Process, ProcessSample, SampleRules, Scenario, Value,
};

use crate::ffi::{Buffer, Loaded, touched};

fn card(rules: SampleRules) -> Device {
    let busy = Process::new(11, Kind::Compute, 1).busy(40, 20);
    let idle = Process::new(12, Kind::Compute, 1);
    let exited = Process::new(13, Kind::Unlisted, 1).busy(7, 0);
    Device {
        samples: rules,
        ..Device::new("card")
    }
    .with_process(busy)
    .with_process(idle)
    .with_process(exited)
}

fn at(clock: impl Into<Value>, card: Device) -> Scenario {
    Scenario {
        clock_us: Some(clock.into()),
        ..Scenario::empty().with_device(card)
    }
}

#[test]
fn a_sample_is_32_bytes_with_the_stamp_after_the_pid() {
    let loaded = Loaded::started(
        Generation::R580,
        &at(5_000_000, card(SampleRules::default())),
    );
    let gpu = loaded.handle(0);
    let mut buffer = Buffer::new(4 * 32);
    assert_eq!(loaded.samples(gpu, 4, Some(&mut buffer), 0), (0, 2));
    assert_eq!(
        (buffer.u32(0), buffer.u64(8), buffer.u32(16), buffer.u32(20)),
        (11, 5_000_000, 40, 20)
    );
    assert_eq!((buffer.u32(32), buffer.u32(48)), (13, 7));
    assert_eq!(touched(&buffer.bytes()[64..]), []);
}

#[test]
fn the_newer_call_puts_the_stamp_first_in_40_bytes() {
    let loaded = Loaded::started(
        Generation::R535,
        &at(5_000_000, card(SampleRules::default())),
    );
    let gpu = loaded.handle(0);
    let name = "nvmlDeviceGetProcessesUtilizationInfo";
    let mut buffer = Buffer::new(4 * 40);
    // Version, count, and the last stamp seen in two halves.
    let answer = loaded.structure_with_list(name, gpu, [0x0100_0018, 4, 0, 0], &mut buffer);
    assert_eq!((answer.0, answer.1[1]), (0, 2));
    assert_eq!(
        (buffer.u64(0), buffer.u32(8), buffer.u32(12)),
        (5_000_000, 11, 40)
    );
    assert_eq!((buffer.u64(40), buffer.u32(48)), (5_000_000, 13));
    let short = loaded.structure_with_list(name, gpu, [0x0100_0018, 1, 0, 0], &mut buffer);
    assert_eq!((short.0, short.1[1]), (7, 2));
    let unversioned = loaded.structure_with_list(name, gpu, [24, 4, 0, 0], &mut buffer);
    assert_eq!(unversioned.0, 25);
    let seen = loaded.structure_with_list(name, gpu, [0x0100_0018, 4, 5_000_000, 0], &mut buffer);
    assert_eq!((seen.0, seen.1[1]), (6, 0));
}

#[test]
fn no_sample_newer_than_the_last_seen_is_not_found() {
    let loaded = Loaded::started(
        Generation::R580,
        &at(5_000_000, card(SampleRules::default())),
    );
    let gpu = loaded.handle(0);
    let mut buffer = Buffer::new(4 * 32);
    assert_eq!(loaded.samples(gpu, 4, Some(&mut buffer), 4_999_999), (0, 2));
    assert_eq!(loaded.samples(gpu, 4, Some(&mut buffer), 5_000_000), (6, 0));
    assert_eq!(loaded.samples(gpu, 0, None, 5_000_000), (6, 0));
    let idle = Loaded::started(Generation::R390, &Scenario::idle());
    assert_eq!(
        idle.samples(idle.handle(0), 4, Some(&mut buffer), 0),
        (6, 0)
    );
}

#[test]
fn the_null_probe_tells_a_count_or_always_the_same() {
    let loaded = Loaded::started(Generation::R580, &at(5, card(SampleRules::default())));
    assert_eq!(loaded.samples(loaded.handle(0), 0, None, 0), (7, 2));
    let fixed = SampleRules {
        probe_count: Some(100),
        ..SampleRules::default()
    };
    let loaded = Loaded::started(Generation::R580, &at(5, card(fixed)));
    let mut buffer = Buffer::new(100 * 32);
    assert_eq!(loaded.samples(loaded.handle(0), 0, None, 0), (7, 100));
    assert_eq!(loaded.samples(loaded.handle(0), 0, None, 9), (7, 100));
    assert_eq!(
        loaded.samples(loaded.handle(0), 100, Some(&mut buffer), 0),
        (0, 2)
    );
}

#[test]
fn idle_can_also_be_success_with_nothing() {
    let rules = SampleRules {
        empty_succeeds: true,
        ..SampleRules::default()
    };
    let idle = Device {
        samples: rules,
        ..Device::new("idle")
    };
    let loaded = Loaded::started(Generation::R580, &Scenario::empty().with_device(idle));
    assert_eq!(
        loaded.samples(loaded.handle(0), 4, Some(&mut Buffer::new(4 * 32)), 0),
        (0, 0)
    );
}

#[test]
fn garbage_comes_with_impossible_figures_and_zeros() {
    let rules = SampleRules {
        garbage: 2,
        zeros: 1,
        ..SampleRules::default()
    };
    let loaded = Loaded::started(Generation::R580, &at(9_000_000_000, card(rules)));
    let mut buffer = Buffer::new(8 * 32);
    assert_eq!(
        loaded.samples(loaded.handle(0), 8, Some(&mut buffer), 0),
        (0, 5)
    );
    assert!(buffer.u32(2 * 32 + 16) > 100);
    assert_eq!(buffer.u64(3 * 32 + 8), 9_000_000_000 - 3_600_000_000);
    assert_eq!((buffer.u32(4 * 32), buffer.u64(4 * 32 + 8)), (0, 0));
}

#[test]
fn samples_may_carry_another_pid_and_another_age_than_the_list() {
    let mut process = Process::new(324, Kind::Compute, 1);
    process.sample = Some(ProcessSample {
        pid: Some(Pid::Literal(645_400)),
        age_ms: 3,
        ..ProcessSample::of_sm(9)
    });
    let loaded = Loaded::started(
        Generation::R580,
        &at(10_000, Device::new("split").with_process(process)),
    );
    let mut buffer = Buffer::new(64);
    assert_eq!(
        loaded.samples(loaded.handle(0), 2, Some(&mut buffer), 0),
        (0, 1)
    );
    assert_eq!((buffer.u32(0), buffer.u64(8)), (645_400, 7000));
    let list = loaded.list(
        "nvmlDeviceGetComputeRunningProcesses",
        loaded.handle(0),
        2,
        Some(&mut buffer),
    );
    assert_eq!((list, buffer.u32(0)), ((0, 1), 324));
}

#[test]
fn stamps_are_the_wall_clock_and_never_the_same_twice() {
    let loaded = Loaded::started(Generation::R580, &Scenario::workstation());
    let gpu = loaded.handle(0);
    let mut buffer = Buffer::new(64 * 32);
    let before = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_micros();
    let mut last = 0;
    for _ in 0..1000 {
        assert_eq!(loaded.samples(gpu, 64, Some(&mut buffer), last), (0, 10));
        assert!(buffer.u64(8) > last);
        last = buffer.u64(8);
    }
    assert!(u128::from(last) >= before);
    assert!(u128::from(last) < before + 3_600_000_000);
}

#[test]
fn within_a_sample_period_there_is_nothing_new() {
    // 1000 s, then 1000.4 s, then 1000.6 s.
    let clock = vec![1_000_000_000, 1_000_400_000, 1_000_600_000];
    let rules = SampleRules {
        period_ms: 500,
        ..SampleRules::default()
    };
    let loaded = Loaded::started(Generation::R580, &at(clock, card(rules)));
    let gpu = loaded.handle(0);
    let mut buffer = Buffer::new(4 * 32);
    assert_eq!(loaded.samples(gpu, 4, Some(&mut buffer), 0), (0, 2));
    let first = buffer.u64(8);
    assert_eq!(loaded.samples(gpu, 4, Some(&mut buffer), first), (6, 0));
    assert_eq!(loaded.samples(gpu, 4, Some(&mut buffer), first), (0, 2));
    assert_eq!(buffer.u64(8), 1_000_500_000);
}

#[test]
fn a_card_in_mig_mode_has_no_samples() {
    let loaded = Loaded::started(Generation::R580, &Scenario::servers());
    let parent = loaded.handle(7);
    let instance = loaded.mig_handle(parent, 0).unwrap();
    for split in [parent, instance] {
        assert_eq!(loaded.samples(split, 0, None, 0).0, 3);
    }
}
