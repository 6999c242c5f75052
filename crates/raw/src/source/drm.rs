//! Devices of the kernel's DRM drivers: attribute files, who has their nodes open, and what the drivers say of each.
//!
//! A sweep is planned by the collector, because only it knows which files a device has and which of them would wake
//! it; it is read on a thread of its own, because a driver can hang in any of these reads.

mod known;

use std::sync::Arc;

use model::{Gap, Stamp, Text};
use serde::{Deserialize, Serialize};

use crate::machine::Answer;
use crate::source::replies::Reply;

pub use known::known_lines;

/// What a sweep reads.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DrmPlan {
    /// Devices, in order.
    pub devices: Vec<DeviceReads>,
    /// Whether to look for holders of nodes, and for how long.
    pub search: Option<SearchPlan>,
}

/// What is read of one device.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DeviceReads {
    /// The collector's number of the device.
    pub slot: u32,
    /// The file with the runtime power state, which is read first. Reading it wakes nothing.
    pub status: Text,
    /// Files that touch no hardware.
    pub always: Vec<Text>,
    /// Files that are read only while the device does not sleep.
    pub awake: Vec<Text>,
    /// Minor numbers of its nodes.
    pub minors: Vec<u32>,
    /// Whether what the driver says of open nodes is read only while the device does not sleep.
    pub fdinfo_wakes: bool,
}

/// How to look for holders.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SearchPlan {
    /// Time for looking at processes, nanoseconds; the rest is looked at the next time. `None`: all of them.
    pub budget_ns: Option<u64>,
}

/// One sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrmSweep {
    /// Devices by slot.
    pub devices: Vec<DrmDevice>,
    /// Holders, where they were looked for.
    pub search: Option<DrmSearch>,
}

/// Files of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct DrmDevice {
    /// [`DeviceReads::slot`].
    pub slot: u32,
    /// Each file that was planned, with its answer. One that was left alone says [`Gap::Asleep`].
    pub files: Vec<(Text, Answer<Reply>)>,
}

/// What the search for holders found.
#[derive(Clone, Debug, PartialEq)]
pub struct DrmSearch {
    /// Start and end of the newest search that looked at every process; `None` before the first.
    pub complete: Option<(Stamp, Stamp)>,
    /// Processes that live and whose descriptors could not be listed, for whatever reason.
    pub unreadable: Vec<u32>,
    /// Holders as of their newest look, by number.
    pub holders: Vec<DrmHolder>,
}

/// A process that has nodes open.
#[derive(Clone, Debug, PartialEq)]
pub struct DrmHolder {
    /// Number in the monitor's own namespace.
    pub pid: u32,
    /// Start time in clock ticks since boot; `None` where its `stat` cannot be read.
    pub start_ticks: Option<u64>,
    /// Its short name (`comm`), empty where it could not be told.
    pub name: Text,
    /// Its parent; `None` where its `stat` does not tell.
    pub parent: Option<u32>,
    /// Whether it was forked and has executed no program since (`PF_FORKNOEXEC` in field 9 of its `stat`).
    pub has_only_forked: bool,
    /// Whether it has `/dev/kfd` open.
    pub has_kfd: bool,
    /// Its descriptors of nodes.
    pub descriptors: Vec<DrmDescriptor>,
}

/// A descriptor of a node, with what the driver says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct DrmDescriptor {
    /// Number.
    pub fd: u32,
    /// Minor number: from 0 display nodes (`cardN`), from 128 render nodes (`renderDN`).
    pub minor: u32,
    /// Whether the node has been removed since it was opened.
    pub is_deleted: bool,
    /// [`known_lines`] of `/proc/PID/fdinfo/FD`.
    pub text: Answer<Arc<[u8]>>,
}

/// Why a device is left alone, by its file with the runtime power state (`Documentation/ABI/testing/sysfs-devices-power`):
/// it sleeps or is about to, or the file does not tell. Where there is no such file the kernel puts nothing to sleep.
pub fn why_left_alone(status: Result<&[u8], Gap>) -> Option<Gap> {
    match status.map(<[u8]>::trim_ascii) {
        Ok(b"suspended" | b"suspending") => Some(Gap::Asleep),
        // What the kernel does not manage is on.
        Ok(b"active" | b"resuming" | b"unsupported") | Err(Gap::NotPresent) => None,
        Ok(_) | Err(_) => Some(Gap::PowerUnknown),
    }
}

