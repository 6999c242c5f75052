//! The search for processes that have a node open.
//!
//! Looking at every descriptor of every process costs tens of milliseconds, so a process whose number of descriptors
//! has not changed is passed over most times, and a search that takes longer than its budget goes on the next time
//! where it stopped. Nodes that were found before are looked at in every refresh.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};

use model::Stamp;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::super::beneath;
use super::super::place::{Place, link_text};
use super::super::subject::start_ticks;
use super::super::text::read_all;
use super::nodes::{Open, open_node};
use crate::clock;

/// Processes looked at; the kernel's own limit for their number is 4 million, a large server has some thousands.
const MAX_PROCESSES: usize = 65_536;

/// Descriptors of one process looked at. One that has more is counted as unreadable.
const MAX_DESCRIPTORS: usize = 65_536;

/// Descriptors of nodes kept of one process; browsers have about ten.
const MAX_NODES: usize = 1_024;

/// A process is looked at in full at least every so many searches: it may have closed one file and opened another.
const FULL_EVERY: u64 = 5;

/// `/proc/PID/stat` has 52 numbers and a name of at most 64 bytes.
const STAT_BOUND: usize = 4 * 1024;

/// Field 9 of `stat`; the fields behind the name start with the third.
const FLAGS_FIELD: usize = 9 - 3;

/// Field 4, the parent.
const PARENT_FIELD: usize = 4 - 3;

/// Flag of a process that was forked and has executed nothing since (`include/linux/sched.h`, `PF_FORKNOEXEC`).
const FORKED_ONLY: u64 = 0x40;

/// Flag of kernel threads (`include/linux/sched.h`, `PF_KTHREAD`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What is known of processes.
#[derive(Default)]
pub(super) struct Search {
    waiting: VecDeque<u32>,
    started: Option<Stamp>,
    /// Start and end of the newest search that looked at everybody.
    pub(super) complete: Option<(Stamp, Stamp)>,
    number: u64,
    looked: HashMap<u32, Looked>,
    /// Processes that live and whose descriptors could not be listed.
    pub(super) unreadable: BTreeSet<u32>,
    /// Processes with nodes open: descriptor to node.
    pub(super) holders: BTreeMap<u32, BTreeMap<u32, Open>>,
    /// Whether the size of `/proc/PID/fd` is the number of descriptors, as it is since Linux 6.2.
    sizes_tell: bool,
    /// Processes whose descriptors were listed, for measurements.
    pub(super) listed: u64,
}

/// The list of descriptors as it was at the last look.
struct Looked {
    state: ListState,
    search: u64,
}

/// Changes when descriptors come or go: since Linux 6.2 the size of `/proc/PID/fd` is their number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct ListState {
    inode: u64,
    size: i64,
    changed: (i64, u64),
}

/// What came of looking at a process.
enum Sight {
    /// It has ended, and what it held is held by it no more.
    Gone,
    /// It lives, and its descriptors could not be listed, or not all of them: it may hold anything.
    Unreadable,
    Nodes(BTreeMap<u32, Open>),
}

impl Search {
    /// Looks at processes until all have been looked at or `goes_on` says no.
    pub(super) fn step(&mut self, place: &Place, mut goes_on: impl FnMut() -> bool) {
        let Ok(proc) = place.proc() else {
            return;
        };
        let Ok(all) = processes(proc) else {
            return;
        };
        self.sizes_tell =
            !place.is_directory() && list_state(proc, "self/fd").is_some_and(ListState::is_telling);
        self.looked.retain(|pid, _| all.contains(pid));
        self.holders.retain(|pid, _| all.contains(pid));
        self.unreadable.retain(|pid| all.contains(pid));
        if self.waiting.is_empty() {
            self.started = Some(clock::stamp());
            self.number += 1;
            self.waiting = all.into_iter().collect();
        } else {
            // Those that have started since; what was left over last time comes first.
            let known: BTreeSet<u32> = self.waiting.iter().copied().collect();
            let new = all
                .iter()
                .filter(|pid| !known.contains(pid) && !self.looked.contains_key(pid));
            self.waiting.extend(new);
        }
        while let Some(pid) = self.waiting.pop_front() {
            self.look(place, proc, pid);
            if !goes_on() {
                break;
            }
        }
        if self.waiting.is_empty()
            && let Some(started) = self.started
        {
            self.complete = Some((started, clock::stamp()));
        }
    }

