//! Attribution by tables and properties; whole cases are in `cases/`.

use std::collections::BTreeSet;

use model::Gap;
use proptest::prelude::*;

use super::{
    Attribution, Bounds, Descriptor, DeviceFacts, Fdinfo, Holder, Limits, Node, Row, Sample,
};

const SECOND: u64 = 1_000_000_000;

fn text(lines: &str) -> Fdinfo {
    Fdinfo::parse(lines)
}

fn render(slot: u32, at_ns: u64, text: Fdinfo) -> Descriptor {
    Descriptor {
        slot,
        node: Node::Render,
        is_deleted: false,
        at_ns,
        text: Ok(text),
    }
}

fn holder(pid: u32, descriptors: Vec<Descriptor>) -> Holder {
    Holder {
        pid,
        start_ticks: Some(1),
        has_kfd: false,
        parent: None,
        has_only_forked: false,
        keeps_sessions: false,
        descriptors,
    }
}

fn complete(at_ns: u64, holders: Vec<Holder>) -> Sample {
    Sample {
        searched_ns: at_ns,
        is_complete: true,
        holders,
        unreadable: Vec::new(),
    }
}

/// The only row of a process that shows these texts, a second apart.
fn looked_at_twice(texts: [&str; 2]) -> Row {
    let mut attribution = Attribution::default();
    let mut rows = Vec::new();
    for (at_ns, lines) in [SECOND, 2 * SECOND].into_iter().zip(texts) {
        let sample = complete(at_ns, vec![holder(7, vec![render(0, at_ns, text(lines))])]);
        rows = attribution.take(&sample, |_| DeviceFacts::default());
    }
    rows.remove(0)
}

#[test]
fn an_xe_load_is_cycles_of_its_own_clock_and_all_engines_are_a_hundred() {
    let cycles = |busy: u64, passed: u64| {
        format!(
            "drm-driver: xe\ndrm-client-id: 3\ndrm-pdev: 0000:03:00.0\ndrm-shared-vram0: 0\n\
             drm-resident-vram0: 16000 MiB\ndrm-cycles-ccs: {busy}\ndrm-total-cycles-ccs: {passed}\n\
             drm-engine-capacity-ccs: 4\ndrm-cycles-rcs: 5\ndrm-total-cycles-rcs: 5\n"
        )
    };
    let row = looked_at_twice([&cycles(100, 1_000), &cycles(1_100, 2_000)]);
    assert_eq!(row.vram, Ok(16_000 << 20));
    assert_eq!(row.system, Err(Gap::NoCounter));
    let loads = row.loads.unwrap();
    assert_eq!(loads["ccs"], Ok(25.0));
    assert_eq!(loads["rcs"], Err(Gap::NoSample), "its clock stood still");
}

#[test]
fn an_absent_share_is_legacy_and_an_unreadable_one_is_unreadable() {
    let header = "drm-driver: amdgpu\ndrm-client-id: 3\n";
    let vram = "drm-total-vram: 1 MiB\ndrm-shared-vram: 0\n";
    let gtt = "drm-resident-gtt: 0\ndrm-shared-gtt: 0\n";
    let here = "drm-resident-vram: 1 MiB\n";
    for (lines, expected) in [
        (vram.to_owned(), &[Gap::Legacy][..]),
        (format!("{vram}{here}"), &[Gap::Legacy]),
        (here.to_owned(), &[Gap::Legacy]),
        (format!("{vram}{gtt}"), &[Gap::UnreadableValue]),
        (format!("{vram}{here}{gtt}"), &[]),
        (
            format!("{here}{gtt}drm-shared-vram:\n"),
            &[Gap::UnreadableValue],
        ),
        (
            format!("{here}drm-shared-vram: 7 furlongs\n"),
            &[Gap::Legacy, Gap::UnreadableValue],
        ),
    ] {
        let lines = format!("{header}{lines}");
        let row = looked_at_twice([&lines, &lines]);
        assert_eq!(row.reasons, expected, "{lines}");
    }
}

