//! One file per command.

mod adapters;
mod charset;
mod demo;
mod lines;
mod live;
mod new_file;
mod record;
mod replay;
mod report;
mod requirement;
mod screen;
mod screenshot;
mod selection;

use model::{Selector, Text};
use raw::Settings;
use sources::{LiveMachine, Options};

use crate::cli::{Cli, Command, Gpu, Run};
use crate::failure::{Failure, Outcome};
use crate::printing;

/// Runs what was typed.
pub(crate) fn run(cli: &Cli) -> Outcome {
    refuse_contradictions(cli)?;
    match &cli.command {
        Some(Command::Record(record)) => record::run(cli, record),
        Some(Command::Replay { file }) => replay::run(cli, file),
        Some(Command::Demo) => demo::run(cli),
        Some(Command::Screenshot(options)) => screenshot::run(cli, options),
        Some(Command::Inspect(asked)) => requirement::inspect(cli, asked),
        Some(Command::Fit(asked)) => requirement::fit(cli, asked),
        None if cli.view.list_gpus => report::list_gpus(cli),
        None if cli.view.json || cli.view.once => report::once(cli),
        None if !printing::to_terminal() => {
            printing::note("standard output is no terminal, so this is the report of --once");
            report::once(cli)
        }
        None => live::run(cli),
    }
}

/// Options that would be ignored are refused: whoever typed them expects something else.
fn refuse_contradictions(cli: &Cli) -> Result<(), Failure> {
    let Some(command) = &cli.command else {
        return Ok(());
    };
    if cli.view.list_gpus {
        return Err(Failure::usage(
            anyhow::anyhow!("--list-gpus is about this machine and goes with no command"),
            "--once shows the GPUs of a recording",
        ));
    }
    match command {
        Command::Record(_) if cli.view.once => Err(Failure::usage(
            anyhow::anyhow!("record prints no report, so --once has no meaning here"),
            "--json prints each refresh while recording; gputaskman replay FILE --once reports on the last",
        )),
        Command::Replay { .. } | Command::Demo => refuse_collecting(
            &cli.run,
            "a recording brings its own settings; --gpu, --once and --json work",
        ),
        Command::Inspect(_) | Command::Fit(_) if cli.view.once => Err(Failure::usage(
            anyhow::anyhow!("inspect and fit print one answer, so --once has no meaning here"),
            "--json prints it in JSON",
        )),
        Command::Inspect(_) => match cli.run.machine_option() {
            Some(option) => Err(Failure::usage(
                anyhow::anyhow!("{option} has no effect on inspect, which reads the file alone"),
                "gputaskman fit FILE looks at this machine's GPUs too",
            )),
            None => Ok(()),
        },
        Command::Screenshot(_) if cli.view.once || cli.view.json => Err(Failure::usage(
            anyhow::anyhow!(
                "screenshot draws the screen, so --once and --json have no meaning here"
            ),
            "gputaskman --once writes the report as text, --json as data",
        )),
        Command::Screenshot(from) if from.demo || from.replay.is_some() => refuse_collecting(
            &cli.run,
            "without --replay and --demo it is this machine that is shown",
        ),
        Command::Fit(_) | Command::Record(_) | Command::Screenshot(_) => Ok(()),
    }
}

/// What has been recorded is not collected again.
fn refuse_collecting(run: &Run, hint: &'static str) -> Result<(), Failure> {
    match run.collecting_option() {
        Some(option) => Err(Failure::usage(
            anyhow::anyhow!("{option} has no effect on what has been recorded already"),
            hint,
        )),
        None => Ok(()),
    }
}

/// The settings of a run on this machine.
fn settings(run: &Run) -> Result<Settings, Failure> {
    let own = adapters::own(run)?;
    Ok(Settings {
        interval_ms: u64::try_from(run.interval().as_millis()).unwrap_or(u64::MAX),
        gpu: selector(run).cloned(),
        probe: !run.no_probe,
        models: !run.no_models,
        gpu_layers: run.gpu_layers,
        wake: run.wake,
        adapters: own.adapters,
        adapter_problems: own.problems,
    })
}

/// The one GPU that was asked for.
const fn selector(run: &Run) -> Option<&Selector> {
    match &run.gpu {
        Some(Gpu::One(selector)) => Some(selector),
        Some(Gpu::All) | None => None,
    }
}

/// Folders of a machine's root of which a directory that stands for one has at least one.
const ROOT_FOLDERS: [&str; 3] = ["proc", "sys", "dev"];

/// This machine, or the directory that stands for one.
fn machine(run: &Run) -> Result<LiveMachine, Failure> {
    machine_with(run, settings(run)?)
}

fn machine_with(run: &Run, settings: Settings) -> Result<LiveMachine, Failure> {
    if let Some(root) = &run.root
        && !root.is_dir()
    {
        return Err(Failure::usage(
            anyhow::anyhow!("--root {}: there is no such directory", root.display()),
            "the directory must contain proc, sys and dev as a machine's root does",
        ));
    }
    if let Some(root) = &run.root
        && !ROOT_FOLDERS.iter().any(|name| root.join(name).is_dir())
    {
        let root = root.display();
        return Err(Failure::usage(
            anyhow::anyhow!(
                "--root {root}: this is no machine's root: it has none of the folders proc, sys and dev"
            ),
            "name the directory that contains them, e.g. one made with a copy of /proc and /sys",
        ));
    }
    Ok(LiveMachine::new(Options {
        root: run.root.clone(),
        settings,
        ..Options::default()
    }))
}

/// A machine's answers under another origin.
fn synthetic(note: &str) -> model::Origin {
    model::Origin {
        kind: model::OriginKind::Synthetic,
        note: Some(Text::from(note)),
    }
}
