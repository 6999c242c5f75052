//! DRM devices over time: discovery, plans, and what the newest sweep said.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Device, DeviceKey, Estimated, Gap, Method, Mode, Percent, Provenance, Reading, Source, Stamp,
    Text,
};
use raw::drm::{DeviceReads, DrmPlan, DrmSearch, DrmSweep, FIRST_RENDER_MINOR, SearchPlan};
use raw::{Machine, Published, Stamped};

use super::attribution::{Attribution, Descriptor, DeviceFacts, Holder, Node, Row, Sample};
use super::classes::is_both_directions;
use super::device_state::DeviceState;
use super::discovery::{self, Driver};
use super::fdinfo::Fdinfo;
use super::kfd::Kfd;
use super::memory::{Place, place};
use super::sizes::Limits;

/// How often devices are looked for again.
const DISCOVER_EVERY_NS: u64 = 5_000_000_000;

/// Time of a refresh for looking at processes.
const SEARCH_BUDGET_NS: u64 = 50_000_000;

/// A search that ended longer ago says nothing of who holds what now.
const SEARCH_LASTS_MS: u64 = 5_000;

/// How long readings are shown, with their age, of what does not answer any more.
pub(super) const SHOWN_FOR_MS: u64 = 10_000;

/// How long the first answer may take; it takes milliseconds where nothing hangs.
const PATIENCE_MS: u64 = 3_000;

/// Programs that open display nodes for a session, keep a copy and use none of it.
const SESSION_KEEPERS: [&str; 3] = ["systemd-logind", "elogind-daemon", "seatd"];

/// Of a device that has gone meanwhile nothing is known.
const UNKNOWN: DeviceFacts = DeviceFacts {
    has_user_queues: false,
    limits: Limits {
        vram: None,
        system: None,
    },
};

/// Slots of DRM devices, so that they are none of another driver's.
const FIRST_SLOT: u32 = 0x1_0000;

/// All DRM devices.
#[derive(Default)]
pub(crate) struct Drm {
    pub(super) nodes: Option<Vec<Text>>,
    /// Why the nodes cannot be listed.
    pub(super) unlisted: Option<Gap>,
    /// Nodes whose device cannot be told, with the reason.
    pub(super) refused: Vec<(Text, Gap)>,
    /// Names of nodes in `/dev/dri`, looked at while there is no device.
    pub(super) openable: Option<Result<usize, Gap>>,
    due_ns: u64,
    next_slot: u32,
    pub(super) devices: BTreeMap<u32, DeviceState>,
    /// Nodes of devices that are not read, with their driver.
    pub(super) others: Vec<(Text, Driver, Text)>,
    attribution: Attribution,
    pub(super) rows: Vec<Row>,
    /// The newest sweep's moment.
    pub(super) at: Option<Stamp>,
    pub(super) search: Option<DrmSearch>,
    pub(super) is_complete: bool,
    /// Processes that have nodes of these devices open.
    pub(super) holders: usize,
    /// Open nodes that no device here has.
    pub(super) strangers: usize,
    pub(super) overdue: Option<Stamp>,
    /// How long it has not answered.
    silent_ms: u64,
    pub(super) missing: Option<Gap>,
    pub(super) is_wsl: bool,
    pub(super) kfd: Kfd,
    sweeps: u64,
    before: Option<Stamp>,
}

impl Drm {
    /// Looks for devices and for what of them does not change.
    ///
    /// `is_initial`: whether numbers of the machine's first PID namespace are ours.
    pub(crate) fn refresh(
        &mut self,
        machine: &mut dyn Machine,
        mode: Mode,
        is_initial: bool,
        now: Stamp,
    ) {
        self.kfd.may_look_up(is_initial);
        self.is_wsl = mode == Mode::Wsl;
        if self.is_wsl || &*machine.facts().os != "linux" {
            return;
        }
        if now.mono_ns >= self.due_ns {
            self.due_ns = now.mono_ns.saturating_add(DISCOVER_EVERY_NS);
            match discovery::nodes(machine) {
                Ok(nodes) => {
                    self.unlisted = None;
                    if self.nodes.as_ref() != Some(&nodes) {
                        self.discover(machine, &nodes);
                        self.nodes = Some(nodes);
                    }
                }
                Err(gap) => self.unlisted = Some(gap),
            }
            if self.devices.is_empty() {
                let found = discovery::names(machine, "/dev/dri");
                let nodes = |names: Vec<Text>| {
                    names
                        .iter()
                        .filter(|it| discovery::minor(it).is_some())
                        .count()
                };
                self.openable = Some(found.map(nodes));
                self.kfd.refresh(machine, now);
            }
        }
        for device in self.devices.values_mut() {
            device.refresh(machine, now);
        }
        if self
            .devices
            .values()
            .any(|device| device.found.driver == Driver::Amdgpu)
        {
            self.kfd.refresh(machine, now);
        }
        for device in self.devices.values_mut() {
            device.establish_kind(&self.kfd);
        }
    }

