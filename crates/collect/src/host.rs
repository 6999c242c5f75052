//! The machine itself: kernel, namespace, boot time, and which display devices the PCI bus has.

use std::collections::BTreeSet;

use model::{
    Gap, HostFacts, Measured, Mode, PciAddress, PidNamespace, PowerState, Provenance, Reading,
    Source, Stamp, Text,
};
use raw::{Inline, Machine, Reply, Stamped};

/// Inode of the first PID namespace (`include/linux/proc_ns.h`, `PROC_PID_INIT_INO`).
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// PCI vendor id of NVIDIA.
pub(crate) const NVIDIA: u32 = 0x10de;

/// How often the bus is looked at again, in case a device was added or taken away.
const BUS_EVERY_NS: u64 = 60_000_000_000;

/// A display device on the PCI bus, as sysfs tells it without touching the device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct DisplayDevice {
    pub(crate) address: PciAddress,
    pub(crate) vendor: u32,
    /// Whether its driver is another than the vendor's: then the vendor's library does not list it.
    pub(crate) other_driver: bool,
    /// [`Gap::PowerUnknown`] where its file is there and does not tell: then it may sleep.
    pub(crate) power: Result<PowerState, Gap>,
    /// Whether the kernel may suspend it; looked at while it does not sleep, and the last look stands.
    pub(crate) may_suspend: Option<Stamped<bool>>,
}

/// The machine over time.
#[derive(Default)]
pub(crate) struct Host {
    facts: Option<HostFacts>,
    mode: Option<Mode>,
    boot_us: Option<i64>,
    bus: Option<Result<Vec<DisplayDevice>, Gap>>,
    /// What is no display device: not looked at again.
    others: BTreeSet<PciAddress>,
    bus_due_ns: u64,
}

impl Host {
    /// Reads what is due.
    pub(crate) fn refresh(&mut self, machine: &mut dyn Machine, now: Stamp) {
        if self.facts.is_none() {
            self.read_facts(machine);
        }
        if self.boot_us.is_none() {
            self.boot_us = boot_time(machine);
        }
        if now.mono_ns >= self.bus_due_ns {
            self.bus_due_ns = now.mono_ns.saturating_add(BUS_EVERY_NS);
            let known = match self.bus.take() {
                Some(Ok(known)) => known,
                Some(Err(_)) | None => Vec::new(),
            };
            self.bus = Some(self.display_devices(machine, &known));
        } else if let Some(Ok(devices)) = &mut self.bus {
            for device in devices.iter_mut().filter(|device| device.vendor == NVIDIA) {
                device.power = power(machine, device.address);
            }
        }
    }

    fn read_facts(&mut self, machine: &mut dyn Machine) {
        let (os, privileged) = (machine.facts().os.clone(), machine.facts().privileged);
        let kernel = small(machine, "/proc/sys/kernel/osrelease").ok();
        let name = small(machine, "/proc/sys/kernel/hostname").ok();
        let pid_namespace = match machine
            .inline(&Inline::PidNamespace)
            .map(|answer| answer.value)
        {
            Ok(Reply::Bytes(link)) if &*link == INITIAL_NAMESPACE.as_bytes() => {
                PidNamespace::Initial
            }
            Ok(Reply::Bytes(link)) if link.starts_with(b"pid:[") => PidNamespace::Nested,
            Ok(_) | Err(_) => PidNamespace::Unknown,
        };
        // A WSL distribution is itself a nested namespace, so this comes first.
        let wsl = kernel
            .as_ref()
            .is_some_and(|k| k.to_ascii_lowercase().contains("microsoft"))
            && machine.inline(&Inline::Names("/dev".into())).is_ok_and(
                |names| matches!(names.value, Reply::Names(n) if n.iter().any(|n| &**n == "dxg")),
            );
        self.mode = Some(match pid_namespace {
            _ if &*os != "linux" => Mode::Unsupported,
            _ if wsl => Mode::Wsl,
            PidNamespace::Initial => Mode::NativeLinux,
            PidNamespace::Nested | PidNamespace::Unknown => Mode::Container,
        });
        self.facts = Some(HostFacts {
            os,
            kernel,
            name,
            pid_namespace,
            privileged,
        });
    }

