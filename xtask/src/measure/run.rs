//! The measurement itself.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::cases;
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
    if options.command.is_empty() {
        return all_cases(options);
    }
    let command: Vec<OsString> = options.command.iter().map(Into::into).collect();
    let mut rows = Vec::new();
    for number in 1..=options.runs.max(1) {
        rows.push(one_run(options, number, &command, &[])?);
    }
    let what = options.command.join(" ");
    Ok(Report {
        options,
        what: &what,
        rows,
    }
    .to_text())
}

/// This repository's program, or the ones that were named, on each machine. Their runs take turns, so that what else
/// the machine does meets all of them.
fn all_cases(options: &Options) -> Result<String> {
    let programs = if options.program.is_empty() {
        vec![crate::program::build(&["--release"])?]
    } else {
        options.program.clone()
    };
    let mut text = String::new();
    for start in cases::all() {
        let case = start()?;
        if !options
            .machine
            .as_ref()
            .is_none_or(|text| case.name.contains(text.as_str()))
        {
            continue;
        }
        let environment = case.environment();
        let mut rows: Vec<(&PathBuf, Vec<Row>)> = programs.iter().map(|it| (it, vec![])).collect();
        for number in 1..=options.runs.max(1) {
            for (program, rows) in &mut rows {
                let interval = options.interval.to_string();
                let command: [OsString; 3] = [
                    program.as_os_str().to_owned(),
                    "--interval".into(),
                    interval.into(),
                ];
                rows.push(one_run(options, number, &command, &environment)?);
            }
        }
        for (program, rows) in rows {
            let what = format!("{}: {}", case.name, program.display());
            let report = Report {
                options,
                what: &what,
                rows,
            };
            text.push_str(&report.to_text());
        }
    }
    Ok(text)
}

fn one_run(
    options: &Options,
    number: u32,
    command: &[OsString],
    environment: &[(OsString, OsString)],
) -> Result<Row> {
    start_and_watch(options, command, environment)
        .with_context(|| format!("run {number} of {}", options.runs))
}

fn start_and_watch(
    options: &Options,
    command: &[OsString],
    environment: &[(OsString, OsString)],
) -> Result<Row> {
    let mut terminal = Terminal::start(
        command,
        environment,
        options.size,
        options.first_frame.clone(),
    )?;
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
        cpu_ms_until_watched: (!before.scheduled.is_zero())
            .then_some(1000.0 * before.scheduled.as_secs_f64()),
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
