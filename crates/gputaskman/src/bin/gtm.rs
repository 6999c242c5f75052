//! The same program under its short name.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    gputaskman::run(std::env::args_os())
}
