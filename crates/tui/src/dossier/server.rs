//! What a model server says of itself.

use model::{EndpointState, Gap, Process, Reading, Server, ServerState, Snapshot, Source};
use ratatui::style::Style;

use super::model::words;
use super::{dot, fact, labelled};
use crate::figure;
use crate::prose::{Paragraph, glued};
use crate::theme::{Class, Look};

pub(super) fn line(snapshot: &Snapshot, process: &Process, look: Look) -> Option<Paragraph> {
    let mut it = labelled("Server", look);
    let Some(server) = &process.server else {
        // What is switched off matters where a model is to be expected.
        let is_told = |gap: &Gap| *gap != Gap::Disabled || process.category.works_with_models();
        let why = process.server_unasked.filter(is_told)?;
        let text = match why {
            Gap::NotFound => "not asked: it works for a server that was not found".to_owned(),
            why => format!("not asked: {}", why.sentence()),
        };
        it.put(text, look.dim());
        if let Some(remedy) = snapshot.remedy(why, None, Source::Proc) {
            it.put(format!(" → {remedy}"), look.plain());
        }
        return Some(it);
    };
    it.put(format!("{} :{}", server.kind, server.port), look.plain());
    if let Some(own) = server.own_port {
        it.put(format!(" → :{own} in its own network"), look.plain());
    }
    let (state, style) = match server.state {
        ServerState::Ready => ("ready", look.good()),
        ServerState::Loading => ("loading its model", look.warning()),
        ServerState::Sleeping => ("asleep", look.dim()),
        ServerState::Router => ("a router, its models run in other processes", look.good()),
        ServerState::KeyRequired => ("wants a key, not asked further", look.warning()),
        ServerState::Unreachable => ("does not answer", look.warning()),
        ServerState::NotRecognised => ("answers, but not as this server does", look.warning()),
    };
    it.put(" ", look.plain());
    it.put(state, style);
    let context = figure::reported_count(&server.context, look);
    fact(&mut it, "ctx", &context, look);
    slots(&mut it, server, look);
    if server.cached_tokens.known().is_some() {
        let cached = figure::reported_count(&server.cached_tokens, look);
        fact(&mut it, "cached", &cached, look);
    }
    if let Reading::Known(speed) = &server.tokens_per_second {
        let age = output::format::age(snapshot.at.ms_since(speed.by.at));
        dot(&mut it, look);
        let text = format!("{:.1} tok/s r", speed.value);
        it.put(glued(&text), look.class(Class::Reported));
        it.put(format!(" {age} ago"), look.dim());
    }
    let age = output::format::age(snapshot.at.ms_since(server.at));
    dot(&mut it, look);
    it.put(glued(&format!("answered {age} ago")), look.dim());
    if let Some(pid) = server.answered_by {
        it.put(format!(" by process {pid}"), look.dim());
    }
    Some(it)
}

/// Slots, and how many of them are busy where that is told.
fn slots(it: &mut Paragraph, server: &Server, look: Look) {
    let total = figure::reported_count(&server.slots, look);
    match &server.slots_busy {
        Reading::Known(_) => {
            let busy = figure::reported_count(&server.slots_busy, look);
            fact(it, "slots", &total, look);
            fact(it, "busy", &busy, look);
        }
        Reading::Missing(_) => fact(it, "slots", &total, look),
    }
}

/// What it was asked and how that went, and what else it says.
pub(super) fn more(snapshot: &Snapshot, process: &Process, look: Look, out: &mut Vec<Paragraph>) {
    let Some(server) = &process.server else {
        return;
    };
    if !server.endpoints.is_empty() {
        let mut it = labelled("Asked", look);
        for one in &server.endpoints {
            dot(&mut it, look);
            it.put(
                glued(&format!("{} ", figure::clean(&one.path))),
                look.plain(),
            );
            let (text, style) = endpoint(one.state, look);
            it.put(text.to_string(), style);
        }
        out.push(it);
    }
    if !server.said.is_empty() {
        let mut it = labelled("Said", look);
        words(&mut it, snapshot, &server.said, look);
        out.push(it);
    }
}

fn endpoint(state: EndpointState, look: Look) -> (model::Text, Style) {
    let style = match state {
        EndpointState::Ok => look.good(),
        EndpointState::NotThere | EndpointState::Disabled | EndpointState::NotAsked => look.dim(),
        EndpointState::KeyRequired
        | EndpointState::Loading
        | EndpointState::Unexpected(_)
        | EndpointState::Failed(_) => look.warning(),
    };
    (state.words(), style)
}
