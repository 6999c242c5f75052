//! Which devices are left alone, so that a sleeping GPU stays asleep and an idle one can fall asleep.
//!
//! * A suspended device is not touched, not even by a handle, until it is awake by itself or the user asks for it. So is
//!   one of which the kernel does not tell whether it sleeps.
//! * A device that the kernel may suspend and that nobody uses is read every [`IDLE_NS`] only, or the monitor itself
//!   would keep it awake.
//!
//! The driver is asked by slot, and knows places on the bus only by asking the device. So slots are taken to be in the
//! order of the bus until they are known; every slot that is known and the number of devices have to agree with that.
//! The number is asked first, without any device, while one sleeps: a container may have been given some of the devices
//! on the bus only. Where they do not agree, nothing at all is asked while a device sleeps whose slot was never seen.
//!
//! Facts: taking a handle starts a GPU, initialising the library does not (NVIDIA's NVML reference). The order of slots
//! is by bus address as far as the reference says; not confirmed on hardware.

use std::collections::BTreeMap;

use model::{Gap, Notice, PciAddress, PowerState, Severity, Stamp, Text};
use raw::Machine;
use raw::nvml::MAX_DEVICES;

use crate::host::{self, Host};
use crate::nvml::{Nvml, Resting};

/// How long an unused device is left alone at a time. Longer than the kernel waits before it suspends one.
pub(crate) const IDLE_NS: u64 = 15_000_000_000;

/// How long readings of a device that was woken on purpose are shown when it has gone to sleep again.
const WOKEN_NS: u64 = 10_000_000_000;

/// How long a request to wake a device stands that the driver does not answer for. Starting a device takes seconds.
const UNHEARD_NS: u64 = 30_000_000_000;

/// What is said of a device that is not read for want of its power state.
pub(crate) const UNTOLD: &str = "left alone: whether it sleeps cannot be told";

/// What is done about one device.
#[derive(Clone, Copy, Debug, Default)]
struct Device {
    resting: Option<Resting>,
    /// When the driver last read it.
    read_at: Option<Stamp>,
    /// Whether the kernel may suspend it, as of this moment.
    control: Option<(bool, Stamp)>,
    wake: Option<Wake>,
}

/// A request of the user.
#[derive(Clone, Copy, Debug)]
enum Wake {
    /// Made, and not fulfilled yet.
    Asked(Stamp),
    /// The device was read at this moment.
    Read(Stamp),
}

/// Devices over time.
#[derive(Default)]
pub(crate) struct Rest {
    devices: BTreeMap<PciAddress, Device>,
    /// Every sleeping device is to be woken, once.
    wake_all: bool,
    /// A plan for the newest request has been made.
    hurried: bool,
    slots: BTreeMap<u32, PciAddress>,
    /// Devices that sleep in a slot that cannot be told.
    untold: Vec<PciAddress>,
    /// The driver has said how many devices there are.
    counted: bool,
    /// It has just said so, and no device was asked yet.
    only_counted: bool,
}

impl Rest {
    pub(crate) fn new(wake: bool) -> Self {
        Self {
            wake_all: wake,
            ..Self::default()
        }
    }

    /// The user wants this device to be read even if that wakes it.
    pub(crate) fn wake(&mut self, address: PciAddress, now: Stamp) {
        self.devices.entry(address).or_default().wake = Some(Wake::Asked(now));
        self.hurried = false;
    }

    /// Whether a plan is wanted at once; true once a request, and once the devices are counted.
    pub(crate) fn hurry(&mut self) -> bool {
        let asked = |device: &Device| matches!(device.wake, Some(Wake::Asked(_)));
        let asked = self.devices.values().any(asked);
        let wanted = !self.hurried && (asked || self.only_counted);
        self.hurried |= wanted;
        wanted
    }

