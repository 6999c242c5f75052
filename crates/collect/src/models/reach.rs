//! Where a process's ports can be asked from this machine's loopback.
//!
//! A port of a process in another network namespace is not the port of that number here: whoever listens on it here
//! is somebody else. It is asked only through a program that forwards to it and that can be shown to: by address and
//! port on its command line (docker-proxy), or by the namespace it holds open (pasta). Rules of the packet filter
//! cannot be seen.

use model::{Gap, Stamp};
use raw::{Forwarder, ForwarderProgram, Listener, Machine, Network, ProcessRef, Question, Reply};

use crate::processes::{Poll, Watched};

/// Looking at the name of every process costs milliseconds; ports are published when a container starts.
const FORWARDERS_EVERY_MS: u64 = 60_000;

/// Addresses of a container do not change while it runs; a failed read may succeed later.
const NETWORK_EVERY_MS: u64 = 300_000;

/// The port to ask.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Target {
    /// Who listens on this machine: the process itself, or a forwarder.
    pub(super) who: ProcessRef,
    /// On which port.
    pub(super) port: u16,
    /// The process's own port, where that is another socket.
    pub(super) behind: Option<u16>,
}

/// All forwarders, looked for only while somebody needs one.
#[derive(Debug, Default)]
pub(super) struct Forwarders {
    poll: Poll,
    asked: bool,
}

impl Forwarders {
    /// Starts a refresh: a question is asked once in each.
    pub(super) const fn begin(&mut self) {
        self.asked = false;
    }

    /// Whether an answer is outstanding that somebody still wants.
    pub(super) const fn is_waiting(&self) -> bool {
        self.asked && self.poll.is_waiting()
    }

    fn ask(&mut self, machine: &mut dyn Machine, now: Stamp) -> Result<&[Forwarder], Gap> {
        if !self.asked {
            self.asked = true;
            let question = || Question::Forwarders;
            self.poll.ask(machine, question, now, FORWARDERS_EVERY_MS);
        }
        match self.poll.answer()? {
            (_, Reply::Forwarders(all)) => Ok(all),
            _ => Err(Gap::Malformed),
        }
    }
}

/// How one process is reached, over time.
#[derive(Debug, Default)]
pub(super) struct Reach {
    network: Poll,
}

impl Reach {
    pub(super) const fn is_waiting(&self) -> bool {
        self.network.is_waiting()
    }

    /// The port to ask, or why none is; `NotFound` where it listens on nothing.
    pub(super) fn target(
        &mut self,
        machine: &mut dyn Machine,
        who: ProcessRef,
        watched: &Watched,
        forwarders: &mut Forwarders,
        now: Stamp,
    ) -> Result<Target, Gap> {
        let (_, Reply::Listeners(listeners)) = watched.listeners.answer()? else {
            return Err(Gap::Malformed);
        };
        let here = listeners.iter().filter(|it| it.loopback);
        if let Some(Listener { port, shared, .. }) = here.min_by_key(|it| (it.port, it.v6)) {
            if *shared {
                return Err(Gap::SharedPort);
            }
            let (port, behind) = (*port, None);
            return Ok(Target { who, port, behind });
        }
        if !listeners.iter().any(|it| it.foreign) {
            return Err(Gap::NotFound);
        }
        let question = || Question::Network(who);
        self.network.ask(machine, question, now, NETWORK_EVERY_MS);
        let all = forwarders.ask(machine, now);
        if self.network.is_waiting() || all == Err(Gap::Pending) {
            return Err(Gap::Pending);
        }
        let network = match self.network.answer() {
            Ok((_, Reply::Network(network))) => Some(network),
            _ => None,
        };
        let trusted = Trusted {
            user: watched.user_id.as_ref().ok().map(|(id, _)| *id),
            place: match &watched.container {
                Ok((Some(found), _)) => match found.owner {
                    Some(owner) => Place::ContainerOf(owner),
                    None => Place::SystemContainer,
                },
                _ => Place::NoContainer,
            },
        };
        through(listeners, network, all.ok(), &trusted)
    }
}

/// Whose forwarders count: anybody can give a process a name and a command line, and each container
/// engine of a machine, root's and every user's, hands out the same addresses.
struct Trusted {
    user: Option<u32>,
    place: Place,
}

/// Where the process runs.
enum Place {
    /// In a container of this user's own engine, which forwards for it.
    ContainerOf(u32),
    /// In a container of the system's engine, which is root's.
    SystemContainer,
    /// In none that was recognised: whoever made its namespace is its own user, as far as is known.
    NoContainer,
}

impl Trusted {
    fn includes(&self, user: u32) -> bool {
        match self.place {
            Place::ContainerOf(owner) => user == owner,
            Place::SystemContainer => user == 0,
            Place::NoContainer => self.user == Some(user),
        }
    }
}

/// The smallest port that a forwarder leads to, or why there is none.
fn through(
    listeners: &[Listener],
    network: Option<&Network>,
    all: Option<&[Forwarder]>,
    trusted: &Trusted,
) -> Result<Target, Gap> {
    // What is bound to one address only may be the one that is not forwarded to.
    let is_ours = |port| {
        listeners
            .iter()
            .any(|it| it.foreign && it.any && it.port == port)
    };
    let Some(all) = all else {
        return Err(Gap::UnprovenForward);
    };
    let mut unproven = false;
    let mut found: Vec<Target> = Vec::new();
    for forwarder in all.iter().filter(|it| trusted.includes(it.user)) {
        unproven |= forwarder.program == ForwarderProgram::Silent;
        for forward in forwarder.forwards.iter().filter(|it| is_ours(it.port)) {
            let leads_here = network.map(|network| match forwarder.program {
                ForwarderProgram::DockerProxy => {
                    let address = forward.address.as_ref();
                    address.is_some_and(|address| network.addresses.contains(address))
                }
                ForwarderProgram::Pasta => forwarder.networks.contains(&network.namespace),
                ForwarderProgram::Silent => false,
            });
            let listens = forwarder.listening.as_ref().map(|its| {
                its.iter()
                    .any(|it| it.loopback && it.port == forward.host_port)
            });
            match (leads_here, listens) {
                (Some(true), Some(true)) => found.push(Target {
                    who: forwarder.who(),
                    port: forward.host_port,
                    behind: Some(forward.port),
                }),
                (None | Some(true), None) | (None, Some(true)) => unproven = true,
                // pasta's descriptors are read together, and without them nothing is known of its namespace.
                (Some(false), None) if forwarder.program == ForwarderProgram::Pasta => {
                    unproven = true;
                }
                (Some(false), _) | (_, Some(false)) => {}
            }
        }
    }
    let first = found.into_iter().min_by_key(|it| (it.behind, it.port));
    first.ok_or(if unproven {
        Gap::UnprovenForward
    } else {
        Gap::OtherNetwork
    })
}

#[cfg(test)]
mod tests;
