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

fn part(kind: SegmentKind, low: u64, high: u64, placement: Placement) -> Segment<Estimated<Bytes>> {
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
fn a_total_that_is_reported_above_the_measured_size_is_said_to_be() {
    let parts = [part(SegmentKind::Weights, 60, 60, Placement::Gpu)];
    for (total, is_said) in [(150, true), (101, true), (100, false), (60, false)] {
        let told = [report(SegmentKind::Total, total, Placement::Gpu)];
        let receipt = remainder(0, Bytes(100), &told, &parts).unwrap();
        assert_eq!(
            receipt.note().contains("all of it is more"),
            is_said,
            "{total}"
        );
        assert_eq!(
            receipt.remainder_high, 40,
            "it contains the parts and is none of them"
        );
    }
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
