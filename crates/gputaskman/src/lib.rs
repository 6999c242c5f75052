//! The program: command line, commands, exit codes. It wires machines, the collector and views
//! together and interprets nothing itself.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod failure;
mod printing;
mod sampling;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use cli::Cli;

/// Runs the program with these arguments, the first being its own name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(cli::accept_llama_spelling(arguments)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout and are no failure. A closed pipe is nobody's problem.
            let code = u8::from(error.use_stderr()) * failure::USAGE;
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match commands::run(&cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(),
    }
}
