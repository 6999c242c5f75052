//! Control group paths: identifiers keep their form, other names become stand-ins.

use crate::capture::pseudonyms::Pseudonyms;

/// Words that systems and container runtimes use themselves.
const KNOWN: &[&str] = &[
    "",
    "..",
    "system",
    "user",
    "session",
    "init",
    "machine",
    "docker",
    "podman",
    "libpod",
    "libpod_parent",
    "conmon",
    "cri",
    "containerd",
    "container",
    "crio",
    "nerdctl",
    "kubepods",
    "burstable",
    "besteffort",
    "guaranteed",
    "lxc",
    "payload",
    "monitor",
    "buildkit",
    "app",
    "background",
    "ollama",
];

/// Controllers of the first version (`cgroups(7)`).
const CONTROLLERS: &[&str] = &[
    "",
    "blkio",
    "cpu",
    "cpuacct",
    "cpuset",
    "devices",
    "freezer",
    "hugetlb",
    "memory",
    "misc",
    "name=systemd",
    "net_cls",
    "net_prio",
    "perf_event",
    "pids",
    "rdma",
];

/// One line of `/proc/PID/cgroup`: `HIERARCHY:CONTROLLERS:PATH`, the path with any characters.
pub(in crate::capture) fn line(line: &str, names: &mut Pseudonyms) -> String {
    let mut fields = line.splitn(3, ':');
    match (fields.next(), fields.next(), fields.next()) {
        (Some(hierarchy), Some(controllers), Some(path))
            if hierarchy.bytes().all(|b| b.is_ascii_digit()) =>
        {
            let controllers: Vec<String> = controllers
                .split(',')
                .map(|name| {
                    if CONTROLLERS.contains(&name) {
                        name.to_owned()
                    } else {
                        names.word("g", name)
                    }
                })
                .collect();
            format!(
                "{hierarchy}:{}:{}",
                controllers.join(","),
                path_of(path, names)
            )
        }
        _ => path_of(line, names),
    }
}

fn path_of(path: &str, names: &mut Pseudonyms) -> String {
    joined(path, '/', |component| {
        joined(component, ':', |name| unit(name, names))
    })
}

fn joined(text: &str, separator: char, redact: impl FnMut(&str) -> String) -> String {
    text.split(separator)
        .map(redact)
        .collect::<Vec<_>>()
        .join(separator.encode_utf8(&mut [0; 4]))
}

fn unit(name: &str, names: &mut Pseudonyms) -> String {
    let (stem, suffix) = match name.rsplit_once('.') {
        Some((stem, suffix @ ("scope" | "slice" | "service"))) => (stem, format!(".{suffix}")),
        _ => (name, String::new()),
    };
    for prefix in ["lxc.payload.", "lxc.monitor."] {
        if let Some(container) = stem.strip_prefix(prefix) {
            return format!("{prefix}{}{suffix}", names.word("g", container));
        }
    }
    if let Some((before, uid)) = pod(stem) {
        let before = joined(before, '-', |word| plain(word, names));
        return format!("{before}pod{}{suffix}", names.hexadecimal(uid));
    }
    joined(stem, '-', |word| {
        if word.len() >= 12 && word.bytes().all(|b| b.is_ascii_hexdigit()) {
            names.identifier(word)
        } else {
            plain(word, names)
        }
    }) + &suffix
}

fn plain(word: &str, names: &mut Pseudonyms) -> String {
    if is_known(word) {
        word.to_owned()
    } else {
        names.word("g", word)
    }
}

/// What stands before `podUID` of Kubernetes, and the UID: 32 hexadecimal digits, plain or in the groups of a UUID.
fn pod(stem: &str) -> Option<(&str, &str)> {
    let (before, uid) = stem.rsplit_once("pod")?;
    let digits = uid.bytes().filter(u8::is_ascii_hexdigit).count();
    let separators = uid.bytes().filter(|b| b"-_".contains(b)).count();
    let is_uid = digits == 32 && [0, 4].contains(&separators) && digits + separators == uid.len();
    (is_uid && (before.is_empty() || before.ends_with('-'))).then_some((before, uid))
}

fn is_known(word: &str) -> bool {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let numbered = |start: &str| {
        word.strip_prefix(start)
            .is_some_and(|rest| !rest.is_empty() && number(rest))
    };
    KNOWN.contains(&word) || number(word) || numbered("user@") || numbered("c")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::format::Redaction;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn container_identifiers_keep_their_form() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        let got = line(&format!("0::/system.slice/docker-{ID}.scope"), &mut names);
        assert!(
            got.starts_with("0::/system.slice/docker-") && got.strip_suffix(".scope").is_some(),
            "{got}"
        );
        assert!(!got.contains(ID));
        assert_eq!(got.len(), ID.len() + "0::/system.slice/docker-.scope".len());
        assert!(!line("0::/user.slice/acme-train.service", &mut names).contains("acme"));
        let lxc = line("0::/lxc.payload.web/x.service", &mut names);
        assert!(
            lxc.starts_with("0::/lxc.payload.g") && !lxc.contains("web"),
            "{lxc}"
        );
    }

    #[test]
    fn the_uid_of_a_pod_keeps_its_form() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        for (text, start) in [
            (
                "0::/kubepods.slice/kubepods-besteffort-pod01234567_89ab_cdef_0123_456789abcdef.slice/x",
                "0::/kubepods.slice/kubepods-besteffort-pod",
            ),
            (
                "0::/kubepods/burstable/pod01234567-89ab-cdef-0123-456789abcdef/x",
                "0::/kubepods/burstable/pod",
            ),
        ] {
            let got = line(text, &mut names);
            assert!(got.starts_with(start) && !got.contains("01234567"), "{got}");
            assert_eq!(
                got.matches(['-', '_']).count(),
                text.matches(['-', '_']).count(),
                "{got}"
            );
        }
        let got = line(
            "0::/kubepods/podzorgon-89ab-cdef-0123-456789abcdef/x",
            &mut names,
        );
        assert!(!got.contains("zorgon"), "{got}");
    }

    #[test]
    fn colons_within_a_path_hide_nothing_less() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        let text = format!("0::/zorgon.service/kubepods-zorgon-pod1.slice:cri-containerd:{ID}");
        let got = line(&text, &mut names);
        assert!(
            got.starts_with("0::/g") && got.contains(".slice:cri-containerd:"),
            "{got}"
        );
        assert!(!got.contains("zorgon") && !got.contains(ID), "{got}");
        for odd in [
            "/zorgon",
            "zorgon:/x",
            "0:zorgon",
            "1:name=zorgon:/",
            "0::/a:zorgon:b",
        ] {
            let got = line(odd, &mut names);
            assert!(!got.contains("zorgon"), "{got}");
        }
        for plain in [
            "0::/",
            "12:cpu,cpuacct:/user.slice/user-1000.slice/session-2.scope",
        ] {
            assert_eq!(line(plain, &mut names), plain);
        }
    }
}
