//! The program: command line, commands, exit codes. It wires machines, the collector and views
//! together and interprets nothing itself.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod failure;
mod printing;
mod refreshes;
mod sampling;
mod spelling;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program with these arguments, the first being its own name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let code = match cli::parse(arguments) {
        Ok(cli) => commands::run(&cli).unwrap_or_else(failure::Failure::report),
        Err(error) => printing::usage(&error),
    };
    sources::leave_if_stuck(code);
    ExitCode::from(code)
}
