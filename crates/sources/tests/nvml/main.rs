//! The live machine against simulated drivers of four generations.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what helps the tests fails them"
)]

mod details;
mod ffi;
mod mig;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::channel;

use fake_nvml::{Code, Device, Fault, Generation, Kind, Process, Scenario};
use model::Gap;
use raw::nvml::{
    CallAnswer, DeviceCall, Groups, Library, NvmlPlan, NvmlSweep, Output, ProcessRow, SystemCall,
    code,
};
use raw::{Machine, Published, TickPlan};
use sources::{LiveMachine, Options};

use ffi::Rig;

const SECOND_NS: u64 = 1_000_000_000;
/// The lengths around the buffer's first size and around what a 24-byte reader of 32-byte entries would survive.
const LENGTHS: [u32; 8] = [0, 1, 2, 15, 16, 64, 65, 200];

fn machine(rig: &Rig) -> LiveMachine {
    LiveMachine::new(Options {
        nvml_library: Some(rig.library()),
        ..Options::default()
    })
}

fn asking(groups: Groups, known: &[u32]) -> TickPlan {
    TickPlan {
        wait_ns: 30 * SECOND_NS,
        nvml: Some(NvmlPlan {
            groups,
            samples_after: known.iter().map(|slot| (*slot, 0)).collect(),
            untouched: Vec::new(),
        }),
        ..TickPlan::default()
    }
}

fn sweep(machine: &mut LiveMachine, plan: &TickPlan) -> Arc<NvmlSweep> {
    machine.begin_tick(plan).unwrap();
    match machine.nvml() {
        Published::New(sweep) => sweep.value,
        other => panic!("{other:?}"),
    }
}

fn first_sweep(rig: &Rig) -> Arc<NvmlSweep> {
    sweep(&mut machine(rig), &asking(Groups::all(), &[]))
}

fn answer(sweep: &NvmlSweep, slot: u32, call: DeviceCall) -> Result<CallAnswer, Gap> {
    let device = sweep.devices.iter().find(|d| d.slot == slot).unwrap();
    let (_, answer) = device.calls.iter().find(|(c, _)| *c == call).unwrap();
    answer.clone().map(|answer| answer.value)
}

fn processes(sweep: &NvmlSweep, slot: u32, call: DeviceCall) -> Vec<ProcessRow> {
    match answer(sweep, slot, call).unwrap().out {
        Output::Processes(rows) => rows,
        other => panic!("{other:?}"),
    }
}

fn numbers(answer: &CallAnswer) -> &[u64] {
    match &answer.out {
        Output::Numbers(numbers) => numbers,
        other => panic!("{other:?}"),
    }
}

fn handle(sweep: &NvmlSweep, slot: usize) -> Result<i32, Gap> {
    sweep.devices[slot]
        .handle
        .as_ref()
        .map(|answer| answer.value.rc)
        .map_err(|gap| *gap)
}

/// Odd numbers and sizes, so that a misread entry shows.
fn busy_device(count: u32) -> Device {
    let memory = |n: u32| 0x0001_2345_6789_u64 + 4096 * u64::from(n);
    (0..count).fold(Device::new("NVIDIA H100"), |device, n| {
        let mut process = Process::new(70_001 + 3 * n, Kind::Compute, memory(n));
        process.protected_memory = 0xAAAA_AAAA_AAAA_AAAA * u64::from(n % 2);
        device.with_process(process)
    })
}

fn expected_rows(count: u32) -> Vec<ProcessRow> {
    (0..count)
        .map(|n| ProcessRow {
            pid: 70_001 + 3 * n,
            mem: 0x0001_2345_6789 + 4096 * u64::from(n),
            gi: raw::nvml::NO_INSTANCE,
            ci: raw::nvml::NO_INSTANCE,
        })
        .collect()
}

