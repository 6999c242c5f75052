//! A root folder that stands for a machine: `proc`, `sys` and `etc` with what the program reads of them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use machine_file::Entry;

use crate::gguf_file::GgufFile;

/// How long the machine has been running, seconds.
pub(super) const UPTIME: u64 = 273_912;

/// The kernel of the made-up machines.
pub(super) const KERNEL: &str = "6.12.48";

/// The first PID namespace of a machine, and one inside a container.
pub(super) const FIRST_NAMESPACE: &str = "pid:[4026531836]";
pub(super) const NESTED_NAMESPACE: &str = "pid:[4026532913]";

const USERS: &str = "\
root:x:0:0:root:/root:/bin/bash
ollama:x:997:996:ollama:/usr/share/ollama:/bin/false
ana:x:1000:1000:Ana:/home/user:/bin/bash
ml:x:1001:1001:Machine learning:/srv/ml:/bin/bash
";

/// A process of the made-up machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) user: u32,
    pub(super) name: &'static str,
    /// Seconds after boot.
    pub(super) started: u64,
    pub(super) arguments: Vec<String>,
    /// Entries with their final zeros.
    pub(super) environment: String,
    pub(super) exe: &'static str,
    pub(super) folder: &'static str,
    /// Mapped files, in order; the executable comes by itself.
    pub(super) maps: Vec<String>,
    /// Open files.
    pub(super) open: Vec<String>,
    /// The port it listens on, on all addresses.
    pub(super) port: Option<u16>,
    pub(super) cgroup: String,
    /// Files below its own root, where that is not the machine's.
    pub(super) own_root: bool,
}

/// A display device on the bus.
pub(super) struct Card {
    pub(super) address: &'static str,
    pub(super) vendor: &'static str,
    pub(super) power: &'static str,
    /// Its kernel driver; none where the card has no entry in `/sys/class/drm`.
    pub(super) driver: Option<&'static str>,
}

/// The folder, removed at the end.
pub(super) struct Tree {
    folder: PathBuf,
}

impl Drop for Tree {
    fn drop(&mut self) {
        // Nothing of value is lost where it stays.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Tree {
    fn empty(name: &str) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("demo-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(Self { folder })
    }

    /// A machine that has these cards and no processes yet.
    pub(super) fn new(name: &str, namespace: &str, cards: &[Card]) -> Result<Self> {
        let tree = Self::empty(name)?;
        tree.file("etc/passwd", USERS)?;
        tree.file("proc/uptime", &format!("{UPTIME}.44 3281144.21\n"))?;
        tree.file("proc/sys/kernel/osrelease", &format!("{KERNEL}\n"))?;
        tree.file("proc/sys/kernel/hostname", "made-up\n")?;
        tree.link("proc/self/ns/pid", namespace)?;
        tree.link("proc/self/ns/net", "net:[4026531840]")?;
        fs::create_dir_all(tree.folder.join("sys/bus/pci/devices"))?;
        fs::create_dir_all(tree.folder.join("sys/class/drm"))?;
        for (number, card) in cards.iter().enumerate() {
            let device = format!("sys/bus/pci/devices/{}", card.address);
            tree.file(&format!("{device}/class"), "0x030000\n")?;
            tree.file(&format!("{device}/vendor"), &format!("{}\n", card.vendor))?;
            tree.file(
                &format!("{device}/power/runtime_status"),
                &format!("{}\n", card.power),
            )?;
            if let Some(driver) = card.driver {
                let uevent = format!("DRIVER={driver}\nPCI_SLOT_NAME={}\n", card.address);
                tree.file(
                    &format!("sys/class/drm/card{number}/device/uevent"),
                    &uevent,
                )?;
            }
        }
        Ok(tree)
    }

    /// The machine of a file in `fixtures/drm`.
    pub(super) fn written_down(name: &str, file: &str) -> Result<Self> {
        let tree = Self::empty(name)?;
        let source = crate::repository().join("fixtures/drm").join(file);
        let text =
            fs::read_to_string(&source).with_context(|| format!("reading {}", source.display()))?;
        for (path, entry) in machine_file::read(&text).with_context(|| file.to_owned())? {
            match entry {
                Entry::File(content) => tree.bytes(path, &content)?,
                Entry::Link(to) => tree.link(path, &to)?,
            }
        }
        Ok(tree)
    }

    /// Where it is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a model file at an absolute path, in the root of a process if one is given.
    pub(super) fn model(&self, root_of: Option<u32>, path: &str, file: &GgufFile) -> Result<()> {
        let root = root_of.map_or_else(String::new, |pid| format!("proc/{pid}/root"));
        let place = self.folder.join(root).join(path.trim_start_matches('/'));
        file.write(&place)
            .with_context(|| format!("writing {path}"))
    }

    /// Adds a process.
    pub(super) fn process(&self, process: &Process) -> Result<()> {
        let Process {
            pid,
            parent,
            user,
            name,
            ..
        } = process;
        let folder = format!("proc/{pid}");
        let put = |file: &str, text: &str| self.file(&format!("{folder}/{file}"), text);
        put("stat", &stat(process))?;
        put(
            "status",
            &format!(
                "Name:\t{name}\nState:\tS (sleeping)\nPid:\t{pid}\nPPid:\t{parent}\n\
                 Uid:\t{user}\t{user}\t{user}\t{user}\nNSpid:\t{pid}\n"
            ),
        )?;
        put("cgroup", &format!("0::{}\n", process.cgroup))?;
        put("cmdline", &(process.arguments.join("\0") + "\0"))?;
        put(
            "environ",
            &format!("PATH=/usr/bin\0LANG=C.UTF-8\0{}", process.environment),
        )?;
        put("maps", &maps(process))?;
        put("net/tcp", &tcp_table(process))?;
        fs::create_dir_all(self.folder.join(format!("{folder}/fd")))?;
        if process.own_root {
            fs::create_dir_all(self.folder.join(format!("{folder}/root")))?;
        }
        let mut links = vec![
            (format!("{folder}/exe"), process.exe.to_owned()),
            (format!("{folder}/cwd"), process.folder.to_owned()),
            (format!("{folder}/fd/0"), "/dev/null".to_owned()),
        ];
        if process.port.is_some() {
            links.push((
                format!("{folder}/fd/3"),
                format!("socket:[{}]", socket(process)),
            ));
        }
        for (fd, file) in (7..).zip(&process.open) {
            links.push((format!("{folder}/fd/{fd}"), file.clone()));
        }
        for (link, text) in links {
            self.link(&link, &text)?;
        }
        Ok(())
    }

    fn file(&self, path: &str, text: &str) -> Result<()> {
        self.bytes(path, text.as_bytes())
    }

    fn bytes(&self, path: &str, content: &[u8]) -> Result<()> {
        let path = self.folder.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, content).with_context(|| format!("writing {}", path.display()))
    }

