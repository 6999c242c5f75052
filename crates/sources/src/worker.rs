//! A driver's thread: a plan in, a sweep out, and what happens when a call does not return.
//!
//! A sweep that takes too long while it is inside one device has its thread retired: it is left alone, its result
//! will be dropped, and a new thread asks the other devices until the old call returns. A sweep that hangs outside
//! of a device has no such way out; nothing more is started until it returns. No thread is ever joined.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use model::{Gap, Stamp};
use raw::{Published, Stamped};

use crate::bell::{Bell, locked};
use crate::clock;

#[cfg(test)]
mod tests;

/// How long a sweep may take, nanoseconds. A healthy one takes milliseconds.
const USUAL_NS: u64 = 2_000_000_000;

/// How long initialising a library or a device may take. Without persistence mode a device takes seconds.
const FIRST_NS: u64 = 20_000_000_000;

/// Threads of one driver that may hang in calls at the same time. Each keeps a stack and a driver handle; more than
/// a few hung devices are a hung driver.
const MAX_RETIRED: usize = 4;

/// How long ending the session may hold up the end of the program.
const CLOSE_NS: u64 = 200_000_000;

/// What a worker's thread does.
pub(crate) trait Driver: Send + 'static {
    type Plan: Send + 'static;
    type Sweep: Send + Sync + 'static;

    /// Asks what the plan says, except on the devices in `skipped`; tells `progress` where it is.
    fn sweep(
        &mut self,
        plan: &Self::Plan,
        skipped: &BTreeSet<u32>,
        progress: &Progress,
    ) -> Result<Self::Sweep, Retired>;

    /// Ends the session. Called on an idle thread, once.
    fn close(&mut self);
}

/// This thread has been given up and must stop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Retired;

/// Where a sweep is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Place {
    /// In calls on the driver as a whole.
    Whole,
    /// In calls on the device in this slot.
    Device(u32),
}

/// How long the next step may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Patience {
    /// Within the sweep's time.
    Usual,
    /// It may initialise something: a time of its own, after which the sweep's time starts again.
    First,
}

/// Where one thread's sweep is, and until when it may be there.
#[derive(Debug)]
pub(crate) struct Progress(Mutex<Step>);

#[derive(Debug)]
struct Step {
    place: Place,
    patience: Patience,
    limit_ns: u64,
    retired: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Step {
            place: Place::Whole,
            patience: Patience::Usual,
            limit_ns: u64::MAX,
            retired: false,
        }))
    }

    fn start(&self) {
        let mut step = locked(&self.0);
        step.place = Place::Whole;
        step.patience = Patience::Usual;
        step.limit_ns = clock::monotonic_ns().saturating_add(USUAL_NS);
    }

    /// Says where the sweep goes next.
    pub(crate) fn enter(&self, place: Place, patience: Patience) -> Result<(), Retired> {
        let mut step = locked(&self.0);
        if step.retired {
            return Err(Retired);
        }
        let allowed = match (step.patience, patience) {
            (_, Patience::First) => Some(FIRST_NS),
            (Patience::First, Patience::Usual) => Some(USUAL_NS),
            (Patience::Usual, Patience::Usual) => None,
        };
        if let Some(allowed) = allowed {
            step.limit_ns = clock::monotonic_ns().saturating_add(allowed);
        }
        (step.place, step.patience) = (place, patience);
        Ok(())
    }

    /// Whether to go on; asked after every call that may have hung.
    pub(crate) fn check(&self) -> Result<(), Retired> {
        if locked(&self.0).retired {
            return Err(Retired);
        }
        Ok(())
    }

    /// Gives the thread up if it is inside a device, and says in which.
    fn retire(&self) -> Option<u32> {
        let mut step = locked(&self.0);
        match step.place {
            Place::Whole => None,
            Place::Device(slot) => {
                step.retired = true;
                Some(slot)
            }
        }
    }

    fn place(&self) -> Place {
        locked(&self.0).place
    }

    fn limit_ns(&self) -> u64 {
        locked(&self.0).limit_ns
    }
}

