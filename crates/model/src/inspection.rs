//! What a model file needs: the answers of `inspect` and `fit`.
//!
//! Every size here is computed from the file's header and is of class estimated, but for the free memory of a device,
//! which is measured. The two meet in a comparison only, never in a sum that is shown.

use crate::Text;
use crate::gap::Gap;
use crate::ids::{ProcessKey, Stamp};
use crate::reading::{Estimated, Measured, Reading};
use crate::units::Bytes;
use crate::workload::{Model, ModelKind, Placement, Segment, ServerState};

/// A model file and what a server needs for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// When the file was read.
    pub at: Stamp,
    /// The file by its header. Its evidence is empty: nothing shows that anybody has it loaded.
    pub model: Model,
    /// Parts of a split model in the order of their numbers; one entry where it is not split.
    pub files: Vec<ModelPart>,
    /// Parts of it that were not looked for, because there are more than are; 0 where all were.
    pub unread: usize,
    /// The file is shorter than the tensors it declares.
    pub truncated: bool,
    /// What the arithmetic was done with.
    pub settings: Vec<Setting>,
    /// What is needed with these settings.
    pub need: Need,
    /// The same for a row of contexts; empty where one was asked for, or where it makes no difference.
    pub contexts: Vec<Need>,
    /// What a server would make of these settings, in sentences, where that is not what was asked for.
    pub remarks: Vec<Text>,
}

impl Inspection {
    /// Whether the file is loaded beside a model, into the same process.
    pub const fn is_companion(&self) -> bool {
        matches!(self.model.kind, ModelKind::Projector | ModelKind::Adapter)
    }

    /// What the numbers rest on beside the settings, each once.
    pub fn assumptions(&self) -> Vec<Text> {
        let mut found: Vec<Text> = Vec::new();
        for part in &self.need.parts {
            for (name, value) in &part.inputs {
                if matches!(*name, "assumed" | "why") && !found.contains(value) {
                    found.push(value.clone());
                }
            }
        }
        found
    }
}

/// One file of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelPart {
    /// Its path.
    pub path: Text,
    /// Its size; missing where the file was not found or cannot be read.
    pub size: Reading<Measured<Bytes>>,
}

/// One setting of the arithmetic.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Setting {
    /// Its name, as an option without dashes.
    pub name: &'static str,
    /// Its value.
    pub value: Text,
    /// Whether it was typed; else it is assumed.
    pub given: bool,
}

/// What is needed for one context.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Tokens of all slots together, as asked for; `None` where the model keeps no context.
    pub context: Option<u64>,
    /// What a server makes of it; `None` where the model keeps no context.
    pub effective: Option<Effective>,
    /// Part by part.
    pub parts: Vec<Segment<Estimated<Bytes>>>,
}

/// What a server makes of a context and a batch that it was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Effective {
    /// Tokens of all slots together that there is room for: padded, and divided among caches.
    pub context: u64,
    /// Tokens that one slot can have; all of them where slots share one cache.
    pub per_slot: u64,
    /// Tokens computed at once.
    pub batch: u64,
}

impl Need {
    /// The parts at `placement` together.
    pub fn at(&self, placement: Placement) -> Sum {
        let mut sum = Sum::NOTHING;
        for part in self
            .parts
            .iter()
            .filter(|it| it.kind.stands_alone() && it.placement == placement)
        {
            match &part.bytes {
                Reading::Known(it) => {
                    sum.low = Bytes(sum.low.0.saturating_add(it.low.0));
                    sum.high = Bytes(sum.high.0.saturating_add(it.high.0));
                }
                Reading::Missing(missing) => {
                    sum.missing += 1;
                    sum.gap = sum.gap.or(Some(missing.gap));
                }
            }
        }
        sum
    }

    /// What is, or may be, in device memory.
    pub fn on_device(&self) -> Sum {
        self.at(Placement::Gpu)
            .and_perhaps(self.at(Placement::Unknown))
    }

    /// What is, or may be, in system memory.
    pub fn in_system_memory(&self) -> Sum {
        self.at(Placement::Cpu)
            .and_perhaps(self.at(Placement::Unknown))
    }

    /// Parts without a size, wherever they are.
    pub fn missing(&self) -> u32 {
        let parts = self.parts.iter();
        let unknown = parts.filter(|it| it.kind.stands_alone() && it.bytes.known().is_none());
        u32::try_from(unknown.count()).unwrap_or(u32::MAX)
    }
}

/// A sum of estimates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sum {
    /// Least.
    pub low: Bytes,
    /// Most of the parts whose size is known.
    pub high: Bytes,
    /// Parts without a size, which come on top.
    pub missing: u32,
    /// Why the first of those has none.
    pub gap: Option<Gap>,
}

