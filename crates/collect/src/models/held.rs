//! Whether a process holds a model: parts of its memory are told only of one that it does.

use model::{EvidenceKind, EvidenceLabel, Model, Server, ServerState};

/// Whether parts of the process's memory may be put down to this model. One that a log, settings or a store tell of may
/// have been unloaded, or never loaded.
pub(super) fn is_held(model: &Model, server: Option<&Server>) -> bool {
    let is_shown = matches!(
        model.label,
        EvidenceLabel::Confirmed | EvidenceLabel::Likely
    );
    is_shown && !server.is_some_and(has_unloaded)
}

/// Whether the process's own server says that it sleeps: then it has freed all that its model takes, and whatever memory
/// the process still has is something else.
pub(super) fn has_unloaded(server: &Server) -> bool {
    server.state == ServerState::Sleeping && server.answered_by.is_none()
}

/// A server names a file that is none.
pub(super) fn named_no_model(model: &mut Model, why: &str) {
    let is_served = model
        .evidence
        .iter()
        .any(|one| one.kind == EvidenceKind::Api);
    if let Some(path) = model.path.value().filter(|_| is_served) {
        let sentence = format!("the server names {path}, which is no model: {why}");
        model.conflict.get_or_insert_with(|| sentence.into());
    }
}
