//! MIG mode and instances of a device.

use model::{Device, Gap, MigInstance, Reading, Stamp};

use super::provenance::{Traces, gone};
use super::v1;

/// Null, with the reason, where the device knows no MIG and where it cannot be told.
pub(super) fn mig(t: &mut Traces, now: Stamp, device: &Device) -> Option<v1::Mig> {
    if let Reading::Missing(missing) = &device.mig
        && device.instances.is_empty()
    {
        t.enter("mig", gone(missing));
        return None;
    }
    if let Some(missing) = &device.instances_missing {
        t.enter("mig.instances", gone(missing));
    }
    Some(v1::Mig {
        enabled: t.measured("mig.enabled", &device.mig, |mode| mode.enabled),
        pending: t.measured("mig.pending", &device.mig, |mode| mode.pending),
        instances: device
            .instances
            .iter()
            .map(|it| instance(now, it))
            .collect(),
    })
}

fn instance(now: Stamp, it: &MigInstance) -> v1::MigInstance {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    let parts = &it.attributes;
    v1::MigInstance {
        index: it.slot,
        gpu_instance: t.measured("gpu_instance", &it.gpu_instance, |id| *id),
        compute_instance: t.measured("compute_instance", &it.compute_instance, |id| *id),
        name: t.measured("name", &it.name, Clone::clone),
        uuid: t.measured("uuid", &it.uuid, Clone::clone),
        memory: v1::MigMemory {
            vram_total_bytes: t.bytes("memory.vram_total_bytes", &it.memory.total),
            vram_used_bytes: t.bytes("memory.vram_used_bytes", &it.memory.used),
            vram_free_bytes: t.bytes("memory.vram_free_bytes", &it.memory.free),
            vram_reserved_bytes: t.bytes("memory.vram_reserved_bytes", &it.memory.reserved),
            vram_attributed_bytes: t.total("memory.vram_attributed_bytes", it.attributed),
        },
        gpu_pct: t.number("gpu_pct", &it.gpu, |share| share.0),
        listed: match it.processes() {
            Some(count) => Some(count),
            None => t.absent("listed", Gap::InputMissing),
        },
        attributes: v1::MigAttributes {
            gpu_slices: t.measured("attributes.gpu_slices", parts, |it| it.gpu_slices),
            compute_slices: t.measured("attributes.compute_slices", parts, |it| it.compute_slices),
            multiprocessors: t
                .measured("attributes.multiprocessors", parts, |it| it.multiprocessors),
            copy_engines: t.measured("attributes.copy_engines", parts, |it| it.copy_engines),
            decoders: t.measured("attributes.decoders", parts, |it| it.decoders),
            encoders: t.measured("attributes.encoders", parts, |it| it.encoders),
            jpeg_engines: t.measured("attributes.jpeg_engines", parts, |it| it.jpeg_engines),
            ofa_engines: t.measured("attributes.ofa_engines", parts, |it| it.ofa_engines),
            memory_bytes: t.measured("attributes.memory_bytes", parts, |it| it.memory.0),
        },
        provenance: traces.finish(),
    }
}

/// The instances in a list of devices: who they are and how large.
pub(super) fn entries(t: &mut Traces, now: Stamp, device: &Device) -> Vec<v1::MigEntry> {
    if let Some(missing) = &device.instances_missing
        && device.in_mig_mode()
    {
        t.enter("instances", gone(missing));
    }
    let all = device.instances.iter();
    all.map(|it| {
        let mut traces = Traces::new(now);
        let t = &mut traces;
        v1::MigEntry {
            index: it.slot,
            gpu_instance: t.measured("gpu_instance", &it.gpu_instance, |id| *id),
            compute_instance: t.measured("compute_instance", &it.compute_instance, |id| *id),
            name: t.measured("name", &it.name, Clone::clone),
            uuid: t.measured("uuid", &it.uuid, Clone::clone),
            vram_total_bytes: t.bytes("vram_total_bytes", &it.memory.total),
            provenance: traces.finish(),
        }
    })
    .collect()
}
