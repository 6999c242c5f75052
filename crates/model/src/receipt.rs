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
    pub const fn note(&self) -> &'static str {
        if self.remainder_high < 0 {
            "the parts claim more than was measured: partial offload, or memory outside the device"
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gap::Gap;
    use crate::ids::Stamp;
    use crate::reading::{Method, Provenance};

    const FROM: Provenance = Provenance {
        source: Source::Gguf,
        counter: "test",
        at: Stamp {
            mono_ns: 0,
            wall_us: 0,
        },
    };

    fn part(
        kind: SegmentKind,
        low: u64,
        high: u64,
        placement: Placement,
    ) -> Segment<Estimated<Bytes>> {
        Segment {
            model_id: "m1".into(),
            kind,
            bytes: Reading::Known(Estimated {
                low: Bytes(low),
                high: Bytes(high),
                method: Method::ModelFile,
                from: FROM,
            }),
            placement,
            device_index: None,
            inputs: Vec::new(),
        }
    }

    #[test]
    fn nothing_known_gives_no_receipt() {
        assert_eq!(remainder(0, Bytes(10), &[], &[]), None);
        let mut unknown = part(SegmentKind::Kv, 0, 0, Placement::Gpu);
        unknown.bytes = Reading::missing(Gap::UnknownArchitecture, FROM);
        assert_eq!(remainder(0, Bytes(10), &[], &[unknown]), None);
    }

    #[test]
    fn ranges_widen_the_remainder_and_it_may_be_negative() {
        let parts = [
            part(SegmentKind::Weights, 60, 60, Placement::Gpu),
            part(SegmentKind::Kv, 10, 50, Placement::Gpu),
        ];
        let receipt = remainder(0, Bytes(100), &[], &parts).unwrap();
        assert_eq!((receipt.remainder_low, receipt.remainder_high), (-10, 30));
    }

    #[test]
    fn parts_in_system_memory_do_not_count() {
        let parts = [
            part(SegmentKind::Weights, 60, 60, Placement::Gpu),
            part(SegmentKind::Weights, 900, 900, Placement::Cpu),
        ];
        let receipt = remainder(0, Bytes(100), &[], &parts).unwrap();
        assert_eq!((receipt.remainder_low, receipt.remainder_high), (40, 40));
    }

    #[test]
    fn parts_of_unknown_placement_count_from_nothing_to_all() {
        let parts = [part(SegmentKind::Weights, 60, 60, Placement::Unknown)];
        let receipt = remainder(0, Bytes(100), &[], &parts).unwrap();
        assert_eq!((receipt.remainder_low, receipt.remainder_high), (40, 100));
    }

    fn report(kind: SegmentKind, bytes: u64, placement: Placement) -> Segment<Reported<Bytes>> {
        Segment {
            model_id: "m1".into(),
            kind,
            bytes: Reading::Known(Reported {
                value: Bytes(bytes),
                by: FROM,
            }),
            placement,
            device_index: None,
            inputs: Vec::new(),
        }
    }

    #[test]
    fn a_report_replaces_the_estimate_of_the_same_part_and_both_stay_visible() {
        let reported = [report(SegmentKind::Weights, 70, Placement::Gpu)];
        let parts = [part(SegmentKind::Weights, 60, 60, Placement::Gpu)];
        let receipt = remainder(0, Bytes(100), &reported, &parts).unwrap();
        assert_eq!((receipt.remainder_low, receipt.remainder_high), (30, 30));
        let shown: Vec<_> = receipt
            .lines
            .iter()
            .map(|line| (line.size.class(), line.standing))
            .collect();
        let expected = [
            ("reported", Standing::Counted),
            ("estimated", Standing::Replaced),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_report_of_system_memory_replaces_the_estimate_of_the_device() {
        let reported = [
            report(SegmentKind::Weights, 184, Placement::Cpu),
            report(SegmentKind::Kv, 128, Placement::PinnedHost),
        ];
        let parts = [
            part(SegmentKind::Weights, 183, 183, Placement::Gpu),
            part(SegmentKind::Kv, 128, 128, Placement::Gpu),
            part(SegmentKind::Compute, 8, 31, Placement::Gpu),
        ];
        let receipt = remainder(0, Bytes(800), &reported, &parts).unwrap();
        assert_eq!((receipt.remainder_low, receipt.remainder_high), (769, 792));
        let counted = |line: &&Line| line.standing == Standing::Counted;
        let lines = receipt.lines.iter().filter(counted);
        let kinds: Vec<_> = lines.map(|it| it.kind).collect();
        assert_eq!(kinds, [SegmentKind::Compute]);
    }

    #[test]
    fn a_rounded_zero_is_small_and_a_said_zero_is_nothing() {
        let said = report(SegmentKind::Output, 0, Placement::PinnedHost);
        let mut rounded = said.clone();
        rounded.inputs.push((ROUNDED, "less than 0.01 MiB".into()));
        let shown = |part| lines(None, &[part], &[])[0].rounded();
        assert_eq!((shown(said), shown(rounded)), (None, Some("<0.01M")));
    }

    #[test]
    fn tensors_that_an_allocator_holds_are_taken_away_with_it_and_not_once_more() {
        let stored = |source| {
            let mut stored = part(SegmentKind::Weights, 0, 60, Placement::Unknown);
            if let Reading::Known(it) = &mut stored.bytes {
                it.from.source = source;
            }
            stored
        };
        let rest = |reported: &[_], source| {
            let receipt = remainder(0, Bytes(100), reported, &[stored(source)]).unwrap();
            (receipt.remainder_low, receipt.remainder_high)
        };
        let allocator = report(SegmentKind::Allocator, 70, Placement::Gpu);
        let of = std::slice::from_ref(&allocator);
        assert_eq!(rest(of, Source::ModelFile), (30, 30));
        // llama.cpp may have loaded a GGUF file beside the framework.
        assert_eq!(rest(of, Source::Gguf), (-30, 30));
        // A pool for caches lies beside the weights.
        let pool = report(SegmentKind::Pool, 30, Placement::Gpu);
        assert_eq!(rest(&[pool], Source::ModelFile), (10, 70));
        // Another model's allocator says nothing of this one.
        let other = Segment {
            model_id: "m2".into(),
            ..allocator.clone()
        };
        assert_eq!(rest(&[other], Source::ModelFile), (-30, 30));
        // An allocator that does not tell its size leaves the weights to count.
        let mut silent = allocator.clone();
        silent.bytes = Reading::missing(Gap::NotFound, FROM);
        assert_eq!(rest(&[silent], Source::ModelFile), (40, 100));
        let mut unread = stored(Source::ModelFile);
        let from = Provenance {
            source: Source::ModelFile,
            ..FROM
        };
        unread.bytes = Reading::missing(Gap::InputMissing, from);
        let receipt = remainder(0, Bytes(100), of, &[unread]).unwrap();
        assert_eq!((receipt.parts_missing, receipt.remainder_high), (0, 30));
    }

    #[test]
    fn what_another_part_contains_is_never_taken_away() {
        let parts = [
            part(SegmentKind::Kv, 40, 40, Placement::Gpu),
            part(SegmentKind::KvUsed, 10, 10, Placement::Gpu),
            part(SegmentKind::Total, 90, 90, Placement::Gpu),
        ];
        let receipt = remainder(0, Bytes(100), &[], &parts).unwrap();
        assert_eq!((receipt.remainder_low, receipt.remainder_high), (60, 60));
    }

    #[test]
    fn estimates_that_exceed_the_measurement_say_so_and_are_not_clamped() {
        let of = |low, high| {
            let parts = [part(SegmentKind::Weights, low, high, Placement::Gpu)];
            remainder(0, Bytes(100), &[], &parts).unwrap()
        };
        let over = of(150, 150);
        assert_eq!((over.remainder_low, over.remainder_high), (-50, -50));
        assert!(over.note().contains("claim more than was measured"));
        assert!(of(50, 150).note().contains("exceed the measurement"));
        assert!(!of(50, 60).note().contains("exceed"));
    }

    #[test]
    fn on_several_devices_every_part_needs_its_device() {
        let on = |device, bytes| Segment {
            device_index: device,
            ..report(SegmentKind::Weights, bytes, Placement::Gpu)
        };
        let sizes = [(0, Some(Bytes(100))), (1, Some(Bytes(50)))];
        let both = receipts(&sizes, &[on(Some(0), 70), on(Some(1), 20)], &[]);
        let rest: Vec<_> = both
            .iter()
            .map(|it| (it.device_index, it.remainder_low))
            .collect();
        assert_eq!(rest, [(0, 30), (1, 30)]);
        assert!(receipts(&sizes, &[on(Some(0), 70), on(None, 20)], &[]).is_empty());
        // An estimate that the reports replace need not say on which device it lies.
        let whole = [part(SegmentKind::Weights, 90, 90, Placement::Gpu)];
        let replaced = receipts(&sizes, &[on(Some(0), 70), on(Some(1), 20)], &whole);
        assert_eq!(replaced.len(), 2);
        let instances = [(0, Some(Bytes(100))), (0, Some(Bytes(50)))];
        assert!(receipts(&instances, &[on(Some(0), 70)], &[]).is_empty());
        // A device whose size is hidden has none, and takes nothing from the other.
        let hidden = [(0, Some(Bytes(100))), (1, None)];
        assert_eq!(
            receipts(&hidden, &[on(Some(0), 70), on(Some(1), 20)], &[]).len(),
            1
        );
    }

    const KINDS: [SegmentKind; 13] = [
        SegmentKind::Weights,
        SegmentKind::Kv,
        SegmentKind::KvUsed,
        SegmentKind::State,
        SegmentKind::Compute,
        SegmentKind::Output,
        SegmentKind::Projector,
        SegmentKind::Draft,
        SegmentKind::Adapter,
        SegmentKind::Graphs,
        SegmentKind::Pool,
        SegmentKind::Allocator,
        SegmentKind::Total,
    ];

    const PLACEMENTS: [Placement; 4] = [
        Placement::Gpu,
        Placement::PinnedHost,
        Placement::Cpu,
        Placement::Unknown,
    ];

    fn any_part() -> impl Strategy<Value = (usize, usize, u64, u64, Option<u32>, u8, bool)> {
        (
            0..KINDS.len(),
            0..PLACEMENTS.len(),
            0_u64..1 << 40,
            0_u64..1 << 40,
            proptest::option::of(0_u32..2),
            0_u8..3,
            any::<bool>(),
        )
    }

    proptest! {
        #[test]
        fn remainder_and_parts_are_the_measured_size(
            measured in 0_u64..1 << 44,
            drawn in proptest::collection::vec(any_part(), 0..12),
        ) {
            let mut reported = Vec::new();
            let mut estimated = Vec::new();
            for (kind, placement, a, b, device_index, model, is_report) in drawn {
                let (kind, placement) = (KINDS[kind], PLACEMENTS[placement]);
                let model_id: Text = format!("m{model}").into();
                if is_report {
                    let one = report(kind, a, placement);
                    reported.push(Segment { model_id, device_index, ..one });
                } else {
                    let one = part(kind, a.min(b), a.max(b), placement);
                    estimated.push(Segment { model_id, device_index, ..one });
                }
            }
            let Some(receipt) = remainder(0, Bytes(measured), &reported, &estimated) else {
                return Ok(());
            };
            prop_assert_eq!(receipt.lines.len(), reported.len() + estimated.len());
            let (mut low, mut high) = (0_i64, 0_i64);
            for line in receipt.lines.iter().filter(|line| line.standing == Standing::Counted) {
                prop_assert!(line.kind.stands_alone() && line.placement.may_be_on_device());
                prop_assert!(line.device_index.is_none_or(|index| index == 0));
                // No part counts in both classes.
                if matches!(line.size, LineSize::Estimated(_)) {
                    let twice = reported.iter().any(|it| {
                        it.model_id == line.model_id
                            && it.kind == line.kind
                            && it.placement.may_be_on_device()
                    });
                    prop_assert!(!twice);
                }
                let (least, most) = line.size.bounds().unwrap();
                if line.placement == Placement::Gpu {
                    low += i64::try_from(least.0).unwrap();
                }
                high += i64::try_from(most.0).unwrap();
            }
            let measured = i64::try_from(measured).unwrap();
            prop_assert_eq!(receipt.remainder_high + low, measured);
            prop_assert_eq!(receipt.remainder_low + high, measured);
            prop_assert_eq!(receipt.note().contains("claim more"), receipt.remainder_high < 0);
        }
    }
}
