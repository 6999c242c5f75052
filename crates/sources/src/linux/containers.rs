//! The names that container runtimes keep in their state files, read without a socket.
//!
//! These files hold environment variables, and with them keys and passwords. They are parsed into types that have
//! the wanted fields only; nothing else of them leaves this file.
//!
//! Those of rootless containers lie in a home, where its user may put a link to what only root can read: below a home
//! no link is followed, and a file of somebody else is not read.

use std::fs::File;
use std::os::fd::AsFd;

use model::{Gap, Text};
use raw::{ContainerRecord, ContainerRuntime, Reply, StateFile};
use rustix::fs::{Dir, OFlags};
use serde::Deserialize;

use super::beneath;
use super::errors::gap;
use super::place::Place;
use super::text::read_all;
use super::users;

/// Bytes of the file of one container. Environment and mounts make up most of it: tens of KiB, in a pod of a large
/// cluster, where each service adds variables, a few hundred.
const STATE_BOUND: usize = 2 * 1024 * 1024;

/// Bytes of Podman's list of all containers, about 1 KiB each.
const LIST_BOUND: usize = 4 * 1024 * 1024;

/// Bytes of a name. Those of Kubernetes have at most 253.
const NAME_BOUND: usize = 512;

/// containerd namespaces looked at; a machine has a handful.
const MAX_NAMESPACES: usize = 32;

/// Digits of an identifier.
const ID_DIGITS: std::ops::RangeInclusive<usize> = 32..=64;

/// Docker's own place, that of its snap, and below a home that of the rootless one.
const DOCKER: [&str; 2] = ["/var/lib/docker", "/var/snap/docker/common/var-lib-docker"];
const DOCKER_OF_USER: &str = ".local/share/docker";

/// Containers of Podman and CRI-O: what stays, and what is gone after a restart.
const STORAGE: [&str; 2] = ["/run/containers/storage", "/var/lib/containers/storage"];
const STORAGE_OF_USER: &str = ".local/share/containers/storage";

/// containerd's own place, that within k3s and RKE2, and that within `MicroK8s`.
const CONTAINERD: [&str; 3] = [
    "/run/containerd",
    "/run/k3s/containerd",
    "/var/snap/microk8s/common/run/containerd",
];

/// What the state file says of a container.
pub(super) fn named(
    place: &Place,
    runtime: ContainerRuntime,
    id: &str,
    owner: Option<u32>,
) -> Result<Reply, Gap> {
    // It becomes a part of paths.
    if !ID_DIGITS.contains(&id.len()) || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Gap::NotPresent);
    }
    let mut search = Search::default();
    let home = owner.and_then(|owner| {
        let path = users::home(place, owner)?;
        Some(Home { path, owner })
    });
    let is = |it| runtime == it || runtime == ContainerRuntime::Unknown;
    if is(ContainerRuntime::Containerd) {
        containerd(place, id, &mut search);
    }
    if is(ContainerRuntime::CriO) {
        crio(place, id, &mut search);
    }
    if is(ContainerRuntime::Docker) {
        docker(place, id, home.as_ref(), &mut search);
    }
    if is(ContainerRuntime::Podman) {
        podman(place, id, home.as_ref(), &mut search);
    }
    search.found.map(Reply::Container)
}

/// The home folder of a container's owner.
struct Home {
    path: String,
    owner: u32,
}

/// A folder of a runtime.
enum Root<'a> {
    /// The system's own, which root alone writes.
    System(&'static str),
    /// Below the home of the owner.
    User(&'a Home, &'static str),
}

impl Root<'_> {
    fn json<T: for<'de> Deserialize<'de>>(
        &self,
        place: &Place,
        path: &str,
        bound: usize,
    ) -> Result<T, Gap> {
        match self {
            Self::System(root) => json(place, &format!("{root}/{path}"), bound),
            Self::User(home, root) => {
                let machine = place.root().map_err(gap)?;
                let folder = beneath::find(machine.as_fd(), &home.path, OFlags::DIRECTORY);
                let folder = folder.map_err(gap)?;
                let path = format!("{root}/{path}");
                parse(
                    &beneath::open_owned(folder.as_fd(), &path, home.owner)?,
                    bound,
                )
            }
        }
    }
}

/// Where a runtime keeps its files: first those of the owner, then the system's.
fn roots<'a>(
    home: Option<&'a Home>,
    of_user: &'static str,
    system: [&'static str; 2],
) -> impl Iterator<Item = Root<'a>> {
    let of_user = home.map(|home| Root::User(home, of_user));
    of_user.into_iter().chain(system.map(Root::System))
}

/// The first record found, else the reason that says most.
struct Search {
    found: Result<ContainerRecord, Gap>,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            found: Err(Gap::NotPresent),
        }
    }
}

impl Search {
    fn look(&mut self, read: impl FnOnce() -> Result<ContainerRecord, Gap>) {
        match (&self.found, read()) {
            (Ok(_), _) | (Err(_), Err(Gap::NotPresent)) => {}
            (Err(Gap::NotPresent), other) | (Err(_), other @ Ok(_)) => self.found = other,
            (Err(_), Err(_)) => {}
        }
    }

    fn is_over(&self) -> bool {
        self.found.is_ok()
    }
}

#[derive(Deserialize)]
struct DockerState {
    #[serde(rename = "Name")]
    name: Text,
}

