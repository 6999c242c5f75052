//! The snapshot as plain text (`--once`): no escapes, no box characters, one fact a line.
//!
//! Marks as everywhere in the program: plain is measured, `~` an estimate, `r` reported by the
//! runtime, `*` and `?` a matched owner, `n/a` no reading (which is not zero), `…` not answered
//! yet. Every reason for an `n/a` is printed once, in the notes.

mod attention;
mod device;
mod explanation;
mod header;
mod mig;
mod notes;
mod page;
mod process;
mod requirement;
mod table;
mod workload;

use model::remedy::Refused;
use model::{OriginKind, ScanState, Severity, Snapshot};

use crate::format;
use notes::Notes;
use page::Page;
pub use requirement::{fit, inspection};

/// Columns of the report where nobody asked for another width.
pub const WIDTH: usize = 100;

/// The report: header, a block for each GPU shown, the process table, notes. At most `width`
/// columns (not fewer than 60). Without a device it is the text of [`no_gpu`].
pub fn report(snapshot: &Snapshot, width: usize) -> String {
    if snapshot.devices.is_empty() {
        return explanation::no_gpu(snapshot, width);
    }
    let mut page = Page::new(width);
    let mut notes = Notes::new(snapshot);
    header::write(&mut page, snapshot);
    for device in snapshot.selected_devices() {
        device::write(&mut page, &mut notes, snapshot, device);
    }
    page.line("");
    table::write(&mut page, &mut notes, snapshot);
    page.line("");
    page.line("notes");
    notices(&mut page, snapshot);
    notes.write(&mut page);
    page.finish()
}

/// One line for each device (`--list-gpus`), whatever the selection; without a device the text of
/// [`no_gpu`].
pub fn list_gpus(snapshot: &Snapshot) -> String {
    if snapshot.devices.is_empty() {
        return no_gpu(snapshot);
    }
    device::list(snapshot)
}

/// Why there is no GPU to show: for every source what was looked for and found, and what to do.
pub fn no_gpu(snapshot: &Snapshot) -> String {
    explanation::no_gpu(snapshot, WIDTH)
}

fn notices(page: &mut Page, snapshot: &Snapshot) {
    for notice in &snapshot.notices {
        let glyph = match notice.severity {
            Severity::Info => "i",
            Severity::Warning => "!",
        };
        page.sentence(
            &format::pad_end(&format!("  {glyph}"), notes::INDENT),
            &format!(
                "{}: {} ({})",
                notice.subject.trim(),
                notice.text,
                notice.code
            ),
        );
    }
    let status = snapshot.process_status;
    let said = |code: &str| snapshot.notices.iter().any(|notice| notice.code == code);
    if status.scan == ScanState::Partial && !said("process_list_missing") {
        page.sentence(
            "  !      ",
            "the process list is incomplete: a device's lists are missing or old",
        );
    }
    if status.unreadable > 0 && !said("unreadable_processes") {
        page.sentence(
            "  i      ",
            &format!(
                "{} of {} processes could not be read in full; {}",
                status.unreadable,
                status.listed,
                snapshot.standing().remedy(Refused::Process)
            ),
        );
    }
    if snapshot.pending {
        page.sentence("  i      ", "answers were still on their way");
    }
    if snapshot.origin.kind != OriginKind::Live {
        let note = snapshot.origin.note.as_deref().unwrap_or("no note");
        page.sentence(
            "  i      ",
            &match note.strip_prefix(snapshot.origin.kind.id()) {
                Some(_) => format!("not a live machine: {note}"),
                None => format!("not a live machine: {} ({note})", snapshot.origin.kind.id()),
            },
        );
    }
}
