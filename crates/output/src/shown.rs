//! What the selection leaves of a snapshot.

use model::{Charge, ChargedBytes, Process, Selection, Snapshot, Total};

/// The processes to show: those that have something on a device shown, and those of which it is not
/// known on which device they have something.
pub(crate) fn processes(snapshot: &Snapshot) -> impl Iterator<Item = &Process> {
    let selection = snapshot.selection;
    let here = move |process: &&Process| {
        process.charges.is_empty() || charges(selection, process).next().is_some()
    };
    snapshot.processes.iter().filter(here)
}

/// What `process` has on the devices shown.
pub(crate) fn charges(selection: Selection, process: &Process) -> impl Iterator<Item = &Charge> {
    process
        .charges
        .iter()
        .filter(move |charge| selection.includes(charge.device_index))
}

/// Every charge on a device shown, with its process.
pub(crate) fn rows(snapshot: &Snapshot) -> impl Iterator<Item = (&Process, &Charge)> {
    let selection = snapshot.selection;
    processes(snapshot)
        .flat_map(move |process| charges(selection, process).map(move |charge| (process, charge)))
}

/// The sum of the rows with a measured owner, and that of the rows with an inferred one. A row
/// without a size counts as missing in its own sum.
pub(crate) fn totals(snapshot: &Snapshot) -> (Total, Total) {
    let mut measured = Total::nothing();
    let mut inferred = Total::nothing();
    let no_list = |device: &model::Device| device.memory.attributed.lists_missing;
    measured.lists_missing = snapshot.selected_devices().any(no_list);
    for (process, charge) in rows(snapshot) {
        if charge.memory.has_no_vram() {
            continue;
        }
        let size = charge.memory.vram.known();
        let sum = match size {
            Some(ChargedBytes::Inferred(_)) => &mut inferred,
            None if process.pid_match.is_some() => &mut inferred,
            Some(ChargedBytes::Measured(_)) | None => &mut measured,
        };
        sum.include(size.map(ChargedBytes::value));
    }
    (measured, inferred)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sample;

    #[test]
    fn one_device_keeps_its_rows_and_no_other_charge() {
        let mut snapshot = sample::servers();
        snapshot.selection = Selection::One(1);
        assert!(rows(&snapshot).all(|(_, charge)| charge.device_index == 1));
        assert_eq!(rows(&snapshot).count(), 26, "25 and the one on two devices");
        assert_eq!(processes(&snapshot).count(), 26);
    }

    #[test]
    fn the_sum_over_all_devices_is_that_of_the_snapshot() {
        for (name, snapshot) in sample::all() {
            assert_eq!(
                totals(&snapshot).0,
                snapshot.measured_process_vram,
                "{name}"
            );
        }
    }
}
