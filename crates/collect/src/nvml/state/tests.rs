use std::sync::Arc;

use super::*;

fn published(at: Stamp, last: impl Fn(DeviceCall) -> Answer<CallAnswer>) -> Published<NvmlSweep> {
    let asked = Groups::FAST | Groups::PROCESSES;
    let calls = DeviceCall::ALL
        .iter()
        .filter(|call| asked.contains(call.group()));
    let sweep = NvmlSweep {
        library: Ok(Stamped {
            at,
            value: Library::Ready { name: "lib".into() },
        }),
        system: Vec::new(),
        devices: vec![DeviceSweep {
            slot: 0,
            asked,
            handle: raw::nvml::succeeded(at),
            calls: calls.map(|call| (*call, last(*call))).collect(),
            mig: None,
        }],
    };
    Published::New(Stamped {
        at,
        value: Arc::new(sweep),
    })
}

fn at(second: u64) -> Stamp {
    Stamp {
        mono_ns: second * 1_000_000_000,
        wall_us: 0,
    }
}

/// The sweeps of a run, counted from 0, that ask for details.
fn turns(interval_ms: u64, sweeps: u64) -> Vec<u64> {
    let mut nvml = Nvml::new(interval_ms);
    let mut turns = Vec::new();
    for sweep in 0..sweeps {
        let groups = nvml.plan(0, Some(Vec::new())).unwrap().groups;
        if groups.contains(Groups::DETAILS) {
            turns.push(sweep);
        }
        assert!(groups.contains(Groups::FAST | Groups::PROCESSES | Groups::SAMPLES));
        nvml.take(
            &published(at(sweep), |_| raw::nvml::succeeded(at(sweep))),
            at(sweep),
        );
    }
    turns
}

#[test]
fn details_are_asked_twice_a_minute_whatever_the_interval() {
    assert_eq!(turns(1000, 90), [12, 42, 72]);
    assert_eq!(turns(250, 240), [12, 132]);
    assert_eq!(turns(10_000, 9), [2, 5, 8]);
    assert_eq!(turns(60_000, 3), [0, 1, 2]);
    assert_eq!(turns(u64::MAX, 3), [0, 1, 2]);
    assert_eq!(turns(0, 13), [12]);
}

#[test]
fn details_are_shown_until_their_next_turn_and_not_forever() {
    let mut nvml = Nvml::new(1000);
    let mut with = published(at(0), |_| raw::nvml::succeeded(at(0)));
    if let Published::New(sweep) = &mut with {
        let sweep = Arc::make_mut(&mut sweep.value);
        let energy = (DeviceCall::TotalEnergy, raw::nvml::succeeded(at(0)));
        sweep.devices[0].calls.push(energy);
    }
    nvml.take(&with, at(0));
    let device = &nvml.devices[&0];
    let shown = |call, second| {
        let answer = device.shown(call, at(second), nvml.shown_for_ms);
        answer.map(|answer| answer.at)
    };
    assert_eq!(shown(DeviceCall::TotalEnergy, 31), Ok(at(0)));
    assert_eq!(shown(DeviceCall::PowerUsage, 31), Err(Gap::Stale));
    assert_eq!(shown(DeviceCall::TotalEnergy, 61), Err(Gap::Stale));
}

#[test]
fn a_device_that_comes_back_is_asked_everything() {
    let mut nvml = Nvml::new(1000);
    nvml.take(
        &published(at(1), |call| match call {
            DeviceCall::MemoryInfo => raw::nvml::succeeded(at(1)),
            _ => Err(Gap::NotRecorded),
        }),
        at(1),
    );
    let device = nvml.devices.get_mut(&0).unwrap();
    assert!(device.is_known());
    device.handle = Some(Ok(Stamped {
        at: at(2),
        value: CallAnswer {
            rc: code::GPU_IS_LOST,
            sym: 2,
            out: Output::Nothing,
        },
    }));
    assert!(!device.is_known());
}

#[test]
fn a_device_that_stops_answering_keeps_its_lists_but_they_are_not_current() {
    let mut nvml = Nvml::new(1000);
    nvml.take(&published(at(1), |_| raw::nvml::succeeded(at(1))), at(1));
    assert!(nvml.lists_are_current());
    let hanging = |call| match call {
        DeviceCall::MemoryInfo => raw::nvml::succeeded(at(2)),
        _ => Err(Gap::TimedOut),
    };
    nvml.take(&published(at(2), hanging), at(2));
    assert!(!nvml.lists_are_current());
    let device = &nvml.devices[&0];
    let list = device.shown(DeviceCall::ComputeProcesses, at(2), nvml.shown_for_ms);
    assert_eq!(list.map(|answer| answer.at), Ok(at(1)));
}
