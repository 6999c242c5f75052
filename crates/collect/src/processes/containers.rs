//! The containers that processes are in, by identifier: each is asked for once, however many processes it has.

use std::collections::BTreeMap;

use model::{Container, ContainerName, Gap, Provenance, Reading, Source, Stamp, Text};
use raw::{ContainerRecord, ContainerRuntime, Machine, Question, Reply, StateFile};

use super::poll::Poll;
use crate::parse::cgroup::{Found, LXC};

/// Names rarely change, and what cannot be read now can hardly be read in a minute.
const EVERY_MS: u64 = 300_000;

/// Characters of an identifier that are shown, as the runtimes' own tools do.
const SHORT: usize = 12;

/// The names of containers.
#[derive(Default)]
pub(crate) struct Containers(BTreeMap<Found, Poll>);

impl Containers {
    /// Forgets all but those in use, and asks for the names of new ones.
    pub(crate) fn refresh<'a>(
        &mut self,
        machine: &mut dyn Machine,
        used: impl Iterator<Item = &'a Found>,
        now: Stamp,
    ) {
        let mut used: Vec<&Found> = used.filter(|it| runtime(it.runtime).is_some()).collect();
        used.sort_unstable();
        used.dedup();
        self.0.retain(|found, _| used.binary_search(&found).is_ok());
        for found in used {
            if !self.0.contains_key(found) {
                self.0.insert(found.clone(), Poll::default());
            }
        }
        for (found, poll) in &mut self.0 {
            let question = || Question::Container {
                runtime: runtime(found.runtime).unwrap_or(ContainerRuntime::Unknown),
                id: found.id.as_str().into(),
                owner: found.owner,
            };
            poll.ask(machine, question, now, EVERY_MS);
        }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.0.values().any(Poll::is_waiting)
    }

    /// What is known of a container; its path was read at `at`.
    pub(crate) fn of(&self, found: &Found, at: Stamp, now: Stamp) -> Container {
        let id = if found.runtime == LXC {
            found.id.as_str()
        } else {
            found.id.get(..SHORT).unwrap_or(&found.id)
        };
        Container {
            runtime: found.runtime,
            id: id.into(),
            pod_uid: found.pod_uid.as_deref().map(Text::from),
            name: self.name(found, at, now),
        }
    }

    fn name(
        &self,
        found: &Found,
        at: Stamp,
        now: Stamp,
    ) -> Reading<model::Measured<ContainerName>> {
        if found.runtime == LXC {
            let name = ContainerName {
                name: found.id.as_str().into(),
                pod: None,
                namespace: None,
            };
            let from = Provenance {
                source: Source::Proc,
                counter: "cgroup",
                at,
            };
            return Reading::measured(name, from);
        }
        let from = |counter, at| Provenance {
            source: Source::ContainerState,
            counter,
            at,
        };
        let expected = match runtime(found.runtime) {
            Some(ContainerRuntime::Docker) => counter(StateFile::Docker),
            Some(ContainerRuntime::Podman) => counter(StateFile::Podman),
            _ => counter(StateFile::Containerd),
        };
        match self.0.get(found).map(Poll::answer) {
            Some(Ok((at, Reply::Container(record)))) => {
                Reading::measured(named(record), from(counter(record.file), at))
            }
            Some(Ok(_)) => Reading::missing(Gap::Malformed, from(expected, now)),
            Some(Err(gap)) => Reading::missing(gap, from(expected, now)),
            None => Reading::missing(Gap::Pending, from(expected, now)),
        }
    }
}

/// Whose files are looked at; `None` where there is no such file.
fn runtime(name: &str) -> Option<ContainerRuntime> {
    match name {
        "docker" => Some(ContainerRuntime::Docker),
        "podman" => Some(ContainerRuntime::Podman),
        "containerd" => Some(ContainerRuntime::Containerd),
        "cri-o" => Some(ContainerRuntime::CriO),
        LXC => None,
        _ => Some(ContainerRuntime::Unknown),
    }
}

const fn counter(file: StateFile) -> &'static str {
    match file {
        StateFile::Docker => "config.v2.json",
        StateFile::Podman => "containers.json",
        StateFile::Containerd | StateFile::CriO => "config.json",
    }
}

/// Under Kubernetes Docker's name is `k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT`; none of these has an underscore.
fn named(record: &ContainerRecord) -> ContainerName {
    let parts: Vec<&str> = record.name.split('_').collect();
    match *parts.as_slice() {
        ["k8s", name, pod, namespace, _, _] if record.file == StateFile::Docker => ContainerName {
            name: name.into(),
            pod: Some(pod.into()),
            namespace: Some(namespace.into()),
        },
        _ => ContainerName {
            name: record.name.clone(),
            pod: record.pod.clone(),
            namespace: record.namespace.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_under_kubernetes_are_of_a_pod_in_a_namespace() {
        let record = |file, name: &str, pod: Option<&str>| ContainerRecord {
            file,
            name: name.into(),
            pod: pod.map(Text::from),
            namespace: pod.map(|_| "default".into()),
        };
        for (record, label) in [
            (
                record(StateFile::Docker, "k8s_llm_llm-0_ai_1f-2_0", None),
                "ai/llm-0/llm",
            ),
            (record(StateFile::Docker, "k8s_llm", None), "k8s_llm"),
            (
                record(StateFile::Podman, "k8s_a_b_c_d_e", None),
                "k8s_a_b_c_d_e",
            ),
            (
                record(StateFile::Containerd, "llm", Some("llm-0")),
                "default/llm-0/llm",
            ),
        ] {
            assert_eq!(named(&record).label(), label);
        }
    }
}
