//! What is kept between sweeps: the newest answer of every call, and how old it may get.

use std::collections::BTreeMap;

use model::{Gap, PciAddress, Stamp, Text};
use raw::nvml::{
    CallAnswer, DeviceCall, DeviceSweep, Groups, Library, NvmlPlan, NvmlSweep, Output, SystemCall,
    code,
};
use raw::{Answer, MachineFacts, Published, Stamped};

use super::lists::LISTS;
use super::mig::MigState;
use super::sample_calls;
use super::samples::Samples;

/// How long an answer of a device that stopped answering is shown, with its age. At long intervals
/// longer: until the next turn of the rarest group is over.
const SHOWN_FOR_MS: u64 = 10_000;

/// How long a driver's first answer may take: without persistence mode each GPU takes a second or
/// two.
const FIRST_ANSWER_MS: u64 = 20_000;

/// PCIe throughput is asked every so many sweeps: a read may block for its 20 ms window.
const PCIE_EVERY: u64 = 5;

/// Modes, errors and links are asked this often, or once a sweep where those are rarer: they change
/// seldom, and a server's links alone are dozens of calls.
const DETAILS_EVERY_MS: u64 = 30_000;

/// Which of the sweeps between two turns it is: at a second's interval none of the other rare
/// groups. A device that is met for the first time is asked at once.
const DETAILS_TURN: u64 = 12;

/// How much longer than other answers theirs may be shown.
const DETAILS_SHOWN: u64 = 6;

/// Static facts are asked again every so many sweeps, so that a replaced device is noticed.
const STATIC_EVERY: u64 = 60;

/// NVML over time.
#[derive(Default)]
pub(crate) struct Nvml {
    pub(super) library: Option<Answer<Library>>,
    system: BTreeMap<SystemCall, Answer<CallAnswer>>,
    pub(super) devices: BTreeMap<u32, DeviceState>,
    pub(super) overdue: Option<Stamp>,
    pub(super) silent_for_ms: u64,
    pub(super) missing: Option<Gap>,
    /// Whether the library was ready before.
    pub(super) was_ready: bool,
    sweeps: u64,
    /// Moment of the newest sweep.
    pub(super) lists_at: Option<Stamp>,
    pub(super) asleep: Option<Text>,
    pub(super) shown_for_ms: u64,
    /// Sweeps from one turn of the details to the next.
    details_every: u64,
}

/// Why a device is not asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Resting {
    /// The kernel has suspended it.
    Asleep,
    /// The kernel does not tell whether it sleeps: it is not touched either.
    Unknown,
    /// Nobody uses it and the kernel may suspend it: it is asked from time to time.
    Idle,
    /// It is awake again and is about to be asked.
    Waking,
}

impl Resting {
    /// Whether nothing at all is asked of it, lest that wake it.
    pub(crate) const fn is_untouched(self) -> bool {
        matches!(self, Self::Asleep | Self::Unknown)
    }
}

/// One device over time.
#[derive(Default)]
pub(super) struct DeviceState {
    pub(super) rest: Option<Resting>,
    pub(super) handle: Option<Answer<CallAnswer>>,
    /// The last sweep that asked it anything.
    pub(super) read_in: Option<Stamp>,
    /// Whether a call to it has not returned.
    pub(super) hangs: bool,
    calls: BTreeMap<DeviceCall, Answer<CallAnswer>>,
    pub(super) samples: Samples,
    pub(super) mig: MigState,
}

/// A process as the driver's lists of one device name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedProcess {
    pub(crate) pid: u32,
    pub(crate) at: Stamp,
}

impl Nvml {
    /// Nothing is known yet.
    pub(crate) fn new(interval_ms: u64) -> Self {
        let shown_for_ms = SHOWN_FOR_MS.max(interval_ms.saturating_mul(PCIE_EVERY + 1));
        Self {
            shown_for_ms,
            details_every: (DETAILS_EVERY_MS / interval_ms.max(1)).max(1),
            ..Self::default()
        }
    }

    /// What a sweep at this wall clock asks, apart from the slots left alone; `None` while that is all of them.
    pub(crate) fn plan(&self, wall_us: i64, untouched: Option<Vec<u32>>) -> Option<NvmlPlan> {
        if self.asleep.is_some() {
            return None;
        }
        let untouched = untouched?;
        let mut groups = Groups::FAST | Groups::PROCESSES | Groups::SAMPLES;
        if self.sweeps.is_multiple_of(PCIE_EVERY) {
            groups |= Groups::PCIE;
        }
        let every = self.details_every.max(1);
        if self.sweeps % every == DETAILS_TURN.min(every - 1) {
            groups |= Groups::DETAILS;
        }
        if self.sweeps.is_multiple_of(STATIC_EVERY) {
            groups |= Groups::STATIC;
        }
        let samples_after = self
            .devices
            .iter()
            .filter(|(_, device)| device.is_known())
            .filter_map(|(slot, device)| Some((*slot, device.samples.ask_after(wall_us)?)))
            .collect();
        Some(NvmlPlan {
            groups,
            samples_after,
            untouched,
        })
    }

