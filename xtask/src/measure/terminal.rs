//! A program in a pseudo terminal, and the thread that reads what it writes.

use std::ffi::OsString;
use std::io::{Read as _, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::options::Size;
use super::screen::Screen;

/// How long a program gets to end by its quit keys.
const QUIT_TIME: Duration = Duration::from_millis(1500);
/// How often to look whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

pub(super) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    input: Arc<Mutex<Box<dyn Write + Send>>>,
    screen: Arc<Mutex<Screen>>,
    // Closing it hangs up the program; it lives as long as the terminal.
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    /// Starts `command` in a terminal of `size`, with `environment` beside what it inherits.
    pub(super) fn start(
        command: &[OsString],
        environment: &[(OsString, OsString)],
        size: Size,
        first_frame: Option<String>,
    ) -> Result<Self> {
        let pair = native_pty_system()
            .openpty(PtySize {
                rows: size.rows.get(),
                cols: size.columns.get(),
                pixel_width: 0,
                pixel_height: 0,
            })
            .context("opening a pseudo terminal")?;
        let here = std::env::current_dir().context("asking for the current folder")?;
        let mut words = command.to_vec();
        if let Some(program) = words.first_mut()
            && program.to_string_lossy().contains('/')
        {
            // As a shell does: with a slash it is a path from here, not a name to search for.
            *program = here.join(&*program).into_os_string();
        }
        let mut builder = CommandBuilder::from_argv(words);
        builder.env("TERM", "xterm-256color");
        for (name, value) in environment {
            builder.env(name, value);
        }
        builder.cwd(here);
        let mut output = pair
            .master
            .try_clone_reader()
            .context("reading the terminal")?;
        let writer = pair
            .master
            .take_writer()
            .context("writing to the terminal")?;
        let input = Arc::new(Mutex::new(writer));
        let started = Instant::now();
        let screen = Arc::new(Mutex::new(Screen::new(size, first_frame, started)));
        let child = pair
            .slave
            .spawn_command(builder)
            .with_context(|| format!("starting {command:?}"))?;
        drop(pair.slave);

        let (shown, typed) = (Arc::clone(&screen), Arc::clone(&input));
        // Not joined: it ends with the terminal's end of file, and a grandchild may hold that open.
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                let now = Instant::now();
                let answer = locked(&shown).write(buffer.get(..length).unwrap_or_default(), now);
                if !answer.is_empty() && type_in(&typed, &answer).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            input,
            screen,
            _master: pair.master,
        })
    }

    pub(super) fn process(&self) -> Result<u32> {
        self.child
            .process_id()
            .ok_or_else(|| anyhow!("the program has no process id"))
    }

    pub(super) fn screen(&self) -> MutexGuard<'_, Screen> {
        locked(&self.screen)
    }

    pub(super) fn type_keys(&self, keys: &str) -> Result<()> {
        type_in(&self.input, keys.as_bytes()).context("typing into the terminal")
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the program: by its quit keys, else by hanging up, else by killing it. It is this program's own child
    /// and not waited for before, so its process id cannot have passed to another program.
    pub(super) fn end(&mut self, quit_keys: &str) {
        // A program that has closed its terminal cannot be typed at; it is ended below all the same.
        let typed = self.type_keys(quit_keys).is_ok();
        let deadline = Instant::now() + QUIT_TIME;
        while typed && !self.has_ended() && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        if !self.has_ended() {
            // Hangs up first and kills a moment later; an error here means that it ended meanwhile.
            if self.child.kill().is_ok() {
                drop(self.child.wait());
            }
        }
    }
}

fn type_in(input: &Mutex<Box<dyn Write + Send>>, bytes: &[u8]) -> std::io::Result<()> {
    let mut input = locked(input);
    input.write_all(bytes)?;
    input.flush()
}

/// A thread that panicked leaves a screen that is as good as any.
fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
