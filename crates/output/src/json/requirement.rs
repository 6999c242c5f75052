//! The documents of `inspect` and `fit`.

use model::inspection::{self as from, Free, IdleLoad, Largest, Sum, Verdict};
use model::{Gap, Reading, Snapshot, Source, Stamp};

use super::bundle::{sources, tool};
use super::memory_part::{self, Place};
use super::provenance::Traces;
use super::v1::{self, FIT_SCHEMA, INSPECT_SCHEMA, SCHEMA_VERSION, Trace};
use crate::format;

/// The document of `inspect`.
pub(super) fn inspect(it: &from::Inspection) -> v1::InspectDocument {
    v1::InspectDocument {
        schema: INSPECT_SCHEMA,
        schema_version: SCHEMA_VERSION,
        tool: tool(),
        inspection: inspection(it),
    }
}

/// The document of `fit`, beside the snapshot that told what is free.
pub(super) fn fit(it: &from::Fit, now: &Snapshot) -> v1::FitDocument {
    let mut traces = Traces::new(now.at);
    let timestamp = timestamp(&mut traces, now.at);
    let sources = sources(&now.sources, &mut traces);
    v1::FitDocument {
        schema: FIT_SCHEMA,
        schema_version: SCHEMA_VERSION,
        tool: tool(),
        timestamp,
        inspection: inspection(&it.inspection),
        devices: it.devices.iter().map(|one| device(now.at, one)).collect(),
        sources,
        provenance: traces.finish(),
    }
}

fn timestamp(t: &mut Traces, at: Stamp) -> Option<String> {
    format::utc_millis(at.wall_us).or_else(|| t.absent("timestamp", Gap::Implausible))
}

fn inspection(it: &from::Inspection) -> v1::Inspection {
    let mut traces = Traces::new(it.at);
    v1::Inspection {
        timestamp: timestamp(&mut traces, it.at),
        model: model(it),
        settings: it
            .settings
            .iter()
            .map(|one| v1::Setting {
                name: one.name,
                value: one.value.clone(),
                given: one.given,
            })
            .collect(),
        assumptions: it.assumptions(),
        remarks: it.remarks.clone(),
        need: need(it.at, &it.need),
        contexts: it.contexts.iter().map(|one| need(it.at, one)).collect(),
        provenance: traces.finish(),
    }
}

fn model(it: &from::Inspection) -> v1::InspectedModel {
    let mut traces = Traces::new(it.at);
    let t = &mut traces;
    let model = &it.model;
    v1::InspectedModel {
        name: model.name.clone(),
        path: model
            .path
            .value()
            .cloned()
            .or_else(|| t.absent("path", Gap::NotFound)),
        format: model.format,
        size_on_disk_bytes: t.bytes("size_on_disk_bytes", &model.size_on_disk),
        architecture: t.measured("architecture", &model.architecture, Clone::clone),
        quantization: t.measured("quantization", &model.quantization, Clone::clone),
        parameters: t.measured("parameters", &model.parameters, |number| *number),
        layers: t.measured("layers", &model.layers, |number| *number),
        context_trained: t.measured("context_trained", &model.context_trained, |it| *it),
        kind: model.kind.id(),
        truncated: it.truncated,
        files: it
            .files
            .iter()
            .map(|file| {
                let mut traces = Traces::new(it.at);
                v1::File {
                    path: file.path.clone(),
                    size_bytes: traces.bytes("size_bytes", &file.size),
                    provenance: traces.finish(),
                }
            })
            .collect(),
        provenance: traces.finish(),
    }
}

fn need(now: Stamp, it: &from::Need) -> v1::Need {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    let (gpu_low, gpu_high) = summed(t, ["gpu_low_bytes", "gpu_high_bytes"], it.on_device());
    let cpu = it.in_system_memory();
    let (cpu_low, cpu_high) = summed(t, ["cpu_low_bytes", "cpu_high_bytes"], cpu);
    let mut made = |key, value: Option<u64>| match value {
        Some(value) => {
            t.enter(
                key,
                Trace {
                    method: Some("derived"),
                    counter: Some("rules of llama.cpp"),
                    ..Trace::new("estimated", Source::Program.id())
                },
            );
            Some(value)
        }
        None => t.absent(key, Gap::NotApplicable),
    };
    let effective = it.effective;
    let allocated = made("context_allocated", effective.map(|made| made.context));
    let per_slot = made("context_per_slot", effective.map(|made| made.per_slot));
    let batch = made("batch", effective.map(|made| made.batch));
    let context = match it.context {
        Some(tokens) => {
            t.enter(
                "context",
                Trace {
                    method: Some("given"),
                    ..Trace::new("estimated", Source::Program.id())
                },
            );
            Some(tokens)
        }
        None => t.absent("context", Gap::NotApplicable),
    };
    v1::Need {
        context,
        context_allocated: allocated,
        context_per_slot: per_slot,
        batch,
        parts: it
            .parts
            .iter()
            .map(|part| memory_part::estimated(now, Place::UNKNOWN, part))
            .collect(),
        gpu_low_bytes: gpu_low,
        gpu_high_bytes: gpu_high,
        cpu_low_bytes: cpu_low,
        cpu_high_bytes: cpu_high,
        parts_missing: it.missing(),
        class: "estimated",
        provenance: traces.finish(),
    }
}

