//! One refresh: the order of the stages, and what is kept from one to the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::remedy::{Refused, Standing};
use model::{
    Bytes, Device, DeviceKey, DeviceKind, Gap, Notice, PciAddress, PowerState, Process, ProcessKey,
    ProcessStatus, Provenance, Reading, ScanState, Severity, Snapshot, Source, Stamp, Vendor,
};
use raw::{Machine, MachineFacts, Tick, TickPlan};

use crate::assemble;
use crate::backends::{self, Evidence};
use crate::drm::Drm;
use crate::health;
use crate::host::Host;
use crate::models::{Around, Asked, Findings, Models};
use crate::nvml::{Nvml, Resting};
use crate::processes::{Facts, Nested, Processes, reference};
use crate::rest::Rest;
use crate::stage::guarded;

mod rows;
mod switched_off;

pub(crate) use rows::Row;

/// While there is no device, drivers are tried again after this time: half a second more than the
/// reader's own distance between two attempts, or every other one would come a moment too early.
const RETRY_NS: u64 = 10_500_000_000;

/// Most refreshes between two regular ones that only take answers of posted questions.
const MAX_CATCH_UPS: u32 = 64;

/// How patient a run is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pace {
    /// A screen: drivers have 150 ms per refresh, later answers come with their age.
    Live,
    /// A recording: as patient as a screen, but never slower than its interval.
    Recording,
    /// One report: the drivers may take this long, in nanoseconds.
    OneShot(u64),
}

/// Turns answers into snapshots, one refresh at a time.
pub struct Collector {
    facts: MachineFacts,
    host: Host,
    nvml: Nvml,
    drm: Drm,
    rest: Rest,
    /// The last refresh.
    seen: Stamp,
    processes: Processes,
    nested: Nested,
    models: Models,
    totals: BTreeMap<DeviceKey, Bytes>,
    last_regular: Option<Stamp>,
    /// When the last regular refresh was due: the beat that the next one keeps to.
    beat_ns: u64,
    catch_ups: u32,
    planned_regular: bool,
    pending: bool,
    waiting_for_drivers: bool,
    any_device: bool,
}

impl Collector {
    /// A collector for a machine with these facts.
    pub fn new(facts: &MachineFacts) -> Self {
        Self {
            facts: facts.clone(),
            host: Host::default(),
            nvml: Nvml::new(facts.settings.interval_ms),
            drm: Drm::default(),
            rest: Rest::new(facts.settings.wake),
            seen: Stamp {
                mono_ns: 0,
                wall_us: 0,
            },
            processes: Processes::default(),
            nested: Nested::default(),
            models: Models::default(),
            totals: BTreeMap::new(),
            last_regular: None,
            beat_ns: 0,
            catch_ups: 0,
            planned_regular: true,
            pending: true,
            waiting_for_drivers: false,
            any_device: true,
        }
    }

    /// Changes the time between refreshes.
    pub const fn set_interval_ms(&mut self, interval_ms: u64) {
        self.facts.settings.interval_ms = interval_ms;
    }

    /// Reads this device in the next refresh, even if that wakes it.
    pub fn wake(&mut self, device: &DeviceKey) {
        if let DeviceKey::Pci(address) = device {
            self.rest.wake(*address, self.seen);
            self.nvml.leave_alone(self.rest.why_nothing());
        }
    }

