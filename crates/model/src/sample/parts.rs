//! The parts that samples are put together from.

use crate::device::{
    CategoryShare, Device, DeviceKind, DeviceMemory, PowerState, Vendor, Virtualization,
};
use crate::gap::Gap;
use crate::ids::{DeviceKey, PciAddress, PidSpace, ProcessKey, Stamp};
use crate::process::{
    Charge, ChargedBytes, ChargedPercent, DriverLists, Engines, Process, ProcessMemory, Runtime,
};
use crate::reading::{
    Estimated, InferenceBasis, Inferred, Measured, Method, Missing, Provenance, Reading, Source,
    Total,
};
use crate::snapshot::{
    HostFacts, Mode, Notice, Origin, OriginKind, PidNamespace, ProcessStatus, ScanState, Selection,
    Severity, Snapshot, SourceState, SourceStatus,
};
use crate::units::{Bytes, BytesPerSecond, Celsius, Megahertz, Percent, Watts};
use crate::workload::Category;

/// The moment of every sample: 2026-11-30 14:02:33.120 UTC, 1000 s after the machine's start.
pub const AT: Stamp = Stamp {
    mono_ns: 1_000_000_000_000,
    wall_us: 1_796_047_353_120_000,
};

pub(super) const COMPUTE: DriverLists = lists(true, false);
pub(super) const GRAPHICS: DriverLists = lists(false, true);
pub(super) const BOTH: DriverLists = lists(true, true);

pub(super) const fn lists(compute: bool, graphics: bool) -> DriverLists {
    DriverLists {
        compute,
        graphics,
        mps: false,
    }
}

/// The moment `ms` milliseconds before [`AT`].
pub const fn ago(ms: u32) -> Stamp {
    Stamp {
        mono_ns: AT.mono_ns - ms as u64 * 1_000_000,
        wall_us: AT.wall_us - ms as i64 * 1000,
    }
}

pub(super) const fn from(source: Source, counter: &'static str) -> Provenance {
    let at = ago(3);
    Provenance {
        source,
        counter,
        at,
    }
}

pub(super) const fn nvml<T>(value: T, counter: &'static str) -> Reading<Measured<T>> {
    Reading::Known(Measured {
        value,
        from: from(Source::Nvml, counter),
    })
}

pub(super) const fn gone<C>(gap: Gap, source: Source, counter: &'static str) -> Reading<C> {
    Reading::Missing(Missing {
        gap,
        from: from(source, counter),
    })
}

/// A GPU of an invented machine: everything readable, except the two things NVML has no call for.
pub(super) fn device(index: u8, name: &str, total: u64, used: u64) -> Device {
    let pci = PciAddress {
        domain: 0,
        bus: index.saturating_mul(0x20).saturating_add(1),
        device: 0,
        function: 0,
    };
    let uuid = format!("GPU-00000000-0000-4000-8000-{index:012}");
    let memory = "nvmlDeviceGetMemoryInfo_v2";
    Device {
        driver_index: Some(u32::from(index)),
        index: u32::from(index),
        key: DeviceKey::Pci(pci),
        vendor: Vendor::Nvidia,
        name: nvml(name.into(), "nvmlDeviceGetName"),
        uuid: nvml(uuid.into(), "nvmlDeviceGetUUID"),
        pci: nvml(pci, "nvmlDeviceGetPciInfo_v3"),
        driver: nvml("580.82.09".into(), "nvmlSystemGetDriverVersion"),
        cuda: nvml("13.0".into(), "nvmlSystemGetCudaDriverVersion_v2"),
        kind: DeviceKind::Discrete,
        kind_evidence: Some("nvmlDeviceGetMemoryInfo"),
        virtualization: nvml(Virtualization::None, "nvmlDeviceGetVirtualizationMode"),
        may_suspend: Reading::measured(false, from(Source::Sysfs, "power/control")),
        power_state: Reading::measured(
            PowerState::Active,
            from(Source::Sysfs, "power/runtime_status"),
        ),
        memory: DeviceMemory {
            total: nvml(Bytes::mib(total), memory),
            used: nvml(Bytes::mib(used), memory),
            free: nvml(Bytes::mib(total.saturating_sub(used + 401)), memory),
            reserved: nvml(Bytes::mib(401), memory),
            attributed: Total::nothing(),
            unattributed: gone(Gap::InputMissing, Source::Derived, "used - attributed"),
            shared_total: gone(Gap::NoCounter, Source::Nvml, "shared memory"),
            shared_used: gone(Gap::NoCounter, Source::Nvml, "shared memory"),
        },
        gpu: nvml(Percent(97.0), "nvmlDeviceGetUtilizationRates.gpu"),
        memory_activity: nvml(Percent(61.0), "nvmlDeviceGetUtilizationRates.memory"),
        encoder: nvml(Percent(0.0), "nvmlDeviceGetEncoderUtilization"),
        decoder: gone(
            Gap::NotSupported,
            Source::Nvml,
            "nvmlDeviceGetDecoderUtilization",
        ),
        jpeg: nvml(Percent(0.0), "nvmlDeviceGetJpgUtilization"),
        ofa: gone(
            Gap::NotSupported,
            Source::Nvml,
            "nvmlDeviceGetOfaUtilization",
        ),
        core_clock: nvml(Megahertz(2610), "nvmlDeviceGetClockInfo(GRAPHICS)"),
        memory_clock: nvml(Megahertz(11501), "nvmlDeviceGetClockInfo(MEM)"),
        video_clock: nvml(Megahertz(1950), "nvmlDeviceGetClockInfo(VIDEO)"),
        temperature: nvml(Celsius(71.0), "nvmlDeviceGetTemperature"),
        power: nvml(Watts::from_milliwatts(286_125), "nvmlDeviceGetPowerUsage"),
        power_limit: nvml(Watts(320.0), "nvmlDeviceGetEnforcedPowerLimit"),
        fan: nvml(Percent(45.0), "nvmlDeviceGetFanSpeed"),
        pcie_rx: nvml(
            BytesPerSecond(1_200_000_000),
            "nvmlDeviceGetPcieThroughput(RX)",
        ),
        pcie_tx: nvml(
            BytesPerSecond(84_000_000),
            "nvmlDeviceGetPcieThroughput(TX)",
        ),
        pcie_generation: nvml(4, "nvmlDeviceGetCurrPcieLinkGeneration"),
        pcie_width: nvml(16, "nvmlDeviceGetCurrPcieLinkWidth"),
        performance_state: nvml(2, "nvmlDeviceGetPerformanceState"),
        sensors: Vec::new(),
        visible_loads: Vec::new(),
        details: super::details::workstation(),
        mig: gone(Gap::NotSupported, Source::Nvml, "nvmlDeviceGetMigMode"),
        instances: Vec::new(),
        instances_missing: None,
        categories: Vec::new(),
        categories_normalized: false,
        counter_status: "ok".into(),
    }
}

