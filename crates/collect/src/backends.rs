//! Registered backends: what each looks for, and what it found.

use std::fmt::Write as _;

use model::remedy::Standing;
use model::{Device, Mode, Notice, PciAddress, Severity, SourceState, SourceStatus, Stamp, Text};
use raw::MachineFacts;

use crate::drm::Drm;
use crate::host::{self, Host};
use crate::nvml::Nvml;

/// A source of devices and processes.
pub struct Backend {
    /// Its stable name in `sources[]`.
    pub id: &'static str,
    status: fn(&Evidence<'_>) -> SourceStatus,
}

/// What a backend's status is derived from.
pub(crate) struct Evidence<'a> {
    pub(crate) nvml: &'a Nvml,
    pub(crate) drm: &'a Drm,
    pub(crate) host: &'a Host,
    pub(crate) standing: Standing,
    pub(crate) facts: &'a MachineFacts,
    pub(crate) now: Stamp,
}

/// Every backend, in display order.
pub const BACKENDS: &[Backend] = &[
    Backend {
        id: "nvml",
        status: |evidence| evidence.nvml.status(evidence.facts),
    },
    Backend {
        id: "drm.fdinfo",
        status: |evidence| evidence.drm.status(evidence),
    },
    Backend {
        id: "pci",
        status: pci,
    },
];

pub(crate) fn statuses(evidence: &Evidence<'_>) -> Vec<SourceStatus> {
    BACKENDS
        .iter()
        .map(|backend| (backend.status)(evidence))
        .collect()
}

/// GPUs on the bus that stand beside `devices` and of which nothing is known, each with the reason: without any device
/// the state of every source is told.
pub(crate) fn unread(evidence: &Evidence<'_>, devices: &[Device]) -> Vec<Notice> {
    let host = evidence.host;
    if devices.is_empty() || host.mode() == Mode::Wsl {
        return Vec::new();
    }
    let nvml = evidence.nvml.status(evidence.facts);
    let is_shown = |address: PciAddress| {
        let mut places = devices.iter().filter_map(|device| device.pci.value());
        places.any(|place| *place == address)
    };
    let on_bus = host.bus().unwrap_or(&[]).iter();
    let unread = on_bus.filter(|found| !is_shown(found.address));
    let notices = unread.filter_map(|found| {
        let (maker, why) = match (found.vendor, nvml.state) {
            (host::NVIDIA, _) if found.other_driver => {
                ("NVIDIA", "another driver than NVIDIA's has it".to_owned())
            }
            (host::NVIDIA, SourceState::Absent) => {
                ("NVIDIA", "there is no NVIDIA driver library".to_owned())
            }
            (host::NVIDIA, SourceState::Error | SourceState::Denied) => {
                ("NVIDIA", nvml.detail.to_string())
            }
            (AMD, _) => ("AMD", NO_NODE.to_owned()),
            (INTEL, _) => ("Intel", NO_NODE.to_owned()),
            _ => return None,
        };
        Some(Notice {
            code: "device_unread",
            severity: Severity::Info,
            subject: found.address.to_string().into(),
            text: format!("no figures of the {maker} GPU at {}: {why}", found.address).into(),
        })
    });
    notices.collect()
}

/// PCI vendor id of AMD.
pub(crate) const AMD: u32 = 0x1002;

/// PCI vendor id of Intel.
pub(crate) const INTEL: u32 = 0x8086;

/// Why a device is not among those of the kernel's drivers.
const NO_NODE: &str = "no driver has made a node of it in /sys/class/drm";

fn status(
    id: &'static str,
    state: SourceState,
    detail: String,
    hint: Option<&str>,
) -> SourceStatus {
    SourceStatus {
        id,
        state,
        detail: detail.into(),
        hint: hint.map(Text::from),
    }
}

/// The bus shows devices that no driver answers for.
fn pci(evidence: &Evidence<'_>) -> SourceStatus {
    let id = "pci";
    if &*evidence.facts.os != "linux" {
        let detail = format!("devices are not looked for on {} yet", evidence.facts.os);
        return status(id, SourceState::NotApplicable, detail, None);
    }
    match evidence.host.bus() {
        Err(gap) => {
            let detail = format!("/sys/bus/pci/devices: {}", gap.sentence());
            status(id, SourceState::Absent, detail, None)
        }
        Ok([]) => {
            let detail = "no display device in /sys/bus/pci/devices".to_owned();
            status(id, SourceState::Absent, detail, None)
        }
        Ok(devices) => {
            let mut detail = String::from("display devices:");
            for device in devices {
                let vendor = match device.vendor {
                    host::NVIDIA => "NVIDIA",
                    AMD => "AMD",
                    INTEL => "Intel",
                    0x1a03 => "ASPEED (server management)",
                    0x1234 | 0x1af4 | 0x1b36 | 0x15ad => "virtual",
                    _ => "other",
                };
                let power = match device.power {
                    Ok(model::PowerState::Suspended) => ", asleep",
                    Err(model::Gap::PowerUnknown) => ", asleep or not cannot be told",
                    _ => "",
                };
                // Writing to a string cannot fail.
                let _ = write!(detail, " {} {vendor}{power};", device.address);
            }
            status(
                id,
                SourceState::Ok,
                detail.trim_end_matches(';').to_owned(),
                None,
            )
        }
    }
}
