//! A device.

use model::{
    Device, DeviceMemory, Estimated, Gap, Percent, PowerState, Reading, Sensor, Stamp, Text,
};

use super::provenance::{Traces, gone};
use super::{mig, v1};

pub(super) fn device(now: Stamp, device: &Device) -> v1::Device {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    v1::Device {
        index: device.index,
        driver_index: match device.driver_index {
            Some(index) => Some(index),
            None => t.absent("driver_index", Gap::NotApplicable),
        },
        vendor: device.vendor.id(),
        name: t.measured("name", &device.name, Clone::clone),
        uuid: t.measured("uuid", &device.uuid, Clone::clone),
        pci: t.measured("pci", &device.pci, ToString::to_string),
        luid: t.not_read("luid"),
        driver: t.measured("driver", &device.driver, Clone::clone),
        cuda: t.measured("cuda", &device.cuda, Clone::clone),
        kind: device.kind.id(),
        kind_evidence: kind_evidence(t, device),
        virtualization: t.measured("virtualization", &device.virtualization, |it| it.id()),
        may_suspend: t.measured("may_suspend", &device.may_suspend, |may| *may),
        power_state: t.measured("power_state", &device.power_state, |state| match state {
            PowerState::Active => "active",
            PowerState::Suspended => "suspended",
        }),
        memory: memory(t, &device.memory),
        gpu_pct: t.number("gpu_pct", &device.gpu, |share| share.0),
        memory_activity_pct: t.number("memory_activity_pct", &device.memory_activity, |share| {
            share.0
        }),
        encoder_pct: t.number("encoder_pct", &device.encoder, |share| share.0),
        decoder_pct: t.number("decoder_pct", &device.decoder, |share| share.0),
        jpeg_pct: t.number("jpeg_pct", &device.jpeg, |share| share.0),
        ofa_pct: t.number("ofa_pct", &device.ofa, |share| share.0),
        core_clock_mhz: t.measured("core_clock_mhz", &device.core_clock, |clock| clock.0),
        memory_clock_mhz: t.measured("memory_clock_mhz", &device.memory_clock, |clock| clock.0),
        video_clock_mhz: t.measured("video_clock_mhz", &device.video_clock, |clock| clock.0),
        temperature_celsius: t.number("temperature_celsius", &device.temperature, |at| at.0),
        power_watts: t.number("power_watts", &device.power, |power| power.0),
        power_limit_watts: t.number("power_limit_watts", &device.power_limit, |power| power.0),
        fan_pct: t.number("fan_pct", &device.fan, |share| share.0),
        pcie_rx_bytes_per_s: t.measured("pcie_rx_bytes_per_s", &device.pcie_rx, |rate| rate.0),
        pcie_tx_bytes_per_s: t.measured("pcie_tx_bytes_per_s", &device.pcie_tx, |rate| rate.0),
        pcie_gen: t.measured("pcie_gen", &device.pcie_generation, |generation| {
            *generation
        }),
        pcie_width: t.measured("pcie_width", &device.pcie_width, |lanes| *lanes),
        performance_state: t.measured("performance_state", &device.performance_state, |state| {
            *state
        }),
        details: super::device_details::details(t, now, &device.details),
        mig: mig::mig(t, now, device),
        counter_status: device.counter_status.clone(),
        counter_adapter_matched: t.absent("counter_adapter_matched", Gap::NotApplicable),
        sensors: device.sensors.iter().map(|it| sensor(now, it)).collect(),
        engines_at_least: device
            .visible_loads
            .iter()
            .map(|(name, load)| at_least(now, name, load))
            .collect(),
        categories: categories(t, device),
        categories_normalized: device.categories_normalized,
        provenance: traces.finish(),
    }
}

fn kind_evidence(t: &mut Traces, device: &Device) -> Option<&'static str> {
    match device.kind_evidence {
        Some(evidence) => Some(evidence),
        None => t.absent("kind_evidence", Gap::NotFound),
    }
}

