//! A scenario as it stands now: read from its file, with the pids put in, and searchable by handle.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::device::{Device, Instance};
use crate::process::{Pid, Process};
use crate::scenario::Scenario;

/// A process that is there, out of the scenario's records.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) pid: u32,
    pub(crate) sample_pid: u32,
    pub(crate) record: Process,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    /// Per device, in the scenario's order.
    pub(crate) running: Vec<Vec<Running>>,
    /// The files it was made from, as they were.
    seen: Vec<(PathBuf, Option<Stamp>)>,
}

type Stamp = (SystemTime, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) device: usize,
    /// Slot of the MIG instance, if it is one.
    pub(crate) slot: Option<u32>,
}

/// Handles are made-up addresses which are never read through. The upper bits tell them from
/// accidents.
const HANDLE_MARK: usize = 0x4E56_0000;

impl Place {
    pub(crate) fn handle(self) -> usize {
        let slot = self.slot.map_or(0, |slot| slot.saturating_add(1).min(255));
        HANDLE_MARK | (self.device & 0xFF) << 8 | usize::try_from(slot).unwrap_or(0)
    }

    fn from_handle(handle: usize) -> Option<Self> {
        let slot = u32::try_from(handle & 0xFF).ok()?.checked_sub(1);
        (handle & !0xFFFF == HANDLE_MARK).then_some(Self {
            device: handle >> 8 & 0xFF,
            slot,
        })
    }
}

impl World {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let mut seen = vec![(path.to_owned(), stamp(path))];
        let text = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
        let scenario = Scenario::from_json(&text).map_err(|error| error.to_string())?;
        let mut pids = PidFiles {
            folder: path.parent().unwrap_or(Path::new("")),
            read: BTreeMap::new(),
        };
        let running = scenario
            .devices
            .iter()
            .map(|device| expand(&device.processes, &mut pids))
            .collect();
        seen.extend(pids.read.into_iter().map(|(path, file)| (path, file.stamp)));
        Ok(Self {
            scenario,
            running,
            seen,
        })
    }

    /// Whether the scenario file and the pid files are still those this was read from.
    pub(crate) fn is_current(&self, path: &Path) -> bool {
        self.seen.first().is_some_and(|(first, _)| first == path)
            && self.seen.iter().all(|(path, then)| stamp(path) == *then)
    }

    pub(crate) fn device(&self, place: Place) -> Option<&Device> {
        self.scenario.devices.get(place.device)
    }

    pub(crate) fn instance(&self, place: Place) -> Option<&Instance> {
        let mig = self.device(place)?.mig.as_ref().filter(|mig| mig.enabled)?;
        mig.instances
            .iter()
            .find(|instance| Some(instance.slot) == place.slot)
    }

    /// The place of a handle that this library gave out and that still exists.
    pub(crate) fn by_handle(&self, handle: usize) -> Option<Place> {
        let place = Place::from_handle(handle)?;
        let there = match place.slot {
            None => self.device(place).is_some(),
            Some(_) => self.instance(place).is_some(),
        };
        there.then_some(place)
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        let devices = self.scenario.devices.iter().enumerate();
        devices.flat_map(|(device, record)| {
            let mig = record.mig.iter().filter(|mig| mig.enabled);
            let slots = mig
                .flat_map(|mig| &mig.instances)
                .map(|instance| Some(instance.slot));
            std::iter::once(None)
                .chain(slots)
                .map(move |slot| Place { device, slot })
        })
    }

    pub(crate) fn by_uuid(&self, uuid: &str) -> Option<Place> {
        self.places()
            .find(|place| self.uuid(*place).eq_ignore_ascii_case(uuid))
    }

    pub(crate) fn by_bus(&self, text: &str) -> Option<Place> {
        let wanted = bus_address(text)?;
        let found = (0..self.scenario.devices.len()).find(|index| {
            self.bus(Place {
                device: *index,
                slot: None,
            }) == wanted
        })?;
        Some(Place {
            device: found,
            slot: None,
        })
    }

    pub(crate) fn uuid(&self, place: Place) -> String {
        let index = place.device;
        if let Some(slot) = place.slot {
            let given = self.instance(place).map_or("", |instance| &instance.uuid);
            return match given {
                "" => format!("MIG-51d00000-0000-4000-9000-{index:06}{slot:06}"),
                given => given.to_owned(),
            };
        }
        match self.device(place).map_or("", |device| &device.uuid) {
            "" => format!("GPU-51d00000-0000-4000-8000-{index:012}"),
            given => given.to_owned(),
        }
    }

    /// PCI domain, bus and device number.
    pub(crate) fn bus(&self, place: Place) -> (u32, u32, u32) {
        let given = self
            .device(place)
            .and_then(|device| bus_address(&device.pci));
        given.unwrap_or((0, u32::try_from(place.device).unwrap_or(0) + 1, 0))
    }
}

/// `domain:bus:device.function` or `bus:device.function`, in hex.
pub(crate) fn bus_address(text: &str) -> Option<(u32, u32, u32)> {
    let address = text
        .split_once('.')
        .map_or(text, |(address, _function)| address);
    let mut parts = address
        .rsplit(':')
        .map(|part| u32::from_str_radix(part, 16).ok());
    let (device, bus) = (parts.next()??, parts.next()??);
    let domain = parts.next().unwrap_or(Some(0))?;
    parts.next().is_none().then_some((domain, bus, device))
}

struct PidFile {
    stamp: Option<Stamp>,
    lines: Vec<Option<u32>>,
}

struct PidFiles<'a> {
    folder: &'a Path,
    read: BTreeMap<PathBuf, PidFile>,
}

impl PidFiles<'_> {
    fn line(&mut self, file: &str, line: usize) -> Option<u32> {
        let path = self.folder.join(file);
        let file = self.read.entry(path).or_insert_with_key(|path| {
            let stamp = stamp(path);
            let text = fs::read_to_string(path).unwrap_or_default();
            PidFile {
                stamp,
                lines: text.lines().map(|line| line.trim().parse().ok()).collect(),
            }
        });
        file.lines.get(line.checked_sub(1)?).copied().flatten()
    }

    /// The pid `step` processes after the named one.
    fn resolve(&mut self, pid: &Pid, step: u32) -> Option<u32> {
        match pid {
            Pid::Literal(pid) => Some(pid.wrapping_add(step)),
            Pid::Loader => Some(std::process::id()),
            Pid::Line(file, line) => {
                self.line(file, line.checked_add(usize::try_from(step).ok()?)?)
            }
        }
    }
}

fn expand(records: &[Process], pids: &mut PidFiles<'_>) -> Vec<Running> {
    let steps = records
        .iter()
        .flat_map(|record| (0..record.count).map(move |step| (record, step)));
    let present = steps.filter_map(|(record, step)| {
        let pid = pids.resolve(&record.pid, step)?;
        let own = record
            .sample
            .as_ref()
            .and_then(|sample| sample.pid.as_ref());
        let sample_pid = own.map_or(Some(pid), |own| pids.resolve(own, step))?;
        Some(Running {
            pid,
            sample_pid,
            record: record.clone(),
        })
    });
    present.collect()
}
