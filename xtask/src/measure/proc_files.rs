//! The few fields of Linux's `/proc` that tell what a process tree has used, by `Documentation/filesystems/proc.rst`
//! and `Documentation/scheduler/sched-stats.rst`.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Ticks of `utime`, `stime` and their like per second: `USER_HZ`, 100 on every architecture of Linux but alpha.
const TICKS_PER_SECOND: u64 = 100;

/// What a process and its descendants have used since they started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Time on a processor, of all living threads, nanosecond grain (`schedstat`, first field).
    pub(super) scheduled: Duration,
    /// `utime` + `stime` of the processes, 10 ms grain; includes threads that have ended.
    pub(super) ticks: Duration,
    /// `cutime` + `cstime` of the root: descendants that have ended and been waited for.
    pub(super) reaped: Duration,
    /// Resident memory in bytes (`VmRSS`), summed: pages shared within the tree count once for each process.
    pub(super) resident: u64,
    /// Times a thread gave up the processor by itself (`voluntary_ctxt_switches`), of all living threads.
    pub(super) voluntary_switches: u64,
}

impl Usage {
    /// Reads the tree below `root`. Processes that end meanwhile are left out.
    pub(super) fn of_tree(root: u32) -> Self {
        let mut usage = Self::default();
        for pid in tree(root) {
            let Some(stat) = read(pid, "stat").as_deref().and_then(Stat::parse) else {
                continue;
            };
            usage.ticks += stat.own;
            if pid == root {
                usage.reaped = stat.reaped;
            }
            usage.resident += read(pid, "status")
                .and_then(|text| kibibytes(&text, "VmRSS"))
                .unwrap_or(0);
            for thread in threads(pid) {
                let file = |name: &str| read(pid, &format!("task/{thread}/{name}"));
                usage.scheduled += file("schedstat")
                    .and_then(|text| scheduled(&text))
                    .unwrap_or_default();
                usage.voluntary_switches += file("status")
                    .and_then(|text| number(&text, "voluntary_ctxt_switches"))
                    .unwrap_or(0);
            }
        }
        usage
    }
}

/// Highest resident memory that the process itself has had, in bytes (`VmHWM`).
pub(super) fn peak_resident(pid: u32) -> Option<u64> {
    read(pid, "status").and_then(|text| kibibytes(&text, "VmHWM"))
}

/// The process and its descendants, by the parents that `/proc` tells.
fn tree(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in numbered("/proc") {
        if let Some(stat) = read(pid, "stat").as_deref().and_then(Stat::parse) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        found.extend(children.remove(&pid).into_iter().flatten());
        next += 1;
    }
    found
}

fn threads(pid: u32) -> Vec<u32> {
    numbered(&format!("/proc/{pid}/task"))
}

fn numbered(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn read(pid: u32, name: &str) -> Option<String> {
    fs::read(format!("/proc/{pid}/{name}"))
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    own: Duration,
    reaped: Duration,
}

impl Stat {
    /// Fields are counted after the name, which stands in brackets and may hold anything.
    fn parse(text: &str) -> Option<Self> {
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: of_ticks(ticks(11)? + ticks(12)?),
            reaped: of_ticks(ticks(13)? + ticks(14)?),
        })
    }
}

fn of_ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

/// First field of `schedstat`, in nanoseconds.
fn scheduled(text: &str) -> Option<Duration> {
    text.split_whitespace()
        .next()?
        .parse()
        .ok()
        .map(Duration::from_nanos)
}

fn number(status: &str, name: &str) -> Option<u64> {
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse().ok()
}

fn kibibytes(status: &str, name: &str) -> Option<u64> {
    number(status, name).map(|kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Stat, kibibytes, number, scheduled};

    #[test]
    fn fields_of_stat_follow_a_name_with_brackets_and_spaces() {
        let text = "7 (a) b (c) S 3 7 7 0 -1 4194304 1 2 3 4 12 34 5 6 20 0 1 0 99";
        let expected = Stat {
            parent: 3,
            own: Duration::from_millis(460),
            reaped: Duration::from_millis(110),
        };
        assert_eq!(Stat::parse(text), Some(expected));
        assert_eq!(Stat::parse("7 (a) S 3"), None);
    }

    #[test]
    fn fields_of_status() {
        let text = "Name:\tx\nVmRSS:\t    12 kB\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t9\n";
        assert_eq!(kibibytes(text, "VmRSS"), Some(12 * 1024));
        assert_eq!(kibibytes(text, "VmHWM"), None);
        assert_eq!(number(text, "voluntary_ctxt_switches"), Some(5));
    }

    #[test]
    fn first_field_of_schedstat() {
        assert_eq!(scheduled("1500 20 3\n"), Some(Duration::from_nanos(1500)));
        assert_eq!(scheduled(""), None);
    }
}