    fn discover(&mut self, machine: &mut dyn Machine, nodes: &[Text]) {
        let mut known: BTreeMap<DeviceKey, (u32, DeviceState)> = std::mem::take(&mut self.devices)
            .into_iter()
            .map(|(slot, device)| (device.found.key.clone(), (slot, device)))
            .collect();
        self.others.clear();
        self.refused.clear();
        for found in discovery::devices(machine, nodes, &mut self.refused) {
            if matches!(found.driver, Driver::Elsewhere | Driver::Display) {
                let node = found.node.rsplit('/').next().unwrap_or(&found.node);
                self.others
                    .push((node.into(), found.driver, found.driver_name));
                continue;
            }
            let (slot, device) = match known.remove(&found.key) {
                Some((slot, mut device)) if device.found.driver_name == found.driver_name => {
                    device.found = found;
                    (slot, device)
                }
                _ => {
                    let slot = FIRST_SLOT.saturating_add(self.next_slot);
                    self.next_slot += 1;
                    (slot, DeviceState::new(found))
                }
            };
            self.devices.insert(slot, device);
        }
        let accelerators = discovery::accelerators(machine).into_iter();
        self.others
            .extend(accelerators.map(|(node, name)| (node, Driver::Accelerator, name)));
        self.rows.retain(|row| self.devices.contains_key(&row.slot));
    }

    /// What the next sweep reads; `None` where there is no device.
    pub(crate) fn plan(&mut self, is_patient: bool) -> Option<DrmPlan> {
        let kfd = &self.kfd;
        let devices: Vec<DeviceReads> = self
            .devices
            .iter_mut()
            .map(|(slot, device)| device.reads(*slot, kfd))
            .collect();
        let search = SearchPlan {
            budget_ns: (!is_patient).then_some(SEARCH_BUDGET_NS),
        };
        (!devices.is_empty()).then_some(DrmPlan {
            devices,
            search: Some(search),
        })
    }

    /// Takes in what the thread has published.
    pub(crate) fn take(&mut self, published: &Published<DrmSweep>, now: Stamp) {
        match published {
            Published::NotAsked => {}
            Published::Overdue(since) => {
                self.overdue = Some(*since);
                self.silent_ms = now.ms_since(*since);
                self.expire(*since, now);
            }
            Published::Missing(gap) => {
                self.missing = Some(*gap);
                self.overdue = None;
                if let Some(at) = self.at {
                    self.expire(at, now);
                }
            }
            Published::New(Stamped { at, value }) => {
                self.overdue = None;
                self.silent_ms = 0;
                self.missing = None;
                self.sweeps += 1;
                self.before = self.at.replace(*at);
                self.take_sweep(value, *at);
            }
        }
    }

