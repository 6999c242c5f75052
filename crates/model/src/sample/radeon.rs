//! Devices that are read through the kernel's DRM.

use super::parts::{charge, device, from, gone, process, snapshot, source};
use crate::device::{DeviceKind, Sensor, SensorUnit, Vendor};
use crate::gap::Gap;
use crate::kfd::{KfdFigures, KfdStanding};
use crate::process::{Charge, ChargedBytes, ChargedPercent, DriverLists, DrmClients, DrmRegion};
use crate::reading::{Estimated, Measured, Method, Missing, Reading, Source};
use crate::snapshot::{Snapshot, SourceState};
use crate::units::{Bytes, Percent};
use crate::workload::Category;

const VRAM: &str = "drm-resident-vram";
const ENGINES: &str = "drm-engine-*";

/// A card of AMD with a game that was pushed out of its memory, a compositor on the display node, a `ROCm` process whose
/// work is not timed, and one whose client another process holds too; and a processor of Intel with graphics.
pub fn radeon() -> Snapshot {
    let mut card = device(0, "AMD Radeon RX 7900 XTX", 24_560, 11_000);
    card.vendor = Vendor::Amd;
    card.kind_evidence = Some("mem_busy_percent");
    card.cuda = gone(Gap::NotApplicable, Source::Sysfs, "CUDA is NVIDIA's");
    card.uuid = gone(Gap::NotApplicable, Source::Sysfs, "no UUID");
    card.driver = read("amdgpu".into(), "DRIVER of uevent");
    card.encoder = gone(Gap::NoCounter, Source::Sysfs, "no file of amdgpu");
    card.decoder = card.encoder;
    card.memory.shared_total = read(Bytes::mib(16_000), "mem_info_gtt_total");
    card.memory.shared_used = read(Bytes::mib(900), "mem_info_gtt_used");
    card.sensors = vec![
        sensor(
            "temperature_junction",
            "junction",
            SensorUnit::Celsius,
            Ok(84.0),
        ),
        sensor("fan_speed", "fan", SensorUnit::TurnsPerMinute, Ok(1120.0)),
        sensor(
            "video_engine",
            "video engine",
            SensorUnit::Percent,
            Err(Gap::NotSupported),
        ),
    ];
    let mut processor = device(1, "Intel Graphics", 0, 0);
    processor.vendor = Vendor::Intel;
    processor.kind = DeviceKind::Integrated;
    processor.kind_evidence = Some("PCI address 0000:00:02.0");
    processor.cuda = gone(Gap::NotApplicable, Source::Sysfs, "CUDA is NVIDIA's");
    processor.driver = read("i915".into(), "DRIVER of uevent");
    for reading in [
        &mut processor.memory.total,
        &mut processor.memory.used,
        &mut processor.memory.free,
        &mut processor.memory.reserved,
    ] {
        *reading = gone(Gap::NoCounter, Source::Sysfs, "no file");
    }
    let mut game = row(0, Ok(6000), Ok(640));
    with(&mut game, |drm| {
        drm.displaced = derived(2100, 2100);
        let share = Reading::measured(Percent(3.0), from(Source::Fdinfo, ENGINES));
        drm.other_engines = vec![("vpe".into(), share)];
    });
    let mut compositor = row(0, Err(Gap::PrimaryNode), Err(Gap::PrimaryNode));
    with(&mut compositor, |drm| {
        drm.clients = 3;
        drm.reasons = vec![Gap::PrimaryNode, Gap::SharedBuffers];
        drm.vram_resident = read(Bytes::mib(310), VRAM);
        drm.vram_bounds = derived(221, 310);
    });
    let mut trainer = row(0, Ok(3950), Ok(64));
    trainer.engines.busiest = load(Err(Gap::Kfd));
    trainer.engines.graphics = trainer.engines.busiest;
    trainer.engines.compute = trainer.engines.busiest;
    with(&mut trainer, |drm| {
        drm.kfd = Some(KfdFigures {
            vram: kfd(Bytes::mib(3800), "vram"),
            copy: kfd(Percent(4.0), "sdma"),
            evicted_ms: kfd(0, "stats/evicted_ms"),
            occupied_units: gone(Gap::NotPresent, Source::Kfd, "stats/cu_occupancy"),
            standing: KfdStanding::InClients,
        });
    });
    let mut twice = row(0, Err(Gap::SharedClient), Err(Gap::SharedClient));
    let unknown = load(Err(Gap::SharedClient));
    let engines = &mut twice.engines;
    (engines.busiest, engines.graphics, engines.compute) = (unknown, unknown, unknown);
    (engines.copy, engines.video) = (unknown, unknown);
    with(&mut twice, |drm| {
        drm.reasons = vec![Gap::SharedClient];
        drm.shared_with = vec![4401];
    });
    let mut page = row(1, Err(Gap::NoCounter), Ok(96));
    with(&mut page, |drm| drm.kind = DeviceKind::Integrated);
    let mut it = snapshot(
        vec![card, processor],
        vec![
            process(
                2100,
                "game.x86_64",
                Category::Graphics3d,
                "graphics_load",
                game,
            ),
            process(
                1881,
                "kwin_wayland",
                Category::Desktop,
                "process_name",
                compositor,
            ),
            process(3300, "python3", Category::Ai, "ai_runtime", trainer),
            process(4400, "wl-mirror", Category::Other, "no_rule", twice),
            process(5120, "firefox", Category::Browser, "process_name", page),
        ],
    );
    it.sources = vec![
        source(
            "nvml",
            SourceState::Absent,
            "no NVIDIA driver library",
            None,
        ),
        source(
            "drm.fdinfo",
            SourceState::Ok,
            "0000:01:00.0 (amdgpu), 0000:21:00.0 (i915); 5 processes have them open",
            None,
        ),
    ];
    it
}

