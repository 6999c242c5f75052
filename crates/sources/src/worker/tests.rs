use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

const SLOTS: u32 = 6;
/// Longest wait of a test for something that must happen.
const LONG_NS: u64 = 20_000_000_000;
const FAR: u64 = u64::MAX - 1;

/// Where sweeps are to stop, and word of where they are.
struct Script {
    blocked: Mutex<BTreeSet<Place>>,
    changed: Condvar,
    entered: Mutex<Sender<(Place, u32)>>,
}

impl Script {
    fn block(&self, place: Place) {
        locked(&self.blocked).insert(place);
    }

    fn release(&self, place: Place) {
        locked(&self.blocked).remove(&place);
        self.changed.notify_all();
    }

    fn pass(&self, place: Place, plan: u32) {
        locked(&self.entered).send((place, plan)).unwrap();
        let mut blocked = locked(&self.blocked);
        while blocked.contains(&place) {
            blocked = self.changed.wait(blocked).unwrap();
        }
    }
}

#[derive(Clone)]
struct Scripted(Arc<Script>);

impl Driver for Scripted {
    type Plan = u32;
    type Sweep = (u32, Vec<u32>);

    fn sweep(
        &mut self,
        plan: &u32,
        skipped: &BTreeSet<u32>,
        progress: &Progress,
    ) -> Result<Self::Sweep, Retired> {
        progress.enter(Place::Whole, Patience::Usual)?;
        self.0.pass(Place::Whole, *plan);
        assert_ne!(*plan, 13, "a plan that this driver cannot bear");
        let mut seen = Vec::new();
        for slot in (0..SLOTS).filter(|slot| !skipped.contains(slot)) {
            progress.enter(Place::Device(slot), Patience::Usual)?;
            self.0.pass(Place::Device(slot), *plan);
            progress.check()?;
            seen.push(slot);
        }
        Ok((*plan, seen))
    }

    fn close(&mut self) {
        self.0.pass(Place::Whole, 0);
    }
}

struct Rig {
    bell: Arc<Bell>,
    script: Arc<Script>,
    entered: Receiver<(Place, u32)>,
    worker: Worker<Scripted>,
}

fn rig() -> Rig {
    let bell = Arc::<Bell>::default();
    let (sender, entered) = channel();
    let script = Arc::new(Script {
        blocked: Mutex::default(),
        changed: Condvar::new(),
        entered: Mutex::new(sender),
    });
    let driver = Scripted(Arc::clone(&script));
    let worker = Worker::new(Arc::clone(&bell), move || driver.clone());
    Rig {
        bell,
        script,
        entered,
        worker,
    }
}

impl Rig {
    fn wait_until(&mut self, what: &str, mut done: impl FnMut(&mut Worker<Scripted>) -> bool) {
        let until = clock::monotonic_ns() + LONG_NS;
        loop {
            let heard = self.bell.rings();
            if done(&mut self.worker) {
                return;
            }
            let now = clock::monotonic_ns();
            assert!(now < until, "{what}");
            self.bell.wait(heard, until - now);
        }
    }

    fn sweep(&mut self, plan: u32) -> Vec<u32> {
        self.worker.ask(plan, 0);
        let mut swept = None;
        self.wait_until("a sweep", |worker| {
            swept = match worker.take() {
                Published::New(sweep) => Some(sweep.value),
                _ => None,
            };
            swept.is_some()
        });
        let swept = swept.unwrap();
        assert_eq!(swept.0, plan);
        swept.1.clone()
    }

    fn wait_for_entry(&self, place: Place, plan: u32) {
        let long = Duration::from_nanos(LONG_NS);
        while self.entered.recv_timeout(long).unwrap() != (place, plan) {}
    }

    /// Starts a sweep that hangs in this device, and gives it up.
    fn hang_in(&self, slot: u32, plan: u32) {
        self.script.block(Place::Device(slot));
        self.worker.ask(plan, 0);
        self.wait_for_entry(Place::Device(slot), plan);
        self.worker.check(FAR);
    }

    fn hung(&self) -> Vec<u32> {
        locked(&self.worker.shared.state)
            .hung
            .iter()
            .copied()
            .collect()
    }
}

#[test]
fn nothing_is_started_before_it_is_asked() {
    let mut rig = rig();
    assert!(matches!(rig.worker.take(), Published::NotAsked));
    assert!(!rig.worker.is_expected(0));
    assert!(!locked(&rig.worker.shared.state).has_thread);
}

#[test]
fn a_sweep_is_handed_out_once_with_its_own_stamp() {
    let mut rig = rig();
    let before = clock::monotonic_ns();
    rig.worker.ask(1, 0);
    let mut at = 0;
    rig.wait_until("a sweep", |worker| match worker.take() {
        Published::New(sweep) => {
            at = sweep.at.mono_ns;
            true
        }
        _ => false,
    });
    assert!(at >= before && at <= clock::monotonic_ns());
    assert!(matches!(rig.worker.take(), Published::NotAsked));
}

