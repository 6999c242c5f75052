//! One refresh: the order of the stages, and what is kept from one to the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    Bytes, Charge, Device, DeviceKey, DeviceKind, Gap, Notice, PidSpace, PowerState, Process,
    ProcessKey, ProcessStatus, Provenance, Reading, ScanState, Severity, Snapshot, Source, Stamp,
    Vendor,
};
use raw::{Machine, MachineFacts, Tick, TickPlan};

use crate::assemble;
use crate::backends::{self, Evidence};
use crate::drm::{Drm, DrmProcess};
use crate::host::{DisplayDevice, Host, NVIDIA};
use crate::models::{Findings, Models};
use crate::nvml::{ListedProcess, Nvml};
use crate::processes::{Facts, Processes, reference};
use crate::stage::guarded;

/// While there is no device, drivers are tried again after this time.
const RETRY_NS: u64 = 10_000_000_000;

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
    processes: Processes,
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
            processes: Processes::default(),
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
            return TickPlan::default();
        }
        let Some(last) = self.last_regular else {
            self.planned_regular = true;
            return TickPlan {
                wait_ns,
                // Nothing is known of any device, so there is no sample to ask after.
                nvml: self.nvml.plan(i64::MAX),
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
        if self.pending && self.catch_ups < MAX_CATCH_UPS {
            self.planned_regular = false;
            return TickPlan {
                not_before_ns: due,
                early_when_answered: true,
                wait_ns: 0,
                nvml: None,
                drm: None,
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
            nvml: self.nvml.plan(wall_at_due),
            drm: self.drm.plan(is_patient),
        }
    }

    /// Whether the planned refresh is one at the interval, not one that only takes late answers.
    pub const fn is_regular(&self) -> bool {
        self.planned_regular
    }

    /// One refresh. Cannot fail: what a stage could not do is a gap or a notice in the snapshot.
    pub fn tick(&mut self, machine: &mut dyn Machine, tick: Tick) -> Arc<Snapshot> {
        let now = tick.now;
        let mut notices: Vec<Notice> = Vec::new();
        guarded("host", &mut notices, || {
            self.host.refresh(machine, now);
            self.nvml.sleep(all_asleep(&self.host));
        });
        guarded("nvml", &mut notices, || {
            self.nvml.take(&machine.nvml(), now);
        });
        guarded("drm", &mut notices, || {
            let (mode, is_initial) = (self.host.mode(), self.host.may_look_up());
            self.drm.refresh(machine, mode, is_initial, now);
            self.drm.take(&machine.drm(), now);
        });
        let mut devices: Vec<(u32, Device)> = Vec::new();
        let mut index_of = BTreeMap::new();
        let mut listed = Vec::new();
        let mut held = Vec::new();
        guarded("devices", &mut notices, || {
            devices = self.nvml.devices(now);
            devices.extend(drm_devices(&mut self.drm, &devices, now));
            devices.extend(sleeping_devices(&self.host, &devices, now));
            index_of = assemble::index_devices(&mut devices, &mut self.totals);
            listed = self.nvml.charges(&index_of, now);
            held = self.drm.charges(&index_of, now);
        });
        let mut rows: BTreeMap<ProcessKey, (Option<Gap>, Vec<Charge>)> = BTreeMap::new();
        guarded("processes", &mut notices, || {
            for (process, charge) in listed {
                let (key, why_unknown) = self.identify(machine, process);
                let row = rows.entry(key).or_insert((why_unknown, Vec::new()));
                row.1.push(charge);
            }
            for (process, charge) in held {
                if let Some(key) = self.identify_holder(machine, process) {
                    rows.entry(key).or_insert((None, Vec::new())).1.push(charge);
                }
            }
            let keys: Vec<ProcessKey> = rows.keys().copied().collect();
            self.processes.refresh(machine, &keys, now);
        });
        let mut processes = Vec::new();
        guarded("models", &mut notices, || {
            self.models.begin();
        });
        for (key, (why_unknown, charges)) in &rows {
            let mut found = None;
            guarded("models", &mut notices, || {
                found = Some(self.process(machine, *key, *why_unknown, charges, now));
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
            }
        });
        notices.append(&mut account_notices);
        notices.extend(self.nvml.notices(&index_of, now));
        notices.extend(self.drm.notices(&index_of, now));
        let snapshot = self.snapshot(machine, tick, devices, processes, notices);
        self.settle(&snapshot);
        Arc::new(snapshot)
    }

    /// The process behind a number of the driver. Numbers of a foreign namespace are never looked
    /// up: an equal number here is another process.
    fn identify(
        &mut self,
        machine: &mut dyn Machine,
        process: ListedProcess,
    ) -> (ProcessKey, Option<Gap>) {
        let ListedProcess { pid, at } = process;
        if !self.host.may_look_up() {
            let key = ProcessKey {
                space: PidSpace::Host,
                pid,
                start_ticks: None,
            };
            return (key, Some(Gap::OutsideNamespace));
        }
        let (host, clock_ticks) = (&self.host, self.facts.clock_ticks);
        let started_us = |ticks| host.started_us(ticks, clock_ticks);
        match self.processes.identify(machine, pid, at, started_us) {
            Ok(key) => (key, None),
            Err(gap) => (
                ProcessKey {
                    space: PidSpace::Local,
                    pid,
                    start_ticks: None,
                },
                Some(gap),
            ),
        }
    }

    /// The process that has a node open: its number is of this namespace, and nobody else may have taken it since.
    fn identify_holder(
        &mut self,
        machine: &mut dyn Machine,
        process: DrmProcess,
    ) -> Option<ProcessKey> {
        let DrmProcess {
            pid,
            start_ticks,
            at,
        } = process;
        let (host, clock_ticks) = (&self.host, self.facts.clock_ticks);
        let started_us = |ticks| host.started_us(ticks, clock_ticks);
        let key = self.processes.identify(machine, pid, at, started_us).ok()?;
        let is_same = start_ticks.is_none() || key.start_ticks == start_ticks;
        is_same.then_some(key)
    }

    fn process(
        &mut self,
        machine: &mut dyn Machine,
        key: ProcessKey,
        why_unknown: Option<Gap>,
        charges: &[Charge],
        now: Stamp,
    ) -> (Process, Vec<Notice>) {
        let watched = self.processes.get(key);
        let (facts, mut findings) = match (watched, reference(key)) {
            (Some(watched), Some(who)) => {
                let started = self
                    .host
                    .started_us(who.start_ticks, self.facts.clock_ticks);
                let facts = Facts::of(watched, &self.processes, started, now);
                (facts, self.models.of(machine, key, who, watched, now))
            }
            _ => (
                Facts::missing(why_unknown.unwrap_or(Gap::Internal), now),
                Findings::default(),
            ),
        };
        let notices = std::mem::take(&mut findings.notices);
        (
            assemble::process(key, facts, watched, charges.to_vec(), findings, now),
            notices,
        )
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
                    "{unreadable} process(es) of other users cannot be looked into; run with sudo \
                     to see their models"
                )
                .into(),
            });
        }
        let foreign = processes
            .iter()
            .filter(|p| p.key.space == PidSpace::Host)
            .count();
        if foreign > 0 {
            notices.push(Notice {
                code: "outside_namespace",
                severity: Severity::Info,
                subject: "processes".into(),
                text: format!(
                    "{foreign} process(es) are numbered in the host's PID namespace (H:) and are \
                     not looked up in this one"
                )
                .into(),
            });
        }
        let evidence = Evidence {
            nvml: &self.nvml,
            drm: &self.drm,
            host: &self.host,
            facts,
            now: tick.now,
        };
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
            selection: facts.settings.selection(),
            measured_process_vram: assemble::measured_total(&devices, &processes),
            devices,
            processes,
            notices,
            pending: self.nvml.is_pending(&self.facts)
                || self.drm.is_pending()
                || self.drm.is_naming()
                || self.processes.is_waiting()
                || self.models.is_waiting(),
        }
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
        self.waiting_for_drivers = self.nvml.is_pending(&self.facts) || self.drm.is_waiting();
        self.pending =
            self.processes.is_waiting() || self.models.is_waiting() || self.drm.is_naming();
        self.any_device = !snapshot.devices.is_empty() || self.waiting_for_drivers;
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Where every NVIDIA device sleeps, the driver library is not even loaded: its handles would wake
/// them.
fn all_asleep(host: &Host) -> Option<model::Text> {
    let devices = host.bus().ok()?;
    let mut nvidia = devices
        .iter()
        .filter(|device| device.vendor == NVIDIA)
        .peekable();
    nvidia.peek()?;
    nvidia
        .all(|device| device.power == Ok(PowerState::Suspended))
        .then(|| "every NVIDIA device is asleep, and the driver would wake it".into())
}

