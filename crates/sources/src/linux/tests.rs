//! Reads below directories that stand for machines, friendly and hostile ones, and of this very process.
#![expect(
    clippy::disallowed_methods,
    reason = "builds the directories that are read"
)]

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use model::{Gap, Text};
use raw::{Inline, Listener, ProcessRef, Question, Reply, Root};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, mknodat, openat2};
use rustix::io::Errno;

use super::subject::{Subject, start_ticks};
use super::*;
use crate::posted::Reader;

/// A directory that goes away with this value.
pub(super) struct Tree(pub(super) PathBuf);

impl Tree {
    pub(super) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("gputaskman-sources-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn at(&self, path: &str) -> PathBuf {
        let full = self.0.join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        full
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// A folder that its owner alone may enter, and nobody else is its owner.
    pub(super) fn forbidden(&self, path: &str) {
        let full = self.0.join(path);
        fs::create_dir_all(&full).unwrap();
        let mode = if rustix::process::geteuid().is_root() {
            0o700
        } else {
            0
        };
        fs::set_permissions(full, fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(super) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::write(self.at(path), content).unwrap();
        self
    }

    pub(super) fn link(&self, path: &str, to: &str) -> &Self {
        symlink(to, self.at(path)).unwrap();
        self
    }

    pub(super) fn fifo(&self, path: &str) -> &Self {
        mknodat(CWD, self.at(path), FileType::Fifo, Mode::RUSR, 0).unwrap();
        self
    }

    pub(super) fn folder(&self, path: &str) -> &Self {
        fs::create_dir_all(self.0.join(path)).unwrap();
        self
    }

    /// A process with that number and start time.
    pub(super) fn process(&self, pid: u32, start: u64) -> &Self {
        self.file(&format!("proc/{pid}/stat"), stat(pid, start))
    }

    fn inline(&self, question: &Inline) -> Result<Reply, Gap> {
        let mut reads = InlineReads::new(Arc::new(Place::new(Some(self.0.clone()))));
        reads.read(question).map(|answer| answer.value)
    }

    pub(super) fn posted(&self, question: &Question) -> Result<Reply, Gap> {
        posted_in(Some(&self.0), question)
    }

    fn process_file(&self, path: &str) -> Result<Reply, Gap> {
        self.posted(&file(Root::Process(WHO), path))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

const WHO: ProcessRef = ProcessRef {
    pid: 7,
    start_ticks: 99,
};

fn posted_in(root: Option<&Path>, question: &Question) -> Result<Reply, Gap> {
    let place = Place::new(root.map(Path::to_owned));
    PostedReads::new(Arc::new(place), Apps::new(&[])).read(question)
}

fn stat(pid: u32, start: u64) -> String {
    let zeros = "0 ".repeat(18);
    format!("{pid} (a ) (b) S {zeros}{start} 0 0\n")
}

fn file(root: Root, path: &str) -> Question {
    Question::File {
        root,
        path: path.into(),
        offset: 0,
        len: 100,
    }
}

fn meta(root: Root, path: &str) -> Question {
    Question::Stat {
        root,
        path: path.into(),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what reads are compared with")]
fn text(text: &str) -> Result<Reply, Gap> {
    Ok(Reply::text(text))
}

/// What is found through a link: the text, or nothing where the kernel cannot confine links.
fn followed(content: &str) -> Result<Reply, Gap> {
    let flags = OFlags::PATH;
    match openat2(CWD, "/", flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        Ok(_) => text(content),
        Err(_) => Err(Gap::NotPresent),
    }
}

/// Whether the system calls of this process are translated by an emulator that shows it another self.
fn is_emulated() -> bool {
    let proc = fs::File::open("/proc").unwrap();
    let seen = rustix::fs::readlinkat(&proc, "self/exe", Vec::new()).unwrap();
    seen.to_bytes() != std::env::current_exe().unwrap().as_os_str().as_bytes()
}

fn myself() -> ProcessRef {
    let stat = fs::read("/proc/self/stat").unwrap();
    ProcessRef {
        pid: std::process::id(),
        start_ticks: start_ticks(&stat).unwrap(),
    }
}

#[test]
fn texts_of_a_process_are_verbatim_and_status_is_cut_down() {
    let tree = Tree::new();
    tree.process(7, 99).file("proc/7/cgroup", "0::/a\n").file(
        "proc/7/status",
        "Name:\tx\nUmask:\t0022\nPPid:\t1\nUid:\t1\t2\t3\t4\nNSpid:\t7\t1\nVmRSS:\t1 kB\n",
    );
    assert_eq!(tree.inline(&Inline::Stat(7)), text(&stat(7, 99)));
    assert_eq!(tree.inline(&Inline::Cgroup(7)), text("0::/a\n"));
    assert_eq!(
        tree.inline(&Inline::Status(7)),
        text("Name:\tx\nPPid:\t1\nUid:\t1\t2\t3\t4\nNSpid:\t7\t1\n")
    );
}

#[test]
fn a_process_that_is_not_there_has_ended_and_a_file_of_one_that_is_there_is_missing() {
    let tree = Tree::new();
    tree.folder("proc").folder("proc/7");
    assert_eq!(tree.inline(&Inline::Stat(8)), Err(Gap::Exited));
    assert_eq!(tree.inline(&Inline::Cgroup(8)), Err(Gap::Exited));
    assert_eq!(tree.inline(&Inline::Cgroup(7)), Err(Gap::NotPresent));
    assert_eq!(tree.inline(&Inline::Stat(7)), Err(Gap::NotPresent));
    assert_eq!(tree.inline(&Inline::PidNamespace), Err(Gap::NotPresent));
    let small = |path: &str| tree.inline(&Inline::Small(path.into()));
    assert_eq!(small("/sys/class/drm/card0/x"), Err(Gap::NotPresent));
    assert_eq!(tree.posted(&Question::Maps(WHO)), Err(Gap::NotPresent));
    tree.process(7, 99);
    for question in [
        Question::Maps(WHO),
        Question::CommandLine(WHO),
        Question::Environment(WHO),
    ] {
        assert_eq!(tree.posted(&question), Err(Gap::NotPresent), "it lives");
    }
    tree.process(7, 100);
    for question in [
        Question::Maps(WHO),
        Question::CommandLine(WHO),
        Question::OpenFiles(WHO),
    ] {
        assert_eq!(
            tree.posted(&question),
            Err(Gap::Exited),
            "another has its number"
        );
    }
    let nowhere = Tree::new();
    assert_eq!(nowhere.inline(&Inline::Stat(1)), Err(Gap::Exited));
    let gone = Place::new(Some(nowhere.0.join("gone")));
    let names = InlineReads::new(Arc::new(gone)).read(&Inline::Names("/sys".into()));
    assert_eq!(names, Err(Gap::NotPresent));
}

#[test]
fn small_files_and_names_stay_in_their_folders() {
    let tree = Tree::new();
    tree.file("sys/b/power", "on\n")
        .file("sys/a", "")
        .file("dev/nvidia0", "")
        .file("etc/secret", "no")
        .link("sys/out", "/etc/secret");
    let small = |path: &str| tree.inline(&Inline::Small(path.into()));
    assert_eq!(small("/sys/b/power"), text("on\n"));
    assert_eq!(small("/sys/b/../b/power"), Err(Gap::NotPresent));
    assert_eq!(small("/etc/secret"), Err(Gap::NotPresent));
    assert_eq!(small("sys/b/power"), Err(Gap::NotPresent));
    assert_eq!(small("/sys/out"), followed("no"));
    let names = |path: &str| tree.inline(&Inline::Names(path.into()));
    let named = |names: &[&str]| Ok(Reply::Names(names.iter().map(|n| Text::from(*n)).collect()));
    assert_eq!(names("/sys"), named(&["a", "b", "out"]));
    assert_eq!(names("/dev/"), named(&["nvidia0"]));
    assert_eq!(names("/etc"), Err(Gap::NotPresent));
    assert_eq!(names("/sys/a"), Err(Gap::NotPresent));
}

#[test]
fn texts_longer_than_their_bound_are_over_it() {
    let tree = Tree::new();
    tree.file("sys/big", vec![b'x'; 64 * 1024 + 1])
        .file("sys/just", vec![b'x'; 64 * 1024])
        .process(7, 99)
        .file("proc/7/cmdline", vec![b'x'; 128 * 1024 + 1]);
    let small = |path: &str| tree.inline(&Inline::Small(path.into()));
    assert_eq!(small("/sys/big"), Err(Gap::OverBound));
    assert!(small("/sys/just").is_ok());
    assert_eq!(
        tree.posted(&Question::CommandLine(WHO)),
        Err(Gap::OverBound)
    );
}

#[test]
fn pipes_folders_and_links_in_place_of_files_are_not_read_and_told_as_such() {
    let tree = Tree::new();
    tree.fifo("proc/7/stat")
        .folder("proc/8/stat")
        .file("elsewhere/stat", stat(9, 99))
        .link("proc/9", "../elsewhere")
        .link("proc/10/stat", "../../elsewhere/stat");
    for (pid, gap) in [
        (7, Gap::NotRegular),
        (8, Gap::NotRegular),
        // A link in place of a process is none.
        (9, Gap::NotPresent),
        (10, Gap::NotRegular),
    ] {
        assert_eq!(tree.inline(&Inline::Stat(pid)), Err(gap), "{pid}");
        let who = ProcessRef {
            pid,
            start_ticks: 99,
        };
        assert_eq!(tree.posted(&Question::Maps(who)), Err(gap), "{pid}");
    }
}

#[test]
fn another_process_under_the_same_number_is_not_read() {
    let tree = Tree::new();
    tree.process(7, 99).file("proc/7/cmdline", "a\0b\0");
    assert_eq!(tree.posted(&Question::CommandLine(WHO)), text("a\0b\0"));
    tree.process(7, 100);
    assert_eq!(tree.posted(&Question::CommandLine(WHO)), Err(Gap::Exited));
    assert_eq!(tree.process_file("/x"), Err(Gap::Exited));
    tree.file("proc/7/stat", "7 (x) S 1");
    assert_eq!(
        tree.posted(&Question::CommandLine(WHO)),
        Err(Gap::Malformed)
    );
}

#[test]
fn a_number_that_changes_hands_during_a_read_is_noticed_after_it() {
    let tree = Tree::new();
    tree.process(7, 99);
    let place = Place::new(Some(tree.0.clone()));
    let subject = subject::Subject::open(&place, WHO).unwrap();
    assert_eq!(subject.confirm(), Ok(()));
    tree.process(7, 100);
    assert_eq!(subject.confirm(), Err(Gap::Exited));
}

#[test]
fn the_root_of_a_process_cannot_be_left() {
    let tree = Tree::new();
    tree.process(7, 99)
        .file("etc/shadow", "outside")
        .file("proc/7/root/etc/hosts", "inside")
        .link("proc/7/root/absolute", "/etc/shadow")
        .link("proc/7/root/relative", "../../../etc/shadow")
        .link("proc/7/root/good", "/etc/hosts")
        .link("proc/7/root/folder", "/etc")
        .link("proc/7/root/loop", "loop");
    for (path, gap) in [
        ("/absolute", Gap::NotPresent),
        ("/relative", Gap::NotPresent),
        ("/../../../etc/shadow", Gap::NotPresent),
        ("/folder/shadow", Gap::NotPresent),
        ("/loop", Gap::NotRegular),
    ] {
        assert_eq!(tree.process_file(path), Err(gap), "{path}");
        let question = meta(Root::Process(WHO), path);
        assert_eq!(tree.posted(&question), Err(gap), "{path}");
    }
    assert_eq!(tree.process_file("/etc/hosts"), text("inside"));
    assert_eq!(tree.process_file("/good"), followed("inside"));
    assert_eq!(tree.process_file("/folder/hosts"), followed("inside"));
    assert_eq!(tree.process_file("etc/hosts"), Err(Gap::NotPresent));
    assert_eq!(tree.process_file("/etc/hosts\0"), Err(Gap::NotPresent));
}

#[test]
fn a_process_whose_root_is_a_link_has_the_directory_as_its_root() {
    let tree = Tree::new();
    tree.process(7, 99).file("models/m", "m");
    assert_eq!(tree.process_file("/models/m"), text("m"));
    tree.link("proc/7/root", "/somewhere");
    assert_eq!(tree.process_file("/models/m"), text("m"));
    assert_eq!(tree.posted(&file(Root::Host, "/models/m")), text("m"));
}

#[test]
fn only_regular_files_are_opened() {
    let tree = Tree::new();
    tree.process(7, 99)
        .fifo("fifo")
        .folder("folder")
        .link("null", "/dev/null");
    let refused = [
        ("/fifo", Gap::NotRegular),
        ("/folder", Gap::NotRegular),
        // It leads out of the directory.
        ("/null", Gap::NotPresent),
        ("/", Gap::NotRegular),
    ];
    for (path, gap) in refused {
        for root in [Root::Host, Root::Process(WHO)] {
            assert_eq!(tree.posted(&file(root, path)), Err(gap));
            assert_eq!(tree.posted(&meta(root, path)), Err(gap));
        }
    }
    let device = posted_in(None, &file(Root::Host, "/dev/null"));
    assert_eq!(device, Err(Gap::NotRegular));
}

#[test]
fn parts_of_a_file_end_with_it_and_are_bounded() {
    let tree = Tree::new();
    tree.file("m", "0123456789");
    let part = |offset, len| {
        tree.posted(&Question::File {
            root: Root::Host,
            path: "/m".into(),
            offset,
            len,
        })
    };
    assert_eq!(part(2, 3), text("234"));
    assert_eq!(part(8, 100), text("89"));
    assert_eq!(part(10, 100), text(""));
    assert_eq!(part(u64::MAX, 100), text(""));
    assert_eq!(part(0, u32::MAX), Err(Gap::OverBound));
}

#[test]
fn a_huge_sparse_file_is_read_in_parts_only() {
    let tree = Tree::new();
    let path = tree.at("huge");
    let huge = fs::File::options()
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    huge.set_len(1 << 40).unwrap();
    let part = tree.posted(&Question::File {
        root: Root::Host,
        path: "/huge".into(),
        offset: (1 << 40) - 4,
        len: 1 << 20,
    });
    assert_eq!(part, text("\0\0\0\0"));
    match tree.posted(&meta(Root::Host, "/huge")) {
        Ok(Reply::Meta(meta)) => assert_eq!(meta.size, 1 << 40),
        other => panic!("{other:?}"),
    }
}

#[test]
fn strings_are_skipped_and_their_end_is_told() {
    let tree = Tree::new();
    let mut bytes = vec![0xFF];
    for word in ["one", "", "three"] {
        bytes.extend(u64::try_from(word.len()).unwrap().to_le_bytes());
        bytes.extend(word.as_bytes());
    }
    let end = u64::try_from(bytes.len()).unwrap();
    tree.file("m", &bytes);
    let skip = |count| {
        tree.posted(&Question::SkipStrings {
            root: Root::Host,
            path: "/m".into(),
            offset: 1,
            count,
            length_bytes: 8,
            big_endian: false,
        })
    };
    assert_eq!(skip(3), Ok(Reply::End(end)));
    assert_eq!(skip(4), Err(Gap::Malformed));
}

#[test]
fn without_confinement_by_the_kernel_paths_with_links_are_not_followed() {
    let tree = Tree::new();
    tree.file("a/b", "x").link("l", "a").link("a/c", "b");
    let root = fs::File::open(&tree.0).unwrap();
    let walk = |path: &str| {
        beneath::walk(std::os::fd::AsFd::as_fd(&root), path, OFlags::empty()).map(drop)
    };
    assert_eq!(walk("/a/b"), Ok(()));
    assert_eq!(walk("/./a//b"), Ok(()));
    assert_eq!(walk("/"), Ok(()));
    assert_eq!(walk("/a/c"), Err(Errno::LOOP));
    assert_eq!(walk("/a/../a/b"), Err(Errno::LOOP));
    assert!(walk("/l/b").is_err());
    assert_eq!(walk(&"/a".repeat(300)), Err(Errno::LOOP));
}

#[test]
fn links_and_open_files_are_texts_below_a_directory() {
    let tree = Tree::new();
    tree.process(7, 99)
        .link("proc/7/exe", "/usr/bin/x (deleted)")
        .link("proc/7/cwd", "/nowhere")
        .file("models/there", "")
        .folder("models/folder")
        .link("proc/7/fd/10", "/models/there")
        .link("proc/7/fd/2", "/models/not in the copy")
        .link("proc/7/fd/3", "/models/folder")
        .link("proc/7/fd/4", "socket:[1]")
        .link("proc/7/fd/5", "/dev/nvidia0")
        .link("proc/7/fd/x", "/models/there");
    let links = |pairs: &[(&str, &str)]| {
        let pair = |(a, b): &(&str, &str)| (Text::from(*a), Text::from(*b));
        Ok(Reply::Links(pairs.iter().map(pair).collect()))
    };
    assert_eq!(
        tree.posted(&Question::Links(WHO)),
        links(&[("exe", "/usr/bin/x (deleted)"), ("cwd", "/nowhere")])
    );
    // No regular file but what the copy has, and what it cannot tell about.
    let Ok(Reply::Open(open)) = tree.posted(&Question::OpenFiles(WHO)) else {
        panic!("open files");
    };
    let told: Vec<(&str, &str, bool)> = open
        .iter()
        .map(|it| (&*it.fd, &*it.path, it.file.is_some()))
        .collect();
    assert_eq!(
        told,
        [
            ("2", "/models/not in the copy", false),
            ("10", "/models/there", true)
        ]
    );
}

#[test]
fn listeners_are_the_listening_sockets_of_the_process() {
    let tree = Tree::new();
    let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
    let row = |address: &str, port: u16, state: &str, inode: u32| {
        format!("0: {address}:{port:04X} 0:0 {state} 0:0 0:0 0 0 0 {inode} 1\n")
    };
    let loopback = word([127, 0, 0, 1]);
    let any = word([0; 4]);
    let outside = word([10, 0, 0, 1]);
    let tcp = ["header\n".to_owned()]
        .into_iter()
        .chain([
            row(&loopback, 8080, "0A", 1),
            row(&any, 81, "0A", 2),
            row(&outside, 82, "0A", 3),
            row(&loopback, 83, "01", 4),
            row(&loopback, 84, "0A", 99),
        ])
        .collect::<String>();
    tree.process(7, 99)
        .file("proc/7/net/tcp", tcp)
        .file(
            "proc/7/net/tcp6",
            row(&format!("{:032X}", 0), 8080, "0A", 5),
        )
        .link("proc/self/ns/net", "net:[1]")
        .link("proc/7/ns/net", "net:[1]");
    for inode in 1..=5 {
        tree.link(&format!("proc/7/fd/{inode}"), &format!("socket:[{inode}]"));
    }
    let all = |here: bool| {
        let listener = |port, loopback, v6, any| Listener {
            port,
            loopback,
            v6,
            any,
            foreign: !here,
            shared: false,
        };
        Ok(Reply::Listeners(vec![
            listener(81, here, false, true),
            listener(82, false, false, false),
            listener(8080, here, false, false),
            listener(8080, here, true, true),
        ]))
    };
    assert_eq!(tree.posted(&Question::Listeners(WHO)), all(true));
    fs::remove_file(tree.0.join("proc/7/ns/net")).unwrap();
    tree.link("proc/7/ns/net", "net:[2]");
    assert_eq!(tree.posted(&Question::Listeners(WHO)), all(false));
}

#[test]
fn a_port_with_a_socket_of_another_process_is_shared() {
    let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
    let row = |address: &str, port: u16, inode: u64| {
        format!("0: {address}:{port:04X} 0:0 0A 0:0 0:0 0 0 0 {inode} 1\n")
    };
    let (all, here, elsewhere) = (word([0; 4]), word([127, 0, 0, 1]), word([10, 0, 0, 1]));
    let any6 = format!("{:032X}", 0);
    let tree = Tree::new();
    let mine = [
        row(&here, 81, 1),
        row(&all, 82, 2),
        row(&all, 83, 3),
        row(&here, 84, 4),
        row(&here, 85, 5),
    ];
    let others = [
        row(&here, 81, 21),
        row(&here, 82, 22),
        row(&elsewhere, 83, 23),
        row(&all, 84, 24),
    ];
    tree.process(7, 99)
        .file("proc/7/net/tcp", mine.concat() + &others.concat())
        // Of the other family: a connection to 127.0.0.1 goes to the socket of its own.
        .file("proc/7/net/tcp6", row(&any6, 85, 25))
        .link("proc/self/ns/net", "net:[1]")
        .link("proc/7/ns/net", "net:[1]");
    for inode in 1..=5 {
        tree.link(&format!("proc/7/fd/{inode}"), &format!("socket:[{inode}]"));
    }
    let Ok(Reply::Listeners(found)) = tree.posted(&Question::Listeners(WHO)) else {
        panic!("no listeners");
    };
    let shared: Vec<(u16, bool)> = found.iter().map(|it| (it.port, it.shared)).collect();
    assert_eq!(
        shared,
        [
            (81, true),
            (82, true),
            (83, false),
            (84, false),
            (85, false)
        ]
    );
    let question = Question::Http {
        who: WHO,
        port: 81,
        endpoint: raw::Endpoint::LlamaProps,
    };
    assert_eq!(tree.posted(&question), Err(Gap::SharedPort));
}

#[test]
fn users_have_a_name_or_their_number() {
    let tree = Tree::new();
    assert_eq!(tree.posted(&Question::UserName(5)), text("5"));
    tree.file(
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\n:x:6::\nbroken\nann:x:5:5::/:/bin/sh\n",
    );
    assert_eq!(tree.posted(&Question::UserName(0)), text("root"));
    assert_eq!(tree.posted(&Question::UserName(5)), text("ann"));
    assert_eq!(tree.posted(&Question::UserName(6)), text("6"));
    assert_eq!(tree.posted(&Question::UserName(7)), text("7"));
}

#[test]
fn this_process_can_be_read_live() {
    if is_emulated() {
        writeln!(std::io::stderr(), "SKIPPED: an emulator stands between").unwrap();
        return;
    }
    let me = myself();
    let mut inline = InlineReads::new(Arc::new(Place::new(None)));
    for _ in 0..2 {
        match inline.read(&Inline::Stat(me.pid)).unwrap().value {
            Reply::Bytes(stat) => assert_eq!(start_ticks(&stat), Some(me.start_ticks)),
            other => panic!("{other:?}"),
        }
    }
    assert!(inline.read(&Inline::PidNamespace).is_ok());
    assert!(inline.read(&Inline::Small("/proc/meminfo".into())).is_ok());
    assert!(inline.read(&Inline::Names("/dev".into())).is_ok());

    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let program = std::env::current_exe().unwrap();
    let read = |question| posted_in(None, &question).unwrap();
    match read(Question::Listeners(me)) {
        Reply::Listeners(found) => assert!(found.contains(&Listener {
            port,
            loopback: true,
            v6: false,
            any: false,
            foreign: false,
            shared: false,
        })),
        other => panic!("{other:?}"),
    }
    match read(Question::Maps(me)) {
        Reply::Bytes(maps) => {
            assert!(String::from_utf8_lossy(&maps).contains(program.to_str().unwrap()));
        }
        other => panic!("{other:?}"),
    }
    match read(Question::Links(me)) {
        Reply::Links(links) => assert_eq!(&*links[0].1, program.to_str().unwrap()),
        other => panic!("{other:?}"),
    }
    let opened = fs::File::open(&program).unwrap();
    match read(Question::OpenFiles(me)) {
        Reply::Open(open) => {
            let own = open.iter().find(|it| Path::new(&*it.path) == program);
            assert_eq!(own.unwrap().writes, Some(false));
        }
        other => panic!("{other:?}"),
    }
    drop(opened);
    let path = program.to_str().unwrap();
    assert!(matches!(
        read(file(Root::Process(me), path)),
        Reply::Bytes(bytes) if bytes.starts_with(b"\x7fELF")
    ));
    assert!(matches!(read(Question::CommandLine(me)), Reply::Bytes(_)));
    assert!(matches!(read(Question::Environment(me)), Reply::Bytes(_)));
}

#[test]
fn a_process_that_ends_while_it_is_read_has_exited() {
    let mut child = std::process::Command::new("/bin/cat")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let path = format!("/proc/{}/stat", child.id());
    let who = ProcessRef {
        pid: child.id(),
        start_ticks: start_ticks(&fs::read(path).unwrap()).unwrap(),
    };
    let subject = Subject::open(&Place::new(None), who).unwrap();
    assert_eq!(subject.confirm(), Ok(()));
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(subject.confirm(), Err(Gap::Exited));
}

#[test]
fn below_a_directory_a_stat_that_was_replaced_while_it_was_read_is_seen() {
    let tree = Tree::new();
    tree.process(WHO.pid, WHO.start_ticks);
    let place = Place::new(Some(tree.0.clone()));
    let subject = Subject::open(&place, WHO).unwrap();
    assert_eq!(subject.confirm(), Ok(()));
    tree.file("proc/7/new", stat(WHO.pid, WHO.start_ticks + 1));
    fs::rename(tree.at("proc/7/new"), tree.at("proc/7/stat")).unwrap();
    assert_eq!(subject.confirm(), Err(Gap::Exited));
}
