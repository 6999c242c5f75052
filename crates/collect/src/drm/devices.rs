//! A DRM device as the snapshot has it.

use model::names::{bounded, name_in};
use model::{
    Device, DeviceDetails, DeviceKind, DeviceMemory, Gap, Measured, PowerState, Provenance,
    Reading, Source, Stamp, Text, Total, Vendor,
};
use raw::Stamped;

use super::device_state::DeviceState;
use super::discovery::{Driver, Found};
use super::files::{Readings, sysfs};
use super::{amdgpu, intel};

impl DeviceState {
    /// The device, without index and without what depends on processes.
    pub(super) fn device(&mut self, now: Stamp) -> Device {
        let left_alone = self.why_left_alone();
        let unasked = self.unasked();
        let is_unsought = self.found.has("hwmon") && !self.has_sought_hwmon;
        let readings = Readings {
            files: &self.files,
            now,
            unasked,
            absent: self.found.unlisted.unwrap_or(Gap::NoCounter),
            unmonitored: match self.found.unlisted {
                Some(gap) => gap,
                None if is_unsought => unasked,
                None => self.no_hwmon,
            },
        };
        let mut device = blank(&self.found, now, unlisted(self.found.driver));
        let control = |at| sysfs("power/control", at);
        device.may_suspend = match self.control {
            Ok(may) => Reading::measured(may.value, control(may.at)),
            Err(gap) => Reading::missing(gap, control(now)),
        };
        device.name = self.name(now);
        device.power_state = self.power_state(readings);
        (device.kind, device.kind_evidence) = (self.kind, self.kind_evidence);
        let (found, hwmon) = (&self.found, self.hwmon.as_ref());
        match found.driver {
            Driver::Amdgpu => {
                let moved = &mut self.video_moved;
                amdgpu::describe(&mut device, found, hwmon, readings, moved);
            }
            Driver::I915 | Driver::Xe => {
                intel::describe(&mut device, found, hwmon, readings, &self.rates);
            }
            Driver::Generic
            | Driver::Silent
            | Driver::Elsewhere
            | Driver::Display
            | Driver::Accelerator => {}
        }
        device.counter_status = self.status(left_alone).into();
        device
    }

    fn power_state(&self, readings: Readings<'_>) -> Reading<Measured<PowerState>> {
        let path = self.found.file("power/runtime_status");
        readings.read("power/runtime_status", Some(&path), |files, path| {
            let Stamped { at, value } = files.text(path)?;
            let value = match value {
                "suspended" | "suspending" => PowerState::Suspended,
                // Where the kernel does not manage its power it is on.
                "active" | "resuming" | "unsupported" => PowerState::Active,
                _ => return Err(Gap::Malformed),
            };
            Ok(Stamped { at, value })
        })
    }

    fn status(&self, left_alone: Option<Gap>) -> String {
        let driver = &self.found.driver_name;
        match self.found.driver {
            Driver::Silent => format!(
                "the driver {driver} gives no figures, neither of the device nor of processes"
            ),
            _ if self.files.hangs => "the device does not answer".to_owned(),
            _ if left_alone == Some(Gap::Asleep) => "asleep".to_owned(),
            _ if left_alone.is_some() => crate::rest::UNTOLD.to_owned(),
            _ if self.is_left_alone => {
                "idle: no process that can be seen uses it, and it is left alone so that it \
                                        can fall asleep"
                    .to_owned()
            }
            _ => "ok".to_owned(),
        }
    }

    /// The driver's name of the product, then the one in the lists of names, then its numbers.
    fn name(&self, now: Stamp) -> Reading<Measured<Text>> {
        let from = |source, counter, at| Provenance {
            source,
            counter,
            at,
        };
        if let Some(name) = &self.found.product {
            return Reading::measured(Text::clone(name), from(Source::Sysfs, "product_name", now));
        }
        if let Ok((at, name)) = self.listed_name.text()
            && let Some(name) = name_in(&name)
        {
            return Reading::measured(
                bounded(name).into(),
                from(Source::Program, "lists of PCI device names", at),
            );
        }
        let maker = match self.found.vendor {
            Vendor::Nvidia => "NVIDIA",
            Vendor::Amd => "AMD",
            Vendor::Intel => "Intel",
            Vendor::Other => &self.found.driver_name,
        };
        let name = match self.found.ids {
            Some((vendor, device)) => format!("{maker} GPU ({vendor:04x}:{device:04x})"),
            None => format!("{maker} GPU"),
        };
        Reading::measured(name.into(), from(Source::Sysfs, "uevent", now))
    }
}

/// Why a driver's devices have no figure that is not filled in.
const fn unlisted(driver: Driver) -> (&'static str, Gap) {
    match driver {
        Driver::Amdgpu => ("no file of amdgpu", Gap::NoCounter),
        Driver::I915 | Driver::Xe => (
            "no file: load needs CAP_PERFMON, memory an open node, which wakes the device",
            Gap::NoCounter,
        ),
        Driver::Generic => ("no file that this program knows", Gap::NoCounter),
        Driver::Silent | Driver::Elsewhere | Driver::Display | Driver::Accelerator => {
            ("driver without figures", Gap::NoStats)
        }
    }
}

/// A device of which only its identity is known.
fn blank(found: &Found, now: Stamp, (counter, gap): (&'static str, Gap)) -> Device {
    let from = |counter| Provenance {
        source: Source::Sysfs,
        counter,
        at: now,
    };
    macro_rules! none {
        () => {
            Reading::missing(gap, from(counter))
        };
    }
    let other_vendor = |counter| Reading::missing(Gap::NotApplicable, from(counter));
    Device {
        driver_index: None,
        index: 0,
        key: found.key.clone(),
        vendor: found.vendor,
        name: none!(),
        uuid: other_vendor("no UUID"),
        pci: match found.pci {
            Some(address) => Reading::measured(address, from("PCI_SLOT_NAME of uevent")),
            None => Reading::missing(Gap::NotPresent, from("PCI_SLOT_NAME of uevent")),
        },
        driver: Reading::measured(Text::clone(&found.driver_name), from("DRIVER of uevent")),
        cuda: other_vendor("CUDA is NVIDIA's"),
        kind: DeviceKind::Unknown,
        kind_evidence: None,
        virtualization: Reading::missing(Gap::NotApplicable, from("no file says so")),
        power_state: none!(),
        may_suspend: none!(),
        memory: DeviceMemory {
            total: none!(),
            used: none!(),
            free: none!(),
            reserved: none!(),
            attributed: Total::nothing(),
            unattributed: Reading::missing(
                Gap::InputMissing,
                Provenance {
                    source: Source::Derived,
                    counter: "used - attributed",
                    at: now,
                },
            ),
            shared_total: none!(),
            shared_used: none!(),
        },
        gpu: none!(),
        memory_activity: none!(),
        encoder: none!(),
        decoder: none!(),
        jpeg: none!(),
        ofa: none!(),
        core_clock: none!(),
        memory_clock: none!(),
        video_clock: none!(),
        temperature: none!(),
        power: none!(),
        power_limit: none!(),
        fan: none!(),
        pcie_rx: none!(),
        pcie_tx: none!(),
        pcie_generation: none!(),
        pcie_width: none!(),
        performance_state: none!(),
        sensors: Vec::new(),
        visible_loads: Vec::new(),
        details: DeviceDetails::missing(gap, from(counter)),
        mig: Reading::missing(Gap::NotApplicable, from("MIG is NVIDIA's")),
        instances: Vec::new(),
        instances_missing: None,
        categories: Vec::new(),
        categories_normalized: false,
        counter_status: "ok".into(),
    }
}
