//! Weights on devices.

use crate::header::Header;
use crate::range::Range;
use crate::role::{Role, role};
use crate::tensor::{Tensor, TensorType};
use crate::weights::Weights;

use super::device::{Devices, Home};
use super::offload::{Layout, Offload, SplitMode};

/// Where the weights of a model are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WeightPlan {
    /// Bytes of tensors by device. In system memory each tensor counts once, mapped, copied or repacked.
    pub devices: Devices,
    /// Those in system memory that are repacked: memory of the process, where others are only mapped.
    pub repacked: Range,
    /// By file of the model, bytes from the first to the last tensor that the CPU reads from the file. With mapped
    /// loading that is what stays mapped, and what is logged as `CPU_Mapped model buffer size`: one span that may
    /// hold tensors of GPUs and repacked ones, so that it is no part of a sum.
    pub mapped: Vec<Range>,
    /// Bytes that alignment can add on GPUs at most, beside `devices`: 256 a tensor, and with CUDA what fills the
    /// last row of a quantized matrix to 512 elements.
    pub padding: u64,
    /// The device of each layer.
    pub layout: Layout,
}

/// Bytes tensors are aligned to on a device at most: 128 with CUDA, up to 256 with Vulkan.
const DEVICE_ALIGNMENT: u64 = 256;

/// Elements rows of quantized matrices are filled up to with CUDA.
const CUDA_ROW_ELEMENTS: u64 = 512;

/// Rows by which a share of a matrix may be rounded with `-sm row`.
const ROW_ROUNDING: u64 = 128;

/// Puts the weights of a model, whose files are given from the first on, on devices.
pub fn place<'a>(parts: impl IntoIterator<Item = &'a Header>, offload: &Offload) -> WeightPlan {
    let parts: Vec<&Header> = parts.into_iter().collect();
    let first = parts.first();
    let layers = first.and_then(|header| header.block_count()).unwrap_or(0);
    let prediction = first
        .and_then(|header| header.u64("nextn_predict_layers"))
        .unwrap_or(0);
    let tensors = parts.iter().fold(0_u64, |sum, header| {
        sum.saturating_add(u64::try_from(header.tensors.len()).unwrap_or(u64::MAX))
    });
    let mut placer = Placer {
        offload,
        layout: Layout::of(layers, offload),
        architecture: first.and_then(|header| header.architecture()),
        trunk: layers.saturating_sub(prediction),
        tied: Weights::of_parts(parts.iter().copied()).tied,
        gives_up: offload.overrides.too_many_for(tensors),
        shares: offload.cumulative_shares(),
        devices: Devices::new(offload.gpus),
        repacked: Range::exact(0),
        padding: 0,
    };
    let mapped = parts
        .iter()
        .map(|header| {
            let mut span = Span::default();
            for tensor in &header.tensors {
                placer.tensor(tensor, &mut span);
            }
            span.range()
        })
        .collect();
    WeightPlan {
        devices: placer.devices,
        repacked: placer.repacked,
        mapped,
        padding: placer.padding,
        layout: placer.layout,
    }
}

struct Placer<'a> {
    offload: &'a Offload,
    layout: Layout,
    architecture: Option<&'a str>,
    /// Layers before those for multi-token prediction.
    trunk: u64,
    tied: bool,
    /// Whether there are too many overrides to compare.
    gives_up: bool,
    shares: Option<Vec<f32>>,
    devices: Devices,
    repacked: Range,
    padding: u64,
}

