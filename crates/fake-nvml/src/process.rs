//! Processes of a scenario, and how their utilization samples come.

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// Which of the driver's lists a process stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    #[default]
    #[serde(rename = "C")]
    Compute,
    #[serde(rename = "G")]
    Graphics,
    #[serde(rename = "C+G")]
    Both,
    /// An MPS client.
    #[serde(rename = "M")]
    Mps,
    /// In no list, but in the utilization samples: it just exited.
    #[serde(rename = "none")]
    Unlisted,
}

/// One process on one GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Process {
    pub pid: Pid,
    /// Stands for this many processes, with the following pids or lines of the pid file.
    pub count: u32,
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Bytes; `"n/a"` is `UINT64_MAX`.
    pub memory: Value,
    /// Instance ids, on a GPU in MIG mode.
    pub gi: Option<u32>,
    pub ci: Option<u32>,
    /// Bytes; only 32-byte entries carry it.
    pub protected_memory: u64,
    /// Absent: no utilization sample.
    pub sample: Option<ProcessSample>,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            pid: Pid::Literal(0),
            count: 1,
            kind: Kind::Compute,
            memory: Value::Number(0),
            gi: None,
            ci: None,
            protected_memory: 0,
            sample: None,
        }
    }
}

impl Process {
    pub fn new(pid: u32, kind: Kind, memory: impl Into<Value>) -> Self {
        Self {
            pid: Pid::Literal(pid),
            kind,
            memory: memory.into(),
            ..Self::default()
        }
    }

    /// With a utilization sample: percent of the SMs and of the memory bandwidth.
    #[must_use]
    pub fn busy(mut self, sm: u64, memory: u64) -> Self {
        let (sm, memory) = (Value::Number(sm), Value::Number(memory));
        self.sample = Some(ProcessSample {
            sm,
            memory,
            ..ProcessSample::default()
        });
        self
    }

    #[must_use]
    pub fn on_instance(mut self, gi: u32, ci: u32) -> Self {
        (self.gi, self.ci) = (Some(gi), Some(ci));
        self
    }
}

/// A process's utilization sample. Percent; a value that is no number reads 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessSample {
    /// Absent: the process's own. Drivers in containers were seen to translate one and not the
    /// other.
    pub pid: Option<Pid>,
    pub sm: Value,
    pub memory: Value,
    pub encoder: Value,
    pub decoder: Value,
    pub jpeg: Value,
    pub ofa: Value,
    /// How much older than the others its stamp is.
    pub age_ms: u64,
}

impl Default for ProcessSample {
    fn default() -> Self {
        let zero = || Value::Number(0);
        Self {
            pid: None,
            sm: zero(),
            memory: zero(),
            encoder: zero(),
            decoder: zero(),
            jpeg: zero(),
            ofa: zero(),
            age_ms: 0,
        }
    }
}

impl ProcessSample {
    /// A sample of that much of the SMs and nothing else.
    pub fn of_sm(percent: u64) -> Self {
        Self {
            sm: percent.into(),
            ..Self::default()
        }
    }
}

/// How a GPU's utilization samples come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SampleRules {
    /// Stamps hold still for so long, as a driver's sample period does; 0: a new stamp at every
    /// call.
    pub period_ms: u64,
    /// What a null buffer is answered with, at least; drivers were seen to answer 100 always.
    pub probe_count: Option<u32>,
    /// Entries of pids that are in no list, with impossible percentages and every other stamp long
    /// past.
    pub garbage: u32,
    /// Entries of nothing but zeros.
    pub zeros: u32,
    /// No sample is `SUCCESS` and 0 instead of `NOT_FOUND`.
    pub empty_succeeds: bool,
}

/// A pid: a number, `"@self"` (the process that loaded the library), or `"@FILE:LINE"` with FILE
/// beside the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PidSpelling", into = "PidSpelling")]
pub enum Pid {
    Literal(u32),
    Loader,
    /// Line counted from 1. No such file or line: the process is not there.
    Line(String, usize),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PidSpelling {
    Number(u32),
    Text(String),
}

impl TryFrom<PidSpelling> for Pid {
    type Error = String;

    fn try_from(spelling: PidSpelling) -> Result<Self, String> {
        let text = match spelling {
            PidSpelling::Number(pid) => return Ok(Self::Literal(pid)),
            PidSpelling::Text(text) => text,
        };
        let wrong = || format!("pid {text:?} is neither a number, \"@self\" nor \"@FILE:LINE\"");
        let name = text.strip_prefix('@').ok_or_else(wrong)?;
        if name == "self" {
            return Ok(Self::Loader);
        }
        let (file, line) = name.rsplit_once(':').ok_or_else(wrong)?;
        Ok(Self::Line(
            file.to_owned(),
            line.parse().map_err(|_| wrong())?,
        ))
    }
}

impl From<Pid> for PidSpelling {
    fn from(pid: Pid) -> Self {
        match pid {
            Pid::Literal(pid) => Self::Number(pid),
            Pid::Loader => Self::Text("@self".to_owned()),
            Pid::Line(file, line) => Self::Text(format!("@{file}:{line}")),
        }
    }
}
