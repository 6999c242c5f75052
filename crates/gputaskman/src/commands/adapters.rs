//! The user's own adapters of applications: `--adapters DIR`, else the folder that `GPUTASKMAN_ADAPTERS` names.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::Text;
use raw::apps::{Adapter, MAX_ADAPTER_BYTES, MAX_ADAPTERS, parse};

use crate::cli::Run;
use crate::failure::Failure;
use crate::printing;

/// The variable that names the folder.
const VARIABLE: &str = "GPUTASKMAN_ADAPTERS";

/// The user's adapters, and what is to be said of those that were left out.
#[derive(Default)]
pub(super) struct Own {
    pub(super) adapters: Arc<[Adapter]>,
    pub(super) problems: Arc<[Text]>,
}

/// The adapters of the user's folder, in the order of their names. One that cannot be used is named with the place
/// of its mistake and left out; the others go on. A folder without any is a mistake.
pub(super) fn own(run: &Run) -> Result<Own, Failure> {
    let (folder, named_by) = match (&run.adapters, std::env::var_os(VARIABLE)) {
        (Some(folder), _) => (folder.clone(), "--adapters"),
        (None, Some(folder)) if !folder.is_empty() => (PathBuf::from(folder), VARIABLE),
        (None, _) => return Ok(Own::default()),
    };
    let refused = |why: String| {
        Failure::usage(
            anyhow::anyhow!("{named_by} {}: {why}", folder.display()),
            "it must be a folder with adapters, files named *.toml",
        )
    };
    let mut problems: Vec<Text> = Vec::new();
    let files = files(&folder, &mut problems).map_err(|error| refused(error.to_string()))?;
    if files.is_empty() {
        return Err(refused("there is no adapter in it".to_owned()));
    }
    let mut adapters: Vec<Adapter> = Vec::new();
    for file in files {
        match adapter(&file) {
            Ok(adapter) => adapters.push(adapter),
            Err(problem) => problems.push(format!("left out: {problem}").into()),
        }
    }
    for problem in &problems {
        printing::note(&format!("adapter {problem}"));
    }
    Ok(Own {
        adapters: adapters.into(),
        problems: problems.into(),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the folder that the user named; read once, before anything is collected"
)]
fn files(folder: &Path, problems: &mut Vec<Text>) -> std::io::Result<Vec<PathBuf>> {
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
        let text = format!("left out: {left_out} beyond the first {MAX_ADAPTERS}");
        problems.push(text.into());
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