impl Placer<'_> {
    fn tensor(&mut self, tensor: &Tensor, span: &mut Span) {
        let role = role(&tensor.name, self.architecture);
        let exact = Range::exact(tensor.bytes);
        match role {
            Role::Layer { number, .. } => {
                let loaded = number < self.trunk || self.offload.prediction == Some(true);
                let bytes = if loaded {
                    exact
                } else {
                    Range::between(0, tensor.bytes)
                };
                let home = self.home(tensor, role, self.layout.layer(number));
                self.put(tensor, home, bytes, true, span);
            }
            Role::TokenEmbedding => self.embedding(tensor, role, span),
            Role::Input => {
                let home = self.home(tensor, role, Home::Cpu);
                self.put(tensor, home, exact, false, span);
            }
            Role::FirstLayer => {
                let home = self.home(tensor, role, self.layout.layer(0));
                self.put(tensor, home, exact, true, span);
            }
            Role::Output => {
                let home = self.home(tensor, role, self.layout.output);
                self.put(tensor, home, exact, true, span);
            }
            Role::EveryLayer => self.every_layer(tensor, role, span),
            Role::Other => {
                let home = if self.offload.gpus == 0 || self.offload.gpu_layers == Some(0) {
                    Home::Cpu
                } else {
                    Home::Unknown
                };
                let home = self.home(tensor, role, home);
                self.put(tensor, home, exact, false, span);
            }
        }
    }

    /// Where the tensor is, given where it would be without overrides.
    fn home(&self, tensor: &Tensor, role: Role, home: Home) -> Home {
        if self.gives_up {
            return Home::Unknown;
        }
        self.offload
            .overrides
            .home(&tensor.name, role, home, self.offload.gpus)
            .unwrap_or(home)
    }

    /// The table on the CPU and, where it is the output matrix too, a copy on the output's device: another one, or
    /// the same if that is repacked.
    fn embedding(&mut self, tensor: &Tensor, role: Role, span: &mut Span) {
        let input = self.home(tensor, role, Home::Cpu);
        let exact = Range::exact(tensor.bytes);
        self.put(tensor, input, exact, false, span);
        if !self.tied {
            return;
        }
        let output = self.home(tensor, role, self.layout.output);
        let copy = Range::between(0, tensor.bytes);
        match output {
            Home::Cpu if input == Home::Cpu => match self.repacks(tensor) {
                Some(false) => {}
                Some(true) => self.put(tensor, Home::Cpu, exact, true, &mut Span::default()),
                None => {
                    self.devices.add(Home::Cpu, copy);
                    self.repacked = self.repacked.plus(copy);
                }
            },
            Home::Gpu(gpu) if input == Home::Gpu(gpu) => {}
            // The same device as the input, or a second copy.
            Home::Unknown => self.devices.add(Home::Unknown, copy),
            Home::SomeGpu if input == Home::Unknown => self.devices.add(Home::SomeGpu, copy),
            output => self.put(tensor, output, exact, true, span),
        }
    }

    /// A table that is created for each layer and exists once on each device that has one.
    fn every_layer(&mut self, tensor: &Tensor, role: Role, span: &mut Span) {
        let exact = Range::exact(tensor.bytes);
        let mut homes: Vec<Home> = Vec::new();
        for layer in &self.layout.layers {
            let home = self.home(tensor, role, *layer);
            if !homes.contains(&home) {
                homes.push(home);
            }
        }
        let several = u64::from(self.offload.gpus.max(1)).saturating_sub(1);
        for home in homes {
            self.put(tensor, home, exact, false, span);
            // On one GPU at least, on each at most.
            if matches!(home, Home::SomeGpu | Home::Unknown) {
                let more = tensor.bytes.saturating_mul(several);
                self.devices.gpu = self.devices.gpu.plus(Range::between(0, more));
            }
        }
    }

    /// Whether the tensor is repacked if it is in system memory.
    fn repacks(&self, tensor: &Tensor) -> Option<bool> {
        let applies = self.offload.repack.applies(tensor);
        match (applies, self.offload.pinned) {
            _ if self.offload.gpus == 0 => applies,
            (Some(false), _) | (_, Some(true)) => Some(false),
            (_, Some(false)) => applies,
            (_, None) => None,
        }
    }

    /// Puts `bytes` of the tensor at its home; `multiplied`: whether it is a matrix that tokens are multiplied with.
    fn put(
        &mut self,
        tensor: &Tensor,
        home: Home,
        bytes: Range,
        multiplied: bool,
        span: &mut Span,
    ) {
        if home != Home::Cpu {
            self.padding = self.padding.saturating_add(padding(tensor));
        }
        let repacks = if multiplied {
            self.repacks(tensor)
        } else {
            Some(false)
        };
        let certain = home == Home::Cpu && bytes.is_exact();
        match home {
            Home::Cpu | Home::Unknown if repacks != Some(false) => {
                let certain = certain && repacks == Some(true);
                let low = if certain { bytes.low } else { 0 };
                self.repacked = self.repacked.plus(Range::between(low, bytes.high));
            }
            _ => {}
        }
        match home {
            Home::Cpu | Home::Unknown if repacks != Some(true) => {
                span.add(tensor, certain && repacks == Some(false));
            }
            _ => {}
        }
        match self.offload.mode {
            SplitMode::Row if self.offload.gpus > 1 && home == Home::SomeGpu => {
                self.put_rows(tensor, bytes);
            }
            SplitMode::Tensor | SplitMode::Unknown
                if self.offload.gpus > 1 && home == Home::SomeGpu =>
            {
                // What is no matrix exists on each.
                let copies = if is_matrix(tensor) {
                    1
                } else {
                    u64::from(self.offload.gpus)
                };
                self.devices.add(Home::SomeGpu, bytes);
                let more = bytes.high.saturating_mul(copies.saturating_sub(1));
                self.devices.gpu = self.devices.gpu.plus(Range::between(0, more));
            }
            _ => self.devices.add(home, bytes),
        }
    }

    /// The rows of a matrix are shared out by the ratios, rounded; the rest is on some GPU.
    fn put_rows(&mut self, tensor: &Tensor, bytes: Range) {
        let [_, rows, experts, _] = tensor.dimensions;
        let shares = match &self.shares {
            Some(shares) if is_matrix(tensor) && experts == 1 && bytes.is_exact() => shares.clone(),
            _ => return self.devices.add(Home::SomeGpu, bytes),
        };
        self.devices.gpu = self.devices.gpu.plus(bytes);
        let row = bytes.high.checked_div(rows).unwrap_or(0);
        let rounding = row.saturating_mul(ROW_ROUNDING);
        let mut reached = 0.0;
        for (number, share) in (0_u32..).zip(shares) {
            let part = share_of(bytes.high, share - reached);
            reached = share;
            let low = part.saturating_sub(rounding);
            let high = part.saturating_add(rounding).min(bytes.high);
            self.devices.add_part(number, Range::between(low, high));
        }
    }
}

