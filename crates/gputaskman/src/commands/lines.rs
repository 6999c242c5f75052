//! Snapshots as lines of JSON. While it is not known yet whether `--gpu` names a device, lines are held back: a command
//! that is refused prints nothing.

use model::{Selector, Snapshot};

use super::selection::Check;
use crate::failure::Failure;
use crate::printing;

/// Lines held back at most. A driver that takes longer than so many refreshes to say which devices there are is shown
/// as it is.
const MOST_HELD: usize = 256;

/// Prints snapshots one a line.
#[derive(Default)]
pub(super) struct Lines {
    held: Vec<String>,
    open: bool,
    check: Check,
    selector: Option<Selector>,
}

impl Lines {
    /// None yet, of the GPU with this name.
    pub(super) fn of(selector: Option<&Selector>) -> Self {
        Self {
            selector: selector.cloned(),
            ..Self::default()
        }
    }

    pub(super) fn print(&mut self, snapshot: &Snapshot) -> Result<(), Failure> {
        self.check.pass(self.selector.as_ref(), snapshot)?;
        self.held.push(output::json::to_line(snapshot));
        let undecided = snapshot.pending && snapshot.devices.is_empty() && self.selector.is_some();
        if undecided && !self.open && self.held.len() < MOST_HELD {
            return Ok(());
        }
        self.open = true;
        self.end()
    }

    /// Prints what was held back.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        self.held
            .drain(..)
            .try_for_each(|line| printing::data(&line))
    }
}