/// Both ends of a sum of estimates; with a part missing there is no upper one.
fn summed(t: &mut Traces, keys: [&'static str; 2], sum: Sum) -> (u64, Option<u64>) {
    let [low, high] = keys;
    let bound = |end| Trace {
        method: Some("gguf"),
        counter: Some("sum of parts"),
        bound: Some(end),
        ..Trace::new("estimated", Source::Gguf.id())
    };
    t.enter(low, bound("lower"));
    let most = match sum.gap {
        Some(gap) => t.absent(high, gap),
        None => {
            t.enter(high, bound("upper"));
            Some(sum.high.0)
        }
    };
    (sum.low.0, most)
}

fn device(now: Stamp, it: &from::DeviceFit) -> v1::DeviceFit {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    let free = match &it.free {
        Reading::Known(Free::Measured(free)) => t.bytes("vram_free_bytes", &Reading::Known(*free)),
        Reading::Known(Free::Derived(free)) => {
            t.derived("vram_free_bytes", &Reading::Known(*free), None)
        }
        Reading::Missing(missing) => t.absent("vram_free_bytes", missing.gap),
    };
    for (key, bound) in [
        ("overhead_low_bytes", "lower"),
        ("overhead_high_bytes", "upper"),
    ] {
        t.enter(
            key,
            Trace {
                method: Some("reports"),
                bound: Some(bound),
                detail: Some(it.overhead.source.to_owned()),
                ..Trace::new("estimated", Source::Program.id())
            },
        );
    }
    let unknown = it.free.gap().unwrap_or(Gap::InputMissing);
    let least = it.spare.and_then(|spare| spare.least);
    let most = it.spare.map(|spare| spare.most);
    let mut computed = |key, counter| {
        t.enter(
            key,
            Trace {
                method: Some("derived"),
                counter: Some(counter),
                ..Trace::new("estimated", Source::Derived.id())
            },
        );
    };
    if least.is_some() {
        computed("spare_low_bytes", "free - needed");
    }
    if most.is_some() {
        computed("spare_high_bytes", "free - needed");
    }
    if it.largest.is_ok() {
        computed("largest_context_sure", "contexts tried");
        computed("largest_context_maybe", "contexts tried");
        computed("largest_context_tried", "contexts tried");
    }
    let largest = |get: fn(Largest) -> u64| it.largest.ok().map(get);
    let no_context = it.largest.err().unwrap_or(Gap::NotApplicable);
    v1::DeviceFit {
        index: it.device_index,
        name: t.measured("name", &it.name, Clone::clone),
        vram_free_bytes: free,
        overhead_low_bytes: it.overhead.low.0,
        overhead_high_bytes: it.overhead.high.0,
        verdict: it.verdict.id(),
        spare_low_bytes: least.or_else(|| t.absent("spare_low_bytes", unknown)),
        spare_high_bytes: most.or_else(|| t.absent("spare_high_bytes", unknown)),
        largest_context_sure: largest(|it| it.sure)
            .or_else(|| t.absent("largest_context_sure", no_context)),
        largest_context_maybe: largest(|it| it.maybe)
            .or_else(|| t.absent("largest_context_maybe", no_context)),
        largest_context_tried: largest(|it| it.tried)
            .or_else(|| t.absent("largest_context_tried", no_context)),
        unload: it.unload.iter().map(|one| unload(now, one)).collect(),
        verdict_after_unload: it
            .after_unload
            .map(Verdict::id)
            .or_else(|| t.absent("verdict_after_unload", Gap::NotApplicable)),
        provenance: traces.finish(),
    }
}

fn unload(now: Stamp, it: &from::Unload) -> v1::Unload {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    v1::Unload {
        process: it.process.to_string(),
        name: it.name.clone().or_else(|| t.absent("name", Gap::NotFound)),
        models: it.models.clone(),
        vram_bytes: it.holds.value.0,
        server_state: it.state.id(),
        load_zero_of: match it.load {
            IdleLoad::Unknown(gap) => t.absent("load_zero_of", gap),
            load => load.id(),
        },
        provenance: {
            t.bytes("vram_bytes", &Reading::Known(it.holds));
            traces.finish()
        },
    }
}
