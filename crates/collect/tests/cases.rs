//! Runs the cases in `cases/` and in the folders of `CASES_DIR`.
//!
//! A case is a file `PREFIX.NAME.json`; the prefix says which runner it is for. A file `PREFIX.truth.ndjson` holds
//! histories with the truth about them, one a line, of which a share has to come out right. `cases/README.md` has the
//! formats.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a runner walks folders and fails loudly"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

mod cases {
    pub(crate) mod drm_attribution;
    pub(crate) mod kv_cache;
    pub(crate) mod machine;
    pub(crate) mod model_weights;
    pub(crate) mod pid_pairing;
}

use cases::{drm_attribution, kv_cache, model_weights, pid_pairing};

/// What runs the cases of a prefix; an error says what is wrong with the case or with the answer.
type Runner = fn(&Path) -> Result<(), String>;

const RUNNERS: &[(&str, Runner)] = &[
    ("amd-fdinfo", drm_attribution::run_samples),
    ("drm-attribution", drm_attribution::run_verdict),
    ("kv-cache", kv_cache::run),
    ("model-weights", model_weights::run),
    ("pid-pairing", pid_pairing::run),
];

/// What runs the histories of a prefix.
const HISTORY_RUNNERS: &[(&str, Runner)] = &[("pid-pairing", pid_pairing::run_histories)];

/// How the name of a file with histories ends.
const HISTORIES: &str = ".truth.ndjson";

#[test]
fn every_case_comes_out_as_expected() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let others = std::env::var_os("CASES_DIR").unwrap_or_default();
    let mut folders = vec![own];
    folders.extend(std::env::split_paths(&others).filter(|path| !path.as_os_str().is_empty()));
    let (mut run, mut failed) = (0, Vec::new());
    let mut without_runner = BTreeMap::<String, usize>::new();
    for file in folders.iter().flat_map(|folder| case_files(folder)) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let prefix = name.split('.').next().unwrap_or(&name);
        let runners = if name.ends_with(HISTORIES) {
            HISTORY_RUNNERS
        } else {
            RUNNERS
        };
        match runners.iter().find(|(known, _)| *known == prefix) {
            Some((_, runner)) => {
                run += 1;
                if let Err(problem) = runner(&file) {
                    failed.push(format!("{}: {problem}", file.display()));
                }
            }
            None => *without_runner.entry(prefix.to_owned()).or_default() += 1,
        }
    }
    for (prefix, count) in &without_runner {
        let skipped = format!("SKIPPED: {count} case(s): no runner for {prefix} yet\n");
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
    }
    assert!(run > 0, "no case was run, in {folders:?}");
    assert!(
        failed.is_empty(),
        "{} of {run} cases failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

/// A file with many cases of `drm-attribution`, in a folder of fixtures.
const VERDICTS: &str = "synthetic/cases.json";

#[test]
fn every_verdict_among_other_fixtures_comes_out_as_expected() {
    let others = std::env::var_os("FIXTURES_DIR").unwrap_or_default();
    let mut run = 0;
    for folder in std::env::split_paths(&others) {
        for file in [folder.join(VERDICTS), folder.join("drm").join(VERDICTS)] {
            if file.is_file() {
                run += drm_attribution::run_verdicts(&file)
                    .unwrap_or_else(|problem| panic!("{problem}"));
            }
        }
    }
    if run == 0 {
        let skipped = b"SKIPPED: FIXTURES_DIR names no folder with synthetic/cases.json\n";
        std::io::stderr().write_all(skipped).unwrap();
    }
}

/// The files of a folder that are named as cases are, in order.
fn case_files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let is_case = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_named = name.ends_with(".json") && name.matches('.').count() >= 2;
        path.is_file() && (is_named || name.ends_with(HISTORIES))
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(is_case)
        .collect();
    files.sort();
    files
}
