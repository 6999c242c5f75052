//! `/proc/PID/cgroup` (Linux, `cgroups(7)`): which container a process is in.

use model::Container;

/// The container that the control group path names; `None` where it names none.
pub fn container(text: &str) -> Option<Container> {
    text.lines()
        .filter_map(|line| line.splitn(3, ':').nth(2))
        .find_map(in_path)
}

fn in_path(path: &str) -> Option<Container> {
    let components: Vec<&str> = path.split('/').collect();
    let mut found = components.iter().rev().find_map(|part| component(part))?;
    if found.runtime == UNNAMED {
        // Under cgroupfs the folder above names the runtime.
        let named = |part: &&str| FOLDERS.iter().find(|(name, _)| part.starts_with(name));
        if let Some((_, runtime)) = components.iter().find_map(named) {
            found.runtime = runtime;
        }
    }
    Some(found)
}

/// What a container is called whose path does not tell its runtime.
const UNNAMED: &str = "container";

/// Folders of cgroupfs by the runtime that makes them.
const FOLDERS: &[(&str, &str)] = &[
    ("docker", "docker"),
    ("libpod_parent", "podman"),
    ("kubepods", "kubernetes"),
    ("containerd", "containerd"),
];

/// Prefixes of a path component with the runtime that writes them, under systemd
/// (`docker-ID.scope`) and under cgroupfs (`docker/ID`, matched by the identifier alone).
const SCOPES: &[(&str, &str)] = &[
    ("docker-", "docker"),
    ("libpod-", "podman"),
    ("libpod_parent-", "podman"),
    ("cri-containerd-", "containerd"),
    ("crio-", "cri-o"),
    ("containerd-", "containerd"),
    ("nerdctl-", "containerd"),
];

fn component(component: &str) -> Option<Container> {
    let stem = component.strip_suffix(".scope").unwrap_or(component);
    for (prefix, runtime) in SCOPES {
        if let Some(id) = stem.strip_prefix(prefix)
            && is_identifier(id)
        {
            return Some(found(runtime, id));
        }
    }
    if let Some(name) = stem
        .strip_prefix("lxc.payload.")
        .or_else(|| stem.strip_prefix("lxc."))
        && !name.is_empty()
        && !name.starts_with("monitor")
    {
        return Some(Container {
            runtime: "lxc",
            id: name.into(),
        });
    }
    is_identifier(stem).then(|| found(UNNAMED, stem))
}

/// Container identifiers are 64 hexadecimal digits; 32 with some runtimes.
fn is_identifier(text: &str) -> bool {
    text.len() >= 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn found(runtime: &'static str, id: &str) -> Container {
    Container {
        runtime,
        id: id.get(..12).unwrap_or(id).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn paths_of_the_known_runtimes_name_their_container() {
        let table = [
            (
                format!("0::/system.slice/docker-{ID}.scope"),
                Some(("docker", &ID[..12])),
            ),
            (
                format!("0::/kubepods/besteffort/pod1/{ID}"),
                Some(("kubernetes", &ID[..12])),
            ),
            (
                format!("0::/elsewhere/{ID}"),
                Some(("container", &ID[..12])),
            ),
            (
                format!("12:devices:/docker/{ID}"),
                Some(("docker", &ID[..12])),
            ),
            (
                format!("0::/user.slice/user-1000.slice/libpod-{ID}.scope/container"),
                Some(("podman", &ID[..12])),
            ),
            (
                format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope"),
                Some(("containerd", &ID[..12])),
            ),
            (
                "0::/lxc.payload.web/system.slice/x.service".to_owned(),
                Some(("lxc", "web")),
            ),
            ("0::/lxc.monitor.web".to_owned(), None),
            (
                "0::/user.slice/user-1000.slice/session-2.scope".to_owned(),
                None,
            ),
            ("0::/".to_owned(), None),
            (String::new(), None),
        ];
        for (text, expected) in table {
            let got = container(&text);
            let got = got.as_ref().map(|c| (c.runtime, &*c.id));
            assert_eq!(got, expected, "{text}");
        }
    }
}
