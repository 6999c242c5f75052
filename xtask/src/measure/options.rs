//! The command line of `measure`.

use std::num::NonZeroU16;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

/// What to run and how to watch it.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// How long to watch, in seconds, after the program has settled
    #[arg(long, default_value_t = 60.0)]
    pub seconds: f64,
    /// How often to start the program and watch it; the median is reported
    #[arg(long, default_value_t = 3)]
    pub runs: u32,
    /// Size of the terminal: columns, an x, rows
    #[arg(long, default_value = "140x45", value_parser = parse_size)]
    pub size: Size,
    /// The program's own refresh interval in seconds: refreshes are counted by it, not observed
    #[arg(long, default_value_t = 1.0)]
    pub interval: f64,
    /// Seconds between the start of the program and the start of watching
    #[arg(long, default_value_t = 4.0)]
    pub settle: f64,
    /// The first frame is there when the screen holds this text; without it, when its first two rows hold anything
    #[arg(long, value_name = "TEXT")]
    pub first_frame: Option<String>,
    /// Keys to type once the first frame is there
    #[arg(long, default_value = "")]
    pub keys: String,
    /// Keys that end the program; what does not end by them is hung up, then killed
    #[arg(long, default_value = "q")]
    pub quit_keys: String,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
    /// Without COMMAND: only the machines whose name has this text in it
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    pub machine: Option<String>,
    /// Write the last screen of the last run to this file
    #[arg(long, value_name = "FILE")]
    pub screen: Option<std::path::PathBuf>,
    /// Without COMMAND: this program instead of the one that cargo builds; given several times, their runs take turns
    #[arg(long, value_name = "PROGRAM", conflicts_with = "command")]
    pub program: Vec<std::path::PathBuf>,
    /// The program and its arguments; without, gputaskman on each machine of docs/measured-by.md, simulated
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: NonZeroU16,
    pub rows: NonZeroU16,
}

impl Options {
    /// How long to watch.
    pub(super) fn watch(&self) -> Result<Duration> {
        duration(self.seconds, "--seconds", 0.1)
    }

    /// How long to wait before watching.
    pub(super) fn settle_time(&self) -> Result<Duration> {
        duration(self.settle, "--settle", 0.0)
    }

    /// Refreshes within `elapsed`: a quotient, so it need not be whole.
    pub(super) fn refreshes(&self, elapsed: Duration) -> Result<f64> {
        Ok(elapsed.as_secs_f64() / duration(self.interval, "--interval", 0.01)?.as_secs_f64())
    }
}

fn duration(seconds: f64, option: &str, least: f64) -> Result<Duration> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if seconds >= least && seconds <= 86_400.0 => Ok(duration),
        _ => bail!("{option} {seconds}: expected {least} to 86400 seconds"),
    }
}

fn parse_size(text: &str) -> Result<Size, String> {
    text.split_once('x')
        .and_then(|(columns, rows)| {
            Some(Size {
                columns: columns.parse().ok()?,
                rows: rows.parse().ok()?,
            })
        })
        .ok_or_else(|| format!("{text}: expected COLUMNSxROWS, such as 140x45"))
}

#[cfg(test)]
mod tests {
    use super::{Size, duration, parse_size};

    #[test]
    fn sizes() {
        let Size { columns, rows } = parse_size("140x45").unwrap();
        assert_eq!((columns.get(), rows.get()), (140, 45));
        for wrong in ["", "140", "0x45", "140x", "-1x2", "70000x1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_have_bounds() {
        assert!(duration(0.0, "--seconds", 0.1).is_err());
        assert!(duration(f64::NAN, "--seconds", 0.1).is_err());
        assert!(duration(-1.0, "--seconds", 0.0).is_err());
        assert!(duration(1.0, "--seconds", 0.1).is_ok());
    }
}
