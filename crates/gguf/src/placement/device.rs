//! Devices, and bytes on each of them.

use crate::range::Range;

/// GPUs that are told apart; llama.cpp itself stops at 16.
pub const MAX_GPUS: u32 = 64;

/// Where something lies, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// In system memory.
    Cpu,
    /// On one GPU, by its place in the program's own list (`CUDA0`, `CUDA1`, …).
    Gpu(u32),
    /// On a GPU, but not known on which.
    SomeGpu,
    /// In system memory or on a GPU.
    Unknown,
}

/// Bytes on each device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Devices {
    /// By GPU, in the program's own order. Where it is not known which GPU has something, its upper bound counts on
    /// each, so that these do not add up to `gpu`.
    pub gpus: Vec<Range>,
    /// On all GPUs together.
    pub gpu: Range,
    /// In system memory.
    pub cpu: Range,
}

impl Devices {
    pub(crate) fn new(gpus: u32) -> Self {
        Self {
            gpus: (0..gpus.min(MAX_GPUS)).map(|_| Range::exact(0)).collect(),
            gpu: Range::exact(0),
            cpu: Range::exact(0),
        }
    }

    /// Adds `bytes` that lie at `home`.
    pub(crate) fn add(&mut self, home: Home, bytes: Range) {
        let either = Range::between(0, bytes.high);
        match home {
            Home::Cpu => self.cpu = self.cpu.plus(bytes),
            Home::Gpu(number) => match self.slot(number) {
                Some(gpu) => {
                    *gpu = gpu.plus(bytes);
                    self.gpu = self.gpu.plus(bytes);
                }
                None => self.add(Home::Unknown, bytes),
            },
            Home::SomeGpu => {
                let only = self.gpus.len() == 1;
                self.each(if only { bytes } else { either });
                self.gpu = self.gpu.plus(bytes);
            }
            Home::Unknown => {
                self.each(either);
                self.gpu = self.gpu.plus(either);
                self.cpu = self.cpu.plus(either);
            }
        }
    }

    /// Adds `bytes` to one GPU without adding them to the sum of all.
    pub(crate) fn add_part(&mut self, number: u32, bytes: Range) {
        if let Some(gpu) = self.slot(number) {
            *gpu = gpu.plus(bytes);
        }
    }

    /// Narrows what was added up from parts to what the `whole` of them can be. The bounds of parts are of different
    /// choices of settings, so that their sums are of none.
    pub(crate) fn within(&mut self, whole: Range) {
        for range in self.gpus.iter_mut().chain([&mut self.gpu, &mut self.cpu]) {
            range.high = range.high.min(whole.high);
        }
        // What is not on one side is on the other.
        let (gpu, cpu) = (self.gpu, self.cpu);
        let rest = |other: Range| whole.low.saturating_sub(other.high);
        self.gpu.low = gpu.low.max(rest(cpu)).min(gpu.high);
        self.cpu.low = cpu.low.max(rest(gpu)).min(cpu.high);
        if let [only] = self.gpus.as_mut_slice() {
            *only = self.gpu;
        }
    }

    fn each(&mut self, bytes: Range) {
        for gpu in &mut self.gpus {
            *gpu = gpu.plus(bytes);
        }
    }

    fn slot(&mut self, number: u32) -> Option<&mut Range> {
        self.gpus.get_mut(usize::try_from(number).ok()?)
    }
}
