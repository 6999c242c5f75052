//! Device memory that ran out, as a notice.

use model::{ModelEvent, ModelEventKind, Notice, ProcessKey, Severity};

use super::claim::Claim;
use super::servers::size;

/// Memory that ran out since the process started, as a log of it says: the newest time alone, since a program may say so
/// for every request. Told whether or not a model came of it.
pub(super) fn ran_out(key: ProcessKey, claims: &[Claim]) -> Option<Notice> {
    let events = claims.iter().flat_map(|claim| &claim.about.events);
    let is_it = |it: &&ModelEvent| it.kind == ModelEventKind::OutOfMemory && it.fresh == Some(true);
    let newest = events.rev().find(is_it)?;
    let wanted = newest.bytes.map_or_else(
        || "how much was wanted is not said".to_owned(),
        |bytes| format!("{} wanted", size(bytes)),
    );
    Some(Notice {
        code: "out_of_memory",
        severity: Severity::Warning,
        subject: format!("pid:{}", key.pid).into(),
        text: format!(
            "its log says that device memory ran out: {wanted} ({})",
            newest.log
        )
        .into(),
    })
}
