//! The TCP ports a process listens on.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

use model::Gap;
use raw::Listener;

use super::errors::gap_in_process;
use super::open_files::descriptors;
use super::place::{Place, link_text};
use super::subject::Subject;

/// Bytes read of each socket table, about 25 000 lines. The kernel lists listening sockets first, so that what is
/// cut off is connections.
const TABLE_BOUND: usize = 4 * 1024 * 1024;

/// The state `TCP_LISTEN` as the tables print it.
const LISTENING: &str = "0A";

/// The tables of a network namespace, and whether they are those of IPv6. A connection is tried by the first before the
/// second.
const TABLES: [(&str, bool); 2] = [("net/tcp", false), ("net/tcp6", true)];

/// Its listening sockets, by port.
pub(super) fn of(place: &Place, subject: &Subject) -> Result<Vec<Listener>, Gap> {
    let own = inodes(subject)?;
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let ours = in_our_network(place, subject) == Some(true);
    Ok(owned(sockets(subject, ours)?, &own))
}

/// Its socket that a connection to this port of loopback reaches, by IPv4 where it has one: then the other table is not
/// read, since for its end the kernel goes through room for every connection that the machine could have.
pub(super) fn reached_at(
    place: &Place,
    subject: &Subject,
    port: u16,
) -> Result<Option<Listener>, Gap> {
    let own = inodes(subject)?;
    if own.is_empty() {
        return Ok(None);
    }
    let ours = in_our_network(place, subject) == Some(true);
    for (name, v6) in TABLES {
        let found = owned(table(subject, name, v6, ours)?, &own);
        let found = found.into_iter().find(|it| it.port == port && it.loopback);
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Inodes of its sockets.
fn inodes(subject: &Subject) -> Result<HashSet<u64>, Gap> {
    let (_, links) = descriptors(subject)?;
    Ok(links.iter().filter_map(|(_, text)| socket(text)).collect())
}

/// Those that are its own, by port, each with whether another process's takes connections of it.
fn owned(sockets: Vec<(u64, Listener)>, own: &HashSet<u64>) -> Vec<Listener> {
    let (mut found, others): (Vec<_>, Vec<_>) = sockets
        .into_iter()
        .partition(|(inode, _)| own.contains(inode));
    for (_, own) in &mut found {
        // Of two the kernel takes the one that is bound to the address, and either where both are or none is.
        let takes = |it: &Listener| (it.loopback || it.any) && (own.any || !it.any);
        let same = |it: &Listener| (it.port, it.v6) == (own.port, own.v6);
        own.shared = others.iter().any(|(_, it)| same(it) && takes(it));
    }
    let mut found: Vec<Listener> = found.into_iter().map(|(_, listener)| listener).collect();
    found.sort_by_key(|it| (it.port, it.v6, !it.loopback, !it.any));
    found.dedup_by_key(|listener| (listener.port, listener.v6));
    found
}

/// The inode in a link `socket:[42]`.
pub(super) fn socket(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

/// Every listening socket of its network namespace by inode. `ours` says whether that is the monitor's own.
pub(super) fn sockets(subject: &Subject, ours: bool) -> Result<Vec<(u64, Listener)>, Gap> {
    let mut found = Vec::new();
    for (name, v6) in TABLES {
        found.extend(table(subject, name, v6, ours)?);
    }
    Ok(found)
}

fn table(subject: &Subject, name: &str, v6: bool, ours: bool) -> Result<Vec<(u64, Listener)>, Gap> {
    let table = match subject.start_of_text(name, TABLE_BOUND) {
        Ok(table) => table,
        // Without IPv6 there is no such table.
        Err(_) if v6 => return Ok(Vec::new()),
        Err(error) => return Err(gap_in_process(error)),
    };
    let text = String::from_utf8_lossy(&table);
    let found = text
        .lines()
        .filter_map(listening)
        .map(|(address, port, inode)| {
            let address = address_of(address, v6);
            let listener = Listener {
                port,
                loopback: ours && address.is_some_and(is_reachable_on_loopback),
                v6,
                any: address.is_some_and(|it| it.is_unspecified()),
                foreign: !ours,
                shared: false,
            };
            (inode, listener)
        });
    Ok(found.collect())
}

/// Whether its network namespace is ours; else the same port number is another socket here. `None` where the rights
/// are missing to tell.
pub(super) fn in_our_network(place: &Place, subject: &Subject) -> Option<bool> {
    let ours = place.proc().and_then(|proc| link_text(proc, "self/ns/net"));
    let theirs = link_text(subject.folder(), "ns/net");
    Some(ours.ok()? == theirs.ok()?)
}

/// Address, port and inode of a line about a listening socket:
/// `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …`.
fn listening(line: &str) -> Option<(&str, u16, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let local = fields.nth(1)?;
    let state = fields.nth(1)?;
    if state != LISTENING {
        return None;
    }
    let inode = fields.nth(5)?.parse().ok()?;
    let (address, port) = local.split_once(':')?;
    Some((address, u16::from_str_radix(port, 16).ok()?, inode))
}

/// The address that is printed as words in the machine's byte order.
fn address_of(address: &str, v6: bool) -> Option<IpAddr> {
    let mut words = Vec::new();
    for at in (0..address.len()).step_by(8) {
        let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        words.extend(word.to_ne_bytes());
    }
    if v6 {
        <[u8; 16]>::try_from(words).ok().map(IpAddr::from)
    } else {
        <[u8; 4]>::try_from(words).ok().map(IpAddr::from)
    }
}

/// Whether a connection to 127.0.0.1 or `::1` reaches a socket bound to this address.
fn is_reachable_on_loopback(address: IpAddr) -> bool {
    address.is_unspecified()
        || match address {
            IpAddr::V4(address) => address == Ipv4Addr::LOCALHOST,
            IpAddr::V6(address) => address.is_loopback(),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_lines_count() {
        let header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
        let listening_line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0 100 0 0 10 0";
        let connected = listening_line.replace(" 0A ", " 01 ");
        assert_eq!(listening(header), None);
        assert_eq!(listening(&connected), None);
        assert_eq!(listening(listening_line), Some(("0100007F", 8080, 4242)));
        assert_eq!(listening("0: x:y z 0A"), None);
    }

    #[test]
    fn loopback_is_127_0_0_1_the_v6_one_and_any() {
        let reached = |text: &str, v6| address_of(text, v6).is_some_and(is_reachable_on_loopback);
        let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        assert!(reached(&word([127, 0, 0, 1]), false));
        assert!(reached(&word([0; 4]), false));
        assert!(!reached(&word([127, 0, 0, 2]), false));
        assert!(!reached(&word([10, 0, 0, 1]), false));
        let last = word([0, 0, 0, 1]);
        assert!(reached(&format!("{:024X}{last}", 0), true));
        assert!(reached(&format!("{:032X}", 0), true));
        assert!(!reached("FE800000", true));
        assert!(!reached("äöü", false));
    }
}
