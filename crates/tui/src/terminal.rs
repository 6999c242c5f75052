//! The terminal: taken at the start, given back on every way out, a panic included.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::backend::{Backend as _, ClearType, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Size;

use crate::canvas::Canvas;

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// Room for what one frame usually sends, so that it is sent at once.
const FRAME_BYTES: usize = 16 * 1024;

type Screen = CrosstermBackend<BufWriter<Stdout>>;

/// Raw mode and the alternate screen, until it is dropped.
pub(crate) struct Guard {
    screen: Screen,
    canvas: Canvas,
    previous: Arc<Hook>,
    elsewhere: Arc<Mutex<Vec<String>>>,
}

impl Guard {
    /// Takes the terminal.
    pub(crate) fn take(mouse: bool) -> io::Result<Self> {
        // Under NO_COLOR crossterm would turn every colour into "reset all", and a reversed row
        // would come out plain. Whether there is colour is decided by the theme alone.
        crossterm::style::force_color_output(true);
        let previous: Arc<Hook> = panic::take_hook().into();
        let elsewhere = Arc::new(Mutex::new(Vec::new()));
        install(&previous, &elsewhere);
        match enter(mouse) {
            Ok(screen) => Ok(Self {
                screen,
                canvas: Canvas::default(),
                previous,
                elsewhere,
            }),
            Err(error) => {
                panic::set_hook(Box::new(move |info| previous(info)));
                Err(error)
            }
        }
    }
}

impl Guard {
    /// Columns and rows.
    pub(crate) fn size(&self) -> io::Result<Size> {
        self.screen.size()
    }

    /// Draws a frame and sends what differs from the last one.
    pub(crate) fn draw(&mut self, render: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        let size = self.screen.size()?;
        if self.canvas.resize(size) {
            self.screen.clear_region(ClearType::All)?;
        }
        render(self.canvas.next());
        self.canvas.send(&mut self.screen)
    }

    /// Wipes what is on the screen, whoever wrote it, so that the next frame is drawn whole.
    pub(crate) fn blank(&mut self) -> io::Result<()> {
        self.canvas.blank(&mut self.screen)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
        // A panicking thread may not touch the hook; it has run already and the process is ending.
        if !thread::panicking() {
            let previous = Arc::clone(&self.previous);
            panic::set_hook(Box::new(move |info| previous(info)));
        }
        let mut messages = self
            .elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for message in messages.drain(..) {
            let _ = writeln!(io::stderr(), "{message}");
        }
    }
}

fn enter(mouse: bool) -> io::Result<Screen> {
    // Where there is no terminal this fails, and nothing has been written yet.
    enable_raw_mode()?;
    let entered = execute!(
        io::stdout(),
        EnterAlternateScreen,
        // What is pasted is a text then and no row of keys.
        EnableBracketedPaste,
        cursor::Hide
    )
    .and_then(|()| {
        if mouse {
            execute!(io::stdout(), EnableMouseCapture)
        } else {
            Ok(())
        }
    })
    .map(|()| CrosstermBackend::new(BufWriter::with_capacity(FRAME_BYTES, io::stdout())));
    if entered.is_err() {
        give_back();
    }
    entered
}

/// Harmless when done twice. Errors are ignored: there is nothing left to do about them.
fn give_back() {
    let _ = execute!(
        io::stdout(),
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

/// A panic of this thread gives the terminal back before it is told. One of another thread may be
/// caught there and the interface goes on, so that its message waits until the screen is free.
fn install(previous: &Arc<Hook>, elsewhere: &Arc<Mutex<Vec<String>>>) {
    let own = thread::current().id();
    let previous = Arc::clone(previous);
    let elsewhere = Arc::clone(elsewhere);
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == own {
            give_back();
            previous(info);
        } else {
            let mut messages = elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
            // A thread that panics again and again must not fill the memory.
            if messages.len() < 16 {
                messages.push(info.to_string());
            }
        }
    }));
}