    /// When the next refresh is due and what it asks. A replay ignores it.
    pub fn plan(&mut self, pace: Pace) -> TickPlan {
        let is_patient = matches!(pace, Pace::OneShot(_));
        let wait_ns = match pace {
            Pace::Live | Pace::Recording => 150_000_000,
            Pace::OneShot(patience_ns) => patience_ns,
        };
        // Whether devices sleep has to be known before a driver is asked for the first time.
        if !self.host.is_known() {
            self.planned_regular = false;
            return TickPlan {
                extra: true,
                ..TickPlan::default()
            };
        }
        let Some(last) = self.last_regular else {
            self.planned_regular = true;
            return TickPlan {
                wait_ns,
                // Nothing is known of any device, so there is no sample to ask after.
                nvml: self.nvml.plan(i64::MAX, self.rest.untouched(0)),
                drm: self.drm.plan(is_patient),
                ..TickPlan::default()
            };
        };
        let interval_ns = self.facts.settings.interval_ms.saturating_mul(1_000_000);
        let interval_ns = if self.any_device || pace == Pace::Recording {
            interval_ns
        } else {
            interval_ns.max(RETRY_NS)
        };
        // On the beat, unless a refresh took longer than an interval: then from its end.
        let on_beat = self.beat_ns.saturating_add(interval_ns);
        let due = if on_beat > last.mono_ns {
            on_beat
        } else {
            last.mono_ns.saturating_add(interval_ns)
        };
        // The first sweep is late: look again soon rather than an interval later.
        let due = if self.waiting_for_drivers {
            last.mono_ns.saturating_add(wait_ns)
        } else {
            due
        };
        // The user waits for a device.
        let hurried = self.rest.hurry();
        let due = if hurried { last.mono_ns } else { due };
        if self.pending && !hurried && self.catch_ups < MAX_CATCH_UPS {
            self.planned_regular = false;
            return TickPlan {
                not_before_ns: due,
                early_when_answered: true,
                wait_ns: 0,
                nvml: None,
                drm: None,
                extra: true,
            };
        }
        self.planned_regular = true;
        self.beat_ns = due;
        let until_due_us = due.saturating_sub(last.mono_ns) / 1000;
        let wall_at_due = last.wall_us.saturating_add_unsigned(until_due_us);
        TickPlan {
            not_before_ns: due,
            early_when_answered: false,
            wait_ns,
            nvml: self.nvml.plan(wall_at_due, self.rest.untouched(due)),
            drm: self.drm.plan(is_patient),
            // What a driver that is late says belongs to the refresh in which it was asked.
            extra: self.waiting_for_drivers && !hurried,
        }
    }

    /// One refresh. Cannot fail: what a stage could not do is a gap or a notice in the snapshot.
    pub fn tick(&mut self, machine: &mut dyn Machine, tick: Tick) -> Arc<Snapshot> {
        let now = tick.now;
        let mut notices: Vec<Notice> = Vec::new();
        guarded("host", &mut notices, || {
            self.host.refresh(machine, now);
        });
        guarded("nvml", &mut notices, || {
            self.nvml.take(&machine.nvml(), now);
            self.rest.settle(machine, &self.host, &mut self.nvml, now);
        });
        guarded("drm", &mut notices, || {
            let (mode, is_initial) = (self.host.mode(), self.host.may_look_up());
            self.drm.refresh(machine, mode, is_initial, now);
            self.drm.take(&machine.drm(), now);
        });
        self.seen = now;
        let mut devices: Vec<(u32, Device)> = Vec::new();
        let mut index_of = BTreeMap::new();
        let mut listed = Vec::new();
        let mut held = Vec::new();
        guarded("devices", &mut notices, || {
            devices = self.nvml.devices(now);
            devices.extend(drm_devices(&mut self.drm, &devices, now));
            devices.extend(unread_devices(&self.rest, &devices, now));
            for (_, device) in &mut devices {
                // What a driver's own folder says is the same file by another path.
                if let Some(address) = device.pci.value()
                    && device.may_suspend.known().is_none()
                {
                    device.may_suspend = self.host.may_suspend(*address, now);
                }
            }
            index_of = assemble::index_devices(&mut devices, &mut self.totals);
            listed = self.nvml.charges(&index_of, self.numbers(), now);
            held = self.drm.charges(&index_of, now);
        });
        let mut rows = BTreeMap::new();
        let mut hidden_notice = None;
        guarded("processes", &mut notices, || {
            rows = self.rows(machine, listed, now);
            let hidden = self.add_holders(machine, held, &mut rows);
            hidden_notice = rows::hidden(&hidden, self.standing());
            let keys: Vec<ProcessKey> = rows.keys().copied().collect();
            self.processes.refresh(machine, &keys, now);
        });
        notices.extend(hidden_notice);
        let mut processes = Vec::new();
        guarded("models", &mut notices, || {
            self.models.begin(now);
        });
        let places: Vec<(PciAddress, u32)> = devices
            .iter()
            .filter_map(|(_, device)| match device.key {
                DeviceKey::Pci(address) => Some((address, device.index)),
                _ => None,
            })
            .collect();
        for (key, row) in &rows {
            let mut found = None;
            guarded("models", &mut notices, || {
                found = Some(self.process(machine, *key, row, &places, now));
            });
            if let Some((process, mut its_notices)) = found {
                processes.push(process);
                notices.append(&mut its_notices);
            }
        }
        guarded("models", &mut notices, || {
            let keys: Vec<ProcessKey> = rows.keys().copied().collect();
            self.models.end(&keys);
        });
        let mut devices: Vec<Device> = devices.into_iter().map(|(_, device)| device).collect();
        let list_gaps = self.nvml.list_gaps(&index_of, now);
        let mut account_notices = Vec::new();
        guarded("accounts", &mut notices, || {
            assemble::sort(&mut processes);
            for device in &mut devices {
                let gaps = list_gaps.get(&device.index).map_or(&[][..], Vec::as_slice);
                assemble::account(device, &processes, gaps, now, &mut account_notices);
                account_notices.extend(health::notice(device));
            }
        });
        notices.append(&mut account_notices);
        notices.extend(self.nvml.notices(&index_of, now));
        notices.extend(self.drm.notices(&index_of, self.standing(), now));
        notices.extend(self.rest.notices());
        let snapshot = self.snapshot(machine, tick, devices, processes, notices);
        self.settle(&snapshot);
        Arc::new(snapshot)
    }

