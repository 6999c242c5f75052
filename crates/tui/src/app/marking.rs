//! The mark: a moment that later ones are compared with.

use super::{App, Flow};
use crate::state::{Mark, Sort};

impl App {
    /// Keeps what is shown; an older mark goes.
    pub(super) fn mark(&mut self) -> Flow {
        let Some(snapshot) = &self.snapshot else {
            return Flow::Idle;
        };
        self.state.mark = Some(Mark::of(snapshot.clone()));
        self.state.answer = Some(
            "marked; M takes it away. A model server: send it one request before you compare"
                .to_owned(),
        );
        self.list();
        Flow::Draw
    }

    /// Forgets it.
    pub(super) fn unmark(&mut self) -> Flow {
        if self.state.mark.take().is_none() {
            return self.no_mark();
        }
        self.sort_by_what_is_shown();
        self.list();
        Flow::Draw
    }

    /// Shows or hides what changed.
    pub(super) fn toggle_changes(&mut self) -> Flow {
        let Some(mark) = &mut self.state.mark else {
            return self.no_mark();
        };
        mark.is_shown = !mark.is_shown;
        self.sort_by_what_is_shown();
        self.list();
        Flow::Draw
    }

    fn no_mark(&mut self) -> Flow {
        self.state.answer = Some("nothing is marked: m marks this moment".to_owned());
        Flow::Draw
    }

    /// A column that is gone sorts nothing.
    fn sort_by_what_is_shown(&mut self) {
        let shown = self.state.mark.as_ref().is_some_and(|mark| mark.is_shown);
        if !shown && self.state.sort.column.is_change() {
            self.state.sort = Sort::default();
        }
    }
}
