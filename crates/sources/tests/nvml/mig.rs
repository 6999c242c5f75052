//! MIG: every instance is found whatever the device itself refuses, in each sweep anew.

use fake_nvml::{Code, Fault, Generation, Scenario};
use raw::Machine as _;
use raw::nvml::{DeviceSweep, Groups, InstanceCall, InstanceSweep, NO_INSTANCE, Output, code};

use crate::ffi::Rig;
use crate::{asking, first_sweep, machine, sweep};

const SPLIT: usize = 7;

fn rc(instance: &InstanceSweep) -> i32 {
    instance.handle.as_ref().unwrap().value.rc
}

/// GPU instances by slot.
fn gpu_instances(device: &DeviceSweep) -> Vec<(u32, i64)> {
    let mig = device.mig.as_ref().unwrap();
    let opened = mig.instances.iter().filter(|it| rc(it) == code::SUCCESS);
    opened
        .map(|it| match out(it, InstanceCall::GpuInstanceId) {
            Output::Number(n) => (it.index, n),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn out(instance: &InstanceSweep, call: InstanceCall) -> Output {
    let mut calls = instance.calls.iter();
    let (_, answer) = calls.find(|(c, _)| *c == call).unwrap();
    answer.as_ref().unwrap().value.out.clone()
}

#[test]
fn instances_behind_a_hole_are_found_in_every_generation_that_knows_mig() {
    for generation in Generation::ALL {
        let sweep = first_sweep(&Rig::new(generation, &Scenario::servers()));
        if generation == Generation::R390 {
            assert!(sweep.devices.iter().all(|device| device.mig.is_none()));
            continue;
        }
        let mig = sweep.devices[SPLIT].mig.as_ref().unwrap();
        let codes: Vec<i32> = mig.instances.iter().map(rc).collect();
        let (some, hole) = (code::SUCCESS, code::NOT_FOUND);
        assert_eq!(codes, [some, some, hole, some, hole, hole, hole]);
        assert_eq!(
            gpu_instances(&sweep.devices[SPLIT]),
            [(0, 1), (1, 5), (3, 9)]
        );
        let first = &mig.instances[0];
        assert_eq!(
            out(first, InstanceCall::Attributes),
            Output::Numbers(vec![48, 3, 3, 0, 3, 0, 3, 3, 40_448]),
            "{generation:?}"
        );
        let name = Output::Text("NVIDIA H100 80GB HBM3 MIG 3g.40gb".into());
        assert_eq!(out(first, InstanceCall::Name), name);
        // The device's lists say where each process is, so nobody else's are asked.
        assert!(mig.instances.iter().all(|it| !it.lists));
        // The others know MIG, and it is off.
        let other = sweep.devices[0].mig.as_ref().unwrap();
        assert_eq!((other.slots.is_none(), other.instances.len()), (true, 0));
    }
}

#[test]
fn a_card_without_mig_is_not_asked_for_instances() {
    for generation in Generation::ALL {
        let sweep = first_sweep(&Rig::new(generation, &Scenario::workstation()));
        assert_eq!(sweep.devices[0].mig, None);
    }
}

#[test]
fn whatever_the_device_refuses_its_instances_answer() {
    for call in [
        "nvmlDeviceGetMemoryInfo*",
        "nvmlDeviceGet*RunningProcesses*",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetUUID",
    ] {
        let fault = Fault::returning(call, Code::NO_PERMISSION).on(SPLIT);
        let scenario = Scenario::servers().with_fault(fault.of_the_whole());
        let sweep = first_sweep(&Rig::new(Generation::R580, &scenario));
        let device = &sweep.devices[SPLIT];
        assert_eq!(gpu_instances(device), [(0, 1), (1, 5), (3, 9)], "{call}");
        let instances = &device.mig.as_ref().unwrap().instances;
        let lists = call.contains("Processes");
        assert!(instances.iter().all(|it| it.lists == lists), "{call}");
        if lists {
            let of = |index: usize, call| match out(&instances[index], call) {
                Output::Processes(rows) => rows.len(),
                other => panic!("{other:?}"),
            };
            assert_eq!(of(0, InstanceCall::ComputeProcesses), 12);
            assert_eq!(of(1, InstanceCall::ComputeProcesses), 8);
            assert_eq!(of(3, InstanceCall::MpsProcesses), 4);
        }
    }
}

#[test]
fn lists_without_instances_make_the_instances_be_asked() {
    let mut scenario = Scenario::servers();
    scenario.quirks.lists_without_instances = true;
    for generation in [Generation::R470, Generation::R535, Generation::R580] {
        let sweep = first_sweep(&Rig::new(generation, &scenario));
        let device = &sweep.devices[SPLIT];
        let instances = &device.mig.as_ref().unwrap().instances;
        assert!(instances.iter().all(|it| it.lists), "{generation:?}");
        match out(&instances[1], InstanceCall::ComputeProcesses) {
            Output::Processes(rows) => assert!(rows.iter().all(|row| row.gi == 5)),
            other => panic!("{other:?}"),
        }
    }
    assert_ne!(NO_INSTANCE, 5);
}

#[test]
fn rebuilt_instances_are_those_of_the_next_sweep() {
    let rig = Rig::new(Generation::R580, &Scenario::servers());
    let mut machine = machine(&rig);
    let known: Vec<u32> = (0..8).collect();
    let mut plan = asking(Groups::FAST | Groups::PROCESSES, &known);
    // The first sweep asks the static facts too, by which a device is known to know MIG.
    let before = sweep(&mut machine, &asking(Groups::all(), &[]));
    assert_eq!(gpu_instances(&before.devices[SPLIT]).len(), 3);
    let mut rebuilt = Scenario::servers();
    let mig = rebuilt.devices[SPLIT].mig.as_mut().unwrap();
    mig.instances.drain(1..);
    mig.instances[0].slot = 4;
    mig.instances[0].gi = 0;
    rig.change(&rebuilt);
    loop {
        let now = machine.begin_tick(&raw::TickPlan::default()).unwrap().now;
        plan.not_before_ns = now.mono_ns + 20_000_000;
        let found = gpu_instances(&sweep(&mut machine, &plan).devices[SPLIT]);
        if found.len() != 3 {
            assert_eq!(found, [(4, 0)]);
            break;
        }
    }
}

#[test]
fn an_instance_that_hangs_is_a_device_that_hangs() {
    let scenario = Scenario::servers()
        .with_fault(Fault::sleeping("nvmlDeviceGetGpuInstanceId", 3_600_000).on(SPLIT));
    let rig = Rig::new(Generation::R580, &scenario);
    let mut machine = machine(&rig);
    // The first waits until the thread is given up.
    let plan = asking(Groups::all(), &[]);
    machine.begin_tick(&plan).unwrap();
    let swept = sweep(&mut machine, &plan);
    let device = &swept.devices[SPLIT];
    let mig = device.mig.as_ref().unwrap();
    assert_eq!(mig.mode, Err(model::Gap::TimedOut));
    assert!(device.calls.iter().all(|(_, answer)| answer.is_ok()));
    assert_eq!(swept.devices[0].calls.len(), device.calls.len());
}
