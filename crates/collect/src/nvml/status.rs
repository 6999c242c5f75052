//! What is said of the driver and its devices: the state of the source, and notices.

use std::collections::BTreeMap;

use model::{Gap, Notice, Severity, SourceState, SourceStatus, Stamp, Text};
use raw::nvml::{CallAnswer, DeviceCall, Library, Output, SystemCall, code};
use raw::{MachineFacts, Stamped};

use super::state::{DeviceState, Nvml};

impl Nvml {
    /// The state of the source, for people and for JSON.
    pub(crate) fn status(&self, facts: &MachineFacts) -> SourceStatus {
        let (state, detail, hint): (_, String, Option<&str>) = if let Some(reason) = &self.asleep {
            (
                SourceState::Skipped,
                reason.to_string(),
                Some("W on the screen wakes the GPU that is shown, --wake all of them"),
            )
        } else if facts.nvml_names.is_empty() {
            let detail = format!("not read on {} yet", facts.os);
            (SourceState::NotApplicable, detail, None)
        } else {
            self.library_status(facts)
        };
        SourceStatus {
            id: "nvml",
            state,
            detail: detail.into(),
            hint: hint.map(Text::from),
        }
    }

    fn library_status(&self, facts: &MachineFacts) -> (SourceState, String, Option<&'static str>) {
        let asked = facts
            .nvml_names
            .first()
            .map_or("libnvidia-ml", |name| &**name);
        let overdue = self.overdue.is_some();
        match &self.library {
            None if self.missing == Some(Gap::NotRecorded) => (
                SourceState::Error,
                "the capture holds no answer of the driver".to_owned(),
                None,
            ),
            None if self.missing.is_some() => (
                SourceState::Error,
                "the thread that asks the driver could not be started or has failed".to_owned(),
                Some("check the limit of processes (ulimit -u); else please report it"),
            ),
            None if overdue && self.never_answered() => (
                SourceState::TimedOut,
                format!(
                    "{asked} is installed, but has not answered for {} s",
                    self.silent_for_ms / 1000
                ),
                Some("the driver hangs: the kernel log (dmesg) may say why; it may need a reboot"),
            ),
            None if overdue => (
                SourceState::Pending,
                format!(
                    "{asked} is being initialised; a GPU without persistence mode takes seconds"
                ),
                None,
            ),
            None => (
                SourceState::Pending,
                format!("{asked} has not been asked yet"),
                None,
            ),
            Some(Err(gap)) => (SourceState::Error, gap.sentence().to_owned(), gap.remedy()),
            Some(Ok(Stamped { value, .. })) => match value {
                Library::NotLoaded(tried) => {
                    let names: Vec<&str> = tried.iter().map(|(name, _)| &**name).collect();
                    let words = tried.first().map_or("", |(_, words)| &**words);
                    (
                        SourceState::Absent,
                        format!(
                            "no NVIDIA driver library; tried {} ({words})",
                            names.join(", ")
                        ),
                        Some("with an NVIDIA GPU, install the vendor's driver"),
                    )
                }
                Library::InitFailed { name, rc } => {
                    let (words, hint) = init_failure(*rc);
                    let state = if *rc == code::NO_PERMISSION {
                        SourceState::Denied
                    } else {
                        SourceState::Error
                    };
                    (
                        state,
                        format!("{name} is installed, but {words}"),
                        Some(hint),
                    )
                }
                Library::Ready { name } => {
                    let version = match self.system(SystemCall::DriverVersion) {
                        Ok(Stamped {
                            value:
                                CallAnswer {
                                    out: Output::Text(text),
                                    ..
                                },
                            ..
                        }) => {
                            format!(" {text}")
                        }
                        _ => String::new(),
                    };
                    if let Ok(count) = self.system(SystemCall::DeviceCount)
                        && count.value.rc != code::SUCCESS
                    {
                        return (
                            SourceState::Error,
                            format!(
                                "{name}{version} does not say how many devices there are: {} \
                                 (NVML error {})",
                                super::answers::reason(count.value.rc).sentence(),
                                count.value.rc
                            ),
                            Some(match count.value.rc {
                                code::UNINITIALIZED
                                | code::DRIVER_NOT_LOADED
                                | code::LIB_RM_VERSION_MISMATCH => init_failure(count.value.rc).1,
                                _ => "nvidia-smi and the kernel log (dmesg) may say more",
                            }),
                        );
                    }
                    if self.has_only_counted() {
                        let detail = format!("{name}{version}; devices are about to be read");
                        return (SourceState::Pending, detail, None);
                    }
                    let found = format!(
                        "{name}{version}, {}",
                        model::names::counted(self.devices.len(), "device", "devices")
                    );
                    match self.overdue {
                        Some(_) => (
                            SourceState::TimedOut,
                            format!(
                                "{found}; the driver does not answer, older readings are shown"
                            ),
                            None,
                        ),
                        None => (SourceState::Ok, found, None),
                    }
                }
            },
        }
    }

