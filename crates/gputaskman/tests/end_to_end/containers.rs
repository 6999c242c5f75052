//! A monitor on the host and processes in containers of every runtime: their names, read from state files that hold
//! secrets beside them.

use fake_nvml::build::Driver;
use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use serde_json::{Value, json};

use crate::support::json::{every_null_has_its_reason, process};
use crate::support::{Folder, Machine, Program, Task, captures, driver};

const UID: &str = "01234567-89ab-cdef-0123-456789abcdef";

/// 64 digits, another one for each.
fn id(number: u32) -> String {
    format!("{number:02x}").repeat(32)
}

fn bundle(annotations: &Value) -> String {
    let spec = json!({
        "process": { "env": ["HF_TOKEN=canarytoken"], "args": ["--api-key", "canarykey"] },
        "annotations": annotations,
    });
    spec.to_string()
}

/// Processes 4001 to 4009 in containers, 4010 in none, 4011 in that of 4001.
fn machine() -> (Machine, Driver) {
    let machine = Machine::new();
    let docker = |number: u32, name: &str| {
        let state = json!({
            "ID": id(number), "Name": name, "Config": { "Env": ["HF_TOKEN=canarytoken"] }
        });
        let folder = format!("/var/lib/docker/containers/{}", id(number));
        machine.file(&format!("{folder}/config.v2.json"), state.to_string());
    };
    docker(1, "/canaryname");
    docker(9, &format!("/k8s_llm_llm-1_ai_{UID}_0"));
    let stored = |place: &str, number: u32, name: &str| {
        let list = json!([
            { "id": id(99), "names": ["other"] },
            { "id": id(number), "names": [name], "metadata": "{\"x\":\"canarytoken\"}" },
        ]);
        machine.file(
            &format!("{place}/overlay-containers/containers.json"),
            list.to_string(),
        );
    };
    stored("/var/lib/containers/storage", 2, "root-llm");
    stored("/home/mona/.local/share/containers/storage", 3, "mona-llm");
    let cri = bundle(&json!({
        "io.kubernetes.cri.container-name": "llm",
        "io.kubernetes.cri.sandbox-name": "llm-0",
        "io.kubernetes.cri.sandbox-namespace": "ai",
        "io.kubernetes.cri.image-name": "canarytoken",
    }));
    let tasks = "/run/containerd/io.containerd.runtime.v2.task";
    machine.file(&format!("{tasks}/k8s.io/{}/config.json", id(4)), &cri);
    machine.file(&format!("{tasks}/k8s.io/{}/config.json", id(5)), &cri);
    let nerdctl = bundle(&json!({ "nerdctl/name": "own" }));
    machine.file(&format!("{tasks}/default/{}/config.json", id(6)), nerdctl);
    let crio = bundle(&json!({
        "io.kubernetes.container.name": "llm",
        "io.kubernetes.pod.name": "llm-2",
        "io.kubernetes.pod.namespace": "ai",
    }));
    let place = format!(
        "/run/containers/storage/overlay-containers/{}/userdata",
        id(7)
    );
    machine.file(&format!("{place}/config.json"), crio);
    let slice = UID.replace('-', "_");
    let paths = [
        (4001, format!("/system.slice/docker-{}.scope", id(1))),
        (
            4002,
            format!("/machine.slice/libpod-{}.scope/container", id(2)),
        ),
        (
            4003,
            format!(
                "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{}.scope/container",
                id(3)
            ),
        ),
        (
            4004,
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{slice}.slice/cri-containerd-{}.scope",
                id(4)
            ),
        ),
        (4005, format!("/kubepods/besteffort/pod{UID}/{}", id(5))),
        (4006, format!("/system.slice/nerdctl-{}.scope", id(6))),
        (
            4007,
            format!(
                "/kubepods.slice/kubepods-pod{slice}.slice/crio-{}.scope/container",
                id(7)
            ),
        ),
        (4008, "/lxc.payload.web/system.slice/llm.service".to_owned()),
        (
            4009,
            format!(
                "/kubepods.slice/kubepods-pod{slice}.slice/docker-{}.scope",
                id(9)
            ),
        ),
        (
            4010,
            "/user.slice/user-1000.slice/session-2.scope".to_owned(),
        ),
        (4011, format!("/system.slice/docker-{}.scope", id(1))),
        (4012, format!("/system.slice/docker-{}.scope", id(12))),
    ];
    let mut card = Device::new("NVIDIA RTX A4000");
    for (pid, path) in paths {
        let mut task = Task::new(pid, "worker");
        task.cgroup = format!("0::{path}\n");
        machine.add(&task);
        card = card.with_process(Process::new(pid, Kind::Compute, u64::from(pid) << 20));
    }
    let scenario = Scenario::default().with_device(card);
    (machine, driver(Generation::R580, &scenario))
}

