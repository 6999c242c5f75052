//! What goes into the interface and what comes out of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event;
use model::{DeviceKey, Snapshot};

use crate::theme::Theme;

/// Something the interface reacts to. Nothing is drawn unless one arrives.
#[derive(Clone, Debug)]
pub enum Message {
    /// A new snapshot.
    Snapshot(Arc<Snapshot>),
    /// A key, the mouse, or a new terminal size.
    Input(Event),
    /// Leave: a signal from outside.
    Quit,
    /// No more snapshots will come, and why. The last screen stays.
    Ended(String),
}

/// Where the snapshots come from; the header always says it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Session {
    /// This machine, now.
    Live,
    /// A capture.
    Replay {
        /// The capture's name.
        name: String,
    },
    /// A capture that comes with the program.
    Demo {
        /// What it shows.
        note: String,
    },
}

/// What is called with a sleeping device that the user wants to be read.
#[derive(Clone)]
pub struct Wake(Arc<dyn Fn(&DeviceKey) + Send + Sync>);

impl Wake {
    /// `ask` must return at once.
    pub fn new(ask: impl Fn(&DeviceKey) + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    pub(crate) fn ask(&self, device: &DeviceKey) {
        (self.0)(device);
    }
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wake")
    }
}

/// Settings of one run, resolved by the caller.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the snapshots come from.
    pub session: Session,
    /// Colours, or none at all.
    pub theme: Theme,
    /// Whether the terminal shows any colour (24 bits), and not only 256.
    pub truecolor: bool,
    /// Draw with ASCII characters only.
    pub ascii: bool,
    /// Ask the terminal for mouse events. It then needs Shift to select text.
    pub mouse: bool,
    /// Time between snapshots. Tells a late one, and where a chart has a gap.
    pub interval: Duration,
    /// Asks for a reading of a device that sleeps; none where snapshots do not come from a live machine.
    pub wake: Option<Wake>,
}

/// Why the interface ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// The user left, or a signal asked for it.
    Quit,
    /// There is no GPU here and the user wants to see the demonstration.
    OpenDemo,
}
