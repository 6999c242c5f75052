//! One device over time: what is known of it, and what is read of it next.

use model::{DeviceKind, Gap, Stamp, Text};
use raw::drm::{DeviceReads, why_left_alone};
use raw::{Answer, Inline, Machine, Question, Reply, Stamped};

use super::attribution::DeviceFacts;
use super::classes::Video;
use super::discovery::{self, Driver, Found, Hwmon};
use super::files::Files;
use super::kfd::Kfd;
use super::memory::MOST_BYTES;
use super::rates::Rates;
use super::sizes::Limits;
use super::{amdgpu, intel};
use crate::processes::Poll;

/// How often it is asked whether the kernel may put a device to sleep: programs that save power change that.
const CONTROL_EVERY_NS: u64 = 5_000_000_000;

/// Names of products do not change.
const NAME_EVERY_MS: u64 = 3_600_000;

/// One device over time.
pub(super) struct DeviceState {
    pub(super) found: Found,
    pub(super) hwmon: Option<Hwmon>,
    pub(super) has_sought_hwmon: bool,
    /// Why there is none, once it was sought.
    pub(super) no_hwmon: Gap,
    /// Whether the kernel may put it to sleep (`power/control` is `auto`); reading that wakes nothing.
    pub(super) control: Answer<bool>,
    control_due_ns: u64,
    pub(super) files: Files,
    pub(super) rates: Rates,
    pub(super) listed_name: Poll,
    pub(super) kind: DeviceKind,
    /// What decided it.
    pub(super) kind_evidence: Option<&'static str>,
    /// Whether a client of it was seen to have a line of engine time: without one, that there is none says nothing.
    pub(super) times_work: bool,
    has_processor_table: bool,
    pub(super) video_moved: bool,
    /// Whether anybody was seen to hold its nodes; `None` before the first complete search.
    pub(super) is_used: Option<bool>,
    pub(super) is_left_alone: bool,
    /// Whether a client was seen to have memory of the device.
    pub(super) has_local_memory: bool,
    pub(super) vendor_of_memory: Option<Text>,
}

impl DeviceState {
    pub(super) fn new(found: Found) -> Self {
        Self {
            found,
            hwmon: None,
            has_sought_hwmon: false,
            no_hwmon: Gap::NoCounter,
            control: Err(Gap::Pending),
            control_due_ns: 0,
            files: Files::default(),
            rates: Rates::default(),
            listed_name: Poll::default(),
            kind: DeviceKind::Unknown,
            kind_evidence: None,
            times_work: false,
            has_processor_table: false,
            video_moved: false,
            is_used: None,
            is_left_alone: false,
            has_local_memory: false,
            vendor_of_memory: None,
        }
    }

    pub(super) fn refresh(&mut self, machine: &mut dyn Machine, now: Stamp) {
        if let Some((vendor, device)) = self.found.ids
            && self.found.product.is_none()
        {
            let revision = self.found.revision;
            let question = || Question::DeviceName {
                vendor,
                device,
                revision,
            };
            self.listed_name.ask(machine, question, now, NAME_EVERY_MS);
        }
        if now.mono_ns >= self.control_due_ns {
            self.control_due_ns = now.mono_ns.saturating_add(CONTROL_EVERY_NS);
            let control = machine.inline(&Inline::Small(self.found.file("power/control")));
            self.control = match (control, &self.control) {
                (
                    Ok(Stamped {
                        at,
                        value: Reply::Bytes(text),
                    }),
                    _,
                ) => Ok(Stamped {
                    at,
                    value: text.trim_ascii() == b"auto",
                }),
                (Ok(_), _) => Err(Gap::Malformed),
                // Recordings from before it was asked again have it once.
                (Err(Gap::NotRecorded), Ok(before)) => Ok(*before),
                (Err(gap), _) => Err(gap),
            };
        }
        if self.has_sought_hwmon || !self.found.has("hwmon") {
            return;
        }
        // Its folder may have to be asked for of a device that is on.
        let status = discovery::small(machine, &self.found.file("power/runtime_status"));
        if why_left_alone(status.as_deref().map(str::as_bytes).map_err(|gap| *gap)).is_some() {
            return;
        }
        self.has_sought_hwmon = true;
        match discovery::hwmon(machine, &self.found) {
            Ok(hwmon) => self.hwmon = Some(hwmon),
            Err(gap) => self.no_hwmon = gap,
        }
        if self.found.has("mem_info_vram_vendor") {
            let path = self.found.file("mem_info_vram_vendor");
            self.vendor_of_memory = discovery::small(machine, &path).ok();
        }
    }