fn short(number: u32) -> String {
    id(number)[..12].to_owned()
}

#[test]
fn containers_of_every_runtime_are_named() {
    let (machine, driver) = machine();
    let run = |line: &str| {
        Program::line(line)
            .driver(&driver)
            .root(machine.path())
            .run()
    };
    let document = run("--json").json();
    every_null_has_its_reason(&document);
    for (pid, runtime, id, name, pod, uid) in [
        (4001, "docker", short(1), "canaryname", None, false),
        (4002, "podman", short(2), "root-llm", None, false),
        (4003, "podman", short(3), "mona-llm", None, false),
        (4004, "containerd", short(4), "llm", Some("llm-0"), true),
        (4005, "kubernetes", short(5), "llm", Some("llm-0"), true),
        (4006, "containerd", short(6), "own", None, false),
        (4007, "cri-o", short(7), "llm", Some("llm-2"), true),
        (4008, "lxc", "web".to_owned(), "web", None, false),
        (4009, "docker", short(9), "llm", Some("llm-1"), true),
        (4011, "docker", short(1), "canaryname", None, false),
    ] {
        let expected = json!({
            "runtime": runtime, "id": id, "name": name,
            "pod_name": pod, "pod_namespace": pod.map(|_| "ai"), "pod_uid": uid.then_some(UID),
        });
        assert_eq!(process(&document, pid)["container"], expected, "{pid}");
    }
    assert_eq!(process(&document, 4010)["container"], Value::Null);
    let gone = process(&document, 4012);
    assert_eq!(gone["container"]["name"], Value::Null);
    assert_eq!(
        gone["provenance"]["container.name"]["reason"],
        "not_present"
    );
    assert_eq!(
        gone["provenance"]["container.name"]["source"],
        "container_state"
    );
    let report = run("--once");
    for words in [
        "CONTAINER".to_owned(),
        format!("canaryname {}", short(1)),
        format!("docker {}", short(12)),
        format!("docker {}  name n/a", short(12)),
        "pod ai/llm-0".to_owned(),
        format!("pod UID {UID}"),
        "container name of 4012".to_owned(),
        "lxc web  name web".to_owned(),
    ] {
        assert!(
            report.text().contains(&words),
            "{words:?} in {}",
            report.text()
        );
    }
}

#[test]
fn a_container_is_asked_for_once_and_its_environment_is_in_no_recording() {
    let (machine, driver) = machine();
    let folder = Folder::new();
    for level in ["none", "paths", "strict"] {
        let file = folder.at(&format!("{level}.ndjson"));
        let recorded = Program::line("record --json -i 0.25 --count 3 --redact")
            .args([level, "-o"])
            .arg(&file)
            .driver(&driver)
            .root(machine.path())
            .run();
        recorded.ended(0);
        let text = captures::text(&file);
        assert!(!text.contains("canarytoken") && !text.contains("canarykey"));
        assert_eq!(text.contains("canaryname"), level == "none", "{level}");
        let last = recorded.lines().pop().unwrap();
        let first = &process(&last, 4001)["container"];
        // The stand-in of an identifier is translated back before the file is looked for.
        let name = first["name"].as_str().unwrap();
        assert_eq!(name == "canaryname", level == "none", "{name}");
        let asked = |line: &&str| line.contains("\"container docker ") && line.contains("\"a\"");
        let answers = text.lines().filter(asked).count();
        assert_eq!(
            answers, 2,
            "{level}: two containers of Docker that have a file"
        );
        let pod_uid = process(&last, 4004)["container"]["pod_uid"]
            .as_str()
            .unwrap();
        assert_eq!(pod_uid == UID, level == "none", "{pod_uid}");
        let replayed = Program::line("replay --json").arg(&file).run();
        assert_eq!(replayed.stdout, recorded.stdout, "{level}");
    }
}
