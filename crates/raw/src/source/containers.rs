//! What is kept of the state files of container runtimes. They hold environment variables and with
//! them secrets, so that nothing but these fields ever leaves the reader.

use model::Text;
use serde::{Deserialize, Serialize};

/// A container runtime, as far as its files are known.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ContainerRuntime {
    /// Docker.
    Docker,
    /// Podman.
    Podman,
    /// containerd, under Kubernetes or nerdctl.
    Containerd,
    /// CRI-O.
    CriO,
    /// The control group does not tell: all are tried.
    Unknown,
}

impl ContainerRuntime {
    /// The name in a capture.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Containerd => "containerd",
            Self::CriO => "cri-o",
            Self::Unknown => "unknown",
        }
    }
}

/// The file that a record is from.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateFile {
    /// Docker's `config.v2.json`.
    Docker,
    /// Podman's `containers.json`, or `volatile-containers.json` of what is removed at its end.
    Podman,
    /// The `config.json` of a containerd task.
    Containerd,
    /// The `config.json` that CRI-O writes.
    CriO,
}

/// The fields that are kept.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ContainerRecord {
    /// Where they are from.
    pub file: StateFile,
    /// The container's name.
    pub name: Text,
    /// The pod's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Text>,
    /// The pod's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Text>,
}
