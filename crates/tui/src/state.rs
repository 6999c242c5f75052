//! What the user chose, apart from the snapshot that is shown.

use std::sync::Arc;
use std::time::Duration;

use model::{Process, ProcessKey, Snapshot};
use output::compare::change::Changes;
use output::filter::Filter;
use ratatui::layout::Size;

use crate::columns::Column;
use crate::history::History;
use crate::panels::processes;
use crate::prompt::Prompt;
use crate::session::{Options, Session, Wake};
use crate::theme::Look;
use crate::view::View;

/// Where a row of the table stands in the snapshot.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct RowPlace {
    /// Index among the processes.
    pub(crate) process: usize,
    /// Index among the process's charges.
    pub(crate) charge: Option<usize>,
    /// Whether it stands in the marked moment, and not in the one that is shown.
    pub(crate) is_gone: bool,
}

/// What a row is, whatever its place: a process on a device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct RowKey {
    process: ProcessKey,
    device: Option<u32>,
    instance: Option<(u32, u32)>,
}

/// The order of the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Sort {
    /// By what.
    pub(crate) column: Column,
    /// Largest first.
    pub(crate) descending: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self {
            column: Column::Vram,
            descending: true,
        }
    }
}

/// A moment that later ones are compared with.
#[derive(Debug)]
pub(crate) struct Mark {
    /// The moment.
    pub(crate) snapshot: Arc<Snapshot>,
    /// What changed from it to what is shown.
    pub(crate) changes: Changes,
    /// Whether that is shown.
    pub(crate) is_shown: bool,
}

impl Mark {
    /// The moment that is shown.
    pub(crate) fn of(snapshot: Arc<Snapshot>) -> Self {
        Self {
            changes: Changes::between(&snapshot, &snapshot),
            snapshot,
            is_shown: true,
        }
    }

    /// Compares with the snapshot that is shown from now on.
    pub(crate) fn compare(&mut self, shown: &Snapshot) {
        self.changes = Changes::between(&self.snapshot, shown);
    }
}

/// What lies over the panels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Overlay {
    /// Keys and legend.
    Help,
    /// The inspector, full screen.
    Inspector,
    /// Choice of the device that is shown.
    Devices,
    /// Where each cell of the selected row comes from.
    Provenance,
    /// All notices.
    Notices,
    /// Choice of the column to sort by.
    Sort,
}

impl Overlay {
    /// Whether it is a list of which one line is marked, to be chosen.
    pub(crate) const fn is_menu(self) -> bool {
        matches!(self, Self::Sort | Self::Devices)
    }
}

/// Everything but the snapshot.
#[derive(Debug)]
pub(crate) struct State {
    /// Theme and glyphs.
    pub(crate) look: Look,
    /// Where snapshots come from.
    pub(crate) session: Session,
    /// Time between them.
    pub(crate) interval: Duration,
    /// How a sleeping device is asked for.
    pub(crate) wake: Option<Wake>,
    /// What the last key came to, where it did nothing that is seen; the next key takes it away.
    pub(crate) answer: Option<String>,
    /// Size of the terminal.
    pub(crate) size: Size,
    /// The line that is being typed.
    pub(crate) prompt: Option<Prompt>,
    /// What rows have to pass; `None` where all are shown.
    pub(crate) filter: Option<Filter>,
    /// Rows that the filter hides.
    pub(crate) hidden: usize,
    /// The charts as they were when the picture was held.
    pub(crate) frozen: Option<History>,
    /// How much newer what has come since is, milliseconds.
    pub(crate) behind_ms: u64,
    /// The rows of the table, sorted.
    pub(crate) rows: Vec<RowPlace>,
    /// The selected row, which is followed wherever it goes.
    pub(crate) selected: Option<RowKey>,
    /// Its place.
    pub(crate) cursor: usize,
    /// First row on the screen.
    pub(crate) offset: usize,
    /// The order.
    pub(crate) sort: Sort,
    /// Columns of the table that are moved out to the left.
    pub(crate) passed: usize,
    /// What later moments are compared with.
    pub(crate) mark: Option<Mark>,
    /// The device chosen by the user.
    pub(crate) device: Option<u32>,
    /// Rows of all devices.
    pub(crate) all_devices: bool,
    /// Whether the inspector is shown.
    pub(crate) inspector: bool,
    /// What lies on top.
    pub(crate) overlay: Option<Overlay>,
    /// First line of what lies on top, or the marked line of a menu.
    pub(crate) overlay_line: usize,
    /// Why no more snapshots come.
    pub(crate) ended: Option<String>,
    /// How old the last snapshot is, where the next one is late.
    pub(crate) late: Option<Duration>,
    /// The charts.
    pub(crate) history: History,
}

impl State {
    /// The state before anything has come.
    pub(crate) fn new(options: Options, size: Size) -> Self {
        Self {
            look: Look {
                theme: options.theme,
                ascii: options.ascii,
                truecolor: options.truecolor,
            },
            session: options.session,
            interval: options.interval,
            wake: options.wake,
            answer: None,
            prompt: None,
            filter: None,
            hidden: 0,
            frozen: None,
            behind_ms: 0,
            size,
            rows: Vec::new(),
            selected: None,
            cursor: 0,
            offset: 0,
            sort: Sort::default(),
            passed: 0,
            mark: None,
            device: None,
            all_devices: false,
            inspector: true,
            overlay: None,
            overlay_line: 0,
            ended: None,
            late: None,
            history: History::default(),
        }
    }