    fn take_sweep(&mut self, sweep: &DrmSweep, at: Stamp) {
        for said in &sweep.devices {
            let Some(device) = self.devices.get_mut(&said.slot) else {
                continue;
            };
            device.files.take(&said.files);
            let counters: Vec<Text> = said
                .files
                .iter()
                .map(|(path, _)| Text::clone(path))
                .filter(|path| is_counter(path))
                .collect();
            device.rates.take(&device.files, &counters);
            // Some files are not read each time, but go with their folder.
            let folders: BTreeSet<&str> = said
                .files
                .iter()
                .filter_map(|(path, _)| folder(path))
                .collect();
            let is_read = |path: &str| folder(path).is_some_and(|it| folders.contains(it));
            device.files.keep(is_read);
            device.rates.keep(is_read);
        }
        let Some(search) = &sweep.search else { return };
        let is_fresh = |(_, end): (Stamp, Stamp)| at.ms_since(end) <= SEARCH_LASTS_MS;
        let nodes = self.nodes.iter().flatten();
        let minors: BTreeSet<u32> = nodes.filter_map(|name| discovery::minor(name)).collect();
        let placed = search.holders.iter().map(|it| self.holder(it, &minors));
        let (holders, strangers): (Vec<Holder>, Vec<usize>) = placed.unzip();
        self.strangers = strangers.iter().sum();
        let sample = Sample {
            searched_ns: search
                .complete
                .map_or(at.mono_ns, |(start, _)| start.mono_ns),
            is_complete: search.complete.is_some_and(is_fresh),
            holders,
            unreadable: search.unreadable.clone(),
        };
        self.is_complete = sample.is_complete;
        let holders = sample.holders.iter();
        self.holders = holders.filter(|it| !it.descriptors.is_empty()).count();
        for (slot, device) in &mut self.devices {
            let held = |descriptor: &Descriptor| descriptor.slot == *slot;
            let mut descriptors = sample.holders.iter().flat_map(|holder| &holder.descriptors);
            let is_used = descriptors.any(held);
            // Whoever has memory by way of the compute driver need not have a node open that can be seen.
            let is_used = is_used || self.kfd.is_using(device);
            device.is_used = (sample.is_complete || is_used).then_some(is_used);
            let texts = sample.holders.iter().flat_map(|holder| &holder.descriptors);
            let mut texts = texts
                .filter(|it| it.slot == *slot)
                .filter_map(|it| it.text.as_ref().ok());
            for text in &mut texts {
                let driver = text.driver.as_deref();
                device.has_local_memory |= text.regions.iter().any(|(name, region)| {
                    place(driver, name) == Place::Device && matches!(region.here(), Some(Ok(1..)))
                });
                let mut engines = text.engines.values();
                device.times_work |= engines.any(|it| it.busy_ns.is_some() || it.cycles.is_some());
            }
            device.establish_kind(&self.kfd);
        }
        let devices = &self.devices;
        let facts = |slot| devices.get(&slot).map_or(UNKNOWN, DeviceState::facts);
        self.rows = self.attribution.take(&sample, facts);
        self.search = Some(search.clone());
    }

    /// The holder of devices here, and how many nodes it has open that no device here has. `minors`: of all nodes
    /// here, also those of devices that are not read.
    fn holder(&self, holder: &raw::drm::DrmHolder, minors: &BTreeSet<u32>) -> (Holder, usize) {
        let mut strangers = 0;
        let descriptors = holder.descriptors.iter().filter_map(|it| {
            let mut text = match &it.text {
                Ok(text) => Ok(Fdinfo::parse(&String::from_utf8_lossy(&text.value))),
                Err(gap) => Err(*gap),
            };
            let find = |is_it: &dyn Fn(&DeviceState) -> bool| {
                let mut devices = self.devices.iter();
                devices.find(|(_, device)| is_it(device)).map(|it| *it.0)
            };
            let named = text.as_ref().ok().and_then(|text| text.pci);
            let in_place =
                named.and_then(|address| find(&|device| device.found.pci == Some(address)));
            let has_node = |device: &DeviceState| device.found.minors.contains(&it.minor);
            let Some(slot) = in_place.or_else(|| find(&has_node)) else {
                strangers += usize::from(!minors.contains(&it.minor));
                return None;
            };
            // The text is of a device that is not here, and its node of one that is: nothing it says can be charged.
            if named.is_some() && in_place.is_none() {
                text = Err(Gap::Ambiguous);
            }
            Some(Descriptor {
                slot,
                node: if it.minor < FIRST_RENDER_MINOR {
                    Node::Primary
                } else {
                    Node::Render
                },
                is_deleted: it.is_deleted,
                at_ns: match &it.text {
                    Ok(text) => text.at.mono_ns,
                    Err(_) => self.at.map_or(0, |at| at.mono_ns),
                },
                text,
            })
        });
        let holder = Holder {
            pid: holder.pid,
            start_ticks: holder.start_ticks,
            has_kfd: holder.has_kfd,
            parent: holder.parent,
            has_only_forked: holder.has_only_forked,
            keeps_sessions: holder.pid == 1 || SESSION_KEEPERS.contains(&&*holder.name),
            descriptors: descriptors.collect(),
        };
        (holder, strangers)
    }