    /// Notices about the driver and its devices.
    pub(crate) fn notices(&self, index_of: &BTreeMap<u32, u32>, now: Stamp) -> Vec<Notice> {
        let mut notices = Vec::new();
        if let Some(since) = self.overdue
            && self.library.is_some()
        {
            notices.push(Notice {
                code: "driver_overdue",
                severity: Severity::Warning,
                subject: "nvml".into(),
                text: format!(
                    "the NVIDIA driver has not answered for {} s; readings keep their age",
                    now.ms_since(since) / 1000
                )
                .into(),
            });
        }
        if let Some(Ok(Stamped {
            value: Library::InitFailed { rc, .. },
            ..
        })) = &self.library
            && self.was_ready
        {
            let (words, hint) = init_failure(*rc);
            notices.push(Notice {
                code: "driver_gone",
                severity: Severity::Warning,
                subject: "nvml".into(),
                text: format!(
                    "the NVIDIA driver is gone: {words}; it is tried again every 10 s. {hint}"
                )
                .into(),
            });
        }
        if let Some(rc) = self.failure() {
            notices.push(self.failed(rc, now));
        }
        let no_mps_list = |device: &DeviceState| {
            matches!(device.newest(DeviceCall::MpsProcesses),
                Ok(answer) if answer.value.rc == code::FUNCTION_NOT_FOUND)
        };
        if self.devices.values().any(no_mps_list) {
            notices.push(Notice {
                code: "no_mps_list",
                severity: Severity::Info,
                subject: "nvml".into(),
                text: "this driver library does not list clients of the Multi-Process Service; \
                       there may be more processes"
                    .into(),
            });
        }
        for (slot, device) in &self.devices {
            let Some(index) = index_of.get(slot) else {
                continue;
            };
            let subject: Text = format!("gpu:{index}").into();
            let trouble = match &device.handle {
                _ if device.hangs => Some((
                    "device_hung",
                    format!(
                        "GPU {index} does not answer; its last readings are shown with their age"
                    ),
                )),
                _ if device.is_lost() => Some((
                    "device_lost",
                    format!(
                        "GPU {index} is lost: {}; the kernel log may say why",
                        Gap::GpuLost.sentence()
                    ),
                )),
                Some(Ok(handle)) if handle.value.rc != code::SUCCESS => Some((
                    "device_failed",
                    format!(
                        "GPU {index} cannot be opened: NVML error {}",
                        handle.value.rc
                    ),
                )),
                _ => None,
            };
            if let Some((code, text)) = trouble {
                let severity = Severity::Warning;
                notices.push(Notice {
                    code,
                    severity,
                    subject,
                    text: text.into(),
                });
            }
        }
        notices
    }

    fn failed(&self, rc: i32, now: Stamp) -> Notice {
        let ages = self.devices.values().filter_map(|it| it.read_ms_ago(now));
        let readings = match ages.min() {
            Some(ms) if ms <= self.shown_for_ms => "the last readings are shown with their age",
            Some(_) | None => "the last readings are too old to be shown",
        };
        Notice {
            code: "driver_failed",
            severity: Severity::Warning,
            subject: "nvml".into(),
            text: format!(
                "the NVIDIA driver does not say any more how many GPUs there are: {}; {readings}",
                super::answers::failed(rc)
            )
            .into(),
        }
    }
}

fn init_failure(rc: i32) -> (String, &'static str) {
    match rc {
        code::UNINITIALIZED => (
            "it has ended the session (NVML error 1), as when its kernel module is reloaded"
                .to_owned(),
            "nothing is to be done if the module was reloaded: the program connects again by itself",
        ),
        code::GPU_IS_LOST => (
            "it has lost a GPU (NVML error 15)".to_owned(),
            "look into the kernel log; a reset of the device or a reboot may be needed",
        ),
        code::DRIVER_NOT_LOADED => (
            "its kernel module is not loaded (NVML error 9)".to_owned(),
            "load it (modprobe nvidia), or reboot after a driver installation",
        ),
        code::LIB_RM_VERSION_MISMATCH => (
            "library and kernel module are of different versions (NVML error 18)".to_owned(),
            "reboot, or reload the kernel module: the driver was upgraded while in use; if this program ran meanwhile, \
             start it again",
        ),
        code::NO_PERMISSION => (
            "opening the device files is not allowed (NVML error 4)".to_owned(),
            "check the rights of /dev/nvidia*; in a container, pass the devices in",
        ),
        other => (
            format!("its initialisation failed (NVML error {other})"),
            "nvidia-smi and the kernel log (dmesg) may say more",
        ),
    }
}
