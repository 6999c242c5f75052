//! `cargo run -p xtask -- tidy | ci | measure | fuzz`: the command line of the repository's own tools.
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

use xtask::{demo, fuzz, measure, tidy};

#[derive(Parser)]
#[command(name = "xtask", about = "Checks and measurements of this repository")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Checks the rules about this repository that the compiler does not know
    Tidy,
    /// Runs .ci/run, or only the named steps of it
    Ci {
        /// Steps, as `.ci/run --list` names them
        steps: Vec<String>,
    },
    /// Measures what a terminal program costs per refresh, from outside (Linux)
    Measure(measure::Options),
    /// Makes a folder that stands for a busy desktop with an AMD card, to measure with (Linux)
    DrmTree(xtask::drm_tree::Options),
    /// Feeds damaged inputs to everything that reads what comes from outside
    Fuzz(fuzz::Options),
    /// Records the demonstration that is compiled into the program (Linux)
    Demo(demo::Options),
    /// Records the captures below fixtures/captures, or only the named ones (Linux)
    Captures(demo::CapturesOptions),
}

fn main() -> ExitCode {
    if let Some(error) = measure::serve_if_asked() {
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        return ExitCode::FAILURE;
    }
    run(Arguments::parse().task).unwrap_or_else(|error| {
        // Nothing is left to be done where the standard error is closed.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(task: Task) -> Result<ExitCode> {
    match task {
        Task::Tidy => run_tidy(),
        Task::Ci { steps } => run_ci(&steps),
        Task::Measure(options) => print(&measure::run(&options)?),
        Task::DrmTree(options) => print(&xtask::drm_tree::run(&options)?),
        Task::Fuzz(options) => print(&fuzz::run(&options)?),
        Task::Demo(options) => print(&demo::run(&options)?),
        Task::Captures(options) => print(&demo::captures(&options)?),
    }
}

fn print(text: &str) -> Result<ExitCode> {
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn run_tidy() -> Result<ExitCode> {
    let tree = tidy::Tree::read(&xtask::repository())?;
    let report = tidy::check(&tree);
    let mut out = std::io::stdout().lock();
    for warning in &report.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    for violation in &report.violations {
        writeln!(out, "error: {violation}")?;
    }
    let (rules, files) = (tidy::RULES.len(), tree.files().len());
    let found = report.violations.len();
    writeln!(
        out,
        "tidy: {rules} rules, {files} files, {found} violations"
    )?;
    Ok(if found == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run_ci(steps: &[String]) -> Result<ExitCode> {
    let script = xtask::repository().join(".ci/run");
    let status = Command::new("bash")
        .arg(&script)
        .args(steps)
        .status()
        .with_context(|| format!("starting bash {}", script.display()))?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
