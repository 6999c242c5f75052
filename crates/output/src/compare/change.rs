//! What changed in the memory of each process since an earlier moment.
//!
//! Only two values of one class are taken from each other: a size with a measured owner and one whose owner was matched
//! make no difference together. A process that was not listed, or whose size was missing, did not hold zero.

use std::collections::BTreeMap;

use model::{Charge, Charged, ChargedBytes, Gap, PidSpace, Process, Reading, Snapshot};

use super::pairing::{Identity, pair};

/// Changes below this are noise of a driver's rounding and of small allocations, 16 MiB.
pub const NOTABLE: u64 = 16 << 20;

/// How one size changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change {
    /// Later less earlier, bytes; the owner was measured both times.
    Measured(i64),
    /// The same, where the owner was matched both times.
    Inferred(i64),
    /// The process, or its entry on this device, was not listed before.
    New,
    /// It is not listed any more.
    Gone,
    /// A value is missing in one of the two, or they are of two classes.
    Missing(Gap),
}

impl Change {
    /// The difference in bytes, where there is one.
    pub const fn bytes(self) -> Option<i64> {
        match self {
            Self::Measured(bytes) | Self::Inferred(bytes) => Some(bytes),
            Self::New | Self::Gone | Self::Missing(_) => None,
        }
    }
}

/// How one row changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RowChange {
    /// Device memory.
    pub vram: Change,
    /// System memory that the GPU reaches.
    pub spill: Change,
}

impl RowChange {
    /// Whether the row is of the earlier moment alone.
    pub const fn is_gone(self) -> bool {
        matches!(self.vram, Change::Gone)
    }

    /// The same for all sizes.
    pub const fn all(change: Change) -> Self {
        Self {
            vram: change,
            spill: change,
        }
    }
}

/// All rows of the later moment, and who is gone.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    rows: BTreeMap<(usize, Option<usize>), RowChange>,
    /// Places in the earlier moment of the processes that the later one does not list.
    pub gone: Vec<usize>,
}

impl Changes {
    /// The change of a row, by the places of process and charge in the later moment.
    pub fn of(&self, process: usize, charge: Option<usize>) -> Option<RowChange> {
        self.rows.get(&(process, charge)).copied()
    }

    /// Compares two moments of one machine.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let ports_of = |snapshot: &'_ Snapshot| -> Vec<Vec<u16>> {
            let ports = |process: &Process| {
                // tidy: a list for pairing, in which unknown ports pair nothing
                let mut ports = process.ports.value().cloned().unwrap_or_default();
                ports.sort_unstable();
                ports
            };
            snapshot.processes.iter().map(ports).collect()
        };
        let (old_ports, new_ports) = (ports_of(before), ports_of(after));
        let old: Vec<Identity<'_>> = named(before, &old_ports);
        let new: Vec<Identity<'_>> = named(after, &new_ports);
        let mut changes = Self::default();
        for found in pair(&old, &new) {
            let earlier = found.before.and_then(|at| before.processes.get(at));
            let Some(place) = found.after else {
                changes.gone.extend(found.before);
                continue;
            };
            let Some(process) = after.processes.get(place) else {
                continue;
            };
            if process.charges.is_empty() && earlier.is_none() {
                changes
                    .rows
                    .insert((place, None), RowChange::all(Change::New));
            }
            for (number, charge) in process.charges.iter().enumerate() {
                let was = earlier.and_then(|it| {
                    let same = |was: &&Charge| is_same_place((before, was), (after, charge));
                    it.charges.iter().find(same)
                });
                let change = was.map_or(RowChange::all(Change::New), |was| RowChange {
                    vram: difference(&was.memory.vram, &charge.memory.vram),
                    spill: difference(&was.memory.spill, &charge.memory.spill),
                });
                changes.rows.insert((place, Some(number)), change);
            }
        }
        changes
    }
}

fn named<'a>(snapshot: &'a Snapshot, ports: &'a [Vec<u16>]) -> Vec<Identity<'a>> {
    let identity = |(process, ports): (&'a Process, &'a Vec<u16>)| Identity {
        namespace: match process.key.space {
            PidSpace::Local => "local",
            PidSpace::Host => "host",
        },
        pid: process.key.pid,
        started: process
            .key
            .start_ticks
            .and_then(|ticks| i64::try_from(ticks).ok()),
        name: process.name.value().map(|name| &**name),
        ports,
    };
    snapshot.processes.iter().zip(ports).map(identity).collect()
}

