//! The lines of a capture.

use std::borrow::Cow;

use model::{Gap, Origin, OriginKind, Stamp, Text};
use serde::{Deserialize, Serialize};

use crate::machine::{MachineFacts, Settings};
use crate::source::drm::DrmHeader;
use crate::source::nvml::{CallAnswer, Library, SweepHeader};
use crate::source::replies::Reply;

/// Name and version of the format; the number changes when old readers could misread it.
pub const FORMAT: &str = "gputaskman.capture/1";

/// How much of what identifies a person or a machine is left out of a capture.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Redaction {
    /// Nothing is left out.
    None,
    /// Folders, user names, the host name and UUIDs become pseudonyms; file names stay.
    Paths,
    /// File and model names and free arguments become pseudonyms too.
    #[default]
    Strict,
}

/// First line of a capture.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// Program that wrote it, with its version.
    pub tool: String,
    /// Operating system of the machine.
    pub os: Text,
    /// `live`, `directory` or `synthetic`.
    pub origin: String,
    /// Which machine, made how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
    /// Redaction level.
    pub redaction: Redaction,
    /// Clock ticks per second.
    pub clock_ticks: u64,
    /// Whether the monitor had full rights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privileged: Option<bool>,
    /// What the loader tried for NVML.
    #[serde(default)]
    pub nvml_names: Vec<Text>,
    /// Settings of the run.
    pub settings: Settings,
}

impl Manifest {
    /// The manifest of a recording of a machine with these facts.
    pub fn new(facts: &MachineFacts, redaction: Redaction, tool: String) -> Self {
        Self {
            format: FORMAT.to_owned(),
            tool,
            os: facts.os.clone(),
            origin: facts.origin.kind.id().to_owned(),
            note: facts.origin.note.clone(),
            redaction,
            clock_ticks: facts.clock_ticks,
            privileged: facts.privileged,
            nvml_names: facts.nvml_names.clone(),
            settings: facts.settings.clone(),
        }
    }

    /// The facts of the recorded machine. An origin kind from the future counts as synthetic: a
    /// stranger's file must not pass for a live machine.
    pub fn facts(&self) -> MachineFacts {
        MachineFacts {
            os: self.os.clone(),
            origin: Origin {
                kind: OriginKind::from_id(&self.origin).unwrap_or(OriginKind::Synthetic),
                note: self.note.clone(),
            },
            clock_ticks: self.clock_ticks,
            privileged: self.privileged,
            settings: self.settings.clone(),
            nvml_names: self.nvml_names.clone(),
        }
    }
}

/// Source names in captures.
pub(crate) mod source {
    pub(crate) const NVML: &str = "nvml";
    pub(crate) const DRM: &str = "drm";
    pub(crate) const INLINE: &str = "inline";
    pub(crate) const POSTED: &str = "posted";
}

/// Question name of a sweep's header line.
pub(crate) const SWEEP: &str = "sweep";
/// Question name of the library's state.
pub(crate) const LIBRARY: &str = "library";

/// The body of an answer.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Payload {
    Reply(Reply),
    Call(CallAnswer),
    Library(Library),
    Sweep(SweepHeader),
    DrmSweep(DrmHeader),
}

/// Any line after the first. A line with `now` starts a refresh; the others are answers in it.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Line<'a> {
    /// Number of the refresh.
    pub(crate) t: u64,
    /// Clock at the start of the refresh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) now: Option<(u64, i64)>,
    /// Beside `now`: the refresh is an extra one. Captures made before there was this mark have none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) extra: bool,
    /// Source.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) s: Option<Cow<'a, str>>,
    /// Question.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) q: Option<Cow<'a, str>>,
    /// Stamp of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<(u64, i64)>,
    /// Number of this body, for later lines with an equal one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u32>,
    /// Number of an equal body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) same: Option<u32>,
    /// Body.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) a: Option<&'a serde_json::value::RawValue>,
    /// Code of the gap, instead of a body.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) gap: Option<Cow<'a, str>>,
    /// The driver's own code that belongs to the gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<i32>,
    /// An overdue sweep: unanswered since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) overdue: Option<(u64, i64)>,
}

pub(crate) const fn pair(stamp: Stamp) -> (u64, i64) {
    (stamp.mono_ns, stamp.wall_us)
}

pub(crate) const fn stamp((mono_ns, wall_us): (u64, i64)) -> Stamp {
    Stamp { mono_ns, wall_us }
}

pub(crate) const fn gap_detail(gap: Gap) -> Option<i32> {
    match gap {
        Gap::DriverError(code) => Some(code),
        _ => None,
    }
}
