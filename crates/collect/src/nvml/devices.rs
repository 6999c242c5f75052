//! A device's answers to its readings.

use model::{
    Bytes, BytesPerSecond, Celsius, Device, DeviceKey, DeviceKind, DeviceMemory, Gap, Measured,
    Megahertz, PciAddress, Percent, PowerState, Provenance, Reading, Source, Stamp, Text, Total,
    Vendor, Virtualization, Watts,
};
use raw::Stamped;
use raw::nvml::{CallAnswer, DeviceCall, Output, SystemCall, code};

use super::answers::{DeviceAnswers, failed, reason};
use super::state::{DeviceState, Nvml, Resting};

/// More than any link carries: PCIe 7.0 with 16 lanes has 242 GB/s.
const MAX_LINK_KBPS: i64 = 1_000_000_000;

/// More memory than any device has: what is above is no size.
const MAX_MEMORY: u64 = 1 << 50;

/// Position of `used` and the others in the answer of `GetMemoryInfo`, by version of the symbol.
struct MemoryFields {
    reserved: Option<usize>,
    free: usize,
    used: usize,
}

const fn memory_fields(sym: u8) -> MemoryFields {
    if sym >= 2 {
        MemoryFields {
            reserved: Some(1),
            free: 2,
            used: 3,
        }
    } else {
        MemoryFields {
            reserved: None,
            free: 1,
            used: 2,
        }
    }
}

impl Nvml {
    /// All devices, in the driver's order, without index and without what depends on processes.
    pub(crate) fn devices(&self, now: Stamp) -> Vec<(u32, Device)> {
        let driver = self.system_text(SystemCall::DriverVersion, now);
        let cuda = self.cuda(now);
        let failure = self.failure();
        self.devices
            .iter()
            .map(|(slot, state)| {
                let mut device = device(*slot, state, &driver, &cuda, now, self.shown_for_ms);
                device.counter_status = counter_status(state, failure, now).into();
                (*slot, device)
            })
            .collect()
    }

    fn system_reading<T>(
        &self,
        call: SystemCall,
        now: Stamp,
        convert: impl FnOnce(&Output) -> Option<T>,
    ) -> Reading<Measured<T>> {
        let from = |at| Provenance {
            source: Source::Nvml,
            counter: call.name(),
            at,
        };
        match self.system(call) {
            Err(gap) => Reading::missing(gap, from(now)),
            Ok(Stamped { at, value }) if value.rc == code::SUCCESS => match convert(&value.out) {
                Some(value) => Reading::measured(value, from(at)),
                None => Reading::missing(Gap::Malformed, from(at)),
            },
            Ok(Stamped { at, value }) => Reading::missing(reason(value.rc), from(at)),
        }
    }

    fn system_text(&self, call: SystemCall, now: Stamp) -> Reading<Measured<Text>> {
        self.system_reading(call, now, |out| match out {
            Output::Text(text) => Some(text.clone()),
            _ => None,
        })
    }

    fn cuda(&self, now: Stamp) -> Reading<Measured<Text>> {
        self.system_reading(SystemCall::CudaDriverVersion, now, |out| match out {
            Output::Number(n) if *n > 0 => Some(format!("{}.{}", n / 1000, n % 1000 / 10).into()),
            _ => None,
        })
    }
}

