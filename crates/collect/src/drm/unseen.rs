//! Processes of which no client of a device can be seen, and which the compute driver says have memory of it.
//!
//! The same bytes may be in a row already: compute memory lies in the client of a node, and whoever else holds that
//! client shows all of it. The compute driver's figure is a charge only where no other row can hold those bytes;
//! elsewhere it stays what it is, a figure beside the row.

use std::collections::{BTreeMap, BTreeSet};

use model::{Bytes, DeviceKind, Gap, KfdStanding, Measured, Reading, Stamp};

use super::attribution::Row;
use super::device_state::DeviceState;
use super::state::Drm;

/// A process without a client that can be seen.
pub(super) struct Unseen {
    pub(super) row: Row,
    /// Device memory by the compute driver's count, where that is a charge.
    pub(super) charged: Option<Measured<Bytes>>,
    /// By which rule it is one, or none.
    pub(super) standing: KfdStanding,
    /// When it was counted.
    pub(super) at: Stamp,
}

/// What the compute driver says of one such process.
struct Claim {
    pid: u32,
    vram: Reading<Measured<Bytes>>,
    is_unreadable: bool,
}

impl Drm {
    /// Processes that only the compute driver knows, on every device.
    pub(super) fn unseen_rows(&self, now: Stamp) -> Vec<Unseen> {
        let mut unseen = Vec::new();
        for (slot, device) in &self.devices {
            let claims = self.claims(*slot, device, now);
            if claims.is_empty() {
                continue;
            }
            let objections = self.objections(*slot, device, &claims, now);
            let rows = claims.iter();
            unseen.extend(rows.map(|claim| claim.row(*slot, device, &objections, now)));
        }
        unseen
    }

    /// Processes that cannot be looked at and are charged by the compute driver's count.
    pub(super) fn counted_unreadable(&self, now: Stamp) -> usize {
        let counted = self.unseen_rows(now).into_iter();
        let counted = counted.filter(|it| it.charged.is_some() && self.is_unreadable(it.row.pid));
        counted.map(|it| it.row.pid).collect::<BTreeSet<_>>().len()
    }

    fn claims(&self, slot: u32, device: &DeviceState, now: Stamp) -> Vec<Claim> {
        let seen: BTreeSet<u32> = self.rows_of(slot).map(|row| row.pid).collect();
        let mut claims = Vec::new();
        for pid in self.kfd.processes.iter().filter(|pid| !seen.contains(pid)) {
            let is_unreadable = self.is_unreadable(*pid);
            // While the search goes on, whoever can be looked at may yet be found.
            let Some(figures) = self
                .kfd
                .figures(device, *pid, now)
                .filter(|_| self.is_complete || is_unreadable)
            else {
                continue;
            };
            let is_row = match &figures.vram {
                // Having opened the compute driver is no use of a device.
                Reading::Known(vram) => vram.value.0 > 0,
                Reading::Missing(missing) => match missing.gap {
                    Gap::NotPresent | Gap::Pending => false,
                    // Whoever can be looked at and holds no node is taken for no user of a device that is not asked.
                    Gap::Asleep | Gap::LeftAlone | Gap::TimedOut => is_unreadable,
                    _ => true,
                },
            };
            if is_row {
                claims.push(Claim {
                    pid: *pid,
                    vram: figures.vram,
                    is_unreadable,
                });
            }
        }
        claims
    }

    /// What speaks against charging the compute driver's figures on a device.
    fn objections(
        &self,
        slot: u32,
        device: &DeviceState,
        claims: &[Claim],
        now: Stamp,
    ) -> Objections {
        let claimed = claims.iter().filter_map(|claim| claim.vram.value());
        let charged = self.rows_of(slot).filter_map(|row| match row.vram_bounds {
            Some(bounds) => Some(bounds.low),
            None => row.vram.ok(),
        });
        let together = claimed
            .map(|bytes| bytes.0)
            .chain(charged)
            .fold(0_u64, u64::saturating_add);
        let used = device
            .files
            .number(&device.found.file("mem_info_vram_used"));
        let used = used.ok().and_then(|used| u64::try_from(used.value).ok());
        let rooms = self.rows_of(slot).filter(|row| row.clients > 0);
        Objections {
            is_partial: !self.is_complete,
            exceeds_used: used.is_some_and(|used| together > used),
            largest_room: rooms.map(|row| self.room(row, device, now)).max(),
        }
    }