    /// All devices, without index and without what depends on processes.
    pub(crate) fn devices(&mut self, now: Stamp) -> Vec<(u32, Device)> {
        let (rows, at) = (&self.rows, self.at);
        self.devices
            .iter_mut()
            .map(|(slot, device)| {
                let mut described = device.device(now);
                if let Some(at) = at
                    && device.found.driver != Driver::Amdgpu
                {
                    let rows = rows.iter().filter(|row| row.slot == *slot);
                    described.visible_loads = visible_loads(rows, at);
                    let driver = &device.found.driver_name;
                    let mut engines = described.visible_loads.iter().map(|(name, _)| name);
                    if engines.any(|name| is_both_directions(driver, name)) {
                        for direction in [&mut described.encoder, &mut described.decoder] {
                            if let Reading::Missing(missing) = direction {
                                missing.gap = Gap::SharedEngine;
                            }
                        }
                    }
                }
                (*slot, described)
            })
            .collect()
    }

    /// Whether a process lives and its descriptors could not be listed.
    pub(super) fn is_unreadable(&self, pid: u32) -> bool {
        let search = self.search.as_ref();
        search.is_some_and(|search| search.unreadable.contains(&pid))
    }

    /// Processes that cannot be looked at.
    pub(crate) fn hidden_processes(&self) -> u32 {
        let hidden = self
            .search
            .as_ref()
            .map_or(0, |search| search.unreadable.len());
        u32::try_from(hidden).unwrap_or(u32::MAX)
    }

    /// A thread that has not answered for long says nothing of now.
    fn expire(&mut self, since: Stamp, now: Stamp) {
        if now.ms_since(since) <= SHOWN_FOR_MS {
            return;
        }
        self.is_complete = false;
        for device in self.devices.values_mut() {
            device.files.expire();
        }
        for row in &mut self.rows {
            row.vram = Err(Gap::TimedOut);
            row.system = Err(Gap::TimedOut);
            row.loads = Err(Gap::TimedOut);
            row.reasons = vec![Gap::TimedOut];
            row.vram_bounds = None;
            row.vram_beyond = None;
            row.system_beyond = None;
            row.displaced = None;
        }
    }

    /// Whether a second reading is still to come, without which a report would lack what needs two.
    pub(crate) fn is_pending(&self) -> bool {
        let is_asked = !self.devices.is_empty() && self.missing.is_none();
        is_asked
            && self.silent_ms < PATIENCE_MS
            && (self.sweeps == 0 || (self.sweeps == 1 && self.needs_two()))
    }

    fn needs_two(&self) -> bool {
        !self.rows.is_empty() || self.devices.values().any(DeviceState::has_counters)
    }

    /// Whether names of products are still looked up.
    pub(crate) fn is_naming(&self) -> bool {
        let mut devices = self.devices.values();
        devices.any(|device| device.listed_name.is_waiting())
    }

    /// Whether the first sweep is still on its way.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.devices.is_empty()
            && self.sweeps == 0
            && self.missing.is_none()
            && self.silent_ms < PATIENCE_MS
    }

    /// Length of the window that loads refer to, milliseconds.
    pub(crate) fn sample_ms(&self) -> Option<u64> {
        Some(self.at?.ms_since(self.before?))
    }

    /// Whether everybody who can be looked at has been.
    pub(crate) fn is_search_complete(&self) -> bool {
        self.devices.is_empty() || self.sweeps == 0 || self.is_complete
    }
}

/// Sums of the loads that are known, by engine. Clients that cannot be seen are not in them.
fn visible_loads<'a>(
    rows: impl Iterator<Item = &'a Row>,
    at: Stamp,
) -> Vec<(Text, Reading<Estimated<Percent>>)> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for loads in rows.filter_map(|row| row.loads.as_ref().ok()) {
        for (name, load) in loads {
            if let Ok(load) = load {
                *sums.entry(name).or_insert(0.0) += load;
            }
        }
    }
    let least = |(name, sum): (&str, f64)| {
        let estimated = Estimated {
            low: Percent(sum.min(100.0)),
            high: Percent(100.0),
            method: Method::Derived,
            from: Provenance {
                source: Source::Derived,
                counter: "sum over the clients that can be seen",
                at,
            },
        };
        (name.into(), Reading::Known(estimated))
    };
    sums.into_iter().map(least).collect()
}

fn folder(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(folder, _)| folder)
}

/// Files whose value means something over time.
fn is_counter(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    (name.starts_with("energy") && name.ends_with("_input"))
        || name.starts_with("sdma_")
        || matches!(
            name,
            "idle_residency_ms" | "rc6_residency_ms" | "evicted_ms"
        )
}