#[test]
fn a_client_of_cycles_that_is_new_has_no_load() {
    let mut attribution = Attribution::default();
    attribution.take(&complete(SECOND, Vec::new()), |_| DeviceFacts::default());
    let lines = "drm-driver: xe\ndrm-client-id: 3\ndrm-cycles-rcs: 1\ndrm-total-cycles-rcs: 9\n";
    let sample = complete(
        2 * SECOND,
        vec![holder(7, vec![render(0, 2 * SECOND, text(lines))])],
    );
    let rows = attribution.take(&sample, |_| DeviceFacts::default());
    assert_eq!(rows[0].loads, Err(Gap::FirstSample));
}

#[test]
fn msm_prints_no_memory_and_its_load_is_measured() {
    let lines = |ns: u64| {
        format!(
            "drm-driver:\tmsm\ndrm-client-id:\t7\ndrm-engine-gpu:\t{ns} ns\n\
             drm-cycles-gpu:\t1153645024\ndrm-maxfreq-gpu:\t800000000 Hz\n"
        )
    };
    let row = looked_at_twice([&lines(1_734_371_319), &lines(2_234_371_319)]);
    assert_eq!(row.reasons, [Gap::Legacy]);
    assert_eq!(row.loads.unwrap()["gpu"], Ok(50.0));
}

#[test]
fn without_nanoseconds_a_load_is_cycles_at_the_highest_clock() {
    let lines = |cycles: u64| {
        format!(
            "drm-driver:\tmsm\ndrm-client-id:\t7\ndrm-cycles-gpu:\t{cycles}\ndrm-maxfreq-gpu:\t800 MHz\n"
        )
    };
    let row = looked_at_twice([&lines(0), &lines(200_000_000)]);
    assert_eq!(row.loads.unwrap()["gpu"], Ok(25.0));
}

#[test]
fn i915_counts_engines_of_a_class_together() {
    let lines = |ns: u64| {
        format!(
            "drm-driver: i915\ndrm-client-id: 39\ndrm-pdev: 0000:00:02.0\ndrm-shared-system0: 0\n\
             drm-resident-system0: 6044 KiB\ndrm-shared-stolen-system0: 0\n\
             drm-engine-video: {ns} ns\ndrm-engine-capacity-video: 2\n"
        )
    };
    let row = looked_at_twice([&lines(0), &lines(SECOND)]);
    assert_eq!(row.loads.unwrap()["video"], Ok(50.0));
    assert_eq!(
        (row.vram, row.system),
        (Err(Gap::NoCounter), Ok(6044 << 10))
    );
}

fn amd(client: u64, resident: u64, shared: u64) -> String {
    format!(
        "drm-driver:\tamdgpu\ndrm-client-id:\t{client}\ndrm-pdev:\t0000:03:00.0\n\
         drm-total-vram:\t{resident} KiB\ndrm-shared-vram:\t{shared} KiB\n\
         drm-resident-vram:\t{resident} KiB\ndrm-total-gtt:\t0\ndrm-shared-gtt:\t0\ndrm-resident-gtt:\t0\n"
    )
}

#[test]
fn what_is_not_shared_is_the_least_a_process_has() {
    let row = looked_at_twice([&amd(1, 2048, 16), &amd(1, 2048, 16)]);
    assert_eq!(row.vram, Err(Gap::SharedBuffers));
    let bounds = Bounds {
        low: 2032 << 10,
        high: 2048 << 10,
    };
    assert_eq!(row.vram_bounds, Some(bounds));
    let row = looked_at_twice([&amd(1, 12, 32_768), &amd(1, 12, 32_768)]);
    assert_eq!(row.vram_bounds.map(|bounds| bounds.low), Some(0));
    let row = looked_at_twice([&amd(1, 12, 0), &amd(1, 12, 0)]);
    assert_eq!(row.vram_bounds, None, "the size itself is known");
}

