//! One sweep: files device by device, then holders and what the drivers say of their nodes.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use model::{Gap, Text};
use raw::drm::{
    DeviceReads, DrmDescriptor, DrmDevice, DrmHolder, DrmPlan, DrmSearch, DrmSweep, SearchPlan,
    known_lines, why_left_alone,
};
use raw::{Answer, Reply, Stamped};
use rustix::io::Errno;

use super::super::beneath;
use super::super::errors::{gap, gap_in_process, gap_of_attribute};
use super::super::place::{Place, link_text};
use super::super::text::{Unread, read_all};
use super::nodes::{Open, open_node};
use super::search::{Process, Search, open_process};
use crate::clock;
use crate::worker::{self, Driver, Patience, Progress, Retired};

/// Bytes of an attribute file: a page is the most `sysfs` hands out.
const FILE_BOUND: usize = 4 * 1024;

/// Bytes of what a driver says of one node; the longest known has two thousand.
const TEXT_BOUND: usize = 16 * 1024;

/// Descriptors read in one sweep; a desktop has about forty.
const MAX_TEXTS: usize = 4_096;

/// One thread's reader of DRM devices.
pub(crate) struct DrmDriver {
    place: Arc<Place>,
    search: Search,
    buffer: Vec<u8>,
}

impl DrmDriver {
    pub(crate) fn new(place: Arc<Place>) -> Self {
        Self {
            place,
            search: Search::default(),
            buffer: Vec::new(),
        }
    }
}

/// A device and whether it is left alone in this sweep.
struct Met<'a> {
    reads: &'a DeviceReads,
    /// Why its files and texts are not read.
    left_alone: Option<Gap>,
}

impl Driver for DrmDriver {
    type Plan = DrmPlan;
    type Sweep = DrmSweep;

    fn sweep(
        &mut self,
        plan: &DrmPlan,
        skipped: &BTreeSet<u32>,
        progress: &Progress,
    ) -> Result<DrmSweep, Retired> {
        let mut devices = Vec::new();
        let mut met = Vec::new();
        for reads in &plan.devices {
            let hangs = skipped.contains(&reads.slot);
            progress.enter(worker::Place::Device(reads.slot), Patience::Usual)?;
            let (device, left_alone) = self.device(reads, hangs);
            progress.check()?;
            devices.push(device);
            met.push(Met { reads, left_alone });
        }
        progress.enter(worker::Place::Whole, Patience::Usual)?;
        let search = match &plan.search {
            Some(search) => Some(self.holders(search, &met, progress)?),
            None => None,
        };
        Ok(DrmSweep { devices, search })
    }

    fn close(&mut self) {}
}

impl DrmDriver {
    fn device(&mut self, reads: &DeviceReads, hangs: bool) -> (DrmDevice, Option<Gap>) {
        let mut files = Vec::with_capacity(1 + reads.always.len() + reads.awake.len());
        let mut left_alone = hangs.then_some(Gap::TimedOut);
        if !reads.status.is_empty() {
            // Reading it touches nothing, so that a device that hangs can be asked too.
            let status = self.file(&reads.status);
            if left_alone.is_none() {
                left_alone = why_left_alone(match &status {
                    Ok(Stamped {
                        value: Reply::Bytes(text),
                        ..
                    }) => Ok(text),
                    Ok(_) => Err(Gap::Malformed),
                    Err(gap) => Err(*gap),
                });
            }
            files.push((Text::clone(&reads.status), status));
        }
        for path in &reads.always {
            let answer = if hangs {
                Err(Gap::TimedOut)
            } else {
                self.file(path)
            };
            files.push((Text::clone(path), answer));
        }
        for path in &reads.awake {
            let answer = match left_alone {
                Some(gap) => Err(gap),
                None => self.file(path),
            };
            files.push((Text::clone(path), answer));
        }
        let device = DrmDevice {
            slot: reads.slot,
            files,
        };
        (device, left_alone)
    }

    fn file(&mut self, path: &str) -> Answer<Reply> {
        if !path.starts_with("/sys/") || path.split('/').any(|name| name == "..") {
            return Err(Gap::NotPresent);
        }
        let file = if self.place.is_directory() {
            self.place.open(path)?
        } else {
            let root = self.place.root().map_err(gap)?;
            beneath::open_in(root.as_fd(), path).map_err(gap_of_attribute)?
        };
        read_all(&file, &mut self.buffer, FILE_BOUND)
            .map_err(|error| error.gap(gap_of_attribute))?;
        Ok(Stamped {
            at: clock::stamp(),
            value: Reply::Bytes(self.buffer.as_slice().into()),
        })
    }

