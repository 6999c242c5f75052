//! A GET to a server on this machine's loopback, and nothing else.

use std::time::Duration;

use model::Gap;
use raw::{Endpoint, HttpReply, Listener};
use ureq::Agent;

mod kept;
#[cfg(test)]
mod tests;

/// The whole exchange. A healthy server answers in milliseconds; a busy one must not be pressed.
const TIMEOUT: Duration = Duration::from_millis(300);

/// Bytes of a body. The largest known is a few hundred KiB, of which the chat template is most.
const BODY_BOUND: u64 = 1024 * 1024;

/// Asks the server behind a listener on loopback. No proxy, no redirect, no name to resolve.
pub(crate) fn get(listener: Listener, endpoint: Endpoint) -> Result<HttpReply, Gap> {
    get_within(listener, endpoint, TIMEOUT)
}

fn get_within(listener: Listener, endpoint: Endpoint, timeout: Duration) -> Result<HttpReply, Gap> {
    if !listener.loopback {
        return Err(Gap::NotApplicable);
    }
    let host = if listener.v6 { "[::1]" } else { "127.0.0.1" };
    let address = format!("http://{host}:{}{}", listener.port, endpoint.path());
    let agent: Agent = Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .timeout_global(Some(timeout))
        .max_idle_connections(0)
        .user_agent("gputaskman")
        .build()
        .into();
    let mut response = agent.get(&address).call().map_err(|error| gap(&error))?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(BODY_BOUND);
    let body = body.read_to_vec().map_err(|error| gap(&error))?;
    Ok(HttpReply {
        status,
        fields: kept::kept(&body, endpoint),
    })
}

fn gap(error: &ureq::Error) -> Gap {
    match error {
        ureq::Error::Timeout(_) => Gap::TimedOut,
        ureq::Error::BodyExceedsLimit(_) => Gap::OverBound,
        ureq::Error::ConnectionFailed | ureq::Error::HostNotFound => Gap::NotPresent,
        ureq::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => Gap::NotPresent,
            std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => Gap::TimedOut,
            _ => Gap::Malformed,
        },
        _ => Gap::Malformed,
    }
}