fn docker(place: &Place, id: &str, home: Option<&Home>, search: &mut Search) {
    for root in roots(home, DOCKER_OF_USER, DOCKER) {
        if search.is_over() {
            return;
        }
        search.look(|| {
            let path = format!("containers/{id}/config.v2.json");
            let state: DockerState = root.json(place, &path, STATE_BOUND)?;
            // Docker puts a slash before it.
            record(
                StateFile::Docker,
                state.name.trim_start_matches('/'),
                None,
                None,
            )
        });
    }
}

#[derive(Deserialize)]
struct StoredContainer {
    id: Text,
    #[serde(default)]
    names: Option<Vec<Text>>,
}

fn podman(place: &Place, id: &str, home: Option<&Home>, search: &mut Search) {
    for root in roots(home, STORAGE_OF_USER, STORAGE) {
        for list in ["containers.json", "volatile-containers.json"] {
            if search.is_over() {
                return;
            }
            search.look(|| {
                let path = format!("overlay-containers/{list}");
                let all: Vec<StoredContainer> = root.json(place, &path, LIST_BOUND)?;
                let stored = all.into_iter().find(|one| *one.id == *id);
                let names = stored.and_then(|one| one.names).unwrap_or_default();
                let name = names.first().ok_or(Gap::NotPresent)?;
                record(StateFile::Podman, name, None, None)
            });
        }
    }
}

/// The OCI runtime's configuration (`config.json` of a bundle): its annotations, of those these.
#[derive(Deserialize)]
struct Bundle {
    #[serde(default)]
    annotations: Option<Annotations>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "io.kubernetes.cri.container-name")]
    cri_name: Option<Text>,
    #[serde(rename = "io.kubernetes.cri.sandbox-name")]
    cri_pod: Option<Text>,
    #[serde(rename = "io.kubernetes.cri.sandbox-namespace")]
    cri_namespace: Option<Text>,
    #[serde(rename = "nerdctl/name")]
    nerdctl_name: Option<Text>,
    #[serde(rename = "io.kubernetes.container.name")]
    crio_name: Option<Text>,
    #[serde(rename = "io.kubernetes.pod.name")]
    crio_pod: Option<Text>,
    #[serde(rename = "io.kubernetes.pod.namespace")]
    crio_namespace: Option<Text>,
}

fn annotations(place: &Place, path: &str) -> Result<Annotations, Gap> {
    let bundle: Bundle = json(place, path, STATE_BOUND)?;
    Ok(bundle.annotations.unwrap_or_default())
}

fn containerd(place: &Place, id: &str, search: &mut Search) {
    for root in CONTAINERD {
        let tasks = format!("{root}/io.containerd.runtime.v2.task");
        let namespaces = match folders(place, &tasks) {
            Ok(namespaces) => namespaces,
            Err(gap) => {
                search.look(|| Err(gap));
                continue;
            }
        };
        for namespace in namespaces {
            if search.is_over() {
                return;
            }
            search.look(|| {
                let it = annotations(place, &format!("{tasks}/{namespace}/{id}/config.json"))?;
                let file = StateFile::Containerd;
                match (it.cri_name, it.nerdctl_name) {
                    (Some(name), _) => record(file, &name, it.cri_pod, it.cri_namespace),
                    (None, Some(name)) => record(file, &name, None, None),
                    (None, None) => Err(Gap::NotFound),
                }
            });
        }
    }
}

fn crio(place: &Place, id: &str, search: &mut Search) {
    for root in STORAGE {
        if search.is_over() {
            return;
        }
        search.look(|| {
            let path = format!("{root}/overlay-containers/{id}/userdata/config.json");
            let it = annotations(place, &path)?;
            // Podman writes a file of this name as well, without them.
            let name = it.crio_name.ok_or(Gap::NotFound)?;
            record(StateFile::CriO, &name, it.crio_pod, it.crio_namespace)
        });
    }
}

fn record(
    file: StateFile,
    name: &str,
    pod: Option<Text>,
    namespace: Option<Text>,
) -> Result<ContainerRecord, Gap> {
    if name.is_empty() {
        return Err(Gap::NotFound);
    }
    let all = pod.iter().chain(&namespace).map(|text| &**text);
    if all.chain([name]).any(|text| text.len() > NAME_BOUND) {
        return Err(Gap::OverBound);
    }
    Ok(ContainerRecord {
        file,
        name: name.into(),
        pod,
        namespace,
    })
}

fn json<T: for<'de> Deserialize<'de>>(place: &Place, path: &str, bound: usize) -> Result<T, Gap> {
    parse(&place.open(path)?, bound)
}

fn parse<T: for<'de> Deserialize<'de>>(file: &File, bound: usize) -> Result<T, Gap> {
    let mut text = Vec::new();
    read_all(file, &mut text, bound).map_err(|error| error.gap(gap))?;
    serde_json::from_slice(&text).map_err(|_| Gap::Malformed)
}

/// Names in a folder, sorted.
fn folders(place: &Place, path: &str) -> Result<Vec<String>, Gap> {
    let root = place.root().map_err(gap)?;
    let found = beneath::find(root.as_fd(), path, OFlags::DIRECTORY).map_err(gap)?;
    let folder = beneath::folder_in(found.as_fd(), ".").map_err(gap)?;
    let mut names = Vec::new();
    for entry in Dir::new(folder).map_err(gap)? {
        let entry = entry.map_err(gap)?;
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        if name.starts_with('.') {
            continue;
        }
        if names.len() == MAX_NAMESPACES {
            return Err(Gap::OverBound);
        }
        names.push(name.to_owned());
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests;