fn device(
    slot: u32,
    state: &DeviceState,
    driver: &Reading<Measured<Text>>,
    cuda: &Reading<Measured<Text>>,
    now: Stamp,
    shown_for_ms: u64,
) -> Device {
    let get = |call| state.shown(call, now, shown_for_ms);
    let answers = DeviceAnswers {
        get: &get,
        now,
        mig: state.in_mig_mode(),
        vgpu: state.is_vgpu(),
    };
    let percent = |call, position| answers.nth(call, position, 100, |n| Percent(n.into()));
    let clock = |call| answers.number(call, 0..=100_000, Megahertz);
    let watts = |call| answers.number(call, 0..=100_000_000, Watts::from_milliwatts);
    let kilobytes = |call| {
        answers.number(call, 0..=MAX_LINK_KBPS, |n| {
            BytesPerSecond(u64::from(n) * 1000)
        })
    };
    let uuid = answers.text(DeviceCall::Uuid);
    let pci = answers.read(DeviceCall::PciInfo, |answer| match &answer.out {
        Output::Text(text) => PciAddress::parse(text).ok_or(Gap::Malformed),
        _ => Err(Gap::Malformed),
    });
    let key = match (pci.value(), uuid.value()) {
        (Some(address), _) => DeviceKey::Pci(*address),
        (None, Some(uuid)) => DeviceKey::Uuid(uuid.clone()),
        (None, None) => DeviceKey::Slot(slot),
    };
    let memory = memory(&answers);
    let (kind, is_told) = match (&memory.total, state.newest(DeviceCall::MemoryInfo)) {
        (Reading::Known(_), _) => (DeviceKind::Discrete, true),
        // GB10, Jetson: the call says NOT_SUPPORTED, or answers a total of zero.
        (Reading::Missing(m), Ok(_)) if m.gap == Gap::NotSupported => (DeviceKind::Unified, true),
        _ => (DeviceKind::Unknown, false),
    };
    let graphics_clock = clock(DeviceCall::ClockGraphics);
    let core_clock = match graphics_clock.known() {
        Some(_) => graphics_clock,
        None => clock(DeviceCall::ClockSm),
    };
    Device {
        driver_index: Some(slot),
        index: 0,
        key,
        vendor: Vendor::Nvidia,
        name: answers.text(DeviceCall::Name),
        uuid,
        pci,
        driver: driver.clone(),
        cuda: cuda.clone(),
        kind,
        kind_evidence: is_told.then_some("nvmlDeviceGetMemoryInfo"),
        virtualization: answers.read(DeviceCall::VirtualizationMode, |answer| match answer.out {
            Output::Number(0) => Ok(Virtualization::None),
            Output::Number(1) => Ok(Virtualization::Passthrough),
            Output::Number(2) => Ok(Virtualization::Vgpu),
            Output::Number(3) => Ok(Virtualization::HostVgpu),
            Output::Number(4) => Ok(Virtualization::HostVsga),
            Output::Number(_) => Err(Gap::Implausible),
            _ => Err(Gap::Malformed),
        }),
        power_state: power_state(state, now),
        may_suspend: crate::host::unlooked(now),
        memory,
        gpu: percent(DeviceCall::UtilizationRates, 0),
        memory_activity: percent(DeviceCall::UtilizationRates, 1),
        encoder: percent(DeviceCall::EncoderUtilization, 0),
        decoder: percent(DeviceCall::DecoderUtilization, 0),
        jpeg: percent(DeviceCall::JpgUtilization, 0),
        ofa: percent(DeviceCall::OfaUtilization, 0),
        core_clock,
        memory_clock: clock(DeviceCall::ClockMemory),
        video_clock: clock(DeviceCall::ClockVideo),
        temperature: answers.read(DeviceCall::Temperature, celsius),
        power: watts(DeviceCall::PowerUsage),
        power_limit: watts(DeviceCall::EnforcedPowerLimit),
        fan: answers.number(DeviceCall::FanSpeed, 0..=200, |n| Percent(n.into())),
        pcie_rx: kilobytes(DeviceCall::PcieRx),
        pcie_tx: kilobytes(DeviceCall::PcieTx),
        pcie_generation: answers.number(DeviceCall::PcieLinkGeneration, 1..=20, |n| n),
        pcie_width: answers.number(DeviceCall::PcieLinkWidth, 1..=64, |n| n),
        performance_state: performance_state(&answers),
        sensors: Vec::new(),
        visible_loads: Vec::new(),
        details: super::details::details(&answers),
        mig: super::mig::mode(&answers),
        instances: state.instances(now, shown_for_ms),
        instances_missing: state.instances_missing(now),
        categories: Vec::new(),
        categories_normalized: false,
        counter_status: Text::default(),
    }
}

fn celsius(answer: &CallAnswer) -> Result<Celsius, Gap> {
    match answer.out {
        // -1 is what all bits set look like.
        Output::Number(n) if (-60..=200).contains(&n) && n != -1 => i32::try_from(n)
            .map(|n| Celsius(n.into()))
            .map_err(|_| Gap::Implausible),
        Output::Number(_) => Err(Gap::Implausible),
        _ => Err(Gap::Malformed),
    }
}

/// 32 is NVML's own "unknown".
fn performance_state(answers: &DeviceAnswers<'_>) -> Reading<Measured<u32>> {
    answers.read(DeviceCall::PerformanceState, |answer| match answer.out {
        Output::Number(n @ 0..=15) => u32::try_from(n).map_err(|_| Gap::Implausible),
        Output::Number(32) => Err(Gap::NotSupported),
        Output::Number(_) => Err(Gap::Implausible),
        _ => Err(Gap::Malformed),
    })
}

