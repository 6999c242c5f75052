//! What a llama-server says of itself at `/props`: the one question that neither wakes a sleeping
//! server nor resets a counter.

use model::{EvidenceKind, Gap, Provenance, Reading, Reported, Server, ServerState, Source, Stamp};
use raw::{Endpoint, HttpReply, Machine, ProcessRef, Question, Reply};

use super::claim::{About, Claim, Named};
use super::reach::{Forwarders, Reach, Target};
use crate::processes::{Poll, Watched};

/// How often a server is asked.
const ASK_EVERY_MS: u64 = 15_000;

/// Larger numbers are no context and no slots: whoever answers is no llama-server.
const MAX_CONTEXT: u64 = 1 << 32;
const MAX_SLOTS: u64 = 1 << 16;

/// A server over time.
#[derive(Debug, Default)]
pub(super) struct Asked {
    reach: Reach,
    target: Option<Target>,
    props: Poll,
}

/// What a server has answered.
pub(super) struct Answered {
    pub(super) server: Server,
    pub(super) claims: Vec<Claim>,
}

impl Asked {
    /// Asks the first port that loopback reaches, and gives the newest answer. `Err` where there is none, with the
    /// reason where it was not asked.
    pub(super) fn ask(
        &mut self,
        machine: &mut dyn Machine,
        who: ProcessRef,
        watched: &Watched,
        forwarders: &mut Forwarders,
        now: Stamp,
    ) -> Result<Answered, Option<Gap>> {
        let found = self.reach.target(machine, who, watched, forwarders, now);
        let target = match found {
            // Looked for again while the old answer still stands.
            Err(Gap::Pending) => self.target,
            found => found.ok(),
        };
        if self.target != target {
            self.target = target;
            self.props = Poll::default();
        }
        let Some(target) = target else {
            // A server without a port is none (yet), whatever its command line says.
            let unasked = |gap: &Gap| !matches!(gap, Gap::NotFound | Gap::Pending);
            return Err(found.err().filter(unasked));
        };
        let Target { who, port, .. } = target;
        let endpoint = Endpoint::LlamaProps;
        self.props.ask(
            machine,
            || Question::Http {
                who,
                port,
                endpoint,
            },
            now,
            ASK_EVERY_MS,
        );
        said(&self.props, target, now).ok_or(None)
    }

    pub(super) const fn is_waiting(&self) -> bool {
        self.props.is_waiting() || self.reach.is_waiting()
    }
}

const fn from(counter: &'static str, at: Stamp) -> Provenance {
    Provenance {
        source: Source::Http,
        counter,
        at,
    }
}

fn said(props: &Poll, target: Target, now: Stamp) -> Option<Answered> {
    let server = |state, at| Server {
        own_port: target.behind,
        ..Server::new("llama-server", target.port, state, Gap::NotFound, at)
    };
    let only = |server| {
        Some(Answered {
            server,
            claims: Vec::new(),
        })
    };
    match props.answer() {
        // With a directory in place of the machine there is nobody to ask.
        Err(Gap::Pending | Gap::NotApplicable) => None,
        Err(_) => only(server(ServerState::Unreachable, now)),
        Ok((at, Reply::Http(reply))) => match reply.status {
            200 => Some(from_props(server(ServerState::Ready, at), reply, at)),
            401 | 403 => only(server(ServerState::KeyRequired, at)),
            503 => only(server(ServerState::Loading, at)),
            // Another program's port: no llama-server, and not asked again soon.
            _ => None,
        },
        Ok(_) => None,
    }
}

fn from_props(mut server: Server, reply: &HttpReply, at: Stamp) -> Answered {
    let number = |field: &str| reply.fields.get(field).and_then(serde_json::Value::as_u64);
    let reading = |value: Option<u64>, counter| match value {
        Some(value) => Reading::Known(Reported {
            value,
            by: from(counter, at),
        }),
        None => Reading::missing(Gap::NotFound, from(counter, at)),
    };
    if reply
        .fields
        .get("is_sleeping")
        .and_then(serde_json::Value::as_bool)
        == Some(true)
    {
        server.state = ServerState::Sleeping;
    }
    server.context = reading(
        number("default_generation_settings.n_ctx")
            .filter(|tokens| (1..=MAX_CONTEXT).contains(tokens)),
        "/props n_ctx",
    );
    server.slots = reading(
        number("total_slots").filter(|slots| (1..=MAX_SLOTS).contains(slots)),
        "/props total_slots",
    );
    let path = reply
        .fields
        .get("model_path")
        .and_then(serde_json::Value::as_str)
        .filter(|path| !path.is_empty());
    let claim = path.map(|path| Claim {
        named: Named::File(path.into()),
        kind: Some(EvidenceKind::Api),
        detail: "/props model_path".into(),
        at,
        about: About::default(),
    });
    Answered {
        server,
        claims: claim.into_iter().collect(),
    }
}