    fn process(
        &mut self,
        machine: &mut dyn Machine,
        key: ProcessKey,
        row: &Row,
        places: &[(PciAddress, u32)],
        now: Stamp,
    ) -> (Process, Vec<Notice>) {
        let watched = self.processes.get(key);
        let (facts, runtimes, mut findings) = match (watched, reference(key)) {
            (Some(watched), Some(who)) => {
                let started = self
                    .host
                    .started_us(who.start_ticks, self.facts.clock_ticks);
                let facts = Facts::of(watched, &self.processes, started, now);
                let runtimes = self.models.runtimes(key, watched, now);
                let asked = Asked {
                    key,
                    who,
                    watched,
                    measured: assemble::measured_vram(&row.charges),
                    around: Around {
                        started_us: started,
                        devices: places,
                    },
                };
                let findings = self.models.of(machine, &asked, &self.processes, now);
                (facts, Some(runtimes), findings)
            }
            _ => (
                Facts::missing(row.why_unknown.unwrap_or(Gap::Internal), now),
                None,
                Findings::default(),
            ),
        };
        let notices = std::mem::take(&mut findings.notices);
        let program = self.models.program(key);
        let mut process = assemble::process(key, row, facts, runtimes, program, findings, now);
        let found = (process.category, process.category_reason);
        (process.category, process.category_reason) = self.models.category(key, found, now);
        (process, notices)
    }

    fn snapshot(
        &self,
        machine: &dyn Machine,
        tick: Tick,
        devices: Vec<Device>,
        processes: Vec<Process>,
        mut notices: Vec<Notice>,
    ) -> Snapshot {
        let facts = machine.facts();
        let denied = |process: &&Process| {
            process.runtimes.gap() == Some(Gap::Permission)
                || process.command_line.gap() == Some(Gap::Permission)
        };
        let unreadable = count(processes.iter().filter(denied).count());
        if unreadable > 0 {
            notices.push(Notice {
                code: "unreadable_processes",
                severity: Severity::Info,
                subject: "processes".into(),
                text: format!(
                    "{} cannot be looked into, so their models are not known; {}",
                    model::names::counted(unreadable, "process", "processes"),
                    self.standing().remedy(Refused::Process)
                )
                .into(),
            });
        }
        notices.extend(rows::notices(&self.nested, &processes));
        notices.extend(switched_off::notices(&facts.settings));
        let evidence = Evidence {
            nvml: &self.nvml,
            drm: &self.drm,
            host: &self.host,
            standing: self.standing(),
            facts,
            now: tick.now,
        };
        notices.extend(backends::unread(&evidence, &devices));
        let scan = if self.nvml.lists_are_current() && self.drm.is_search_complete() {
            ScanState::Complete
        } else {
            ScanState::Partial
        };
        Snapshot {
            tick: tick.number,
            at: tick.now,
            sample_ms: self
                .drm
                .sample_ms()
                .unwrap_or_else(|| self.nvml.sample_ms()),
            origin: facts.origin.clone(),
            mode: self.host.mode(),
            host: self.host.facts(machine),
            sources: backends::statuses(&evidence),
            process_status: ProcessStatus {
                listed: count(processes.len()),
                unreadable,
                hidden: self.drm.hidden_processes(),
                scan,
            },
            selection: facts.settings.selection(&devices),
            measured_process_vram: assemble::measured_total(&devices, &processes),
            devices,
            processes,
            notices,
            pending: self.nvml.is_pending(&self.facts)
                || self.rest.is_waiting()
                || self.drm.is_pending()
                || self.is_waiting(),
        }
    }