pub(super) fn memory(answers: &DeviceAnswers<'_>) -> DeviceMemory {
    let call = DeviceCall::MemoryInfo;
    let field = |position: fn(&MemoryFields) -> Option<usize>| {
        answers.read(call, |answer| match &answer.out {
            // A total of zero is how unified-memory devices say that there is no such memory.
            Output::Numbers(numbers) if numbers.first() == Some(&0) => Err(Gap::NotSupported),
            Output::Numbers(numbers) => {
                let position = position(&memory_fields(answer.sym)).ok_or(Gap::SymbolAbsent)?;
                let n = *numbers.get(position).ok_or(Gap::Malformed)?;
                let total = *numbers.first().ok_or(Gap::Malformed)?;
                if n > total || total > MAX_MEMORY {
                    return Err(Gap::Implausible);
                }
                Ok(Bytes(n))
            }
            _ => Err(Gap::Malformed),
        })
    };
    let no_counter = Reading::missing(Gap::NoCounter, DeviceAnswers::provenance(call, answers.now));
    let mut used = field(|fields| Some(fields.used));
    if let (Reading::Known(measured), Ok(answer)) = (&mut used, (answers.get)(call))
        && memory_fields(answer.value.sym).reserved.is_none()
    {
        measured.from.counter = "GetMemoryInfo v1, with what the driver reserves";
    }
    DeviceMemory {
        total: field(|_| Some(0)),
        free: field(|fields| Some(fields.free)),
        reserved: field(|fields| fields.reserved),
        attributed: Total::nothing(),
        unattributed: Reading::missing(
            Gap::InputMissing,
            Provenance {
                source: Source::Derived,
                counter: "used - attributed",
                at: answers.now,
            },
        ),
        used,
        shared_total: no_counter,
        shared_used: no_counter,
    }
}

/// While it rests, what the kernel says. NVML answers for a device only while it is powered, so an answer is the measurement.
fn power_state(state: &DeviceState, now: Stamp) -> Reading<Measured<PowerState>> {
    let from = |at| Provenance {
        source: Source::Nvml,
        counter: "DeviceGetHandleByIndex",
        at,
    };
    let kernel = Provenance {
        source: Source::Sysfs,
        counter: "power/runtime_status",
        at: now,
    };
    match state.rest {
        Some(Resting::Asleep) => return Reading::measured(PowerState::Suspended, kernel),
        Some(Resting::Unknown) => return Reading::missing(Gap::PowerUnknown, kernel),
        Some(Resting::Idle | Resting::Waking) => {
            return Reading::measured(PowerState::Active, kernel);
        }
        None => {}
    }
    match &state.handle {
        Some(Ok(handle)) if handle.value.rc == code::SUCCESS => {
            Reading::measured(PowerState::Active, from(handle.at))
        }
        Some(Ok(handle)) => Reading::missing(reason(handle.value.rc), from(handle.at)),
        Some(Err(gap)) => Reading::missing(*gap, from(now)),
        None => Reading::missing(Gap::Pending, from(now)),
    }
}

/// `failure`: what the driver answers in place of the number of devices.
fn counter_status(state: &DeviceState, failure: Option<i32>, now: Stamp) -> String {
    match (state.rest, failure) {
        (Some(Resting::Asleep), _) => return "asleep".to_owned(),
        (Some(Resting::Unknown), _) => return crate::rest::UNTOLD.to_owned(),
        (Some(Resting::Waking), _) => return "awake, not read yet".to_owned(),
        (_, Some(rc)) => {
            let words = format!("the driver fails: {}", failed(rc));
            return match state.read_ms_ago(now) {
                Some(ms) => format!("{words}; last readings {} s ago", ms / 1000),
                None => words,
            };
        }
        (Some(Resting::Idle), None) => {
            return format!(
                "idle, may sleep: no process that can be seen uses it, read every {} s so that reading does not keep it awake",
                crate::rest::IDLE_NS / 1_000_000_000
            );
        }
        (None, None) => {}
    }
    if state.hangs {
        return match state.read_ms_ago(now) {
            Some(ms) => {
                let seconds = ms / 1000;
                format!("the device does not answer; last readings {seconds} s ago")
            }
            None => "the device does not answer".to_owned(),
        };
    }
    match &state.handle {
        Some(Ok(handle)) if handle.value.rc == code::SUCCESS => {
            if state.in_mig_mode() {
                "ok; MIG mode, no load per process".to_owned()
            } else {
                "ok".to_owned()
            }
        }
        Some(Ok(handle)) => format!("no answers: {}", reason(handle.value.rc).sentence()),
        Some(Err(gap)) => format!("no answers: {}", gap.sentence()),
        None => "not asked yet".to_owned(),
    }
}
