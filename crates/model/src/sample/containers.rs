//! Containers of the samples.

use super::parts::from;
use crate::process::{Container, ContainerName};
use crate::reading::{Measured, Reading, Source};

type Read = Reading<Measured<Option<Container>>>;

fn read(container: Container) -> Read {
    Reading::measured(Some(container), from(Source::Proc, "cgroup"))
}

/// One of Docker, with its name.
pub(super) fn docker() -> Read {
    let name = ContainerName {
        name: "embeddings".into(),
        pod: None,
        namespace: None,
    };
    read(Container {
        runtime: "docker",
        id: "3f2a9c1d77be".into(),
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
