//! What is read of the folders in which programs keep models: names, links and the digests of manifests. A manifest
//! stands beside templates, system prompts and licences, so that nothing but these fields ever leaves the reader.

use model::Text;
use serde::{Deserialize, Serialize};

/// Most names that are read of one folder. A store with more models than this shows some by their hash.
pub const MAX_FOLDER_NAMES: usize = 1024;

/// Most entries kept of a manifest. One with a file for each tensor has a few thousand.
pub const MAX_MANIFEST_ENTRIES: usize = 8192;

/// A folder's names, sorted.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Folder {
    /// Modification time, nanoseconds since 1970: it changes with any name in it.
    pub mtime_ns: i64,
    /// Its names; `None` where the asker knows them, because the time is still the one he gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<FolderEntry>>,
}

/// A name in a folder. Names that are no text are left out.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FolderEntry {
    /// The name.
    pub name: Text,
    /// What has it.
    pub kind: FolderEntryKind,
}

/// What has a name in a folder. Links are not followed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FolderEntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, with its text.
    Link(Text),
}

/// The form of a manifest.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ManifestForm {
    /// Ollama's `manifests/HOST/NAMESPACE/MODEL/TAG`: kept are media type and digest of the layers.
    Ollama,
    /// Docker Model Runner's `models.json`: kept are id, tags and digests of the files of each model.
    DockerModels,
}

impl ManifestForm {
    /// The name in a capture.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::DockerModels => "docker_models",
        }
    }
}

/// What a manifest says of one thing.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// What it is called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Text>,
    /// The media type of a layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<Text>,
    /// SHA-256 digests, 64 hexadecimal digits each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub digests: Vec<Text>,
}