#[test]
fn every_generation_gives_the_same_processes_and_memory() {
    let scenario = Scenario::workstation();
    for generation in Generation::ALL {
        let sweep = first_sweep(&Rig::new(generation, &scenario));
        let mut found = BTreeMap::new();
        let calls = [
            DeviceCall::ComputeProcesses,
            DeviceCall::GraphicsProcesses,
            DeviceCall::MpsProcesses,
        ];
        for call in calls {
            let list = answer(&sweep, 0, call).unwrap();
            if generation == Generation::R390 && call == DeviceCall::MpsProcesses {
                assert_eq!((list.rc, list.sym), (code::FUNCTION_NOT_FOUND, 0));
                continue;
            }
            let expected = match generation {
                Generation::R390 => 1,
                Generation::R470 => 2,
                Generation::R535 | Generation::R580 => 3,
            };
            assert_eq!(list.sym, expected, "{generation:?} {call}");
            for row in processes(&sweep, 0, call) {
                found.insert(row.pid, row.mem);
            }
        }
        if generation == Generation::R390 {
            // The MPS client is in no other list.
            assert_eq!(found.insert(4010, 74 << 20), None);
        }
        let pids: Vec<u32> = found.keys().copied().collect();
        assert_eq!(pids, (4001..=4012).collect::<Vec<_>>(), "{generation:?}");
        assert_eq!(found[&4004], 5400 << 20);
        assert_eq!(found[&4012], raw::nvml::MEMORY_NOT_AVAILABLE);

        let memory = answer(&sweep, 0, DeviceCall::MemoryInfo).unwrap();
        let used = match (memory.sym, numbers(&memory)) {
            (2, [total, reserved, free, used]) => {
                assert_eq!(*total, reserved + free + used);
                *used
            }
            (1, [total, free, used]) => {
                assert!(generation <= Generation::R470);
                assert_eq!(*total, free + used);
                used - 352 * (1 << 20)
            }
            other => panic!("{other:?}"),
        };
        assert!(used.abs_diff(13_500 << 20) <= 352 << 20, "{used}");
        let temperature = answer(&sweep, 0, DeviceCall::Temperature).unwrap();
        assert_eq!(temperature.out, Output::Number(64));
        let expected = if generation == Generation::R580 { 2 } else { 1 };
        assert_eq!(temperature.sym, expected);
    }
}

#[test]
fn both_layouts_are_read_right_at_every_length() {
    for bytes in [24, 32] {
        for count in LENGTHS {
            let mut scenario = Scenario::empty().with_device(busy_device(count));
            scenario.quirks.v3_entry_bytes = Some(bytes);
            let rig = Rig::new(Generation::R580, &scenario);
            let mut machine = machine(&rig);
            // The first finds the layout, the second relies on it.
            for _ in 0..2 {
                let sweep = sweep(&mut machine, &asking(Groups::PROCESSES, &[0]));
                let rows = processes(&sweep, 0, DeviceCall::ComputeProcesses);
                assert_eq!(rows, expected_rows(count), "{bytes} bytes, {count} entries");
            }
        }
    }
}

#[test]
fn a_layout_found_with_few_entries_serves_a_list_that_grows() {
    for bytes in [24, 32] {
        let scenario = |count| {
            let mut scenario = Scenario::empty().with_device(busy_device(count));
            scenario.quirks.v3_entry_bytes = Some(bytes);
            scenario
        };
        let rig = Rig::new(Generation::R580, &scenario(1));
        let mut machine = machine(&rig);
        let mut plan = asking(Groups::PROCESSES, &[0]);
        for count in [2, 700, 3] {
            let before = sweep(&mut machine, &plan);
            let before = processes(&before, 0, DeviceCall::ComputeProcesses);
            rig.change(&scenario(count));
            loop {
                let now = machine.begin_tick(&TickPlan::default()).unwrap().now;
                plan.not_before_ns = now.mono_ns + 20_000_000;
                let sweep = sweep(&mut machine, &plan);
                let rows = processes(&sweep, 0, DeviceCall::ComputeProcesses);
                if rows != before {
                    assert_eq!(rows, expected_rows(count), "{bytes} bytes, {count} entries");
                    break;
                }
            }
        }
    }
}

#[test]
fn a_list_that_never_fits_stays_insufficient_size() {
    let fault = Fault::returning(
        "nvmlDeviceGetComputeRunningProcesses*",
        Code::INSUFFICIENT_SIZE,
    );
    let scenario = Scenario::workstation().with_fault(fault);
    let sweep = first_sweep(&Rig::new(Generation::R580, &scenario));
    let list = answer(&sweep, 0, DeviceCall::ComputeProcesses).unwrap();
    assert_eq!((list.rc, list.sym), (code::INSUFFICIENT_SIZE, 3));
    assert_eq!(processes(&sweep, 0, DeviceCall::GraphicsProcesses).len(), 5);
}

