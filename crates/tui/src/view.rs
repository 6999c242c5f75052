//! What a panel may look at: the state and the snapshot, and how they meet.

use model::{Device, Selection, Snapshot};

use output::compare::change::{Change, RowChange};

use crate::columns::Row;
use crate::history::History;
use crate::state::{RowPlace, State};
use crate::theme::Look;

/// Borrowed for one frame.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// What the user chose.
    pub(crate) state: &'a State,
    /// The last snapshot, if one has come.
    pub(crate) snapshot: Option<&'a Snapshot>,
}

impl<'a> View<'a> {
    /// Theme and glyphs.
    pub(crate) fn look(self) -> Look {
        self.state.look
    }

    /// What the charts draw.
    pub(crate) fn history(self) -> &'a History {
        self.state.frozen.as_ref().unwrap_or(&self.state.history)
    }

    /// Whether a snapshot has come and has no device in it.
    pub(crate) fn has_no_device(self) -> bool {
        self.snapshot
            .is_some_and(|snapshot| snapshot.devices.is_empty())
    }

    /// The device that is shown: the one chosen, else the one asked for, else the first.
    pub(crate) fn device(self) -> Option<&'a Device> {
        let snapshot = self.snapshot?;
        let find = |index| snapshot.device(index);
        self.state
            .device
            .and_then(find)
            .or_else(|| match snapshot.selection {
                Selection::One(index) => find(index),
                Selection::All | Selection::Nothing => None,
            })
            .or_else(|| snapshot.devices.first())
    }

    /// Row `place` of the table.
    pub(crate) fn row(self, place: RowPlace) -> Option<Row<'a>> {
        let mark = self.state.mark.as_ref().filter(|mark| mark.is_shown);
        let (snapshot, change) = if place.is_gone {
            (&*mark?.snapshot, Some(RowChange::all(Change::Gone)))
        } else {
            let change = mark.and_then(|mark| mark.changes.of(place.process, place.charge));
            (self.snapshot?, change)
        };
        let process = snapshot.processes.get(place.process)?;
        Some(Row {
            process,
            charge: place.charge.and_then(|i| process.charges.get(i)),
            change,
        })
    }

    /// The rows of the table in order.
    pub(crate) fn rows(self) -> impl ExactSizeIterator<Item = Option<Row<'a>>> + Clone {
        self.state.rows.iter().map(move |place| self.row(*place))
    }

    /// The selected row. One that is gone has nothing to be inspected: what was is not what is.
    pub(crate) fn selected(self) -> Option<Row<'a>> {
        let place = self.state.rows.get(self.state.cursor)?;
        self.row(*place).filter(|_| !place.is_gone)
    }
}
