//! Moving through the rows, and through what lies on top.

use super::App;
use crate::keys::Action;
use crate::overlay;
use crate::panels::processes;

impl App {
    pub(super) fn walk(&mut self, action: Action) {
        let over = self.state.overlay.is_some();
        let page = if over {
            overlay::page(self.view())
        } else {
            processes::page(self.view())
        };
        let from = if over {
            self.state.overlay_line
        } else {
            self.state.cursor
        };
        let to = match action {
            Action::Up => from.saturating_sub(1),
            Action::Down => from.saturating_add(1),
            Action::PageUp => from.saturating_sub(page.max(1)),
            Action::PageDown => from.saturating_add(page.max(1)),
            Action::Last => usize::MAX,
            _ => 0,
        };
        if over {
            self.state.overlay_line = to;
            self.settle_overlay();
        } else {
            self.select(to);
        }
    }

    pub(super) fn settle_overlay(&mut self) {
        let last = overlay::last_line(self.view());
        self.state.overlay_line = self.state.overlay_line.min(last);
    }

    pub(super) fn select(&mut self, cursor: usize) {
        self.state.select(cursor, self.snapshot.as_deref());
    }
}
