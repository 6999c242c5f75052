//! The user's own adapters of applications: `--adapters DIR`, else the folder that `GPUTASKMAN_ADAPTERS` names.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use raw::apps::{Adapter, MAX_ADAPTER_BYTES, MAX_ADAPTERS, parse};

use crate::cli::Run;
use crate::failure::Failure;
use crate::printing;

/// The variable that names the folder.
const VARIABLE: &str = "GPUTASKMAN_ADAPTERS";

/// The adapters of the user's folder, in the order of their names. One that cannot be used is named with the place
/// of its mistake and left out; the others go on.
pub(super) fn own(run: &Run) -> Result<Arc<[Adapter]>, Failure> {
    let (folder, named_by) = match (&run.adapters, std::env::var_os(VARIABLE)) {
        (Some(folder), _) => (folder.clone(), "--adapters"),
        (None, Some(folder)) if !folder.is_empty() => (PathBuf::from(folder), VARIABLE),
        (None, _) => return Ok(Arc::default()),
    };
    let files = files(&folder).map_err(|error| {
        Failure::usage(
            anyhow::anyhow!("{named_by} {}: {error}", folder.display()),
            "it must be a folder with adapters, files named *.toml",
        )
    })?;
    let mut adapters: Vec<Adapter> = Vec::new();
    for file in files {
        match adapter(&file) {
            Ok(adapter) => adapters.push(adapter),
            Err(problem) => printing::note(&format!("adapter left out: {problem}")),
        }
    }
    Ok(adapters.into())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the folder that the user named; read once, before anything is collected"
)]
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "toml") {
            files.push(path);
        }
    }
    files.sort();
    if files.len() > MAX_ADAPTERS {
        let left_out = files.len() - MAX_ADAPTERS;
        printing::note(&format!(
            "{left_out} adapters beyond the first {MAX_ADAPTERS} are left out"
        ));
        files.truncate(MAX_ADAPTERS);
    }
    Ok(files)
}

fn adapter(path: &Path) -> Result<Adapter, String> {
    let name = path.display().to_string();
    let bound = u64::try_from(MAX_ADAPTER_BYTES + 1).unwrap_or(u64::MAX);
    let mut text = String::new();
    let file = sources::open_regular(path).map_err(|error| format!("{name}: {error}"))?;
    let read = file.take(bound).read_to_string(&mut text);
    read.map_err(|error| format!("{name}: {error}"))?;
    parse(&name, &text).map_err(|error| error.to_string())
}
