//! Runs the program's own recorder on a made-up machine.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fake_nvml::build::{Driver, SCENARIO_VARIABLE};

use super::tree::Tree;

/// Exit codes of a recording that was made: with a GPU, and without one.
const RECORDED: [i32; 2] = [0, 3];

/// How long a recording is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    /// So many refreshes in which the driver was asked.
    Refreshes(u32),
    /// So many seconds, where the driver is never asked.
    Seconds(u32),
}

impl Length {
    fn arguments(self) -> [String; 2] {
        let (option, number) = match self {
            Self::Refreshes(count) => ("--count", count),
            Self::Seconds(seconds) => ("--duration", seconds),
        };
        [option.to_owned(), number.to_string()]
    }
}

/// The program, built.
pub(super) struct Program(PathBuf);

impl Program {
    /// Runs cargo.
    pub(super) fn build() -> Result<Self> {
        crate::program::build(&[]).map(Self)
    }

    /// Records this machine into `output`, which is replaced.
    pub(super) fn record(
        &self,
        tree: &Tree,
        driver: Option<&Driver>,
        length: Length,
        note: &str,
        output: &Path,
    ) -> Result<()> {
        let name = output.file_name().context("the output has no file name")?;
        let beside = tree.folder().join(name);
        let mut command = Command::new(&self.0);
        command
            .args([
                "record",
                "--redact",
                "none",
                "--interval",
                "1",
                "--synthetic",
                note,
            ])
            .args(length.arguments())
            .arg("--root")
            .arg(tree.folder())
            .arg("-o")
            .arg(&beside)
            .env_remove("LD_LIBRARY_PATH")
            .env_remove(SCENARIO_VARIABLE);
        if let Some(driver) = driver {
            command
                .env("LD_LIBRARY_PATH", driver.folder())
                .env(SCENARIO_VARIABLE, driver.scenario_path());
        }
        let result = command.output().context("running the program")?;
        let said = String::from_utf8_lossy(&result.stderr);
        ensure!(
            result
                .status
                .code()
                .is_some_and(|code| RECORDED.contains(&code)),
            "the recording ended with {}: {said}",
            result.status
        );
        check(&beside, tree, driver.is_some(), length)?;
        if let Some(folder) = output.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&beside, output).with_context(|| format!("writing {}", output.display()))?;
        Ok(())
    }
}

/// A capture must not tell where it was made, and one without a driver must not have found a real one.
fn check(capture: &Path, tree: &Tree, with_driver: bool, length: Length) -> Result<()> {
    let mut text = String::new();
    let file = fs::File::open(capture)?;
    if capture
        .extension()
        .is_some_and(|extension| extension == "gz")
    {
        flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text)?;
    } else {
        std::io::BufReader::new(file).read_to_string(&mut text)?;
    }
    for place in [tree.folder(), &crate::repository(), &std::env::temp_dir()] {
        let place = place.to_string_lossy();
        ensure!(
            !text.contains(&*place),
            "{place} stands in {}",
            capture.display()
        );
    }
    ensure!(
        matches!(length, Length::Refreshes(_)) || !text.contains("\"s\":\"nvml\""),
        "the driver was asked in a recording in which it must not be"
    );
    ensure!(
        with_driver || !text.contains("\"ready\""),
        "this machine has a driver of its own, so that nothing without one can be recorded here"
    );
    Ok(())
}
