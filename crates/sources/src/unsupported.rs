//! The machine on platforms whose readers do not exist yet: every question has the answer "not present", but
//! for files that the user named.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::{Gap, Origin, OriginKind, Stamp};
use raw::nvml::NvmlSweep;
use raw::{
    Answer, Ended, Inline, Machine, MachineFacts, Published, Question, Reply, Stamped, Tick,
    TickPlan,
};

use crate::Options;
use crate::plain_files;

/// A machine that is not read.
#[derive(Debug)]
pub struct LiveMachine {
    facts: MachineFacts,
    started: Instant,
    alarm: Arc<Alarm>,
    ticks: u64,
}

#[derive(Debug, Default)]
struct Alarm {
    woken: AtomicBool,
    lock: Mutex<()>,
    rung: Condvar,
}

/// Ends the wait of [`Machine::begin_tick`] from another thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Alarm>);

impl Waker {
    /// Starts the refresh that is being waited for now, or the next one at once.
    pub fn wake(&self) {
        let _held = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.woken.store(true, Ordering::Relaxed);
        self.0.rung.notify_all();
    }
}

impl LiveMachine {
    /// The machine the program runs on.
    pub fn new(options: Options) -> Self {
        Self {
            facts: MachineFacts {
                os: std::env::consts::OS.into(),
                origin: Origin {
                    kind: OriginKind::Live,
                    note: None,
                },
                clock_ticks: 100,
                privileged: None,
                settings: options.settings,
                nvml_names: Vec::new(),
            },
            started: Instant::now(),
            alarm: Arc::default(),
            ticks: 0,
        }
    }

    /// A handle with which other threads end the wait for the next refresh.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.alarm))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the clock of machines that are not read"
    )]
    fn now(&self) -> Stamp {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Stamp {
            mono_ns: u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
            wall_us: since_1970.map_or(0, |time| {
                i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
            }),
        }
    }

    fn wait_until(&self, not_before_ns: u64) {
        let mut held = self
            .alarm
            .lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = not_before_ns.saturating_sub(self.now().mono_ns);
            if left == 0 || self.alarm.woken.swap(false, Ordering::Relaxed) {
                return;
            }
            held = self
                .alarm
                .rung
                .wait_timeout(held, Duration::from_nanos(left))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Machine for LiveMachine {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    fn begin_tick(&mut self, plan: &TickPlan) -> Result<Tick, Ended> {
        if !plan.early_when_answered {
            self.wait_until(plan.not_before_ns);
        }
        self.ticks += 1;
        Ok(Tick {
            number: self.ticks,
            now: self.now(),
            extra: plan.extra,
        })
    }

    fn nvml(&mut self) -> Published<NvmlSweep> {
        Published::NotAsked
    }

    fn inline(&mut self, _question: &Inline) -> Answer<Reply> {
        Err(Gap::NotPresent)
    }

    /// Files that the user named can be read here too.
    fn post(&mut self, question: &Question) -> Answer<Reply> {
        let value = plain_files::read(question)?;
        let at = self.now();
        Ok(Stamped { at, value })
    }
}
