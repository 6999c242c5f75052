//! The memory receipt: a measured size, the parts that are known of it, and what remains.
//!
//! This is the only place where the classes meet. The remainder is an estimate, it is signed, and it
//! is never summed again.

use crate::Text;
use crate::reading::{Estimated, Reading, Reported, Source};
use crate::units::Bytes;
use crate::workload::{Placement, Segment, SegmentKind};

/// A process's measured memory on one device, part by part.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Device the measured size belongs to.
    pub device_index: u32,
    /// Measured size the parts were taken from.
    pub measured: Bytes,
    /// Every part that is known of, model by model; [`Standing::Counted`] ones were taken away.
    pub lines: Vec<Line>,
    /// Smallest remainder that fits the parts' ranges. Negative: the parts claim more than measured.
    pub remainder_low: i64,
    /// Largest remainder that fits.
    pub remainder_high: i64,
    /// How many parts are known to exist without a size; then the remainder contains them.
    pub parts_missing: u32,
}

impl Receipt {
    /// What the remainder means, for a person.
    pub fn note(&self) -> &'static str {
        if self.remainder_high < 0 {
            "the parts claim more than was measured: partial offload, or memory outside the device"
        } else if self.is_total_exceeded() {
            "what is reported of all of it is more than was measured, so that neither it nor the rest is certain"
        } else if self.parts_missing > 0 {
            "context, workspaces, pools and parts whose size is unknown"
        } else if self.remainder_low < 0 {
            "context, workspaces and pools, not itemised; the largest estimates exceed the measurement"
        } else {
            "context, workspaces and pools, not itemised"
        }
    }
}

/// The input of a part whose report was printed as zero by a program that rounds: it is small, not nothing.
pub const ROUNDED: &str = "rounded";

impl Receipt {
    /// Whether a runtime counts more on this device than was measured there.
    fn is_total_exceeded(&self) -> bool {
        let of_all = |line: &&Line| {
            line.kind == SegmentKind::Total
                && line.placement == Placement::Gpu
                && line.size.is_report()
        };
        let all = self.lines.iter().filter(of_all);
        let here = |line: &Line| line.device_index.is_none_or(|it| it == self.device_index);
        let mut sizes = all
            .filter(|line| here(line))
            .filter_map(|line| line.size.bounds());
        sizes.any(|(low, _)| low.0 > self.measured.0)
    }
}

/// One part on a receipt.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Model it belongs to ([`Model::id`](crate::Model::id)).
    pub model_id: Text,
    /// Which part.
    pub kind: SegmentKind,
    /// How large, in its class.
    pub size: LineSize,
    /// Where.
    pub placement: Placement,
    /// The device, where it is known which.
    pub device_index: Option<u32>,
    /// What it is to the remainder.
    pub standing: Standing,
    /// Inputs of the arithmetic or the words of the report, for a person.
    pub inputs: Vec<(&'static str, Text)>,
}

impl Line {
    /// What its report says in words, where it was rounded to nothing.
    pub fn rounded(&self) -> Option<&'static str> {
        let is_rounded = self.inputs.iter().any(|(name, _)| *name == ROUNDED);
        let is_zero = self.size.bounds() == Some((Bytes(0), Bytes(0)));
        (is_rounded && is_zero).then_some("<0.01M")
    }
}

/// The size of a part, in its class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LineSize {
    /// As the runtime reported it.
    Reported(Reading<Reported<Bytes>>),
    /// As computed from the model's file.
    Estimated(Reading<Estimated<Bytes>>),
}

impl LineSize {
    /// The name of its class in JSON.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Reported(_) => "reported",
            Self::Estimated(_) => "estimated",
        }
    }

    /// Least and most bytes; the same where it is exact.
    pub const fn bounds(&self) -> Option<(Bytes, Bytes)> {
        match self {
            Self::Reported(Reading::Known(it)) => Some((it.value, it.value)),
            Self::Estimated(Reading::Known(it)) => Some((it.low, it.high)),
            Self::Reported(Reading::Missing(_)) | Self::Estimated(Reading::Missing(_)) => None,
        }
    }

    /// Whether it is of the tensors in a model file that is not GGUF.
    const fn is_of_stored_tensors(&self) -> bool {
        match self {
            Self::Reported(_) => false,
            Self::Estimated(Reading::Known(it)) => matches!(it.from.source, Source::ModelFile),
            Self::Estimated(Reading::Missing(it)) => matches!(it.from.source, Source::ModelFile),
        }
    }

    /// Whether it was reported and is known.
    const fn is_report(&self) -> bool {
        matches!(self, Self::Reported(Reading::Known(_)))
    }
}

/// What a part is to the remainder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// Taken from the measured size.
    Counted,
    /// An estimate of a part that is reported too: shown beside the report, which counts.
    Replaced,
    /// Contained in another part, or containing the others.
    Contained,
    /// Not in the memory that was measured: in system memory, or on another device.
    Elsewhere,
    /// Known to be there, its size is not: the remainder contains it.
    SizeUnknown,
}

impl Standing {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::Replaced => "replaced",
            Self::Contained => "contained",
            Self::Elsewhere => "elsewhere",
            Self::SizeUnknown => "size_unknown",
        }
    }
}