    fn look(&mut self, place: &Place, proc: &OwnedFd, pid: u32) {
        let path = format!("{pid}/fd");
        let state = list_state(proc, &path);
        // Threads of the kernel, and processes that are about to end.
        if self.sizes_tell && state.is_some_and(|state| state.size == 0) {
            self.looked.remove(&pid);
            self.holders.remove(&pid);
            self.unreadable.remove(&pid);
            return;
        }
        if let (Some(state), Some(looked)) = (state, self.looked.get(&pid)) {
            // By their numbers, so that not all are due in the same search.
            let is_due = (self.number + u64::from(pid)).is_multiple_of(FULL_EVERY)
                || self.number - looked.search > FULL_EVERY;
            if looked.state == state && state.is_telling() && !is_due {
                return;
            }
        }
        self.look_again(place, proc, pid, state);
    }

    /// Looks at all descriptors of a process now.
    pub(super) fn look_now(&mut self, place: &Place, pid: u32) {
        if let Ok(proc) = place.proc() {
            let state = list_state(proc, &format!("{pid}/fd"));
            self.look_again(place, proc, pid, state);
        }
    }

    fn look_again(&mut self, place: &Place, proc: &OwnedFd, pid: u32, state: Option<ListState>) {
        self.listed += 1;
        self.looked.remove(&pid);
        self.holders.remove(&pid);
        self.unreadable.remove(&pid);
        match sight(place, proc, pid) {
            Sight::Gone => return,
            Sight::Unreadable => {
                self.unreadable.insert(pid);
            }
            Sight::Nodes(nodes) if nodes.is_empty() => {}
            Sight::Nodes(nodes) => {
                self.holders.insert(pid, nodes);
            }
        }
        if let Some(state) = state {
            let search = self.number;
            self.looked.insert(pid, Looked { state, search });
        }
    }
}

impl ListState {
    /// Whether equal states mean equal lists. Before Linux 6.2 the size is always 0.
    const fn is_telling(self) -> bool {
        self.size > 0
    }
}