impl Sum {
    /// Of no part.
    const NOTHING: Self = Self {
        low: Bytes(0),
        high: Bytes(0),
        missing: 0,
        gap: None,
    };

    /// With another that may be in this place or in another one.
    fn and_perhaps(self, open: Self) -> Self {
        Self {
            low: self.low,
            high: Bytes(self.high.0.saturating_add(open.high.0)),
            missing: self.missing.saturating_add(open.missing),
            gap: self.gap.or(open.gap),
        }
    }
}

/// Whether a model fits beside what runs now.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The model and what it needs.
    pub inspection: Inspection,
    /// Each device that was asked for.
    pub devices: Vec<DeviceFit>,
}

/// Whether it fits on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFit {
    /// The device.
    pub device_index: u32,
    /// Its name.
    pub name: Reading<Measured<Text>>,
    /// Memory that is free on it now.
    pub free: Reading<Free>,
    /// Driver context and workspaces of one more process, which no file tells.
    pub overhead: Overhead,
    /// The verdict.
    pub verdict: Verdict,
    /// Free memory less everything that is needed.
    pub spare: Option<Spare>,
    /// Largest contexts that fit; missing where the model keeps none (`not_applicable`), where nothing is known of the
    /// memory, and where nobody can say what a token takes.
    pub largest: Result<Largest, Gap>,
    /// Processes that hold memory on the device, or may.
    pub holders: usize,
    /// Idle models whose memory would have to be free, largest first; empty where none would help or is needed.
    pub unload: Vec<Unload>,
    /// The verdict then.
    pub after_unload: Option<Verdict>,
}

/// What would be left, in bytes. Negative: so much is short.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spare {
    /// Least; `None` where a part of what is needed has no known size.
    pub least: Option<i64>,
    /// Most.
    pub most: i64,
}

/// The largest contexts that fit, in tokens of all slots as one asks for them; 0 is none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Largest {
    /// Surely fits.
    pub sure: u64,
    /// May fit.
    pub maybe: u64,
    /// No larger one was tried.
    pub tried: u64,
    /// What the model was trained with, times the slots; `None` where the file does not say.
    pub trained: Option<u64>,
}

/// Free memory of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Free {
    /// As the driver counts it.
    Measured(Measured<Bytes>),
    /// All memory less the used, where the driver does not count it.
    Derived(Estimated<Bytes>),
}

impl Free {
    /// The size; of a range the least.
    pub const fn value(&self) -> Bytes {
        match self {
            Self::Measured(it) => it.value,
            Self::Derived(it) => it.low,
        }
    }
}

/// What a process takes on a device before its first buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Overhead {
    /// Least.
    pub low: Bytes,
    /// Most.
    pub high: Bytes,
    /// Where the range comes from.
    pub source: &'static str,
}

/// Whether something fits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// The most that it may need is free.
    Fits,
    /// The least that it needs is free, the most is not; or a part has no known size.
    MayFit,
    /// Not even the least that it needs is free.
    DoesNotFit,
    /// It is not known how much is free, or how much is needed.
    Unknown(Gap),
}

impl Verdict {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::MayFit => "may_fit",
            Self::DoesNotFit => "does_not_fit",
            Self::Unknown(_) => "unknown",
        }
    }

    /// For a person.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::MayFit => "may fit",
            Self::DoesNotFit => "does not fit",
            Self::Unknown(_) => "not known whether it fits",
        }
    }
}

/// A process whose models nobody uses at the moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Unload {
    /// The process.
    pub process: ProcessKey,
    /// Its name.
    pub name: Option<Text>,
    /// Its models.
    pub models: Vec<Text>,
    /// What it holds on the device.
    pub holds: Measured<Bytes>,
    /// What its server said. It sleeps, or it is ready and no slot is busy.
    pub state: ServerState,
    /// Whether the load that was measured says so too.
    pub load: IdleLoad,
}

/// What is known of the load of a process whose server says that it rests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IdleLoad {
    /// That of the process is measured as 0.
    Process,
    /// That of the process is not known, that of the whole device is measured as 0.
    Device,
    /// Not known of the process, for this reason, and not 0 of the device.
    Unknown(Gap),
}

impl IdleLoad {
    /// The stable name used in JSON of what a load of 0 was measured of.
    pub const fn id(self) -> Option<&'static str> {
        match self {
            Self::Process => Some("process"),
            Self::Device => Some("device"),
            Self::Unknown(_) => None,
        }
    }

    /// For a person.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Process => "load 0",
            Self::Device => "load of the whole GPU 0",
            Self::Unknown(_) => "its load not known",
        }
    }
}