    /// Looks at the devices after the answers of a refresh have been taken in.
    pub(crate) fn settle(
        &mut self,
        machine: &mut dyn Machine,
        host: &Host,
        nvml: &mut Nvml,
        now: Stamp,
    ) {
        let expected = host.nvidia();
        self.devices
            .retain(|address, _| expected.iter().any(|device| device.address == *address));
        let addresses: Vec<PciAddress> = expected.iter().map(|device| device.address).collect();
        self.place(&addresses, nvml);
        for found in &expected {
            let slot = self.slot_of(found.address);
            let device = self.devices.entry(found.address).or_default();
            let is_unknown = found.power == Err(Gap::PowerUnknown);
            let asleep = found.power == Ok(PowerState::Suspended) || is_unknown;
            if self.wake_all && asleep {
                device.wake = Some(Wake::Asked(now));
            }
            let read_at = slot.and_then(|slot| nvml.read_at(slot));
            let just_read = read_at != device.read_at;
            device.read_at = read_at;
            device.wake = match (device.wake, device.read_at) {
                (Some(Wake::Asked(asked)), Some(read)) if read.mono_ns >= asked.mono_ns => {
                    Some(Wake::Read(read))
                }
                (Some(Wake::Asked(asked)), _)
                    if now.mono_ns.saturating_sub(asked.mono_ns) > UNHEARD_NS =>
                {
                    None
                }
                (Some(Wake::Read(read)), _)
                    if !asleep || now.mono_ns.saturating_sub(read.mono_ns) > WOKEN_NS =>
                {
                    None
                }
                (same, _) => same,
            };
            let unused = slot.is_some_and(|slot| nvml.is_unused(slot));
            let woken = matches!(device.wake, Some(Wake::Read(_)));
            let was_untouched = device.resting.is_some_and(Resting::is_untouched);
            device.resting = if asleep && !woken {
                Some(if is_unknown {
                    Resting::Unknown
                } else {
                    Resting::Asleep
                })
            } else if !asleep && was_untouched && !just_read {
                // It woke by itself: what it does is read at once.
                Some(Resting::Waking)
            } else if unused && !asleep && device.may_sleep(machine, found.address, now) {
                Some(Resting::Idle)
            } else if device.resting == Some(Resting::Waking) && device.read_at.is_none() {
                device.resting
            } else {
                None
            };
        }
        if !expected.is_empty() {
            self.wake_all = false;
        }
        self.untold = expected
            .iter()
            .map(|device| device.address)
            .filter(|address| self.sleeps_on(*address) && self.slot_of(*address).is_none())
            .collect();
        for (slot, address) in &self.slots {
            nvml.rest(*slot, self.devices.get(address).and_then(|it| it.resting));
        }
        nvml.leave_alone(self.why_nothing());
        let had_counted = std::mem::replace(&mut self.counted, nvml.count().is_some());
        let was_waiting = self.only_counted;
        self.only_counted = nvml.has_only_counted() && self.why_nothing().is_none();
        if self.only_counted && !(had_counted && was_waiting) {
            self.hurried = false;
        }
    }

