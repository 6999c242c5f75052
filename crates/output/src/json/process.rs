//! A process and what it has on each device.

use model::{
    Charge, ChargedBytes, ContainerName, DrmClients, DrmRegion, Engines, Gap, KfdFigures, PidMark,
    PidSpace, Process, Reading, Snapshot, Stamp, Text,
};

use super::memory_part::{self, Place};
use super::provenance::{Traces, basis_id};
use super::v1::{self, Trace};
use super::workload;
use crate::{format, shown};

pub(super) fn process(from: &Snapshot, process: &Process) -> v1::Process {
    let now = from.at;
    let mut traces = Traces::new(now);
    let t = &mut traces;
    let place = Place::of(process);
    let (pid, pid_namespace, foreign_pid) = numbers(t, process);
    v1::Process {
        pid,
        pid_namespace,
        foreign_pid,
        start_time: start_time(t, process),
        pid_match: pid_match(t, process),
        name: t.measured("name", &process.name, Clone::clone),
        exe: t.measured("exe", &process.exe, Clone::clone),
        user: t.measured("user", &process.user, Clone::clone),
        command_line: t.measured("command_line", &process.command_line, Clone::clone),
        parent_pid: t.measured("parent_pid", &process.parent, |pid| *pid),
        ports: t.measured("ports", &process.ports, Clone::clone),
        container: container(t, process, now),
        category: process.category.id(),
        category_reason: process.category_reason,
        runtimes: t.measured("runtimes", &process.runtimes, |runtimes| {
            runtimes
                .iter()
                .map(|runtime| v1::Runtime {
                    name: runtime.name,
                    library: runtime.library.clone(),
                })
                .collect()
        }),
        devices: devices(t, from, process),
        models: workload::models_of(t, process)
            .models
            .iter()
            .map(|model| workload::model(now, model))
            .collect(),
        segments_reported: process
            .segments_reported
            .iter()
            .map(|part| memory_part::reported(now, place, part))
            .collect(),
        segments_estimated: process
            .segments_estimated
            .iter()
            .map(|part| memory_part::estimated(now, place, part))
            .collect(),
        receipt: memory_part::receipt(t, from, process),
        receipts: memory_part::receipts(from, process),
        server: workload::server(t, now, process),
        provenance: traces.finish(),
    }
}

fn devices(t: &mut Traces, from: &Snapshot, process: &Process) -> Vec<v1::Charge> {
    if process.charges.is_empty() {
        let _: Option<()> = t.absent("devices", Gap::NotListed);
    }
    shown::charges(from.selection, process)
        .map(|on| charge(from.at, on))
        .collect()
}

/// The number here, its namespace, and the driver's number where that is another.
fn numbers(t: &mut Traces, process: &Process) -> (Option<u32>, &'static str, Option<u32>) {
    match process.key.space {
        PidSpace::Local => {
            let foreign = process.pid_match.map(|entry| entry.foreign_pid);
            let foreign = foreign.or_else(|| t.absent("foreign_pid", Gap::NotApplicable));
            (Some(process.key.pid), "local", foreign)
        }
        PidSpace::Host => (
            t.absent("pid", Gap::OutsideNamespace),
            "host",
            Some(process.key.pid),
        ),
    }
}

fn start_time(t: &mut Traces, process: &Process) -> Option<String> {
    let key = "start_time";
    match &process.started {
        Reading::Known(started) => match format::utc_millis(started.value) {
            Some(text) => t.measured(key, &process.started, |_| text),
            None => t.absent(key, Gap::Implausible),
        },
        Reading::Missing(_) => t.measured(key, &process.started, |_| String::new()),
    }
}

fn pid_match(t: &mut Traces, process: &Process) -> Option<v1::PidMatch> {
    let Some(entry) = process.pid_match else {
        return t.absent("pid_match", Gap::NotApplicable);
    };
    Some(v1::PidMatch {
        mark: mark(entry.why.mark()),
        why: entry.why.code(),
    })
}

fn container(t: &mut Traces, process: &Process, now: Stamp) -> Option<v1::Container> {
    if let Reading::Known(read) = &process.container
        && read.value.is_none()
    {
        // Looked, and it is in none: known, but there is nothing to show.
        let trace = Trace {
            counter: Some(read.from.counter),
            age_ms: Some(now.ms_since(read.from.at)),
            reason: Some(Gap::NotPresent.code()),
            ..Trace::new("measured", read.from.source.id())
        };
        t.enter("container", trace);
        return None;
    }
    let container = t.measured("container", &process.container, Clone::clone)??;
    let name = t.measured("container.name", &container.name, |it| it.name.clone());
    let mut of_pod = |key, part: fn(&ContainerName) -> &Option<Text>| match &container.name {
        Reading::Known(known) => {
            let text = part(&known.value).clone();
            text.or_else(|| t.absent(key, Gap::NotApplicable))
        }
        Reading::Missing(missing) => t.absent(key, missing.gap),
    };
    let pod_name = of_pod("container.pod_name", |it| &it.pod);
    let pod_namespace = of_pod("container.pod_namespace", |it| &it.namespace);
    let pod_uid = container.pod_uid;
    Some(v1::Container {
        runtime: container.runtime,
        id: container.id,
        name,
        pod_name,
        pod_namespace,
        pod_uid: pod_uid.or_else(|| t.absent("container.pod_uid", Gap::NotApplicable)),
    })
}

