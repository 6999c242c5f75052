//! Holding the picture, and letting it go on.

use super::{App, Flow};

impl App {
    /// Holds the picture, or lets it go on with the newest one.
    pub(super) fn freeze(&mut self) -> Flow {
        if self.snapshot.is_none() {
            return Flow::Idle;
        }
        if self.state.frozen.take().is_none() {
            self.state.frozen = Some(self.state.history.clone());
            return Flow::Draw;
        }
        self.state.behind_ms = 0;
        if let Some(newest) = self.held.take() {
            self.show(newest);
        }
        Flow::Draw
    }

    /// The newest picture, held in place of the one before.
    pub(super) fn step(&mut self) -> Flow {
        let Some(newest) = self.held.take() else {
            return Flow::Idle;
        };
        self.state.frozen = Some(self.state.history.clone());
        self.state.behind_ms = 0;
        self.show(newest);
        Flow::Draw
    }
}