#[test]
fn memory_that_should_be_in_the_device_and_is_not_is_displaced() {
    let lines = amd(1, 1024, 0).replace("drm-total-vram:\t1024", "drm-total-vram:\t4096");
    assert_eq!(
        looked_at_twice([&lines, &lines]).displaced,
        Some(3072 << 10)
    );
    let old =
        "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-memory-vram:\t1 KiB\ndrm-memory-gtt:\t1 KiB\n";
    assert_eq!(looked_at_twice([old, old]).displaced, None);
}

#[test]
fn an_unreadable_size_leaves_the_other_one() {
    let lines = amd(1, 1024, 0).replace("drm-resident-gtt:\t0", "drm-resident-gtt:\tmany");
    let row = looked_at_twice([&lines, &lines]);
    assert_eq!(row.vram, Ok(1024 << 10));
    assert_eq!(row.system, Err(Gap::UnreadableValue));
    assert_eq!(row.reasons, [Gap::UnreadableValue]);
    assert!(row.loads.is_ok());
}

#[test]
fn a_size_that_cannot_be_true_is_no_size_and_leaves_the_other_one() {
    let gib = |n: u64| n << 30;
    let limits = Limits {
        vram: Some(gib(16)),
        system: Some(gib(8)),
    };
    let client = |id: u64, vram: u64, gtt: u64| {
        amd(id, 0, 0)
            .replace(
                "drm-resident-vram:\t0 KiB",
                &format!("drm-resident-vram:\t{vram}"),
            )
            .replace("drm-resident-gtt:\t0", &format!("drm-resident-gtt:\t{gtt}"))
    };
    let wrong = Err(Gap::Implausible);
    for (clients, limits, vram, system) in [
        (vec![(gib(16), gib(8))], limits, Ok(gib(16)), Ok(gib(8))),
        (vec![(gib(16) + 1, 5)], limits, wrong, Ok(5)),
        (vec![(5, gib(8) + 1)], limits, Ok(5), wrong),
        (vec![(gib(9), 0), (gib(9), 7)], limits, wrong, Ok(7)),
        // Of a device that does not say what it has.
        (
            vec![(gib(17), gib(9))],
            Limits::default(),
            Ok(gib(17)),
            Ok(gib(9)),
        ),
        (vec![(u64::MAX, 3)], Limits::default(), wrong, Ok(3)),
        (vec![(1 << 63, 3); 3], Limits::default(), wrong, Ok(9)),
        (vec![(1 << 50, 3); 2], Limits::default(), wrong, Ok(6)),
        (vec![(3, u64::MAX); 2], Limits::default(), Ok(6), wrong),
    ] {
        let descriptors = (1..).zip(&clients);
        let descriptors = descriptors
            .map(|(id, (vram, gtt))| render(0, SECOND, text(&client(id, *vram, *gtt))))
            .collect();
        let facts = DeviceFacts {
            limits,
            ..DeviceFacts::default()
        };
        let sample = complete(SECOND, vec![holder(7, descriptors)]);
        let row = Attribution::default().take(&sample, |_| facts).remove(0);
        assert_eq!((row.vram, row.system), (vram, system), "{clients:?}");
        assert_eq!((row.vram_resident, row.system_resident), (vram, system));
        let is_doubted = vram.is_err() || system.is_err();
        assert_eq!(row.reasons == [Gap::Implausible], is_doubted, "{clients:?}");
        assert!(
            row.regions
                .values()
                .all(|it| it.resident.is_ok_and(|bytes| bytes <= 1 << 50) || is_doubted)
        );
    }
}

#[test]
fn a_share_that_cannot_be_true_leaves_no_size() {
    let lines = amd(1, 64, 0).replace("drm-shared-vram:\t0", "drm-shared-vram:\t9999999999999999");
    let row = looked_at_twice([&lines, &lines]);
    assert_eq!(row.reasons, [Gap::Implausible, Gap::SharedBuffers]);
    assert_eq!(
        (row.vram, row.system),
        (Err(Gap::Implausible), Err(Gap::Implausible))
    );
    assert_eq!(row.vram_bounds, None);
}

