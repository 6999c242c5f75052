//! Which DRM devices there are, from attributes that no driver has to be woken for.

use std::collections::{BTreeMap, BTreeSet};

use model::names::{bounded, is_blank, name_in};
use model::{DeviceKey, Gap, PciAddress, Text, Vendor};
use raw::drm::FIRST_RENDER_MINOR;
use raw::{Inline, Machine, Reply};

/// Where the nodes of devices are.
const CLASS: &str = "/sys/class/drm";

/// Nodes looked at; more than any machine has.
const MAX_NODES: usize = 256;

/// What is read of a driver's devices.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Driver {
    /// AMD.
    Amdgpu,
    /// Intel, older driver.
    I915,
    /// Intel, newer driver.
    Xe,
    /// A driver that says what its clients use, and of whose own figures nothing is known.
    Generic,
    /// A driver that says nothing of its clients.
    Silent,
    /// Another part of this program reads it.
    Elsewhere,
    /// Shows pictures and computes none, or is a virtual one.
    Display,
    /// Computes and shows nothing: for neural networks, as a rule.
    Accelerator,
}

/// Drivers by the name the kernel gives them.
fn driver(name: &str) -> Driver {
    match name {
        "amdgpu" => Driver::Amdgpu,
        "i915" => Driver::I915,
        "xe" => Driver::Xe,
        "panfrost" | "panthor" | "v3d" | "etnaviv" | "etnaviv-gpu" | "lima" | "msm" | "msm_dpu"
        | "msm_mdss" | "adreno" => Driver::Generic,
        "radeon" | "nouveau" => Driver::Silent,
        "nvidia" | "nvidia-drm" => Driver::Elsewhere,
        _ => Driver::Display,
    }
}

/// A device with what does not change while it is there.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) key: DeviceKey,
    /// The driver's name.
    pub(super) driver_name: Text,
    pub(super) driver: Driver,
    pub(super) vendor: Vendor,
    pub(super) pci: Option<PciAddress>,
    /// PCI vendor and device.
    pub(super) ids: Option<(u16, u16)>,
    pub(super) revision: Option<u8>,
    /// The driver's own name of the product; usually empty.
    pub(super) product: Option<Text>,
    /// The folder of its first display node, or of its first node.
    pub(super) node: String,
    /// Names in the folder of the device.
    pub(super) attributes: BTreeSet<Text>,
    /// Why that folder could not be listed, so that no file of it is known.
    pub(super) unlisted: Option<Gap>,
    /// Names in the folder of the node.
    pub(super) node_attributes: BTreeSet<Text>,
    pub(super) minors: Vec<u32>,
    /// Major version of AMD's video engine.
    pub(super) video_version: Option<u32>,
}

impl Found {
    /// A file of the device.
    pub(super) fn file(&self, name: &str) -> Text {
        format!("{}/device/{name}", self.node).into()
    }

    /// A file of its node.
    pub(super) fn node_file(&self, name: &str) -> Text {
        format!("{}/{name}", self.node).into()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.attributes.contains(name)
    }
}

/// The nodes that there are, by name; connectors are none.
pub(super) fn nodes(machine: &mut dyn Machine) -> Result<Vec<Text>, Gap> {
    let mut nodes = names(machine, CLASS)?;
    nodes.retain(|name| minor(name).is_some());
    nodes.truncate(MAX_NODES);
    Ok(nodes)
}

/// Where the nodes of accelerators are.
const ACCELERATORS: &str = "/sys/class/accel";

/// Accelerators by name, with their driver: they are no GPUs, and are named so that nobody looks for them here.
pub(super) fn accelerators(machine: &mut dyn Machine) -> Vec<(Text, Text)> {
    let found = names(machine, ACCELERATORS).unwrap_or_else(|_| Vec::new());
    let named = found.into_iter().take(MAX_NODES).filter_map(|node| {
        let uevent = small(machine, &format!("{ACCELERATORS}/{node}/device/uevent")).ok()?;
        Some((node, Uevent::parse(&uevent).driver?))
    });
    named.collect()
}

/// Minor number of a node by its name.
pub(super) fn minor(name: &str) -> Option<u32> {
    let digits = match name.strip_prefix("renderD") {
        Some(digits) => digits,
        None => name.strip_prefix("card")?,
    };
    let number: u32 = digits.parse().ok()?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_render = number >= FIRST_RENDER_MINOR;
    (is_number && is_render == name.starts_with('r')).then_some(number)
}

