//! State files of the runtimes below a directory: the names they give, and what they must not give.

use std::path::PathBuf;

use rustix::process::Uid;

use super::*;
use crate::linux::tests::Tree;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

const USERS: &str =
    "root:x:0:0:root:/root:/bin/sh\nmona:x:1000:1000::/home/mona:/bin/sh\nodd:x:7:7::here:/x\n";

/// What runtimes write beside the name, with a secret in the environment.
const DOCKER_STATE: &str = r#"{"StreamConfig":{},"State":{"Running":true,"Pid":4005},"ID":"0123",
    "Config":{"Hostname":"c","Env":["HF_TOKEN=canary","PATH=/bin"],"Labels":{"a":"canary"}},
    "Name":"/embeddings","Driver":"overlay2"}"#;

fn bundle(annotations: &str) -> String {
    format!(
        r#"{{"ociVersion":"1.1.0","process":{{"env":["HF_TOKEN=canary"],"args":["canary"]}},
        "annotations":{{{annotations}"example.org/secret":"canary"}}}}"#
    )
}

fn look(place: &Place, runtime: ContainerRuntime, owner: Option<u32>) -> Result<String, Gap> {
    match named(place, runtime, ID, owner)? {
        Reply::Container(it) => {
            let shown = format!("{it:?}");
            assert!(!shown.contains("canary"), "{shown}");
            let of_pod = [&it.namespace, &it.pod].into_iter().flatten();
            let parts: Vec<&str> = of_pod.chain([&it.name]).map(|text| &**text).collect();
            Ok(format!("{:?} {}", it.file, parts.join("/")))
        }
        other => panic!("{other:?}"),
    }
}

fn place(tree: &Tree) -> Place {
    Place::new(Some(PathBuf::from(tree.path())))
}

fn file(path: &str, content: &str) -> Tree {
    let tree = Tree::new();
    tree.file("etc/passwd", USERS).file(path, content);
    tree
}

#[test]
fn each_runtime_s_file_gives_the_name_and_nothing_else() {
    use ContainerRuntime::{Containerd, CriO, Docker, Podman, Unknown};
    let list = format!(
        r#"[{{"id":"{OTHER}","names":["other"]}},{{"id":"{ID}","names":["llm","alias"],
        "image":"x","metadata":"{{\"name\":\"canary\"}}","flags":{{"canary":1}}}}]"#
    );
    let cri = bundle(
        r#""io.kubernetes.cri.container-name":"llm","io.kubernetes.cri.sandbox-name":"llm-0",
        "io.kubernetes.cri.sandbox-namespace":"ai","#,
    );
    let crio = bundle(
        r#""io.kubernetes.container.name":"llm","io.kubernetes.pod.name":"llm-0",
        "io.kubernetes.pod.namespace":"ai","#,
    );
    let nerdctl = bundle(r#""nerdctl/name":"llm","nerdctl/namespace":"default","#);
    let user = Some(1000);
    let docker = "containers/ID/config.v2.json";
    let tasks = "io.containerd.runtime.v2.task";
    for (runtime, path, content, owner, expected) in [
        (
            Docker,
            format!("var/lib/docker/{docker}"),
            DOCKER_STATE,
            None,
            "Docker embeddings",
        ),
        (
            Docker,
            format!("home/mona/.local/share/docker/{docker}"),
            DOCKER_STATE,
            user,
            "Docker embeddings",
        ),
        (
            Podman,
            "var/lib/containers/storage/overlay-containers/containers.json".to_owned(),
            &list,
            None,
            "Podman llm",
        ),
        (
            Podman,
            "var/lib/containers/storage/overlay-containers/volatile-containers.json".to_owned(),
            &list,
            None,
            "Podman llm",
        ),
        (
            Podman,
            "home/mona/.local/share/containers/storage/overlay-containers/containers.json"
                .to_owned(),
            &list,
            user,
            "Podman llm",
        ),
        (
            Containerd,
            format!("run/containerd/{tasks}/k8s.io/ID/config.json"),
            &cri,
            None,
            "Containerd ai/llm-0/llm",
        ),
        (
            Containerd,
            format!("run/k3s/containerd/{tasks}/k8s.io/ID/config.json"),
            &cri,
            None,
            "Containerd ai/llm-0/llm",
        ),
        (
            Containerd,
            format!("run/containerd/{tasks}/default/ID/config.json"),
            &nerdctl,
            None,
            "Containerd llm",
        ),
        (
            CriO,
            "run/containers/storage/overlay-containers/ID/userdata/config.json".to_owned(),
            &crio,
            None,
            "CriO ai/llm-0/llm",
        ),
    ] {
        let path = path.replace("ID", ID);
        let tree = file(&path, content);
        let place = place(&tree);
        assert_eq!(
            look(&place, runtime, owner).as_deref(),
            Ok(expected),
            "{path}"
        );
        assert_eq!(
            look(&place, Unknown, owner).as_deref(),
            Ok(expected),
            "{path}"
        );
        if owner.is_some() {
            for owner in [None, Some(0), Some(7), Some(4711)] {
                assert_eq!(look(&place, runtime, owner), Err(Gap::NotPresent), "{path}");
            }
        }
    }
}