    /// Whether the driver has counted its devices and is still to be asked for the first of them.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.only_counted
    }

    /// Finds the slot of every device: where it was seen, else by the order of the bus if nothing contradicts that.
    fn place(&mut self, addresses: &[PciAddress], nvml: &Nvml) {
        let seen = nvml.places();
        let in_order = nvml.count().is_none_or(|count| count == addresses.len())
            && seen.iter().all(|(slot, address)| {
                let at = usize::try_from(*slot).ok();
                at.and_then(|at| addresses.get(at)) == Some(address)
            });
        self.slots = seen;
        if in_order {
            self.slots = (0..).zip(addresses.iter().copied()).collect();
        }
    }

    fn slot_of(&self, address: PciAddress) -> Option<u32> {
        let mut slots = self.slots.iter();
        slots.find(|(_, at)| **at == address).map(|(slot, _)| *slot)
    }

    /// Whether it sleeps and nobody asked for it.
    fn sleeps_on(&self, address: PciAddress) -> bool {
        self.devices.get(&address).is_some_and(|device| {
            let asked = matches!(device.wake, Some(Wake::Asked(_)));
            device.resting.is_some_and(Resting::is_untouched) && !asked
        })
    }

    /// Why the driver is not asked at all.
    pub(crate) fn why_nothing(&self) -> Option<Text> {
        let all_asleep =
            !self.devices.is_empty() && self.devices.keys().all(|at| self.sleeps_on(*at));
        if all_asleep {
            let is_unknown = |device: &Device| device.resting == Some(Resting::Unknown);
            let or_may_be = if self.devices.values().any(is_unknown) {
                " or may be"
            } else {
                ""
            };
            let text =
                format!("every NVIDIA device is asleep{or_may_be}, and the driver would wake it");
            return Some(text.into());
        }
        let first = self.untold.first()?;
        let text = format!(
            "the device at {first} is asleep, and the driver lists other devices than the bus or in another order: \
             asking for any of them could wake it"
        );
        Some(text.into())
    }

    /// What has to be said of it.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        let is_unknown =
            |(_, device): &(&PciAddress, &Device)| device.resting == Some(Resting::Unknown);
        let unknown = self.devices.iter().filter(is_unknown);
        let unknown = unknown.map(|(address, _)| Notice {
            code: "power_unknown",
            severity: Severity::Warning,
            subject: address.to_string().into(),
            text: format!(
                "whether the NVIDIA GPU at {address} sleeps cannot be told (power/runtime_status), so it is not \
                 read: that could wake it; W on the screen or --wake reads it"
            )
            .into(),
        });
        let all = self.untold.iter();
        let untold = all.map(|address| Notice {
            code: "device_order_unverified",
            severity: Severity::Warning,
            subject: address.to_string().into(),
            text: format!(
                "the driver lists other GPUs than the bus or in another order, so no GPU is read while the one at \
                 {address} sleeps; W on the screen or --wake wakes it"
            )
            .into(),
        });
        unknown.chain(untold).collect()
    }

    /// Slots to leave alone in a sweep at `due_ns`; nothing where that is all of them.
    pub(crate) fn untouched(&self, due_ns: u64) -> Option<Vec<u32>> {
        let rests = |address: &PciAddress| {
            self.devices.get(address).is_some_and(|device| {
                match (device.resting, device.wake) {
                    (_, Some(Wake::Asked(_))) => false,
                    // The second was read on purpose and sleeps again; its figures are shown for a while.
                    (Some(Resting::Asleep | Resting::Unknown), _) | (None, Some(Wake::Read(_))) => {
                        true
                    }
                    (Some(Resting::Idle), _) => device
                        .read_at
                        .is_some_and(|read| due_ns < read.mono_ns.saturating_add(IDLE_NS)),
                    (Some(Resting::Waking) | None, _) => false,
                }
            })
        };
        if !self.devices.is_empty() && self.devices.keys().all(rests) {
            return None;
        }
        // Which slot a sleeping one has is known only once the devices are counted.
        if !self.counted && self.devices.keys().any(|at| self.sleeps_on(*at)) {
            return Some((0..MAX_DEVICES).collect());
        }
        let slots = self.slots.iter();
        let untouched = slots.filter(|(_, address)| rests(address));
        Some(untouched.map(|(slot, _)| *slot).collect())
    }

    /// Devices that the driver cannot speak of now: asleep, or awake and not yet read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = (PciAddress, Resting)> {
        self.devices.iter().filter_map(|(address, device)| {
            let resting = match device.resting {
                Some(resting) => resting,
                None if device.read_at.is_none()
                    && (self.only_counted || !self.untold.is_empty()) =>
                {
                    Resting::Waking
                }
                None => return None,
            };
            (resting != Resting::Idle).then_some((*address, resting))
        })
    }
}

impl Device {
    /// Asked when the driver has just read it, so that nothing else of it is read while it rests.
    fn may_sleep(&mut self, machine: &mut dyn Machine, address: PciAddress, now: Stamp) -> bool {
        let Some(read) = self.read_at else {
            return false;
        };
        if let Some((auto, at)) = self.control
            && (at.mono_ns >= read.mono_ns || (!auto && now.mono_ns < at.mono_ns + IDLE_NS))
        {
            return auto;
        }
        let auto = host::may_sleep(machine, address);
        self.control = Some((auto, now));
        auto
    }
}