struct State<D: Driver> {
    plan: Option<(D::Plan, u64)>,
    running: Option<Running>,
    published: Option<Result<Stamped<Arc<D::Sweep>>, Gap>>,
    has_thread: bool,
    /// When the thread will look for a plan by itself; 0 while it is busy.
    wakes_at_ns: u64,
    /// Devices in which retired threads hang, one each.
    hung: BTreeSet<u32>,
    quit: bool,
    /// The thread was idle when it was told to end: it ends the session.
    close: bool,
    closed: bool,
}

struct Running {
    since: Stamp,
    progress: Arc<Progress>,
}

struct Shared<D: Driver> {
    state: Mutex<State<D>>,
    work: Condvar,
    bell: Arc<Bell>,
}

/// The side of the sampling thread.
pub(crate) struct Worker<D: Driver> {
    shared: Arc<Shared<D>>,
    make: Box<dyn Fn() -> D + Send>,
    overdue: Option<Stamp>,
}

impl<D: Driver> Worker<D> {
    /// `make` gives each thread its driver. Nothing is started yet.
    pub(crate) fn new(bell: Arc<Bell>, make: impl Fn() -> D + Send + 'static) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    plan: None,
                    running: None,
                    published: None,
                    has_thread: false,
                    wakes_at_ns: 0,
                    hung: BTreeSet::new(),
                    quit: false,
                    close: false,
                    closed: false,
                }),
                work: Condvar::new(),
                bell,
            }),
            make: Box::new(make),
            overdue: None,
        }
    }

    /// Hands out a plan, to be started at `not_before_ns` or when the sweep that is running ends. The newest plan
    /// replaces one that has not been started.
    pub(crate) fn ask(&self, plan: D::Plan, not_before_ns: u64) {
        let mut state = locked(&self.shared.state);
        state.plan = Some((plan, not_before_ns));
        if !state.has_thread {
            self.spawn(&mut state);
            return;
        }
        let wakes_in_time = state.wakes_at_ns <= not_before_ns;
        drop(state);
        if !wakes_in_time {
            self.shared.work.notify_one();
        }
    }

    /// Starts a plan that waits for its time.
    pub(crate) fn start_now(&self) {
        let mut state = locked(&self.shared.state);
        if let Some((_, not_before_ns)) = &mut state.plan {
            *not_before_ns = 0;
            drop(state);
            self.shared.work.notify_one();
        }
    }

    /// Whether waiting may bring a sweep.
    pub(crate) fn is_expected(&self, now_ns: u64) -> bool {
        let state = locked(&self.shared.state);
        match &state.running {
            Some(running) => now_ns <= running.progress.limit_ns(),
            None => state.plan.is_some(),
        }
    }

    /// When the running sweep has taken too long.
    pub(crate) fn limit_ns(&self) -> Option<u64> {
        let state = locked(&self.shared.state);
        Some(state.running.as_ref()?.progress.limit_ns())
    }

    /// Retires the thread of a sweep that has taken too long.
    pub(crate) fn check(&self, now_ns: u64) {
        let mut state = locked(&self.shared.state);
        let Some(running) = &state.running else {
            return;
        };
        if now_ns <= running.progress.limit_ns() || state.hung.len() >= MAX_RETIRED {
            return;
        }
        if let Some(slot) = running.progress.retire() {
            state.hung.insert(slot);
            state.running = None;
            self.spawn(&mut state);
        }
    }

    /// What has been published since the last call.
    pub(crate) fn take(&mut self) -> Published<D::Sweep> {
        let mut state = locked(&self.shared.state);
        if let Some(published) = state.published.take() {
            self.overdue = None;
            return published.map_or_else(Published::Missing, Published::New);
        }
        let since = match (&state.running, &state.plan) {
            (Some(running), _) => running.since,
            (None, Some(_)) => clock::stamp(),
            (None, None) => return Published::NotAsked,
        };
        Published::Overdue(*self.overdue.get_or_insert(since))
    }

    fn spawn(&self, state: &mut State<D>) {
        let shared = Arc::clone(&self.shared);
        let driver = (self.make)();
        let started = thread::Builder::new()
            .name("driver".to_owned())
            .spawn(move || work(&shared, driver));
        state.has_thread = started.is_ok();
        if started.is_err() {
            state.plan = None;
            state.published = Some(Err(Gap::Internal));
        }
    }
}

