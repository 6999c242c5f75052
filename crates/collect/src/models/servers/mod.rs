//! Local model servers: what the server of a process says of itself and of its models.
//!
//! One file a server and one table ([`spec::SERVERS`]). A server is recognised by its name or command line before its
//! port is asked anything, and only GETs of a closed list are asked, by a pace of their own ([`talk`]).

mod comfyui;
mod docker;
mod fields;
mod koboldcpp;
mod llama_server;
mod lm_studio;
mod local_ai;
mod mlx_lm;
mod ollama;
mod parents;
mod sglang;
mod spec;
mod talk;
#[cfg(test)]
mod tests;
mod tgi;
mod vllm;

use std::collections::BTreeMap;

use model::{Bytes, EndpointState, EndpointStatus, Gap, ProcessKey, Server, ServerState, Stamp};
use raw::{Machine, ProcessRef};

pub(super) use self::fields::size;
use self::parents::{Found, Parents};
pub(super) use self::spec::Role;
use self::spec::{Asking, SERVERS, Spec, Subject, serving};
use self::talk::{NOBODY, Talk};
use super::claim::Claim;
use super::flags::Flags;
use super::reach::Forwarders;
use crate::processes::{Processes, Watched, arguments};

/// All servers over time.
#[derive(Default)]
pub(super) struct Servers {
    /// Conversations by the process that answers.
    talks: BTreeMap<ProcessKey, Talk>,
    parents: Parents,
    forwarders: Forwarders,
    /// Whose worker each process was seen to be last.
    workers: BTreeMap<ProcessKey, ProcessKey>,
    now_ns: u64,
}

/// What was heard about one process.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) server: Option<Server>,
    pub(super) claims: Vec<Claim>,
    /// Why its own server was not asked.
    pub(super) unasked: Option<Gap>,
}

/// What the rules of each known server make of one body as the reply to everything that it is asked: how many take it for
/// a server's. For inputs that come without a server; never fails, whatever they are.
pub fn servers_that_read(body: &[u8]) -> usize {
    let flags = Flags::default();
    let subject = Subject {
        arguments: &[],
        folder: None,
        has_ai_runtime: true,
        never_sleeps: true,
    };
    let talk = Talk::of_body(body);
    let now = Stamp {
        mono_ns: 3_000_000_000,
        wall_us: 0,
    };
    let read = |spec: &&&Spec| {
        // A worker, and the server itself, are told different things.
        let roles = [true, false].map(|is_server| {
            let asking = Asking {
                who: NOBODY,
                flags: &flags,
                subject: &subject,
                is_server,
                is_only: true,
                measured: Some(Bytes(1 << 30)),
            };
            let heard = talk.heard((spec, &subject), &asking, now);
            heard.is_ok_and(|(server, _)| {
                !matches!(
                    server.state,
                    ServerState::Unreachable | ServerState::NotRecognised
                )
            })
        });
        roles.contains(&true)
    };
    SERVERS.iter().filter(read).count()
}

/// The process about which is asked.
pub(super) struct About<'a> {
    pub(super) key: ProcessKey,
    pub(super) who: ProcessRef,
    pub(super) watched: &'a Watched,
    pub(super) flags: &'a Flags,
    pub(super) role: &'a Role,
    /// Its device memory on all devices, where every size is measured.
    pub(super) measured: Option<Bytes>,
}

impl Servers {
    /// Starts a refresh.
    pub(super) const fn begin(&mut self, now: Stamp) {
        self.now_ns = now.mono_ns;
        self.forwarders.begin();
    }

    /// Ends a refresh: forgets processes other than `keys`, which are sorted, and their parents.
    pub(super) fn end(&mut self, keys: &[ProcessKey]) {
        self.parents.end(self.now_ns);
        let parents: Vec<ProcessKey> = self.parents.keys().collect();
        let is_known = |key: &ProcessKey| keys.binary_search(key).is_ok();
        self.talks
            .retain(|key, _| is_known(key) || parents.contains(key));
        self.workers
            .retain(|worker, parent| is_known(worker) && parents.contains(parent));
    }

    /// Whether an answer is outstanding.
    pub(super) fn is_waiting(&self) -> bool {
        self.forwarders.is_waiting()
            || self.parents.is_waiting()
            || self.talks.values().any(Talk::is_waiting)
    }