#[test]
fn an_older_call_answers_where_the_newer_one_is_refused() {
    let scenario = Scenario::workstation()
        .with_fault(Fault::returning(
            "nvmlDeviceGetMemoryInfo_v2",
            Code::ARGUMENT_VERSION_MISMATCH,
        ))
        .with_fault(Fault::returning(
            "nvmlDeviceGetTemperatureV",
            Code::FUNCTION_NOT_FOUND,
        ))
        .with_fault(Fault::returning(
            "nvmlDeviceGetComputeRunningProcesses_v3",
            Code::FUNCTION_NOT_FOUND,
        ));
    let rig = Rig::new(Generation::R580, &scenario);
    let mut machine = machine(&rig);
    for _ in 0..2 {
        let sweep = sweep(&mut machine, &asking(Groups::all(), &[]));
        let memory = answer(&sweep, 0, DeviceCall::MemoryInfo).unwrap();
        assert_eq!((memory.sym, numbers(&memory).len()), (1, 3));
        let temperature = answer(&sweep, 0, DeviceCall::Temperature).unwrap();
        assert_eq!((temperature.sym, temperature.out), (1, Output::Number(64)));
        let list = answer(&sweep, 0, DeviceCall::ComputeProcesses).unwrap();
        assert_eq!((list.rc, list.sym), (0, 2));
    }
}

#[test]
fn each_broken_device_keeps_its_slot_and_its_codes() {
    let sweep = first_sweep(&Rig::new(Generation::R580, &Scenario::faulty()));
    assert_eq!(sweep.devices.len(), 5);
    // Garbage among the samples is handed on.
    match answer(&sweep, 0, DeviceCall::ProcessesUtilization)
        .unwrap()
        .out
    {
        Output::Samples(rows) => assert!(rows.len() > 3),
        other => panic!("{other:?}"),
    }
    let lost = answer(&sweep, 1, DeviceCall::PcieRx).unwrap();
    assert_eq!((lost.rc, lost.out), (code::GPU_IS_LOST, Output::Nothing));
    let silent = answer(&sweep, 2, DeviceCall::PowerUsage).unwrap();
    assert_eq!(silent.rc, code::NOT_SUPPORTED);
    let closed = answer(&sweep, 3, DeviceCall::ComputeProcesses).unwrap();
    assert_eq!((closed.rc, closed.sym), (code::NO_PERMISSION, 3));
    assert_eq!(handle(&sweep, 4), Ok(code::GPU_IS_LOST));
    assert_eq!(sweep.devices[4].asked, Groups::all());
    assert!(sweep.devices[4].calls.is_empty());
}

#[test]
fn known_devices_are_asked_the_plan_and_new_ones_everything() {
    let rig = Rig::new(Generation::R580, &Scenario::servers());
    let mut machine = machine(&rig);
    let sweep = sweep(&mut machine, &asking(Groups::FAST, &[0, 2]));
    let system: Vec<SystemCall> = sweep.system.iter().map(|(call, _)| *call).collect();
    assert_eq!(system, SystemCall::ALL);
    let asked: Vec<Groups> = sweep.devices.iter().map(|d| d.asked).collect();
    assert_eq!(asked[0], Groups::FAST);
    assert_eq!(asked[1], Groups::all());
    assert_eq!(asked[2], Groups::FAST);
    let fast = DeviceCall::ALL.iter().filter(|c| c.group() == Groups::FAST);
    let calls = sweep.devices[0].calls.iter().map(|(call, _)| call);
    assert!(calls.eq(fast));
    assert_eq!(sweep.devices[1].calls.len(), DeviceCall::ALL.len());
    let mig = processes(&sweep, 7, DeviceCall::ComputeProcesses);
    assert!(mig.iter().all(|row| row.gi != raw::nvml::NO_INSTANCE));
}

#[test]
fn no_new_sample_is_not_found() {
    let rig = Rig::new(Generation::R580, &Scenario::workstation());
    let mut machine = machine(&rig);
    let mut plan = asking(Groups::SAMPLES, &[0]);
    if let Some(nvml) = &mut plan.nvml {
        nvml.samples_after = vec![(0, u64::MAX)];
    }
    let sweep = sweep(&mut machine, &plan);
    let samples = answer(&sweep, 0, DeviceCall::ProcessesUtilization).unwrap();
    assert_eq!(samples.rc, code::NOT_FOUND);
    assert_eq!(samples.out, Output::Nothing);
}

