//! The program `gputaskman`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    gputaskman::run(std::env::args_os())
}