    /// Leaves the driver alone for this reason, or stops doing so.
    pub(crate) fn leave_alone(&mut self, why: Option<Text>) {
        self.asleep = why;
    }

    /// How the device in this slot rests.
    pub(crate) fn rest(&mut self, slot: u32, resting: Option<Resting>) {
        if let Some(device) = self.devices.get_mut(&slot) {
            device.rest = resting;
        }
    }

    /// When the device in this slot was last asked.
    pub(crate) fn read_at(&self, slot: u32) -> Option<Stamp> {
        let handle = self.devices.get(&slot)?.handle.as_ref()?;
        handle.as_ref().ok().map(|answer| answer.at)
    }

    /// Whether the last answers of the device in this slot show nobody who uses it.
    pub(crate) fn is_unused(&self, slot: u32) -> bool {
        self.devices.get(&slot).is_some_and(DeviceState::is_unused)
    }

    /// Where the devices stand that were asked.
    pub(crate) fn places(&self) -> BTreeMap<u32, PciAddress> {
        let devices = self.devices.iter();
        devices
            .filter_map(|(slot, device)| Some((*slot, device.place()?)))
            .collect()
    }

    /// How many devices the driver says there are.
    pub(crate) fn count(&self) -> Option<usize> {
        match self.system(SystemCall::DeviceCount).ok()?.value.out {
            Output::Number(count) => usize::try_from(count).ok(),
            _ => None,
        }
    }

    /// Whether the only sweep that was answered has counted the devices and asked none of them.
    pub(crate) fn has_only_counted(&self) -> bool {
        let counted = self.count().is_some_and(|count| count > 0);
        counted && self.devices.is_empty() && !self.never_answered()
    }

    /// What the driver answered when it would not say how many devices there are, although some are known. Their
    /// last answers stand meanwhile.
    pub(super) fn failure(&self) -> Option<i32> {
        let rc = self.system(SystemCall::DeviceCount).ok()?.value.rc;
        (rc != code::SUCCESS && !self.devices.is_empty()).then_some(rc)
    }

    /// Takes in what the driver's thread has published.
    pub(crate) fn take(&mut self, published: &Published<NvmlSweep>, now: Stamp) {
        match published {
            Published::NotAsked => {}
            Published::Overdue(since) => {
                self.overdue = Some(*since);
                self.silent_for_ms = now.ms_since(*since);
            }
            Published::Missing(gap) => {
                self.missing = Some(*gap);
                self.overdue = None;
            }
            Published::New(Stamped { at, value: sweep }) => {
                self.overdue = None;
                self.silent_for_ms = 0;
                self.missing = None;
                self.sweeps += 1;
                self.lists_at = Some(*at);
                self.library = Some(sweep.library.clone());
                self.was_ready |=
                    matches!(&sweep.library, Ok(l) if matches!(l.value, Library::Ready { .. }));
                for (call, answer) in &sweep.system {
                    self.system.insert(*call, answer.clone());
                }
                if matches!(&sweep.library, Ok(l) if !matches!(l.value, Library::Ready { .. })) {
                    self.devices.clear();
                }
                if is_success(&sweep.system(SystemCall::DeviceCount)) {
                    let slots: Vec<u32> = sweep.devices.iter().map(|d| d.slot).collect();
                    self.devices.retain(|slot, _| slots.contains(slot));
                }
                for device in &sweep.devices {
                    if device.asked.is_empty() {
                        continue;
                    }
                    self.devices
                        .entry(device.slot)
                        .or_default()
                        .take(device, *at, now);
                }
            }
        }
    }

    /// Whether the first sweep is still on its way.
    pub(crate) fn is_pending(&self, facts: &MachineFacts) -> bool {
        let asked = !facts.nvml_names.is_empty() && self.asleep.is_none();
        asked && self.library.is_none() && self.missing.is_none() && !self.never_answered()
    }

    /// Whether the first answer is later than any initialisation takes.
    pub(super) fn never_answered(&self) -> bool {
        self.silent_for_ms > FIRST_ANSWER_MS
    }

