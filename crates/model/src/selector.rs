//! How a person names one device: by its number, its place on the bus, or its UUID.

use std::fmt;

use crate::Text;
use crate::device::Device;
use crate::ids::{DeviceKey, PciAddress};
use crate::snapshot::Selection;

/// One device, as it was named. Which one that is depends on the devices there are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Selector {
    /// Position in index order (`--list-gpus`).
    Index(u32),
    /// Place on the PCI bus; without a domain in any domain, as `lspci` understands it.
    Pci {
        /// The domain, where one was named.
        domain: Option<u32>,
        /// The rest of the address; its domain is 0 where none was named.
        address: PciAddress,
    },
    /// A UUID or the start of one, with its prefix: `GPU-…`, `MIG-…`. Letter case does not matter.
    Uuid(Text),
    /// Something that is none of these and matches nothing.
    Other(Text),
}

/// What a selector comes to among certain devices.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Selected {
    /// The device with this index, whether or not there is one.
    One(u32),
    /// No device is called so.
    None,
    /// Several are: their indices.
    Several(Vec<u32>),
}

impl Selector {
    /// Reads `1`, `0000:01:00.0`, `01:00.0`, `00000000:01:00.0`, `GPU-8f6d…`, `MIG-…`; any letter case.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Ok(index) = text.parse() {
            return Self::Index(index);
        }
        if is_uuid(text) {
            return Self::Uuid(text.into());
        }
        pci(text).unwrap_or_else(|| Self::Other(text.into()))
    }

    /// Which of `devices` is meant. A UUID in full is itself, also where it is the start of another.
    pub fn among(&self, devices: &[Device]) -> Selected {
        let wanted = match self {
            Self::Index(index) => return Selected::One(*index),
            Self::Other(_) => return Selected::None,
            Self::Uuid(wanted) => wanted.to_ascii_lowercase(),
            Self::Pci { domain, address } => {
                return one_of(devices, |device| {
                    place(device).is_some_and(|place| {
                        PciAddress {
                            domain: domain.unwrap_or(place.domain),
                            ..*address
                        } == place
                    })
                });
            }
        };
        let in_full = one_of(devices, |device| {
            uuid(device).is_some_and(|uuid| uuid.eq_ignore_ascii_case(&wanted))
        });
        if in_full != Selected::None {
            return in_full;
        }
        one_of(devices, |device| {
            uuid(device).is_some_and(|uuid| uuid.to_ascii_lowercase().starts_with(&wanted))
        })
    }

    /// The selection that it comes to among `devices`.
    pub fn selection(&self, devices: &[Device]) -> Selection {
        match self.among(devices) {
            Selected::One(index) => Selection::One(index),
            Selected::None | Selected::Several(_) => Selection::Nothing,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            Self::Pci {
                domain: Some(_),
                address,
            } => address.fmt(f),
            Self::Pci {
                domain: None,
                address,
            } => write!(
                f,
                "{:02x}:{:02x}.{:x}",
                address.bus, address.device, address.function
            ),
            Self::Uuid(text) | Self::Other(text) => f.write_str(text),
        }
    }
}

/// A prefix that drivers give, and at least one digit behind it.
fn is_uuid(text: &str) -> bool {
    text.split_once('-').is_some_and(|(prefix, digits)| {
        ["gpu", "mig"].contains(&&*prefix.to_ascii_lowercase())
            && !digits.is_empty()
            && !digits.chars().any(|c| c.is_whitespace() || c.is_control())
    })
}

fn pci(text: &str) -> Option<Selector> {
    // A function has to be named: `01:00` could as well be a time.
    let (_, function) = text.split_once('.')?;
    if function.is_empty() {
        return None;
    }
    if text.matches(':').count() == 1 {
        let address = PciAddress::parse(&format!("0:{text}"))?;
        return Some(Selector::Pci {
            domain: None,
            address,
        });
    }
    let address = PciAddress::parse(text)?;
    Some(Selector::Pci {
        domain: Some(address.domain),
        address,
    })
}

fn place(device: &Device) -> Option<PciAddress> {
    match (&device.pci.value(), &device.key) {
        (Some(address), _) => Some(**address),
        (None, DeviceKey::Pci(address)) => Some(*address),
        (None, DeviceKey::Uuid(_) | DeviceKey::Slot(_) | DeviceKey::Platform(_)) => None,
    }
}

fn uuid(device: &Device) -> Option<&Text> {
    match (device.uuid.value(), &device.key) {
        (Some(uuid), _) | (None, DeviceKey::Uuid(uuid)) => Some(uuid),
        (None, DeviceKey::Pci(_) | DeviceKey::Slot(_) | DeviceKey::Platform(_)) => None,
    }
}

fn one_of(devices: &[Device], is_meant: impl Fn(&Device) -> bool) -> Selected {
    let meant = devices.iter().filter(|device| is_meant(device));
    let meant: Vec<u32> = meant.map(|device| device.index).collect();
    match *meant.as_slice() {
        [] => Selected::None,
        [index] => Selected::One(index),
        _ => Selected::Several(meant),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_addresses_and_uuids_are_told_apart() {
        let pci = |domain, bus| Selector::Pci {
            domain,
            address: PciAddress {
                domain: domain.unwrap_or(0),
                bus,
                device: 0,
                function: 0,
            },
        };
        for (text, expected) in [
            ("7", Selector::Index(7)),
            ("0000:01:00.0", pci(Some(0), 1)),
            ("00000000:C1:00.0", pci(Some(0), 0xc1)),
            ("0001:c1:00.0", pci(Some(1), 0xc1)),
            ("C1:00.0", pci(None, 0xc1)),
            ("GPU-8f6d", Selector::Uuid("GPU-8f6d".into())),
            ("gpu-8F6D", Selector::Uuid("gpu-8F6D".into())),
            ("MIG-GPU-8f/1/0", Selector::Uuid("MIG-GPU-8f/1/0".into())),
        ] {
            let selector = Selector::parse(text);
            assert_eq!(selector, expected, "{text}");
            assert_eq!(Selector::parse(&selector.to_string()), selector, "{text}");
        }
        for text in [
            "",
            "x",
            "-1",
            "1.5",
            "01:00",
            "01:00.",
            "01:20.0",
            "0:0:01:00.0",
            "GPU-",
            "GPU",
            "all",
            "RTX-1",
            "GPU-a b",
            "4294967296",
        ] {
            assert_eq!(
                Selector::parse(text),
                Selector::Other(text.into()),
                "{text}"
            );
        }
    }
}
