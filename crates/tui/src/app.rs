//! Message to state. The only place where the state changes.

mod devices;
mod holding;
mod marking;
mod moving;
mod pointing;
mod sorting;
mod typing;

use std::sync::Arc;

use crossterm::event::Event;
use model::Snapshot;
use ratatui::layout::Size;

use crate::keys::{self, Action};
use crate::overlay;
use crate::prompt::Purpose;
use crate::session::{Exit, Message, Options, Session};
use crate::state::{Overlay, State};
use crate::view::View;

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
    /// Nothing is shown yet.
    pub(crate) fn new(options: Options, size: Size) -> Self {
        Self {
            state: State::new(options, size),
            snapshot: None,
            held: None,
        }
    }

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
        if self.snapshot.is_none() {
            self.begin_with_device(&snapshot);
        }
        self.follow_device(&snapshot);
        if let Some(mark) = &mut self.state.mark {
            mark.compare(&snapshot);
        }
        self.snapshot = Some(snapshot);
        self.list();
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
            Action::Mark => return self.mark(),
            Action::Unmark => return self.unmark(),
            Action::Changes => return self.toggle_changes(),
            Action::Help => self.toggle(Overlay::Help),
            Action::Provenance => self.toggle(Overlay::Provenance),
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
            Action::ColumnsLeft => self.state.passed = self.state.passed.saturating_sub(1),
            Action::ColumnsRight => return self.columns_right(),
            Action::Devices => self.list_devices(),
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
            Some(Overlay::Devices) => {
                self.state.overlay = None;
                self.show_device_at(self.state.overlay_line);
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

    fn list(&mut self) {
        self.state.list(self.snapshot.as_deref());
        self.settle_overlay();
    }
}
