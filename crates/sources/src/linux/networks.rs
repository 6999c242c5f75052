//! The network namespace of a process, and the programs that forward ports into such.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::AsFd;

use model::{Gap, Text};
use raw::{Forward, Forwarder, ForwarderProgram, Listener, Network, ProcessRef};
use rustix::fs::Dir;

use super::beneath;
use super::errors::{gap, gap_of_process};
use super::listeners;
use super::open_files::descriptors;
use super::place::{Place, link_text};
use super::subject::{Subject, start_ticks};
use super::text::read_all;

/// Bytes of `net/fib_trie` and `net/if_inet6`. A container has a few addresses; a host with a route for each of
/// thousands has a few hundred KiB.
const ADDRESSES_BOUND: usize = 1024 * 1024;

/// Addresses kept of one process.
const MAX_ADDRESSES: usize = 64;

/// Processes looked at for their name. Machines with more are rare, and this costs three calls each.
const MAX_PROCESSES: usize = 32_768;

/// Forwarders kept. Docker has one a published port and address family.
const MAX_FORWARDERS: usize = 256;

/// Forwarded ports kept of one process. pasta may be told thousands with a range.
const MAX_FORWARDS: usize = 64;

/// Bytes of a name: `TASK_COMM_LEN` is 16.
const NAME_BOUND: usize = 64;

/// Bytes of a forwarder's command line.
const COMMAND_LINE_BOUND: usize = 16 * 1024;

/// Bytes of `stat` and `status`.
const STATUS_BOUND: usize = 8 * 1024;

/// The namespace of a process and its addresses there.
pub(super) fn of(subject: &Subject) -> Result<Network, Gap> {
    let link = link_text(subject.folder(), "ns/net").map_err(gap_of_process)?;
    let namespace = namespace(&link).ok_or(Gap::Malformed)?;
    let trie = subject.start_of_text("net/fib_trie", ADDRESSES_BOUND);
    let trie = trie.map_err(gap_of_process)?;
    let mut addresses: BTreeSet<IpAddr> = own_v4(&String::from_utf8_lossy(&trie)).collect();
    // Without IPv6 there is no such file.
    if let Ok(text) = subject.start_of_text("net/if_inet6", ADDRESSES_BOUND) {
        addresses.extend(own_v6(&String::from_utf8_lossy(&text)));
    }
    let addresses = addresses.into_iter().filter(|it| !it.is_loopback());
    Ok(Network {
        namespace,
        addresses: addresses
            .take(MAX_ADDRESSES)
            .map(|address| address.to_string().into())
            .collect(),
    })
}

