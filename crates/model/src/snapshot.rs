//! The snapshot: everything a view may know, immutable, shared by `Arc`.

use crate::Text;
use crate::device::Device;
use crate::ids::Stamp;
use crate::process::Process;
use crate::reading::Total;

/// One refresh, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Number of the refresh, from 1.
    pub tick: u64,
    /// The machine's clock at the start of the refresh.
    pub at: Stamp,
    /// Length of the window that per-process load refers to, in milliseconds.
    pub sample_ms: u64,
    /// Where the answers came from.
    pub origin: Origin,
    /// How processes are seen here.
    pub mode: Mode,
    /// The machine.
    pub host: HostFacts,
    /// Every source that was tried, with what was found.
    pub sources: Vec<SourceStatus>,
    /// What may be missing from the process list.
    pub process_status: ProcessStatus,
    /// Which devices the user asked for.
    pub selection: Selection,
    /// All devices in index order.
    pub devices: Vec<Device>,
    /// Processes, largest measured memory first, then by number.
    pub processes: Vec<Process>,
    /// Sum of measured process memory over the devices; inferred rows are not in it.
    pub measured_process_vram: Total,
    /// Things the user should know.
    pub notices: Vec<Notice>,
    /// Whether answers are still on their way, so that a refresh soon would show more.
    pub pending: bool,
}

impl Snapshot {
    /// The device with this number.
    pub fn device(&self, index: u32) -> Option<&Device> {
        self.devices.iter().find(|device| device.index == index)
    }

    /// The devices that the selection shows.
    pub fn selected_devices(&self) -> impl Iterator<Item = &Device> {
        self.devices
            .iter()
            .filter(|device| self.selection.includes(device.index))
    }
}

/// Where the answers came from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Origin {
    /// Kind.
    pub kind: OriginKind,
    /// In words: which machine, made how.
    pub note: Option<Text>,
}

/// Kinds of origin. A recording of a live machine stays `Live`: replaying changes nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OriginKind {
    /// A real machine.
    Live,
    /// A directory that stands for a machine (`--root`).
    Directory,
    /// Made by hand or by a simulated driver.
    Synthetic,
}

impl OriginKind {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Directory => "directory",
            Self::Synthetic => "synthetic",
        }
    }

    /// The kind with this stable name.
    pub fn from_id(id: &str) -> Option<Self> {
        [Self::Live, Self::Directory, Self::Synthetic]
            .into_iter()
            .find(|kind| kind.id() == id)
    }
}

/// How processes are seen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// Directly on Linux.
    NativeLinux,
    /// In a nested PID namespace.
    Container,
    /// In the Windows Subsystem for Linux.
    Wsl,
    /// On a platform whose readers do not exist yet.
    Unsupported,
}

impl Mode {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::NativeLinux => "native_linux",
            Self::Container => "container",
            Self::Wsl => "wsl",
            Self::Unsupported => "unsupported",
        }
    }
}

/// Whether process numbers of a driver can be looked up here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PidNamespace {
    /// The machine's first namespace.
    Initial,
    /// A nested one.
    Nested,
    /// Could not be read; treated like a nested one.
    Unknown,
}

impl PidNamespace {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Nested => "nested",
            Self::Unknown => "unknown",
        }
    }
}

/// The machine the answers are about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostFacts {
    /// Operating system: `linux`, `windows`, `macos`, …
    pub os: Text,
    /// Kernel release, where it could be read.
    pub kernel: Option<Text>,
    /// Host name, where it could be read and is not redacted.
    pub name: Option<Text>,
    /// PID namespace of the monitor.
    pub pid_namespace: PidNamespace,
    /// Whether the monitor runs with full rights; `None` where unknown.
    pub privileged: Option<bool>,
}

/// A source that was tried.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceStatus {
    /// Stable name: `nvml`, `drm.fdinfo`, …
    pub id: &'static str,
    /// Outcome.
    pub state: SourceState,
    /// What was looked for and what was found, for a person.
    pub detail: Text,
    /// What the user can do, where anything.
    pub hint: Option<Text>,
}

/// Outcome of trying a source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SourceState {
    /// Answers.
    Ok,
    /// Not here.
    Absent,
    /// Here, but fails.
    Error,
    /// Here, but not allowed.
    Denied,
    /// Has not answered yet.
    Pending,
    /// Does not answer any more.
    TimedOut,
    /// Left alone on purpose, e.g. because the device sleeps.
    Skipped,
    /// Has no meaning on this platform, or is not built yet.
    NotApplicable,
}

impl SourceState {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Absent => "absent",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Pending => "pending",
            Self::TimedOut => "timeout",
            Self::Skipped => "skipped",
            Self::NotApplicable => "not_applicable",
        }
    }
}

/// How complete the process list is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ProcessStatus {
    /// Rows in the snapshot.
    pub listed: u32,
    /// Rows whose details could not be read for lack of rights.
    pub unreadable: u32,
    /// Processes that may hold a device and cannot be looked at, so that they have no row.
    pub hidden: u32,
    /// Whether every source of process rows answered in full.
    pub scan: ScanState,
}

/// Whether every source of process rows answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ScanState {
    /// Yes.
    Complete,
    /// No: a device's lists are missing or old.
    Partial,
}

impl ScanState {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
        }
    }
}

/// Which devices were asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Selection {
    /// All of them.
    All,
    /// The one with this index.
    One(u32),
    /// One by another name than its index, which none has here, or not yet.
    Nothing,
}

impl Selection {
    /// Whether device `index` is shown.
    pub const fn includes(self, index: u32) -> bool {
        match self {
            Self::All => true,
            Self::One(selected) => selected == index,
            Self::Nothing => false,
        }
    }
}

/// Something the user should know.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Notice {
    /// Stable code.
    pub code: &'static str,
    /// How grave.
    pub severity: Severity,
    /// What it is about: `gpu:0`, `pid:123`, …
    pub subject: Text,
    /// The sentence.
    pub text: Text,
}

/// How grave a notice is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Needs attention.
    Warning,
}

impl Severity {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
        }
    }
}