#[test]
fn what_speaks_against_a_client_speaks_against_all_its_sizes() {
    let lines = amd(1, 64, 0).replace("drm-resident-vram:\t64", "drm-resident-vram:\tmany");
    let open = render(0, SECOND, text(&lines));
    let taken = |descriptors: Vec<Descriptor>, others: Vec<Holder>| {
        let holders = [vec![holder(7, descriptors)], others].concat();
        let sample = complete(SECOND, holders);
        Attribution::default()
            .take(&sample, |_| DeviceFacts::default())
            .remove(0)
    };
    let row = taken(vec![open.clone()], Vec::new());
    assert_eq!((row.vram, row.system), (Err(Gap::UnreadableValue), Ok(0)));
    let primary = Descriptor {
        node: Node::Primary,
        ..open.clone()
    };
    let row = taken(vec![primary], Vec::new());
    assert_eq!(
        (row.vram, row.system),
        (Err(Gap::PrimaryNode), Err(Gap::PrimaryNode))
    );
    let row = taken(vec![open.clone()], vec![holder(8, vec![open])]);
    assert_eq!(
        (row.vram, row.system),
        (Err(Gap::SharedClient), Err(Gap::SharedClient))
    );
}

#[test]
fn a_text_that_breaks_off_is_not_charged_and_its_client_is_held() {
    let whole = amd(1, 1024, 0);
    let cut = whole.strip_suffix("\n").unwrap();
    let sample = complete(
        SECOND,
        vec![
            holder(7, vec![render(0, SECOND, text(cut))]),
            holder(8, vec![render(0, SECOND, text(&whole))]),
        ],
    );
    let rows = Attribution::default().take(&sample, |_| DeviceFacts::default());
    assert_eq!(rows[0].reasons[..2], [Gap::Incomplete, Gap::SharedClient]);
    assert_eq!(rows[0].vram, Err(Gap::Incomplete));
    assert_eq!(rows[1].vram, Err(Gap::SharedClient));
    let (first, second) = (rows[0].pid, rows[1].pid);
    assert_eq!(rows[0].shared_with, [second]);
    assert_eq!(rows[1].shared_with, [first]);
}

#[test]
fn a_process_that_cannot_be_told_holds_a_client_like_any_other() {
    let open = || vec![render(0, SECOND, text(&amd(1, 64, 0)))];
    let mut unknown = holder(8, open());
    unknown.start_ticks = None;
    let sample = complete(SECOND, vec![holder(7, open()), unknown]);
    let rows = Attribution::default().take(&sample, |_| DeviceFacts::default());
    let found: Vec<_> = rows.iter().map(|row| (row.pid, row.vram)).collect();
    assert_eq!(
        found,
        [(7, Err(Gap::SharedClient)), (8, Err(Gap::SharedClient))]
    );
}

#[test]
fn a_counter_that_steps_back_counts_again_when_it_has_passed_its_largest_value() {
    let mut attribution = Attribution::default();
    let mut loads = Vec::new();
    for (second, ns) in [(1, 1_000), (2, 900), (3, 1_000), (4, 500_001_000)] {
        let at_ns = second * SECOND;
        let lines = amd(1, 1, 0) + &format!("drm-engine-gfx: {ns} ns\n");
        let sample = complete(at_ns, vec![holder(7, vec![render(0, at_ns, text(&lines))])]);
        let mut rows = attribution.take(&sample, |_| DeviceFacts::default());
        loads.push(rows.remove(0).loads.map(|loads| loads["gfx"]));
    }
    let expected = [
        Err(Gap::FirstSample),
        Ok(Ok(0.0)),
        Ok(Ok(0.0)),
        Ok(Ok(50.0)),
    ];
    assert_eq!(loads, expected);
}

