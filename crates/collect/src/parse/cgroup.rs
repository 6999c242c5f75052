//! `/proc/PID/cgroup` (Linux, `cgroups(7)`): which container a process is in.

/// The container that a control group path names.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Found {
    /// Runtime, as far as the path tells it.
    pub runtime: &'static str,
    /// Identifier in full, or the name where the runtime has no other.
    pub id: String,
    /// UID of the Kubernetes pod.
    pub pod_uid: Option<String>,
    /// The user below whose slice the path lies: a rootless runtime.
    pub owner: Option<u32>,
}

/// The container that the control group path names; `None` where it names none.
pub fn container(text: &str) -> Option<Found> {
    text.lines()
        .filter_map(|line| line.splitn(3, ':').nth(2))
        .find_map(in_path)
}

fn in_path(path: &str) -> Option<Found> {
    let components: Vec<&str> = path.split('/').collect();
    let innermost = components.iter().rev().find_map(|part| component(part));
    let (mut runtime, id) = innermost.or_else(|| below_lxc(&components))?;
    if runtime == UNNAMED {
        // Under cgroupfs the folder above names the runtime.
        let named = |part: &&str| FOLDERS.iter().find(|(name, _)| part.starts_with(name));
        if let Some((_, named)) = components.iter().find_map(named) {
            runtime = named;
        }
    }
    Some(Found {
        runtime,
        id: id.to_owned(),
        pod_uid: components.iter().find_map(|part| pod_uid(part)),
        owner: components.iter().find_map(|part| owner(part)),
    })
}

/// What a container is called whose path does not tell its runtime.
pub const UNNAMED: &str = "container";

/// A container of LXC or Incus: its identifier is its name.
pub const LXC: &str = "lxc";

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
    // Within the unit that started it (Quadlet).
    ("libpod-payload-", "podman"),
    ("libpod_parent-", "podman"),
    ("cri-containerd-", "containerd"),
    ("crio-", "cri-o"),
    ("containerd-", "containerd"),
    ("nerdctl-", "containerd"),
];

/// Runtime and identifier. A component with colons is `SLICE:PREFIX:ID`, which a runtime meant for systemd writes
/// where the kernel's files are used after all.
fn component(component: &str) -> Option<(&'static str, &str)> {
    let stem = component.strip_suffix(".scope").unwrap_or(component);
    if let Some((before, id)) = stem.rsplit_once(':') {
        let prefix = before.rsplit(':').next().unwrap_or(before);
        let named = |(scope, _): &&(&str, &str)| scope.strip_suffix('-') == Some(prefix);
        let (_, runtime) = SCOPES.iter().find(named)?;
        return is_identifier(id).then_some((*runtime, id));
    }
    for (prefix, runtime) in SCOPES {
        if let Some(id) = stem.strip_prefix(prefix)
            && is_identifier(id)
        {
            return Some((runtime, id));
        }
    }
    if let Some(name) = stem
        .strip_prefix("lxc.payload.")
        .or_else(|| stem.strip_prefix("lxc."))
        && !name.is_empty()
        && !name.starts_with("monitor")
    {
        return Some((LXC, name));
    }
    is_identifier(stem).then_some((UNNAMED, stem))
}

/// `lxc/NAME`, as it was before LXC 4.
fn below_lxc<'a>(components: &[&'a str]) -> Option<(&'static str, &'a str)> {
    let mut pairs = components.windows(2);
    let name = pairs.find_map(|pair| match *pair {
        ["lxc", name] if !name.is_empty() => Some(name),
        _ => None,
    })?;
    Some((LXC, name))
}

