//! What the system's journal holds of a service, through `journalctl`: there is no other stable way to it.

use std::io::{self, Read as _};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use model::Gap;
use raw::JournalUnit;
use raw::logs::{LogExcerpt, kept};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::errors::{gap, gap_of_io};

/// Where it lies; never looked for by name.
const PROGRAMS: [&str; 2] = ["/usr/bin/journalctl", "/bin/journalctl"];

/// Most lines asked for, the newest ones.
const MAX_LINES: &str = "4000";

/// Most bytes read of them.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// How long it may take; below the deadline of the lane.
const DEADLINE: Duration = Duration::from_millis(1_500);

/// The lines of this service since a moment.
pub(super) fn read(unit: JournalUnit, since_s: i64) -> Result<LogExcerpt, Gap> {
    let program = PROGRAMS.iter().find(|path| Path::new(path).is_file());
    let program = program.ok_or(Gap::NotPresent)?;
    let since = format!("--since=@{since_s}");
    let unit = format!("--unit={}", unit.id());
    #[expect(
        clippy::disallowed_methods,
        reason = "the journal has no files to read that a version keeps"
    )]
    let mut command = Command::new(program);
    command
        .args(["--no-pager", "--quiet", "--output=short-unix"])
        .args(["--lines", MAX_LINES, &since, &unit])
        .env_clear()
        .env("LC_ALL", "C.UTF-8");
    let bytes = output(&mut command, DEADLINE)?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    Ok(LogExcerpt {
        lines: kept(
            bytes
                .get(..end.map_or(0, |end| end + 1))
                .unwrap_or_default(),
        ),
        ..LogExcerpt::default()
    })
}

/// What a command prints, within the bounds; ended where it exceeds one.
fn output(command: &mut Command, deadline: Duration) -> Result<Vec<u8>, Gap> {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = Running(command.spawn().map_err(|error| gap_of_io(&error))?);
    let mut stdout = child.0.stdout.take().ok_or(Gap::Internal)?;
    let until = Instant::now() + deadline;
    let mut bytes = Vec::new();
    let mut block = vec![0; 64 * 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Gap::TimedOut);
        }
        let timeout = Timespec::try_from(left).map_err(|_| Gap::Internal)?;
        let mut ready = [PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN)];
        match poll(&mut ready, Some(&timeout)) {
            Ok(0) => return Err(Gap::TimedOut),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(gap(error)),
        }
        match stdout.read(&mut block) {
            Ok(0) => break,
            Ok(count) if bytes.len() + count > MAX_BYTES => return Err(Gap::OverBound),
            Ok(count) => bytes.extend_from_slice(block.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(gap_of_io(&error)),
        }
    }
    let status = child.0.wait().map_err(|error| gap_of_io(&error))?;
    // Without the right to read the system's journal it prints nothing and fails.
    if bytes.is_empty() && !status.success() {
        return Err(Gap::Permission);
    }
    Ok(bytes)
}

/// A child that is ended and waited for when it is given up.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Neither can be helped where it fails, and after a wait both do nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "stands for journalctl")]
    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_command_is_read_to_its_end() {
        let printed = output(&mut shell("echo one; echo two"), Duration::from_mins(1));
        assert_eq!(printed, Ok(b"one\ntwo\n".to_vec()));
    }

    #[test]
    fn a_command_that_prints_nothing_and_fails_was_not_allowed() {
        let printed = output(&mut shell("exit 1"), Duration::from_mins(1));
        assert_eq!(printed, Err(Gap::Permission));
        assert_eq!(
            output(&mut shell(":"), Duration::from_mins(1)),
            Ok(Vec::new())
        );
    }

    #[test]
    fn a_command_that_goes_on_is_ended() {
        let printed = output(&mut shell("while :; do :; done"), Duration::from_millis(20));
        assert_eq!(printed, Err(Gap::TimedOut));
        let printed = output(&mut shell("exec yes"), Duration::from_mins(1));
        assert_eq!(printed, Err(Gap::OverBound));
    }
}
