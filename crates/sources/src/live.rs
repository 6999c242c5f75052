//! The machine the program runs on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Gap, Origin, OriginKind, Text};
use raw::drm::DrmSweep;
use raw::nvml::NvmlSweep;
use raw::{
    Answer, Ended, Inline, Machine, MachineFacts, Published, Question, Reply, Tick, TickPlan,
};

use crate::Options;
use crate::bell::Bell;
use crate::clock;
use crate::linux::{Apps, DrmDriver, InlineReads, Place, PostedReads};
use crate::nvml::{NAMES, Nvml, NvmlDriver};
use crate::posted::Lane;
use crate::worker::Worker;

#[cfg(test)]
mod tests;

/// The machine the program runs on, or a directory that looks like one.
pub struct LiveMachine {
    facts: MachineFacts,
    bell: Arc<Bell>,
    woken: Arc<AtomicBool>,
    nvml: Worker<NvmlDriver>,
    published: Published<NvmlSweep>,
    drm: Worker<DrmDriver>,
    published_drm: Published<DrmSweep>,
    inline: InlineReads,
    lane: Lane,
    ticks: u64,
}

/// Ends the wait of [`Machine::begin_tick`] from another thread.
#[derive(Clone, Debug)]
pub struct Waker {
    bell: Arc<Bell>,
    woken: Arc<AtomicBool>,
}

impl Waker {
    /// Starts the refresh that is being waited for now, or the next one at once. A second call while the drivers
    /// are waited for ends that wait too.
    pub fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.bell.ring();
    }
}

impl LiveMachine {
    /// Reads nothing but constants and starts nothing.
    pub fn new(options: Options) -> Self {
        let bell = Arc::<Bell>::default();
        let nvml_names = match &options.nvml_library {
            Some(path) => vec![Text::from(path.to_string_lossy())],
            None => NAMES.map(Text::from).to_vec(),
        };
        let origin = match &options.root {
            None => Origin {
                kind: OriginKind::Live,
                note: None,
            },
            Some(root) => Origin {
                kind: OriginKind::Directory,
                note: Some(format!("directory {}", root.display()).into()),
            },
        };
        let place = Arc::new(Place::new(options.root));
        let nvml = Nvml::new(options.nvml_library);
        let apps = Apps::new(&options.settings.adapters);
        Self {
            facts: MachineFacts {
                os: std::env::consts::OS.into(),
                origin,
                clock_ticks: rustix::param::clock_ticks_per_second(),
                privileged: Some(rustix::process::geteuid().is_root()),
                settings: options.settings,
                nvml_names,
            },
            woken: Arc::default(),
            nvml: Worker::new(Arc::clone(&bell), move || nvml.driver()),
            published: Published::NotAsked,
            drm: {
                let place = Arc::clone(&place);
                Worker::new(Arc::clone(&bell), move || {
                    DrmDriver::new(Arc::clone(&place))
                })
            },
            published_drm: Published::NotAsked,
            inline: InlineReads::new(Arc::clone(&place)),
            lane: Lane::new(Arc::clone(&bell), PostedReads::new(place, apps)),
            bell,
            ticks: 0,
        }
    }

    /// A handle with which other threads end the wait for the next refresh.
    pub fn waker(&self) -> Waker {
        Waker {
            bell: Arc::clone(&self.bell),
            woken: Arc::clone(&self.woken),
        }
    }

    /// Waits until the refresh starts and the drivers have had their time.
    ///
    /// The driver's thread waits for the start by itself and its sweep ends this wait, so that a refresh wakes
    /// each thread once.
    fn wait(&self, plan: &TickPlan) {
        let entered = clock::monotonic_ns();
        let mut started = None;
        loop {
            let heard = self.bell.rings();
            let now = clock::monotonic_ns();
            self.nvml.check(now);
            self.drm.check(now);
            self.lane.expire(now);
            let woken = self.woken.swap(false, Ordering::Acquire);
            let expected = self.nvml.is_expected(now) || self.drm.is_expected(now);
            let until = match started {
                Some(_) if woken => return,
                Some(start) => Some(start),
                None if now >= plan.not_before_ns => Some(plan.not_before_ns.max(entered)),
                None if woken || (plan.early_when_answered && self.lane.is_answered()) => {
                    self.nvml.start_now();
                    self.drm.start_now();
                    Some(now)
                }
                None => None,
            };
            started = until;
            let mut next = match started {
                Some(start) => {
                    let until = start.saturating_add(plan.wait_ns);
                    if now >= until || !expected {
                        return;
                    }
                    until
                }
                None if expected => plan.not_before_ns.saturating_add(plan.wait_ns),
                None => plan.not_before_ns,
            };
            let limits = [self.nvml.limit_ns(), self.drm.limit_ns()];
            if expected && let Some(limit) = limits.into_iter().flatten().min() {
                next = next.min(limit.saturating_add(1));
            }
            if plan.early_when_answered
                && let Some(deadline) = self.lane.deadline_ns()
            {
                next = next.min(deadline.saturating_add(1));
            }
            self.bell.wait(heard, next.saturating_sub(now));
        }
    }
}

impl Machine for LiveMachine {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    /// `now` is the end of the wait, so that no answer of the refresh is from the future.
    fn begin_tick(&mut self, plan: &TickPlan) -> Result<Tick, Ended> {
        if let Some(asked) = &plan.nvml {
            self.nvml.ask(asked.clone(), plan.not_before_ns);
        }
        if let Some(asked) = &plan.drm {
            self.drm.ask(asked.clone(), plan.not_before_ns);
        }
        self.wait(plan);
        self.published = self.nvml.take();
        self.published_drm = self.drm.take();
        self.lane.begin_tick();
        self.inline.begin_tick();
        self.ticks += 1;
        Ok(Tick {
            number: self.ticks,
            now: clock::stamp(),
            extra: plan.extra,
        })
    }

    fn nvml(&mut self) -> Published<NvmlSweep> {
        self.published.clone()
    }

    fn drm(&mut self) -> Published<DrmSweep> {
        self.published_drm.clone()
    }

    fn inline(&mut self, question: &Inline) -> Answer<Reply> {
        self.inline.read(question)
    }

    fn post(&mut self, question: &Question) -> Answer<Reply> {
        match question {
            // A directory is no machine whose servers could be asked.
            Question::Http { .. } if self.facts.origin.kind == OriginKind::Directory => {
                Err(Gap::NotApplicable)
            }
            _ => self.lane.post(question),
        }
    }
}
