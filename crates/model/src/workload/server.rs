//! What a model server says of itself.

use super::described::Said;
use crate::Text;
use crate::gap::Gap;
use crate::ids::Stamp;
use crate::reading::{Provenance, Reading, Reported, Source};

/// State of a model server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ServerState {
    /// Ready.
    Ready,
    /// Loading its model.
    Loading,
    /// Asleep: model unloaded until the next request. It is not asked further.
    Sleeping,
    /// A router: its models live in other processes. It is not asked about any of them by name.
    Router,
    /// Wants a key; nothing more is asked.
    KeyRequired,
    /// Could not be asked, see the reading's gap.
    Unreachable,
}

impl ServerState {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Loading => "loading",
            Self::Sleeping => "sleeping",
            Self::Router => "router",
            Self::KeyRequired => "key_required",
            Self::Unreachable => "unreachable",
        }
    }
}

/// What a model server says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Which server.
    pub kind: &'static str,
    /// Its port on loopback; where a forwarder listens there, the port that was published.
    pub port: u16,
    /// The server's own port within its network namespace, where a forwarder leads to it.
    pub own_port: Option<u16>,
    /// Number of the process that answered, where it is another one (the parent of a runner).
    pub answered_by: Option<u32>,
    /// Its state.
    pub state: ServerState,
    /// Context per slot, in tokens.
    pub context: Reading<Reported<u64>>,
    /// Number of slots, or of requests that are served at once.
    pub slots: Reading<Reported<u64>>,
    /// Slots or requests at work.
    pub slots_busy: Reading<Reported<u64>>,
    /// Tokens that the cache holds, all slots together.
    pub cached_tokens: Reading<Reported<u64>>,
    /// Tokens generated per second: the difference of two reports over the time between them, or the
    /// server's own figure of its last request.
    pub tokens_per_second: Reading<Reported<f64>>,
    /// Each thing that it could be asked, and how that went, in the order of asking.
    pub endpoints: Vec<EndpointStatus>,
    /// What else it says of itself.
    pub said: Vec<Said>,
    /// When it last answered.
    pub at: Stamp,
}

impl Server {
    /// A server of which nothing is known yet but its state; every figure is missing for `gap`.
    pub const fn new(
        kind: &'static str,
        port: u16,
        state: ServerState,
        gap: Gap,
        at: Stamp,
    ) -> Self {
        const fn from(counter: &'static str, at: Stamp) -> Provenance {
            Provenance {
                source: Source::Http,
                counter,
                at,
            }
        }
        Self {
            kind,
            port,
            own_port: None,
            answered_by: None,
            state,
            context: Reading::missing(gap, from("context", at)),
            slots: Reading::missing(gap, from("slots", at)),
            slots_busy: Reading::missing(gap, from("slots at work", at)),
            cached_tokens: Reading::missing(gap, from("cached tokens", at)),
            tokens_per_second: Reading::missing(gap, from("tokens per second", at)),
            endpoints: Vec::new(),
            said: Vec::new(),
            at,
        }
    }
}

/// One thing that a server can be asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EndpointStatus {
    /// Its path.
    pub path: Text,
    /// How it went.
    pub state: EndpointState,
}

/// How asking went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndpointState {
    /// It answered what was asked.
    Ok,
    /// The server says that it is switched off or does not exist (404, 405, 501).
    Disabled,
    /// It wants a key (401, 403).
    KeyRequired,
    /// The server is loading (503).
    Loading,
    /// It is not asked because asking would wake or change something.
    NotAsked,
    /// It answered something else: this HTTP status, or a body that is not what it should be.
    Unexpected(u16),
    /// No answer.
    Failed(Gap),
}

impl EndpointState {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Disabled => "disabled",
            Self::KeyRequired => "key_required",
            Self::Loading => "loading",
            Self::NotAsked => "not_asked",
            Self::Unexpected(_) => "unexpected",
            Self::Failed(_) => "failed",
        }
    }
}