/// First minor number of render nodes (`drivers/gpu/drm/drm_drv.c`).
pub const FIRST_RENDER_MINOR: u32 = 128;

/// Header of a sweep in a capture: what was asked, so that a missing line is seen as missing.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct DrmHeader {
    devices: Vec<(u32, Vec<Text>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    search: Option<SearchHeader>,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
struct SearchHeader {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    complete: Option<[(u64, i64); 2]>,
    unreadable: Vec<u32>,
    holders: Vec<HolderHeader>,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
struct HolderHeader {
    pid: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    name: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    forked: bool,
    kfd: bool,
    /// Number, minor number, whether the node is gone.
    open: Vec<(u32, u32, bool)>,
}

impl DrmSweep {
    pub(crate) fn header(&self) -> DrmHeader {
        let pair = |stamp: Stamp| (stamp.mono_ns, stamp.wall_us);
        let paths =
            |device: &DrmDevice| device.files.iter().map(|(path, _)| path.clone()).collect();
        DrmHeader {
            devices: self
                .devices
                .iter()
                .map(|device| (device.slot, paths(device)))
                .collect(),
            search: self.search.as_ref().map(|search| SearchHeader {
                complete: search.complete.map(|(from, to)| [pair(from), pair(to)]),
                unreadable: search.unreadable.clone(),
                holders: search.holders.iter().map(DrmHolder::header).collect(),
            }),
        }
    }

    /// Puts a sweep together from its header and one answer per question.
    pub(crate) fn from_parts(
        header: &DrmHeader,
        mut answer: impl FnMut(&str) -> Answer<Reply>,
    ) -> Self {
        let stamp = |(mono_ns, wall_us): (u64, i64)| Stamp { mono_ns, wall_us };
        let devices = header.devices.iter().map(|(slot, paths)| DrmDevice {
            slot: *slot,
            files: paths
                .iter()
                .map(|path| (path.clone(), answer(&file_key(path))))
                .collect(),
        });
        let devices = devices.collect();
        let search = header.search.as_ref().map(|search| DrmSearch {
            complete: search.complete.map(|[from, to]| (stamp(from), stamp(to))),
            unreadable: search.unreadable.clone(),
            holders: search
                .holders
                .iter()
                .map(|holder| DrmHolder {
                    pid: holder.pid,
                    start_ticks: holder.start,
                    name: holder.name.clone(),
                    parent: holder.parent,
                    has_only_forked: holder.forked,
                    has_kfd: holder.kfd,
                    descriptors: holder
                        .open
                        .iter()
                        .map(|&(fd, minor, is_deleted)| DrmDescriptor {
                            fd,
                            minor,
                            is_deleted,
                            text: bytes(answer(&text_key(holder.pid, holder.start, fd))),
                        })
                        .collect(),
                })
                .collect(),
        });
        Self { devices, search }
    }

    /// Every answer with its question in a capture, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (String, Answer<Reply>)> {
        let files = self.devices.iter().flat_map(|device| {
            let file = |(path, answer): &(Text, Answer<Reply>)| (file_key(path), answer.clone());
            device.files.iter().map(file)
        });
        let holders = self.search.iter().flat_map(|search| &search.holders);
        let texts = holders.flat_map(|holder| {
            holder.descriptors.iter().map(|descriptor| {
                let key = text_key(holder.pid, holder.start_ticks, descriptor.fd);
                let reply = descriptor.text.clone().map(|text| crate::Stamped {
                    at: text.at,
                    value: Reply::Bytes(text.value),
                });
                (key, reply)
            })
        });
        files.chain(texts)
    }
}

impl DrmHolder {
    fn header(&self) -> HolderHeader {
        let open = |it: &DrmDescriptor| (it.fd, it.minor, it.is_deleted);
        HolderHeader {
            pid: self.pid,
            start: self.start_ticks,
            name: self.name.clone(),
            parent: self.parent,
            forked: self.has_only_forked,
            kfd: self.has_kfd,
            open: self.descriptors.iter().map(open).collect(),
        }
    }
}

fn bytes(answer: Answer<Reply>) -> Answer<Arc<[u8]>> {
    let answer = answer?;
    match answer.value {
        Reply::Bytes(value) => Ok(crate::Stamped {
            at: answer.at,
            value,
        }),
        _ => Err(Gap::Malformed),
    }
}

fn file_key(path: &str) -> String {
    format!("file {path}")
}

fn text_key(pid: u32, start_ticks: Option<u64>, fd: u32) -> String {
    match start_ticks {
        Some(start_ticks) => format!("fdinfo {pid}@{start_ticks}/{fd}"),
        None => format!("fdinfo {pid}/{fd}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stamped;

    const AT: Stamp = Stamp {
        mono_ns: 5,
        wall_us: 6,
    };

    fn sweep() -> DrmSweep {
        let answer = |text: &str| {
            Ok(Stamped {
                at: AT,
                value: Reply::text(text),
            })
        };
        DrmSweep {
            devices: vec![DrmDevice {
                slot: 1,
                files: vec![
                    ("/sys/a".into(), answer("1\n")),
                    ("/sys/b".into(), Err(Gap::Asleep)),
                ],
            }],
            search: Some(DrmSearch {
                complete: Some((AT, AT)),
                unreadable: vec![1, 2],
                holders: vec![DrmHolder {
                    pid: 7,
                    start_ticks: Some(9),
                    name: "client".into(),
                    parent: Some(3),
                    has_only_forked: true,
                    has_kfd: true,
                    descriptors: vec![DrmDescriptor {
                        fd: 5,
                        minor: 128,
                        is_deleted: false,
                        text: Ok(Stamped {
                            at: AT,
                            value: b"drm-driver:\txe\n".as_slice().into(),
                        }),
                    }],
                }],
            }),
        }
    }

    #[test]
    fn only_a_device_that_is_known_to_be_awake_is_not_left_alone() {
        for (status, expected) in [
            (Ok("active\n"), None),
            (Ok("resuming\n"), None),
            (Ok("unsupported\n"), None),
            (Err(Gap::NotPresent), None),
            (Ok("suspended\n"), Some(Gap::Asleep)),
            (Ok("suspending\n"), Some(Gap::Asleep)),
            (Ok("error\n"), Some(Gap::PowerUnknown)),
            (Ok(""), Some(Gap::PowerUnknown)),
            (Ok("\n"), Some(Gap::PowerUnknown)),
            (Ok("ACTIVE\n"), Some(Gap::PowerUnknown)),
            (Err(Gap::Permission), Some(Gap::PowerUnknown)),
            (Err(Gap::DriverError(5)), Some(Gap::PowerUnknown)),
        ] {
            assert_eq!(
                why_left_alone(status.map(str::as_bytes)),
                expected,
                "{status:?}"
            );
        }
    }

    #[test]
    fn a_sweep_is_put_together_from_its_parts() {
        let mut sweep = sweep();
        let holders = &mut sweep.search.as_mut().unwrap().holders;
        holders.push(DrmHolder {
            pid: 8,
            start_ticks: None,
            ..holders[0].clone()
        });
        let parts: std::collections::BTreeMap<_, _> = sweep.parts().collect();
        let again = DrmSweep::from_parts(&sweep.header(), |key| {
            parts.get(key).cloned().unwrap_or(Err(Gap::NotRecorded))
        });
        assert_eq!(again, sweep);
    }

    #[test]
    fn a_sweep_without_one_line_misses_that_answer_only() {
        let sweep = sweep();
        let parts: std::collections::BTreeMap<_, _> = sweep.parts().collect();
        let again = DrmSweep::from_parts(&sweep.header(), |key| match key {
            "fdinfo 7@9/5" => Err(Gap::NotRecorded),
            key => parts.get(key).cloned().unwrap_or(Err(Gap::NotRecorded)),
        });
        assert_eq!(again.devices, sweep.devices);
        let found = again.search.map(|mut search| search.holders.remove(0));
        assert_eq!(
            found.map(|holder| holder.descriptors[0].text.clone()),
            Some(Err(Gap::NotRecorded))
        );
    }
}
