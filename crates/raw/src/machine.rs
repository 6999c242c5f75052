//! The central trait and the types of its answers.

use std::sync::Arc;

use model::{Device, Gap, Origin, Selection, Selector, Stamp, Text};
use serde::{Deserialize, Serialize};

use crate::apps::Adapter;
use crate::drm::{DrmPlan, DrmSweep};
use crate::nvml::{NvmlPlan, NvmlSweep};
use crate::source::reads::{Inline, Question};
use crate::source::replies::Reply;

/// A value and the moment it was read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stamped<T> {
    /// When the source answered.
    pub at: Stamp,
    /// What it said.
    pub value: T,
}

/// What a source said, or why it said nothing.
pub type Answer<T> = Result<Stamped<T>, Gap>;

/// The start of one refresh.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tick {
    /// Number of the refresh, from 1.
    pub number: u64,
    /// The machine's clock.
    pub now: Stamp,
    /// As in [`TickPlan::extra`].
    pub extra: bool,
}

/// A replay has no further refresh.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ended;

/// When a refresh may start, how long it may wait, and what the drivers are asked.
#[derive(Clone, Debug, Default)]
pub struct TickPlan {
    /// Monotonic time before which the refresh does not start.
    pub not_before_ns: u64,
    /// Start earlier than `not_before_ns` if all posted questions have been answered.
    pub early_when_answered: bool,
    /// How long to wait for the drivers, from the start of the refresh.
    pub wait_ns: u64,
    /// What NVML is asked; `None` leaves it alone this time.
    pub nvml: Option<NvmlPlan>,
    /// What is read of DRM devices; `None` leaves them alone this time.
    pub drm: Option<DrmPlan>,
    /// No refresh of its own: it takes late answers of the one before it, or leads to the first. Nobody who
    /// counts refreshes counts it.
    pub extra: bool,
}

/// What a driver's thread has published.
#[derive(Clone, Debug)]
pub enum Published<S> {
    /// Nothing was asked this time.
    NotAsked,
    /// A sweep that was finished since the last refresh.
    New(Stamped<Arc<S>>),
    /// Asked, and not answered since this moment.
    Overdue(Stamp),
    /// No sweep, for this reason.
    Missing(Gap),
}

/// What shapes a run and therefore belongs into a capture.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Refresh interval in milliseconds.
    pub interval_ms: u64,
    /// The one device shown; `None` for all. A number is an index; a text is a PCI address or a UUID.
    #[serde(with = "selector", default)]
    pub gpu: Option<Selector>,
    /// Whether loopback servers of GPU processes may be asked.
    pub probe: bool,
    /// Whether model files may be read.
    pub models: bool,
    /// GPU layers to assume where the command line does not say (`--gpu-layers`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_layers: Option<u32>,
    /// Whether sleeping devices are woken, once (`--wake`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wake: bool,
    /// Adapters of the user's own (`--adapters`), beside those that come with the program.
    #[serde(default, skip_serializing_if = "no_adapters")]
    pub adapters: Arc<[Adapter]>,
    /// Adapters of the user's own that were left out, each with the reason in a sentence.
    #[serde(default, skip_serializing_if = "nothing")]
    pub adapter_problems: Arc<[Text]>,
}

fn no_adapters(adapters: &Arc<[Adapter]>) -> bool {
    adapters.is_empty()
}

fn nothing(problems: &Arc<[Text]>) -> bool {
    problems.is_empty()
}

impl Settings {
    /// The selection that `gpu` stands for among these devices.
    pub fn selection(&self, devices: &[Device]) -> Selection {
        let named = self.gpu.as_ref();
        named.map_or(Selection::All, |name| name.selection(devices))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval_ms: 1000,
            gpu: None,
            probe: true,
            models: true,
            gpu_layers: None,
            wake: false,
            adapters: Arc::default(),
            adapter_problems: Arc::default(),
        }
    }
}

mod selector {
    use model::Selector;
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Index(u32),
        Name(String),
    }

    #[expect(clippy::ref_option, reason = "the form that serde asks for")]
    pub(super) fn serialize<S: Serializer>(
        from: &Option<Selector>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match from {
            None => serializer.serialize_none(),
            Some(Selector::Index(index)) => index.serialize(serializer),
            Some(name) => name.to_string().serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Selector>, D::Error> {
        let form = Option::<Form>::deserialize(deserializer)?;
        Ok(form.map(|form| match form {
            Form::Index(index) => Selector::Index(index),
            Form::Name(name) => Selector::parse(&name),
        }))
    }
}

/// Constants of the machine, known without asking anything that can fail.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MachineFacts {
    /// `linux`, `windows`, `macos`, … as the Rust target names it.
    pub os: Text,
    /// Where the answers come from.
    pub origin: Origin,
    /// Clock ticks per second of `/proc/PID/stat`.
    pub clock_ticks: u64,
    /// Whether the monitor has full rights; `None` where unknown.
    pub privileged: Option<bool>,
    /// The run's settings.
    pub settings: Settings,
    /// What the loader tries for NVML, in order; empty where NVML does not apply.
    pub nvml_names: Vec<Text>,
}

/// The machine under observation. One owner: the sampling thread.
pub trait Machine {
    /// Its constants.
    fn facts(&self) -> &MachineFacts;

    /// Hands out the plan, waits as the plan says, takes what the drivers have published.
    fn begin_tick(&mut self, plan: &TickPlan) -> Result<Tick, Ended>;

    /// What NVML's thread has published for this refresh.
    fn nvml(&mut self) -> Published<NvmlSweep>;

    /// What the thread that reads DRM devices has published for this refresh.
    fn drm(&mut self) -> Published<DrmSweep> {
        Published::NotAsked
    }

    /// A read that cannot block.
    fn inline(&mut self, question: &Inline) -> Answer<Reply>;

    /// A read that may take long: `Err(Gap::Pending)` until it is answered. An answer is handed out
    /// once; asking again later reads again. At most one ask per question and refresh.
    fn post(&mut self, question: &Question) -> Answer<Reply>;
}

/// A machine under another origin, for answers that are not what a live machine's are.
pub struct Relabelled<M> {
    inner: M,
    facts: MachineFacts,
}

impl<M: Machine> Relabelled<M> {
    /// `inner`, as if its answers came from `origin`.
    pub fn new(inner: M, origin: Origin) -> Self {
        let facts = MachineFacts {
            origin,
            ..inner.facts().clone()
        };
        Self { inner, facts }
    }
}

impl<M: Machine> Machine for Relabelled<M> {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }
    fn begin_tick(&mut self, plan: &TickPlan) -> Result<Tick, Ended> {
        self.inner.begin_tick(plan)
    }
    fn nvml(&mut self) -> Published<NvmlSweep> {
        self.inner.nvml()
    }
    fn drm(&mut self) -> Published<DrmSweep> {
        self.inner.drm()
    }
    fn inline(&mut self, question: &Inline) -> Answer<Reply> {
        self.inner.inline(question)
    }
    fn post(&mut self, question: &Question) -> Answer<Reply> {
        self.inner.post(question)
    }
}
