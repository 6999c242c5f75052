//! The program `gputaskman`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gputaskman::run(std::env::args_os())
}
