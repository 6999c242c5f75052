//! Standard output, which carries data only, and notes, which go to standard error.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;

use crate::failure::{DONE, Failure, USAGE};

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
    eprintln!("gputaskman: {}", harmless(text));
}

/// Text for a terminal without what a terminal would obey: names of files and contents of captures
/// are anybody's.
pub(crate) fn harmless(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(output::format::sanitize).collect();
    lines.join("\n")
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

/// What the command line parser has to say: help and versions on standard output, which is no
/// failure; anything else on standard error. Gives the exit code.
#[expect(clippy::print_stderr, reason = "this is where usage errors are said")]
pub(crate) fn usage(error: &clap::Error) -> u8 {
    if !error.use_stderr() {
        return data(&error.render().to_string()).map_or_else(Failure::report, |()| DONE);
    }
    eprintln!("{}", harmless(&error.render().to_string()));
    USAGE
}
