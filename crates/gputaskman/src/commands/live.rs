//! The live screen.

use tui::{Exit, Message, Session};

use super::{demo, machine, screen, selection, selector};
use crate::cli::Cli;
use crate::failure::{DONE, Outcome};
use crate::{printing, sampling};

pub(super) fn run(cli: &Cli) -> Outcome {
    // A GPU that does not exist must be refused before the screen opens, and that needs the
    // devices; without the option the screen opens at once.
    if cli.run.gpu.is_some() {
        let mut machine = machine(&cli.run)?;
        if let Ok(snapshot) =
            sampling::once(&mut machine, || printing::note("waiting for the driver"))
        {
            selection::check(selector(&cli.run), &snapshot)?;
        }
    }
    let mut machine = machine(&cli.run)?;
    let (sender, wakes) = std::sync::mpsc::channel();
    let waker = machine.waker();
    let wake = tui::Wake::new(move |device| {
        // The screen may be gone already, and nobody waits for the device.
        let _ = sender.send(device.clone());
        waker.wake();
    });
    let sample = move |sender: std::sync::mpsc::Sender<Message>| {
        sampling::stream(&mut machine, &wakes, |snapshot| {
            sender.send(Message::Snapshot(snapshot)).is_ok()
        });
    };
    match screen::open(cli, Session::Live, cli.run.interval(), Some(wake), sample)? {
        Exit::Quit => Ok(DONE),
        Exit::OpenDemo => demo::show(cli),
    }
}