impl<D: Driver> Drop for Worker<D> {
    /// Lets an idle thread end its session, within [`CLOSE_NS`]. With a thread in a call the session stays open:
    /// ending it could hang or pull the ground from under that call.
    fn drop(&mut self) {
        let mut state = locked(&self.shared.state);
        state.quit = true;
        state.close = state.has_thread && state.running.is_none() && state.hung.is_empty();
        self.shared.work.notify_all();
        if !state.close {
            return;
        }
        let until = clock::monotonic_ns().saturating_add(CLOSE_NS);
        while !state.closed {
            let left = until.saturating_sub(clock::monotonic_ns());
            if left == 0 {
                return;
            }
            state = waited(&self.shared.work, state, left);
        }
    }
}

fn waited<'a, T>(
    condition: &Condvar,
    guard: std::sync::MutexGuard<'a, T>,
    nanoseconds: u64,
) -> std::sync::MutexGuard<'a, T> {
    condition
        .wait_timeout(guard, Duration::from_nanos(nanoseconds))
        .unwrap_or_else(PoisonError::into_inner)
        .0
}

/// The thread.
fn work<D: Driver>(shared: &Shared<D>, mut driver: D) {
    let progress = Arc::new(Progress::new());
    let mut rhythm = Rhythm::default();
    while let Some((plan, skipped)) = next_plan(shared, &progress, &mut rhythm) {
        let result = catch_unwind(AssertUnwindSafe(|| {
            driver.sweep(&plan, &skipped, &progress)
        }));
        let at = clock::stamp();
        let mut state = locked(&shared.state);
        if let Err(Retired) = progress.check() {
            // The call has returned: the device may be asked again.
            if let Place::Device(slot) = progress.place() {
                state.hung.remove(&slot);
            }
            drop(state);
            shared.bell.ring();
            return;
        }
        state.running = None;
        state.published = Some(match result {
            Ok(Ok(sweep)) => Ok(Stamped {
                at,
                value: Arc::new(sweep),
            }),
            Ok(Err(Retired)) | Err(_) => Err(Gap::Internal),
        });
        drop(state);
        shared.bell.ring();
    }
    // Not if the end was asked for during a sweep: the program may be past waiting for this.
    let idle = locked(&shared.state).close;
    if idle {
        driver.close();
    }
    locked(&shared.state).closed = true;
    shared.work.notify_all();
}

/// Waits for a plan and its time; nothing if the worker is gone.
fn next_plan<D: Driver>(
    shared: &Shared<D>,
    progress: &Arc<Progress>,
    rhythm: &mut Rhythm,
) -> Option<(D::Plan, BTreeSet<u32>)> {
    let mut state = locked(&shared.state);
    let mut expected = rhythm.next_ns();
    loop {
        if state.quit {
            return None;
        }
        let now = clock::monotonic_ns();
        state.wakes_at_ns = match &state.plan {
            Some((_, not_before_ns)) if *not_before_ns <= now => break,
            Some((_, not_before_ns)) => *not_before_ns,
            None => match expected.take() {
                Some(expected) if expected > now => expected,
                _ => u64::MAX,
            },
        };
        state = if state.wakes_at_ns == u64::MAX {
            shared
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner)
        } else {
            let left = state.wakes_at_ns.saturating_sub(now);
            waited(&shared.work, state, left)
        };
    }
    state.wakes_at_ns = 0;
    let (plan, not_before_ns) = state.plan.take()?;
    rhythm.beat(not_before_ns);
    progress.start();
    state.running = Some(Running {
        since: clock::stamp(),
        progress: Arc::clone(progress),
    });
    Some((plan, state.hung.clone()))
}

/// When plans have been due. They come evenly, so that the thread can sleep until the next one before it has been
/// handed out, instead of being woken twice for each.
#[derive(Debug, Default)]
struct Rhythm {
    last_ns: u64,
    interval_ns: u64,
}

impl Rhythm {
    fn beat(&mut self, due_ns: u64) {
        self.interval_ns = match self.last_ns {
            0 => 0,
            last => due_ns.saturating_sub(last),
        };
        self.last_ns = due_ns;
    }

    fn next_ns(&self) -> Option<u64> {
        (self.interval_ns > 0).then(|| self.last_ns.saturating_add(self.interval_ns))
    }
}
