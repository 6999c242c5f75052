//! The order of the table.

use super::{App, Flow};
use crate::columns::Column;
use crate::panels::processes;
use crate::state::Sort;

impl App {
    pub(super) fn sort_by(&mut self, column: Column) {
        let descending = if self.state.sort.column == column {
            !self.state.sort.descending
        } else {
            column.prefers_descending()
        };
        self.state.sort = Sort { column, descending };
        self.list();
    }

    /// Moves the columns by one, while there is one that is not on the screen.
    pub(super) fn columns_right(&mut self) -> Flow {
        let (passed, more) = processes::sideways(self.view());
        if !more {
            return Flow::Idle;
        }
        self.state.passed = passed + 1;
        Flow::Draw
    }

    pub(super) fn sort_beside(&mut self, right: bool) {
        let shown = processes::shown_columns(self.view());
        let at = shown.iter().position(|it| *it == self.state.sort.column);
        let next = match (at, right) {
            (Some(at), true) => (at + 1).min(shown.len().saturating_sub(1)),
            (Some(at), false) => at.saturating_sub(1),
            (None, _) => 0,
        };
        if let Some(column) = shown.get(next)
            && *column != self.state.sort.column
        {
            self.sort_by(*column);
        }
    }
}
