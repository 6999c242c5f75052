//! Sleeping devices stay asleep, and idle ones can fall asleep while they are watched: every file that is opened and
//! every call of the driver is counted for each device, on a machine whose kernel suspends what nobody touches.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "sleeping/bench.rs"]
mod bench;

use std::sync::Arc;

use collect::{Collector, Pace};
use model::{Device, DeviceKey, Gap, PciAddress, PowerState, Snapshot, SourceState};
use raw::Machine;

use bench::{Bench, Card, SECOND_NS, Touch};

fn refresh(bench: &mut Bench, collector: &mut Collector) -> Arc<Snapshot> {
    let plan = collector.plan(Pace::Live);
    let tick = bench.begin_tick(&plan).unwrap();
    collector.tick(bench, tick)
}

/// Refreshes for so long; the last snapshot.
fn watch(bench: &mut Bench, collector: &mut Collector, seconds: u64) -> Arc<Snapshot> {
    let until = bench.now_ns + seconds * SECOND_NS;
    loop {
        let snapshot = refresh(bench, collector);
        if bench.now_ns >= until {
            return snapshot;
        }
    }
}

fn at<'a>(snapshot: &'a Snapshot, address: &str) -> &'a Device {
    let place = PciAddress::parse(address).unwrap();
    let mut devices = snapshot.devices.iter();
    devices
        .find(|device| device.key == DeviceKey::Pci(place))
        .unwrap()
}

fn power(device: &Device) -> Option<PowerState> {
    device.power_state.value().copied()
}

const FIRST: &str = "0000:01:00.0";
const SECOND: &str = "0000:41:00.0";
const THIRD: &str = "0000:81:00.0";

fn is_call(touch: &Touch) -> bool {
    matches!(touch, Touch::Call(_))
}

fn status_only(touches: &[Touch]) -> bool {
    let status = Touch::File("power/runtime_status".to_owned());
    touches.iter().all(|touch| *touch == status)
}

#[test]
fn beside_one_that_works_a_suspended_device_is_never_touched() {
    for (working, asleep) in [(FIRST, SECOND), (SECOND, FIRST)] {
        let mut cards = vec![Card::new(working).used_by(77), Card::new(asleep).asleep()];
        cards.sort_by_key(|card| card.address);
        let mut bench = Bench::new(cards);
        let mut collector = Collector::new(bench.facts());
        watch(&mut bench, &mut collector, 1);
        let since = bench.now_ns + 1;
        let last = watch(&mut bench, &mut collector, 150);
        let found = bench.touches(asleep, 0);
        assert!(!found.iter().any(is_call), "{found:?}");
        assert!(status_only(&bench.touches(asleep, since)));
        let device = at(&last, asleep);
        assert_eq!(power(device), Some(PowerState::Suspended));
        assert_eq!(device.memory.used.gap(), Some(Gap::Asleep));
        assert_eq!(device.name.gap(), Some(Gap::Asleep));
        assert_eq!(&*device.counter_status, "asleep");
        // The other is read in every refresh, and says so.
        let device = at(&last, working);
        assert_eq!(device.gpu.known().unwrap().from.at, last.at);
        assert_eq!(&*device.counter_status, "ok");
        assert!(bench.reads(working).len() >= 150);
        assert_eq!(last.devices.len(), 2);
        assert!(last.notices.iter().all(|it| it.code == "outside_namespace"));
    }
}

#[test]
fn a_device_that_nobody_uses_is_left_alone_until_it_sleeps() {
    let mut bench = Bench::new(vec![Card::new(FIRST)]);
    let mut collector = Collector::new(bench.facts());
    let last = watch(&mut bench, &mut collector, 9);
    let reads = bench.reads(FIRST);
    assert_eq!(reads.len(), 1, "{reads:?}");
    assert!(status_only(&bench.touches(FIRST, reads[0] + 1_000_000)));
    let device = at(&last, FIRST);
    assert_eq!(power(device), Some(PowerState::Active));
    assert!(device.counter_status.starts_with("idle, may sleep"));
    // Its figures stand, with their age.
    assert_eq!(device.gpu.known().unwrap().from.at.mono_ns, reads[0]);
    assert!(device.memory.used.known().is_some());
    // The kernel suspends it, and then it is not read at all.
    let last = watch(&mut bench, &mut collector, 120);
    assert_eq!(bench.reads(FIRST).len(), 1);
    let device = at(&last, FIRST);
    assert_eq!(power(device), Some(PowerState::Suspended));
    assert_eq!(device.memory.used.gap(), Some(Gap::Asleep));
    // Who it is stays known.
    let name = device.name.value().unwrap();
    assert_eq!(**name, format!("Card at {FIRST}"));
    let nvml = last.sources.iter().find(|source| source.id == "nvml");
    assert_eq!(nvml.unwrap().state, SourceState::Skipped);
}

