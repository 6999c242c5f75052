//! Why a device sleeps or does not, in one line: who has it open, what the kernel was told, who could not be looked at.

use std::fmt::Write as _;

use model::{Device, Gap, PowerState, Reading, Snapshot, Source};

use crate::format;

/// Holders named before the rest is counted.
const NAMED: usize = 3;

/// The line; `None` where neither its power state nor whether it may be suspended is known, nor that it cannot be told.
pub fn sleep(snapshot: &Snapshot, device: &Device) -> Option<String> {
    let may = device.may_suspend.value();
    if device.power_state.value() == Some(&PowerState::Suspended) {
        let mut text = "asleep".to_owned();
        if device.memory.used.known().is_some() {
            text.push_str("; sizes are the kernel's own count, read without waking it");
        }
        let holders = holders(snapshot, device);
        if !holders.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(text, "; open in {holders}");
        }
        return Some(text);
    }
    if is_untold(device) {
        return Some(
            "whether it sleeps cannot be told, so nothing is read that could wake it".into(),
        );
    }
    let holders = holders(snapshot, device);
    match may? {
        false => Some(
            "never: the kernel is told to keep it on (power/control is on; auto lets it sleep)"
                .into(),
        ),
        // An open node alone keeps no device awake with every driver: what is known is who has it open.
        true if !holders.is_empty() => Some(format!(
            "awake, may sleep (power/control is auto); may be kept awake by {holders}"
        )),
        true => {
            let hidden = match snapshot.process_status.hidden {
                0 => String::new(),
                hidden => format!(", but {hidden} cannot be looked at"),
            };
            Some(format!(
                "awake, may sleep (power/control is auto): no process that can be seen uses it{hidden}"
            ))
        }
    }
}

/// Whether its file is there and does not tell.
fn is_untold(device: &Device) -> bool {
    let Reading::Missing(missing) = &device.power_state else {
        return false;
    };
    missing.from.source == Source::Sysfs
        && matches!(
            missing.gap,
            Gap::PowerUnknown
                | Gap::Permission
                | Gap::Malformed
                | Gap::NotSupported
                | Gap::DriverError(_)
        )
}

/// `3 processes: kwin_wayland 100, firefox 812 and 1 more`; empty without any.
fn holders(snapshot: &Snapshot, device: &Device) -> String {
    let here = snapshot
        .processes
        .iter()
        .filter(|process| process.charge_on(device.index).is_some());
    let names: Vec<String> = here
        .map(|process| match process.name.value() {
            Some(name) if !name.is_empty() => format!("{} {}", format::sanitize(name), process.key),
            _ => process.key.to_string(),
        })
        .collect();
    let (named, rest) = names.split_at_checked(NAMED).unwrap_or((&names, &[]));
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match names.len() {
        0 => String::new(),
        1 => named.concat(),
        all => format!("{all} processes: {}{more}", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use model::Measured;

    use super::*;

    fn said(may: bool, power: Option<PowerState>, hidden: u32, with_processes: bool) -> String {
        let mut snapshot = model::sample::radeon();
        snapshot.process_status.hidden = hidden;
        if !with_processes {
            snapshot.processes.clear();
        }
        let mut device = snapshot.devices.remove(0);
        let mut from = device.pci.known().unwrap().from;
        from.source = Source::Sysfs;
        device.may_suspend = Reading::Known(Measured { value: may, from });
        device.power_state = match power {
            Some(power) => Reading::measured(power, from),
            None => Reading::missing(Gap::PowerUnknown, from),
        };
        sleep(&snapshot, &device).unwrap()
    }

    #[test]
    fn what_keeps_a_device_awake_is_named() {
        let awake = Some(PowerState::Active);
        let held = said(true, awake, 0, true);
        assert!(held.contains("; may be kept awake by "), "{held}");
        assert!(said(false, awake, 0, true).contains("power/control is on"));
        let unused = said(true, awake, 0, false);
        assert!(
            unused.ends_with("no process that can be seen uses it"),
            "{unused}"
        );
        let hidden = said(true, awake, 2, false);
        assert!(
            hidden.ends_with("uses it, but 2 cannot be looked at"),
            "{hidden}"
        );
        assert!(said(true, Some(PowerState::Suspended), 0, true).starts_with("asleep"));
        assert!(said(true, None, 0, true).starts_with("whether it sleeps cannot be told"));
    }
}
