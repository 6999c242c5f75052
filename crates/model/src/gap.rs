//! Why a value is missing: one table of codes, sentences and remedies, from which JSON, text and
//! the terminal interface print.

/// A reason for a missing value. The code is stable and part of the JSON contract (an open set).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Gap {
    /// The answer has not arrived yet.
    Pending,
    /// A rate needs a second reading.
    FirstSample,
    /// The platform has no such counter at all.
    NoCounter,
    /// The driver says this device does not support it.
    NotSupported,
    /// The driver library does not export the call.
    SymbolAbsent,
    /// The rights are missing.
    Permission,
    /// The thing asked for does not exist.
    NotPresent,
    /// In place of a file there is a folder, a pipe, a device or a loop of links, which is not opened.
    NotRegular,
    /// The driver lists the process but hides the size.
    HiddenByDriver,
    /// The device has fallen off the bus or was reset.
    GpuLost,
    /// The driver returned an error without a finer reason; the code is its own.
    DriverError(i32),
    /// The source, mostly a driver, gave a value that cannot be true.
    Implausible,
    /// No utilization sample of this process in the window.
    NoSample,
    /// Process numbers in the list and in the samples are of different namespaces.
    PidSplit,
    /// The number belongs to another PID namespace and is never looked up here.
    OutsideNamespace,
    /// No entry of the driver's lists was matched to the process.
    NotListed,
    /// The process ended before it could be read.
    Exited,
    /// The device is in MIG mode, where the driver gives no such figure.
    Mig,
    /// The device is a share of the host's, which keeps the figure to itself.
    Vgpu,
    /// The device sleeps and is not woken for this.
    Asleep,
    /// The answer is older than it may be shown.
    Stale,
    /// The source did not answer in time.
    TimedOut,
    /// The text or file does not follow its format.
    Malformed,
    /// A server answered with an error of its own.
    ServerError,
    /// The answer is larger than the bound for it.
    OverBound,
    /// The capture does not contain the answer.
    NotRecorded,
    /// Switched off by an option.
    Disabled,
    /// A part of this program failed; the rest goes on.
    Internal,
    /// Nothing was found that could tell.
    NotFound,
    /// A naming, as that of a container runtime, or a version of a format that this program does not know.
    NotRecognised,
    /// The model's architecture is not known well enough to compute this.
    UnknownArchitecture,
    /// The model keeps no such memory.
    NonCausal,
    /// An input of the arithmetic is missing.
    InputMissing,
    /// A file's header says what cannot be true.
    ImpossibleHeader,
    /// No program starts with these settings.
    SettingsConflict,
    /// Left out by redaction.
    Redacted,
    /// More than one owner is possible.
    Ambiguous,
    /// Not asked, because it would not be meaningful here.
    NotApplicable,
    /// The list of open devices is not complete, so that another holder may exist.
    PartialScan,
    /// A part of what the process has open on the device could not be read.
    Incomplete,
    /// Another process holds the same connection to the device.
    SharedClient,
    /// The driver says nothing about what is open on the device.
    NoStats,
    /// The device was taken away while it was open.
    DeviceGone,
    /// Opened through the display node, where buffers of others are shown.
    PrimaryNode,
    /// The kernel is too old to say which memory is shared.
    Legacy,
    /// A value is there but cannot be read as a number.
    UnreadableValue,
    /// A part of the memory is shared with others.
    SharedBuffers,
    /// The reading before this one was not complete.
    NoBaseline,
    /// Nobody uses the device, and reading this would keep it awake.
    LeftAlone,
    /// Whether the device sleeps cannot be told, and reading this could wake it.
    PowerUnknown,
    /// Work submitted past the kernel (`ROCm`), which it does not time.
    Kfd,
    /// No open node of the device has a line of engine time: whether work on it is timed is not known.
    NoEngineLine,
    /// One engine, or one number, for both directions of video.
    SharedEngine,
    /// The process listens in its own network namespace, and nothing on this machine's loopback leads there.
    OtherNetwork,
    /// The same, but a forwarder may lead there, which cannot be shown.
    UnprovenForward,
    /// Another socket listens on the same port (`SO_REUSEPORT`), so that whose answer comes is not known.
    SharedPort,
}

