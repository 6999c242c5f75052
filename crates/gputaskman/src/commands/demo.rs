//! The program on a capture that is compiled into it.

use anyhow::Context as _;
use raw::capture::Capture;
use tui::Session;

use super::replay;
use crate::cli::Cli;
use crate::failure::{Failure, Outcome};

/// Made by `cargo run -p xtask -- demo`: the program itself, recording a simulated driver and a
/// made-up process tree. Its manifest says so.
const CAPTURE: &[u8] = include_bytes!("../../demo.ndjson.gz");

pub(super) fn run(cli: &Cli) -> Outcome {
    show(cli)
}

/// Shows the demonstration as the command line asks.
pub(super) fn show(cli: &Cli) -> Outcome {
    let capture = capture()?;
    let note = note(&capture);
    replay::show(cli, capture, Session::Demo { note }, true)
}

pub(super) fn capture() -> Result<Capture, Failure> {
    Capture::load(CAPTURE)
        .context("the built-in demonstration cannot be read")
        .map_err(Failure::failed)
}

/// What the capture says of itself.
pub(super) fn note(capture: &Capture) -> String {
    let note = capture.manifest.note.as_deref();
    note.unwrap_or("synthetic").to_owned()
}
