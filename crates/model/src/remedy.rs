//! What a person can do about a missing value. For rights, sleep and old kernels that depends on who runs the program,
//! where, and what was refused by whom: one rule, from which every view and every notice prints.

use std::borrow::Cow;

use crate::device::{Device, PowerState, Vendor};
use crate::gap::Gap;

use crate::reading::Source;
use crate::snapshot::{Mode, Snapshot};

/// Whom one would have to be, as far as this process tells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Standing {
    /// Whether it runs with full rights; `None` where unknown.
    pub privileged: Option<bool>,
    /// How processes are seen.
    pub mode: Mode,
}

/// What was refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refused {
    /// Files of a process: its owner and holders of `CAP_SYS_PTRACE` may read them.
    Process,
    /// A file of a device or of the compute driver (`/sys`).
    DeviceFile,
    /// A call of a driver's library.
    Driver,
    /// A file with a model or a setting, which its owner decides about.
    File,
}

impl Refused {
    /// What a reading from this source was refused; `None` where rights of this machine would not help.
    pub const fn of(source: Source) -> Option<Self> {
        match source {
            Source::Proc | Source::Fdinfo | Source::CommandLine => Some(Self::Process),
            Source::Sysfs | Source::Kfd => Some(Self::DeviceFile),
            Source::Nvml => Some(Self::Driver),
            Source::Gguf
            | Source::ModelFile
            | Source::Log
            | Source::Settings
            | Source::ContainerState => Some(Self::File),
            // A server wants a key, and arithmetic no rights.
            Source::Http | Source::Derived | Source::Program => None,
        }
    }
}

impl Standing {
    /// What helps against a refusal.
    pub const fn remedy(self, refused: Refused) -> &'static str {
        let is_root = matches!(self.privileged, Some(true));
        let in_container = matches!(self.mode, Mode::Container);
        match (refused, is_root, in_container) {
            (Refused::Process, true, true) => {
                "this runs as root already: give the container CAP_SYS_PTRACE (--cap-add SYS_PTRACE), or run it on the \
                 host"
            }
            (Refused::Process, true, false) => {
                "this runs as root already: a sandbox or security module may withhold CAP_SYS_PTRACE"
            }
            (Refused::Process, false, true) => {
                "run it as root and with CAP_SYS_PTRACE in the container, or with sudo on the host"
            }
            (Refused::Process, false, false) => {
                "run with sudo, or as the user who owns the process"
            }
            (Refused::DeviceFile, true, true) => {
                "this runs as root already: the container withholds it; run it on the host"
            }
            (Refused::DeviceFile, true, false) => {
                "this runs as root already: the kernel or a security module refuses it"
            }
            (Refused::DeviceFile, false, true) => {
                "run it as root in the container, or with sudo on the host"
            }
            (Refused::Driver, true, _) => {
                "this runs as root already: the driver's settings or the container refuse it"
            }
            (Refused::File, true, _) => {
                "this runs as root already: its file system or a security module refuses it"
            }
            (Refused::File, false, _) => "run with sudo, or as the user who owns the file",
            (Refused::DeviceFile | Refused::Driver, false, _) => "run with sudo",
        }
    }
}

impl Device {
    /// Whether a request of the user wakes it: only NVIDIA's own driver is asked through a library that does. A
    /// device whose driver the kernel names is read from files, whoever made it.
    pub fn wakes_on_request(&self) -> bool {
        let is_read_from_files = self
            .driver
            .known()
            .is_some_and(|driver| driver.from.source == Source::Sysfs);
        self.vendor == Vendor::Nvidia && !is_read_from_files
    }

    /// Whether nobody can say who uses it, as its driver is not asked while it sleeps or may. Who has another driver's
    /// device open is seen all the same.
    pub fn has_unasked_processes(&self) -> bool {
        let rests = self.power_state.value() == Some(&PowerState::Suspended)
            || self.power_state.gap() == Some(Gap::PowerUnknown);
        rests && self.wakes_on_request()
    }
}

/// Of a sleeping device that no request wakes.
pub const NOT_WOKEN: &str = "W and --wake wake NVIDIA GPUs only: this one would need its node opened, which is never \
                             done; it is read when a program uses it";

impl Snapshot {
    /// Who runs this, and where.
    pub const fn standing(&self) -> Standing {
        Standing {
            privileged: self.host.privileged,
            mode: self.mode,
        }
    }

    /// What can be done about a value that is missing: on `device`, where it is of one, and from `source`.
    pub fn remedy(
        &self,
        gap: Gap,
        device: Option<&Device>,
        source: Source,
    ) -> Option<Cow<'static, str>> {
        match gap {
            Gap::Permission => Refused::of(source).map(|it| self.standing().remedy(it).into()),
            Gap::Incomplete => Some(self.standing().remedy(Refused::Process).into()),
            Gap::Asleep | Gap::PowerUnknown => match device {
                Some(device) if !device.wakes_on_request() => {
                    (gap == Gap::Asleep).then_some(NOT_WOKEN.into())
                }
                _ => Some("W on the screen, or --wake, reads it even if that wakes it".into()),
            },
            Gap::Legacy => {
                let driver = device.and_then(|device| device.driver.value());
                newer_kernel(self.host.kernel.as_deref(), driver.map(|it| &**it))
            }
            gap => gap.remedy().map(Cow::from),
        }
    }
}

