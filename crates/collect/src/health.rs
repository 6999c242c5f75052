//! What a device says of its own memory that somebody has to act on.

use model::{Device, Notice, Severity};

/// A notice where memory errors were not corrected, or where the device waits for a reset or failed to
/// repair itself. Corrected errors are in the details: they ask for nothing.
pub(crate) fn notice(device: &Device) -> Option<Notice> {
    let details = &device.details;
    let is = |reading: Option<&bool>| reading == Some(&true);
    let mut troubles = Vec::new();
    if let Some(errors) = details.ecc.volatile.uncorrected.value()
        && *errors > 0
    {
        troubles.push(format!(
            "{errors} uncorrected memory error(s) since the driver was loaded"
        ));
    }
    if is(details.remapped_rows.failed.value()) {
        troubles
            .push("a memory row could not be remapped: the card may need replacement".to_owned());
    }
    if is(details.remapped_rows.pending.value()) {
        troubles.push("memory rows wait to be remapped: the GPU needs a reset".to_owned());
    }
    if is(details.retired_pages.pending.value()) {
        troubles.push("memory pages wait to be retired: the machine needs a reboot".to_owned());
    }
    let index = device.index;
    (!troubles.is_empty()).then(|| Notice {
        code: "memory_errors",
        severity: Severity::Warning,
        subject: format!("gpu:{index}").into(),
        text: format!("GPU {index} reports {}", troubles.join("; ")).into(),
    })
}
