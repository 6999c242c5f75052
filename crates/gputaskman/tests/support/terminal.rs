//! The program in a pseudo terminal: what it wrote, what stands on the screen, and how the terminal is left.
//!
//! Tests wait for contents of the screen, up to a deadline, and never for time.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fake_nvml::build::{Driver, SCENARIO_VARIABLE};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::program::{BINARY, home};

/// How long a screen may take to show something, on any machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// Line discipline flags of Linux (`asm-generic/termbits-common.h`): line editing, echo, and keys as signals.
const COOKED: u32 = 0o1 | 0o2 | 0o10;

/// How to start the program.
pub(crate) struct Start {
    command: CommandBuilder,
    size: (u16, u16),
}

impl Start {
    /// With these arguments, in a terminal of 100 columns and 30 rows.
    pub(crate) fn line(arguments: &str) -> Self {
        let mut command = CommandBuilder::new(BINARY);
        command.env_clear();
        command.args(arguments.split_whitespace());
        command.env("HOME", home());
        command.env("LANG", "C.UTF-8");
        command.env("TERM", "xterm-256color");
        command.cwd(home());
        Self {
            command,
            size: (100, 30),
        }
    }

    #[must_use]
    pub(crate) fn driver(mut self, driver: &Driver) -> Self {
        self.command.env("LD_LIBRARY_PATH", driver.folder());
        self.command.env(SCENARIO_VARIABLE, driver.scenario_path());
        self
    }

    #[must_use]
    pub(crate) fn root(mut self, folder: &Path) -> Self {
        self.command.arg("--root");
        self.command.arg(folder);
        self
    }

    #[must_use]
    pub(crate) fn arg(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    #[must_use]
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub(crate) fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    pub(crate) fn start(self) -> Terminal {
        let (columns, rows) = self.size;
        let pair = native_pty_system()
            .openpty(pty_size(columns, rows))
            .unwrap();
        let before = local_flags(&*pair.master);
        assert_eq!(before & COOKED, COOKED, "a new terminal is cooked");
        let mut output = pair.master.try_clone_reader().unwrap();
        let shared = Arc::new(Shared {
            seen: Mutex::new(Seen {
                parser: vt100::Parser::new(positive(rows), positive(columns), 0),
                raw: Vec::new(),
                ended: false,
            }),
            changed: Condvar::new(),
        });
        let child = pair.slave.spawn_command(self.command).unwrap();
        // So that the end of the program is the end of what can be read.
        drop(pair.slave);
        let writer = Arc::clone(&shared);
        thread::spawn(move || {
            let mut buffer = [0; 1 << 14];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                writer.take(&buffer[..length]);
            }
            writer.end();
        });
        Terminal {
            input: pair.master.take_writer().unwrap(),
            master: pair.master,
            child,
            shared,
            before,
        }
    }
}

fn pty_size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn positive(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn local_flags(master: &dyn MasterPty) -> u32 {
    master.get_termios().unwrap().local_flags.bits()
}

struct Seen {
    parser: vt100::Parser,
    raw: Vec<u8>,
    ended: bool,
}

struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Shared {
    fn take(&self, bytes: &[u8]) {
        let mut seen = self.seen.lock().unwrap();
        seen.parser.process(bytes);
        seen.raw.extend(bytes);
        drop(seen);
        self.changed.notify_all();
    }

    fn end(&self) {
        self.seen.lock().unwrap().ended = true;
        self.changed.notify_all();
    }

    /// Waits until `wanted` holds; what was seen last where it never does.
    fn wait(&self, wanted: impl Fn(&Seen) -> bool) -> Result<(), String> {
        let until = Instant::now() + DEADLINE;
        let mut seen = self.seen.lock().unwrap();
        while !wanted(&seen) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || seen.ended {
                let state = if seen.ended { "ended" } else { "waits" };
                return Err(format!(
                    "it {state}; the screen:\n{}",
                    seen.parser.screen().contents()
                ));
            }
            seen = self.changed.wait_timeout(seen, left).unwrap().0;
        }
        Ok(())
    }
}

/// The program in its terminal; it is ended with this value.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    input: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    shared: Arc<Shared>,
    before: u32,
}

impl Terminal {
    /// Waits until the screen contains this.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        self.becomes(|screen| screen.contents().contains(text), text);
    }

    /// Waits until the screen contains this no more.
    #[track_caller]
    pub(crate) fn shows_no_more(&self, text: &str) {
        self.becomes(|screen| !screen.contents().contains(text), text);
    }

    /// Waits until the screen is so.
    #[track_caller]
    pub(crate) fn becomes(&self, wanted: impl Fn(&vt100::Screen) -> bool, what: &str) {
        if let Err(problem) = self.shared.wait(|seen| wanted(seen.parser.screen())) {
            panic!("waiting for {what:?}: {problem}");
        }
    }

    /// Everything on the screen.
    pub(crate) fn text(&self) -> String {
        self.with_screen(vt100::Screen::contents)
    }

    pub(crate) fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shared.seen.lock().unwrap().parser.screen())
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.input.write_all(keys.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let mut seen = self.shared.seen.lock().unwrap();
        let screen = seen.parser.screen_mut();
        screen.set_size(positive(rows), positive(columns));
        drop(seen);
        self.master.resize(pty_size(columns, rows)).unwrap();
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.process_id().unwrap()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Neither line editing, nor echo, nor keys as signals.
    pub(crate) fn is_raw(&self) -> bool {
        local_flags(&*self.master) & COOKED == 0
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> Vec<u8> {
        self.shared.seen.lock().unwrap().raw.clone()
    }

    /// Waits for the end: the exit code and all that was written.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> (u32, Vec<u8>) {
        if let Err(problem) = self.shared.wait(|seen| seen.ended) {
            panic!("waiting for the end: {problem}");
        }
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), None, "it was ended by a signal");
        (status.exit_code(), self.written())
    }

    /// The same, and the terminal is as it was before.
    #[track_caller]
    pub(crate) fn ends_and_gives_the_terminal_back(mut self) -> (u32, Vec<u8>) {
        let (code, raw) = self.ends();
        assert_eq!(local_flags(&*self.master), self.before, "line discipline");
        self.with_screen(|screen| {
            assert!(!screen.alternate_screen(), "the alternate screen is left");
            assert!(!screen.hide_cursor(), "the cursor is shown");
            assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
            assert!(!screen.bracketed_paste());
        });
        let [entered, left] = ["\u{1b}[?1049h", "\u{1b}[?1049l"].map(|text| last(&raw, text));
        assert!(
            entered.is_some() && left > entered,
            "entered {entered:?}, left {left:?}"
        );
        let [hidden, shown] = ["\u{1b}[?25l", "\u{1b}[?25h"].map(|text| last(&raw, text));
        assert!(shown > hidden, "hidden {hidden:?}, shown {shown:?}");
        (code, raw)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Where it has ended already, both say so.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Where this was written last.
fn last(raw: &[u8], text: &str) -> Option<usize> {
    raw.windows(text.len())
        .rposition(|window| window == text.as_bytes())
}
