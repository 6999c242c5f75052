//! The terminal: taken at the start, given back on every way out, a panic included.

use std::io::{self, Stdout, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::{Backend as _, ClearType, CrosstermBackend};

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// Raw mode and the alternate screen, until it is dropped.
pub(crate) struct Guard {
    /// Where frames are drawn.
    pub(crate) terminal: Terminal<CrosstermBackend<Stdout>>,
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
            Ok(terminal) => Ok(Self {
                terminal,
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
    /// Wipes what is on the screen, whoever wrote it, so that the next frame is drawn whole.
    ///
    /// Not by `Terminal::clear`: that asks the terminal where its cursor is, and the answer would
    /// go to the thread that reads keys.
    pub(crate) fn blank(&mut self) -> io::Result<()> {
        self.terminal.backend_mut().clear_region(ClearType::All)?;
        self.terminal.draw(|_| {})?;
        Ok(())
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

fn enter(mouse: bool) -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    // Where there is no terminal this fails, and nothing has been written yet.
    enable_raw_mode()?;
    let entered = execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)
        .and_then(|()| {
            if mouse {
                execute!(io::stdout(), EnableMouseCapture)
            } else {
                Ok(())
            }
        })
        .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
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
