//! Names of things: moments, devices, processes.

use std::fmt;

use crate::Text;

/// The moment of one answer, on the clocks of the machine it came from.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Stamp {
    /// Monotonic nanoseconds since an arbitrary start; only differences mean anything.
    pub mono_ns: u64,
    /// Wall clock, microseconds since 1970-01-01 UTC. Can jump.
    pub wall_us: i64,
}

impl Stamp {
    /// Milliseconds from `earlier` to `self` on the monotonic clock; 0 if `earlier` is later.
    pub fn ms_since(self, earlier: Self) -> u64 {
        self.mono_ns.saturating_sub(earlier.mono_ns) / 1_000_000
    }
}

/// A PCI location, domain kept in full.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PciAddress {
    /// PCI domain (segment). 16 bits on most machines, 32 under some hypervisors.
    pub domain: u32,
    /// Bus number.
    pub bus: u8,
    /// Device (slot) number, 0 to 31.
    pub device: u8,
    /// Function number, 0 to 7.
    pub function: u8,
}

impl PciAddress {
    /// Reads `0000:01:00.0`, also with the eight-digit domain that NVML prints, any letter case.
    pub fn parse(text: &str) -> Option<Self> {
        let (domain, rest) = text.trim().split_once(':')?;
        let (bus, rest) = rest.split_once(':')?;
        let (device, function) = rest.split_once('.').unwrap_or((rest, "0"));
        let hex = |digits: &str| u32::from_str_radix(digits, 16).ok();
        Some(Self {
            domain: hex(domain)?,
            bus: u8::try_from(hex(bus)?).ok()?,
            device: u8::try_from(hex(device)?).ok().filter(|n| *n < 32)?,
            function: u8::try_from(hex(function)?).ok().filter(|n| *n < 8)?,
        })
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04x}:{:02x}:{:02x}.{:x}",
            self.domain, self.bus, self.device, self.function
        )
    }
}

/// What identifies a device. Keys of different kinds are never equal.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum DeviceKey {
    /// By its place on the PCI bus.
    Pci(PciAddress),
    /// By the driver's UUID, where it gave no PCI address.
    Uuid(Text),
    /// By the driver's slot number, where it gave neither.
    Slot(u32),
    /// By the kernel's name of a device that is on no PCI bus.
    Platform(Text),
}

impl fmt::Display for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pci(address) => address.fmt(f),
            Self::Uuid(uuid) => f.write_str(uuid),
            Self::Slot(slot) => write!(f, "slot {slot}"),
            Self::Platform(name) => f.write_str(name),
        }
    }
}

/// Which PID namespace a process number belongs to.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum PidSpace {
    /// The monitor's own namespace; the number can be looked up here.
    Local,
    /// The host of the container the monitor runs in (shown `H:1234`); never looked up here.
    Host,
}

/// A process. Start time guards against a reused number; it is unknown for numbers of a foreign
/// namespace and for processes that were gone before they could be looked up.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ProcessKey {
    /// Namespace of the number.
    pub space: PidSpace,
    /// The process number.
    pub pid: u32,
    /// Start time in clock ticks since boot (`/proc/PID/stat`, field 22).
    pub start_ticks: Option<u64>,
}

impl fmt::Display for ProcessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.space {
            PidSpace::Local => write!(f, "{}", self.pid),
            PidSpace::Host => write!(f, "H:{}", self.pid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_of_nvml_and_sysfs_are_the_same_place() {
        let short = PciAddress::parse("0000:C1:00.0");
        assert_eq!(short, PciAddress::parse("00000000:c1:00.0"));
        assert_eq!(
            short.map(|a| a.to_string()).as_deref(),
            Some("0000:c1:00.0")
        );
        assert_eq!(
            PciAddress::parse("10000:01:1f.7")
                .map(|a| a.to_string())
                .as_deref(),
            Some("10000:01:1f.7")
        );
    }

    #[test]
    fn nonsense_is_no_pci_address() {
        for text in [
            "",
            "1",
            "0000:01",
            "0000:01:20.0",
            "0000:01:00.8",
            "x:01:00.0",
            "0000:100:00.0",
        ] {
            assert_eq!(PciAddress::parse(text), None, "{text}");
        }
    }
}
