//! Facts of a process as readings.

use model::names::{is_blank, name_in};
use model::{Container, Gap, Measured, Provenance, Reading, Source, Stamp, Text};
use raw::Reply;

use super::poll::Poll;
use super::watched::{Processes, Watched};
use crate::parse;

/// Who a process is, as readings for the snapshot.
pub(crate) struct Facts {
    pub(crate) name: Reading<Measured<Text>>,
    pub(crate) exe: Reading<Measured<Text>>,
    pub(crate) user: Reading<Measured<Text>>,
    pub(crate) command_line: Reading<Measured<Vec<Text>>>,
    pub(crate) parent: Reading<Measured<u32>>,
    pub(crate) started: Reading<Measured<i64>>,
    pub(crate) ports: Reading<Measured<Vec<u16>>>,
    pub(crate) container: Reading<Measured<Option<Container>>>,
}

const fn proc(counter: &'static str, at: Stamp) -> Provenance {
    Provenance {
        source: Source::Proc,
        counter,
        at,
    }
}

impl Facts {
    /// Nothing is known, for one reason.
    pub(crate) const fn missing(gap: Gap, now: Stamp) -> Self {
        Self {
            name: Reading::missing(gap, proc("stat", now)),
            exe: Reading::missing(gap, proc("exe", now)),
            user: Reading::missing(gap, proc("status", now)),
            command_line: Reading::missing(gap, proc("cmdline", now)),
            parent: Reading::missing(gap, proc("stat", now)),
            started: Reading::missing(gap, proc("stat", now)),
            ports: Reading::missing(gap, proc("net/tcp", now)),
            container: Reading::missing(gap, proc("cgroup", now)),
        }
    }

    /// The facts of a process that was looked up.
    pub(crate) fn of(
        watched: &Watched,
        processes: &Processes,
        started_us: Option<i64>,
        now: Stamp,
    ) -> Self {
        let stat = proc("stat", watched.identity.at);
        Self {
            name: if is_blank(&watched.identity.comm) {
                Reading::missing(Gap::NotFound, stat)
            } else {
                Reading::measured(watched.identity.comm.clone(), stat)
            },
            exe: text(&watched.links, "exe", now, |reply| link(reply, "exe")),
            user: user(watched, processes, now),
            command_line: text(&watched.command_line, "cmdline", now, |reply| {
                let line = command_line(reply).ok_or(Gap::Malformed)?;
                // Kernel threads and zombies have none.
                if line.is_empty() {
                    Err(Gap::NotFound)
                } else {
                    Ok(line)
                }
            }),
            parent: Reading::measured(watched.identity.parent, stat),
            started: match started_us {
                Some(us) => Reading::measured(us, stat),
                None => Reading::missing(Gap::InputMissing, stat),
            },
            ports: text(&watched.listeners, "net/tcp", now, |reply| match reply {
                Reply::Listeners(listeners) => {
                    let mut ports: Vec<u16> = listeners.iter().map(|l| l.port).collect();
                    ports.sort_unstable();
                    ports.dedup();
                    Ok(ports)
                }
                _ => Err(Gap::Malformed),
            }),
            container: match &watched.container {
                Ok((found, at)) => {
                    let of = |it| processes.containers().of(it, *at, now);
                    Reading::measured(found.as_ref().map(of), proc("cgroup", *at))
                }
                Err(gap) => Reading::missing(*gap, proc("cgroup", now)),
            },
        }
    }
}

fn text<T>(
    poll: &Poll,
    counter: &'static str,
    now: Stamp,
    convert: impl FnOnce(&Reply) -> Result<T, Gap>,
) -> Reading<Measured<T>> {
    match poll.answer() {
        Err(gap) => Reading::missing(gap, proc(counter, now)),
        Ok((at, reply)) => match convert(reply) {
            Ok(value) => Reading::measured(value, proc(counter, at)),
            Err(gap) => Reading::missing(gap, proc(counter, at)),
        },
    }
}

fn user(watched: &Watched, processes: &Processes, now: Stamp) -> Reading<Measured<Text>> {
    let id = match &watched.user_id {
        Err(gap) => return Reading::missing(*gap, proc("status", now)),
        Ok((id, _)) => *id,
    };
    match processes.user(id) {
        None => Reading::missing(Gap::Pending, proc("passwd", now)),
        Some(poll) => text(poll, "passwd", now, |reply| match reply {
            Reply::Bytes(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                name_in(&text).map(Text::from).ok_or(Gap::NotFound)
            }
            _ => Err(Gap::Malformed),
        }),
    }
}

/// The link of this name.
pub(crate) fn link(reply: &Reply, wanted: &str) -> Result<Text, Gap> {
    match reply {
        Reply::Links(links) => links
            .iter()
            .find(|(name, _)| **name == *wanted)
            .map(|(_, link)| link.clone())
            .ok_or(Gap::NotFound),
        _ => Err(Gap::Malformed),
    }
}

/// Arguments of a NUL-separated command line. A title set by the process has spaces instead.
pub(crate) fn command_line(reply: &Reply) -> Option<Vec<Text>> {
    let Reply::Bytes(bytes) = reply else {
        return None;
    };
    let text = parse::text(bytes);
    let trimmed = text.trim_end_matches('\0');
    if trimmed.is_empty() {
        return Some(Vec::new());
    }
    Some(trimmed.split('\0').map(Text::from).collect())
}

/// The arguments of a process, where they are known.
pub(crate) fn arguments(watched: &Watched) -> Option<Vec<Text>> {
    let (_, reply) = watched.command_line.answer().ok()?;
    command_line(reply)
}
