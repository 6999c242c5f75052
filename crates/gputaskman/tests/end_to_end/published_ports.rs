//! A model server in a network namespace of its own, as in a container: which port of this machine is asked for it,
//! and which never is.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use serde_json::{Value, json};

use crate::support::json::{every_null_has_its_reason, process};
use crate::support::{Folder, Machine, Program, Task, captures, children, driver, skipped};

const ADDRESS: &str = "10.213.0.2";

/// Whether namespaces can be made here.
fn cannot() -> bool {
    let made = std::process::Command::new("unshare")
        .args(["--net", "ip", "link", "set", "lo", "up"])
        .output();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let nested = namespace.as_os_str() != crate::support::machine::INITIAL_NAMESPACE;
    let cannot = nested || !made.is_ok_and(|it| it.status.success());
    if cannot {
        skipped("network namespaces cannot be made, or processes not be looked up");
    }
    cannot
}

fn free_port() -> u16 {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.local_addr().unwrap().port()
}

fn answer() -> String {
    let body = json!({
        "default_generation_settings": { "n_ctx": 2048 }, "total_slots": 2, "model_path": "/m.gguf",
    });
    let body = body.to_string();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// This binary under another name.
fn called(folder: &Folder, name: &str) -> PathBuf {
    let program = folder.folder("bin").join(name);
    let own = std::env::current_exe().unwrap();
    std::fs::hard_link(&own, &program)
        .or_else(|_| std::fs::copy(&own, &program).map(drop))
        .unwrap();
    program
}

fn requests(log: &Path) -> String {
    std::fs::read_to_string(log).unwrap_or_default()
}

/// What is said of a server in its own namespace on `port`, and who was asked: it, the listener on the host.
fn ask(port: u16, host_port: u16, forwarder: &[&str]) -> (Value, String, [String; 2]) {
    let folder = Folder::new();
    let [own, hosts] = [folder.at("own"), folder.at("hosts")];
    let server = children::Start::new("", &["-m", "/m.gguf"])
        .program(&called(&folder, "llama-server"))
        .serving(&answer(), &own)
        .at(&format!("0.0.0.0:{port}"))
        .in_network(ADDRESS)
        .start();
    let _listening = children::Start::new("docker-proxy", forwarder)
        .program(&called(&folder, "docker-proxy"))
        .serving(&answer(), &hosts)
        .at(&format!("127.0.0.1:{host_port}"))
        .start();
    let card = Device::new("NVIDIA RTX A4000");
    let card = card.with_process(Process::new(server.pid(), Kind::Compute, 1_u64 << 30));
    let driver = driver(Generation::R580, &Scenario::default().with_device(card));
    let ran = Program::line("--json").driver(&driver).run();
    let document = ran.ended(0).json();
    every_null_has_its_reason(&document);
    let row = process(&document, server.pid()).clone();
    assert_eq!(row["ports"], json!([port]), "{row}");
    let report = Program::line("--once").driver(&driver).run();
    let report = report.ended(0).text().to_owned();
    (row, report, [requests(&own), requests(&hosts)])
}

fn forwards(host_port: u16, address: &str, port: u16) -> Vec<String> {
    let line = format!(
        "-proto tcp -host-ip 127.0.0.1 -host-port {host_port} -container-ip {address} -container-port {port}"
    );
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_published_port_is_asked_through_its_proxy() {
    if cannot() {
        return;
    }
    let (port, host_port) = (free_port(), free_port());
    let line = forwards(host_port, ADDRESS, port);
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let (row, report, [_, through]) = ask(port, host_port, &line);
    assert_eq!(row["server"]["state"], "ready", "{}", row["server"]);
    assert_eq!(row["server"]["port"], host_port);
    assert_eq!(row["server"]["own_port"], port);
    assert_eq!(row["server"]["context"], 2048);
    assert!(through.starts_with("GET /props"), "{through}");
    let words = format!("port {host_port}, which leads to its own port {port}");
    assert!(report.contains(&words), "{report}");
}

#[test]
fn an_equal_port_number_on_the_host_is_never_asked() {
    if cannot() {
        return;
    }
    let port = free_port();
    for line in [
        Vec::new(),
        forwards(port, "10.213.0.3", port),
        forwards(port, ADDRESS, 1),
    ] {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        // The port of this number on the host is somebody else's.
        let (row, report, asked) = ask(port, port, &line);
        assert_eq!(asked, ["", ""], "{line:?}");
        assert_eq!(row["server"], Value::Null);
        for words in [
            "server    not asked: n/a",
            "listens in its own network namespace",
        ] {
            assert!(report.contains(words), "{report}");
        }
        assert_eq!(
            row["provenance"]["server"]["reason"], "other_network",
            "{line:?}"
        );
    }
}

/// On a machine of files, where nobody is asked, but the questions are recorded.
#[test]
fn what_was_found_is_in_the_recording_without_addresses() {
    let (machine, folder) = (Machine::new(), Folder::new());
    let mut server = Task::llama_server(500, "/m.gguf", "");
    server.listening = vec![8080];
    // Of root's engine, as the forwarder is.
    server.cgroup = format!("0::/system.slice/docker-{}.scope\n", "0c".repeat(32));
    machine.add(&server);
    let mut proxy = Task::new(600, "docker-proxy");
    proxy.uid = 0;
    proxy.listening = vec![18080];
    let line = forwards(18080, "172.17.0.2", 8080).join(" ");
    machine.add(&proxy.started_with(&format!("docker-proxy {line}")));
    let files = machine.folder();
    files.write("proc/600/comm", "docker-proxy\n");
    files.write("proc/500/comm", "llama-server\n");
    // Bound to every address of its own namespace.
    let tcp = std::fs::read_to_string(machine.path().join("proc/500/net/tcp")).unwrap();
    files.write("proc/500/net/tcp", tcp.replace("0100007F", "00000000"));
    files.write(
        "proc/500/net/fib_trie",
        "|-- 172.17.0.2\n   /32 host LOCAL\n",
    );
    files.link("proc/self/ns/net", "net:[1]");
    files.link("proc/600/ns/net", "net:[1]");
    files.link("proc/500/ns/net", "net:[2]");
    let card =
        Device::new("NVIDIA RTX A4000").with_process(Process::new(500, Kind::Compute, 1_u64 << 30));
    let driver = driver(Generation::R580, &Scenario::default().with_device(card));
    for level in ["none", "paths", "strict"] {
        let file = folder.at(level);
        let recorded = Program::line("record --json -i 0.25 --count 4 --redact")
            .args([level, "-o"])
            .arg(&file)
            .driver(&driver)
            .root(machine.path())
            .run();
        recorded.ended(0);
        let text = captures::text(&file);
        // Through the proxy, on its port, and not on the server's own.
        assert!(
            text.contains("get 600@100600 :18080/props"),
            "{level}: {text}"
        );
        assert!(!text.contains("get 500@"), "{level}");
        assert_eq!(text.contains("172.17.0.2"), level == "none", "{level}");
        let searches = text.lines().filter(|it| {
            it.contains("\"q\":\"forwarders\"") && !it.contains("\"gap\":\"pending\"")
        });
        assert_eq!(searches.count(), 1, "{level}: not in every refresh");
        let replayed = Program::line("replay --json").arg(&file).run();
        assert_eq!(replayed.stdout, recorded.stdout, "{level}");
    }
    // Without a process that needs one, nobody is looked for.
    files.link("proc/700/ns/net", "net:[1]");
    let file = folder.at("unneeded");
    std::fs::remove_file(machine.path().join("proc/500/ns/net")).unwrap();
    files.link("proc/500/ns/net", "net:[1]");
    Program::line("record --json -i 0.25 --count 2 -o")
        .arg(&file)
        .driver(&driver)
        .root(machine.path())
        .run()
        .ended(0);
    assert!(!captures::text(&file).contains("forwarders"));
}

/// The process is root's, in a container as far as its network goes, and the monitor is nobody.
#[test]
fn what_another_user_may_not_see_has_that_reason_everywhere() {
    if cannot() {
        return;
    }
    let folder = Folder::new();
    let log = folder.at("own");
    let server = children::Start::new("", &["-m", "/m.gguf"])
        .program(&called(&folder, "llama-server"))
        .serving(&answer(), &log)
        .at(&format!("0.0.0.0:{}", free_port()))
        .in_network(ADDRESS)
        .start();
    let other = children::many(1);
    let listed = |card: Device, pid| card.with_process(Process::new(pid, Kind::Compute, 1 << 30));
    let card = [server.pid(), other[0].pid()]
        .into_iter()
        .fold(Device::new("NVIDIA RTX A4000"), listed);
    let driver = driver(Generation::R580, &Scenario::default().with_device(card));
    let run = |line: &str| Program::line(line).driver(&driver).by_nobody().try_run();
    let Some(ran) = run("--json").filter(|ran| ran.code == Some(0)) else {
        skipped("nobody may not run the program here");
        return;
    };
    let document = ran.json();
    every_null_has_its_reason(&document);
    let row = process(&document, server.pid());
    for field in ["exe", "ports", "runtimes", "server"] {
        assert_eq!(row[field], Value::Null, "{field}");
        assert_eq!(row["provenance"][field]["reason"], "permission", "{field}");
    }
    assert_eq!(row["name"], "llama-server");
    let model = &row["models"][0];
    for field in ["size_on_disk_bytes", "architecture", "context_used"] {
        assert_eq!(
            model["provenance"][field]["reason"], "permission",
            "{field}"
        );
    }
    // Nothing on its command line names a model, and nothing else can be seen.
    let row = process(&document, other[0].pid());
    assert_eq!(row["models"], json!([]));
    assert_eq!(row["provenance"]["runtimes"]["reason"], "permission");
    let report = run("--once").unwrap();
    for words in ["MODEL", "server", "run with sudo"] {
        assert!(report.text().contains(words), "{}", report.text());
    }
    assert_eq!(requests(&log), "");
}
