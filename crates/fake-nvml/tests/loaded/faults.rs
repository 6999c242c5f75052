use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use fake_nvml::{Code, Device, Fault, Generation, Scenario};

use crate::ffi::{Buffer, Loaded};

const POWER: &str = "nvmlDeviceGetPowerUsage";

#[test]
fn nothing_works_before_init_and_after_the_last_shutdown() {
    let loaded = Loaded::new(Generation::R580, &Scenario::workstation());
    assert_eq!(loaded.system_u32("nvmlDeviceGetCount_v2"), Err(1));
    assert_eq!(loaded.plain("nvmlShutdown"), 1);
    assert_eq!(
        (loaded.plain("nvmlInit_v2"), loaded.plain("nvmlInit")),
        (0, 0)
    );
    let card = loaded.handle(0);
    assert_eq!(loaded.plain("nvmlShutdown"), 0);
    assert!(loaded.u32(POWER, card).is_ok());
    assert_eq!(loaded.plain("nvmlShutdown"), 0);
    assert_eq!(loaded.u32(POWER, card), Err(1));
}

#[test]
fn init_fails_as_the_scenario_says() {
    for code in [
        Code::LIB_RM_VERSION_MISMATCH,
        Code::NO_PERMISSION,
        Code::DRIVER_NOT_LOADED,
    ] {
        let scenario = Scenario {
            init: code,
            ..Scenario::workstation()
        };
        let loaded = Loaded::new(Generation::R580, &scenario);
        assert_eq!(loaded.plain("nvmlInit_v2"), code.0);
        assert_eq!(loaded.system_u32("nvmlDeviceGetCount_v2"), Err(1));
    }
}

#[test]
fn a_missing_or_broken_scenario_is_a_driver_that_is_not_loaded() {
    let loaded = Loaded::new(Generation::R580, &Scenario::workstation());
    loaded.use_scenario(Some(c"/nonexistent/scenario.json"));
    assert_eq!(loaded.plain("nvmlInit_v2"), 9);
    let loaded = Loaded::new(Generation::R580, &Scenario::workstation());
    std::fs::write(
        loaded.driver.as_ref().unwrap().scenario_path(),
        "{ \"devices\": 1 }",
    )
    .unwrap();
    assert_eq!(loaded.plain("nvmlInit_v2"), 9);
}

#[test]
fn a_fault_lasts_from_one_call_to_another() {
    let fault = Fault::returning("nvmlDeviceGetPower*", Code::UNKNOWN).between(2, 3);
    let loaded = Loaded::started(Generation::R580, &Scenario::idle().with_fault(fault));
    let card = loaded.handle(0);
    let answers = [0; 5].map(|_| loaded.u32(POWER, card).err());
    assert_eq!(answers, [None, Some(999), Some(999), None, None]);
}

#[test]
fn a_fault_on_a_device_spares_the_others_but_not_its_handle() {
    let two = Scenario::idle().with_device(Device::new("second"));
    let scenario = two.with_fault(Fault::returning("*", Code::GPU_IS_LOST).on(1));
    let loaded = Loaded::started(Generation::R580, &scenario);
    assert_eq!(loaded.system_u32("nvmlDeviceGetCount_v2"), Ok(2));
    assert!(loaded.u32(POWER, loaded.handle(0)).is_ok());
    assert_eq!(
        loaded.try_handle("nvmlDeviceGetHandleByIndex_v2", 1),
        Err(15)
    );
    assert_eq!(
        loaded.handle_by_text("nvmlDeviceGetHandleByPciBusId_v2", "0:2:0"),
        Err(15)
    );
}

#[test]
fn a_fault_on_a_slot_spares_the_parent() {
    let fault = Fault {
        slot: Some(1),
        ..Fault::returning("*Memory*", Code::UNKNOWN).on(7)
    };
    let loaded = Loaded::started(Generation::R580, &Scenario::servers().with_fault(fault));
    let parent = loaded.handle(7);
    let memory = |handle| {
        loaded
            .structure("nvmlDeviceGetMemoryInfo", handle, &[])
            .err()
    };
    assert_eq!(memory(parent), None);
    assert_eq!(memory(loaded.mig_handle(parent, 0).unwrap()), None);
    assert_eq!(memory(loaded.mig_handle(parent, 1).unwrap()), Some(999));
}