pub(super) fn charge(
    device_index: u32,
    lists: DriverLists,
    vram: Reading<ChargedBytes>,
    sm: f64,
) -> Charge {
    let samples = "nvmlDeviceGetProcessUtilization";
    Charge {
        device_index,
        lists,
        memory: ProcessMemory {
            vram,
            spill: gone(Gap::NoCounter, Source::Nvml, "shared memory"),
            commit: gone(Gap::NoCounter, Source::Nvml, "committed memory"),
            paged: gone(Gap::InputMissing, Source::Derived, "commit - vram - spill"),
        },
        engines: Engines {
            busiest: load(Percent(sm), samples),
            graphics: gone(Gap::NoCounter, Source::Nvml, "graphics engine"),
            compute: load(Percent(sm), samples),
            memory: load(Percent((sm / 2.0).floor()), samples),
            copy: gone(Gap::NoCounter, Source::Nvml, "copy engine"),
            encode: load(Percent(0.0), samples),
            decode: load(Percent(0.0), samples),
            jpeg: load(Percent(0.0), samples),
            ofa: load(Percent(0.0), samples),
            video: gone(Gap::NotApplicable, Source::Nvml, "video engine"),
        },
        instance: None,
        drm: None,
    }
}

pub(super) const fn load(value: Percent, counter: &'static str) -> Reading<ChargedPercent> {
    Reading::owned(value, from(Source::Nvml, counter))
}

pub(super) const LISTED: &str = "nvmlDeviceGetComputeRunningProcesses_v3";

pub(super) const fn owned(mib: u64) -> Reading<ChargedBytes> {
    Reading::Known(ChargedBytes::Measured(Measured {
        value: Bytes::mib(mib),
        from: from(Source::Nvml, LISTED),
    }))
}

pub(super) const fn matched(mib: u64, basis: InferenceBasis) -> Reading<ChargedBytes> {
    Reading::Known(ChargedBytes::Inferred(Inferred {
        value: Bytes::mib(mib),
        from: from(Source::Nvml, LISTED),
        basis,
    }))
}

pub(super) fn process(
    pid: u32,
    name: &str,
    category: Category,
    reason: &'static str,
    on: Charge,
) -> Process {
    fn read<T>(value: T, file: &'static str) -> Reading<Measured<T>> {
        Reading::measured(value, from(Source::Proc, file))
    }
    Process {
        key: ProcessKey {
            space: PidSpace::Local,
            pid,
            start_ticks: Some(u64::from(pid) * 2),
        },
        pid_match: None,
        name: read(name.into(), "comm"),
        exe: read(format!("/usr/bin/{name}").into(), "exe"),
        user: read("ml".into(), "status"),
        command_line: read(vec![name.into()], "cmdline"),
        parent: read(1, "stat"),
        started: read(AT.wall_us - i64::from(pid) * 10_000, "stat"),
        ports: read(Vec::new(), "net/tcp"),
        container: read(None, "cgroup"),
        category,
        category_reason: reason,
        runtimes: read(Vec::new(), "maps"),
        charges: vec![on],
        models: Vec::new(),
        segments_reported: Vec::new(),
        segments_estimated: Vec::new(),
        receipts: Vec::new(),
        server: None,
        server_unasked: None,
        models_unread: None,
    }
}