#[test]
fn a_hanging_device_does_not_stop_the_others() {
    let mut rig = rig();
    rig.hang_in(2, 1);
    assert_eq!(rig.sweep(2), [0, 1, 3, 4, 5]);
    assert_eq!(rig.sweep(3), [0, 1, 3, 4, 5]);
    rig.script.release(Place::Device(2));
    rig.wait_until("the end of the hang", |worker| {
        locked(&worker.shared.state).hung.is_empty()
    });
    // What the old sweep found is not handed out.
    assert!(matches!(rig.worker.take(), Published::NotAsked));
    assert_eq!(rig.sweep(4), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_hang_outside_of_a_device_starts_nothing_more() {
    let mut rig = rig();
    rig.script.block(Place::Whole);
    rig.worker.ask(1, 0);
    rig.wait_for_entry(Place::Whole, 1);
    rig.worker.check(FAR);
    rig.worker.ask(2, 0);
    assert!(!rig.worker.is_expected(FAR));
    let Published::Overdue(since) = rig.worker.take() else {
        panic!("not overdue")
    };
    assert!(matches!(rig.worker.take(), Published::Overdue(same) if same == since));
    assert!(rig.hung().is_empty());
    rig.script.release(Place::Whole);
    let mut plans = Vec::new();
    rig.wait_until("both sweeps", |worker| {
        if let Published::New(sweep) = worker.take() {
            plans.push(sweep.value.0);
        }
        plans.last() == Some(&2)
    });
}

#[test]
fn four_threads_are_retired_and_then_the_driver_hangs() {
    let mut rig = rig();
    for slot in 0..4 {
        rig.hang_in(slot, slot);
    }
    assert_eq!(rig.hung(), [0, 1, 2, 3]);
    assert_eq!(rig.sweep(9), [4, 5]);
    rig.hang_in(4, 10);
    assert_eq!(rig.hung(), [0, 1, 2, 3]);
    assert!(matches!(rig.worker.take(), Published::Overdue(_)));
    assert!(!rig.worker.is_expected(FAR));
    // It goes on if the calls return after all.
    for slot in 0..5 {
        rig.script.release(Place::Device(slot));
    }
    rig.wait_until("the end of the hangs", |worker| {
        let hung = locked(&worker.shared.state).hung.len();
        hung == 0 && matches!(worker.take(), Published::New(_))
    });
    assert_eq!(rig.sweep(11), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn the_newest_plan_is_done_next() {
    let mut rig = rig();
    rig.script.block(Place::Device(0));
    rig.worker.ask(1, 0);
    rig.wait_for_entry(Place::Device(0), 1);
    rig.worker.ask(2, 0);
    rig.worker.ask(3, 0);
    rig.script.release(Place::Device(0));
    rig.wait_until(
        "the last plan",
        |worker| matches!(worker.take(), Published::New(sweep) if sweep.value.0 == 3),
    );
    let plans: BTreeSet<u32> = rig.entered.try_iter().map(|(_, plan)| plan).collect();
    assert_eq!(plans, BTreeSet::from([1, 3]));
}

#[test]
fn a_plan_waits_for_its_time_unless_started_now() {
    let mut rig = rig();
    let in_an_hour = clock::monotonic_ns() + 3_600_000_000_000;
    rig.worker.ask(1, in_an_hour);
    assert!(rig.worker.is_expected(0));
    assert!(rig.entered.try_recv().is_err());
    rig.worker.start_now();
    rig.wait_until("the sweep", |worker| {
        matches!(worker.take(), Published::New(_))
    });
}

#[test]
fn a_panic_is_a_missing_sweep_and_the_next_one_comes() {
    let mut rig = rig();
    rig.worker.ask(13, 0);
    rig.wait_until("the failed sweep", |worker| {
        matches!(worker.take(), Published::Missing(Gap::Internal))
    });
    assert_eq!(rig.sweep(14).len(), 6);
}

#[test]
fn a_first_step_has_its_own_time_and_the_sweep_starts_again_after_it() {
    let progress = Progress::new();
    let now = clock::monotonic_ns();
    progress.start();
    let usual = progress.limit_ns();
    assert!(usual >= now + USUAL_NS && usual < now + FIRST_NS);
    progress.enter(Place::Device(0), Patience::Usual).unwrap();
    assert_eq!(progress.limit_ns(), usual);
    progress.enter(Place::Device(1), Patience::First).unwrap();
    assert!(progress.limit_ns() >= now + FIRST_NS);
    progress.enter(Place::Device(1), Patience::Usual).unwrap();
    assert!(progress.limit_ns() >= usual && progress.limit_ns() < now + FIRST_NS);
}

#[test]
fn an_idle_worker_ends_its_session_and_a_hanging_one_is_left_alone() {
    let mut idle = rig();
    idle.sweep(1);
    let Rig {
        worker, entered, ..
    } = idle;
    drop(worker);
    assert_eq!(entered.try_iter().last(), Some((Place::Whole, 0)));

    let hanging = rig();
    hanging.script.block(Place::Whole);
    hanging.worker.ask(1, 0);
    hanging.wait_for_entry(Place::Whole, 1);
    let Rig {
        worker,
        entered,
        script,
        ..
    } = hanging;
    drop(worker);
    script.release(Place::Whole);
    drop(script);
    // The thread ends without ending the session.
    assert!(entered.iter().all(|(_, plan)| plan == 1));
}

#[test]
fn a_session_in_which_a_thread_hangs_is_not_ended() {
    let mut rig = rig();
    rig.hang_in(2, 1);
    rig.sweep(2);
    let Rig {
        worker,
        entered,
        script,
        ..
    } = rig;
    drop(worker);
    script.release(Place::Device(2));
    drop(script);
    assert!(entered.iter().all(|(_, plan)| plan != 0));
}

#[test]
fn the_next_plan_is_expected_at_the_interval_of_the_last_two() {
    let mut rhythm = Rhythm::default();
    assert_eq!(rhythm.next_ns(), None);
    rhythm.beat(1_000);
    assert_eq!(rhythm.next_ns(), None);
    rhythm.beat(3_000);
    assert_eq!(rhythm.next_ns(), Some(5_000));
    rhythm.beat(0);
    assert_eq!(rhythm.next_ns(), None);
}