/// A share, 0 to 1, of `bytes`.
fn share_of(bytes: u64, share: f32) -> u64 {
    /// Shares are counted in millionths: finer than the rounding to rows for matrices below 100 million rows.
    const PARTS: f32 = 1e6;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share is between 0 and 1"
    )]
    let parts = (share.clamp(0.0, 1.0) * PARTS) as u128;
    let bytes = u128::from(bytes)
        .saturating_mul(parts)
        .checked_div(1_000_000);
    bytes
        .and_then(|bytes| u64::try_from(bytes).ok())
        .unwrap_or(0)
}

fn is_matrix(tensor: &Tensor) -> bool {
    let [_, rows, ..] = tensor.dimensions;
    rows > 1
}

/// Bytes that alignment adds to the tensor on a device at most.
fn padding(tensor: &Tensor) -> u64 {
    let aligned = tensor
        .bytes
        .checked_next_multiple_of(DEVICE_ALIGNMENT)
        .map_or(0, |aligned| aligned.saturating_sub(tensor.bytes));
    let [columns, ..] = tensor.dimensions;
    let missing = match columns.checked_rem(CUDA_ROW_ELEMENTS) {
        Some(rest) if rest > 0 => CUDA_ROW_ELEMENTS.saturating_sub(rest),
        _ => 0,
    };
    let row = TensorType::from_id(tensor.type_id)
        .filter(|kind| kind.block_elements > 1)
        .and_then(|kind| kind.row_bytes(missing.checked_next_multiple_of(kind.block_elements)?))
        .unwrap_or(0);
    aligned.saturating_add(row)
}

/// From the first to the last byte of tensors in a file: those that are certainly among them, and all that may be.
#[derive(Debug, Default)]
struct Span {
    certain: Option<(u64, u64)>,
    possible: Option<(u64, u64)>,
}

impl Span {
    fn add(&mut self, tensor: &Tensor, certain: bool) {
        let end = tensor.offset.saturating_add(tensor.bytes);
        let widen = |span: &mut Option<(u64, u64)>| {
            let (from, to) = span.unwrap_or((tensor.offset, end));
            *span = Some((from.min(tensor.offset), to.max(end)));
        };
        widen(&mut self.possible);
        if certain {
            widen(&mut self.certain);
        }
    }

    fn range(&self) -> Range {
        let bytes = |span: Option<(u64, u64)>| span.map_or(0, |(from, to)| to.saturating_sub(from));
        Range::between(bytes(self.certain), bytes(self.possible))
    }
}
