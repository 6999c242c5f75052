//! What only a process of its own shows: the environment, loading by name, and counts at the end.
#![expect(
    clippy::unwrap_used,
    reason = "serves tests only, where a failure should end the test"
)]

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::process::{Command, Output};

use fake_nvml::build::{Driver, SCENARIO_VARIABLE, STATISTICS_VARIABLE, library_name};
use fake_nvml::{Generation, Quirks, Scenario};

use crate::ffi::{Buffer, Loaded};

/// Runs one of the tests below that are ignored, as a program that finds the library by its name.
fn apart(test: &str, driver: &Driver, set: impl Fn(&mut Command)) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "--ignored", &format!("processes_apart::{test}")]);
    command.env("LD_LIBRARY_PATH", driver.folder());
    command
        .env_remove(SCENARIO_VARIABLE)
        .env_remove(STATISTICS_VARIABLE);
    set(&mut command);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    output
}

fn by_name() -> Loaded {
    Loaded::open(OsStr::new(library_name()))
}

/// `LD_LIBRARY_PATH` is a matter of Linux.
fn elsewhere() -> bool {
    env::consts::OS != "linux"
}

#[test]
fn the_environment_names_the_scenario() {
    if elsewhere() {
        return;
    }
    let driver = Driver::new(Generation::R470, &Scenario::servers());
    apart("child_counts_eight", &driver, |command| {
        command.env(SCENARIO_VARIABLE, driver.scenario_path());
    });
    apart("child_finds_no_driver", &driver, |_| {});
}

#[test]
#[ignore = "run by the_environment_names_the_scenario"]
fn child_counts_eight() {
    let loaded = by_name();
    assert_eq!(loaded.plain("nvmlInit_v2"), 0);
    assert_eq!(loaded.system_u32("nvmlDeviceGetCount_v2"), Ok(8));
}

#[test]
#[ignore = "run by the_environment_names_the_scenario"]
fn child_finds_no_driver() {
    assert_eq!(by_name().plain("nvmlInit_v2"), 9);
}

#[test]
fn calls_are_counted_at_shutdown_and_at_the_end_of_the_process() {
    if elsewhere() {
        return;
    }
    let quirks = Quirks {
        guard_v3_lists: true,
        ..Quirks::default()
    };
    let driver = Driver::new(
        Generation::R535,
        &Scenario {
            quirks,
            ..Scenario::workstation()
        },
    );
    let statistics = driver.folder().join("statistics");
    apart("child_calls", &driver, |command| {
        command
            .env(SCENARIO_VARIABLE, driver.scenario_path())
            .env(STATISTICS_VARIABLE, &statistics);
    });
    let text = fs::read_to_string(&statistics).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        lines,
        [
            "1\t0\tnvmlDeviceGetComputeRunningProcesses_v3",
            "1\t0\tnvmlDeviceGetHandleByIndex_v2",
            "3\t0\tnvmlDeviceGetPowerUsage",
            "1\t1\tnvmlDeviceGetSerial",
            "1\t0\tnvmlInit_v2",
            "1\t0\tnvmlShutdown",
            "overrun\t64\tnvmlDeviceGetComputeRunningProcesses_v3",
            "1\t0\tnvmlInit_v2",
        ]
    );
    assert_eq!(
        text.lines()
            .filter(|line| line.starts_with("# pid "))
            .count(),
        2,
        "{text}"
    );
}

#[test]
#[ignore = "run by calls_are_counted_at_shutdown_and_at_the_end_of_the_process"]
fn child_calls() {
    let loaded = by_name();
    assert_eq!(loaded.plain("nvmlInit_v2"), 0);
    let card = loaded.handle(0);
    for _ in 0..3 {
        assert!(loaded.u32("nvmlDeviceGetPowerUsage", card).is_ok());
    }
    assert_eq!(loaded.text("nvmlDeviceGetSerial", card), Err(3));
    let mut buffer = Buffer::new(8 * 32);
    let list = loaded.list(
        "nvmlDeviceGetComputeRunningProcesses_v3",
        card,
        8,
        Some(&mut buffer),
    );
    assert_eq!(list, (0, 8));
    assert_eq!(loaded.plain("nvmlShutdown"), 0);
    assert_eq!(loaded.plain("nvmlInit_v2"), 0);
    // The program ends without a second shutdown, and with the library still loaded.
    std::mem::forget(loaded);
}

#[test]
fn a_library_that_is_unloaded_has_counted_too() {
    if elsewhere() {
        return;
    }
    let driver = Driver::new(Generation::R580, &Scenario::idle());
    let statistics = driver.folder().join("statistics");
    apart("child_unloads", &driver, |command| {
        command
            .env(SCENARIO_VARIABLE, driver.scenario_path())
            .env(STATISTICS_VARIABLE, &statistics);
    });
    let text = fs::read_to_string(&statistics).unwrap();
    assert_eq!(
        text.lines().skip(1).collect::<Vec<_>>(),
        ["1\t0\tnvmlInit_v2"]
    );
}

#[test]
#[ignore = "run by a_library_that_is_unloaded_has_counted_too"]
fn child_unloads() {
    let loaded = by_name();
    assert_eq!(loaded.plain("nvmlInit_v2"), 0);
    drop(loaded);
}