/// Whether two charges are of one device, whatever its number, and of one MIG instance.
fn is_same_place((before, was): (&Snapshot, &Charge), (after, is): (&Snapshot, &Charge)) -> bool {
    let old = before.device(was.device_index);
    let new = after.device(is.device_index);
    was.instance == is.instance && old.zip(new).is_some_and(|(old, new)| old.key == new.key)
}

fn difference(was: &Reading<ChargedBytes>, is: &Reading<ChargedBytes>) -> Change {
    let (was, is) = match (was, is) {
        (Reading::Known(was), Reading::Known(is)) => (was, is),
        (_, Reading::Missing(missing)) | (Reading::Missing(missing), _) => {
            return Change::Missing(missing.gap);
        }
    };
    let wide = |size: &ChargedBytes| i128::from(size.value().0);
    let bytes = i64::try_from(wide(is) - wide(was));
    match (was, is, bytes) {
        (Charged::Measured(_), Charged::Measured(_), Ok(bytes)) => Change::Measured(bytes),
        (Charged::Inferred(_), Charged::Inferred(_), Ok(bytes)) => Change::Inferred(bytes),
        _ => Change::Missing(Gap::InputMissing),
    }
}

#[cfg(test)]
mod tests {
    use model::{Bytes, Charged, Gap, Reading};

    use super::{Change, Changes, RowChange};

    fn grow(reading: &mut Reading<model::ChargedBytes>, by: u64) {
        if let Reading::Known(Charged::Measured(size)) = reading {
            size.value = Bytes(size.value.0 + by);
        }
    }

    #[test]
    fn measured_sizes_are_taken_from_each_other_and_missing_ones_are_not_zero() {
        let before = model::sample::workstation();
        let mut after = before.clone();
        let measured = after
            .processes
            .iter()
            .position(|it| {
                it.charges
                    .first()
                    .is_some_and(|on| on.memory.vram.known().is_some())
            })
            .unwrap();
        grow(
            &mut after.processes[measured].charges[0].memory.vram,
            1 << 30,
        );
        let changes = Changes::between(&before, &after);
        assert!(changes.gone.is_empty());
        let row = changes.of(measured, Some(0)).unwrap();
        assert_eq!(row.vram, Change::Measured(1 << 30));
        // NVIDIA on Linux has no counter for it.
        assert_eq!(row.spill, Change::Missing(Gap::NoCounter));
        for (place, process) in after.processes.iter().enumerate() {
            for (number, charge) in process.charges.iter().enumerate() {
                let change = changes.of(place, Some(number)).unwrap();
                assert_eq!(
                    change.vram.bytes().is_some(),
                    charge.memory.vram.known().is_some()
                );
            }
        }
    }

    #[test]
    fn what_one_side_does_not_list_is_new_or_gone_whatever_its_size() {
        let before = model::sample::workstation();
        let mut after = before.clone();
        let leaving = after.processes.remove(0);
        let changes = Changes::between(&before, &after);
        assert_eq!(changes.gone, [0]);
        let back = Changes::between(&after, &before);
        assert!(back.gone.is_empty());
        let place = (!leaving.charges.is_empty()).then_some(0);
        assert_eq!(back.of(0, place), Some(RowChange::all(Change::New)));
    }

    #[test]
    fn a_size_with_a_matched_owner_is_not_taken_from_a_measured_one() {
        let matched = model::sample::container();
        let mut measured = matched.clone();
        let at = matched
            .processes
            .iter()
            .position(|it| {
                let vram = it.charges.first().and_then(|on| on.memory.vram.known());
                vram.is_some_and(|size| size.measured().is_none())
            })
            .unwrap();
        let vram = &mut measured.processes[at].charges[0].memory.vram;
        let size = vram.known().unwrap();
        let (value, from) = (size.value(), size.from());
        *vram = Reading::Known(Charged::Measured(model::Measured { value, from }));
        let changes = Changes::between(&matched, &measured);
        let row = changes.of(at, Some(0)).unwrap();
        assert_eq!(row.vram, Change::Missing(Gap::InputMissing));
        let same = Changes::between(&matched, &matched);
        assert_eq!(same.of(at, Some(0)).unwrap().vram, Change::Inferred(0));
    }

    #[test]
    fn a_device_is_the_same_under_another_number() {
        let before = model::sample::servers();
        let mut after = before.clone();
        for device in &mut after.devices {
            device.index += 100;
        }
        for charge in after.processes.iter_mut().flat_map(|it| &mut it.charges) {
            charge.device_index += 100;
        }
        let changes = Changes::between(&before, &after);
        for (place, process) in after.processes.iter().enumerate() {
            for number in 0..process.charges.len() {
                let change = changes.of(place, Some(number)).unwrap();
                assert_ne!(change.vram, Change::New);
            }
        }
    }
}
