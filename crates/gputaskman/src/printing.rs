//! Standard output, which carries data only, and notes, which go to standard error.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;

use crate::failure::Failure;

/// Writes one document and flushes, so that a reader of a stream sees it at once.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| {
            if text.ends_with('\n') {
                Ok(())
            } else {
                out.write_all(b"\n")
            }
        })
        .and_then(|()| out.flush());
    written
        .context("cannot write to standard output")
        .map_err(Failure::failed)
}

/// A note for the person at the terminal.
#[expect(clippy::print_stderr, reason = "notes go to standard error")]
pub(crate) fn note(text: &str) {
    eprintln!("gputaskman: {text}");
}

/// Whether standard output is a terminal.
pub(crate) fn to_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Columns of the terminal behind standard output; the report's own width elsewhere.
pub(crate) fn report_width() -> usize {
    if !to_terminal() {
        return output::text::WIDTH;
    }
    crossterm::terminal::size().map_or(output::text::WIDTH, |(columns, _)| usize::from(columns))
}