impl Process {
    pub(super) fn with_runtimes(mut self, runtimes: &[(&'static str, &str)]) -> Self {
        let runtimes = runtimes.iter().map(|&(name, library)| Runtime {
            name,
            library: library.into(),
        });
        self.runtimes = Reading::measured(runtimes.collect(), from(Source::Proc, "maps"));
        self
    }

    /// Nothing of it can be read but what the driver says.
    pub(super) fn unreadable(mut self, gap: Gap) -> Self {
        self.key.start_ticks = None;
        self.name = gone(gap, Source::Proc, "comm");
        self.exe = gone(gap, Source::Proc, "exe");
        self.user = gone(gap, Source::Proc, "status");
        self.command_line = gone(gap, Source::Proc, "cmdline");
        self.parent = gone(gap, Source::Proc, "stat");
        self.started = gone(gap, Source::Proc, "stat");
        self.ports = gone(gap, Source::Proc, "net/tcp");
        self.container = gone(gap, Source::Proc, "cgroup");
        self.runtimes = gone(gap, Source::Proc, "maps");
        self
    }
}

pub(super) fn source(
    id: &'static str,
    state: SourceState,
    detail: &str,
    hint: Option<&str>,
) -> SourceStatus {
    SourceStatus {
        id,
        state,
        detail: detail.into(),
        hint: hint.map(Into::into),
    }
}

/// Puts devices and processes together and sums what may be summed, as the collector does.
pub(super) fn snapshot(mut devices: Vec<Device>, mut processes: Vec<Process>) -> Snapshot {
    let size = |charge: &Charge| charge.memory.vram.known().map(ChargedBytes::value);
    let measured = |charge: &Charge| charge.memory.vram.known().and_then(ChargedBytes::measured);
    processes.sort_by_key(|process| {
        let largest = process.charges.iter().filter_map(size).max();
        (std::cmp::Reverse(largest), process.key)
    });
    let mut all = Total::nothing();
    for charge in processes.iter().flat_map(|process| &process.charges) {
        if charge.memory.has_no_vram() {
            continue;
        }
        if charge
            .memory
            .vram
            .known()
            .is_none_or(|known| known.basis().is_none())
        {
            all.include(measured(charge));
        }
    }
    for device in &mut devices {
        let mut attributed = Total::nothing();
        let mut shares: Vec<CategoryShare> = Vec::new();
        for process in &processes {
            let Some(charge) = process.charge_on(device.index) else {
                continue;
            };
            if charge.memory.has_no_vram() {
                continue;
            }
            attributed.include(size(charge));
            if charge
                .memory
                .vram
                .known()
                .is_some_and(|known| known.basis().is_some())
            {
                continue;
            }
            let category = process.category;
            if let Some(share) = shares.iter_mut().find(|share| share.category == category) {
                share.memory.include(measured(charge));
            } else {
                let mut memory = Total::nothing();
                memory.include(measured(charge));
                shares.push(CategoryShare { category, memory });
            }
        }
        shares.sort_by_key(|share| (std::cmp::Reverse(share.memory.known), share.category));
        device.memory.attributed = attributed;
        device.categories = shares;
        if let Some(used) = device.memory.used.value() {
            let rest = Bytes(used.0.saturating_sub(attributed.known.0));
            device.memory.unattributed = Reading::Known(Estimated {
                low: rest,
                high: rest,
                method: Method::Derived,
                from: from(Source::Derived, "used - attributed"),
            });
        }
    }
    Snapshot {
        tick: 5,
        at: AT,
        sample_ms: 1000,
        origin: Origin {
            kind: OriginKind::Synthetic,
            note: Some("made by hand for tests".into()),
        },
        mode: Mode::NativeLinux,
        host: HostFacts {
            os: "linux".into(),
            kernel: Some("6.8.0".into()),
            name: Some("example".into()),
            pid_namespace: PidNamespace::Initial,
            privileged: Some(false),
        },
        sources: vec![source(
            "nvml",
            SourceState::Ok,
            "libnvidia-ml.so.1, driver 580.82.09",
            None,
        )],
        process_status: ProcessStatus {
            listed: u32::try_from(processes.len()).unwrap_or(u32::MAX),
            unreadable: 0,
            hidden: 0,
            scan: ScanState::Complete,
        },
        selection: Selection::All,
        devices,
        processes,
        measured_process_vram: all,
        notices: Vec::new(),
        pending: false,
    }
}

pub(super) fn notice(code: &'static str, severity: Severity, subject: &str, text: &str) -> Notice {
    Notice {
        code,
        severity,
        subject: subject.into(),
        text: text.into(),
    }
}