#[test]
fn a_container_without_a_name_or_a_file_says_so() {
    use ContainerRuntime::{Containerd, Docker, Podman};
    let docker = format!("var/lib/docker/containers/{ID}/config.v2.json");
    let podman = "var/lib/containers/storage/overlay-containers/containers.json";
    let task = format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json");
    let long = format!(r#"{{"Name":"{}"}}"#, "x".repeat(NAME_BOUND + 1));
    let huge = format!(r#"{{"Name":"/a","x":"{}"}}"#, "x".repeat(STATE_BOUND));
    for (runtime, path, content, gap) in [
        (Docker, &*docker, "", Gap::Malformed),
        (Docker, &docker, "{}", Gap::Malformed),
        (Docker, &docker, r#"{"Name":["/a"]}"#, Gap::Malformed),
        (Docker, &docker, r#"{"Name":"/"}"#, Gap::NotFound),
        (Docker, &docker, &long, Gap::OverBound),
        (Docker, &docker, &huge, Gap::OverBound),
        (Docker, podman, "[]", Gap::NotPresent),
        (Podman, podman, "[]", Gap::NotPresent),
        (Podman, podman, "{}", Gap::Malformed),
        (Containerd, &task, "{}", Gap::NotFound),
        (Containerd, &task, r#"{"annotations":null}"#, Gap::NotFound),
        (Containerd, podman, "[]", Gap::NotPresent),
    ] {
        let tree = file(path, content);
        assert_eq!(
            look(&place(&tree), runtime, None),
            Err(gap),
            "{path} {content:.60}"
        );
    }
}

#[test]
fn an_identifier_that_is_none_is_no_part_of_a_path() {
    let tree = file("var/lib/docker/containers/x/config.v2.json", DOCKER_STATE);
    for id in [
        "x",
        "",
        "..",
        &"../".repeat(20),
        &"g".repeat(64),
        &"a".repeat(65),
    ] {
        let place = place(&tree);
        assert_eq!(
            named(&place, ContainerRuntime::Docker, id, None),
            Err(Gap::NotPresent),
            "{id}"
        );
    }
}

#[test]
fn a_link_or_a_fifo_in_a_home_leads_nowhere() {
    let path = "home/mona/.local/share/containers/storage/overlay-containers/containers.json";
    let tree = file(
        "secret.json",
        &format!(r#"[{{"id":"{ID}","names":["a"]}}]"#),
    );
    tree.fifo(path);
    let of = Some(1000);
    assert_eq!(
        look(&place(&tree), ContainerRuntime::Podman, of),
        Err(Gap::NotPresent)
    );
    // A list that would name it, reached by the file, by a folder, and from within the home.
    let list = format!(r#"[{{"id":"{ID}","names":["a"]}}]"#);
    let storage = "home/mona/.local/share/containers/storage";
    for (at, to) in [
        (
            path.to_owned(),
            "/secret/overlay-containers/containers.json",
        ),
        (
            format!("{storage}/overlay-containers"),
            "/secret/overlay-containers",
        ),
        (storage.to_owned(), "../../../../../secret"),
        (storage.to_owned(), "../../../mine"),
        ("home/mona/.local".to_owned(), "mine"),
    ] {
        let tree = file("secret/overlay-containers/containers.json", &list);
        tree.file("home/mona/mine/overlay-containers/containers.json", &list)
            .file(
                "home/mona/mine/share/containers/storage/overlay-containers/containers.json",
                &list,
            )
            .link(&at, to);
        let found = look(&place(&tree), ContainerRuntime::Podman, of);
        assert_eq!(found, Err(Gap::NotPresent), "{at} -> {to}");
    }
    // Without the link it is found.
    let found = look(&place(&file(path, &list)), ContainerRuntime::Podman, of);
    assert_eq!(found, Ok("Podman a".to_owned()));
}

#[test]
fn a_file_in_a_home_that_is_somebody_else_s_is_not_read() {
    let path = "home/mona/.local/share/containers/storage/overlay-containers/containers.json";
    let list = format!(r#"[{{"id":"{ID}","names":["a"]}}]"#);
    let tree = file(path, &list);
    let own = rustix::process::geteuid().as_raw();
    let home = tree.path().join("home/mona");
    let home = std::fs::File::open(home).unwrap();
    let open = |owner| {
        let path = path.strip_prefix("home/mona/").unwrap();
        beneath::open_owned(home.as_fd(), path, owner).map(drop)
    };
    assert_eq!(open(own), Ok(()));
    // Root's is anybody's.
    let other = own.wrapping_add(1);
    let expected = if own == 0 {
        Ok(())
    } else {
        Err(Gap::NotPresent)
    };
    assert_eq!(open(other), expected);
    if own == 0 {
        let full = tree.path().join(path);
        std::os::unix::fs::chown(full, Some(1001), None).unwrap();
        assert_eq!(open(1001), Ok(()));
        assert_eq!(open(1000), Err(Gap::NotPresent));
    }
}

/// With the rights of nobody, on a thread of its own.
#[test]
fn without_rights_the_reason_is_that_and_not_absence() {
    let docker = format!("var/lib/docker/containers/{ID}/config.v2.json");
    let tree = file(&docker, DOCKER_STATE);
    tree.forbidden("var/lib/docker");
    let tasks = Tree::new();
    tasks.forbidden("run/containerd/io.containerd.runtime.v2.task");
    let [first, second] = [place(&tree), place(&tasks)];
    let as_nobody = std::thread::spawn(move || {
        if rustix::process::geteuid().is_root() {
            let nobody = Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        }
        [
            look(&first, ContainerRuntime::Docker, None),
            look(&second, ContainerRuntime::Containerd, None),
            look(&second, ContainerRuntime::Unknown, None),
            look(&second, ContainerRuntime::Docker, None),
        ]
    });
    let denied = Err(Gap::Permission);
    assert_eq!(
        as_nobody.join().unwrap(),
        [denied.clone(), denied.clone(), denied, Err(Gap::NotPresent)]
    );
}
