//! The terminal interface, fed by a thread that samples.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use tui::{Exit, Message, Options, Session, Theme};

use crate::cli::{Cli, ThemeName};
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
        truecolor: has_truecolor(),
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

/// What was asked for counts before what the environment says.
pub(super) fn theme(cli: &Cli) -> Theme {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_dumb = || set("TERM").is_some_and(|term| term == "dumb");
    match cli.view.theme {
        Some(ThemeName::Dark) => Theme::Dark,
        Some(ThemeName::Light) => Theme::Light,
        Some(ThemeName::Cb) => Theme::ColorBlind,
        Some(ThemeName::Mono) => Theme::Mono,
        None if cli.view.no_color || set("NO_COLOR").is_some() || is_dumb() => Theme::Mono,
        Some(ThemeName::Auto) | None => Theme::Auto,
    }
}

/// Whether the terminal says that it shows any colour.
fn has_truecolor() -> bool {
    std::env::var("COLORTERM").is_ok_and(|value| value == "truecolor" || value == "24bit")
}