impl Gap {
    /// The stable code used in JSON.
    pub const fn code(self) -> &'static str {
        self.row().0
    }

    /// One sentence for a person.
    pub const fn sentence(self) -> &'static str {
        self.row().1
    }

    /// What the person can do about it wherever it occurs. What depends on rights, on the device or on the kernel is
    /// told by [`crate::Snapshot::remedy`].
    pub const fn remedy(self) -> Option<&'static str> {
        self.row().2
    }

    /// Whether the platform or the driver family has no such thing: nothing that could be mended, or be there another
    /// time. Views leave such readings out where there is no room for what cannot be.
    pub const fn is_structural(self) -> bool {
        matches!(self, Self::NoCounter | Self::NotApplicable)
    }

    /// Whether a later refresh may well bring the value.
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Pending | Self::FirstSample | Self::NoBaseline)
    }

    const fn row(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::Pending => ("pending", "the answer has not arrived yet", None),
            Self::FirstSample => ("first_sample", "a rate needs a second reading", None),
            Self::NoCounter => ("no_counter", "this platform has no such counter", None),
            Self::NotSupported => (
                "not_supported",
                "the driver says this device does not support it",
                None,
            ),
            Self::SymbolAbsent => (
                "symbol_absent",
                "the installed driver library has no such call",
                Some("a newer driver may have it"),
            ),
            Self::Permission => ("permission", "the rights to read it are missing", None),
            Self::NotPresent => ("not_present", "it does not exist here", None),
            Self::NotRegular => (
                "not_regular_file",
                "unreadable: in its place is no regular file but a folder, a pipe, a device or a loop of links",
                None,
            ),
            Self::HiddenByDriver => (
                "hidden_by_driver",
                "the driver lists the process but not its size",
                None,
            ),
            Self::GpuLost => (
                "gpu_lost",
                "the driver has lost the device",
                Some("look into the kernel log; a reboot or a device reset may be needed"),
            ),
            Self::DriverError(_) => ("driver_error", "the driver returned an error", None),
            Self::Implausible => (
                "implausible",
                "the value that was given cannot be true",
                None,
            ),
            Self::NoSample => (
                "no_sample",
                "the driver has no sample of this process",
                None,
            ),
            Self::PidSplit => (
                "pid_split",
                "list and samples number processes in different namespaces",
                Some("run the container with --pid=host"),
            ),
            Self::OutsideNamespace => (
                "outside_namespace",
                "the number belongs to another PID namespace and is not looked up here",
                Some("run on the host, or run the container with --pid=host"),
            ),
            Self::NotListed => (
                "not_listed",
                "the driver lists no entry that was matched to it",
                None,
            ),
            Self::Exited => ("exited", "the process ended before it could be read", None),
            Self::Mig => ("mig", "the driver gives no such figure in MIG mode", None),
            Self::Vgpu => (
                "vgpu",
                "the device is a vGPU, and its driver does not give this figure to guests",
                Some("ask on the host"),
            ),
            Self::Asleep => (
                "asleep",
                "the device sleeps and is not woken for this",
                None,
            ),
            Self::Stale => ("stale", "the last answer is too old to show", None),
            Self::TimedOut => ("timed_out", "the source did not answer in time", None),
            Self::Malformed => ("malformed", "the answer does not follow its format", None),
            Self::ServerError => (
                "server_error",
                "the server answered with an error of its own",
                None,
            ),
            Self::OverBound => ("over_bound", "the answer is larger than its bound", None),
            Self::NotRecorded => (
                "not_recorded",
                "the capture does not contain the answer",
                None,
            ),
            Self::Disabled => ("disabled", "switched off by an option", None),
            Self::Internal => (
                "internal",
                "a part of this program failed on it",
                Some("please report it with a capture (gputaskman record)"),
            ),
            Self::NotFound => ("not_found", "nothing was found that could tell", None),
            Self::NotRecognised => (
                "not_recognised",
                "the naming or format is none that this program knows",
                None,
            ),
            Self::UnknownArchitecture => (
                "unknown_architecture",
                "the model's architecture is not known well enough to compute this",
                None,
            ),
            Self::NonCausal => (
                "non_causal",
                "this kind of model keeps no such memory",
                None,
            ),
            Self::InputMissing => (
                "input_missing",
                "a value it is computed from is missing",
                None,
            ),
            Self::ImpossibleHeader => (
                "impossible_header",
                "the file's header says what cannot be true",
                None,
            ),
            Self::SettingsConflict => (
                "settings_conflict",
                "these settings do not work together",
                None,
            ),
            Self::Redacted => ("redacted", "left out by redaction", None),
            Self::Ambiguous => ("ambiguous", "more than one owner is possible", None),
            Self::NotApplicable => ("not_applicable", "it has no meaning here", None),
            Self::PartialScan => (
                "partial_scan",
                "not every process has been looked at yet, so another may hold it too",
                None,
            ),
            Self::Incomplete => (
                "incomplete",
                "a part of what the process has open on the device cannot be read",
                None,
            ),
            Self::SharedClient => (
                "shared_client",
                "another process holds the same connection to the device",
                None,
            ),
            Self::NoStats => (
                "no_stats",
                "the driver says nothing about what a process has open on the device",
                None,
            ),
            Self::DeviceGone => (
                "device_gone",
                "the device was taken away while the process had it open",
                None,
            ),
            Self::PrimaryNode => (
                "primary_node",
                "opened through the display node, where buffers of others are shown",
                None,
            ),
            Self::Legacy => (
                "legacy",
                "this kernel's driver does not say which of the memory is shared",
                None,
            ),
            Self::UnreadableValue => (
                "unreadable_value",
                "the driver gave a value that is no number with a known unit",
                None,
            ),
            Self::SharedBuffers => (
                "shared_buffers",
                "a part of it is shared with other processes, and nothing says how much is whose",
                None,
            ),
            Self::NoBaseline => (
                "no_baseline",
                "the reading before this one was not complete, and a rate needs two",
                None,
            ),
            Self::LeftAlone => (
                "left_alone",
                "no process that can be seen uses the device, and reading this would keep it from falling asleep",
                None,
            ),
            Self::PowerUnknown => (
                "power_unknown",
                "whether the device sleeps cannot be told, and reading this could wake it",
                None,
            ),
            Self::Kfd => (
                "kfd",
                "ROCm submits work past the kernel, which therefore does not time it",
                None,
            ),
            Self::NoEngineLine => (
                "no_engine_line",
                "nothing open on the device has a line of engine time, so whether work is timed is not known",
                None,
            ),
            Self::SharedEngine => (
                "shared_engine",
                "decoding and encoding are not told apart here: both are the load of the engine \"video\"",
                None,
            ),
            Self::OtherNetwork => (
                "other_network",
                "it listens in its own network namespace; not published on this machine's loopback",
                Some("publish the port on 127.0.0.1, or run it in the host's network"),
            ),
            Self::UnprovenForward => (
                "unproven_forward",
                "it listens in its own network namespace; published, if at all, by a rule that cannot be proven",
                Some(
                    "with full rights docker-proxy and pasta can be followed, rootless forwarders cannot",
                ),
            ),
            Self::SharedPort => (
                "shared_port",
                "another socket that is not its own listens on the same port, so an answer may be another process's",
                None,
            ),
        }
    }

    /// Every reason, for listings and tests.
    pub const ALL: &'static [Self] = &[
        Self::Pending,
        Self::FirstSample,
        Self::NoCounter,
        Self::NotSupported,
        Self::SymbolAbsent,
        Self::Permission,
        Self::NotPresent,
        Self::NotRegular,
        Self::HiddenByDriver,
        Self::GpuLost,
        Self::DriverError(0),
        Self::Implausible,
        Self::NoSample,
        Self::PidSplit,
        Self::OutsideNamespace,
        Self::NotListed,
        Self::Exited,
        Self::Mig,
        Self::Vgpu,
        Self::Asleep,
        Self::Stale,
        Self::TimedOut,
        Self::Malformed,
        Self::ServerError,
        Self::OverBound,
        Self::NotRecorded,
        Self::Disabled,
        Self::Internal,
        Self::NotFound,
        Self::NotRecognised,
        Self::UnknownArchitecture,
        Self::NonCausal,
        Self::InputMissing,
        Self::ImpossibleHeader,
        Self::SettingsConflict,
        Self::Redacted,
        Self::Ambiguous,
        Self::NotApplicable,
        Self::PartialScan,
        Self::Incomplete,
        Self::SharedClient,
        Self::NoStats,
        Self::DeviceGone,
        Self::PrimaryNode,
        Self::Legacy,
        Self::UnreadableValue,
        Self::SharedBuffers,
        Self::NoBaseline,
        Self::LeftAlone,
        Self::PowerUnknown,
        Self::Kfd,
        Self::NoEngineLine,
        Self::SharedEngine,
        Self::OtherNetwork,
        Self::UnprovenForward,
        Self::SharedPort,
    ];

    /// The reason with this code, as read from a capture. `detail` is the driver's own code.
    pub fn from_code(code: &str, detail: i32) -> Option<Self> {
        let found = Self::ALL.iter().copied().find(|gap| gap.code() == code)?;
        Some(match found {
            Self::DriverError(_) => Self::DriverError(detail),
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_snake_case_and_readable_back() {
        let mut seen = std::collections::BTreeSet::new();
        for gap in Gap::ALL {
            let code = gap.code();
            assert!(seen.insert(code), "{code} twice");
            assert!(
                code.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
                "{code}"
            );
            assert_eq!(Gap::from_code(code, 0), Some(*gap));
            assert!(!gap.sentence().is_empty());
        }
    }
}
