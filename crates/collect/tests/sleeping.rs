//! Sleeping devices stay asleep, and idle ones can fall asleep while they are watched: every file that is opened and
//! every call of the driver is counted for each device, on a machine whose kernel suspends what nobody touches.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;

use collect::{Collector, Pace};
use model::{
    Device, DeviceKey, Gap, Origin, OriginKind, PciAddress, PowerState, Snapshot, SourceState,
    Stamp,
};
use raw::nvml::{
    CallAnswer, DeviceCall, DeviceSweep, Groups, Library, NvmlPlan, NvmlSweep, Output, ProcessRow,
    SystemCall, code,
};
use raw::{
    Answer, Ended, Inline, Machine, MachineFacts, Published, Question, Reply, Settings, Stamped,
    Tick, TickPlan,
};

const SECOND_NS: u64 = 1_000_000_000;
/// After so long without a user and a call the simulated kernel suspends a device.
const AUTOSUSPEND_NS: u64 = 10 * SECOND_NS;
/// 2027-01-15, so that wall clocks are plausible.
const EPOCH_US: i64 = 1_800_000_000_000_000;

/// A GPU on the bus.
struct Card {
    address: &'static str,
    driver: &'static str,
    auto: bool,
    suspended: bool,
    /// Numbers of the processes that use it: it is not suspended meanwhile.
    users: Vec<u32>,
    touched_ns: u64,
}

impl Card {
    fn new(address: &'static str) -> Self {
        Self {
            address,
            driver: "nvidia",
            auto: true,
            suspended: false,
            users: Vec::new(),
            touched_ns: 0,
        }
    }

    fn asleep(mut self) -> Self {
        self.suspended = true;
        self
    }

    fn used_by(mut self, pid: u32) -> Self {
        self.users.push(pid);
        self
    }
}

/// What was done to a device.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Touch {
    /// A file of it was opened.
    File(String),
    /// Its handle was asked for, or a call was made with it.
    Call(&'static str),
}

struct Bench {
    facts: MachineFacts,
    cards: Vec<Card>,
    /// The card in each slot of the driver.
    slots: Vec<usize>,
    now_ns: u64,
    ticks: u64,
    published: Published<NvmlSweep>,
    /// Whether the library was loaded.
    loaded: bool,
    touches: Vec<(u64, &'static str, Touch)>,
}

impl Bench {
    fn new(cards: Vec<Card>) -> Self {
        Self {
            facts: MachineFacts {
                os: "linux".into(),
                origin: Origin {
                    kind: OriginKind::Synthetic,
                    note: None,
                },
                clock_ticks: 100,
                privileged: Some(false),
                settings: Settings::default(),
                nvml_names: vec!["libnvidia-ml.so.1".into()],
            },
            slots: (0..cards.len()).collect(),
            cards,
            now_ns: SECOND_NS,
            ticks: 0,
            published: Published::NotAsked,
            loaded: false,
            touches: Vec::new(),
        }
    }

    fn now(&self) -> Stamp {
        Stamp {
            mono_ns: self.now_ns,
            wall_us: EPOCH_US + i64::try_from(self.now_ns / 1000).unwrap(),
        }
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "an answer is what the machine hands out"
    )]
    fn answered<T>(&self, value: T) -> Answer<T> {
        Ok(Stamped {
            at: self.now(),
            value,
        })
    }

    fn call(&self, rc: i32, out: Output) -> Answer<CallAnswer> {
        self.answered(CallAnswer { rc, sym: 3, out })
    }

    /// What the kernel does while time passes.
    fn pass_to(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        for card in &mut self.cards {
            let idle_ns = now_ns.saturating_sub(card.touched_ns);
            if !card.users.is_empty() {
                card.suspended = false;
            } else if card.auto && idle_ns > AUTOSUSPEND_NS {
                card.suspended = true;
            }
        }
    }

    fn touch(&mut self, card: usize, call: &'static str) {
        let now_ns = self.now_ns;
        let card = &mut self.cards[card];
        // The driver wakes what it is asked about.
        card.suspended = false;
        card.touched_ns = now_ns;
        self.touches.push((now_ns, card.address, Touch::Call(call)));
    }

    fn sweep(&mut self, plan: &NvmlPlan) -> NvmlSweep {
        self.loaded = true;
        let slots = self.slots.clone();
        let devices = slots.iter().zip(0_u32..).map(|(card, slot)| {
            if plan.untouched.contains(&slot) {
                return DeviceSweep {
                    slot,
                    asked: Groups::empty(),
                    handle: Err(Gap::Asleep),
                    calls: Vec::new(),
                    mig: None,
                };
            }
            let known = plan.samples_after.iter().any(|(known, _)| *known == slot);
            let asked = if known { plan.groups } else { Groups::all() };
            self.touch(*card, "GetHandleByIndex");
            let mut calls = Vec::new();
            for call in DeviceCall::ALL.iter().filter(|c| asked.contains(c.group())) {
                self.touch(*card, call.name());
                calls.push((*call, self.device_call(*card, *call)));
            }
            DeviceSweep {
                slot,
                asked,
                handle: raw::nvml::succeeded(self.now()),
                calls,
                mig: None,
            }
        });
        let devices: Vec<DeviceSweep> = devices.collect();
        let count = i64::try_from(slots.len()).unwrap();
        NvmlSweep {
            library: self.answered(Library::Ready { name: "lib".into() }),
            system: vec![(
                SystemCall::DeviceCount,
                self.call(code::SUCCESS, Output::Number(count)),
            )],
            devices,
        }
    }

