//! The machines whose cost is promised: one GPU with 12 processes, eight with 200, and one with two model servers
//! beside the same with two processes that hold no model.
//!
//! Both are the simulated driver's, whose figures move from call to call so that the screen has something to draw.
//! The processes are real and idle: what of them is read from `/proc` costs what it costs anywhere. The servers answer.

use std::ffi::OsString;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use fake_nvml::build::{Driver, SCENARIO_VARIABLE};
use fake_nvml::{Device, Generation, Kind, Process, Scenario, Value};

use super::model_server;

/// Calls after which figures come round again; not a divisor of a minute, nor of the samples' second.
const TURNS: u64 = 7;

/// A machine to measure on. It is gone with this value.
pub(super) struct Case {
    pub(super) name: &'static str,
    driver: Driver,
    _processes: Processes,
}

impl Case {
    /// Starts as many processes as the scenario names, and places a driver that names them.
    fn new(name: &'static str, scenario: Scenario) -> Result<Self> {
        let processes = Processes::start(scenario.process_count(), idle)?;
        Ok(Self::of(name, scenario, processes))
    }

    /// The same, of servers that have a model's file open each.
    fn of_servers(name: &'static str, scenario: Scenario) -> Result<Self> {
        let folder = crate::repository().join("target/measure");
        let processes = Processes::start(scenario.process_count(), |number| {
            model_server::start(&model_server::write_model(&folder, number)?)
        })?;
        Ok(Self::of(name, scenario, processes))
    }

    fn of(name: &'static str, scenario: Scenario, processes: Processes) -> Self {
        let scenario = moving(scenario.with_pids(processes.0.iter().map(Child::id)));
        Self {
            name,
            driver: Driver::new(Generation::R580, &scenario),
            _processes: processes,
        }
    }

    /// What a program has to find in its environment.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        vec![
            ("LD_LIBRARY_PATH".into(), self.driver.folder().into()),
            (
                SCENARIO_VARIABLE.into(),
                self.driver.scenario_path().into_os_string(),
            ),
        ]
    }
}

/// One after the other.
pub(super) fn all() -> [fn() -> Result<Case>; 4] {
    [
        || Case::new("1 GPU, 12 processes", Scenario::workstation()),
        || Case::new("8 GPUs, 200 processes, MIG on one", Scenario::servers()),
        || Case::new("1 GPU, 2 processes without a model", two()),
        || Case::of_servers("1 GPU, 2 model servers", two()),
    ]
}

/// A card with two busy processes.
fn two() -> Scenario {
    let card = Device {
        memory_used: (14_u64 << 30).into(),
        processes: vec![
            Process::new(4001, Kind::Compute, 6_u64 << 30).busy(44, 22),
            Process::new(4002, Kind::Compute, 7_u64 << 30).busy(17, 9),
        ],
        ..Device::new("NVIDIA GeForce RTX 4080")
    };
    Scenario::default().with_device(card)
}

fn idle(_: usize) -> Result<Child> {
    Command::new("sleep")
        .arg("86400")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("starting sleep")
}

/// Processes, ended with this value.
struct Processes(Vec<Child>);

impl Processes {
    fn start(count: usize, one: impl Fn(usize) -> Result<Child>) -> Result<Self> {
        let mut started = Self(Vec::with_capacity(count));
        for number in 0..count {
            started.0.push(one(number)?);
        }
        Ok(started)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // These are this program's own children and not waited for before, so their numbers are still theirs.
        for child in &mut self.0 {
            drop(child.kill());
        }
        for child in &mut self.0 {
            drop(child.wait());
        }
    }
}

/// Figures that change on each call, about as far as those of a busy machine.
fn moving(mut scenario: Scenario) -> Scenario {
    for device in &mut scenario.devices {
        let Device {
            memory_used,
            utilization_gpu,
            utilization_memory,
            clock_graphics,
            temperature,
            power_usage,
            processes,
            ..
        } = device;
        for (figure, step) in [
            (memory_used, 96 << 20),
            (utilization_gpu, 1),
            (utilization_memory, 2),
            (clock_graphics, 15),
            (temperature, 1),
            (power_usage, 4300),
        ] {
            turn(figure, step);
        }
        for (number, process) in (0..).zip(processes) {
            let Process { memory, sample, .. } = process;
            // Not all at once: every third one grows.
            if number % 3 == 0 {
                turn(memory, 24 << 20);
            }
            if let Some(sample) = sample {
                turn(&mut sample.sm, 1 + number % 3);
            }
        }
    }
    scenario
}

/// Up to half of the turns and down again. What is no number stays.
fn turn(figure: &mut Value, step: u64) {
    if let Value::Number(least) = *figure {
        let turns = (0..TURNS).map(|turn| Value::Number(least + step * turn.min(TURNS - turn)));
        *figure = Value::Cycle(turns.collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_move_and_what_is_not_available_stays_so() {
        let scenario = moving(Scenario::workstation());
        let card = &scenario.devices[0];
        let still = &Scenario::workstation().devices[0];
        assert_eq!(card.power_usage.at(1), still.power_usage.at(1));
        assert_ne!(card.power_usage.at(2), card.power_usage.at(1));
        assert!((1..=20).all(|call| card.utilization_gpu.at(call).unwrap() <= 100));
        let hidden = |card: &Device| card.processes.last().unwrap().memory.at(3);
        assert_eq!(hidden(card), hidden(still));
        assert!(hidden(card).is_err());
    }

    #[test]
    fn the_promised_machines_have_12_and_200_processes() {
        let counts = [Scenario::workstation(), Scenario::servers()].map(|it| it.process_count());
        assert_eq!(counts, [12, 200]);
    }
}