#[test]
fn a_counter_that_jumps_beyond_any_time_is_no_load_and_no_start_of_the_next() {
    let mut attribution = Attribution::default();
    let mut loads = Vec::new();
    for (second, ns) in [(1, 0), (2, u64::MAX), (3, u64::MAX), (4, 1_500_000_000)] {
        let at_ns = second * SECOND;
        let lines = amd(1, 1, 0) + &format!("drm-engine-gfx: {ns} ns\n");
        let sample = complete(at_ns, vec![holder(7, vec![render(0, at_ns, text(&lines))])]);
        let mut rows = attribution.take(&sample, |_| DeviceFacts::default());
        loads.push(rows.remove(0).loads.map(|loads| loads["gfx"]));
    }
    let wrong = Ok(Err(Gap::Implausible));
    assert_eq!(loads, [Err(Gap::FirstSample), wrong, wrong, Ok(Ok(50.0))]);
}

#[test]
fn each_clients_time_is_that_of_its_own_texts() {
    let mut attribution = Attribution::default();
    let lines = |ns: u64| amd(1, 1, 0) + &format!("drm-engine-gfx: {ns} ns\n");
    let mut look = |searched_ns, at_ns, ns| {
        let mut sample = complete(
            searched_ns,
            vec![holder(7, vec![render(0, at_ns, text(&lines(ns)))])],
        );
        sample.searched_ns = searched_ns;
        attribution
            .take(&sample, |_| DeviceFacts::default())
            .remove(0)
            .loads
    };
    assert_eq!(look(0, SECOND, 0), Err(Gap::FirstSample));
    let loads = look(SECOND, 3 * SECOND, SECOND).unwrap();
    assert_eq!(loads["gfx"], Ok(50.0));
}

#[test]
fn a_process_that_took_over_a_client_has_no_baseline_of_its_own() {
    let mut attribution = Attribution::default();
    let lines = amd(1, 1, 0) + "drm-engine-gfx: 1000 ns\n";
    let mut look = |at_ns, start_ticks| {
        let mut it = holder(7, vec![render(0, at_ns, text(&lines))]);
        it.start_ticks = Some(start_ticks);
        attribution
            .take(&complete(at_ns, vec![it]), |_| DeviceFacts::default())
            .remove(0)
            .loads
    };
    assert_eq!(look(SECOND, 1), Err(Gap::FirstSample));
    assert!(look(2 * SECOND, 1).is_ok());
    assert_eq!(
        look(3 * SECOND, 2),
        Err(Gap::FirstSample),
        "the number was used again"
    );
}

#[test]
fn a_device_that_sleeps_or_hangs_is_no_matter_of_rights() {
    for gap in [Gap::Asleep, Gap::TimedOut] {
        let unread = Descriptor {
            text: Err(gap),
            ..render(0, SECOND, Fdinfo::default())
        };
        let sample = complete(SECOND, vec![holder(7, vec![unread])]);
        let rows = Attribution::default().take(&sample, |_| DeviceFacts::default());
        assert_eq!((rows[0].vram, rows[0].loads.clone()), (Err(gap), Err(gap)));
    }
}

#[test]
fn equal_numbers_on_two_devices_are_two_clients() {
    let held = |slot| render(slot, SECOND, text(&amd(7, 64, 0)));
    let sample = complete(
        SECOND,
        vec![holder(1, vec![held(0)]), holder(2, vec![held(1)])],
    );
    let rows = Attribution::default().take(&sample, |_| DeviceFacts::default());
    let sizes: Vec<_> = rows
        .iter()
        .map(|row| (row.pid, row.slot, row.vram))
        .collect();
    assert_eq!(sizes, [(1, 0, Ok(64 << 10)), (2, 1, Ok(64 << 10))]);
}

