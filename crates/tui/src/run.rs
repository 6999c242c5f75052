//! The loop: wait for a message, take it in, draw.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::layout::Size;

use crate::app::{App, Flow};
use crate::screen;
use crate::session::{Exit, Message, Options, Session};
use crate::terminal::Guard;

/// Messages taken in before the screen is drawn, so that a flood of keys costs one frame.
const AT_ONCE: usize = 64;

/// Pace of snapshots where there is no GPU.
const RETRY: Duration = Duration::from_secs(10);

/// Runs the interface until the user leaves or `inbox` says so. `sender` is the other end of `inbox`,
/// for the thread that reads keys.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the inbox ends with the interface, so that senders learn of it"
)]
pub fn run(
    options: Options,
    inbox: Receiver<Message>,
    sender: Sender<Message>,
) -> io::Result<Exit> {
    let mut guard = Guard::take(options.mouse)?;
    let size = guard.size().unwrap_or(Size::new(80, 24));
    let mut app = App::new(options, size);
    draw(&mut guard, &app)?;
    let taken_in = read_input(sender)?;
    let mut clock = Clock::new(app.state.interval);
    loop {
        let watched = app.state.session == Session::Live && app.state.ended.is_none();
        let mut next = if watched {
            // Where there is no GPU it is looked for at this pace only.
            let slow = app.view().has_no_device();
            match inbox.recv_timeout(clock.patience(slow)) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Quit),
            }
        } else {
            match inbox.recv() {
                Ok(message) => Some(message),
                Err(mpsc::RecvError) => return Ok(Exit::Quit),
            }
        };
        let mut flow = Flow::Idle;
        if next.is_none() {
            app.state.late = Some(clock.age());
            flow = Flow::Draw;
        }
        let mut taken = 0;
        while let Some(message) = next.take() {
            let input = matches!(message, Message::Input(_));
            if matches!(message, Message::Snapshot(_)) {
                clock.start();
            }
            match app.update(message) {
                Flow::Idle => {}
                Flow::Draw if flow == Flow::Redraw => {}
                Flow::Leave(exit) => return Ok(exit),
                other => flow = other,
            }
            if input {
                // The thread reads the next key only now. When the loop is left, it takes none that
                // is meant for whoever comes after.
                let _ = taken_in.send(());
            }
            taken += 1;
            if taken < AT_ONCE {
                next = inbox.try_recv().ok();
            }
        }
        match flow {
            Flow::Redraw => {
                guard.blank()?;
                draw(&mut guard, &app)?;
            }
            Flow::Draw => draw(&mut guard, &app)?,
            Flow::Idle | Flow::Leave(_) => {}
        }
    }
}

fn draw(guard: &mut Guard, app: &App) -> io::Result<()> {
    guard.draw(|buffer| screen::render(app.view(), buffer.area, buffer))
}

/// Starts the thread that reads keys. It waits after each until the returned sender is used, and ends
/// when that is dropped. Where the terminal is gone it asks to leave.
fn read_input(sender: Sender<Message>) -> io::Result<Sender<()>> {
    let (taken_in, wait) = mpsc::channel();
    thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || {
            loop {
                let message = crossterm::event::read().map_or(Message::Quit, Message::Input);
                let last = matches!(message, Message::Quit);
                if sender.send(message).is_err() || last || wait.recv().is_err() {
                    return;
                }
            }
        })?;
    Ok(taken_in)
}

/// When the last snapshot came. Only a late one makes it wake the loop.
struct Clock {
    since: Instant,
    interval: Duration,
    woken: u32,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the age of the picture on this screen, whatever the machine's clock says"
    )]
    fn now() -> Instant {
        Instant::now()
    }

    fn new(interval: Duration) -> Self {
        Self {
            since: Self::now(),
            interval,
            woken: 0,
        }
    }

    fn start(&mut self) {
        self.since = Self::now();
        self.woken = 0;
    }

    fn age(&mut self) -> Duration {
        self.woken = self.woken.saturating_add(1);
        self.since.elapsed()
    }

    /// Time until the screen has to say that the snapshot is late: two intervals and a second, then
    /// every second, and every ten after a minute.
    fn patience(&self, slow: bool) -> Duration {
        let interval = if slow {
            self.interval.max(RETRY)
        } else {
            self.interval
        };
        let late = interval * 2 + Duration::from_secs(1);
        let step = match self.woken {
            0..60 => self.woken,
            more => 60 + (more - 60) * 10,
        };
        let due = late + Duration::from_secs(u64::from(step));
        due.saturating_sub(self.since.elapsed())
    }
}