    fn holders(
        &mut self,
        plan: &SearchPlan,
        met: &[Met<'_>],
        progress: &Progress,
    ) -> Result<DrmSearch, Retired> {
        let end = plan
            .budget_ns
            .map(|budget| clock::monotonic_ns().saturating_add(budget));
        self.search.step(&self.place, || {
            end.is_none_or(|end| clock::monotonic_ns() < end)
        });
        let pids: Vec<u32> = self.search.holders.keys().copied().collect();
        let mut holders = Vec::with_capacity(pids.len());
        let mut room = MAX_TEXTS;
        for pid in pids {
            if let Some(holder) = self.holder(pid, met, progress, &mut room)? {
                holders.push(holder);
            }
        }
        progress.enter(worker::Place::Whole, Patience::Usual)?;
        Ok(DrmSearch {
            complete: self.search.complete,
            unreadable: self.search.unreadable.iter().copied().collect(),
            holders,
        })
    }

    fn holder(
        &mut self,
        pid: u32,
        met: &[Met<'_>],
        progress: &Progress,
        room: &mut usize,
    ) -> Result<Option<DrmHolder>, Retired> {
        let Some(process) = open_process(&self.place, pid) else {
            self.search.holders.remove(&pid);
            return Ok(None);
        };
        if !self.is_as_before(pid, &process) {
            self.search.look_now(&self.place, pid);
        }
        let Some(nodes) = self.search.holders.get(&pid).cloned() else {
            return Ok(None);
        };
        let mut holder = DrmHolder {
            pid,
            start_ticks: process.start_ticks,
            name: process.name.as_str().into(),
            parent: process.parent,
            has_only_forked: process.has_only_forked,
            has_kfd: nodes.values().any(|node| *node == Open::Kfd),
            descriptors: Vec::new(),
        };
        for (fd, node) in nodes {
            let Open::Drm { minor, is_deleted } = node else {
                continue;
            };
            let device = met.iter().find(|met| met.reads.minors.contains(&minor));
            let place = device.map_or(worker::Place::Whole, |met| {
                worker::Place::Device(met.reads.slot)
            });
            progress.enter(place, Patience::Usual)?;
            let text = match device {
                _ if *room == 0 => Err(Gap::OverBound),
                Some(Met {
                    left_alone: Some(Gap::TimedOut),
                    ..
                }) => Err(Gap::TimedOut),
                Some(Met {
                    reads,
                    left_alone: Some(gap),
                }) if reads.fdinfo_wakes => Err(*gap),
                _ => {
                    *room -= 1;
                    self.text(&process, fd)
                }
            };
            progress.check()?;
            // One that was closed meanwhile is none.
            let is_missing = matches!(text, Err(Gap::Exited | Gap::NotPresent));
            if is_missing && !is_open(&process, fd) {
                continue;
            }
            holder.descriptors.push(DrmDescriptor {
                fd,
                minor,
                is_deleted,
                text,
            });
        }
        Ok(Some(holder))
    }

    /// Whether the descriptors that were found are still the same nodes.
    fn is_as_before(&self, pid: u32, process: &Process) -> bool {
        let Ok(fds) = fds(&process.folder) else {
            return false;
        };
        let by_name = self.place.is_directory();
        let is_same = |(fd, node): (&u32, &Open)| {
            let name = fd.to_string();
            let link = link_text(&fds, &name);
            link.is_ok_and(|link| open_node(&link, &fds, &name, by_name) == Some(*node))
        };
        let known = self.search.holders.get(&pid);
        known.is_some_and(|nodes| nodes.iter().all(is_same))
    }

    fn text(&mut self, process: &Process, fd: u32) -> Answer<Arc<[u8]>> {
        let folder =
            beneath::folder_in(process.folder.as_fd(), "fdinfo").map_err(gap_in_process)?;
        let file = beneath::open_in(folder.as_fd(), &fd.to_string()).map_err(gap_in_process)?;
        read_all(&file, &mut self.buffer, TEXT_BOUND)
            .map_err(|error: Unread| error.gap(gap_in_process))?;
        let at = clock::stamp();
        Ok(Stamped {
            at,
            value: known_lines(&self.buffer).into(),
        })
    }
}

fn is_open(process: &Process, fd: u32) -> bool {
    fds(&process.folder).is_ok_and(|fds| link_text(&fds, &fd.to_string()).is_ok())
}

fn fds(process: &OwnedFd) -> Result<OwnedFd, Errno> {
    beneath::folder_in(process.as_fd(), "fd")
}