    /// Once something has decided its kind, that stays: a device does not change it, and its files come and go.
    pub(super) fn establish_kind(&mut self, kfd: &Kfd) {
        let gtt = self.files.number(&self.found.file("mem_info_gtt_total"));
        let table = self.files.bytes(&self.found.file("gpu_metrics"));
        self.has_processor_table |=
            table.is_ok_and(|table| super::gpu_metrics::is_of_processor(table.value));
        let (kind, evidence) = match self.found.driver {
            Driver::Amdgpu => {
                let facts = amdgpu::KindFacts {
                    hwmon: self.hwmon.as_ref(),
                    has_processor_table: self.has_processor_table,
                    memory_vendor: self.vendor_of_memory.as_deref(),
                    shares_bank: gtt
                        .is_ok_and(|gtt| kfd.bank_of(&self.found) == u64::try_from(gtt.value).ok()),
                };
                amdgpu::kind(&self.found, &facts)
            }
            Driver::I915 | Driver::Xe => intel::kind(&self.found, self.has_local_memory),
            Driver::Generic => (
                DeviceKind::Unified,
                Some("a driver of GPUs without memory of their own"),
            ),
            Driver::Silent | Driver::Elsewhere | Driver::Display | Driver::Accelerator => {
                (DeviceKind::Unknown, None)
            }
        };
        if evidence.is_some() {
            (self.kind, self.kind_evidence) = (kind, evidence);
        }
    }

    pub(super) fn reads(&mut self, slot: u32, kfd: &Kfd) -> DeviceReads {
        let (always, mut awake) = match self.found.driver {
            Driver::Amdgpu => amdgpu::reads(&self.found, self.hwmon.as_ref()),
            Driver::I915 | Driver::Xe => {
                (Vec::new(), intel::reads(&self.found, self.hwmon.as_ref()))
            }
            Driver::Generic
            | Driver::Silent
            | Driver::Elsewhere
            | Driver::Display
            | Driver::Accelerator => (Vec::new(), Vec::new()),
        };
        // Each reading starts the time anew after which an unused card falls asleep.
        self.is_left_alone = self.may_sleep() && self.is_used == Some(false);
        if self.is_left_alone {
            awake.clear();
            self.files
                .forget(|path| !always.iter().any(|kept| **kept == *path));
        } else {
            awake.extend(kfd.reads(&self.found));
        }
        DeviceReads {
            slot,
            status: self.found.file("power/runtime_status"),
            always,
            awake,
            minors: self.found.minors.clone(),
            fdinfo_wakes: self.found.driver == Driver::Xe,
        }
    }

    /// Whether the kernel may put it to sleep, as far as is known.
    fn may_sleep(&self) -> bool {
        matches!(self.control, Ok(Stamped { value: true, .. }))
    }

    /// Files that were refused for lack of rights at their last reading.
    pub(super) fn refused(&self) -> usize {
        let of_folders = usize::from(self.found.unlisted == Some(Gap::Permission))
            + usize::from(self.no_hwmon == Gap::Permission);
        self.files.refused() + of_folders
    }

    /// What attribution is told of it.
    pub(super) fn facts(&self) -> DeviceFacts {
        DeviceFacts {
            has_user_queues: self.found.driver == Driver::Amdgpu,
            limits: self.limits(),
        }
    }

    /// Sizes of its memory, where its driver says them.
    pub(super) fn limits(&self) -> Limits {
        let size = |name: &str| {
            let size = self.files.number(&self.found.file(name)).ok()?;
            let bytes = u64::try_from(size.value).ok()?;
            (1..=MOST_BYTES).contains(&bytes).then_some(bytes)
        };
        Limits {
            vram: size("mem_info_vram_total"),
            system: size("mem_info_gtt_total"),
        }
    }

    /// Why a file that was not asked for was not.
    pub(super) fn unasked(&self) -> Gap {
        match self.why_left_alone() {
            Some(gap) => gap,
            None if self.is_left_alone => Gap::LeftAlone,
            None => Gap::Pending,
        }
    }

    /// Why what could wake it is not read: it sleeps, or whether it does cannot be told.
    pub(super) fn why_left_alone(&self) -> Option<Gap> {
        let status = self.files.bytes(&self.found.file("power/runtime_status"));
        why_left_alone(status.map(|status| status.value))
    }

    pub(super) fn has_counters(&self) -> bool {
        let is_intel = matches!(self.found.driver, Driver::I915 | Driver::Xe);
        is_intel
            && self
                .hwmon
                .as_ref()
                .is_some_and(|hwmon| hwmon.has("energy1_input") || hwmon.has("energy2_input"))
    }

    /// How its video engines are told apart. Chips without a list of their parts are older than the change.
    pub(super) fn video(&self) -> Video {
        match self.found.video_version {
            Some(4..) => Video::Unified,
            None if self.found.has("ip_discovery") => Video::Unknown,
            Some(_) | None => Video::Split,
        }
    }
}
