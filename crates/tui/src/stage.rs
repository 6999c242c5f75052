//! The interface on a terminal that is a buffer of bytes: to measure what a frame costs.

use std::io;
use std::sync::Arc;

use model::Snapshot;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Size;

use crate::app::App;
use crate::canvas::Canvas;
use crate::screen;
use crate::session::{Message, Options};

/// A screen of a fixed size in memory.
pub struct Stage {
    app: App,
    canvas: Canvas,
}

impl Stage {
    /// Nothing is shown yet.
    pub fn new(options: Options, (width, height): (u16, u16)) -> Self {
        let mut stage = Self {
            app: App::new(options, Size::new(width, height)),
            canvas: Canvas::default(),
        };
        stage.canvas.resize(Size::new(width, height));
        stage
    }

    /// Takes a snapshot in, as the program does.
    pub fn take(&mut self, snapshot: Arc<Snapshot>) {
        self.app.update(Message::Snapshot(snapshot));
    }

    /// Draws a frame: adds the bytes that bring a terminal from the frame before to this one.
    pub fn draw(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let buffer = self.canvas.next();
        let area = buffer.area;
        screen::render(self.app.view(), area, buffer);
        self.canvas.send(&mut CrosstermBackend::new(out))
    }

    /// What is shown, without a terminal.
    pub(crate) fn buffer(&self) -> Buffer {
        screen::drawn(self.app.view())
    }
}