/// The devices behind these nodes. `refused`: nodes of which it could not be read whose they are, with the reason.
pub(super) fn devices(
    machine: &mut dyn Machine,
    nodes: &[Text],
    refused: &mut Vec<(Text, Gap)>,
) -> Vec<Found> {
    let mut grouped: BTreeMap<DeviceKey, (Uevent, Vec<&Text>)> = BTreeMap::new();
    for node in nodes {
        let path = format!("{CLASS}/{node}/device/uevent");
        let text = match small(machine, &path) {
            Ok(text) => text,
            Err(gap) => {
                if gap != Gap::NotPresent {
                    refused.push((Text::clone(node), gap));
                }
                continue;
            }
        };
        let uevent = Uevent::parse(&text);
        let key = uevent
            .key()
            .unwrap_or_else(|| DeviceKey::Platform(first_sibling(machine, node, nodes)));
        grouped
            .entry(key)
            .or_insert((uevent, Vec::new()))
            .1
            .push(node);
    }
    let lasts: Vec<Text> = grouped.keys().filter_map(last_part).collect();
    let found = grouped.into_iter().filter_map(|(key, (uevent, nodes))| {
        // Its whole path only where it takes that to tell two apart.
        let is_only = |last: &Text| lasts.iter().filter(|it| *it == last).count() == 1;
        let short = last_part(&key).filter(is_only).map(DeviceKey::Platform);
        let mut found = device(machine, short.unwrap_or(key), &uevent, &nodes)?;
        // A device with a display node has its files there: one without, beside a node that does not tell whose it
        // is, may have them there too.
        let is_display = |node: &Text| minor(node).is_some_and(|minor| minor < FIRST_RENDER_MINOR);
        if !nodes.iter().any(|node| is_display(node)) {
            let lost = refused.iter().find(|(node, _)| is_display(node));
            found.unlisted = found.unlisted.or(lost.map(|(_, gap)| *gap));
        }
        Some(found)
    });
    found.collect()
}

/// Last part of a path in the device tree.
fn last_part(key: &DeviceKey) -> Option<Text> {
    match key {
        DeviceKey::Platform(path) => Some(path.rsplit('/').next().unwrap_or(path).into()),
        _ => None,
    }
}

/// The first node of the device of a node: a device lists its nodes.
fn first_sibling(machine: &mut dyn Machine, node: &Text, nodes: &[Text]) -> Text {
    let siblings = names(machine, &format!("{CLASS}/{node}/device/drm"));
    let siblings = siblings.unwrap_or_else(|_| Vec::new());
    let is_listed = siblings.contains(node);
    let mut nodes = nodes.iter();
    let first = nodes.find(|other| is_listed && siblings.contains(other));
    Text::clone(first.unwrap_or(node))
}

fn device(
    machine: &mut dyn Machine,
    key: DeviceKey,
    uevent: &Uevent,
    nodes: &[&Text],
) -> Option<Found> {
    // `card1` sorts before `renderD128`.
    let node = format!("{CLASS}/{}", nodes.first()?);
    let driver_name = uevent.driver.clone().unwrap_or_else(|| "unknown".into());
    let driver = driver(&driver_name);
    let mut found = Found {
        vendor: match uevent.ids {
            Some((0x10de, _)) => Vendor::Nvidia,
            Some((0x1002, _)) => Vendor::Amd,
            Some((0x8086, _)) => Vendor::Intel,
            _ => Vendor::Other,
        },
        key,
        driver_name,
        driver,
        pci: uevent.pci,
        ids: uevent.ids,
        revision: None,
        product: None,
        node,
        attributes: BTreeSet::new(),
        unlisted: None,
        node_attributes: BTreeSet::new(),
        minors: nodes.iter().filter_map(|node| minor(node)).collect(),
        video_version: None,
    };
    if matches!(driver, Driver::Elsewhere | Driver::Display) {
        return Some(found);
    }
    match names(machine, &format!("{}/device", found.node)) {
        Ok(names) => found.attributes = names.into_iter().collect(),
        Err(gap) => found.unlisted = Some(gap),
    }
    let revision = small(machine, &found.file("revision")).ok();
    found.revision =
        revision.and_then(|text| u8::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    match driver {
        Driver::Amdgpu => {
            if found.has("product_name") {
                let product = small(machine, &found.file("product_name")).ok();
                found.product = product.and_then(|text| product_name(&text));
            }
            // Hardware id 12 is the video engine, UVD or VCN.
            let version = small(machine, &found.file("ip_discovery/die/0/12/0/major"));
            found.video_version = version.ok().and_then(|text| text.parse().ok());
        }
        Driver::I915 => {
            let names = names(machine, &found.node).unwrap_or_else(|_| Vec::new());
            found.node_attributes = names.into_iter().collect();
        }
        _ => {}
    }
    Some(found)
}

/// The driver's name of a product; none where its bytes are no text.
fn product_name(text: &str) -> Option<Text> {
    let name = name_in(text).filter(|name| !name.contains(char::REPLACEMENT_CHARACTER))?;
    Some(bounded(name).into())
}

/// Attributes of a `uevent` file.
#[derive(Debug, Default)]
struct Uevent {
    driver: Option<Text>,
    pci: Option<PciAddress>,
    ids: Option<(u16, u16)>,
    /// Path in the device tree, on machines that have one.
    full_name: Option<Text>,
}

impl Uevent {
    fn parse(text: &str) -> Self {
        let mut it = Self::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            match key {
                "DRIVER" => it.driver = name_in(value).map(|name| bounded(name).into()),
                "PCI_SLOT_NAME" => it.pci = PciAddress::parse(value),
                "PCI_ID" => it.ids = ids(value),
                "OF_FULLNAME" => it.full_name = Some(value.into()),
                _ => {}
            }
        }
        it
    }

    /// None where the text says neither the place on the bus nor that in the device tree.
    fn key(&self) -> Option<DeviceKey> {
        let address = self.pci.map(DeviceKey::Pci);
        let platform = || self.full_name.as_ref().map(Text::clone);
        address.or_else(|| platform().map(DeviceKey::Platform))
    }
}