/// Container identifiers are 64 hexadecimal digits; 32 with some runtimes.
fn is_identifier(text: &str) -> bool {
    text.len() >= 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// `podUID` or `kubepods-…-podUID.slice`, where systemd's spelling has underscores; the UID of a static pod is a hash
/// without separators.
fn pod_uid(component: &str) -> Option<String> {
    let part = component.split(':').next().unwrap_or(component);
    let stem = part.strip_suffix(".slice").unwrap_or(part);
    let (before, uid) = stem.rsplit_once("pod")?;
    if !before.is_empty() && !before.ends_with('-') {
        return None;
    }
    let uid = uid.replace('_', "-");
    let groups: Vec<usize> = uid.split('-').map(str::len).collect();
    let hex = uid.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    (hex && (groups == [8, 4, 4, 4, 12] || groups == [32])).then_some(uid)
}

fn owner(component: &str) -> Option<u32> {
    component
        .strip_prefix("user-")?
        .strip_suffix(".slice")?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const UID: &str = "01234567-89ab-cdef-0123-456789abcdef";

    #[test]
    fn paths_of_the_known_runtimes_name_their_container() {
        let slice = format!("kubepods-besteffort-pod{}.slice", UID.replace('-', "_"));
        let table = [
            (
                format!("0::/system.slice/docker-{ID}.scope"),
                Some(("docker", ID)),
            ),
            (
                format!("0::/kubepods/besteffort/pod1/{ID}"),
                Some(("kubernetes", ID)),
            ),
            (format!("0::/elsewhere/{ID}"), Some(("container", ID))),
            (format!("12:devices:/docker/{ID}"), Some(("docker", ID))),
            (
                format!("0::/user.slice/user-1000.slice/libpod-{ID}.scope/container"),
                Some(("podman", ID)),
            ),
            (
                format!("0::/kubepods.slice/{slice}/cri-containerd-{ID}.scope"),
                Some(("containerd", ID)),
            ),
            (
                format!("0::/kubepods.slice/{slice}/crio-{ID}.scope/container"),
                Some(("cri-o", ID)),
            ),
            (
                format!("0::/system.slice/{slice}:cri-containerd:{ID}"),
                Some(("containerd", ID)),
            ),
            (format!("0::/system.slice/{slice}:other:{ID}"), None),
            (
                format!("0::/system.slice/llm.service/libpod-payload-{ID}"),
                Some(("podman", ID)),
            ),
            (format!("0::/machine.slice/libpod-conmon-{ID}.scope"), None),
            (
                "0::/lxc.payload.web/system.slice/x.service".to_owned(),
                Some(("lxc", "web")),
            ),
            ("0::/lxc/101/ns/init.scope".to_owned(), Some(("lxc", "101"))),
            (
                format!("0::/lxc.payload.web/system.slice/docker-{ID}.scope"),
                Some(("docker", ID)),
            ),
            ("0::/lxc.monitor.web".to_owned(), None),
            ("0::/lxc".to_owned(), None),
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

    #[test]
    fn a_pod_and_the_owner_of_a_rootless_runtime_are_in_the_path() {
        let slice = UID.replace('-', "_");
        let hash = &ID[..32];
        for (text, pod, owner) in [
            (
                format!("/kubepods/burstable/pod{UID}/{ID}"),
                Some(UID),
                None,
            ),
            (
                format!("/kubepods.slice/kubepods-pod{slice}.slice/crio-{ID}.scope"),
                Some(UID),
                None,
            ),
            (
                format!("/k.slice/kubepods-pod{slice}.slice:cri-containerd:{ID}"),
                Some(UID),
                None,
            ),
            (format!("/kubepods/pod{hash}/{ID}"), Some(hash), None),
            (format!("/kubepods/pod{}/{ID}", &UID[1..]), None, None),
            (format!("/tripod{UID}/{ID}"), None, None),
            (
                format!(
                    "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope"
                ),
                None,
                Some(1000),
            ),
        ] {
            let found = container(&format!("0::{text}")).unwrap();
            assert_eq!(found.pod_uid.as_deref(), pod, "{text}");
            assert_eq!(found.owner, owner, "{text}");
        }
    }
}
