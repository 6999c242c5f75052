//! A synthetic machine for `--root`: a folder with `proc`, `sys` and `etc` as the kernel would show them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::Folder;

/// What a link `/proc/self/ns/pid` of the first namespace says.
pub(crate) const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// A machine that has been up for some hours.
pub(crate) struct Machine(Folder);

impl Machine {
    /// One NVIDIA card on the bus, no process, in the first PID namespace.
    pub(crate) fn new() -> Self {
        Self::in_namespace(INITIAL_NAMESPACE)
    }

    pub(crate) fn in_namespace(namespace: &str) -> Self {
        let folder = Folder::new();
        folder.link("proc/self/ns/pid", namespace);
        folder.write("proc/uptime", "20000.50 70000.00\n");
        folder.write("proc/sys/kernel/osrelease", "6.8.0-test\n");
        folder.write("proc/sys/kernel/hostname", "testbench\n");
        folder.write(
            "etc/passwd",
            "root:x:0:0:root:/root:/bin/sh\nmona:x:1000:1000::/home/mona:/bin/sh\n",
        );
        for (file, text) in [
            ("class", "0x030000\n"),
            ("vendor", "0x10de\n"),
            ("device", "0x2704\n"),
            ("power/runtime_status", "active\n"),
        ] {
            folder.write(&format!("sys/bus/pci/devices/0000:01:00.0/{file}"), text);
        }
        let machine = Self(folder);
        if namespace != INITIAL_NAMESPACE {
            machine.add_first_process();
        }
        machine
    }

    /// Every namespace has one, and where it is not shown others are not either.
    pub(crate) fn add_first_process(&self) {
        let mut first = Task::new(1, "init");
        first.mapped.clear();
        self.add(&first);
    }

    /// Puts another NVIDIA card on the bus, or changes the power state of one.
    pub(crate) fn card(&self, address: &str, status: &str, control: &str) {
        for (file, text) in [
            ("class", "0x030000"),
            ("vendor", "0x10de"),
            ("device", "0x2704"),
            ("uevent", "DRIVER=nvidia"),
            ("power/runtime_status", status),
            ("power/control", control),
        ] {
            let path = format!("sys/bus/pci/devices/{address}/{file}");
            self.0.write(&path, format!("{text}\n"));
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Below it.
    pub(crate) fn folder(&self) -> &Folder {
        &self.0
    }

    pub(crate) fn add(&self, task: &Task) {
        let write = |name: &str, content: &[u8]| {
            self.0.write(&format!("proc/{}/{name}", task.pid), content);
        };
        let Task {
            pid,
            parent,
            name,
            uid,
            start_ticks,
            virtual_bytes,
            ..
        } = task;
        let zeros = "0 ".repeat(13);
        let stat = format!(
            "{pid} ({name}) S {parent} {pid} {pid} 0 -1 {zeros}{start_ticks} {virtual_bytes} 500 0\n"
        );
        write("stat", fields(&stat, *start_ticks).as_bytes());
        let status = format!(
            "Name:\t{name}\nPid:\t{pid}\nPPid:\t{parent}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{pid}\n"
        );
        write("status", status.as_bytes());
        write("cgroup", task.cgroup.as_bytes());
        write("cmdline", zero_terminated(&task.arguments).as_bytes());
        write("environ", zero_terminated(&task.environment).as_bytes());
        write("maps", maps(&task.mapped).as_bytes());
        write("net/tcp", tcp(&task.listening).as_bytes());
        let link = |name: &str, text: &str| self.0.link(&format!("proc/{pid}/{name}"), text);
        link("exe", &task.exe);
        link("cwd", &task.cwd);
        link("fd/0", "/dev/null");
        for (number, open) in task.open.iter().enumerate() {
            link(&format!("fd/{}", number + 10), open);
            // For appending, as logs are.
            let text = "pos:\t0\nflags:\t0102001\nmnt_id:\t29\n";
            write(&format!("fdinfo/{}", number + 10), text.as_bytes());
        }
        for (number, _) in task.listening.iter().enumerate() {
            link(
                &format!("fd/{}", number + 100),
                &format!("socket:[{}]", 9000 + number),
            );
        }
    }

    /// Puts a file where a process sees it.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.0.write(path.trim_start_matches('/'), content)
    }
}

/// Field 22 is where it has to be, whatever the fields before it.
#[track_caller]
fn fields(stat: &str, start_ticks: u64) -> String {
    let behind_name = stat.rsplit_once(')').unwrap().1;
    let start = behind_name.split_whitespace().nth(22 - 3).unwrap();
    assert_eq!(start, start_ticks.to_string());
    stat.to_owned()
}

/// A process of a synthetic machine.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) start_ticks: u64,
    /// Size of its address space.
    pub(crate) virtual_bytes: u64,
    pub(crate) exe: String,
    pub(crate) cwd: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<String>,
    pub(crate) cgroup: String,
    /// Files it has mapped.
    pub(crate) mapped: Vec<String>,
    /// Files it has open.
    pub(crate) open: Vec<String>,
    /// Ports it listens on, on loopback.
    pub(crate) listening: Vec<u16>,
}

impl Task {
    pub(crate) fn new(pid: u32, name: &str) -> Self {
        Self {
            pid,
            parent: 1,
            name: name.to_owned(),
            uid: 1000,
            start_ticks: 100_000 + u64::from(pid),
            virtual_bytes: 1_000_000,
            exe: format!("/usr/bin/{name}"),
            cwd: "/".to_owned(),
            arguments: vec![format!("/usr/bin/{name}")],
            environment: Vec::new(),
            cgroup: "0::/user.slice/user-1000.slice/session-2.scope\n".to_owned(),
            mapped: vec!["/usr/lib/x86_64-linux-gnu/libcuda.so.1".to_owned()],
            open: Vec::new(),
            listening: Vec::new(),
        }
    }

    /// A llama.cpp server with a model mapped, on its own words `settings`.
    pub(crate) fn llama_server(pid: u32, model: &str, settings: &str) -> Self {
        let mut task = Self::new(pid, "llama-server")
            .started_with(&format!("/usr/bin/llama-server -m {model} {settings}"));
        task.mapped.push(model.to_owned());
        task
    }

    #[must_use]
    pub(crate) fn started_with(mut self, line: &str) -> Self {
        self.arguments = line.split_whitespace().map(str::to_owned).collect();
        self
    }
}

fn zero_terminated(entries: &[String]) -> String {
    entries.iter().fold(String::new(), |mut text, entry| {
        text.push_str(entry);
        text.push('\0');
        text
    })
}

fn maps(paths: &[String]) -> String {
    let mut text = String::new();
    let mut start = 0x7f00_0000_0000_u64;
    for path in paths {
        let end = start + 0x10_0000;
        writeln!(
            text,
            "{start:x}-{end:x} r--s 00000000 08:01 77                        {path}"
        )
        .unwrap();
        start = end + 0x1000;
    }
    text
}

fn tcp(ports: &[u16]) -> String {
    let mut text = String::from(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n",
    );
    for (number, port) in ports.iter().enumerate() {
        let inode = 9000 + number;
        writeln!(
            text,
            "{number:4}: 0100007F:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1 0000000000000000 100 0 0 10 0"
        )
        .unwrap();
    }
    text
}
