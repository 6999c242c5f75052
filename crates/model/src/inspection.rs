//! What a model file needs: the answers of `inspect` and `fit`.
//!
//! Every size here is computed from the file's header and is of class estimated, but for the free memory of a device,
//! which is measured. The two meet in a comparison only, never in a sum that is shown.

use crate::Text;
use crate::gap::Gap;
use crate::ids::{ProcessKey, Stamp};
use crate::reading::{Estimated, Measured, Reading};
use crate::units::Bytes;
use crate::workload::{Model, Placement, Segment, ServerState};

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
    /// The same for a row of contexts; empty where one was asked for.
    pub contexts: Vec<Need>,
}

impl Inspection {
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
    /// Tokens of all slots together; `None` where the model keeps no context.
    pub context: Option<u64>,
    /// Part by part.
    pub parts: Vec<Segment<Estimated<Bytes>>>,
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
                Reading::Missing(_) => sum.missing += 1,
            }
        }
        sum
    }

    /// What is, or may be, in device memory.
    pub fn on_device(&self) -> Sum {
        let sure = self.at(Placement::Gpu);
        let open = self.at(Placement::Unknown);
        Sum {
            low: sure.low,
            high: Bytes(sure.high.0.saturating_add(open.high.0)),
            missing: sure.missing.saturating_add(open.missing),
        }
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
}

impl Sum {
    /// Of no part.
    const NOTHING: Self = Self {
        low: Bytes(0),
        high: Bytes(0),
        missing: 0,
    };
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
    /// Free memory less everything that is needed: least and most. Negative: so much is short.
    pub spare: Option<(i64, i64)>,
    /// Largest context that surely fits, in tokens of all slots; 0 is none.
    pub context_sure: Option<u64>,
    /// Largest context that may fit.
    pub context_maybe: Option<u64>,
    /// Idle models whose memory would have to be free, largest first; empty where none would help or is needed.
    pub unload: Vec<Unload>,
    /// The verdict then.
    pub after_unload: Option<Verdict>,
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
    /// What its server said.
    pub state: ServerState,
}
