//! On which devices llama.cpp puts weights and caches.
//!
//! Rules of llama.cpp b11434 (October 2026), checked against its logs for a CPU (with mapped, copied and repacked
//! weights) and for one, two and three Vulkan devices, a software renderer each, with none, some and all layers on them,
//! November 2026. From its source alone are unequal ratios (`-ts`), `-sm` other than `layer`, and patterns (`-ot`).
//!
//! * [`Offload`] is what decides, with "not known" for each of it; [`Layout`] is the device of each layer.
//! * [`place`] puts the weights there: per device, what is repacked, and the span of the file that stays mapped.
//! * [`cache()`] does so for keys, values and states.
//! * [`read_mapping`] goes the other way: from what is still mapped to how many layers are on GPUs.

mod cache;
mod device;
mod mapping;
mod offload;
mod overrides;
mod plan;
mod repack;

pub use cache::{CachePlan, cache};
pub use device::{Devices, Home, MAX_GPUS};
pub use mapping::{Mapping, NotReadable, read_mapping};
pub use offload::{Layout, Offload, Split, SplitMode};
pub use overrides::{MAX_OVERRIDES, MAX_PATTERN_BYTES, Overrides};
pub use plan::{WeightPlan, place};
pub use repack::Repack;
