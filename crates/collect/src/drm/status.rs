//! What is said of DRM devices as a source, and notices.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::names::counted;
use model::{Notice, Severity, SourceState, SourceStatus, Stamp, Text};
use raw::MachineFacts;

use super::discovery::Driver;
use super::state::Drm;

const ID: &str = "drm.fdinfo";

impl Drm {
    /// The state of the source. `cards` are nodes with their driver as the host found them.
    pub(crate) fn status(&self, facts: &MachineFacts, now: Stamp) -> SourceStatus {
        let status = |state, detail: String, hint: Option<&str>| SourceStatus {
            id: ID,
            state,
            detail: detail.into(),
            hint: hint.map(Text::from),
        };
        if &*facts.os != "linux" {
            return status(SourceState::NotApplicable, "Linux only".to_owned(), None);
        }
        if self.is_wsl {
            let detail = "not used under WSL: the host's driver holds the devices".to_owned();
            return status(SourceState::NotApplicable, detail, None);
        }
        let others = self.others();
        if self.devices.is_empty() {
            let detail = format!("no card of another driver in /sys/class/drm{others}");
            return status(SourceState::Absent, detail, None);
        }
        let devices: Vec<String> = self
            .devices
            .values()
            .map(|device| format!("{} ({})", device.found.key, device.found.driver_name))
            .collect();
        let mut detail = devices.join(", ");
        if let Some(search) = &self.search {
            // Writing to a string cannot fail.
            let holders = counted(self.holders, "process has", "processes have");
            let _ = write!(detail, "; {holders} them open");
            if self.strangers > 0 {
                let nodes = counted(self.strangers, "open node is", "open nodes are");
                let _ = write!(detail, ", {nodes} of no device that is here");
            }
            if !search.unreadable.is_empty() {
                let _ = write!(
                    detail,
                    ", {} could not be looked at",
                    search.unreadable.len()
                );
            }
            if let Some((_, end)) = search.complete {
                let age = now.ms_since(end) / 1000;
                let _ = write!(detail, "; last complete search {age} s ago");
            }
        }
        detail.push_str(&others);
        match (self.missing, self.overdue, self.at) {
            (Some(gap), ..) => status(
                SourceState::Error,
                format!("{detail}: {}", gap.sentence()),
                None,
            ),
            (None, Some(_), None) if self.is_waiting() => {
                status(SourceState::Pending, detail, None)
            }
            (None, Some(since), _) => {
                let silent = now.ms_since(since) / 1000;
                let detail = format!("{detail}; no answer for {silent} s");
                let hint = "a driver hangs: the kernel log (dmesg) may say why";
                status(SourceState::TimedOut, detail, Some(hint))
            }
            (None, None, None) => status(SourceState::Pending, detail, None),
            (None, None, Some(_)) => status(SourceState::Ok, detail, None),
        }
    }

    /// Devices that are not read, in words.
    fn others(&self) -> String {
        let shown: Vec<String> = self
            .others
            .iter()
            .filter_map(|(node, driver, name)| match driver {
                Driver::Display => {
                    Some(format!("{node} ({name}) only shows pictures or is virtual"))
                }
                Driver::Accelerator => {
                    Some(format!("{node} ({name}) is no GPU but an accelerator"))
                }
                _ => None,
            })
            .collect();
        if shown.is_empty() {
            String::new()
        } else {
            format!("; {}", shown.join(", "))
        }
    }

    /// Notices about devices and the search for their holders.
    pub(crate) fn notices(&self, index_of: &BTreeMap<u32, u32>, now: Stamp) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut notice = |code, severity, subject: Text, text: String| {
            notices.push(Notice {
                code,
                severity,
                subject,
                text: text.into(),
            });
        };
        if let Some(since) = self.overdue
            && self.at.is_some()
        {
            let text = format!(
                "reading the DRM devices has not ended for {} s; readings keep their age",
                now.ms_since(since) / 1000
            );
            notice("driver_overdue", Severity::Warning, ID.into(), text);
        }
        if let Some(search) = &self.search {
            if !self.is_complete {
                let text = "not every process has been looked at within the last 5 s: no memory is charged \
                            until then"
                    .to_owned();
                notice("partial_scan", Severity::Info, ID.into(), text);
            }
            if !search.unreadable.is_empty() {
                let mut text = format!(
                    "{} cannot be looked at and may have these devices open; \
                     what only they hold is in the unattributed part",
                    counted(search.unreadable.len(), "process", "processes")
                );
                let counted = self.counted_unreadable(now);
                if counted > 0 {
                    // Writing to a string cannot fail.
                    let _ = write!(
                        text,
                        ", except for device memory that ROCm's driver counts of {counted} of them"
                    );
                }
                notice("unreadable_holders", Severity::Info, ID.into(), text);
            }
        }
        for (slot, device) in &self.devices {
            let Some(index) = index_of.get(slot) else {
                continue;
            };
            for pid in self.kfd.evicted(&device.found, &device.rates) {
                let text = format!(
                    "the compute queues of process {pid} were off GPU {index} for a while: its memory is overcommitted"
                );
                notice(
                    "queues_evicted",
                    Severity::Warning,
                    format!("pid:{pid}").into(),
                    text,
                );
            }
            if device.files.hangs {
                let text = format!(
                    "GPU {index} does not answer; its last readings are shown with their age"
                );
                notice(
                    "device_hung",
                    Severity::Warning,
                    format!("gpu:{index}").into(),
                    text,
                );
            }
        }
        notices
    }
}