    /// How many bytes of another process the clients of a row can hold: what they can have of the device's memory, less
    /// what the compute driver counts as the row's own.
    fn room(&self, row: &Row, device: &DeviceState, now: Stamp) -> u64 {
        let Some(wanted) = row.vram_wanted else {
            return u64::MAX;
        };
        let own = self.kfd.figures(device, row.pid, now);
        match own.and_then(|own| own.vram.value().copied()) {
            Some(own) => wanted.saturating_sub(own.0),
            None => wanted,
        }
    }

    fn rows_of(&self, slot: u32) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.slot == slot)
    }
}

/// What speaks against the compute driver's figures on one device.
struct Objections {
    /// Not everybody has been looked at.
    is_partial: bool,
    /// With them the rows would add up to more than the device has in use.
    exceeds_used: bool,
    /// The most bytes of others that the clients of any row can hold; `None` without rows.
    largest_room: Option<u64>,
}

impl Objections {
    fn to(&self, bytes: u64, kind: DeviceKind) -> KfdStanding {
        if self.is_partial {
            KfdStanding::PartialScan
        } else if kind != DeviceKind::Discrete {
            // On a processor with graphics such memory may lie in either place.
            KfdStanding::NotACard
        } else if self.exceeds_used {
            KfdStanding::ExceedsUsed
        } else if self.largest_room.is_some_and(|room| room >= bytes) {
            KfdStanding::InAnotherRow
        } else {
            KfdStanding::Charged
        }
    }
}

impl Claim {
    fn row(&self, slot: u32, device: &DeviceState, objections: &Objections, now: Stamp) -> Unseen {
        // What its clients would say: they cannot be read, or there is none.
        let of_clients = if self.is_unreadable {
            Gap::Incomplete
        } else {
            Gap::NotListed
        };
        let standing = match &self.vram {
            Reading::Known(vram) => objections.to(vram.value.0, device.kind),
            Reading::Missing(_) => KfdStanding::NoFigure,
        };
        let objection = match (standing, &self.vram) {
            (KfdStanding::PartialScan, _) => Some(Gap::PartialScan),
            (KfdStanding::ExceedsUsed | KfdStanding::InAnotherRow, _) => Some(Gap::Ambiguous),
            (_, Reading::Missing(missing)) => Some(missing.gap),
            _ => None,
        };
        let charged = self.vram.known().filter(|_| standing.is_charged());
        let reasons = match (objection, of_clients) {
            _ if charged.is_some() => Vec::new(),
            (None, gap) => vec![gap],
            // What rights would tell comes before what stands in for it.
            (Some(gap @ (Gap::PartialScan | Gap::Asleep | Gap::LeftAlone | Gap::TimedOut)), _)
            | (Some(gap), Gap::NotListed) => vec![gap, of_clients],
            (Some(gap), _) => vec![of_clients, gap],
        };
        let first = reasons.first().copied().unwrap_or(of_clients);
        Unseen {
            row: Row {
                pid: self.pid,
                start_ticks: None,
                slot,
                vram: Err(first),
                system: Err(of_clients),
                reasons,
                vram_wanted: None,
                vram_resident: Err(of_clients),
                system_resident: Err(of_clients),
                vram_bounds: None,
                vram_beyond: None,
                system_beyond: None,
                displaced: None,
                regions: BTreeMap::new(),
                loads: Err(Gap::Kfd),
                clients: 0,
                shared_with: Vec::new(),
                driver: None,
                at_ns: now.mono_ns,
            },
            charged: charged.copied(),
            standing,
            at: self.vram.known().map_or(now, |vram| vram.from.at),
        }
    }
}