    /// Whether every device's lists are of the last sweep.
    pub(crate) fn lists_are_current(&self) -> bool {
        self.overdue.is_none()
            && self.failure().is_none()
            && self.devices.values().all(|device| {
                let opened = matches!(&device.handle, Some(Ok(h)) if h.value.rc == code::SUCCESS);
                opened
                    && !device.hangs
                    && [DeviceCall::ComputeProcesses, DeviceCall::GraphicsProcesses]
                        .iter()
                        .all(|call| is_success(&device.newest(*call)) || device.mig.all_gave(*call))
            })
    }

    /// Length of the window that load refers to, in milliseconds.
    pub(crate) fn sample_ms(&self) -> u64 {
        self.devices
            .values()
            .map(|device| device.samples.window_ms())
            .max()
            .unwrap_or(1000)
    }

    /// The answer to a call on the driver as a whole.
    pub(crate) fn system(&self, call: SystemCall) -> Answer<&CallAnswer> {
        match self.system.get(&call) {
            Some(Ok(answer)) => Ok(as_ref(answer)),
            Some(Err(gap)) => Err(*gap),
            None => Err(self.why_nothing()),
        }
    }

    fn why_nothing(&self) -> Gap {
        match (&self.missing, &self.library, self.overdue) {
            (Some(gap), ..) | (None, Some(Err(gap)), _) => *gap,
            (None, None, Some(_)) => Gap::Pending,
            _ => Gap::NotPresent,
        }
    }
}

pub(super) fn as_ref<T>(stamped: &Stamped<T>) -> Stamped<&T> {
    Stamped {
        at: stamped.at,
        value: &stamped.value,
    }
}

pub(super) fn is_success(answer: &Answer<&CallAnswer>) -> bool {
    matches!(answer, Ok(a) if a.value.rc == code::SUCCESS)
}

impl DeviceState {
    /// Whether it answers, so that it need not be asked everything again. One that comes back after
    /// it was lost is: it may be another, and what is asked seldom would stay lost for long.
    fn is_known(&self) -> bool {
        let opened = matches!(&self.handle, Some(Ok(h)) if h.value.rc == code::SUCCESS);
        (opened || self.hangs) && !self.calls.is_empty()
    }

    fn take(&mut self, sweep: &DeviceSweep, at: Stamp, now: Stamp) {
        self.handle = Some(sweep.handle.clone());
        self.read_in = Some(at);
        self.hangs = sweep.handle == Err(Gap::TimedOut);
        for (call, answer) in &sweep.calls {
            let unanswered = *answer == Err(Gap::TimedOut);
            self.hangs |= unanswered;
            // What was said before the device stopped answering is shown with its age.
            if !(unanswered && matches!(self.calls.get(call), Some(Ok(_)))) {
                self.calls.insert(*call, answer.clone());
            }
        }
        self.hangs |= self.mig.take(sweep);
        if let Ok(handle) = &sweep.handle
            && handle.value.rc != code::SUCCESS
        {
            // The device itself is gone: what it said of load and processes is over. A hanging
            // device (no answer at all) keeps its last words with their age.
            let failed = Stamped {
                at: handle.at,
                value: handle.value.clone(),
            };
            for call in DeviceCall::ALL
                .iter()
                .filter(|c| !Groups::STATIC.contains(c.group()))
            {
                self.calls.insert(*call, Ok(failed.clone()));
            }
        }
        let answer = |wanted| {
            let found = sweep.calls.iter().find(|(call, _)| *call == wanted);
            found.map(|(_, answer)| answer)
        };
        if let Some((answer, video)) = sample_calls::chosen(
            answer(DeviceCall::ProcessesUtilization),
            answer(DeviceCall::ProcessUtilization),
        ) {
            let listed = self.listed_pids();
            self.samples.video(video);
            self.samples.take(answer, &listed, at, now);
        }
    }

    /// The newest answer, whatever its age.
    pub(super) fn newest(&self, call: DeviceCall) -> Answer<&CallAnswer> {
        if call == DeviceCall::MigMode
            && let Some(mode) = self.mig.mode()
        {
            return mode;
        }
        match self.calls.get(&call) {
            Some(Ok(answer)) => Ok(as_ref(answer)),
            Some(Err(gap)) => Err(*gap),
            None => Err(match &self.handle {
                Some(Err(gap)) => *gap,
                Some(Ok(handle)) if handle.value.rc != code::SUCCESS => {
                    super::answers::reason(handle.value.rc)
                }
                _ => Gap::NotRecorded,
            }),
        }
    }