#[test]
fn the_copy_that_a_session_manager_keeps_does_not_take_the_load_from_the_compositor() {
    let mut attribution = Attribution::default();
    let mut look = |second: u64, node| {
        let at_ns = second * SECOND;
        let lines = amd(1, 64, 0) + &format!("drm-engine-gfx: {} ns\n", second * SECOND / 2);
        let open = Descriptor {
            node,
            ..render(0, at_ns, text(&lines))
        };
        let mut manager = holder(2, vec![open.clone()]);
        manager.keeps_sessions = true;
        attribution.take(
            &complete(at_ns, vec![holder(1, vec![open]), manager]),
            |_| DeviceFacts::default(),
        )
    };
    look(1, Node::Primary);
    let rows = look(2, Node::Primary);
    assert_eq!(rows[0].vram, Err(Gap::PrimaryNode));
    assert_eq!(
        rows[0].loads.as_ref().map(|loads| loads["gfx"]),
        Ok(Ok(50.0))
    );
    assert_eq!(
        (rows[1].vram, rows[1].loads.clone()),
        (Err(Gap::SharedClient), Err(Gap::SharedClient))
    );
    // Through a render node there is no such copy: both may work with it.
    let rows = look(3, Node::Render);
    assert_eq!(rows[0].loads, Err(Gap::SharedClient));
}

#[test]
fn a_node_that_was_taken_away_is_not_a_driver_without_statistics() {
    let mut gone = render(0, SECOND, text("pos:\t0\n"));
    gone.is_deleted = true;
    let silent = render(0, SECOND, text("pos:\t0\n"));
    let sample = complete(SECOND, vec![holder(1, vec![gone]), holder(2, vec![silent])]);
    let rows = Attribution::default().take(&sample, |_| DeviceFacts::default());
    let reasons: Vec<_> = rows.iter().map(|row| row.reasons.clone()).collect();
    assert_eq!(reasons, [[Gap::DeviceGone], [Gap::NoStats]]);
}

/// Descriptors of few clients on two devices, held by few processes.
fn descriptors() -> impl Strategy<Value = Vec<(u32, u32, u64, bool, u64, u64)>> {
    let one = (
        1_u32..5,
        0_u32..2,
        1_u64..5,
        any::<bool>(),
        0_u64..100,
        prop_oneof![4 => Just(0_u64), 1 => 1_u64..200],
    );
    prop::collection::vec(one, 0..12)
}

fn build(given: &[(u32, u32, u64, bool, u64, u64)]) -> Sample {
    let pids: BTreeSet<u32> = given.iter().map(|it| it.0).collect();
    // What a client has does not depend on who looks.
    let of_client = |slot: u32, client: u64| {
        let first = given.iter().find(|it| (it.1, it.2) == (slot, client));
        first.map_or((0, 0), |it| (it.4, it.5))
    };
    let holders = pids.into_iter().map(|pid| {
        let mine = given.iter().filter(|it| it.0 == pid);
        let descriptors = mine.map(|&(_, slot, client, primary, ..)| {
            let (resident, shared) = of_client(slot, client);
            Descriptor {
                node: if primary { Node::Primary } else { Node::Render },
                ..render(slot, SECOND, text(&amd(client, resident, shared)))
            }
        });
        holder(pid, descriptors.collect())
    });
    complete(SECOND, holders.collect())
}

