//! The memory receipt: what remains of a measured size when the known parts are taken away.
//!
//! This is the only place where the classes meet. The result is an estimate, it is signed, and it
//! is never summed again.

use crate::reading::{Estimated, Reading, Reported};
use crate::units::Bytes;
use crate::workload::{Placement, Segment, SegmentKind};

/// The rest of a process's measured device memory after its known parts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Receipt {
    /// Device the measured size belongs to.
    pub device_index: u32,
    /// Measured size the parts were taken from.
    pub measured: Bytes,
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
        } else {
            "context, workspaces and pools, not itemised"
        }
    }
}

/// Takes the parts of a process on the device from its measured size there.
///
/// A reported part replaces the estimate of the same part of the same model. Parts placed in system
/// memory do not count. Where there is no part at all there is no receipt.
pub fn remainder(
    device_index: u32,
    measured: Bytes,
    reported: &[Segment<Reported<Bytes>>],
    estimated: &[Segment<Estimated<Bytes>>],
) -> Option<Receipt> {
    let mut low_parts: u64 = 0;
    let mut high_parts: u64 = 0;
    let mut parts = 0_u32;
    let mut parts_missing = 0_u32;
    let mut add = |low: u64, high: u64| {
        low_parts = low_parts.saturating_add(low);
        high_parts = high_parts.saturating_add(high);
        parts += 1;
    };
    let mut replaced: Vec<(&str, SegmentKind)> = Vec::new();
    let counts = |kind: SegmentKind, placement: Placement| {
        kind.stands_alone() && placement.may_be_on_device()
    };
    for segment in reported.iter().filter(|s| counts(s.kind, s.placement)) {
        if let Reading::Known(part) = &segment.bytes {
            replaced.push((&segment.model_id, segment.kind));
            add(part.value.0, part.value.0);
        }
    }
    for segment in estimated.iter().filter(|s| counts(s.kind, s.placement)) {
        if replaced.contains(&(&*segment.model_id, segment.kind)) {
            continue;
        }
        match &segment.bytes {
            // Of a part that may lie elsewhere, anything from nothing to all may be on the device.
            Reading::Known(part) if segment.placement == Placement::Unknown => add(0, part.high.0),
            Reading::Known(part) => add(part.low.0, part.high.0),
            Reading::Missing(_) => parts_missing += 1,
        }
    }
    (parts > 0).then(|| Receipt {
        device_index,
        measured,
        remainder_low: signed_difference(measured.0, high_parts),
        remainder_high: signed_difference(measured.0, low_parts),
        parts_missing,
    })
}

fn signed_difference(a: u64, b: u64) -> i64 {
    let difference = i128::from(a) - i128::from(b);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gap::Gap;
    use crate::ids::Stamp;
    use crate::reading::{Method, Provenance, Source};

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

    #[test]
    fn a_report_replaces_the_estimate_of_the_same_part() {
        let reported = [Segment {
            model_id: "m1".into(),
            kind: SegmentKind::Weights,
            bytes: Reading::Known(Reported {
                value: Bytes(70),
                by: FROM,
            }),
            placement: Placement::Gpu,
            device_index: None,
            inputs: Vec::new(),
        }];
        let parts = [part(SegmentKind::Weights, 60, 60, Placement::Gpu)];
        let receipt = remainder(0, Bytes(100), &reported, &parts).unwrap();
        assert_eq!((receipt.remainder_low, receipt.remainder_high), (30, 30));
    }
}
