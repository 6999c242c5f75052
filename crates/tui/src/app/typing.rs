//! The line for typing: the filter, and what to find.

use output::filter::Filter;

use super::{App, Flow};
use crate::panel::Form;
use crate::prompt::{Prompt, Purpose, Typed};
use crate::session::Exit;

impl App {
    /// Opens the line for typing.
    pub(super) fn prompt(&mut self, purpose: Purpose) {
        let text = match (purpose, &self.state.filter) {
            (Purpose::Filter, Some(filter)) => filter.text(),
            _ => "",
        };
        // One line has no room to type in.
        if Form::of(self.state.size) == Form::Line {
            return;
        }
        self.state.overlay = None;
        self.state.prompt = Some(Prompt::new(purpose, text));
    }

    pub(super) fn typed(&mut self, typed: Typed) -> Flow {
        let Some(prompt) = &self.state.prompt else {
            return Flow::Idle;
        };
        let purpose = prompt.purpose;
        match typed {
            Typed::Nothing => return Flow::Idle,
            Typed::Moved | Typed::Wrong => {}
            Typed::Quit => return Flow::Leave(Exit::Quit),
            Typed::Kept => self.state.prompt = None,
            Typed::Dropped => {
                self.state.prompt = None;
                if purpose == Purpose::Filter {
                    self.set_filter(None);
                }
            }
            Typed::Changed(filter) if purpose == Purpose::Filter => {
                self.set_filter(Some(filter).filter(|it| !it.text().is_empty()));
            }
            Typed::Changed(wanted) => self.find(&wanted, self.state.cursor, false),
            Typed::Next { back } => {
                let (before, behind) = prompt.parts();
                if purpose == Purpose::Find
                    && let Ok(wanted) = Filter::parse(&(before + &behind))
                {
                    let rows = self.state.rows.len().max(1);
                    let step = if back { rows - 1 } else { 1 };
                    self.find(&wanted, (self.state.cursor + step) % rows, back);
                }
            }
        }
        Flow::Draw
    }

    pub(super) fn set_filter(&mut self, filter: Option<Filter>) {
        self.state.filter = filter;
        self.list();
    }

    /// Selects the first row that fits, from this one on and round the end.
    pub(super) fn find(&mut self, wanted: &Filter, from: usize, back: bool) {
        let rows = self.state.rows.len();
        let at = |steps: usize| {
            let forward = if back { rows - steps } else { steps };
            (from + forward) % rows.max(1)
        };
        let found = (0..rows).map(at).find(|at| {
            let place = self.state.rows.get(*at);
            let row = place.and_then(|place| self.view().row(*place));
            row.is_some_and(|row| wanted.keeps(row))
        });
        self.state.answer = found.is_none().then(|| "no row fits".to_owned());
        if let Some(found) = found {
            self.select(found);
        }
    }
}
