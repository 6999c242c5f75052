//! Addresses, command lines and processes of forwarders, below directories.

use raw::{Question, Reply};

use super::*;
use crate::linux::tests::Tree;

#[test]
fn own_addresses_are_the_local_hosts_of_the_routing_table() {
    let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     \
        |-- 172.17.0.0\n           /16 link UNICAST\nLocal:\n  +-- 0.0.0.0/0 3 0 5\n     |-- \
        127.0.0.1\n           /32 host LOCAL\n        |-- 172.17.0.2\n           /32 host LOCAL\n        \
        |-- 172.17.255.255\n           /32 link BROADCAST\n";
    let got: Vec<String> = own_v4(trie).map(|it| it.to_string()).collect();
    assert_eq!(got, ["127.0.0.1", "172.17.0.2"]);
    let text = "fd000000000000000000000000000002 02 40 00 80     eth0\n00000000000000000000000000000001 01 80 10 80       lo\nshort 02\n";
    let got: Vec<String> = own_v6(text).map(|it| it.to_string()).collect();
    assert_eq!(got, ["fd00::2", "::1"]);
}

fn seen(program: ForwarderProgram, line: &str) -> Vec<String> {
    let line: String = line.split(' ').flat_map(|it| [it, "\0"]).collect();
    forwards(program, line.as_bytes())
        .into_iter()
        .map(|it| {
            let address = it.address.as_deref().unwrap_or("-").to_owned();
            format!("{}>{} {address}", it.host_port, it.port)
        })
        .collect()
}

#[test]
fn what_is_forwarded_stands_on_the_command_line_of_docker_proxy_and_pasta() {
    let docker = |line: &str| seen(ForwarderProgram::DockerProxy, line);
    let full = "/usr/bin/docker-proxy -proto tcp -host-ip 0.0.0.0 -host-port 18080 -container-ip 172.17.0.2 -container-port 8080 -use-listen-fd";
    assert_eq!(docker(full), ["18080>8080 172.17.0.2"]);
    assert_eq!(
        docker(&full.replace(" -", " --")),
        ["18080>8080 172.17.0.2"]
    );
    assert_eq!(
        docker("docker-proxy -host-port=1 -container-ip=FD00::2 -container-port=2"),
        ["1>2 fd00::2"]
    );
    for line in [
        &full.replace("tcp", "udp"),
        &full.replace("18080", "x"),
        &full.replace("-container-port 8080", "-container-port"),
        "docker-proxy",
        "",
    ] {
        assert_eq!(docker(line), [""; 0], "{line}");
    }
    assert_eq!(
        docker(&full.replace("172.17.0.2", "name")),
        ["18080>8080 -"]
    );
    let pasta = |it: &str| {
        seen(
            ForwarderProgram::Pasta,
            &format!("/usr/bin/pasta --config-net {it}"),
        )
    };
    for (arguments, expected) in [
        ("-t 8080-8080:80-80 -u none -T none", &["8080>80 -"][..]),
        (
            "-t 127.0.0.1%lo/8080:80,9000",
            &["8080>80 -", "9000>9000 -"],
        ),
        (
            "--tcp-ports=1-3:11-13 -t 9",
            &["1>11 -", "2>12 -", "3>13 -", "9>9 -"],
        ),
        ("-t ::1/5:6", &["5>6 -"]),
        ("-t auto -t none -t ~22 -t", &[]),
        ("-u 5353", &[]),
    ] {
        assert_eq!(pasta(arguments), expected, "{arguments}");
    }
    assert_eq!(pasta("-t 1-65535").len(), MAX_FORWARDS);
    assert_eq!(
        seen(ForwarderProgram::Silent, "rootlessport -t 1:2"),
        [""; 0]
    );
}

/// A forwarder that listens on `port`, in the namespace `network`.
fn add(tree: &Tree, pid: u32, name: &str, line: &str, port: u16, network: u64) {
    let line: String = line.split(' ').flat_map(|it| [it, "\0"]).collect();
    let any = "00000000";
    tree.process(pid, 5)
        .file(&format!("proc/{pid}/comm"), format!("{name}\n"))
        .file(&format!("proc/{pid}/cmdline"), line)
        .file(
            &format!("proc/{pid}/status"),
            format!("Name:\t{name}\nUid:\t0\t0\t0\t0\n"),
        )
        .file(
            &format!("proc/{pid}/net/tcp"),
            format!("header\n0: {any}:{port:04X} 0:0 0A 0:0 0:0 0 0 0 900 1\n"),
        )
        .link(&format!("proc/{pid}/ns/net"), &format!("net:[{network}]"))
        .link(&format!("proc/{pid}/fd/3"), "socket:[900]")
        .link(&format!("proc/{pid}/fd/4"), "net:[42]");
}

#[test]
fn forwarders_are_found_in_our_own_network_namespace_only() {
    let tree = Tree::new();
    tree.link("proc/self/ns/net", "net:[1]");
    let line =
        "docker-proxy -proto tcp -host-port 8080 -container-ip 172.17.0.2 -container-port 80";
    add(&tree, 20, "docker-proxy", line, 8080, 1);
    add(&tree, 21, "docker-proxy", line, 8080, 2);
    add(&tree, 22, "nginx", line, 8080, 1);
    add(&tree, 23, "rootlessport-ch", "rootlessport-child", 8080, 1);
    let Ok(Reply::Forwarders(found)) = tree.posted(&Question::Forwarders) else {
        panic!("no answer")
    };
    let pids: Vec<(u32, ForwarderProgram)> = found.iter().map(|it| (it.pid, it.program)).collect();
    assert_eq!(
        pids,
        [
            (20, ForwarderProgram::DockerProxy),
            (23, ForwarderProgram::Silent)
        ]
    );
    let first = &found[0];
    assert_eq!(
        (first.user, first.start_ticks, &*first.networks),
        (0, 5, &[42][..])
    );
    let listening = first.listening.as_deref().unwrap();
    assert!(
        matches!(listening, [it] if it.port == 8080 && it.loopback && it.any && !it.foreign),
        "{listening:?}"
    );
}