/// Every part with what it is to the memory of device `device`, or of whichever device has the parts.
///
/// A reported part replaces the estimate of the same part of the same model, wherever the report says that it lies. Where
/// the allocator of a framework says what it has reserved, tensors as stored in a file that is not GGUF are in there: such
/// files are read by frameworks only, and a GGUF file may be loaded beside one. Models in the order of
/// their numbers, parts in the order of their kinds, a report before the estimate.
pub fn lines(
    device: Option<u32>,
    reported: &[Segment<Reported<Bytes>>],
    estimated: &[Segment<Estimated<Bytes>>],
) -> Vec<Line> {
    let said = reported
        .iter()
        .map(|it| line(it, LineSize::Reported(it.bytes)));
    let computed = estimated
        .iter()
        .map(|it| line(it, LineSize::Estimated(it.bytes)));
    let mut lines: Vec<Line> = said.chain(computed).collect();
    let told: Vec<(Text, SegmentKind)> = lines
        .iter()
        .filter(|line| line.size.is_report())
        .map(|line| (line.model_id.clone(), line.kind))
        .collect();
    let pooled: Vec<Text> = told
        .iter()
        .filter(|(_, kind)| *kind == SegmentKind::Allocator)
        .map(|(model, _)| model.clone())
        .collect();
    for line in &mut lines {
        let same =
            |(model, kind): &(Text, SegmentKind)| *model == line.model_id && *kind == line.kind;
        let is_estimate = matches!(line.size, LineSize::Estimated(_));
        let on_another = device.is_some_and(|here| line.device_index.is_some_and(|it| it != here));
        line.standing = if !line.kind.stands_alone() {
            Standing::Contained
        } else if !line.placement.may_be_on_device() {
            Standing::Elsewhere
        } else if is_estimate && told.iter().any(same) {
            Standing::Replaced
        } else if line.size.is_of_stored_tensors() && pooled.contains(&line.model_id) {
            Standing::Contained
        } else if on_another {
            Standing::Elsewhere
        } else if line.size.bounds().is_some() {
            Standing::Counted
        } else {
            Standing::SizeUnknown
        };
    }
    lines.sort_by(|a, b| {
        let order = |line: &Line| (line.model_id.len(), line.model_id.clone(), line.kind);
        let rank = |line: &Line| matches!(line.size, LineSize::Estimated(_));
        (order(a), rank(a)).cmp(&(order(b), rank(b)))
    });
    lines
}

fn line<C>(from: &Segment<C>, size: LineSize) -> Line {
    Line {
        model_id: from.model_id.clone(),
        kind: from.kind,
        size,
        placement: from.placement,
        device_index: from.device_index,
        standing: Standing::Counted,
        inputs: from.inputs.clone(),
    }
}

/// The receipts of a process: one for each device whose size was measured.
///
/// Where it is on several devices each part must say on which it lies, else there is none: a part
/// that may be on any of them would be taken away more than once. A device that is there twice, as
/// with two MIG instances, has none either.
pub fn receipts(
    measured: &[(u32, Option<Bytes>)],
    reported: &[Segment<Reported<Bytes>>],
    estimated: &[Segment<Estimated<Bytes>>],
) -> Vec<Receipt> {
    let placed = |line: &Line| {
        line.device_index.is_some()
            || !matches!(line.standing, Standing::Counted | Standing::SizeUnknown)
    };
    let twice = |(at, (device, _)): (usize, &(u32, Option<Bytes>))| {
        measured.iter().take(at).any(|(other, _)| other == device)
    };
    if measured.iter().enumerate().any(twice)
        || measured.len() > 1 && !lines(None, reported, estimated).iter().all(placed)
    {
        return Vec::new();
    }
    let known = measured
        .iter()
        .filter_map(|(device, size)| Some((*device, (*size)?)));
    known
        .filter_map(|(device, size)| remainder(device, size, reported, estimated))
        .collect()
}

/// Takes the parts of a process on the device from its measured size there.
///
/// Parts placed in system memory do not count. Where no part counts there is no receipt.
pub fn remainder(
    device_index: u32,
    measured: Bytes,
    reported: &[Segment<Reported<Bytes>>],
    estimated: &[Segment<Estimated<Bytes>>],
) -> Option<Receipt> {
    let lines = lines(Some(device_index), reported, estimated);
    let counted = lines
        .iter()
        .filter(|line| line.standing == Standing::Counted);
    let mut low_parts: u64 = 0;
    let mut high_parts: u64 = 0;
    let mut parts = 0_u32;
    for (line, (low, high)) in counted.filter_map(|line| Some((line, line.size.bounds()?))) {
        // Of a part that may lie elsewhere, anything from nothing to all may be on the device.
        let open = line.placement == Placement::Unknown;
        low_parts = low_parts.saturating_add(if open { 0 } else { low.0 });
        high_parts = high_parts.saturating_add(high.0);
        parts += 1;
    }
    let missing = lines
        .iter()
        .filter(|line| line.standing == Standing::SizeUnknown);
    let parts_missing = u32::try_from(missing.count()).unwrap_or(u32::MAX);
    (parts > 0).then(|| Receipt {
        device_index,
        measured,
        remainder_low: signed_difference(measured.0, high_parts),
        remainder_high: signed_difference(measured.0, low_parts),
        parts_missing,
        lines,
    })
}

fn signed_difference(a: u64, b: u64) -> i64 {
    let difference = i128::from(a) - i128::from(b);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests;
