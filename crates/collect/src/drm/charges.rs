//! Rows of the attribution as charges of processes.

use std::collections::BTreeMap;

use model::{
    Bytes, Charge, ChargedBytes, DeviceKind, DriverLists, DrmClients, DrmRegion, Engines,
    Estimated, Gap, KfdFigures, KfdStanding, Measured, Method, Percent, ProcessMemory, Provenance,
    Reading, Source, Stamp,
};

use super::attribution::Row;
use super::classes::Columns;
use super::device_state::DeviceState;
use super::state::Drm;

/// A process that holds a device, by number and, where it is known from its own files, start time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct DrmProcess {
    pub(crate) pid: u32,
    pub(crate) start_ticks: Option<u64>,
    /// Whether it was seen to hold the device, so that it is one even where nothing else can be told of it.
    pub(crate) is_holder: bool,
    pub(crate) at: Stamp,
}

impl Drm {
    /// Every process that holds a device, with its charge.
    pub(crate) fn charges(
        &self,
        index_of: &BTreeMap<u32, u32>,
        now: Stamp,
    ) -> Vec<(DrmProcess, Charge)> {
        let Some(sweep_at) = self.at else {
            return Vec::new();
        };
        let mut charges = Vec::new();
        for row in &self.rows {
            let (Some(index), Some(device)) =
                (index_of.get(&row.slot), self.devices.get(&row.slot))
            else {
                continue;
            };
            let at = stamp(sweep_at, row.at_ns);
            let process = DrmProcess {
                pid: row.pid,
                start_ticks: row.start_ticks,
                is_holder: true,
                at,
            };
            charges.push((process, self.charge(*index, device, row, None, (at, now))));
        }
        for unseen in self.unseen_rows(now) {
            let row = &unseen.row;
            let (Some(index), Some(device)) =
                (index_of.get(&row.slot), self.devices.get(&row.slot))
            else {
                continue;
            };
            let mut charge = self.charge(*index, device, row, Some(unseen.standing), (now, now));
            if let Some(vram) = unseen.charged {
                charge.memory.vram = Reading::Known(ChargedBytes::Measured(vram));
            }
            let process = DrmProcess {
                pid: row.pid,
                start_ticks: None,
                is_holder: false,
                at: unseen.at,
            };
            charges.push((process, charge));
        }
        charges
    }

