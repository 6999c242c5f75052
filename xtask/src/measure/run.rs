//! The measurement itself.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::options::Options;
use super::proc_files::{Usage, peak_resident};
use super::report::{Report, Row, mebibytes, quotient};
use super::terminal::Terminal;

/// Starts the program as often as asked for and returns the report as text.
pub fn run(options: &Options) -> Result<String> {
    if std::env::consts::OS != "linux" {
        bail!(
            "measure reads Linux's /proc: on {} it has nothing to measure with",
            std::env::consts::OS
        );
    }
    let mut rows = Vec::new();
    for number in 1..=options.runs.max(1) {
        rows.push(one_run(options).with_context(|| format!("run {number} of {}", options.runs))?);
    }
    Ok(Report { options, rows }.to_text())
}

fn one_run(options: &Options) -> Result<Row> {
    let mut terminal =
        Terminal::start(&options.command, options.size, options.first_frame.clone())?;
    let row = watch(options, &mut terminal);
    terminal.end(&options.quit_keys);
    row
}

fn watch(options: &Options, terminal: &mut Terminal) -> Result<Row> {
    let process = terminal.process()?;
    let half = options.settle_time()? / 2;
    thread::sleep(half);
    terminal.type_keys(&options.keys)?;
    thread::sleep(half);
    still_runs(terminal, "before it was watched")?;

    let began = Instant::now();
    let (before, bytes_before) = (Usage::of_tree(process), terminal.screen().bytes());
    thread::sleep(options.watch()?);
    let (after, bytes_after) = (Usage::of_tree(process), terminal.screen().bytes());
    let elapsed = began.elapsed();
    let peak = peak_resident(process);
    still_runs(terminal, "while it was watched")?;

    let refreshes = options.refreshes(elapsed)?;
    let screen = terminal.screen();
    if let Some(file) = &options.screen {
        fs::write(file, screen.text()).with_context(|| format!("writing {}", file.display()))?;
    }
    let per_refresh = |time: Duration| 1000.0 * time.as_secs_f64() / refreshes;
    let reaped = after.reaped.saturating_sub(before.reaped);
    // Threads that end while watched take their schedstat with them, so a difference can be short but never negative.
    let scheduled = after.scheduled.saturating_sub(before.scheduled) + reaped;
    let ticks = after.ticks.saturating_sub(before.ticks) + reaped;
    Ok(Row {
        cpu_ms_per_refresh: (!after.scheduled.is_zero()).then(|| per_refresh(scheduled)),
        cpu_ticks_ms_per_refresh: per_refresh(ticks),
        rss_mib: mebibytes(after.resident),
        peak_mib: peak.map(mebibytes),
        voluntary_switches_per_second: quotient(
            after
                .voluntary_switches
                .saturating_sub(before.voluntary_switches),
            elapsed.as_secs_f64(),
        ),
        terminal_bytes_per_refresh: quotient(bytes_after - bytes_before, refreshes),
        first_frame_ms: screen.first_frame().map(|time| 1000.0 * time.as_secs_f64()),
    })
}

fn still_runs(terminal: &mut Terminal, when: &str) -> Result<()> {
    if terminal.has_ended() {
        let last: String = terminal.screen().text();
        bail!("the program ended {when}; its last screen was:\n{last}");
    }
    Ok(())
}
