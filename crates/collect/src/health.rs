//! What a device says of its own memory that somebody has to act on.

use model::names::counted;
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
            "{} since the driver was loaded",
            counted(
                *errors,
                "uncorrected memory error",
                "uncorrected memory errors"
            )
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

#[cfg(test)]
mod tests {
    use model::{Gap, Reading, sample};

    use super::*;

    #[test]
    fn only_what_somebody_has_to_act_on_is_a_notice() {
        let mut device = sample::workstation().devices.remove(0);
        let from = device.details.vbios.known().unwrap().from;
        let details = &mut device.details;
        *details = model::DeviceDetails::missing(Gap::NotSupported, from);
        assert!(notice(&device).is_none());
        device.details.ecc.volatile.corrected = Reading::measured(9, from);
        device.details.ecc.volatile.uncorrected = Reading::measured(0, from);
        device.details.remapped_rows.pending = Reading::measured(false, from);
        assert!(notice(&device).is_none());
        device.details.ecc.volatile.uncorrected = Reading::measured(2, from);
        device.details.remapped_rows.pending = Reading::measured(true, from);
        device.details.remapped_rows.failed = Reading::measured(true, from);
        device.details.retired_pages.pending = Reading::measured(true, from);
        let it = notice(&device).unwrap();
        assert_eq!((it.code, &*it.subject), ("memory_errors", "gpu:0"));
        for words in [
            "GPU 0 reports 2 uncorrected memory errors",
            "may need replacement",
            "needs a reset",
            "needs a reboot",
        ] {
            assert!(it.text.contains(words), "{words}: {}", it.text);
        }
    }
}
