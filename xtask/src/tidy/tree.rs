//! The files of the repository, held in memory.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::rust_code;

/// Folders that hold no source of ours: version control, build output, editors' and tools' state.
const SKIPPED_FOLDERS: [&str; 4] = [".git", "target", "node_modules", "__pycache__"];

/// No more than this much of a file is looked at: a fixture may be a large capture, a source file is not.
const MOST_BYTES: u64 = 16 << 20;

/// One file: its path from the root with `/`, and its text (bytes that are no UTF-8 replaced, `.gz` unpacked).
#[derive(Debug)]
pub struct SourceFile {
    pub path: String,
    pub text: String,
    code: Option<String>,
}

impl SourceFile {
    fn new(path: String, text: String) -> Self {
        let code = path
            .strip_suffix(".rs")
            .map(|_| rust_code::code_only(&text));
        Self { path, text, code }
    }

    /// For a Rust file its text with comments and the insides of literals blanked out, line for line the same.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// [`Self::code`] with everything under `#[cfg(test)]` blanked out too; `None` for files that hold only tests.
    pub fn shipped_code(&self) -> Option<String> {
        if self.is_test() {
            return None;
        }
        self.code().map(rust_code::without_tests)
    }

    /// Whether the file is not part of the program: `tests.rs`, or anything below `tests/`, `benches/`, `examples/`
    /// or `fuzz/`.
    pub fn is_test(&self) -> bool {
        let mut parts: Vec<&str> = self.path.split('/').collect();
        let name = parts.pop().unwrap_or_default();
        name == "tests.rs"
            || parts
                .iter()
                .any(|part| ["tests", "benches", "examples", "fuzz"].contains(part))
    }

    /// The folder below `crates/` that this file belongs to.
    pub fn crate_folder(&self) -> Option<&str> {
        self.path
            .strip_prefix("crates/")?
            .split_once('/')
            .map(|(folder, _)| folder)
    }

    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// The repository as the rules see it.
#[derive(Debug)]
pub struct Tree {
    files: Vec<SourceFile>,
}

impl Tree {
    /// Reads the repository below `root`.
    pub fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        walk(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// A tree of literal files.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| SourceFile::new((*path).to_owned(), (*text).to_owned()))
            .collect();
        Self { files }
    }

    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Files below a folder, given with its closing `/`.
    pub fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a SourceFile> {
        self.files
            .iter()
            .filter(move |file| file.path.starts_with(folder))
    }

    /// Names of the folders directly below `folder` (given with its closing `/`), each once.
    pub fn folders_in(&self, folder: &str) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .files
            .iter()
            .filter_map(|file| file.path.strip_prefix(folder)?.split_once('/'))
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn walk(root: &Path, folder: &str, files: &mut Vec<SourceFile>) -> Result<()> {
    let here = root.join(folder);
    let entries = fs::read_dir(&here).with_context(|| format!("listing {}", here.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("listing {}", here.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        let kind = entry
            .file_type()
            .with_context(|| format!("looking at {path}"))?;
        if kind.is_dir() {
            if !SKIPPED_FOLDERS.contains(&name.as_str()) {
                walk(root, &path, files)?;
            }
        } else if kind.is_file() {
            let text = read(&entry.path()).with_context(|| format!("reading {path}"))?;
            files.push(SourceFile::new(path, text));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut unpacked = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes.as_slice())
            .take(MOST_BYTES)
            .read_to_end(&mut unpacked)?;
        bytes = unpacked;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