    fn device_call(&self, card: usize, call: DeviceCall) -> Answer<CallAnswer> {
        let card = &self.cards[card];
        let rows = || {
            let users = card.users.iter();
            users.map(|pid| ProcessRow {
                pid: *pid,
                mem: 1 << 30,
                gi: u32::MAX,
                ci: u32::MAX,
            })
        };
        let out = match call {
            DeviceCall::Name => Output::Text(format!("Card at {}", card.address).into()),
            DeviceCall::PciInfo => Output::Text(format!("0000{}", card.address).into()),
            DeviceCall::MemoryInfo => Output::Numbers(vec![16 << 30, 0, 12 << 30, 4 << 30]),
            DeviceCall::UtilizationRates => Output::Numbers(vec![0, 0]),
            DeviceCall::ComputeProcesses => Output::Processes(rows().collect()),
            DeviceCall::GraphicsProcesses | DeviceCall::MpsProcesses => {
                Output::Processes(Vec::new())
            }
            _ => return self.call(code::NOT_SUPPORTED, Output::Nothing),
        };
        self.call(code::SUCCESS, out)
    }

    /// What was done to the card since then.
    fn touches(&self, address: &str, since_ns: u64) -> Vec<Touch> {
        let all = self.touches.iter();
        all.filter(|(at, card, _)| *card == address && *at >= since_ns)
            .map(|(_, _, touch)| touch.clone())
            .collect()
    }

    /// Moments at which the driver was asked for its handle.
    fn reads(&self, address: &str) -> Vec<u64> {
        let all = self.touches.iter();
        all.filter(|(_, card, touch)| *card == address && *touch == Touch::Call("GetHandleByIndex"))
            .map(|(at, ..)| *at)
            .collect()
    }
}

impl Machine for Bench {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    fn begin_tick(&mut self, plan: &TickPlan) -> Result<Tick, Ended> {
        self.pass_to(plan.not_before_ns.max(self.now_ns + 1_000_000));
        self.published = match &plan.nvml {
            Some(asked) => {
                let sweep = Arc::new(self.sweep(asked));
                Published::New(Stamped {
                    at: self.now(),
                    value: sweep,
                })
            }
            None => Published::NotAsked,
        };
        self.ticks += 1;
        Ok(Tick {
            number: self.ticks,
            now: self.now(),
        })
    }

    fn nvml(&mut self) -> Published<NvmlSweep> {
        self.published.clone()
    }

    fn inline(&mut self, question: &Inline) -> Answer<Reply> {
        let path = match question {
            Inline::Names(path) if &**path == "/sys/bus/pci/devices" => {
                let cards = self.cards.iter().map(|card| card.address.into());
                let names = ["0000:00:00.0".into()].into_iter().chain(cards);
                return self.answered(Reply::Names(names.collect()));
            }
            Inline::Small(path) => path.to_string(),
            _ => return Err(Gap::NotPresent),
        };
        if path == "/sys/bus/pci/devices/0000:00:00.0/class" {
            return self.answered(Reply::text("0x060000\n"));
        }
        let file = path.strip_prefix("/sys/bus/pci/devices/");
        let Some((address, file)) = file.and_then(|it| it.split_once('/')) else {
            return Err(Gap::NotPresent);
        };
        let Some(card) = self.cards.iter().find(|card| card.address == address) else {
            return Err(Gap::NotPresent);
        };
        let text = match file {
            "class" => "0x030200\n".to_owned(),
            "vendor" => "0x10de\n".to_owned(),
            "uevent" => format!("DRIVER={}\nPCI_CLASS=30200\n", card.driver),
            "power/runtime_status" if card.suspended => "suspended\n".to_owned(),
            "power/runtime_status" => "active\n".to_owned(),
            "power/control" if card.auto => "auto\n".to_owned(),
            "power/control" => "on\n".to_owned(),
            _ => panic!("{path} is no file that this program reads"),
        };
        let touch = Touch::File(file.to_owned());
        self.touches.push((self.now_ns, card.address, touch));
        self.answered(Reply::text(&text))
    }

    fn post(&mut self, _question: &Question) -> Answer<Reply> {
        Err(Gap::NotPresent)
    }
}

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
