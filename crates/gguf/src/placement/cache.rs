//! Caches and states on devices.

use crate::kv::{CacheKind, KvEstimate};
use crate::range::Range;

use super::device::Devices;
use super::offload::{Layout, Offload};

/// Where the caches and states of a context are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CachePlan {
    /// Bytes of all of them, by device.
    pub devices: Devices,
    /// Bytes of each kind, in the order of [`KvEstimate::parts`]; llama.cpp logs a line for each kind and device.
    pub parts: Vec<(CacheKind, Devices)>,
}

/// Puts each layer's caches on the layer's device; all in system memory with `--no-kv-offload`, and those of GPUs on
/// the main one with `-sm row`.
pub fn cache(estimate: &KvEstimate, offload: &Offload) -> CachePlan {
    let count = u64::try_from(estimate.layers.len()).unwrap_or(u64::MAX);
    let layout = Layout::of(count, offload);
    let placed = |layers: &[Range], whole: Range| {
        let mut devices = Devices::new(offload.gpus);
        for (number, bytes) in (0_u64..).zip(layers) {
            devices.add(offload.cache_home(layout.layer(number)), *bytes);
        }
        devices.within(whole);
        devices
    };
    CachePlan {
        devices: placed(&estimate.layers, estimate.range()),
        parts: estimate
            .parts
            .iter()
            .map(|part| (part.kind, placed(&part.by_layer, part.bytes)))
            .collect(),
    }
}