    /// By `ln`, because the standard library makes links differently on each system and this tool is built on all.
    fn link(&self, path: &str, text: &str) -> Result<()> {
        let path = self.folder.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let made = Command::new("ln")
            .args(["-s", "--", text])
            .arg(&path)
            .status();
        ensure!(
            made.context("running ln")?.success(),
            "no link {}",
            path.display()
        );
        Ok(())
    }
}

fn stat(process: &Process) -> String {
    let Process {
        pid,
        parent,
        name,
        started,
        ..
    } = process;
    let start = started * 100;
    format!(
        "{pid} ({name}) S {parent} {pid} {pid} 0 -1 4194304 91234 0 17 0 4211 913 0 0 20 0 9 0 {start} 18253611008 \
         301177 18446744073709551615 1 1 0 0 0 0 0 4096 17655 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    )
}

/// Each file in one range, beginning with the executable. Sizes and inodes follow from the position.
fn maps(process: &Process) -> String {
    let exe = process.exe.to_owned();
    let files = std::iter::once(&exe).chain(&process.maps);
    let mut text = String::new();
    let mut at: u64 = 0x7f31_0000_0000;
    for (inode, file) in (700_001..).zip(files) {
        let (len, rights, offset) = if file.contains(".so") {
            (0x20_0000, "r-xp", 0x1000)
        } else if *file == exe {
            (0x80_0000, "r-xp", 0x1000)
        } else {
            // What llama.cpp leaves of a model file that it has copied to the device.
            (0x1a20_0000, "r--s", 0x5000)
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{at:x}-{:x} {rights} {offset:08x} 08:02 {inode} {file}",
            at + len
        );
        at += len + 0x1000_0000;
    }
    text.push_str("7ffd1c000000-7ffd1c021000 rw-p 00000000 00:00 0 [stack]\n");
    text
}

fn socket(process: &Process) -> u32 {
    process.pid * 10 + 3
}

fn tcp_table(process: &Process) -> String {
    let mut text = String::from(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n",
    );
    if let Some(port) = process.port {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "   0: 00000000:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000  {}        0 {} 1 0",
            process.user,
            socket(process)
        );
    }
    text
}