    /// Who runs this, and where.
    fn standing(&self) -> Standing {
        Standing {
            privileged: self.facts.privileged,
            mode: self.host.mode(),
        }
    }

    /// Whether an answer to a posted question is outstanding.
    fn is_waiting(&self) -> bool {
        self.processes.is_waiting()
            || self.nested.is_waiting()
            || self.models.is_waiting()
            || self.drm.is_naming()
    }

    /// Remembers what the next plan depends on.
    fn settle(&mut self, snapshot: &Snapshot) {
        if self.planned_regular {
            if self.last_regular.is_none() {
                self.beat_ns = snapshot.at.mono_ns;
            }
            self.last_regular = Some(snapshot.at);
            self.catch_ups = 0;
        } else {
            self.catch_ups += 1;
        }
        self.waiting_for_drivers =
            self.nvml.is_pending(&self.facts) || self.rest.is_waiting() || self.drm.is_waiting();
        self.pending = self.is_waiting();
        self.any_device = !snapshot.devices.is_empty() || self.waiting_for_drivers;
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Devices of the kernel's DRM drivers that no other driver has spoken for.
fn drm_devices(drm: &mut Drm, known: &[(u32, Device)], now: Stamp) -> Vec<(u32, Device)> {
    let mut devices = drm.devices(now);
    devices.retain(|(_, device)| known.iter().all(|(_, other)| other.key != device.key));
    devices
}

/// Devices that sleep or have just woken, and that no driver has spoken for.
fn unread_devices(rest: &Rest, known: &[(u32, Device)], now: Stamp) -> Vec<(u32, Device)> {
    let known: Vec<&DeviceKey> = known.iter().map(|(_, device)| &device.key).collect();
    let unread = rest
        .unread()
        .filter(|(address, _)| !known.contains(&&DeviceKey::Pci(*address)));
    // Slots that no driver hands out.
    unread
        .zip((0..=u32::MAX).rev())
        .map(|((address, resting), slot)| (slot, sleeping(address, resting, now)))
        .collect()
}

fn sleeping(address: PciAddress, resting: Resting, now: Stamp) -> Device {
    let (power, gap, status) = match resting {
        Resting::Asleep => (Some(PowerState::Suspended), Gap::Asleep, "asleep"),
        Resting::Unknown => (None, Gap::PowerUnknown, crate::rest::UNTOLD),
        Resting::Idle | Resting::Waking => (
            Some(PowerState::Active),
            Gap::Pending,
            "awake, not read yet",
        ),
    };
    let from = |counter| Provenance {
        source: Source::Sysfs,
        counter,
        at: now,
    };
    let asleep = from("power/runtime_status");
    macro_rules! asleep {
        () => {
            Reading::missing(gap, asleep)
        };
    }
    Device {
        driver_index: None,
        index: 0,
        key: DeviceKey::Pci(address),
        vendor: Vendor::Nvidia,
        name: asleep!(),
        uuid: asleep!(),
        pci: Reading::measured(address, from("bus/pci/devices")),
        driver: asleep!(),
        cuda: asleep!(),
        kind: DeviceKind::Unknown,
        kind_evidence: None,
        virtualization: asleep!(),
        power_state: match power {
            Some(power) => Reading::measured(power, asleep),
            None => Reading::missing(gap, asleep),
        },
        may_suspend: crate::host::unlooked(asleep.at),
        memory: model::DeviceMemory {
            total: asleep!(),
            used: asleep!(),
            free: asleep!(),
            reserved: asleep!(),
            attributed: model::Total::nothing(),
            unattributed: asleep!(),
            shared_total: asleep!(),
            shared_used: asleep!(),
        },
        gpu: asleep!(),
        memory_activity: asleep!(),
        encoder: asleep!(),
        decoder: asleep!(),
        jpeg: asleep!(),
        ofa: asleep!(),
        core_clock: asleep!(),
        memory_clock: asleep!(),
        video_clock: asleep!(),
        temperature: asleep!(),
        power: asleep!(),
        power_limit: asleep!(),
        fan: asleep!(),
        pcie_rx: asleep!(),
        pcie_tx: asleep!(),
        pcie_generation: asleep!(),
        pcie_width: asleep!(),
        performance_state: asleep!(),
        sensors: Vec::new(),
        visible_loads: Vec::new(),
        details: model::DeviceDetails::missing(gap, asleep),
        mig: asleep!(),
        instances: Vec::new(),
        instances_missing: None,
        categories: Vec::new(),
        categories_normalized: false,
        counter_status: status.into(),
    }
}
