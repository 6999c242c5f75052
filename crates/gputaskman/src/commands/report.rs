//! One snapshot of this machine: as text, as JSON, or as the list of its GPUs.

use std::sync::Arc;

use model::Snapshot;

use super::{charset, machine, selection, selector};
use crate::cli::Cli;
use crate::failure::{DONE, Failure, NO_GPU, Outcome};
use crate::{printing, sampling};

/// `--once` and `--json`.
pub(super) fn once(cli: &Cli) -> Outcome {
    let snapshot = take(cli)?;
    selection::check(selector(&cli.run), &snapshot)?;
    print(cli, &snapshot)
}

/// `--list-gpus`.
pub(super) fn list_gpus(cli: &Cli) -> Outcome {
    let snapshot = take(cli)?;
    selection::check(selector(&cli.run), &snapshot)?;
    if cli.view.json {
        printing::data(&output::json::list_gpus(&snapshot))?;
    } else if snapshot.devices.is_empty() {
        charset::text(cli, &output::text::no_gpu(&snapshot))?;
    } else {
        charset::text(cli, &output::text::list_gpus(&snapshot))?;
    }
    Ok(code(&snapshot))
}

/// Prints the snapshot as the command line asks, and gives the exit code.
pub(super) fn print(cli: &Cli, snapshot: &Snapshot) -> Outcome {
    if cli.view.json {
        printing::data(&output::json::to_pretty(snapshot))?;
    } else {
        charset::text(
            cli,
            &output::text::report(snapshot, printing::report_width()),
        )?;
    }
    Ok(code(snapshot))
}

/// The exit code that a snapshot stands for.
pub(super) const fn code(snapshot: &Snapshot) -> u8 {
    if snapshot.devices.is_empty() {
        NO_GPU
    } else {
        DONE
    }
}

/// One complete snapshot of this machine.
pub(super) fn take(cli: &Cli) -> Result<Arc<Snapshot>, Failure> {
    let mut machine = machine(&cli.run)?;
    let late = || printing::note("the NVIDIA driver is being initialised; waiting up to 20 s");
    sampling::once(&mut machine, late)
        .map_err(|_| Failure::failed(anyhow::anyhow!("the machine ended before it answered")))
}