fn charge(now: Stamp, charge: &Charge) -> v1::Charge {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    let lists = charge.lists;
    let vram = charge.memory.vram.known();
    let basis = vram.and_then(ChargedBytes::basis);
    v1::Charge {
        device_index: charge.device_index,
        lists: [
            (lists.compute, "compute"),
            (lists.graphics, "graphics"),
            (lists.mps, "mps"),
        ]
        .into_iter()
        .filter_map(|(on, name)| on.then_some(name))
        .collect(),
        mig_instance: match charge.instance {
            Some((gpu, compute)) => Some(v1::Instance { gpu, compute }),
            None => t.absent("mig_instance", Gap::NotApplicable),
        },
        memory: memory(t, charge),
        engines: engines(t, &charge.engines),
        vram_inferred_by: match basis {
            Some(basis) => Some(basis_id(basis)),
            None => t.absent("vram_inferred_by", Gap::NotApplicable),
        },
        vram_mark: match basis {
            Some(basis) => Some(mark(basis.mark())),
            None => t.absent("vram_mark", Gap::NotApplicable),
        },
        vram_unattributed_reason: match charge.memory.vram.gap() {
            Some(gap) => Some(gap.code()),
            None => t.absent("vram_unattributed_reason", Gap::NotApplicable),
        },
        drm: match charge.drm.as_deref() {
            Some(drm) => Some(clients(now, drm)),
            None => t.absent("drm", Gap::NotApplicable),
        },
        provenance: traces.finish(),
    }
}

/// The sign of how sure a match is.
pub(crate) const fn mark(mark: PidMark) -> &'static str {
    match mark {
        PidMark::Sure => "*",
        PidMark::Guess => "?",
    }
}

fn memory(t: &mut Traces, charge: &Charge) -> v1::ChargeMemory {
    let memory = &charge.memory;
    let drm = charge.drm.as_deref();
    v1::ChargeMemory {
        vram_bytes: t.charged("memory.vram_bytes", &memory.vram).map(|it| it.0),
        spill_bytes: t
            .charged("memory.spill_bytes", &memory.spill)
            .map(|it| it.0),
        commit_bytes: t.bytes("memory.commit_bytes", &memory.commit),
        paged_bytes: t.derived("memory.paged_bytes", &memory.paged, None),
        vram_resident_bytes: match drm {
            Some(drm) => t.bytes("memory.vram_resident_bytes", &drm.vram_resident),
            None => t.not_read("memory.vram_resident_bytes"),
        },
        gtt_resident_bytes: match drm {
            Some(drm) => t.bytes("memory.gtt_resident_bytes", &drm.system_resident),
            None => t.not_read("memory.gtt_resident_bytes"),
        },
    }
}

fn clients(now: Stamp, drm: &DrmClients) -> v1::DrmClients {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    v1::DrmClients {
        clients: drm.clients,
        system_memory_role: drm.kind.system_memory_role(),
        shared_with_pids: drm.shared_with.clone(),
        vram_unattributed_all: drm.reasons.iter().map(|gap| gap.code()).collect(),
        vram_at_least_bytes: t.at_least("vram_at_least_bytes", &drm.vram_bounds),
        displaced_vram_bytes: t.derived("displaced_vram_bytes", &drm.displaced, None),
        other_engines: drm
            .other_engines
            .iter()
            .map(|(name, load)| {
                let mut traces = Traces::new(now);
                v1::NamedEngine {
                    id: name.clone(),
                    load_pct: traces.number("load_pct", load, |share| share.0),
                    provenance: traces.finish(),
                }
            })
            .collect(),
        regions: drm.regions.iter().map(|it| region(now, it)).collect(),
        kfd: match &drm.kfd {
            Some(figures) => Some(kfd(now, figures)),
            None => t.absent("kfd", Gap::NotPresent),
        },
        provenance: traces.finish(),
    }
}

fn region(now: Stamp, region: &DrmRegion) -> v1::DrmRegion {
    let mut traces = Traces::new(now);
    v1::DrmRegion {
        id: Text::clone(&region.name),
        total_bytes: traces.bytes("total_bytes", &region.total),
        shared_bytes: traces.bytes("shared_bytes", &region.shared),
        resident_bytes: traces.bytes("resident_bytes", &region.resident),
        provenance: traces.finish(),
    }
}

fn kfd(now: Stamp, figures: &KfdFigures) -> v1::Kfd {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    v1::Kfd {
        vram_bytes: t.bytes("vram_bytes", &figures.vram),
        copy_pct: t.number("copy_pct", &figures.copy, |share| share.0),
        evicted_ms: t.measured("evicted_ms", &figures.evicted_ms, |ms| *ms),
        charged: figures.standing.is_charged(),
        uncharged_reason: if figures.standing.is_charged() {
            t.absent("uncharged_reason", Gap::NotApplicable)
        } else {
            Some(figures.standing.id())
        },
        rule: figures.standing.sentence(),
        occupied_units: t.measured("occupied_units", &figures.occupied_units, |units| *units),
        provenance: traces.finish(),
    }
}

fn engines(t: &mut Traces, engines: &Engines) -> v1::Engines {
    v1::Engines {
        gpu_pct: t.load("engines.gpu_pct", &engines.busiest),
        graphics_pct: t.load("engines.graphics_pct", &engines.graphics),
        compute_pct: t.load("engines.compute_pct", &engines.compute),
        memory_pct: t.load("engines.memory_pct", &engines.memory),
        copy_pct: t.load("engines.copy_pct", &engines.copy),
        encode_pct: t.load("engines.encode_pct", &engines.encode),
        decode_pct: t.load("engines.decode_pct", &engines.decode),
        jpeg_pct: t.load("engines.jpeg_pct", &engines.jpeg),
        ofa_pct: t.load("engines.ofa_pct", &engines.ofa),
        video_pct: t.load("engines.video_pct", &engines.video),
    }
}