    /// Takes the readings of a new snapshot in.
    pub(crate) fn remember(&mut self, snapshot: &Snapshot) {
        let interval = match self.session {
            Session::Live | Session::Demo { .. } => Some(self.interval),
            Session::Replay { .. } => None,
        };
        self.history.push(snapshot, interval);
        self.late = None;
    }

    /// Lists and sorts the rows anew and finds the selected one again. Where it is gone, the row in
    /// its place is selected.
    pub(crate) fn list(&mut self, snapshot: Option<&Snapshot>) {
        self.rows.clear();
        let view = View {
            state: self,
            snapshot,
        };
        let device = view.device().map(|device| device.index);
        // The device that is shown, by its number at the time of the mark.
        let then = self.mark.as_ref().and_then(|mark| {
            let key = view.device().map(|device| &device.key)?;
            let mut devices = mark.snapshot.devices.iter();
            devices.find(|it| it.key == *key).map(|it| it.index)
        });
        let mut rows = std::mem::take(&mut self.rows);
        let mut add = |process: usize, it: &Process, device: Option<u32>, is_gone: bool| {
            let charges = it.charges.iter().enumerate();
            let on = charges.filter(|(_, on)| self.all_devices || Some(on.device_index) == device);
            let none = it.charges.is_empty().then_some(None);
            rows.extend(
                on.map(|(charge, _)| Some(charge))
                    .chain(none)
                    .map(|charge| RowPlace {
                        process,
                        charge,
                        is_gone,
                    }),
            );
        };
        for (process, it) in snapshot.iter().flat_map(|s| s.processes.iter()).enumerate() {
            add(process, it, device, false);
        }
        if let Some(mark) = self.mark.as_ref().filter(|mark| mark.is_shown) {
            for place in &mark.changes.gone {
                if let Some(it) = mark.snapshot.processes.get(*place) {
                    add(*place, it, then, true);
                }
            }
        }
        let view = View {
            state: self,
            snapshot,
        };
        let all = rows.len();
        if let Some(filter) = &self.filter {
            rows.retain(|place| view.row(*place).is_some_and(|row| filter.keeps(row)));
        }
        let hidden = all - rows.len();
        let Sort { column, descending } = self.sort;
        // The snapshot's own order decides between equals, so that rows do not dance.
        // Who is gone stands at the end.
        rows.sort_by(|a, b| match (view.row(*a), view.row(*b)) {
            (Some(x), Some(y)) => a
                .is_gone
                .cmp(&b.is_gone)
                .then_with(|| column.compare(x, y, descending)),
            (x, y) => y.is_some().cmp(&x.is_some()),
        });
        self.rows = rows;
        self.hidden = hidden;
        let found = self.selected.and_then(|selected| {
            let keys = self.rows.iter().map(|place| self.key(*place, snapshot));
            keys.into_iter().position(|key| key == Some(selected))
        });
        self.select(found.unwrap_or(self.cursor), snapshot);
    }

    /// Selects the row at `cursor`, or the last one, and brings it on the screen.
    pub(crate) fn select(&mut self, cursor: usize, snapshot: Option<&Snapshot>) {
        self.cursor = cursor.min(self.rows.len().saturating_sub(1));
        self.selected = self
            .rows
            .get(self.cursor)
            .and_then(|place| self.key(*place, snapshot));
        let view = View {
            state: self,
            snapshot,
        };
        let page = processes::page(view);
        self.offset = first_row(self.offset, self.cursor, page, self.rows.len());
    }

    fn key(&self, place: RowPlace, snapshot: Option<&Snapshot>) -> Option<RowKey> {
        let view = View {
            state: self,
            snapshot,
        };
        let row = view.row(place)?;
        Some(RowKey {
            process: row.process.key,
            device: row.charge.map(|charge| charge.device_index),
            instance: row.charge.and_then(|charge| charge.instance),
        })
    }
}

/// The first row on a page so that the cursor is on it and the page is full where it can be.
pub(crate) fn first_row(offset: usize, cursor: usize, page: usize, rows: usize) -> usize {
    let page = page.max(1);
    let lowest = (cursor + 1).saturating_sub(page);
    let highest = cursor.min(rows.saturating_sub(page));
    offset.clamp(lowest, highest.max(lowest))
}

#[cfg(test)]
mod tests {
    use super::first_row;

    #[test]
    fn the_cursor_is_always_on_the_page() {
        for rows in 0..12 {
            for page in 0..8 {
                for cursor in 0..rows.max(1) {
                    for offset in 0..15 {
                        let first = first_row(offset, cursor, page, rows);
                        assert!(first <= cursor && cursor < first + page.max(1));
                        assert!(rows < page || first + page <= rows || page == 0);
                    }
                }
            }
        }
    }
}
