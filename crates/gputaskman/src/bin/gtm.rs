//! The same program under its short name.

use std::process::ExitCode;

fn main() -> ExitCode {
    gputaskman::run(std::env::args_os())
}
