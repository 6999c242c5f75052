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
    /// No answer, see the reading's gap.
    Unreachable,
    /// Something answers, and not as this server does: another version, an error, or another program on its port.
    NotRecognised,
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
            Self::NotRecognised => "not_recognised",
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
    /// The server has nothing at this path (404, 405, 410): another version, or another server.
    NotThere,
    /// The server has it, switched off (501), or says so elsewhere.
    Disabled,
    /// It wants a key (401, 403).
    KeyRequired,
    /// The server is loading (503).
    Loading,
    /// It is not asked because asking would wake or change something.
    NotAsked,
    /// It answered something else with this HTTP status: an error of its own from 500 on, and with 200 a body that
    /// has nothing of what was asked, such as a page for a browser.
    Unexpected(u16),
    /// No answer: refused, cut off, or too late.
    Failed(Gap),
}

impl EndpointState {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotThere => "not_there",
            Self::Disabled => "disabled",
            Self::KeyRequired => "key_required",
            Self::Loading => "loading",
            Self::NotAsked => "not_asked",
            Self::Unexpected(_) => "unexpected",
            Self::Failed(_) => "failed",
        }
    }

    /// How an answer with this status is understood, the same of every server; `is_good` where the body has something
    /// of what was asked.
    pub const fn of_answer(status: u16, is_good: bool) -> Self {
        match status {
            200 if is_good => Self::Ok,
            401 | 403 => Self::KeyRequired,
            404 | 405 | 410 => Self::NotThere,
            501 => Self::Disabled,
            503 => Self::Loading,
            status => Self::Unexpected(status),
        }
    }

    /// In words, after the path.
    pub fn words(self) -> Text {
        match self {
            Self::Ok => "ok".into(),
            Self::NotThere => "not there".into(),
            Self::Disabled => "switched off there".into(),
            Self::KeyRequired => "wants a key".into(),
            Self::Loading => "loading or too busy (503)".into(),
            Self::NotAsked => "not asked, it would wake or change something".into(),
            Self::Unexpected(200) => "answered, with nothing of what was asked".into(),
            Self::Unexpected(status @ 500..) => format!("the server's own error {status}").into(),
            Self::Unexpected(status) => format!("unexpected answer {status}").into(),
            Self::Failed(gap) => format!("no answer: {}", gap.sentence()).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_means_the_same_whichever_server_answers() {
        use EndpointState::{Disabled, KeyRequired, Loading, NotThere, Ok, Unexpected};
        for (status, is_good, state, words) in [
            (200, true, Ok, "ok"),
            (
                200,
                false,
                Unexpected(200),
                "answered, with nothing of what was asked",
            ),
            (302, false, Unexpected(302), "unexpected answer 302"),
            (401, false, KeyRequired, "wants a key"),
            (403, false, KeyRequired, "wants a key"),
            (404, true, NotThere, "not there"),
            (405, false, NotThere, "not there"),
            (418, true, Unexpected(418), "unexpected answer 418"),
            (500, false, Unexpected(500), "the server's own error 500"),
            (501, false, Disabled, "switched off there"),
            (503, false, Loading, "loading or too busy (503)"),
        ] {
            let got = EndpointState::of_answer(status, is_good);
            assert_eq!((got, &*got.words()), (state, words), "{status}");
        }
        let refused = EndpointState::Failed(Gap::NotPresent);
        assert!(refused.words().starts_with("no answer: "));
    }
}