/// Devices of the kernel's DRM drivers that no other driver has spoken for.
fn drm_devices(drm: &mut Drm, known: &[(u32, Device)], now: Stamp) -> Vec<(u32, Device)> {
    let mut devices = drm.devices(now);
    devices.retain(|(_, device)| known.iter().all(|(_, other)| other.key != device.key));
    devices
}

/// Devices that the bus shows as suspended and that no driver has spoken for.
fn sleeping_devices(host: &Host, known: &[(u32, Device)], now: Stamp) -> Vec<(u32, Device)> {
    if all_asleep(host).is_none() {
        return Vec::new();
    }
    let known: Vec<&DeviceKey> = known.iter().map(|(_, device)| &device.key).collect();
    let asleep = |device: &&DisplayDevice| {
        device.vendor == NVIDIA && !known.contains(&&DeviceKey::Pci(device.address))
    };
    let devices = host.bus().unwrap_or(&[]).iter().filter(asleep);
    // Slots that no driver hands out.
    devices
        .zip((0..=u32::MAX).rev())
        .map(|(found, slot)| (slot, sleeping(*found, now)))
        .collect()
}

fn sleeping(found: DisplayDevice, now: Stamp) -> Device {
    let from = |counter| Provenance {
        source: Source::Sysfs,
        counter,
        at: now,
    };
    let asleep = from("power/runtime_status");
    macro_rules! asleep {
        () => {
            Reading::missing(Gap::Asleep, asleep)
        };
    }
    Device {
        index: 0,
        key: DeviceKey::Pci(found.address),
        vendor: Vendor::Nvidia,
        name: asleep!(),
        uuid: asleep!(),
        pci: Reading::measured(found.address, from("bus/pci/devices")),
        driver: asleep!(),
        cuda: asleep!(),
        kind: DeviceKind::Unknown,
        power_state: Reading::measured(PowerState::Suspended, asleep),
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
        categories: Vec::new(),
        categories_normalized: false,
        counter_status: "asleep".into(),
    }
}
