//! What of a device's modes and errors matters in a report: clocks that are held down, and errors
//! that were not corrected. All of it is in JSON and in the interface.

use model::{Device, Measured, Reading};

use super::notes::{Notes, with_ages};
use super::page::Page;
use crate::format;

/// At most two lines; none where nothing calls for attention.
pub(super) fn write(page: &mut Page, notes: &mut Notes<'_>, device: &Device) {
    let details = &device.details;
    if let Reading::Known(reasons) = &details.clocks_event_reasons
        && reasons.value.limit()
    {
        let text = format!(
            "clocks held by {} ({:#x})",
            format::clocks_event_reasons(reasons.value),
            reasons.value.0
        );
        let items = vec![(text, notes.old(reasons.from.at))];
        page.items("  limits    ", &with_ages(items));
    }
    let errors = errors(notes, device);
    if !errors.is_empty() {
        page.items("  errors    ", &with_ages(errors));
    }
}

fn errors(notes: &Notes<'_>, device: &Device) -> Vec<(String, Option<u64>)> {
    let details = &device.details;
    let mut items = Vec::new();
    for (reading, when) in [
        (&details.ecc.volatile.uncorrected, "since the driver load"),
        (&details.ecc.aggregate.uncorrected, "in the card's life"),
    ] {
        if let Reading::Known(Measured { value, from }) = reading
            && *value > 0
        {
            let text = format!("{value} uncorrected ECC {when}");
            items.push((text, notes.old(from.at)));
        }
    }
    for (reading, text) in [
        (
            &details.retired_pages.pending,
            "page retirement waits for a reboot",
        ),
        (
            &details.remapped_rows.pending,
            "row remapping waits for a reset",
        ),
        (&details.remapped_rows.failed, "row remapping has failed"),
    ] {
        if let Reading::Known(Measured { value: true, from }) = reading {
            items.push((text.to_owned(), notes.old(from.at)));
        }
    }
    items
}