    /// The charge of a row. `standing`: what became of the compute driver's count, where the row has no client that
    /// can be seen.
    fn charge(
        &self,
        device_index: u32,
        device: &DeviceState,
        row: &Row,
        standing: Option<KfdStanding>,
        (at, now): (Stamp, Stamp),
    ) -> Charge {
        let driver = row.driver.as_deref().unwrap_or(&device.found.driver_name);
        let counters = counters(driver);
        let fdinfo = |counter| Provenance {
            source: Source::Fdinfo,
            counter,
            at,
        };
        let charged = |size: Result<u64, Gap>, counter| match size {
            Ok(bytes) => Reading::Known(ChargedBytes::Measured(Measured {
                value: Bytes(bytes),
                from: fdinfo(counter),
            })),
            Err(gap) => Reading::missing(gap, fdinfo(counter)),
        };
        let reference = |size: Result<u64, Gap>, counter| match size {
            Ok(bytes) => Reading::measured(Bytes(bytes), fdinfo(counter)),
            Err(gap) => Reading::missing(gap, fdinfo(counter)),
        };
        // Its own load is not read while it sleeps; a zero beside that would look like a reading of now.
        let is_asleep = device.why_left_alone() == Some(Gap::Asleep);
        let columns = match &row.loads {
            Ok(_) if is_asleep => Columns::missing(Gap::Asleep),
            // amdgpu leaves out engines that have done nothing: no line is no work, where it is known to time any.
            Ok(loads) if loads.is_empty() && driver == "amdgpu" && !device.times_work => {
                Columns::missing(Gap::NoEngineLine)
            }
            Ok(loads) => Columns::of(driver, device.video(), loads),
            Err(gap) => Columns::missing(*gap),
        };
        let engines = match &row.loads {
            Ok(loads) if loads.is_empty() && driver == "amdgpu" => {
                "no drm-engine-* line: amdgpu leaves out engines that did nothing"
            }
            _ => counters.engines,
        };
        let load = |load: Result<f64, Gap>, counter| match load {
            Ok(percent) => Reading::owned(Percent(percent), fdinfo(counter)),
            Err(gap) => Reading::missing(gap, fdinfo(counter)),
        };
        let named = |load: Result<f64, Gap>| match load {
            Ok(percent) => Reading::measured(Percent(percent), fdinfo(counters.engines)),
            Err(gap) => Reading::missing(gap, fdinfo(counters.engines)),
        };
        let derived = |counter| Provenance {
            source: Source::Derived,
            counter,
            at,
        };
        let estimated = |low, high, counter| {
            Reading::Known(Estimated {
                low: Bytes(low),
                high: Bytes(high),
                method: Method::Derived,
                from: derived(counter),
            })
        };
        let none = |counter| Reading::missing(Gap::NoCounter, fdinfo(counter));
        let standing = standing.unwrap_or(match row.vram {
            Ok(_) => KfdStanding::InClients,
            Err(_) => KfdStanding::ClientsUncharged,
        });
        let kfd = self.kfd.figures(device, row.pid, now);
        let kfd = kfd.map(|figures| KfdFigures {
            standing: match figures.vram {
                Reading::Known(_) => standing,
                Reading::Missing(_) => KfdStanding::NoFigure,
            },
            ..figures
        });
        Charge {
            device_index,
            lists: DriverLists::default(),
            memory: ProcessMemory {
                vram: charged(row.vram, counters.vram),
                spill: charged(row.system, counters.system),
                commit: none("no counter on Linux"),
                paged: Reading::missing(Gap::NoCounter, fdinfo("no counter on Linux")),
            },
            engines: Engines {
                busiest: load(columns.busiest, engines),
                graphics: load(columns.graphics, engines),
                compute: load(columns.compute, engines),
                memory: Reading::missing(Gap::NoCounter, fdinfo("no memory activity by process")),
                copy: load(columns.copy, engines),
                encode: load(columns.encode, engines),
                decode: load(columns.decode, engines),
                jpeg: load(columns.jpeg, engines),
                ofa: Reading::missing(Gap::NoCounter, fdinfo("no optical flow engine")),
                video: load(columns.video, engines),
            },
            instance: None,
            drm: Some(Box::new(DrmClients {
                clients: row.clients,
                kind: device.kind,
                shared_with: row.shared_with.clone(),
                reasons: row.reasons.clone(),
                vram_resident: reference(row.vram_resident, counters.vram),
                system_resident: reference(row.system_resident, counters.system),
                vram_bounds: match row.vram_bounds {
                    Some(bounds) => {
                        estimated(bounds.low, bounds.high, "resident - shared, resident")
                    }
                    None => Reading::missing(Gap::NotApplicable, derived("resident - shared")),
                },
                displaced: match row.displaced {
                    Some(bytes) if device.kind == DeviceKind::Discrete => {
                        estimated(bytes, bytes, "drm-total-vram - drm-resident-vram")
                    }
                    // Only a card has a memory that anything can be pushed out of.
                    Some(_) => Reading::missing(Gap::NotApplicable, derived("drm-total-vram")),
                    None => Reading::missing(Gap::NoCounter, derived("drm-total-vram")),
                },
                other_engines: columns
                    .others
                    .iter()
                    .map(|(name, share)| (name.as_str().into(), named(*share)))
                    .collect(),
                regions: row
                    .regions
                    .iter()
                    .map(|(name, sums)| DrmRegion {
                        name: name.as_str().into(),
                        total: reference(sums.total, "drm-total-*"),
                        shared: reference(sums.shared, "drm-shared-*"),
                        resident: reference(sums.resident, "drm-resident-*"),
                    })
                    .collect(),
                kfd,
            })),
        }
    }
}

/// The moment of a text on both clocks, from that of its sweep.
fn stamp(sweep: Stamp, at_ns: u64) -> Stamp {
    let earlier_us = i64::try_from(sweep.mono_ns.saturating_sub(at_ns) / 1000).unwrap_or(i64::MAX);
    Stamp {
        mono_ns: at_ns,
        wall_us: sweep.wall_us.saturating_sub(earlier_us),
    }
}

/// Keys of a driver's texts, as they are named to people.
pub(super) struct Counters {
    pub(super) vram: &'static str,
    pub(super) system: &'static str,
    engines: &'static str,
}

pub(super) fn counters(driver: &str) -> Counters {
    match driver {
        "amdgpu" => Counters {
            vram: "drm-resident-vram",
            system: "drm-resident-gtt",
            engines: "drm-engine-*",
        },
        "i915" => Counters {
            vram: "drm-resident-local*",
            system: "drm-resident-system*",
            engines: "drm-engine-*",
        },
        "xe" => Counters {
            vram: "drm-resident-vram*",
            system: "drm-resident-gtt, drm-resident-system",
            engines: "drm-cycles-*",
        },
        _ => Counters {
            vram: "drm-resident-vram*",
            system: "drm-resident-memory",
            engines: "drm-engine-*",
        },
    }
}
