//! Shows a recording.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use model::Snapshot;
use raw::capture::{Capture, ReplayMachine};
use tui::{Message, Session};

use super::lines::Lines;
use super::{report, screen, selection};
use crate::cli::{Cli, Gpu};
use crate::failure::{DONE, Failure, Outcome};
use crate::refreshes::Refreshes;
use crate::{printing, sampling};

pub(super) fn run(cli: &Cli, file: &Path) -> Outcome {
    let capture = load(file)?;
    if capture.cut_off {
        printing::note(&format!(
            "{} ends in the middle of a line; what was complete is shown",
            file.display()
        ));
    }
    let name = name(file);
    show(cli, capture, Session::Replay { name }, false)
}

/// What a recording is called on the screen.
pub(super) fn name(file: &Path) -> String {
    file.file_name()
        .map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}

pub(super) fn load(file: &Path) -> Result<Capture, Failure> {
    let what = || format!("cannot read the recording {}", file.display());
    let input = sources::open_regular(file)
        .with_context(what)
        .map_err(Failure::failed)?;
    Capture::load(input).with_context(what).map_err(|error| {
        Failure::failed(error).with_hint("recordings are made by gputaskman record -o FILE")
    })
}

/// The capture with the GPU that the command line asks for, if it holds any refresh.
pub(super) fn as_asked(cli: &Cli, mut capture: Capture) -> Result<Arc<Capture>, Failure> {
    if capture.tick_count() == 0 {
        return Err(holds_nothing());
    }
    match &cli.run.gpu {
        Some(Gpu::One(selector)) => capture.manifest.settings.gpu = Some(selector.clone()),
        Some(Gpu::All) => capture.manifest.settings.gpu = None,
        None => {}
    }
    Ok(Arc::new(capture))
}

pub(super) fn holds_nothing() -> Failure {
    Failure::failed(anyhow::anyhow!("the recording holds no refresh"))
}

/// Shows a capture as the command line asks. A screen starts over at the end if `again`.
pub(super) fn show(cli: &Cli, capture: Capture, session: Session, again: bool) -> Outcome {
    let capture = as_asked(cli, capture)?;
    if cli.view.json && !cli.view.once {
        return lines(&capture);
    }
    if cli.view.once || cli.view.json || !printing::to_terminal() {
        let last = last(&capture)?;
        selection::check(capture.manifest.settings.gpu.as_ref(), &last)?;
        return report::print(cli, &last);
    }
    if capture.manifest.settings.gpu.is_some() {
        // Refused before the screen opens; otherwise the screen need not wait for the whole file.
        selection::check(capture.manifest.settings.gpu.as_ref(), &*last(&capture)?)?;
    }
    let interval = Duration::from_millis(capture.manifest.settings.interval_ms);
    screen::open(cli, session, interval, None, move |sender| {
        loop {
            let mut machine = ReplayMachine::new(Arc::clone(&capture));
            let mut gone = false;
            sampling::play(&mut machine, |snapshot| {
                gone = sender.send(Message::Snapshot(snapshot)).is_err();
                !gone
            });
            if gone {
                return;
            }
            if !again {
                let _ = sender.send(Message::Ended("the recording ends here".to_owned()));
                return;
            }
        }
    })?;
    Ok(DONE)
}

/// Every refresh as one line of JSON.
fn lines(capture: &Arc<Capture>) -> Outcome {
    let mut lines = Lines::of(capture.manifest.settings.gpu.as_ref());
    let mut code = DONE;
    let mut refreshes = Refreshes::default();
    for (tick, snapshot) in sampling::replayed(capture) {
        for refresh in refreshes.take(tick, &snapshot) {
            lines.print(&refresh)?;
        }
        code = report::code(&snapshot);
    }
    if let Some(last) = refreshes.end() {
        lines.print(&last)?;
    }
    lines.end()?;
    Ok(code)
}

fn last(capture: &Arc<Capture>) -> Result<Arc<Snapshot>, Failure> {
    sampling::replayed(capture)
        .last()
        .map(|(_, snapshot)| snapshot)
        .ok_or_else(holds_nothing)
}
