//! For tests: builds the libraries and puts them where a program finds them.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;

use crate::generation::Generation;
use crate::scenario::Scenario;

/// The environment variable that names the scenario file.
pub const SCENARIO_VARIABLE: &str = crate::library::SCENARIO;
/// The environment variable that names the file for call counts.
pub const STATISTICS_VARIABLE: &str = crate::library::STATISTICS;
/// The one exported function that no driver has, with its final zero: `int
/// fake_nvml_use_scenario(const char *path)`. It names the scenario file in place of the
/// environment, from the next `nvmlInit` on.
pub const USE_SCENARIO: &[u8] = b"fake_nvml_use_scenario\0";

/// The file name under which programs look for the library.
pub fn library_name() -> &'static str {
    if env::consts::OS == "windows" {
        "nvml.dll"
    } else {
        "libnvidia-ml.so.1"
    }
}

/// The folder with the generation's library, for `LD_LIBRARY_PATH`. The first call in a process
/// runs cargo.
///
/// Panics with cargo's words when the library cannot be built.
pub fn library_dir(generation: Generation) -> PathBuf {
    static BUILT: [OnceLock<PathBuf>; Generation::ALL.len()] = [const { OnceLock::new() }; 4];
    let place = Generation::ALL
        .into_iter()
        .zip(&BUILT)
        .find(|(each, _)| *each == generation);
    let build = || {
        build(generation).unwrap_or_else(|problem| {
            let package = package(generation);
            #[expect(
                clippy::panic,
                reason = "for tests, which cannot go on without the library"
            )]
            {
                panic!("cannot build {package}: {problem}")
            }
        })
    };
    place.map_or_else(build, |(_, cell)| cell.get_or_init(build).clone())
}

/// The library itself.
pub fn library_path(generation: Generation) -> PathBuf {
    library_dir(generation).join(library_name())
}

fn package(generation: Generation) -> String {
    format!("fake-nvml-{}", generation.name())
}

/// Where cargo put this process's program.
struct Target {
    /// The target folder.
    root: PathBuf,
    /// The folder of the profile in it.
    profile: PathBuf,
    /// The target triple, when one was asked for.
    triple: Option<String>,
}

impl Target {
    fn of_this_process() -> Result<Self, String> {
        let program = env::current_exe().map_err(|error| error.to_string())?;
        // target/[TRIPLE/]PROFILE/{deps,examples,}/PROGRAM. Cargo keeps its fingerprints in the
        // profile's folder and what it knows of rustc in the target folder.
        let profile = program
            .ancestors()
            .find(|folder| folder.join(".fingerprint").is_dir());
        let parent = profile.and_then(Path::parent);
        let Some((profile, parent)) = profile.zip(parent) else {
            return Err(format!("{} is in no target folder", program.display()));
        };
        let is_root = |folder: &&Path| folder.join(".rustc_info.json").is_file();
        let above = parent
            .parent()
            .filter(|_| !is_root(&parent))
            .filter(is_root);
        let name = parent
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        Ok(Self {
            root: above.unwrap_or(parent).to_owned(),
            profile: profile.to_owned(),
            triple: above.and(name),
        })
    }
}

fn build(generation: Generation) -> Result<PathBuf, String> {
    let target = Target::of_this_process()?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "--quiet",
        "--offline",
        "--message-format=json-render-diagnostics",
    ]);
    command
        .args(["--package", &package(generation)])
        .arg("--manifest-path")
        .arg(manifest);
    command.arg("--target-dir").arg(&target.root);
    if let Some(triple) = &target.triple {
        command.args(["--target", triple]);
    }
    let profile = target
        .profile
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    // The one profile whose folder is called otherwise.
    let profile = if profile == "debug" {
        "dev".into()
    } else {
        profile
    };
    command.args(["--profile", &profile]);
    let output = command
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let stem = package(generation).replace('-', "_");
    let built = artifact(&String::from_utf8_lossy(&output.stdout), &stem)
        .ok_or_else(|| format!("cargo names no library called {stem}"))?;
    let folder = target.profile.join("fake-nvml").join(generation.name());
    place(&built, &folder).map_err(|error| format!("cannot place {}: {error}", built.display()))?;
    Ok(folder)
}

/// The library that cargo's messages, a JSON object a line, say was built for the target of that
/// name.
fn artifact(messages: &str, target: &str) -> Option<PathBuf> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let mut ours = messages.filter(|message| message.target.name == target);
    let files = ours.next()?.filenames;
    files
        .into_iter()
        .find(|file| file.to_string_lossy().ends_with(env::consts::DLL_SUFFIX))
}

#[derive(Deserialize)]
struct Message {
    target: MessageTarget,
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct MessageTarget {
    name: String,
}

/// Copies the library under its public name, at one stroke: another process may be loading the old
/// one.
fn place(built: &Path, folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let beside = folder.join(format!("{}.part", unique()));
    fs::copy(built, &beside)?;
    let path = folder.join(library_name());
    fs::rename(&beside, &path)?;
    Ok(path)
}

fn unique() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!(
        "{}-{}",
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::Relaxed)
    )
}

/// A library of one's own with its scenario file, in a folder that goes away with this value.
///
/// Loading the same file twice gives the same library with the same state; two of these are two
/// drivers.
#[derive(Debug)]
pub struct Driver {
    folder: PathBuf,
}

impl Driver {
    /// Panics when the library cannot be built or placed.
    pub fn new(generation: Generation, scenario: &Scenario) -> Self {
        let shared = library_dir(generation);
        let folder = shared.join(unique());
        let driver = Self { folder };
        let placed = place(&shared.join(library_name()), &driver.folder)
            .and_then(|_| scenario.write(&driver.scenario_path()));
        if let Err(error) = placed {
            #[expect(
                clippy::panic,
                reason = "for tests, which cannot go on without the library"
            )]
            {
                panic!(
                    "cannot place a library in {}: {error}",
                    driver.folder.display()
                );
            }
        }
        driver
    }

    /// For `LD_LIBRARY_PATH`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn library_path(&self) -> PathBuf {
        self.folder.join(library_name())
    }

    /// For the environment variable, or for [`USE_SCENARIO`].
    pub fn scenario_path(&self) -> PathBuf {
        self.folder.join("scenario.json")
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // A library that is still loaded may keep its file on some systems.
        let _left_behind = fs::remove_dir_all(&self.folder);
    }
}