proptest! {
    #[test]
    fn no_byte_is_charged_twice(given in descriptors()) {
        let sample = build(&given);
        let rows = Attribution::default().take(&sample, |_| DeviceFacts::default());
        for slot in 0..2 {
            let mut clients = BTreeSet::new();
            let mut everything = 0;
            for it in &sample.holders {
                for descriptor in it.descriptors.iter().filter(|it| it.slot == slot) {
                    let text = descriptor.text.as_ref().unwrap();
                    if clients.insert(text.client.unwrap().unwrap()) {
                        everything += text.regions["vram"].resident.unwrap().unwrap();
                    }
                }
            }
            let of_slot = || rows.iter().filter(|row| row.slot == slot);
            let charged: u64 = of_slot().filter_map(|row| row.vram.ok()).sum();
            let least: u64 = of_slot().filter_map(|row| row.vram_bounds).map(|bounds| bounds.low).sum();
            prop_assert!(charged + least <= everything);
        }
        for row in &rows {
            prop_assert_eq!(row.vram.is_err(), !row.reasons.is_empty());
            prop_assert!(row.vram.is_err() || row.vram == row.vram_resident);
        }
    }

    #[test]
    fn the_order_of_processes_changes_nothing(given in descriptors()) {
        let sample = build(&given);
        let mut turned = sample.clone();
        turned.holders.reverse();
        let rows = Attribution::default().take(&sample, |_| DeviceFacts::default());
        prop_assert_eq!(rows, Attribution::default().take(&turned, |_| DeviceFacts::default()));
    }

    #[test]
    fn a_search_that_was_cut_off_charges_nobody(given in descriptors()) {
        let mut sample = build(&given);
        sample.is_complete = false;
        for row in Attribution::default().take(&sample, |_| DeviceFacts::default()) {
            prop_assert_eq!(row.vram, Err(Gap::PartialScan));
            prop_assert_eq!(row.loads, Err(Gap::PartialScan));
        }
    }

    #[test]
    fn one_more_holder_never_makes_a_size_known(given in descriptors(), extra in 5_u32..7) {
        let before = Attribution::default().take(&build(&given), |_| DeviceFacts::default());
        let mut more = given.clone();
        more.extend(given.iter().map(|it| (extra, it.1, it.2, false, it.4, it.5)));
        let after = Attribution::default().take(&build(&more), |_| DeviceFacts::default());
        for row in &before {
            let same = after.iter().find(|it| (it.pid, it.slot) == (row.pid, row.slot)).unwrap();
            prop_assert!(same.vram.is_err());
        }
    }
}

#[test]
fn a_child_that_has_not_yet_executed_its_program_takes_nothing_from_its_parent() {
    const TEXT: &str = "drm-driver:\tamdgpu\ndrm-client-id:\t5\ndrm-total-vram:\t8 MiB\n\
                        drm-shared-vram:\t0\ndrm-resident-vram:\t8 MiB\ndrm-total-gtt:\t0\n\
                        drm-shared-gtt:\t0\ndrm-resident-gtt:\t0\ndrm-engine-gfx:\t0 ns\n";
    let process = |pid, at_ns| holder(pid, vec![render(0, at_ns, text(TEXT))]);
    let child = |parent, has_only_forked, at_ns| Holder {
        parent,
        has_only_forked,
        ..process(8, at_ns)
    };
    let shared = Err(Gap::SharedClient);
    let both = vec![(7, shared), (8, shared)];
    let alone = vec![(7, Ok(8 << 20))];
    for (parent, has_only_forked, expected) in [
        (Some(7), true, &alone),
        // It runs a program of its own and has the client all the same.
        (Some(7), false, &both),
        // Nobody's child here, or another's.
        (Some(6), true, &both),
        (None, true, &both),
    ] {
        let mut attribution = Attribution::default();
        let mut look = |second: u64, holders: Vec<Holder>| {
            let sample = complete(second * SECOND, holders);
            let rows = attribution.take(&sample, |_| DeviceFacts::default());
            rows.iter()
                .map(|row| (row.pid, row.vram))
                .collect::<Vec<_>>()
        };
        assert_eq!(look(1, vec![process(7, SECOND)]), alone);
        let at_ns = 2 * SECOND;
        let holders = vec![process(7, at_ns), child(parent, has_only_forked, at_ns)];
        assert_eq!(look(2, holders), *expected, "{parent:?} {has_only_forked}");
        // Whoever stays is a holder.
        let at_ns = 3 * SECOND;
        let holders = vec![process(7, at_ns), child(parent, has_only_forked, at_ns)];
        assert_eq!(look(3, holders), both);
    }
    // In the first look nobody is known to be new.
    let mut attribution = Attribution::default();
    let sample = complete(
        SECOND,
        vec![process(7, SECOND), child(Some(7), true, SECOND)],
    );
    let rows = attribution.take(&sample, |_| DeviceFacts::default());
    assert!(rows.iter().all(|row| row.vram == shared));
}
