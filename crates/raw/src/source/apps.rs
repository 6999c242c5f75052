//! Applications that have models, described by data: where their settings and logs lie and what of them is kept.
//!
//! An adapter is a TOML file in `adapters/` (compiled in) or in a folder of the user's; `adapters/README.md` has the
//! format. What an adapter can let through is bounded whatever it says: of a line of a log the kind of event, its
//! time and a model's name without spaces; of settings one value; of a folder names with its extensions.

mod filter;
mod written;

use model::Text;
use serde::{Deserialize, Serialize};

pub use filter::{AppFilter, setting};
pub use written::{BadAdapter, parse};

/// Most bytes of an adapter's file.
pub const MAX_ADAPTER_BYTES: usize = 64 * 1024;

/// Most adapters beside those that are compiled in.
pub const MAX_ADAPTERS: usize = 64;

/// Most bytes of an application's settings. Handy's have some KiB.
pub const MAX_SETTINGS_BYTES: u64 = 1024 * 1024;

/// Most bytes of the one value of settings that is kept.
pub const MAX_SETTING_BYTES: usize = 256;

/// Most names of a folder of models that are kept, in order.
pub const MAX_INSTALLED: usize = 16;

/// Most entries of a folder of models that are looked at.
pub const MAX_FOLDER_ENTRIES: usize = 1_024;

/// Adapters that come with the program: file name and text.
const BUILT_IN: &[(&str, &str)] = &[
    (
        "gpt4all.toml",
        include_str!("../../../../adapters/gpt4all.toml"),
    ),
    (
        "handy.toml",
        include_str!("../../../../adapters/handy.toml"),
    ),
];

/// An application with models.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// The application's name.
    pub app: Text,
    /// Names of its processes, as a whole.
    pub processes: Vec<Text>,
    /// The settings that name its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<AppSettings>,
    /// Its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<AppLog>,
    /// Its folder of models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<AppModels>,
}

/// A path for each system; one that is missing is not known there. Starts with `~/` or a variable of Windows, or is
/// absolute and below no home.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct AppPaths {
    /// On Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linux: Option<Text>,
    /// On macOS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub macos: Option<Text>,
    /// On Windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Text>,
}

impl AppPaths {
    /// The path on a system, by the name that Rust has for it.
    pub fn on(&self, os: &str) -> Option<&Text> {
        match os {
            "linux" => self.linux.as_ref(),
            "macos" => self.macos.as_ref(),
            "windows" => self.windows.as_ref(),
            _ => None,
        }
    }
}

/// Settings of an application.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AppSettings {
    /// Their form.
    pub format: SettingsFormat,
    /// The key that names the model, dotted: of JSON from object to object, of INI section and key.
    pub key: Text,
    /// Where they lie.
    pub paths: AppPaths,
}

/// Forms of settings that can be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsFormat {
    /// JSON.
    Json,
    /// INI, as Qt writes it.
    Ini,
}

/// The log of an application.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AppLog {
    /// How times are written, in the directives of strftime; stands at the start of a line unless a pattern has a
    /// group `time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Text>,
    /// In what zone times are written.
    pub zone: Zone,
    /// The lines that are kept.
    pub lines: Vec<AppLine>,
    /// Where it lies.
    pub paths: AppPaths,
}

/// The zone of times without one.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// So many minutes ahead of UTC.
    Ahead(i16),
    /// Whatever the machine's is: such times are not known.
    Local,
}

/// A line of a log that is kept.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AppLine {
    /// What it tells.
    pub event: AppEvent,
    /// A text that it holds, so that few patterns are tried.
    pub contains: Text,
    /// A regular expression; its groups `model` and `time` are kept.
    pub pattern: Text,
}

/// What a line tells of a model.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppEvent {
    /// It was loaded.
    Loaded,
    /// It was used.
    Used,
    /// It was unloaded.
    Unloaded,
}

/// Where an application keeps its models.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AppModels {
    /// Extensions of model files, without the point; folders that hold models are kept too where this is empty.
    pub extensions: Vec<Text>,
    /// The folder.
    pub paths: AppPaths,
}

/// The adapters that come with the program.
pub fn built_in() -> Vec<Adapter> {
    let parsed = BUILT_IN.iter().map(|(file, text)| parse(file, text));
    parsed.filter_map(Result::ok).collect()
}

/// All adapters: those of the user, and those that come with the program and whose application the user's do not
/// describe.
pub fn all(own: &[Adapter]) -> Vec<Adapter> {
    let mut all = own.to_vec();
    let theirs = built_in().into_iter();
    let is_new = |one: &Adapter| own.iter().all(|own| own.app != one.app);
    all.extend(theirs.filter(is_new));
    all
}

#[cfg(test)]
mod tests;