#[test]
fn a_card_can_fall_off_the_bus_on_the_way() {
    let loaded = Loaded::started(Generation::R580, &Scenario::faulty());
    let card = loaded.handle(1);
    let answers: Vec<_> = (0..10).map(|_| loaded.u32(POWER, card).err()).collect();
    assert_eq!(answers[..8], [None; 8]);
    assert_eq!(answers[8..], [Some(15); 2]);
    assert_eq!(
        loaded.try_handle("nvmlDeviceGetHandleByIndex_v2", 1),
        Err(15)
    );
    assert_eq!(
        loaded.try_handle("nvmlDeviceGetHandleByIndex_v2", 4),
        Err(15)
    );
    assert!(loaded.u32(POWER, loaded.handle(0)).is_ok());
}

#[test]
fn a_hanging_call_does_not_hold_up_other_calls() {
    let mut loaded = Loaded::started(Generation::R580, &Scenario::hanging());
    let (healthy, stuck) = (loaded.handle(0), loaded.handle(1));
    // The stuck thread stays behind until the test program ends, and the library with it, but not
    // its files.
    let files = loaded.driver.take();
    let loaded: &'static Loaded = Box::leak(Box::new(loaded));
    let (entering, entered) = mpsc::channel();
    let hung = thread::spawn(move || {
        entering.send(()).unwrap();
        loaded.u32(POWER, stuck)
    });
    entered.recv().unwrap();
    let start = Instant::now();
    for _ in 0..1000 {
        assert!(loaded.u32(POWER, healthy).is_ok());
        assert!(loaded.text("nvmlDeviceGetName", stuck).is_ok());
    }
    assert_eq!(
        loaded.list("nvmlDeviceGetComputeRunningProcesses_v3", healthy, 0, None),
        (7, 1)
    );
    assert!(start.elapsed() < Duration::from_mins(1));
    assert!(!hung.is_finished());
    drop(files);
}

#[test]
fn a_sleep_delays_the_answer_and_then_gives_it() {
    let fault = Fault::sleeping("nvmlDeviceGetTemperature", 30);
    let loaded = Loaded::started(Generation::R580, &Scenario::idle().with_fault(fault));
    let card = loaded.handle(0);
    let start = Instant::now();
    assert_eq!(loaded.chosen("nvmlDeviceGetTemperature", card, 0), Ok(35));
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[test]
fn four_threads_at_once_get_their_own_answers() {
    let loaded = Loaded::started(Generation::R535, &Scenario::servers());
    thread::scope(|scope| {
        for index in 0..4 {
            let loaded = &loaded;
            scope.spawn(move || {
                let card = loaded.handle(index);
                let mut buffer = Buffer::new(64 * 32);
                for _ in 0..500 {
                    let name = "nvmlDeviceGetComputeRunningProcesses_v3";
                    assert_eq!(loaded.list(name, card, 64, Some(&mut buffer)), (0, 25));
                    assert_eq!(buffer.u32(24 * 32), 20_025 + 25 * index);
                    assert_eq!(loaded.u32("nvmlDeviceGetIndex", card), Ok(index));
                }
            });
        }
    });
}

#[test]
fn a_changed_scenario_is_read_again_and_a_broken_one_is_not() {
    let loaded = Loaded::started(Generation::R580, &Scenario::idle());
    let path = loaded.driver.as_ref().unwrap().scenario_path();
    let card = loaded.handle(0);
    let temperature = || loaded.chosen("nvmlDeviceGetTemperature", card, 0);
    assert_eq!(temperature(), Ok(35));
    let mut hot = Scenario::idle();
    hot.devices[0].temperature = 101.into();
    hot.write(&path).unwrap();
    until(|| temperature() == Ok(101));
    std::fs::write(&path, "{").unwrap();
    thread::sleep(Duration::from_millis(120));
    assert_eq!(temperature(), Ok(101));
    Scenario::empty().write(&path).unwrap();
    until(|| temperature() == Err(2));
}

#[test]
fn init_reads_the_scenario_again_at_once() {
    let loaded = Loaded::started(Generation::R580, &Scenario::idle());
    let path = loaded.driver.as_ref().unwrap().scenario_path();
    Scenario::servers().write(&path).unwrap();
    assert_eq!(loaded.plain("nvmlInit_v2"), 0);
    assert_eq!(loaded.system_u32("nvmlDeviceGetCount_v2"), Ok(8));
}

fn until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "never came true");
        thread::sleep(Duration::from_millis(5));
    }
}
