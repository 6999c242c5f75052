//! What a frame costs: `cargo bench -p gputaskman-tui`.
//!
//! A snapshot is taken in, drawn at 140x45 and written as bytes for a terminal, each time with other loads, so that cells
//! change as they do in use. Prints the median and the range, and fails above the limits of the median: 0.6 ms with 12
//! processes, 1.5 ms with 200. Only worth something on an otherwise idle machine.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark is a program: it looks at the clock, prints, and fails loudly"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{Percent, Snapshot};
use tui::{Options, Session, Stage, Theme};

const RUNS: usize = 1001;

fn options() -> Options {
    Options {
        session: Session::Live,
        theme: Theme::Auto,
        truecolor: false,
        ascii: false,
        mouse: true,
        interval: Duration::from_secs(1),
        wake: None,
    }
}

/// The workstation with as many processes, those of its own again and again under other numbers.
fn machine(processes: usize) -> Snapshot {
    let mut snapshot = model::sample::workstation();
    let own = snapshot.processes.clone();
    for (number, process) in (50_000..).zip(own.iter().cycle()).take(processes) {
        if snapshot.processes.len() >= processes {
            break;
        }
        let mut process = process.clone();
        process.key.pid = number;
        snapshot.processes.push(process);
    }
    snapshot.processes.truncate(processes);
    snapshot
}

fn main() {
    let mut is_slow = false;
    for (processes, most) in [
        (12, Duration::from_micros(600)),
        (200, Duration::from_micros(1500)),
    ] {
        let first = machine(processes);
        let mut stage = Stage::new(options(), (140, 45));
        let mut times = Vec::with_capacity(RUNS);
        let mut bytes = Vec::with_capacity(64 * 1024);
        for run in 0..RUNS {
            let mut next = first.clone();
            let load = f64::from(u32::try_from(run).unwrap() % 100);
            for device in &mut next.devices {
                device.gpu = device.gpu.map(|_| Percent(load));
            }
            next.at.mono_ns += 1_000_000_000 * u64::try_from(run).unwrap();
            let next = Arc::new(next);
            bytes.clear();
            let start = Instant::now();
            stage.take(next);
            stage.draw(&mut bytes).unwrap();
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let [least, median, largest] = [0, RUNS / 2, RUNS - 1].map(|at| times[at]);
        println!(
            "{processes} processes: {median:?} ({least:?} to {largest:?}), {} bytes; limit {most:?}",
            bytes.len()
        );
        is_slow |= median > most;
    }
    std::process::exit(i32::from(is_slow));
}
