//! The settings that decide which layer is where.

use crate::limits::MAX_LAYERS;

use super::device::{Home, MAX_GPUS};
use super::overrides::Overrides;
use super::repack::Repack;

/// How layers are shared out over several GPUs (`-ts`).
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Split {
    /// Not known. Without `-ts` it is by the memory that was free on each GPU when the model was loaded, which the
    /// log tells ("using device CUDA0 … 15221 MiB free").
    #[default]
    Unknown,
    /// By these ratios, one a GPU in order; missing ones are 0. For the default, the free memory of each.
    Shares(Vec<f32>),
}

/// What is shared out over several GPUs (`-sm`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitMode {
    /// Whole layers; the default.
    #[default]
    Layer,
    /// Nothing: one GPU has everything (`-sm none`).
    None,
    /// The rows of each matrix (`-sm row`); caches are on the main GPU.
    Row,
    /// Every tensor (`-sm tensor`), caches too.
    Tensor,
    /// Not known.
    Unknown,
}

/// What is known of how a program offloads a model.
#[derive(Debug, Clone, Default)]
pub struct Offload {
    /// How many GPUs it uses. 0 for a program without a GPU backend. Where that is not known, 1: the sums over all
    /// GPUs are right then, but for tables that exist once on each (at most a few KiB).
    pub gpus: u32,
    /// `-ngl`, which counts the output as one more layer; `None` if not known. Without the flag a server chooses.
    pub gpu_layers: Option<u64>,
    /// `-ts`.
    pub split: Split,
    /// `-sm`.
    pub mode: SplitMode,
    /// `-mg`: the GPU that has everything with `-sm none`, and the caches with `-sm row`.
    pub main_gpu: u32,
    /// `-ot`, `--cpu-moe` and `--n-cpu-moe`, in the order of the command line.
    pub overrides: Overrides,
    /// Whether caches and states are in system memory (`--no-kv-offload`).
    pub kv_on_cpu: bool,
    /// Whether weights on the CPU are stored in another order, as a second copy.
    pub repack: Repack,
    /// Whether weights in system memory go to memory that a GPU backend has pinned, where none are repacked. They do
    /// with CUDA, HIP, Vulkan and SYCL, even if no layer is on a GPU, but for `--no-host`; not with Metal. Seen in
    /// logs of the Vulkan build. `None`: not known; without a GPU it does not matter.
    pub pinned: Option<bool>,
    /// Whether the layers for multi-token prediction (`nextn_predict_layers`) are used. `None`: not known. Only where
    /// they are is it known that their weights are loaded.
    pub prediction: Option<bool>,
}

/// The device of each layer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// By layer from the first, those for multi-token prediction included.
    pub layers: Vec<Home>,
    /// That of the output matrix and of the norm before it.
    pub output: Home,
}

impl Layout {
    /// The layout of a model with so many layers, those for multi-token prediction included.
    pub fn of(layers: u64, offload: &Offload) -> Self {
        let layers = layers.min(MAX_LAYERS);
        let shares = offload.cumulative_shares();
        Self {
            layers: (0..layers)
                .map(|layer| offload.home(layer, layers, shares.as_deref()))
                .collect(),
            output: offload.home(layers, layers, shares.as_deref()),
        }
    }

    /// The device of layer `number`; layers beyond the last one are nowhere known.
    pub fn layer(&self, number: u64) -> Home {
        usize::try_from(number)
            .ok()
            .and_then(|number| self.layers.get(number))
            .copied()
            .unwrap_or(Home::Unknown)
    }
}

impl Offload {
    /// The device of layer `layer` of `layers`; the output is layer `layers`.
    fn home(&self, layer: u64, layers: u64, shares: Option<&[f32]>) -> Home {
        if self.gpus == 0 {
            return Home::Cpu;
        }
        let Some(gpu_layers) = self.gpu_layers else {
            return Home::Unknown;
        };
        let all = layers.saturating_add(1);
        let first = all.saturating_sub(gpu_layers);
        if layer < first {
            return Home::Cpu;
        }
        match self.mode {
            _ if self.gpus == 1 => Home::Gpu(0),
            SplitMode::None if self.main_gpu < self.gpus => Home::Gpu(self.main_gpu),
            SplitMode::Layer => shares
                .and_then(|shares| {
                    device_of(layer.saturating_sub(first), gpu_layers.min(all), shares)
                })
                .map_or(Home::SomeGpu, Home::Gpu),
            _ => Home::SomeGpu,
        }
    }

    /// Where the caches of a layer are whose weights are at `layer`.
    pub(crate) fn cache_home(&self, layer: Home) -> Home {
        match layer {
            _ if self.kv_on_cpu => Home::Cpu,
            Home::Gpu(_) | Home::SomeGpu
                if self.mode == SplitMode::Row && self.main_gpu < self.gpus =>
            {
                Home::Gpu(self.main_gpu)
            }
            home => home,
        }
    }

    /// The sum of the shares up to each GPU, of all shares; `None` if they are not known or no ratios.
    pub(crate) fn cumulative_shares(&self) -> Option<Vec<f32>> {
        let Split::Shares(shares) = &self.split else {
            return None;
        };
        let usable = |share: &f32| share.is_finite() && *share >= 0.0;
        if !shares.iter().all(usable) {
            return None;
        }
        let gpus = usize::try_from(self.gpus.min(MAX_GPUS)).ok()?;
        let mut sum = 0.0_f32;
        let mut reached: Vec<f32> = shares
            .iter()
            .copied()
            .chain(std::iter::repeat(0.0))
            .take(gpus)
            .map(|share| {
                sum += share;
                sum
            })
            .collect();
        if !(sum > 0.0 && sum.is_finite()) {
            return None;
        }
        for share in &mut reached {
            *share /= sum;
        }
        Some(reached)
    }
}

/// The GPU of the `place`th of `count` layers on GPUs: the first whose cumulative share is above the layer's place.
/// In single precision, as llama.cpp does it, so that ties fall alike.
fn device_of(place: u64, count: u64, shares: &[f32]) -> Option<u32> {
    let number = |count: u64| u16::try_from(count).ok().map(f32::from);
    let place = number(place)? / number(count)?;
    let gpu = shares.iter().position(|share| *share > place)?;
    u32::try_from(gpu).ok()
}