    /// The display devices. Of a device that was there before only the power state is read: it may sleep.
    fn display_devices(
        &mut self,
        machine: &mut dyn Machine,
        known: &[DisplayDevice],
    ) -> Result<Vec<DisplayDevice>, Gap> {
        let mut found = Vec::new();
        for name in names(machine, "/sys/bus/pci/devices")? {
            let Some(address) = PciAddress::parse(&name) else {
                continue;
            };
            if self.others.contains(&address) {
                continue;
            }
            if let Some(before) = known.iter().find(|device| device.address == address) {
                let power = power(machine, address);
                let may_suspend = may_suspend(machine, address, power).or(before.may_suspend);
                found.push(DisplayDevice {
                    power,
                    may_suspend,
                    ..*before
                });
                continue;
            }
            let attribute = |file: &str| format!("/sys/bus/pci/devices/{name}/{file}");
            let hex = |text: Text| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok();
            let class = small(machine, &attribute("class")).ok().and_then(hex);
            // Base class 03, display controller.
            if class.is_none_or(|class| class >> 16 != 0x03) {
                self.others.extend(class.map(|_| address));
                continue;
            }
            let Some(vendor) = small(machine, &attribute("vendor")).ok().and_then(hex) else {
                continue;
            };
            let driver = match vendor {
                NVIDIA => small(machine, &attribute("uevent")).ok(),
                _ => None,
            };
            let driver = driver.as_deref().and_then(driver_of);
            let power = power(machine, address);
            found.push(DisplayDevice {
                address,
                vendor,
                other_driver: driver.is_some_and(|name| name != "nvidia"),
                power,
                may_suspend: may_suspend(machine, address, power),
            });
        }
        found.sort_by_key(|device| device.address);
        Ok(found)
    }

    /// Whether the kernel may suspend the device at this place.
    pub(crate) fn may_suspend(&self, address: PciAddress, now: Stamp) -> Reading<Measured<bool>> {
        let from = |at| Provenance {
            source: Source::Sysfs,
            counter: "power/control",
            at,
        };
        let bus = self.bus.iter().flatten();
        let device = bus.flatten().find(|device| device.address == address);
        match device.map(|device| (device.may_suspend, device.power)) {
            Some((Some(may), _)) => Reading::measured(may.value, from(may.at)),
            Some((None, Ok(PowerState::Suspended))) => Reading::missing(Gap::Asleep, from(now)),
            Some((None, Err(Gap::PowerUnknown))) => Reading::missing(Gap::PowerUnknown, from(now)),
            Some((None, _)) | None => Reading::missing(Gap::NotPresent, from(now)),
        }
    }

    /// Whether the machine has been looked at.
    pub(crate) const fn is_known(&self) -> bool {
        self.bus.is_some()
    }

    /// What is known of the machine; `None` only if reading it failed altogether.
    pub(crate) fn facts(&self, machine: &dyn Machine) -> HostFacts {
        self.facts.clone().unwrap_or_else(|| HostFacts {
            os: machine.facts().os.clone(),
            kernel: None,
            name: None,
            pid_namespace: PidNamespace::Unknown,
            privileged: machine.facts().privileged,
        })
    }

    /// How processes are seen.
    pub(crate) fn mode(&self) -> Mode {
        self.mode.unwrap_or(Mode::Unsupported)
    }

    /// Whether a driver's process numbers may be looked up here.
    pub(crate) fn may_look_up(&self) -> bool {
        self.facts
            .as_ref()
            .is_some_and(|facts| facts.pid_namespace == PidNamespace::Initial)
    }

    /// Wall clock of a start time in clock ticks since boot.
    pub(crate) fn started_us(&self, start_ticks: u64, clock_ticks: u64) -> Option<i64> {
        let us = i64::try_from(
            start_ticks
                .checked_mul(1_000_000)?
                .checked_div(clock_ticks)?,
        )
        .ok()?;
        self.boot_us?.checked_add(us)
    }

    /// Devices that NVIDIA's driver lists, in the order in which it numbers them: by their place on the bus.
    pub(crate) fn nvidia(&self) -> Vec<DisplayDevice> {
        let all = self.bus().unwrap_or(&[]).iter().copied();
        all.filter(|device| device.vendor == NVIDIA && !device.other_driver)
            .collect()
    }