#[test]
fn what_stays_awake_without_a_process_is_read_every_fifteen_seconds() {
    let mut bench = Bench::new(vec![Card::new(FIRST)]);
    let mut collector = Collector::new(bench.facts());
    // Somebody keeps it awake who is in no list.
    let until = bench.now_ns + 100 * SECOND_NS;
    while bench.now_ns < until {
        refresh(&mut bench, &mut collector);
        bench.cards[0].touched_ns = bench.now_ns;
    }
    let reads = bench.reads(FIRST);
    assert_eq!(reads.len(), 7, "{reads:?}");
    for pair in reads.windows(2) {
        let gap = pair[1] - pair[0];
        assert!((15 * SECOND_NS..17 * SECOND_NS).contains(&gap), "{gap}");
        let between: Vec<_> = bench
            .touches
            .iter()
            .filter(|(at, ..)| *at > pair[0] && *at < pair[1])
            .map(|(_, _, touch)| touch.clone())
            .collect();
        assert!(status_only(&between), "{between:?}");
    }
}

#[test]
fn a_device_that_may_not_sleep_or_is_used_is_read_in_every_refresh() {
    let mut kept = Card::new(FIRST);
    kept.auto = false;
    let mut bench = Bench::new(vec![kept, Card::new(SECOND).used_by(77)]);
    let mut collector = Collector::new(bench.facts());
    watch(&mut bench, &mut collector, 60);
    for address in [FIRST, SECOND] {
        assert!(bench.reads(address).len() >= 60, "{address}");
    }
    let controls = bench.touches(FIRST, 0);
    let control = Touch::File("power/control".to_owned());
    let controls = controls.iter().filter(|it| **it == control).count();
    // Four times a minute, and at each look at the bus, which is once a minute.
    assert!(controls <= 8, "{controls}");
}

#[test]
fn a_device_in_use_again_is_read_at_once() {
    let mut bench = Bench::new(vec![Card::new(FIRST), Card::new(SECOND).used_by(77)]);
    let mut collector = Collector::new(bench.facts());
    let last = watch(&mut bench, &mut collector, 60);
    assert_eq!(power(at(&last, FIRST)), Some(PowerState::Suspended));
    bench.cards[0].users.push(78);
    let woken = refresh(&mut bench, &mut collector);
    let device = at(&woken, FIRST);
    assert_eq!(power(device), Some(PowerState::Active));
    assert_eq!(device.gpu.gap(), Some(Gap::Pending));
    let read = refresh(&mut bench, &mut collector);
    let device = at(&read, FIRST);
    assert_eq!(device.gpu.known().unwrap().from.at, read.at);
    assert_eq!(read.processes.len(), 2);
    let before = bench.reads(FIRST).len();
    watch(&mut bench, &mut collector, 10);
    assert!(bench.reads(FIRST).len() >= before + 10);
}

#[test]
fn who_starts_on_an_idle_device_is_seen_within_fifteen_seconds() {
    let mut bench = Bench::new(vec![Card::new(FIRST)]);
    let mut collector = Collector::new(bench.facts());
    watch(&mut bench, &mut collector, 3);
    bench.cards[0].users.push(78);
    let last = watch(&mut bench, &mut collector, 15);
    assert_eq!(last.processes.len(), 1);
    let before = bench.reads(FIRST).len();
    watch(&mut bench, &mut collector, 10);
    assert!(bench.reads(FIRST).len() >= before + 10);
}

