//! A hybrid model that nobody has loaded, in three parts of which one is missing, and two devices that it is weighed
//! against.

use super::models::{estimate, model};
use super::parts::{AT, from, gone, nvml};
use crate::gap::Gap;
use crate::ids::{PidSpace, ProcessKey};
use crate::inspection::{
    DeviceFit, Effective, Fit, Free, IdleLoad, Inspection, Largest, ModelPart, Need, Overhead,
    Setting, Spare, Unload, Verdict,
};
use crate::reading::{Measured, Reading, Source};
use crate::units::Bytes;
use crate::workload::{Placement, SegmentKind, ServerState};

fn need(context: u64) -> Need {
    let mib = |n: u64| n << 20;
    let cache = mib(context / 16);
    let mut weights = estimate(SegmentKind::Weights, mib(8192), mib(8192), Placement::Gpu);
    weights.inputs = vec![("gpu_layers", "all".into())];
    let mut projector = estimate(SegmentKind::Compute, 0, 0, Placement::Unknown);
    projector.bytes = gone(Gap::UnknownArchitecture, Source::Gguf, "header");
    projector.inputs = vec![("why", "no rule for the buffers of this architecture".into())];
    let mut kv = estimate(SegmentKind::Kv, cache, cache, Placement::Gpu);
    kv.inputs = vec![(
        "assumed",
        "one layer in 6 has no sliding window, by default".into(),
    )];
    Need {
        context: Some(context),
        effective: Some(Effective {
            context: context.next_multiple_of(512),
            per_slot: context.div_ceil(2).next_multiple_of(256),
            batch: 512,
        }),
        parts: vec![
            weights,
            estimate(SegmentKind::Weights, mib(288), mib(288), Placement::Cpu),
            kv,
            estimate(SegmentKind::State, mib(147), mib(147), Placement::Gpu),
            projector,
        ],
    }
}

/// What the model needs.
pub fn inspection() -> Inspection {
    let part = |name: &str, size: Option<u64>| ModelPart {
        path: format!("/models/{name}").into(),
        size: size.map_or_else(
            || gone(Gap::NotPresent, Source::Proc, "st_size"),
            |mib| Reading::measured(Bytes::mib(mib), from(Source::Proc, "st_size")),
        ),
    };
    let one = |name, value: &str, given| Setting {
        name,
        value: value.into(),
        given,
    };
    let mut hybrid = model("m1", "Granite-4.0-H-Small", &[]);
    hybrid.size_on_disk = gone(Gap::InputMissing, Source::Proc, "st_size");
    Inspection {
        at: AT,
        model: hybrid,
        files: vec![
            part("granite-00001-of-00003.gguf", Some(4096)),
            part("granite-00002-of-00003.gguf", None),
            part("granite-00003-of-00003.gguf", Some(4096)),
        ],
        unread: 0,
        truncated: true,
        settings: vec![
            one("context", "16384", false),
            one("parallel", "2", true),
            one("kv-type-k", "q8_0", true),
            one("flash-attn", "on", false),
        ],
        need: need(16_384),
        contexts: [4096, 8192, 16_384].map(need).to_vec(),
        remarks: vec!["a slot has more room than the model was trained with".into()],
    }
}

/// Whether it fits on two devices, of which one does not tell its free memory.
pub fn fit() -> Fit {
    let overhead = Overhead {
        low: Bytes::mib(150),
        high: Bytes::mib(600),
        source: "reported sizes of CUDA contexts",
    };
    let counter = "nvmlDeviceGetMemoryInfo_v2";
    let full = DeviceFit {
        device_index: 0,
        name: nvml("NVIDIA GeForce RTX 4090".into(), "nvmlDeviceGetName"),
        free: Reading::Known(Free::Measured(Measured {
            value: Bytes::mib(3000),
            from: from(Source::Nvml, counter),
        })),
        overhead,
        verdict: Verdict::DoesNotFit,
        spare: Some(Spare {
            least: None,
            most: -(6513 << 20),
        }),
        largest: Ok(Largest {
            sure: 0,
            maybe: 0,
            tried: 1 << 24,
            trained: Some(81_920),
        }),
        holders: 2,
        unload: vec![Unload {
            process: ProcessKey {
                space: PidSpace::Local,
                pid: 41_822,
                start_ticks: None,
            },
            name: Some("llama-server".into()),
            models: vec!["Qwen3-14B".into()],
            holds: Measured {
                value: Bytes::mib(9340),
                from: from(Source::Nvml, "nvmlDeviceGetComputeRunningProcesses_v3"),
            },
            state: ServerState::Sleeping,
            load: IdleLoad::Process,
        }],
        after_unload: Some(Verdict::MayFit),
    };
    let silent = DeviceFit {
        device_index: 1,
        name: gone(Gap::GpuLost, Source::Nvml, "nvmlDeviceGetName"),
        free: gone(Gap::GpuLost, Source::Nvml, counter),
        verdict: Verdict::Unknown(Gap::GpuLost),
        spare: None,
        largest: Err(Gap::GpuLost),
        holders: 0,
        unload: Vec::new(),
        after_unload: None,
        ..full.clone()
    };
    Fit {
        inspection: inspection(),
        devices: vec![full, silent],
    }
}