/// First kernels whose drivers say which memory is shared, by driver: major and minor version.
const TELLS_SHARED: [(&str, (u32, u32)); 4] = [
    ("amdgpu", (6, 9)),
    ("i915", (6, 8)),
    ("xe", (6, 8)),
    ("msm", (6, 5)),
];

fn newer_kernel(running: Option<&str>, driver: Option<&str>) -> Option<Cow<'static, str>> {
    let (driver, from) = *TELLS_SHARED
        .iter()
        .find(|(name, _)| Some(*name) == driver)?;
    let (major, minor) = from;
    match running.and_then(version) {
        // Something else than its age is the cause, and which is not known.
        Some(version) if version >= from => None,
        Some((is_major, is_minor)) => Some(
            format!(
                "{driver} says it from about Linux {major}.{minor} on; this is {is_major}.{is_minor}"
            )
            .into(),
        ),
        None => Some(format!("{driver} says it from about Linux {major}.{minor} on").into()),
    }
}

/// `6.14.0-15-generic` is 6.14.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || parts.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_kernel_is_advised_only_where_the_running_one_is_older() {
        let said = |running, driver| newer_kernel(running, Some(driver));
        for new in ["6.14.0", "6.9.0-rc1", "6.10.3-arch1-1", "7.0", "10.2"] {
            assert_eq!(said(Some(new), "amdgpu"), None, "{new}");
        }
        for old in ["6.2.0-39-generic", "5.15.0", "6.8"] {
            let said = said(Some(old), "amdgpu").unwrap();
            assert!(said.contains("from about Linux 6.9 on; this is "), "{said}");
        }
        for unknown in [None, Some("custom"), Some("6"), Some("")] {
            let said = said(unknown, "i915").unwrap();
            assert_eq!(said, "i915 says it from about Linux 6.8 on", "{unknown:?}");
        }
        assert_eq!(said(Some("5.1"), "radeon"), None, "no kernel is known to");
        assert_eq!(newer_kernel(None, None), None);
    }

    #[test]
    fn sudo_is_never_advised_to_root() {
        use Refused::{DeviceFile, Driver, File, Process};
        for mode in [
            Mode::NativeLinux,
            Mode::Container,
            Mode::Wsl,
            Mode::Unsupported,
        ] {
            for refused in [Process, DeviceFile, Driver, File] {
                let of = |privileged| Standing { privileged, mode }.remedy(refused);
                let to_root = of(Some(true));
                assert!(!to_root.contains("sudo"), "{to_root}");
                assert!(to_root.contains("as root already"), "{to_root}");
                for privileged in [Some(false), None] {
                    assert!(of(privileged).contains("sudo"), "{refused:?} {mode:?}");
                }
            }
        }
        let in_container = Standing {
            privileged: Some(true),
            mode: Mode::Container,
        };
        assert!(in_container.remedy(Process).contains("SYS_PTRACE"));
    }

    #[test]
    fn a_request_is_advised_only_for_what_it_wakes() {
        let snapshot = crate::sample::workstation();
        let mut device = snapshot.devices.first().unwrap().clone();
        let of = |device: &Device, gap| snapshot.remedy(gap, Some(device), Source::Sysfs);
        assert!(
            of(&device, Gap::Asleep)
                .unwrap()
                .starts_with("W on the screen")
        );
        for vendor in [Vendor::Amd, Vendor::Intel, Vendor::Other] {
            device.vendor = vendor;
            assert_eq!(of(&device, Gap::Asleep).as_deref(), Some(NOT_WOKEN));
            assert_eq!(of(&device, Gap::PowerUnknown), None);
        }
        // nouveau has it.
        device.vendor = Vendor::Nvidia;
        let mut from = device.power_state.known().unwrap().from;
        from.source = Source::Sysfs;
        let mut rests = device.clone();
        rests.power_state = crate::Reading::missing(Gap::PowerUnknown, from);
        assert!(rests.has_unasked_processes() && !device.has_unasked_processes());
        device.driver = crate::Reading::measured("nouveau".into(), from);
        assert_eq!(of(&device, Gap::Asleep).as_deref(), Some(NOT_WOKEN));
    }

    #[test]
    fn a_server_that_wants_a_key_is_no_matter_of_rights() {
        let snapshot = crate::sample::workstation();
        assert_eq!(snapshot.remedy(Gap::Permission, None, Source::Http), None);
        let file = snapshot.remedy(Gap::Permission, None, Source::Sysfs);
        assert_eq!(file.as_deref(), Some("run with sudo"));
    }
}
