//! Tests of the whole interface.

mod filter;
mod keys;
mod limits;
mod mark;
mod screens;
mod words;

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use model::Snapshot;
use ratatui::buffer::Buffer;
use ratatui::layout::Size;

use crate::app::{App, Flow};
use crate::picture::text;
use crate::session::{Message, Options, Session};
use crate::theme::Theme;

pub(crate) fn options(theme: Theme, ascii: bool) -> Options {
    Options {
        session: Session::Live,
        theme,
        ascii,
        truecolor: true,
        mouse: true,
        interval: Duration::from_secs(1),
        wake: None,
    }
}

fn empty(options: &Options, size: (u16, u16)) -> App {
    App::new(options.clone(), Size::new(size.0, size.1))
}

fn app(snapshot: Snapshot, size: (u16, u16)) -> App {
    let mut app = empty(&options(Theme::Auto, false), size);
    app.update(Message::Snapshot(Arc::new(snapshot)));
    app
}

/// Presses keys, named like `j`, `Enter`, `F6`.
fn press(app: &mut App, keys: &str) -> Flow {
    let mut flow = Flow::Idle;
    for name in keys.split_whitespace() {
        let code = match name {
            "Enter" => KeyCode::Enter,
            "Esc" => KeyCode::Esc,
            "Tab" => KeyCode::Tab,
            "Down" => KeyCode::Down,
            "Left" => KeyCode::Left,
            "Right" => KeyCode::Right,
            "Backspace" => KeyCode::Backspace,
            "Space" => KeyCode::Char(' '),
            "Up" => KeyCode::Up,
            "End" => KeyCode::End,
            "Home" => KeyCode::Home,
            "PgDn" => KeyCode::PageDown,
            "PgUp" => KeyCode::PageUp,
            "F3" => KeyCode::F(3),
            "F6" => KeyCode::F(6),
            "F10" => KeyCode::F(10),
            other => KeyCode::Char(other.chars().next().unwrap()),
        };
        let event = KeyEvent::new(code, KeyModifiers::NONE);
        flow = app.update(Message::Input(Event::Key(event)));
    }
    flow
}

fn draw(app: &App) -> Buffer {
    crate::screen::drawn(app.view())
}
