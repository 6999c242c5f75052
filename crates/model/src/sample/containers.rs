//! Containers of the samples.

use super::parts::from;
use crate::process::{Container, ContainerName};
use crate::reading::{Measured, Reading, Source};
use crate::snapshot::Snapshot;

/// Identifier of the containers of [`in_containers_named`].
const ID: &str = "0123456789ab";

/// Texts of which nothing can be seen, so that they name no container.
pub const NO_NAMES: [&str; 5] = [" ", "   ", "\u{1b}\u{7}", "\t\n", "\u{200b}\u{202e}"];

/// The workstation with each of its processes in a container of Docker of this name.
pub fn in_containers_named(name: &str) -> Snapshot {
    let mut it = super::workstation();
    for process in &mut it.processes {
        process.container = of_docker(ID, name);
    }
    it
}

type Read = Reading<Measured<Option<Container>>>;

fn read(container: Container) -> Read {
    Reading::measured(Some(container), from(Source::Proc, "cgroup"))
}

/// One of Docker, with its name.
pub(super) fn docker() -> Read {
    of_docker("3f2a9c1d77be", "embeddings")
}

fn of_docker(id: &str, name: &str) -> Read {
    let name = ContainerName {
        name: name.into(),
        pod: None,
        namespace: None,
    };
    read(Container {
        runtime: "docker",
        id: id.into(),
        pod_uid: None,
        name: Reading::measured(name, from(Source::ContainerState, "config.v2.json")),
    })
}

/// One whose names a terminal would obey.
pub(super) fn hostile() -> Read {
    let name = ContainerName {
        name: "na\u{1b}[2Jme\n".into(),
        pod: Some("pod\u{202e}".repeat(80).into()),
        namespace: Some("space\u{7}".into()),
    };
    read(Container {
        runtime: "containerd",
        id: "0123456789ab".into(),
        pod_uid: Some("0a\u{1b}[2J".into()),
        name: Reading::measured(name, from(Source::ContainerState, "config.json")),
    })
}
