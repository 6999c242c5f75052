//! The mouse.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::{App, Flow};
use crate::keys::Action;
use crate::panels::processes;
use crate::state::Overlay;

/// Rows that one turn of the wheel moves.
const WHEEL: usize = 3;

impl App {
    pub(super) fn point(&mut self, event: MouseEvent) -> Flow {
        let back = match event.kind {
            MouseEventKind::ScrollUp => true,
            MouseEventKind::ScrollDown => false,
            MouseEventKind::Down(MouseButton::Left) if self.state.overlay.is_none() => {
                return self.click(event.column, event.row);
            }
            _ => return Flow::Idle,
        };
        for _ in 0..WHEEL {
            self.walk(if back { Action::Up } else { Action::Down });
        }
        Flow::Draw
    }

    pub(super) fn click(&mut self, x: u16, y: u16) -> Flow {
        match processes::hit(self.view(), x, y) {
            Some(processes::Hit::Heading(column)) => self.sort_by(column),
            Some(processes::Hit::Row(row)) if row == self.state.cursor => {
                self.toggle(Overlay::Inspector);
            }
            Some(processes::Hit::Row(row)) => self.select(row),
            None => return Flow::Idle,
        }
        Flow::Draw
    }
}
