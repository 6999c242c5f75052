//! What inputs are made from.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::targets::Target;

/// Largest seed: one above it would take a run's time alone.
const MAX_BYTES: u64 = 128 * 1024;

/// Most seeds taken from folders that the environment names.
const MAX_ADDED: usize = 64;

/// The seeds of a target, in the order of their names.
pub(super) fn of(target: &Target) -> Result<Vec<Vec<u8>>> {
    let root = crate::repository();
    let folder = match target.name {
        "redaction" => "gguf",
        name => name,
    };
    let mut paths = match folder {
        "gguf" => below(&root.join("crates/gguf/fixtures/headers"), "gguf")?,
        "capture" => below(&root.join("fixtures/captures"), "ndjson")?,
        "adapters" => below(&root.join("adapters"), "toml")?,
        "logs" => {
            let real = below(&root.join("fixtures/logs"), "log")?;
            [real, below(&root.join("fuzz/seeds/logs"), "log")?].concat()
        }
        folder => below(&root.join("fuzz/seeds").join(folder), "")?,
    };
    if folder == "gguf" {
        let named = env::var_os("FIXTURES_DIR").unwrap_or_default();
        for folder in env::split_paths(&named).filter(|folder| folder.is_dir()) {
            let mut added = below(&folder, "gguf")?;
            added.truncate(MAX_ADDED);
            paths.append(&mut added);
        }
    }
    let read =
        |path: &PathBuf| fs::read(path).with_context(|| format!("reading {}", path.display()));
    let seeds: Vec<Vec<u8>> = paths.iter().map(read).collect::<Result<_>>()?;
    ensure!(!seeds.is_empty(), "no seeds for {}", target.name);
    Ok(seeds)
}

/// Files below a folder that end in this extension (or any), sorted by path.
fn below(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let (path, meta) = (entry.path(), entry.metadata()?);
            let fits = extension.is_empty() || path.extension().is_some_and(|own| own == extension);
            if meta.is_dir() {
                folders.push(path);
            } else if meta.is_file() && fits && meta.len() <= MAX_BYTES {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