    /// Display devices on the PCI bus.
    pub(crate) fn bus(&self) -> Result<&[DisplayDevice], Gap> {
        match &self.bus {
            Some(Ok(devices)) => Ok(devices),
            Some(Err(gap)) => Err(*gap),
            None => Err(Gap::Pending),
        }
    }
}

fn small(machine: &mut dyn Machine, path: &str) -> Result<Text, Gap> {
    match machine.inline(&Inline::Small(path.into()))?.value {
        Reply::Bytes(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().into()),
        _ => Err(Gap::Malformed),
    }
}

fn names(machine: &mut dyn Machine, path: &str) -> Result<Vec<Text>, Gap> {
    match machine.inline(&Inline::Names(path.into()))?.value {
        Reply::Names(names) => Ok(names),
        _ => Err(Gap::Malformed),
    }
}

/// Wall clock at boot, in microseconds: now minus uptime, fixed once, so that start times do not
/// wander when the clock is corrected.
fn boot_time(machine: &mut dyn Machine) -> Option<i64> {
    let answer = machine.inline(&Inline::Small("/proc/uptime".into())).ok()?;
    let Reply::Bytes(bytes) = answer.value else {
        return None;
    };
    let text = String::from_utf8_lossy(&bytes);
    let (seconds, hundredths) = text.split_ascii_whitespace().next()?.split_once('.')?;
    let seconds: i64 = seconds.parse().ok()?;
    let hundredths: i64 = hundredths.get(..2)?.parse().ok()?;
    let uptime_us = seconds
        .checked_mul(1_000_000)?
        .checked_add(hundredths * 10_000)?;
    answer.at.wall_us.checked_sub(uptime_us)
}

/// The driver's name in the text of `uevent`.
fn driver_of(uevent: &str) -> Option<&str> {
    uevent.lines().find_map(|line| line.strip_prefix("DRIVER="))
}

/// Whether the kernel may suspend the device while nobody uses it.
pub(crate) fn may_sleep(machine: &mut dyn Machine, address: PciAddress) -> bool {
    control(machine, address).is_some_and(|may| may.value)
}

fn control(machine: &mut dyn Machine, address: PciAddress) -> Option<Stamped<bool>> {
    let path = format!("/sys/bus/pci/devices/{address}/power/control");
    let answer = machine.inline(&Inline::Small(path.into())).ok()?;
    let Reply::Bytes(text) = &answer.value else {
        return None;
    };
    Some(Stamped {
        at: answer.at,
        value: text.trim_ascii() == b"auto",
    })
}

fn may_suspend(
    machine: &mut dyn Machine,
    address: PciAddress,
    power: Result<PowerState, Gap>,
) -> Option<Stamped<bool>> {
    (power != Ok(PowerState::Suspended) && power != Err(Gap::PowerUnknown))
        .then(|| control(machine, address))
        .flatten()
}

/// Runtime power state. Reading it does not wake the device. Without the file the kernel puts nothing to sleep; where it
/// is there and cannot be read, or says what no kernel is known to say, the device may sleep.
fn power(machine: &mut dyn Machine, address: PciAddress) -> Result<PowerState, Gap> {
    let path = format!("/sys/bus/pci/devices/{address}/power/runtime_status");
    match small(machine, &path).as_deref() {
        Ok("suspended" | "suspending") => Ok(PowerState::Suspended),
        Ok("active" | "resuming") => Ok(PowerState::Active),
        Ok("unsupported") => Err(Gap::NotSupported),
        // A capture without the answer wakes nothing.
        Err(gap @ (Gap::NotPresent | Gap::NotRecorded)) => Err(*gap),
        Ok(_) | Err(_) => Err(Gap::PowerUnknown),
    }
}

/// Before the bus has been looked at, and for what has no place on it.
pub(crate) const fn unlooked(now: Stamp) -> Reading<Measured<bool>> {
    Reading::missing(
        Gap::NotPresent,
        Provenance {
            source: Source::Sysfs,
            counter: "power/control",
            at: now,
        },
    )
}