fn sensor(now: Stamp, sensor: &Sensor) -> v1::Sensor {
    let mut traces = Traces::new(now);
    v1::Sensor {
        id: sensor.id,
        unit: sensor.unit.id(),
        value: traces.number("value", &sensor.value, |value| *value),
        provenance: traces.finish(),
    }
}

fn at_least(now: Stamp, name: &Text, load: &Reading<Estimated<Percent>>) -> v1::NamedEngine {
    let mut traces = Traces::new(now);
    v1::NamedEngine {
        id: Text::clone(name),
        load_pct: traces.share_at_least("load_pct", load),
        provenance: traces.finish(),
    }
}

pub(super) fn entry(now: Stamp, device: &Device) -> v1::GpuEntry {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    v1::GpuEntry {
        index: device.index,
        vendor: device.vendor.id(),
        name: t.measured("name", &device.name, Clone::clone),
        uuid: t.measured("uuid", &device.uuid, Clone::clone),
        pci: t.measured("pci", &device.pci, ToString::to_string),
        driver: t.measured("driver", &device.driver, Clone::clone),
        kind: device.kind.id(),
        kind_evidence: kind_evidence(t, device),
        virtualization: t.measured("virtualization", &device.virtualization, |it| it.id()),
        vram_total_bytes: t.bytes("vram_total_bytes", &device.memory.total),
        instances: mig::entries(t, now, device),
        provenance: traces.finish(),
    }
}

fn memory(t: &mut Traces, memory: &DeviceMemory) -> v1::DeviceMemory {
    v1::DeviceMemory {
        vram_total_bytes: t.bytes("memory.vram_total_bytes", &memory.total),
        vram_used_bytes: t.bytes("memory.vram_used_bytes", &memory.used),
        vram_free_bytes: t.bytes("memory.vram_free_bytes", &memory.free),
        vram_reserved_bytes: t.bytes("memory.vram_reserved_bytes", &memory.reserved),
        vram_attributed_bytes: attributed(t, memory),
        vram_unattributed_bytes: t.derived(
            "memory.vram_unattributed_bytes",
            &memory.unattributed,
            bound_of_rest(memory),
        ),
        shared_total_bytes: t.bytes("memory.shared_total_bytes", &memory.shared_total),
        shared_used_bytes: t.bytes("memory.shared_used_bytes", &memory.shared_used),
    }
}

/// The sum of the rows. No row at all is a zero only where the collector could compute the rest:
/// otherwise the lists themselves are missing.
fn attributed(t: &mut Traces, memory: &DeviceMemory) -> Option<u64> {
    let key = "memory.vram_attributed_bytes";
    let rows = memory.attributed;
    match &memory.unattributed {
        Reading::Missing(missing) if rows.counted == 0 && rows.missing == 0 => {
            t.enter(key, gone(missing));
            None
        }
        _ => t.total(key, rows),
    }
}

/// What is in no row still holds the rows without a size, and so bounds the true rest from above.
fn bound_of_rest(memory: &DeviceMemory) -> Option<&'static str> {
    (!memory.attributed.is_complete()).then_some("upper")
}

/// The categories, and at their end what is in no row.
fn categories(t: &mut Traces, device: &Device) -> Vec<v1::CategoryBytes> {
    let mut categories: Vec<v1::CategoryBytes> = device
        .categories
        .iter()
        .map(|share| {
            let category = share.category.id();
            let key = format!("categories.{category}.vram_bytes");
            v1::CategoryBytes {
                category,
                vram_bytes: t.total(key, share.memory),
            }
        })
        .collect();
    categories.push(v1::CategoryBytes {
        category: "unattributed",
        vram_bytes: t.derived(
            "categories.unattributed.vram_bytes",
            &device.memory.unattributed,
            bound_of_rest(&device.memory),
        ),
    });
    categories
}
