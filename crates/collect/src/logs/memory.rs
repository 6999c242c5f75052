//! Device memory that ran out, whichever program says so. A log of this start tells when, and how much was wanted.

use model::ModelEventKind;
use raw::logs::{KeptLine, LineKind};

use super::parts::{Units, size};
use super::{Told, ToldEvent};

/// Most of them that are kept, the newest: a program may say it for every request.
const MAX_EVENTS: usize = 8;

/// Programs of both families write `MiB` and `GiB`.
const UNITS: Units = Units::Binary;

/// What lines of this kind tell since the program's last start.
pub(super) fn told(lines: &[KeptLine], _cut: bool) -> Option<Told> {
    let start = lines.iter().rposition(|line| line.is == LineKind::Started);
    let since = lines.get(start.unwrap_or_default()..)?; // tidy: a log without a start is of one start
    let failed = since.iter().filter(|line| line.is == LineKind::OutOfMemory);
    let mut events: Vec<ToldEvent> = Vec::new();
    for line in failed {
        let event = ToldEvent {
            kind: ModelEventKind::OutOfMemory,
            path: None,
            name: None,
            at: line.at,
            bytes: size(line, 0, UNITS),
        };
        // The same is said by the allocator and again by whoever called it.
        let again = events
            .last()
            .is_some_and(|it| it.at == event.at && event.bytes.is_none());
        if !again {
            events.push(event);
        }
    }
    let newest = events.len().saturating_sub(MAX_EVENTS);
    events.drain(..newest);
    (!events.is_empty()).then(|| Told {
        family: "memory",
        events,
        ..Told::default()
    })
}
