//! What is said of DRM devices as a source, and notices.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::names::counted;
use model::remedy::{Refused, Standing};
use model::{Bytes, Gap, Mode, Notice, Severity, SourceState, SourceStatus, Stamp, Text};

use crate::backends::{self, Evidence};

use super::attribution::Row;
use super::charges::counters;
use super::device_state::DeviceState;
use super::discovery::Driver;
use super::state::Drm;

const ID: &str = "drm.fdinfo";

const KFD: &str = "/sys/class/kfd";

impl Drm {
    /// The state of the source.
    pub(crate) fn status(&self, evidence: &Evidence<'_>) -> SourceStatus {
        let (standing, now) = (evidence.standing, evidence.now);
        let status = |state, detail: String, hint: Option<&str>| SourceStatus {
            id: ID,
            state,
            detail: detail.into(),
            hint: hint.map(Text::from),
        };
        if &*evidence.facts.os != "linux" {
            return status(SourceState::NotApplicable, "Linux only".to_owned(), None);
        }
        if self.is_wsl {
            let detail = "not used under WSL: the host's driver holds the devices".to_owned();
            let hint =
                "under WSL only NVIDIA GPUs are read; for one of AMD or Intel, ask on the host";
            return status(SourceState::NotApplicable, detail, Some(hint));
        }
        let others = self.others();
        if self.devices.is_empty() {
            return self.absent(evidence, &others);
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
        let refused: usize = self.devices.values().map(DeviceState::refused).sum();
        if refused > 0 {
            let _ = write!(detail, "; {refused} file(s) of the devices may not be read");
        }
        if let Some(gap) = self.kfd.refused() {
            let _ = write!(detail, "; {KFD}: {}", gap.sentence());
        }
        detail.push_str(&others);
        let hint = self.rights(standing);
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
            (None, None, Some(_)) => status(SourceState::Ok, detail, hint),
        }
    }

    /// What would help against what was refused.
    fn rights(&self, standing: Standing) -> Option<&'static str> {
        let search = self.search.as_ref();
        if search.is_some_and(|search| !search.unreadable.is_empty()) {
            return Some(standing.remedy(Refused::Process));
        }
        let of_file = self.devices.values().any(|it| it.refused() > 0)
            || self.kfd.refused() == Some(Gap::Permission)
            || self.unlisted == Some(Gap::Permission)
            || self.refused.iter().any(|(_, gap)| *gap == Gap::Permission);
        of_file.then(|| standing.remedy(Refused::DeviceFile))
    }

    /// Where there is no device: what was looked at, what was there, and what to do.
    fn absent(&self, evidence: &Evidence<'_>, others: &str) -> SourceStatus {
        let nodes = self.nodes.as_ref().map_or(0, Vec::len);
        let mut detail = match self.unlisted {
            Some(gap) => format!("/sys/class/drm: {}", gap.sentence()),
            None if nodes == 0 => "no node in /sys/class/drm".to_owned(),
            None => "no node of a driver that is read here in /sys/class/drm".to_owned(),
        };
        // Writing to a string cannot fail.
        for (node, gap) in &self.refused {
            let _ = write!(detail, "; {node} cannot be told: {}", gap.sentence());
        }
        detail.push_str(others);
        let openable = self.openable.unwrap_or(Err(Gap::Pending));
        let _ = match openable {
            Ok(0) | Err(Gap::NotPresent) => write!(detail, "; nothing in /dev/dri"),
            Ok(nodes) => write!(detail, "; {nodes} node(s) in /dev/dri"),
            Err(gap) => write!(detail, "; /dev/dri: {}", gap.sentence()),
        };
        let _ = match (self.kfd.refused(), self.kfd.devices()) {
            (Some(gap), _) => write!(detail, "; {KFD}: {}", gap.sentence()),
            (None, 0) => write!(detail, "; no GPU in {KFD} (ROCm)"),
            (None, gpus) => write!(detail, "; {gpus} GPU(s) in {KFD} (ROCm)"),
        };
        let mut on_bus = evidence.host.bus().unwrap_or(&[]).iter();
        let without_driver = on_bus.find(|it| matches!(it.vendor, backends::AMD | backends::INTEL));
        let hint: Text = match (self.rights(evidence.standing), without_driver) {
            (Some(rights), _) => rights.into(),
            _ if evidence.standing.mode == Mode::Container => {
                "a container sees AMD and Intel GPUs through /sys of the host and /dev/dri: start it with --device \
                 /dev/dri (for ROCm also --device /dev/kfd)"
                    .into()
            }
            (None, Some(found)) => format!(
                "load the driver of the GPU at {} (modprobe amdgpu, i915 or xe); the kernel log (dmesg) says why it \
                 has none",
                found.address
            )
            .into(),
            (None, None) => {
                "with an AMD or Intel GPU, its kernel driver (amdgpu, i915, xe) must be loaded".into()
            }
        };
        SourceStatus {
            id: ID,
            state: if self.unlisted == Some(Gap::Permission) {
                SourceState::Denied
            } else {
                SourceState::Absent
            },
            detail: detail.into(),
            hint: Some(hint),
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
    pub(crate) fn notices(
        &self,
        index_of: &BTreeMap<u32, u32>,
        standing: Standing,
        now: Stamp,
    ) -> Vec<Notice> {
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
                let _ = write!(text, "; {}", standing.remedy(Refused::Process));
                notice("unreadable_holders", Severity::Info, ID.into(), text);
            }
        }
        let rights = standing.remedy(Refused::DeviceFile);
        let advised = |gap| {
            if gap == Gap::Permission {
                format!("; {rights}")
            } else {
                String::new()
            }
        };
        if let Some(gap) = self.kfd.refused()
            && !self.devices.is_empty()
        {
            let text = format!(
                "ROCm's driver is here, but what it says cannot be read ({KFD}): {}{}",
                gap.sentence(),
                advised(gap)
            );
            notice("compute_driver_unreadable", Severity::Info, ID.into(), text);
        }
        for (node, gap) in &self.refused {
            let text = format!(
                "whose node {node} is cannot be read, so its GPU may be missing here: {}{}",
                gap.sentence(),
                advised(*gap)
            );
            notice("node_unreadable", Severity::Warning, ID.into(), text);
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
