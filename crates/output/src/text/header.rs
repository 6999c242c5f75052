//! The first lines: program, moment, machine.

use model::Snapshot;

use super::page::Page;
use crate::{VERSION, format};

pub(super) fn write(page: &mut Page, snapshot: &Snapshot) {
    let mut items = vec![
        format!("gputaskman {VERSION}"),
        format::utc_seconds(snapshot.at),
    ];
    if let Some(name) = &snapshot.host.name {
        items.push(format!("host {name}"));
    }
    items.push(format!("mode {}", snapshot.mode.id().replace('_', "-")));
    page.items("", &items);
}
