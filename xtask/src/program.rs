//! The program of this repository, built.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;

/// Runs cargo with these further options, and says where the program lies.
pub(crate) fn build(options: &[&str]) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(crate::repository())
        .args(["build", "--quiet", "--package", "gputaskman"])
        .args(["--bin", "gputaskman"])
        .args(options)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("running cargo")?;
    ensure!(output.status.success(), "the program cannot be built");
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Json>(line).ok())
        .filter_map(|message| Some(message.get("executable")?.as_str()?.to_owned()))
        .next_back();
    Ok(executable.context("cargo names no program")?.into())
}
