//! Which device is shown, and waking it.

use model::{Device, Gap, PowerState, Selection, Snapshot};

use super::{App, Flow};
use crate::state::Overlay;

impl App {
    /// Shows a device that is awake rather than one that sleeps, of which nothing can be told: on a laptop the sleeping
    /// card is often the first. Chosen once, so that the picture does not jump when a device falls asleep or wakes.
    pub(super) fn begin_with_device(&mut self, first: &Snapshot) {
        let asleep = |device: &Device| device.power_state.value() == Some(&PowerState::Suspended);
        if first.selection == Selection::All
            && first.devices.first().is_some_and(asleep)
            && let Some(awake) = first.devices.iter().find(|device| !asleep(device))
        {
            self.state.device = Some(awake.index);
        }
    }

    /// The chosen device stays chosen where it gets another number, as one does that wakes: its memory counts then.
    pub(super) fn follow_device(&mut self, next: &Snapshot) {
        let Some(index) = self.state.device else {
            return;
        };
        let mut before = self.snapshot.iter().flat_map(|snapshot| &snapshot.devices);
        let chosen = before.find(|device| device.index == index);
        let found = chosen.and_then(|chosen| next.devices.iter().find(|it| it.key == chosen.key));
        if let Some(device) = found {
            self.state.device = Some(device.index);
        }
    }

    /// Asks for the device that is shown, where it sleeps or may; else says why not.
    pub(super) fn wake(&mut self) -> Flow {
        let Some(device) = self.view().device() else {
            return Flow::Idle;
        };
        let index = device.index;
        let rests = device.power_state.value() == Some(&PowerState::Suspended)
            || device.power_state.gap() == Some(Gap::PowerUnknown);
        self.state.answer = match &self.state.wake {
            _ if !rests => Some(format!("GPU {index} does not sleep")),
            None => Some("what is shown was recorded: nothing can be woken".to_owned()),
            Some(_) if !device.wakes_on_request() => Some(format!(
                "W wakes NVIDIA GPUs only; GPU {index} is read when a program uses it"
            )),
            Some(wake) => {
                wake.ask(&device.key);
                Some(format!("GPU {index} is read in a moment, which wakes it"))
            }
        };
        Flow::Draw
    }

    pub(super) fn turn_device(&mut self, forward: bool) -> Flow {
        let Some(snapshot) = &self.snapshot else {
            return Flow::Idle;
        };
        let count = snapshot.devices.len();
        let next = match self.place_of_shown() {
            Some(at) if forward => (at + 1) % count.max(1),
            Some(at) => (at + count.saturating_sub(1)) % count.max(1),
            None => 0,
        };
        self.show_device_at(next)
    }

    /// Opens the list of all devices, or closes it.
    pub(super) fn list_devices(&mut self) {
        self.toggle(Overlay::Devices);
        // tidy: the first line of the list
        self.state.overlay_line = self.place_of_shown().unwrap_or(0);
    }

    /// The place of the device that is shown among all.
    fn place_of_shown(&self) -> Option<usize> {
        let shown = self.view().device()?.index;
        let mut devices = self.snapshot.iter().flat_map(|it| &it.devices);
        devices.position(|it| it.index == shown)
    }

    /// Shows the device at this place among all.
    pub(super) fn show_device_at(&mut self, place: usize) -> Flow {
        let devices = self.snapshot.as_ref().map(|it| &it.devices);
        let device = devices.and_then(|devices| devices.get(place));
        let index = device.map(|device| device.index);
        index.map_or(Flow::Idle, |index| self.show_device(index))
    }

    pub(super) fn show_device(&mut self, index: u32) -> Flow {
        let exists = self
            .snapshot
            .iter()
            .flat_map(|snapshot| &snapshot.devices)
            .any(|device| device.index == index);
        if !exists {
            return Flow::Idle;
        }
        self.state.device = Some(index);
        self.list();
        Flow::Draw
    }
}