/// `1002:15BF`.
fn ids(text: &str) -> Option<(u16, u16)> {
    let (vendor, device) = text.split_once(':')?;
    let hex = |digits| u16::from_str_radix(digits, 16).ok();
    Some((hex(vendor)?, hex(device)?))
}

/// Hardware monitoring of a device.
#[derive(Clone, Debug, Default)]
pub(super) struct Hwmon {
    /// Its folder.
    pub(super) folder: String,
    /// Names in it.
    pub(super) attributes: BTreeSet<Text>,
    /// `temp2` to `junction`, `energy1` to `card`, and so on.
    pub(super) labels: BTreeMap<Text, Text>,
}

impl Hwmon {
    pub(super) fn file(&self, name: &str) -> Text {
        format!("{}/{name}", self.folder).into()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.attributes.contains(name)
    }

    /// The channel (`temp2`) with this label among those of a kind (`temp`).
    pub(super) fn labelled(&self, kind: &str, label: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(channel, said)| channel.starts_with(kind) && &***said == label)
            .map(|(channel, _)| &**channel)
    }
}

/// Looks for the hardware monitoring of a device that does not sleep. `Err`: there is none, or it may not be read.
pub(super) fn hwmon(machine: &mut dyn Machine, device: &Found) -> Result<Hwmon, Gap> {
    let absent = |gap| match gap {
        Gap::NotPresent => Gap::NoCounter,
        gap => gap,
    };
    let parent = device.file("hwmon");
    let mut folders = names(machine, &parent).map_err(absent)?;
    let mut why = Gap::NoCounter;
    // hwmon10 comes after hwmon9.
    folders.sort_by_key(|name| (name.len(), name.clone()));
    for name in folders {
        let folder = format!("{parent}/{name}");
        let said = small(machine, &format!("{folder}/name"));
        if let Err(gap) = said {
            why = absent(gap);
        }
        if said.is_ok_and(|said| said == device.driver_name) {
            let attributes = names(machine, &folder).map_err(absent)?;
            let attributes: BTreeSet<Text> = attributes.into_iter().collect();
            let mut labels = BTreeMap::new();
            for attribute in &attributes {
                let Some(channel) = attribute.strip_suffix("_label") else {
                    continue;
                };
                if let Ok(label) = small(machine, &format!("{folder}/{attribute}"))
                    && !is_blank(&label)
                {
                    labels.insert(channel.into(), label);
                }
            }
            return Ok(Hwmon {
                folder,
                attributes,
                labels,
            });
        }
    }
    Err(why)
}

/// A small text without the white space around it.
pub(super) fn small(machine: &mut dyn Machine, path: &str) -> Result<Text, Gap> {
    match machine.inline(&Inline::Small(path.into()))?.value {
        Reply::Bytes(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().into()),
        _ => Err(Gap::Malformed),
    }
}

pub(super) fn names(machine: &mut dyn Machine, path: &str) -> Result<Vec<Text>, Gap> {
    match machine.inline(&Inline::Names(path.into()))?.value {
        Reply::Names(names) => Ok(names),
        _ => Err(Gap::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connectors_are_no_nodes() {
        for (name, expected) in [
            ("card0", Some(0)),
            ("card1", Some(1)),
            ("renderD128", Some(128)),
            ("card1-DP-1", None),
            ("renderD1", None),
            ("card128", None),
            ("version", None),
        ] {
            assert_eq!(minor(name), expected, "{name}");
        }
    }

    #[test]
    fn a_device_is_its_place_on_the_bus_or_its_name_in_the_device_tree() {
        let text =
            "DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:15BF\nPCI_SLOT_NAME=10000:64:00.0\n";
        let it = Uevent::parse(text);
        assert_eq!(it.driver.as_deref(), Some("amdgpu"));
        assert_eq!(it.ids, Some((0x1002, 0x15bf)));
        let key = |it: &Uevent| it.key().map(|key| key.to_string());
        assert_eq!(key(&it).as_deref(), Some("10000:64:00.0"));
        let it = Uevent::parse("DRIVER=v3d\nOF_NAME=v3d\nOF_FULLNAME=/v3dbus/v3d@7ec04000\n");
        assert_eq!(key(&it).as_deref(), Some("/v3dbus/v3d@7ec04000"));
        assert_eq!(key(&Uevent::parse("DRIVER=panfrost\n")), None);
    }
}
