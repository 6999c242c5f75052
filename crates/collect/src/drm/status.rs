//! What is said of DRM devices as a source, and notices.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::{Bytes, Gap, Notice, Severity, SourceState, SourceStatus, Stamp, Text};
use raw::MachineFacts;

use super::attribution::Row;
use super::charges::counters;
use super::device_state::DeviceState;
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
            let _ = write!(detail, "; {} process(es) have them open", self.holders);
            if self.strangers > 0 {
                let nodes = self.strangers;
                let _ = write!(
                    detail,
                    ", {nodes} open node(s) are of no device that is here"
                );
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
        let unread = self.unread.iter().map(|(node, gap)| {
            format!(
                "{node} does not tell whose it is: uevent is {}",
                gap.sentence()
            )
        });
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
            .chain(unread)
            .chain(self.kfd.unread.map(|(count, gap)| {
                format!(
                    "{count} node(s) of ROCm's driver do not tell whose they are: {}",
                    gap.sentence()
                )
            }))
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
        for (node, gap) in &self.unread {
            let text = format!(
                "{node} is left out: whose it is stands in its uevent, which cannot be read ({})",
                gap.sentence()
            );
            notice("node_unreadable", Severity::Warning, ID.into(), text);
        }
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
                    "{} process(es) cannot be looked at and may have these devices open; \
                     what only they hold is in the unattributed part",
                    search.unreadable.len()
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
            for row in self.rows.iter().filter(|row| row.slot == *slot) {
                for (code, severity, text) in contradictions(row, device, *index) {
                    notice(code, severity, format!("pid:{}", row.pid).into(), text);
                }
            }
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

/// Sizes of a process against those of its device: more than there is cannot be true, more than is in use may have been
/// read a moment apart.
fn contradictions(
    row: &Row,
    device: &DeviceState,
    index: u32,
) -> Vec<(&'static str, Severity, String)> {
    let driver = row.driver.as_deref().unwrap_or(&device.found.driver_name);
    let counters = counters(driver);
    let used = |name: &str| {
        let used = device.files.number(&device.found.file(name)).ok()?;
        u64::try_from(used.value).ok()
    };
    let pid = row.pid;
    let of_memory = |what: &str, counter: &str, beyond, here: Result<u64, Gap>, file: &str| {
        if let Some((bytes, limit)) = beyond {
            let (bytes, limit) = (words(bytes), words(limit));
            let text = format!(
                "process {pid} has {bytes} of {what} by {counter}, and GPU {index} only {limit} in all by \
                 mem_info_{file}_total: it is charged none of it"
            );
            return Some(("size_exceeds_total", Severity::Warning, text));
        }
        let (bytes, used) = (here.ok()?, used(&format!("mem_info_{file}_used"))?);
        (bytes > used).then(|| {
            let (bytes, used) = (words(bytes), words(used));
            let text = format!(
                "process {pid} has {bytes} of {what} by {counter}, more than the {used} that are in use on \
                 GPU {index} by mem_info_{file}_used: one of the two is wrong, or they are of different moments"
            );
            ("size_exceeds_used", Severity::Info, text)
        })
    };
    let system = of_memory(
        "system memory",
        counters.system,
        row.system_beyond,
        row.system_resident,
        "gtt",
    );
    let vram = of_memory(
        "device memory",
        counters.vram,
        row.vram_beyond,
        row.vram_resident,
        "vram",
    );
    vram.into_iter().chain(system).collect()
}

/// A size for a sentence.
fn words(bytes: u64) -> String {
    let bytes = Bytes(bytes);
    let gib = bytes.as_f64() / Bytes::mib(1024).as_f64();
    if gib >= 1.0 {
        format!("{gib:.2} GiB")
    } else if bytes >= Bytes::mib(1) {
        format!("{:.1} MiB", bytes.as_f64() / Bytes::mib(1).as_f64())
    } else {
        format!("{} bytes", bytes.0)
    }
}