    /// Whether the lists are read and empty, and nothing is computed. A device that is split is never idle.
    fn is_unused(&self) -> bool {
        let opened = matches!(&self.handle, Some(Ok(h)) if h.value.rc == code::SUCCESS);
        let is_empty = |call| match self.newest(call) {
            Ok(answer) => match (&answer.value.out, answer.value.rc) {
                (Output::Processes(rows), code::SUCCESS) => rows.is_empty(),
                (_, rc) => rc == code::FUNCTION_NOT_FOUND && call == DeviceCall::MpsProcesses,
            },
            Err(_) => false,
        };
        let computes = matches!(
            self.newest(DeviceCall::UtilizationRates),
            Ok(Stamped { value: CallAnswer { out: Output::Numbers(rates), .. }, .. })
                if rates.first().is_some_and(|rate| *rate > 0)
        );
        opened && !computes && !self.in_mig_mode() && LISTS.into_iter().all(is_empty)
    }

    /// Whether the driver says that it has lost it: by its handle, or by what it answers although it has one.
    pub(super) fn is_lost(&self) -> bool {
        let lost = |answer: &Answer<&CallAnswer>| matches!(answer, Ok(answer) if answer.value.rc == code::GPU_IS_LOST);
        let handle = self.handle.as_ref();
        let handle = handle.map(|it| it.as_ref().map(as_ref).map_err(|gap| *gap));
        handle.is_some_and(|it| lost(&it)) || lost(&self.newest(DeviceCall::UtilizationRates))
    }

    /// Age of its newest memory figure or load, in milliseconds.
    pub(super) fn read_ms_ago(&self, now: Stamp) -> Option<u64> {
        [DeviceCall::MemoryInfo, DeviceCall::UtilizationRates]
            .iter()
            .filter_map(|call| self.newest(*call).ok())
            .map(|answer| now.ms_since(answer.at))
            .min()
    }

    fn place(&self) -> Option<PciAddress> {
        match &self.newest(DeviceCall::PciInfo).ok()?.value.out {
            Output::Text(text) => PciAddress::parse(text),
            _ => None,
        }
    }

    /// Whether its readings are told: not while it sleeps, nor when it has just woken.
    pub(super) fn is_told(&self) -> bool {
        !matches!(
            self.rest,
            Some(Resting::Asleep | Resting::Unknown | Resting::Waking)
        )
    }

    /// Whether it is a share of a host's device.
    pub(super) fn is_vgpu(&self) -> bool {
        let mode = self.newest(DeviceCall::VirtualizationMode);
        matches!(mode, Ok(answer) if answer.value.out == Output::Number(2))
    }

    /// The newest answer, as long as it may be shown at `now`.
    pub(super) fn shown(&self, call: DeviceCall, now: Stamp, for_ms: u64) -> Answer<&CallAnswer> {
        let lasting = Groups::STATIC.contains(call.group());
        let silent = match self.rest {
            Some(Resting::Asleep) => Some(Gap::Asleep),
            Some(Resting::Unknown) => Some(Gap::PowerUnknown),
            Some(Resting::Waking) => Some(Gap::Pending),
            Some(Resting::Idle) | None => None,
        };
        // Who it is stays known.
        let answer = match (self.newest(call), silent) {
            (Ok(answer), Some(_)) if lasting => answer,
            (_, Some(gap)) => return Err(gap),
            (answer, None) => answer?,
        };
        let for_ms = if Groups::DETAILS.contains(call.group()) {
            for_ms.saturating_mul(DETAILS_SHOWN)
        } else {
            for_ms
        };
        // A device that is left alone on purpose keeps its readings, with their age, until it is asked again.
        let for_ms = if self.rest == Some(Resting::Idle) {
            for_ms.saturating_add(crate::rest::IDLE_NS / 1_000_000)
        } else {
            for_ms
        };
        if !lasting && now.ms_since(answer.at) > for_ms {
            return Err(match &self.handle {
                Some(Err(gap)) => *gap,
                _ if self.hangs => Gap::TimedOut,
                _ => Gap::Stale,
            });
        }
        Ok(answer)
    }

    fn listed_pids(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = LISTS
            .iter()
            .filter_map(|call| match self.newest(*call) {
                Ok(Stamped {
                    value:
                        CallAnswer {
                            out: Output::Processes(rows),
                            ..
                        },
                    ..
                }) => Some(rows.iter().map(|row| row.pid)),
                _ => None,
            })
            .flatten()
            .collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }
}

#[cfg(test)]
mod tests;
