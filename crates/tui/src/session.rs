//! What goes into the interface and what comes out of it.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event;
use model::Snapshot;

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

/// Settings of one run, resolved by the caller.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the snapshots come from.
    pub session: Session,
    /// Colours, or none at all.
    pub theme: Theme,
    /// Draw with ASCII characters only.
    pub ascii: bool,
    /// Ask the terminal for mouse events. It then needs Shift to select text.
    pub mouse: bool,
    /// Time between snapshots. Tells a late one, and where a chart has a gap.
    pub interval: Duration,
}

/// Why the interface ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// The user left, or a signal asked for it.
    Quit,
    /// There is no GPU here and the user wants to see the demonstration.
    OpenDemo,
}