fn list_state(proc: &OwnedFd, path: &str) -> Option<ListState> {
    let stat = statat(proc, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(ListState {
        inode: stat.st_ino,
        size: stat.st_size,
        changed: (stat.st_mtime, stat.st_mtime_nsec),
    })
}

/// The numbers in `/proc`.
fn processes(proc: &OwnedFd) -> Result<BTreeSet<u32>, Errno> {
    let folder = openat(proc, ".", folder_flags(), Mode::empty())?;
    let mut found = BTreeSet::new();
    for entry in Dir::new(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_str().ok();
        found.extend(name.and_then(|name| name.parse::<u32>().ok()));
        if found.len() == MAX_PROCESSES {
            break;
        }
    }
    Ok(found)
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW
}

fn sight(place: &Place, proc: &OwnedFd, pid: u32) -> Sight {
    // In a directory that stands for a machine a process may be a link to anywhere.
    let opened = if place.is_directory() {
        place
            .process(pid)
            .and_then(|process| beneath::folder_in(process.as_fd(), "fd"))
    } else {
        openat(proc, format!("{pid}/fd"), folder_flags(), Mode::empty())
    };
    let folder = match opened {
        Ok(folder) => folder,
        // Kernel threads have no descriptors, but not everybody may see that.
        Err(Errno::ACCESS | Errno::PERM) if is_kernel_thread(proc, pid) => {
            return Sight::Nodes(BTreeMap::new());
        }
        Err(_) => return unlisted(proc, pid),
    };
    let Ok(entries) = Dir::read_from(&folder) else {
        return unlisted(proc, pid);
    };
    let mut nodes = BTreeMap::new();
    for (count, entry) in entries.enumerate() {
        let Ok(entry) = entry else {
            return unlisted(proc, pid);
        };
        let name = entry.file_name().to_str().ok();
        let Some((name, number)) = name.and_then(|name| Some((name, name.parse::<u32>().ok()?)))
        else {
            continue;
        };
        let link = match link_text(&folder, name) {
            Ok(link) => link,
            Err(Errno::ACCESS | Errno::PERM) => return unlisted(proc, pid),
            // One that was closed meanwhile is none.
            Err(_) => continue,
        };
        if let Some(node) = open_node(&link, &folder, name, place.is_directory()) {
            nodes.insert(number, node);
        }
        if count >= MAX_DESCRIPTORS || nodes.len() > MAX_NODES {
            return Sight::Unreadable;
        }
    }
    Sight::Nodes(nodes)
}

/// The one place that says what an unread list means: the process has ended, or it lives and may hold anything.
fn unlisted(proc: &OwnedFd, pid: u32) -> Sight {
    if is_there(proc, pid) {
        Sight::Unreadable
    } else {
        Sight::Gone
    }
}

/// Whether a number is a process's now.
fn is_there(proc: &OwnedFd, pid: u32) -> bool {
    statat(proc, pid.to_string(), AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile)
}

/// A process of which something is to be read now.
pub(super) struct Process {
    pub(super) folder: OwnedFd,
    /// `None` where its `stat` cannot be read.
    pub(super) start_ticks: Option<u64>,
    /// Its short name; empty where that cannot be told.
    pub(super) name: String,
    /// `None` where its `stat` does not tell.
    pub(super) parent: Option<u32>,
    /// Whether it was forked and has executed no program since.
    pub(super) has_only_forked: bool,
}

/// Opens a process, so that its number cannot become another one's. `None`: it has ended.
pub(super) fn open_process(place: &Place, pid: u32) -> Option<Process> {
    let folder = place.process(pid).ok()?;
    let stat = match stat(&folder) {
        Some(stat) => stat,
        // What it holds it holds, whether or not it can be told when it started.
        None if place.proc().is_ok_and(|proc| is_there(proc, pid)) => Vec::new(),
        None => return None,
    };
    let name = |byte| stat.iter().position(|it| *it == byte);
    let end = stat.iter().rposition(|it| *it == b')');
    let name = name(b'(')
        .zip(end)
        .and_then(|(start, end)| stat.get(start + 1..end));
    Some(Process {
        folder,
        start_ticks: start_ticks(&stat),
        name: String::from_utf8_lossy(name.unwrap_or_default()).into_owned(),
        parent: field(&stat, PARENT_FIELD),
        has_only_forked: field(&stat, FLAGS_FIELD)
            .is_some_and(|flags: u64| flags & FORKED_ONLY != 0),
    })
}

fn stat(process: &OwnedFd) -> Option<Vec<u8>> {
    let file = beneath::open_in(process.as_fd(), "stat").ok()?;
    let mut text = Vec::new();
    read_all(&file, &mut text, STAT_BOUND).ok()?;
    Some(text)
}

/// A field of `stat`, counted from the one behind the name.
fn field<T: std::str::FromStr>(stat: &[u8], number: usize) -> Option<T> {
    let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(end_of_name + 1..)?).ok()?;
    let field = fields.split_ascii_whitespace().nth(number)?;
    field.parse().ok()
}

fn is_kernel_thread(proc: &OwnedFd, pid: u32) -> bool {
    let flags = || {
        let folder = beneath::folder_in(proc.as_fd(), &pid.to_string()).ok()?;
        field::<u64>(&stat(&folder)?, FLAGS_FIELD)
    };
    flags().is_some_and(|flags| flags & KERNEL_THREAD != 0)
}