/// The number in `net:[4026531840]`.
fn namespace(link: &str) -> Option<u64> {
    link.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

/// Addresses of the machine itself in the routing table: each stands in a line above its `/32 host LOCAL`.
fn own_v4(trie: &str) -> impl Iterator<Item = IpAddr> {
    let lines = trie.lines();
    lines
        .clone()
        .zip(lines.skip(1))
        .filter(|(_, below)| below.trim() == "/32 host LOCAL")
        .filter_map(|(line, _)| line.trim().strip_prefix("|-- ")?.parse().ok())
}

/// The first column of `if_inet6`: 32 hexadecimal digits.
fn own_v6(text: &str) -> impl Iterator<Item = IpAddr> {
    text.lines().filter_map(|line| {
        let digits = line.split_ascii_whitespace().next()?;
        let number = u128::from_str_radix(digits, 16).ok()?;
        (digits.len() == 32).then(|| Ipv6Addr::from(number).into())
    })
}

/// Every forwarder in our own network namespace, by process number.
pub(super) fn forwarders(place: &Place) -> Result<Vec<Forwarder>, Gap> {
    let mut found = Vec::new();
    let mut sockets = None;
    for pid in processes(place)? {
        let Some(program) = comm(place, pid).and_then(|name| program(&name)) else {
            continue;
        };
        // One that ends meanwhile forwards nothing.
        let Ok(Some(forwarder)) = forwarder(place, pid, program, &mut sockets) else {
            continue;
        };
        if found.len() == MAX_FORWARDERS {
            return Err(Gap::OverBound);
        }
        found.push(forwarder);
    }
    Ok(found)
}

fn processes(place: &Place) -> Result<Vec<u32>, Gap> {
    let proc = beneath::folder_in(place.proc().map_err(gap)?.as_fd(), ".").map_err(gap)?;
    let mut pids = Vec::new();
    for entry in Dir::new(proc).map_err(gap)? {
        let entry = entry.map_err(gap)?;
        let Some(pid) = entry
            .file_name()
            .to_str()
            .ok()
            .and_then(|it| it.parse().ok())
        else {
            continue;
        };
        if pids.len() == MAX_PROCESSES {
            return Err(Gap::OverBound);
        }
        pids.push(pid);
    }
    pids.sort_unstable();
    Ok(pids)
}

fn comm(place: &Place, pid: u32) -> Option<String> {
    let file = beneath::open_in(place.proc().ok()?.as_fd(), &format!("{pid}/comm")).ok()?;
    let mut text = Vec::new();
    read_all(&file, &mut text, NAME_BOUND).ok()?;
    Some(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// The kernel keeps 15 characters of a name.
fn program(name: &str) -> Option<ForwarderProgram> {
    match name {
        "docker-proxy" => Some(ForwarderProgram::DockerProxy),
        "pasta" | "pasta.avx2" => Some(ForwarderProgram::Pasta),
        "rootlessport" | "rootlessport-ch" | "rootlesskit" | "slirp4netns" => {
            Some(ForwarderProgram::Silent)
        }
        _ => None,
    }
}

fn forwarder(
    place: &Place,
    pid: u32,
    program: ForwarderProgram,
    sockets: &mut Option<HashMap<u64, Listener>>,
) -> Result<Option<Forwarder>, Gap> {
    let folder = place.process(pid).map_err(gap_of_process)?;
    let mut stat = Vec::new();
    let file = beneath::open_in(folder.as_fd(), "stat").map_err(gap_of_process)?;
    read_all(&file, &mut stat, STATUS_BOUND).map_err(|error| error.gap(gap_of_process))?;
    let start_ticks = start_ticks(&stat).ok_or(Gap::Malformed)?;
    let subject = Subject::open(place, ProcessRef { pid, start_ticks })?;
    // What the link says of another user's process only full rights can read; without them it is unproven.
    let ours = listeners::in_our_network(place, &subject);
    if ours == Some(false) {
        return Ok(None);
    }
    let line = subject.text("cmdline", COMMAND_LINE_BOUND)?;
    let user = user(&subject.text("status", STATUS_BOUND)?).ok_or(Gap::Malformed)?;
    let (mut listening, mut networks) = (None, Vec::new());
    if ours == Some(true)
        && let Ok((_, links)) = descriptors(&subject)
    {
        if sockets.is_none() {
            *sockets = listeners::sockets(&subject, true)
                .ok()
                .map(HashMap::from_iter);
        }
        let links = links.iter().map(|(_, text)| text.as_str());
        networks = links.clone().filter_map(namespace).collect();
        listening = sockets.as_ref().map(|sockets| {
            let own = links.filter_map(listeners::socket);
            own.filter_map(|inode| sockets.get(&inode).copied())
                .collect()
        });
    }
    subject.confirm()?;
    Ok(Some(Forwarder {
        pid,
        start_ticks,
        user,
        program,
        forwards: forwards(program, &line),
        listening,
        networks,
    }))
}

/// The real user id in `status`.
fn user(status: &[u8]) -> Option<u32> {
    let text = String::from_utf8_lossy(status);
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn forwards(program: ForwarderProgram, line: &[u8]) -> Vec<Forward> {
    let text = String::from_utf8_lossy(line);
    let arguments: Vec<&str> = text.split_terminator('\0').skip(1).collect();
    match program {
        ForwarderProgram::DockerProxy => docker(&arguments).into_iter().collect(),
        ForwarderProgram::Pasta => {
            let specifications = values(&arguments, &["-t", "--tcp-ports"]);
            let parts = specifications.flat_map(pasta);
            parts.take(MAX_FORWARDS).collect()
        }
        ForwarderProgram::Silent => Vec::new(),
    }
}

/// The values of options with these names, as `NAME VALUE` or `NAME=VALUE`.
fn values<'a>(arguments: &[&'a str], names: &[&str]) -> impl Iterator<Item = &'a str> {
    let next = arguments.iter().skip(1).map(Some).chain([None]);
    let found = arguments.iter().zip(next).filter_map(|(argument, next)| {
        names.iter().find_map(|name| {
            if argument == name {
                return next.copied();
            }
            argument.strip_prefix(name)?.strip_prefix('=')
        })
    });
    found.collect::<Vec<_>>().into_iter()
}

/// `-proto tcp -host-ip A -host-port N -container-ip B -container-port M`, with one dash or two.
fn docker(arguments: &[&str]) -> Option<Forward> {
    let value = |name: &str| {
        let (one, two) = (format!("-{name}"), format!("--{name}"));
        values(arguments, &[&one, &two]).last()
    };
    if value("proto").is_some_and(|it| it != "tcp") {
        return None;
    }
    let address: Option<IpAddr> = value("container-ip").and_then(|it| it.parse().ok());
    Some(Forward {
        host_port: value("host-port")?.parse().ok()?,
        port: value("container-port")?.parse().ok()?,
        address: address.map(|it| Text::from(it.to_string())),
    })
}

/// passt(1), `--tcp-ports`: `[ADDRESS[%INTERFACE]/]PORTS[,PORTS…]`, PORTS being `FIRST[-LAST][:FIRST[-LAST]]`. Words
/// (`auto`, `all`, `none`) and what is excluded (`~`) name no port.
fn pasta(specification: &str) -> Vec<Forward> {
    let ports = specification.rsplit('/').next().unwrap_or(specification);
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        Some(first..=last)
    };
    let part = |text: &str| {
        let (host, other) = text.split_once(':').unwrap_or((text, text));
        let (host, other) = (range(host)?, range(other)?);
        let pairs = host.zip(other).take(MAX_FORWARDS);
        Some(pairs.map(|(host_port, port)| Forward {
            host_port,
            port,
            address: None,
        }))
    };
    ports.split(',').filter_map(part).flatten().collect()
}

#[cfg(test)]
mod tests;