#[test]
fn a_failing_init_keeps_its_code_and_is_not_repeated_at_once() {
    for rc in [
        code::LIB_RM_VERSION_MISMATCH,
        code::DRIVER_NOT_LOADED,
        code::NO_PERMISSION,
    ] {
        let mut scenario = Scenario::idle();
        scenario.init = Code(rc);
        let rig = Rig::new(Generation::R580, &scenario);
        let mut machine = machine(&rig);
        let first = sweep(&mut machine, &asking(Groups::FAST, &[]));
        let library = first.library.clone().unwrap();
        let name = rig.library().to_string_lossy().into();
        assert_eq!(library.value, Library::InitFailed { name, rc });
        assert!(first.system.is_empty() && first.devices.is_empty());
        let second = sweep(&mut machine, &asking(Groups::FAST, &[]));
        assert_eq!(second.library.clone().unwrap().at, library.at);
    }
}

#[test]
fn a_missing_library_is_told_in_the_loaders_words() {
    let path = std::env::temp_dir().join("no such library.so");
    let mut machine = LiveMachine::new(Options {
        nvml_library: Some(path.clone()),
        ..Options::default()
    });
    let name = path.to_string_lossy();
    assert_eq!(machine.facts().nvml_names, [name.as_ref().into()]);
    let sweep = sweep(&mut machine, &asking(Groups::FAST, &[]));
    match &sweep.library.as_ref().unwrap().value {
        Library::NotLoaded(tried) => {
            assert_eq!(&*tried[0].0, name);
            assert!(tried[0].1.contains("no such library.so"), "{tried:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_device_that_hangs_keeps_what_it_said_and_does_not_stop_the_others() {
    let hour_ms = 3_600_000;
    let scenario = Scenario::empty()
        .with_device(busy_device(2))
        .with_device(busy_device(2))
        .with_device(busy_device(2))
        .with_fault(Fault::sleeping("nvmlDeviceGetPowerUsage", hour_ms).on(1));
    let rig = Rig::new(Generation::R580, &scenario);
    let mut machine = machine(&rig);
    let mut plan = asking(Groups::FAST | Groups::PROCESSES, &[0, 1, 2]);
    plan.wait_ns = SECOND_NS / 10;
    machine.begin_tick(&plan).unwrap();
    let Published::Overdue(since) = machine.nvml() else {
        panic!("a sweep that hangs was answered")
    };
    // The thread is given up while this waits.
    plan.wait_ns = 30 * SECOND_NS;
    let first = sweep(&mut machine, &plan);
    for sweep in [first, sweep(&mut machine, &plan)] {
        assert!(sweep.system[2].1.as_ref().unwrap().at.mono_ns > since.mono_ns);
        assert_eq!(handle(&sweep, 0), Ok(code::SUCCESS));
        assert_eq!(handle(&sweep, 1), Ok(code::SUCCESS));
        assert_eq!(handle(&sweep, 2), Ok(code::SUCCESS));
        let hanging = &sweep.devices[1];
        assert_eq!(hanging.asked, Groups::FAST | Groups::PROCESSES);
        for (call, answer) in &hanging.calls {
            // What it said before it stopped answering stays.
            let answered = *call < DeviceCall::PowerUsage;
            assert_eq!(answer.is_ok(), answered, "{call}");
            assert!(answered || *answer == Err(Gap::TimedOut), "{call}");
        }
        assert_eq!(hanging.calls.len(), sweep.devices[2].calls.len());
        assert_eq!(
            processes(&sweep, 2, DeviceCall::ComputeProcesses),
            expected_rows(2)
        );
    }
}

#[test]
fn nothing_is_asked_without_a_plan() {
    let rig = Rig::new(Generation::R580, &Scenario::workstation());
    let mut machine = machine(&rig);
    let tick = machine.begin_tick(&TickPlan::default()).unwrap();
    assert_eq!(tick.number, 1);
    assert!(matches!(machine.nvml(), Published::NotAsked));
}

#[test]
fn waking_starts_the_refresh_early_with_fresh_figures() {
    let rig = Rig::new(Generation::R580, &Scenario::workstation());
    let mut machine = machine(&rig);
    let now = machine.begin_tick(&TickPlan::default()).unwrap().now;
    let mut plan = asking(Groups::FAST, &[0]);
    plan.not_before_ns = now.mono_ns + 3_600 * SECOND_NS;
    let waker = machine.waker();
    let (sender, receiver) = channel::<()>();
    let other = std::thread::spawn(move || {
        receiver.recv().unwrap();
        waker.wake();
    });
    sender.send(()).unwrap();
    let sweep = sweep(&mut machine, &plan);
    assert_eq!(sweep.devices.len(), 1);
    other.join().unwrap();
}

#[test]
fn ready_libraries_tell_the_name_they_were_opened_by() {
    let rig = Rig::new(Generation::R470, &Scenario::empty());
    let sweep = first_sweep(&rig);
    let name = rig.library().to_string_lossy().into();
    let library = sweep.library.clone().unwrap().value;
    assert_eq!(library, Library::Ready { name });
    let count = sweep.system(SystemCall::DeviceCount).unwrap().value;
    assert_eq!(count.out, Output::Number(0));
}

#[test]
fn a_late_sweep_is_taken_by_a_later_refresh_with_its_own_stamp() {
    let scenario = Scenario::workstation()
        .with_fault(Fault::sleeping("nvmlDeviceGetPowerUsage", 300).between(1, 1));
    let rig = Rig::new(Generation::R580, &scenario);
    let mut machine = machine(&rig);
    let mut plan = asking(Groups::FAST, &[0]);
    plan.wait_ns = 0;
    let tick = machine.begin_tick(&plan).unwrap();
    assert!(
        matches!(machine.nvml(), Published::Overdue(since) if since.mono_ns <= tick.now.mono_ns)
    );
    let wait_only = TickPlan {
        wait_ns: 30 * SECOND_NS,
        ..TickPlan::default()
    };
    let tick = machine.begin_tick(&wait_only).unwrap();
    match machine.nvml() {
        Published::New(sweep) => assert!(sweep.at.mono_ns <= tick.now.mono_ns),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sweep_that_leaves_every_slot_alone_counts_the_devices_and_asks_none() {
    // Any call about a device, and getting its handle, would take an hour.
    let scenario = Scenario::empty()
        .with_device(busy_device(2))
        .with_device(busy_device(2))
        .with_fault(Fault::sleeping("*", 3_600_000).on(0))
        .with_fault(Fault::sleeping("*", 3_600_000).on(1));
    let rig = Rig::new(Generation::R580, &scenario);
    let mut machine = machine(&rig);
    let mut plan = asking(Groups::all(), &[]);
    if let Some(nvml) = &mut plan.nvml {
        nvml.untouched = (0..raw::nvml::MAX_DEVICES).collect();
    }
    let sweep = sweep(&mut machine, &plan);
    let count = sweep.system(SystemCall::DeviceCount).unwrap();
    assert_eq!(count.value.out, Output::Number(2));
    assert_eq!(sweep.devices.len(), 2);
    for device in &sweep.devices {
        assert_eq!(device.handle, Err(Gap::Asleep));
        assert!(device.calls.is_empty());
    }
}

#[test]
fn what_the_plan_leaves_alone_is_not_touched() {
    // Any call about the second, and getting its handle, would take an hour.
    let scenario = Scenario::empty()
        .with_device(busy_device(2))
        .with_device(busy_device(2))
        .with_device(busy_device(2))
        .with_fault(Fault::sleeping("*", 3_600_000).on(1));
    let rig = Rig::new(Generation::R580, &scenario);
    let mut machine = machine(&rig);
    let mut plan = asking(Groups::all(), &[]);
    if let Some(nvml) = &mut plan.nvml {
        nvml.untouched = vec![1];
    }
    let sweep = sweep(&mut machine, &plan);
    assert_eq!(sweep.devices[1].handle, Err(Gap::Asleep));
    assert_eq!(sweep.devices[1].asked, Groups::empty());
    assert!(sweep.devices[1].calls.is_empty());
    assert_eq!(handle(&sweep, 0), Ok(code::SUCCESS));
    assert_eq!(sweep.devices[2].calls.len(), DeviceCall::ALL.len());
}
