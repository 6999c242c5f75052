//! Message to state. The only place where the state changes.

use std::sync::Arc;

use crossterm::event::{Event, MouseButton, MouseEvent, MouseEventKind};
use model::{Gap, PowerState, Snapshot};
use output::filter::Filter;
use ratatui::layout::Size;

use crate::columns::Column;
use crate::keys::{self, Action};
use crate::overlay;
use crate::panel::Form;
use crate::panels::processes;
use crate::prompt::{Prompt, Purpose, Typed};
use crate::session::{Exit, Message, Session};
use crate::state::{Overlay, Sort, State};
use crate::view::View;

/// Rows that one turn of the wheel moves.
const WHEEL: usize = 3;

/// What follows from a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Flow {
    /// Nothing changed.
    Idle,
    /// Something changed.
    Draw,
    /// Everything is to be drawn anew.
    Redraw,
    /// The end.
    Leave(Exit),
}

/// State and snapshot together.
pub(crate) struct App {
    /// What the user chose.
    pub(crate) state: State,
    /// The snapshot that is shown.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// The newest one, while the picture is held.
    pub(crate) held: Option<Arc<Snapshot>>,
}

impl App {
    /// What panels look at.
    pub(crate) fn view(&self) -> View<'_> {
        View {
            state: &self.state,
            snapshot: self.snapshot.as_deref(),
        }
    }

    /// Takes a message in.
    pub(crate) fn update(&mut self, message: Message) -> Flow {
        match message {
            Message::Snapshot(snapshot) => {
                self.state.remember(&snapshot);
                if let (Some(_), Some(shown)) = (&self.state.frozen, &self.snapshot) {
                    self.state.behind_ms = snapshot.at.ms_since(shown.at);
                    self.held = Some(snapshot);
                } else {
                    self.show(snapshot);
                }
                Flow::Draw
            }
            Message::Ended(why) => {
                self.state.ended = Some(why);
                self.state.late = None;
                Flow::Draw
            }
            Message::Quit => Flow::Leave(Exit::Quit),
            Message::Input(Event::Key(event)) if self.state.prompt.is_some() => {
                let typed = self.state.prompt.as_mut().map(|prompt| prompt.key(event));
                typed.map_or(Flow::Idle, |typed| self.typed(typed))
            }
            Message::Input(Event::Paste(text)) => {
                let typed = self.state.prompt.as_mut().map(|prompt| prompt.paste(&text));
                typed.map_or(Flow::Idle, |typed| self.typed(typed))
            }
            Message::Input(Event::Key(event)) => {
                keys::action(event).map_or(Flow::Idle, |action| self.act(action))
            }
            Message::Input(Event::Resize(width, height)) => {
                self.state.size = Size::new(width, height);
                self.select(self.state.cursor);
                self.settle_overlay();
                Flow::Draw
            }
            Message::Input(Event::Mouse(event)) => self.point(event),
            Message::Input(Event::FocusGained | Event::FocusLost) => Flow::Idle,
        }
    }

    fn show(&mut self, snapshot: Arc<Snapshot>) {
        self.follow_device(&snapshot);
        self.snapshot = Some(snapshot);
        self.list();
    }

    /// Holds the picture, or lets it go on with the newest one.
    fn freeze(&mut self) -> Flow {
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
    fn step(&mut self) -> Flow {
        let Some(newest) = self.held.take() else {
            return Flow::Idle;
        };
        self.state.frozen = Some(self.state.history.clone());
        self.state.behind_ms = 0;
        self.show(newest);
        Flow::Draw
    }

    /// Opens the line for typing.
    fn prompt(&mut self, purpose: Purpose) {
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

    fn typed(&mut self, typed: Typed) -> Flow {
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

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.state.filter = filter;
        self.list();
    }

    /// Selects the first row that fits, from this one on and round the end.
    fn find(&mut self, wanted: &Filter, from: usize, back: bool) {
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

    /// The chosen device stays chosen where it gets another number, as one does that wakes: its memory counts then.
    fn follow_device(&mut self, next: &Snapshot) {
        let Some(index) = self.state.device else {
            return;
        };
        let mut before = self.snapshot.iter().flat_map(|snapshot| &snapshot.devices);
        let chosen = before.find(|device| device.index == index);
        let found = chosen.and_then(|chosen| next.devices.iter().find(|it| it.key == chosen.key));
        if let Some(device) = found {
            self.state.device = Some(device.index);
        }
    }

    fn act(&mut self, action: Action) -> Flow {
        self.state.answer = None;
        match action {
            Action::Quit => return Flow::Leave(Exit::Quit),
            Action::Redraw => return Flow::Redraw,
            Action::Close => {
                if self.state.overlay.take().is_none() {
                    if self.state.filter.is_none() {
                        return Flow::Idle;
                    }
                    self.set_filter(None);
                }
            }
            Action::Filter => self.prompt(Purpose::Filter),
            Action::Find => self.prompt(Purpose::Find),
            Action::Freeze => return self.freeze(),
            Action::Step => return self.step(),
            Action::Help => self.toggle(Overlay::Help),
            Action::Notices => self.toggle(Overlay::Notices),
            Action::SortMenu => {
                self.toggle(Overlay::Sort);
                let sorted = self.state.sort.column;
                let line = overlay::sortable(self.view()).position(|it| it == sorted);
                // tidy: the first line of the list
                self.state.overlay_line = line.unwrap_or(0);
            }
            Action::Open => return self.open(),
            Action::ToggleInspector => {
                self.state.inspector = !self.state.inspector;
                self.select(self.state.cursor);
            }
            Action::Reverse => {
                self.state.sort.descending = !self.state.sort.descending;
                self.list();
            }
            Action::SortLeft => self.sort_beside(false),
            Action::SortRight => self.sort_beside(true),
            Action::NextDevice => return self.turn_device(true),
            Action::PreviousDevice => return self.turn_device(false),
            Action::Device(index) => return self.show_device(index),
            Action::Wake => return self.wake(),
            Action::AllDevices => {
                self.state.all_devices = !self.state.all_devices;
                self.list();
            }
            Action::Up
            | Action::Down
            | Action::PageUp
            | Action::PageDown
            | Action::First
            | Action::Last => self.walk(action),
        }
        Flow::Draw
    }

    /// Asks for the device that is shown, where it sleeps or may; else says why not.
    fn wake(&mut self) -> Flow {
        let Some(device) = self.view().device() else {
            return Flow::Idle;
        };
        let index = device.index;
        let rests = device.power_state.value() == Some(&PowerState::Suspended)
            || device.power_state.gap() == Some(Gap::PowerUnknown);
        self.state.answer = match &self.state.wake {
            _ if !rests => Some(format!("GPU {index} does not sleep")),
            None => Some("what is shown was recorded: nothing can be woken".to_owned()),
            Some(_) if !device.wakes_on_request() => Some(format!(
                "W wakes NVIDIA GPUs only; GPU {index} is read when a program uses it"
            )),
            Some(wake) => {
                wake.ask(&device.key);
                Some(format!("GPU {index} is read in a moment, which wakes it"))
            }
        };
        Flow::Draw
    }

    fn walk(&mut self, action: Action) {
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

    fn open(&mut self) -> Flow {
        match self.state.overlay {
            Some(Overlay::Sort) => {
                let line = self.state.overlay_line;
                let chosen = overlay::sortable(self.view()).nth(line);
                if let Some(column) = chosen {
                    self.sort_by(column);
                }
                self.state.overlay = None;
            }
            Some(_) => self.state.overlay = None,
            None if self.view().has_no_device() => {
                return if self.state.session == Session::Live {
                    Flow::Leave(Exit::OpenDemo)
                } else {
                    Flow::Idle
                };
            }
            None if self.state.rows.is_empty() => return Flow::Idle,
            None => self.toggle(Overlay::Inspector),
        }
        Flow::Draw
    }

    fn toggle(&mut self, overlay: Overlay) {
        let open = self.state.overlay == Some(overlay);
        self.state.overlay = (!open).then_some(overlay);
        self.state.overlay_line = 0;
    }

    fn settle_overlay(&mut self) {
        let last = overlay::last_line(self.view());
        self.state.overlay_line = self.state.overlay_line.min(last);
    }

    fn sort_by(&mut self, column: Column) {
        let descending = if self.state.sort.column == column {
            !self.state.sort.descending
        } else {
            column.prefers_descending()
        };
        self.state.sort = Sort { column, descending };
        self.list();
    }

    fn sort_beside(&mut self, right: bool) {
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

    fn turn_device(&mut self, forward: bool) -> Flow {
        let Some(snapshot) = &self.snapshot else {
            return Flow::Idle;
        };
        let shown = self.view().device().map(|device| device.index);
        let devices = &snapshot.devices;
        let at = devices.iter().position(|it| Some(it.index) == shown);
        let count = devices.len();
        let next = match at {
            Some(at) if forward => (at + 1) % count.max(1),
            Some(at) => (at + count.saturating_sub(1)) % count.max(1),
            None => 0,
        };
        let index = devices.get(next).map(|device| device.index);
        index.map_or(Flow::Idle, |index| self.show_device(index))
    }

    fn show_device(&mut self, index: u32) -> Flow {
        let exists = self
            .snapshot
            .iter()
            .flat_map(|snapshot| &snapshot.devices)
            .any(|device| device.index == index);
        if !exists {
            return Flow::Idle;
        }
        self.state.device = Some(index);
        self.list();
        Flow::Draw
    }

    fn point(&mut self, event: MouseEvent) -> Flow {
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

    fn click(&mut self, x: u16, y: u16) -> Flow {
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

    fn select(&mut self, cursor: usize) {
        self.state.select(cursor, self.snapshot.as_deref());
    }

    fn list(&mut self) {
        self.state.list(self.snapshot.as_deref());
        self.settle_overlay();
    }
}