    /// Asks on, and tells what is known of the server of a process and of its models.
    pub(super) fn hear(
        &mut self,
        machine: &mut dyn Machine,
        about: &About<'_>,
        processes: &Processes,
        now: Stamp,
    ) -> Heard {
        let mut heard = self.own(machine, about, now);
        self.add_parent(machine, about, processes, &mut heard, now);
        heard
    }

    fn own(&mut self, machine: &mut dyn Machine, about: &About<'_>, now: Stamp) -> Heard {
        let Some(spec) = about.role.serves else {
            return Heard::default();
        };
        // Its environment may set what it must not be asked.
        if about.watched.environment.answer() == Err(Gap::Pending) {
            return Heard::default();
        }
        let subject = about.role.subject();
        let server = (spec, &subject);
        let talk = self.talks.entry(about.key).or_default();
        let (who, watched) = (about.who, about.watched);
        talk.turn(machine, server, who, watched, &mut self.forwarders, now);
        let asking = about.asking(&subject, true, true);
        match talk.heard(server, &asking, now) {
            Ok((server, claims)) => Heard {
                server: Some(server),
                claims,
                unasked: None,
            },
            Err(unasked) => Heard {
                unasked,
                ..Heard::default()
            },
        }
    }

    /// Adds the word of the server that the process works for.
    fn add_parent(
        &mut self,
        machine: &mut dyn Machine,
        about: &About<'_>,
        processes: &Processes,
        heard: &mut Heard,
        now: Stamp,
    ) {
        let worker = (about.who, about.watched);
        let specs = &about.role.works;
        let Some(found) = self.parents.of(machine, worker, specs, processes, now) else {
            self.workers.remove(&about.key);
            // What is certainly a worker of a server, and has none.
            if heard.server.is_none() && heard.unasked.is_none() && about.role.is_worker() {
                let waits = self.parents.is_waiting();
                heard.unasked = (!waits).then_some(Gap::NotFound);
            }
            return;
        };
        let Found {
            key,
            who,
            spec,
            watched,
        } = found;
        self.workers.insert(about.key, key);
        let Some(words) = arguments(watched) else {
            return;
        };
        let its = Subject {
            arguments: &words,
            folder: None,
            has_ai_runtime: false,
            never_sleeps: false,
        };
        // Who asks it for itself has to have the same server in mind.
        if serving(&its).is_some_and(|other| other.kind != spec.kind) {
            return;
        }
        let talk = self.talks.entry(key).or_default();
        let server = (spec, &its);
        talk.turn(machine, server, who, watched, &mut self.forwarders, now);
        let is_only = self.workers.values().filter(|of| **of == key).count() == 1;
        let subject = about.role.subject();
        let asking = about.asking(&subject, false, is_only);
        let (server, claims) = match talk.heard(server, &asking, now) {
            Ok(heard) => heard,
            Err(None) => return,
            Err(Some(gap)) => {
                // Why the one behind it was not asked is said where its own server's questions stand, if it has one.
                match &mut heard.server {
                    Some(own) => own.endpoints.push(EndpointStatus {
                        path: format!("{} (process {})", spec.kind, who.pid).into(),
                        state: EndpointState::Failed(gap),
                    }),
                    None => heard.unasked = heard.unasked.or(Some(gap)),
                }
                return;
            }
        };
        heard.claims.extend(claims);
        match &mut heard.server {
            Some(own) => {
                let port = server.port;
                own.endpoints
                    .extend(server.endpoints.into_iter().map(|one| EndpointStatus {
                        path: format!(":{port}{}", one.path).into(),
                        ..one
                    }));
                own.said.extend(server.said);
            }
            None => {
                heard.server = Some(Server {
                    answered_by: Some(who.pid),
                    ..server
                });
            }
        }
    }
}

impl<'a> About<'a> {
    const fn asking(&self, subject: &'a Subject<'a>, is_server: bool, is_only: bool) -> Asking<'a>
    where
        Self: 'a,
    {
        Asking {
            who: self.who,
            flags: self.flags,
            subject,
            is_server,
            is_only,
            measured: self.measured,
        }
    }
}