const fn read<T>(value: T, counter: &'static str) -> Reading<Measured<T>> {
    Reading::measured(value, from(Source::Sysfs, counter))
}

const fn kfd<T>(value: T, counter: &'static str) -> Reading<Measured<T>> {
    Reading::measured(value, from(Source::Kfd, counter))
}

fn sensor(
    id: &'static str,
    label: &'static str,
    unit: SensorUnit,
    value: Result<f64, Gap>,
) -> Sensor {
    let value = match value {
        Ok(value) => read(value, "hwmon"),
        Err(gap) => gone(gap, Source::Sysfs, "gpu_metrics"),
    };
    Sensor {
        id,
        label,
        unit,
        value,
    }
}

fn load(share: Result<f64, Gap>) -> Reading<ChargedPercent> {
    match share {
        Ok(share) => Reading::owned(Percent(share), from(Source::Fdinfo, ENGINES)),
        Err(gap) => gone(gap, Source::Fdinfo, ENGINES),
    }
}

const fn derived(low: u64, high: u64) -> Reading<Estimated<Bytes>> {
    Reading::Known(Estimated {
        low: Bytes::mib(low),
        high: Bytes::mib(high),
        method: Method::Derived,
        from: from(Source::Derived, VRAM),
    })
}

fn with(charge: &mut Charge, change: impl FnOnce(&mut DrmClients)) {
    if let Some(drm) = &mut charge.drm {
        change(drm);
    }
}

/// A process on a device with this much in device memory and in system memory, MiB.
fn row(device_index: u32, vram: Result<u64, Gap>, system: Result<u64, Gap>) -> Charge {
    let size = |mib, counter| match mib {
        Ok(mib) => Reading::Known(ChargedBytes::Measured(Measured {
            value: Bytes::mib(mib),
            from: from(Source::Fdinfo, counter),
        })),
        Err(gap) => gone(gap, Source::Fdinfo, counter),
    };
    let reference = |mib: Result<u64, Gap>| match mib {
        Ok(mib) => Reading::measured(Bytes::mib(mib), from(Source::Fdinfo, VRAM)),
        Err(gap) => gone(gap, Source::Fdinfo, VRAM),
    };
    let mut it = charge(device_index, DriverLists::default(), size(vram, VRAM), 0.0);
    it.memory.spill = size(system, "drm-resident-gtt");
    let engines = &mut it.engines;
    engines.busiest = load(Ok(31.0));
    engines.graphics = load(Ok(31.0));
    engines.compute = load(Ok(0.0));
    engines.copy = load(Ok(2.0));
    engines.video = load(Ok(12.0));
    engines.memory = load(Err(Gap::NoCounter));
    engines.encode = load(Err(Gap::SharedEngine));
    engines.decode = load(Err(Gap::SharedEngine));
    engines.jpeg = load(Ok(0.0));
    engines.ofa = load(Err(Gap::NoCounter));
    let nothing = |gap, counter| {
        Reading::Missing(Missing {
            gap,
            from: from(Source::Derived, counter),
        })
    };
    it.drm = Some(Box::new(DrmClients {
        clients: 1,
        kind: DeviceKind::Discrete,
        shared_with: Vec::new(),
        reasons: Vec::new(),
        vram_resident: reference(vram),
        system_resident: reference(system),
        vram_bounds: nothing(Gap::NotApplicable, "resident - shared"),
        displaced: nothing(Gap::NoCounter, "drm-total-vram"),
        other_engines: Vec::new(),
        regions: vec![DrmRegion {
            name: "gtt".into(),
            total: reference(system),
            shared: gone(Gap::Legacy, Source::Fdinfo, "drm-shared-*"),
            resident: reference(system),
        }],
        kfd: None,
    }));
    it
}