#[test]
fn the_user_can_have_a_sleeping_device_read_once() {
    let mut bench = Bench::new(vec![Card::new(FIRST).asleep(), Card::new(SECOND).asleep()]);
    let mut collector = Collector::new(bench.facts());
    watch(&mut bench, &mut collector, 5);
    assert!(!bench.loaded);
    let place = PciAddress::parse(SECOND).unwrap();
    collector.wake(&DeviceKey::Pci(place));
    let asked = bench.now_ns;
    // The devices are counted first: another sleeps.
    let counted = refresh(&mut bench, &mut collector);
    assert!(counted.pending && bench.reads(SECOND).is_empty());
    let read = refresh(&mut bench, &mut collector);
    assert!(bench.now_ns < asked + SECOND_NS / 10, "at once");
    assert!(at(&read, SECOND).memory.used.known().is_some());
    assert_eq!(power(at(&read, FIRST)), Some(PowerState::Suspended));
    assert!(!bench.touches(FIRST, 0).iter().any(is_call));
    // Then the usual rules hold again, and it falls asleep.
    let last = watch(&mut bench, &mut collector, 60);
    assert_eq!(bench.reads(SECOND).len(), 1);
    assert_eq!(power(at(&last, SECOND)), Some(PowerState::Suspended));
}

#[test]
fn with_the_option_every_sleeping_device_is_read_once() {
    let mut bench = Bench::new(vec![
        Card::new(FIRST).asleep(),
        Card::new(SECOND).used_by(77),
    ]);
    bench.facts.settings.wake = true;
    let mut collector = Collector::new(bench.facts());
    let last = watch(&mut bench, &mut collector, 2);
    assert!(at(&last, FIRST).memory.used.known().is_some());
    watch(&mut bench, &mut collector, 60);
    assert_eq!(bench.reads(FIRST).len(), 1);
}

#[test]
fn where_the_driver_numbers_otherwise_nothing_is_asked_while_an_unknown_one_sleeps() {
    let cards = vec![
        Card::new(FIRST).used_by(77),
        Card::new(SECOND).asleep(),
        Card::new(THIRD).asleep(),
    ];
    let mut bench = Bench::new(cards);
    bench.slots.reverse();
    let mut collector = Collector::new(bench.facts());
    let last = watch(&mut bench, &mut collector, 5);
    // The first answer contradicts the order, and was the last.
    assert_eq!(bench.reads(THIRD).len(), 1);
    assert!(bench.reads(FIRST).is_empty() && bench.reads(SECOND).is_empty());
    let notice = last
        .notices
        .iter()
        .find(|it| it.code == "device_order_unverified");
    assert_eq!(&*notice.unwrap().subject, SECOND);
    assert_eq!(&*at(&last, FIRST).counter_status, "awake, not read yet");
    // Once it is awake, all slots become known, and the order does not matter any more.
    bench.cards[1].users.push(78);
    watch(&mut bench, &mut collector, 5);
    bench.cards[1].users.clear();
    let last = watch(&mut bench, &mut collector, 60);
    assert_eq!(power(at(&last, SECOND)), Some(PowerState::Suspended));
    assert_eq!(at(&last, FIRST).gpu.known().unwrap().from.at, last.at);
    assert!(
        last.notices
            .iter()
            .all(|it| it.code != "device_order_unverified")
    );
}

#[test]
fn where_the_driver_lists_other_devices_than_the_bus_no_slot_is_asked_while_one_sleeps() {
    // A container was given one of two devices: the one that sleeps, or the other.
    for given in [0, 1] {
        let cards = vec![Card::new(FIRST).used_by(77), Card::new(SECOND).asleep()];
        let mut bench = Bench::new(cards);
        bench.slots = vec![given];
        let mut collector = Collector::new(bench.facts());
        let last = watch(&mut bench, &mut collector, 30);
        assert!(bench.loaded);
        for address in [FIRST, SECOND] {
            let found = bench.touches(address, 0);
            assert!(!found.iter().any(is_call), "{given}: {found:?}");
        }
        assert!(!last.pending);
        let notices: Vec<_> = last.notices.iter().map(|it| it.code).collect();
        assert_eq!(notices, ["device_order_unverified"], "{given}");
        assert_eq!(last.devices.len(), 2);
        assert_eq!(&*at(&last, FIRST).counter_status, "awake, not read yet");
        assert_eq!(&*at(&last, SECOND).counter_status, "asleep");
        // Once none sleeps, what the driver has is read.
        bench.cards[1].users.push(78);
        watch(&mut bench, &mut collector, 5);
        let address = [FIRST, SECOND][given];
        assert!(bench.reads(address).len() >= 4, "{given}");
    }
}

