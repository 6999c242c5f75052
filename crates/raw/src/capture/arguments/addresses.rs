//! Addresses of hosts.

use std::net::{IpAddr, SocketAddr};

/// An address as text; `None` where it is none.
pub(super) fn redacted(text: &str) -> Option<String> {
    let (host, range) = text.split_once('/').unwrap_or((text, ""));
    if !range.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let zone = |host: &str| host.split('%').next().and_then(|ip| ip.parse().ok());
    let unbracketed = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let ip = match host.parse::<SocketAddr>() {
        Ok(socket) => socket.ip(),
        Err(_) => match zone(unbracketed.unwrap_or(host)) {
            Some(ip) => ip,
            // A port that is none, or a zone within brackets.
            None => zone(host.strip_prefix('[')?.split(']').next()?)?,
        },
    };
    let local =
        host.parse::<SocketAddr>().is_ok() || unbracketed.unwrap_or(host).parse::<IpAddr>().is_ok();
    let everybody_s = local && (ip.is_loopback() || ip.is_unspecified());
    Some(if everybody_s {
        text.to_owned()
    } else {
        "<address>".to_owned()
    })
}
