//! The terminal interface, fed by a thread that samples.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use tui::{Exit, Message, Options, Session, Theme};

use crate::cli::Cli;
use crate::failure::Failure;

/// Opens the screen. `sample` runs on its own thread and sends snapshots until the screen is gone;
/// it is never joined, since a driver may hold it.
pub(super) fn open(
    cli: &Cli,
    session: Session,
    interval: Duration,
    wake: Option<tui::Wake>,
    sample: impl FnOnce(Sender<Message>) + Send + 'static,
) -> Result<Exit, Failure> {
    let (sender, inbox): (_, Receiver<Message>) = channel();
    let quit = sender.clone();
    sources::termination_signals(move |_| {
        // The screen may be gone already.
        let _ = quit.send(Message::Quit);
    })
    .context("cannot watch for signals")
    .map_err(Failure::failed)?;
    let samples = sender.clone();
    thread::Builder::new()
        .name("sampler".to_owned())
        .spawn(move || sample(samples))
        .context("cannot start the sampling thread")
        .map_err(Failure::failed)?;
    let options = Options {
        session,
        theme: theme(cli),
        ascii: super::charset::is_ascii(cli, true),
        mouse: !cli.view.no_mouse,
        interval,
        wake,
    };
    tui::run(options, inbox, sender)
        .context("cannot use the terminal")
        .map_err(|error| {
            Failure::failed(error).with_hint("gputaskman --once and --json need no terminal")
        })
}

fn theme(cli: &Cli) -> Theme {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if cli.view.no_color || no_color {
        Theme::Mono
    } else {
        Theme::Auto
    }
}