#[test]
fn a_report_is_not_over_before_the_device_that_is_awake_was_read() {
    let cards = vec![Card::new(FIRST).asleep(), Card::new(SECOND).used_by(77)];
    let mut bench = Bench::new(cards);
    let mut collector = Collector::new(bench.facts());
    let mut sweeps = 0;
    let last = loop {
        let plan = collector.plan(Pace::OneShot(SECOND_NS));
        let tick = bench.begin_tick(&plan).unwrap();
        sweeps += u64::from(plan.nvml.is_some());
        let snapshot = collector.tick(&mut bench, tick);
        if !snapshot.pending {
            break snapshot;
        }
        assert!(bench.reads(SECOND).is_empty());
        if sweeps == 1 {
            let device = at(&snapshot, SECOND);
            assert_eq!(&*device.counter_status, "awake, not read yet");
            let nvml = snapshot.sources.iter().find(|it| it.id == "nvml").unwrap();
            assert_eq!(nvml.state, SourceState::Pending);
        }
    };
    assert_eq!(sweeps, 2, "one counts, one reads");
    assert!(bench.now_ns < SECOND_NS + SECOND_NS / 10, "at once");
    assert!(!bench.touches(FIRST, 0).iter().any(is_call));
    assert!(at(&last, SECOND).memory.used.known().is_some());
}

#[test]
fn a_card_that_another_driver_has_takes_no_slot() {
    let mut passed_through = Card::new(FIRST).asleep();
    passed_through.driver = "vfio-pci";
    let cards = vec![
        passed_through,
        Card::new(SECOND).asleep(),
        Card::new(THIRD).used_by(77),
    ];
    let mut bench = Bench::new(cards);
    bench.slots = vec![1, 2];
    let mut collector = Collector::new(bench.facts());
    let last = watch(&mut bench, &mut collector, 30);
    assert!(!bench.touches(SECOND, 0).iter().any(is_call));
    assert!(bench.reads(THIRD).len() >= 30);
    assert_eq!(last.devices.len(), 2);
}

#[test]
fn a_device_of_which_the_kernel_does_not_tell_whether_it_sleeps_is_not_touched() {
    let mut untold = Card::new(SECOND);
    untold.is_told = false;
    let mut bench = Bench::new(vec![Card::new(FIRST).used_by(77), untold]);
    let mut collector = Collector::new(bench.facts());
    let last = watch(&mut bench, &mut collector, 60);
    let found = bench.touches(SECOND, 0);
    assert!(!found.iter().any(is_call), "{found:?}");
    assert!(bench.reads(FIRST).len() >= 50);
    let device = at(&last, SECOND);
    assert_eq!(device.power_state.gap(), Some(Gap::PowerUnknown));
    assert_eq!(device.memory.used.gap(), Some(Gap::PowerUnknown));
    assert!(
        device
            .counter_status
            .contains("whether it sleeps cannot be told")
    );
    let notices = last.notices.iter();
    let notices: Vec<_> = notices.filter(|it| it.code == "power_unknown").collect();
    assert_eq!(notices.len(), 1);
    assert_eq!(&*notices[0].subject, SECOND);
    // The user may have it read all the same.
    collector.wake(&DeviceKey::Pci(PciAddress::parse(SECOND).unwrap()));
    let last = watch(&mut bench, &mut collector, 2);
    assert!(at(&last, SECOND).memory.used.known().is_some());
    assert_eq!(bench.reads(SECOND).len(), 1);
    // Once it is told that it is awake, the usual rules hold.
    bench.cards[1].is_told = true;
    bench.cards[1].users.push(78);
    let last = watch(&mut bench, &mut collector, 30);
    assert_eq!(power(at(&last, SECOND)), Some(PowerState::Active));
    assert!(
        bench.reads(SECOND).len() >= 10,
        "{:?} {}",
        bench.reads(SECOND),
        at(&last, SECOND).counter_status
    );
}

#[test]
fn where_no_device_is_known_to_be_awake_the_driver_is_not_loaded() {
    let mut untold = Card::new(FIRST);
    untold.is_told = false;
    let mut bench = Bench::new(vec![untold, Card::new(SECOND).asleep()]);
    let mut collector = Collector::new(bench.facts());
    let last = watch(&mut bench, &mut collector, 30);
    assert!(!bench.loaded);
    let nvml = last
        .sources
        .iter()
        .find(|source| source.id == "nvml")
        .unwrap();
    assert_eq!(nvml.state, SourceState::Skipped);
    assert!(nvml.detail.contains("asleep or may be"), "{}", nvml.detail);
}
