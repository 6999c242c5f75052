//! The posted lane: reads that may hang, on a few threads, each with a deadline.
//!
//! A read past its deadline is answered "timed out" and its thread is left behind and replaced. While that read
//! hangs, further ones about the same subject are refused at once: they would hang in the same lock.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use model::{Gap, Text};
use raw::{Answer, Question, Reply, Root, Stamped};

use crate::bell::{Bell, locked};
use crate::clock;

#[cfg(test)]
mod tests;

/// Threads that read. Four reads of a slow disk side by side; on a healthy machine one or two are ever started.
const THREADS: usize = 4;

/// Threads that may hang at the same time and be replaced; then the pool shrinks, and with no thread left
/// everything is refused.
const MAX_RETIRED: usize = 8;

/// Questions waiting for a thread. A refresh asks a handful per process.
const MAX_WAITING: usize = 1_024;

/// How long a read may take, nanoseconds.
const READ_NS: u64 = 2_000_000_000;

/// How long a question to a loopback server may take; its own timeout is shorter.
const HTTP_NS: u64 = 1_000_000_000;

/// Refreshes for which an answer is kept that nobody has asked for again: its process has ended.
const KEPT_TICKS: u64 = 8;

/// What answers a question.
pub(crate) trait Reader: Send + Sync + 'static {
    fn read(&self, question: &Question) -> Result<Reply, Gap>;
}

impl<F: Fn(&Question) -> Result<Reply, Gap> + Send + Sync + 'static> Reader for F {
    fn read(&self, question: &Question) -> Result<Reply, Gap> {
        self(question)
    }
}

/// What a hung read makes inaccessible.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Subject {
    Process(u32),
    File(Text),
    Users,
    DeviceNames,
    /// A user's home may be on a disk that hangs; the files of others are not.
    Containers(Option<u32>),
    Forwarders,
    Journal,
}

impl Subject {
    fn of(question: &Question) -> Self {
        match question {
            Question::File {
                root: Root::Host,
                path,
                ..
            }
            | Question::ModelFile {
                root: Root::Host,
                path,
            }
            | Question::SkipStrings {
                root: Root::Host,
                path,
                ..
            }
            | Question::Stat {
                root: Root::Host,
                path,
            } => Self::File(Text::clone(path)),
            Question::DeviceName { .. } => Self::DeviceNames,
            Question::Forwarders => Self::Forwarders,
            Question::Journal { .. } => Self::Journal,
            Question::Container { owner, .. } => Self::Containers(*owner),
            other => other
                .who()
                .map_or(Self::Users, |who| Self::Process(who.pid)),
        }
    }
}

enum Job {
    Waiting,
    Running,
    Done { answer: Answer<Reply>, tick: u64 },
}

struct Running {
    thread: u64,
    question: Question,
    deadline_ns: u64,
}

#[derive(Default)]
struct State {
    jobs: HashMap<Question, Job>,
    waiting: VecDeque<Question>,
    running: Vec<Running>,
    /// Threads that have not been retired, and how many of them wait for work.
    threads: usize,
    idle: usize,
    /// Reads that hang, by the thread they hang in.
    hung: HashMap<u64, Subject>,
    next_thread: u64,
    tick: u64,
    quit: bool,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    bell: Arc<Bell>,
    reader: Box<dyn Reader>,
}

/// The side of the sampling thread.
pub(crate) struct Lane {
    shared: Arc<Shared>,
}

impl Lane {
    pub(crate) fn new(bell: Arc<Bell>, reader: impl Reader) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                work: Condvar::new(),
                bell,
                reader: Box::new(reader),
            }),
        }
    }

    /// The answer if there is one, which is then forgotten; else the question is on its way.
    pub(crate) fn post(&self, question: &Question) -> Answer<Reply> {
        let mut state = locked(&self.shared.state);
        match state.jobs.get(question) {
            Some(Job::Waiting | Job::Running) => return Err(Gap::Pending),
            Some(Job::Done { .. }) => {
                return match state.jobs.remove(question) {
                    Some(Job::Done { answer, .. }) => answer,
                    _ => Err(Gap::Pending),
                };
            }
            None => {}
        }
        if state.is_refused(&Subject::of(question)) {
            return Err(Gap::TimedOut);
        }
        // A full queue is no reason to give up: the question will be asked again.
        if state.waiting.len() < MAX_WAITING {
            state.jobs.insert(question.clone(), Job::Waiting);
            state.waiting.push_back(question.clone());
            self.staff(&mut state);
        }
        Err(Gap::Pending)
    }

    /// Whether no question waits for its answer.
    pub(crate) fn is_answered(&self) -> bool {
        let state = locked(&self.shared.state);
        state.is_answered()
    }

    /// The next moment at which a read has taken too long.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        let state = locked(&self.shared.state);
        state.running.iter().map(|r| r.deadline_ns).min()
    }

    /// Answers reads that have taken too long, and replaces their threads.
    pub(crate) fn expire(&self, now_ns: u64) {
        let mut state = locked(&self.shared.state);
        let State { running, .. } = &mut *state;
        let late: Vec<Running> = running
            .extract_if(.., |read| read.deadline_ns < now_ns)
            .collect();
        if late.is_empty() {
            return;
        }
        for read in late {
            state.hung.insert(read.thread, Subject::of(&read.question));
            state.threads -= 1;
            state.finish(read.question, Err(Gap::TimedOut));
        }
        self.staff(&mut state);
    }

    /// A refresh begins; answers that nobody fetches are dropped.
    pub(crate) fn begin_tick(&self) {
        let mut state = locked(&self.shared.state);
        state.tick += 1;
        let oldest = state.tick.saturating_sub(KEPT_TICKS);
        state
            .jobs
            .retain(|_, job| !matches!(job, Job::Done { tick, .. } if *tick < oldest));
    }

    /// Sees to it that somebody works on what waits, or refuses it.
    fn staff(&self, state: &mut State) {
        if state.waiting.is_empty() {
            return;
        }
        if state.idle > 0 {
            self.shared.work.notify_one();
        }
        // A thread that is not reading has been woken or is just starting.
        let free = state.threads.saturating_sub(state.running.len());
        let wanted = state.waiting.len().saturating_sub(free);
        let allowed = state.allowed_threads().saturating_sub(state.threads);
        for _ in 0..wanted.min(allowed) {
            let thread = state.next_thread;
            let shared = Arc::clone(&self.shared);
            let started = thread::Builder::new()
                .name("reads".to_owned())
                .spawn(move || work(&shared, thread));
            if started.is_err() {
                break;
            }
            state.next_thread += 1;
            state.threads += 1;
        }
        if state.threads == 0 {
            while let Some(question) = state.waiting.pop_front() {
                state.finish(question, Err(Gap::TimedOut));
            }
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        locked(&self.shared.state).quit = true;
        self.shared.work.notify_all();
    }
}

impl State {
    fn is_answered(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    fn is_refused(&self, subject: &Subject) -> bool {
        self.hung.values().any(|hung| hung == subject)
    }

    /// The whole pool while hung threads can be replaced, then what is left of it.
    fn allowed_threads(&self) -> usize {
        THREADS.saturating_sub(self.hung.len().saturating_sub(MAX_RETIRED))
    }

    fn finish(&mut self, question: Question, answer: Answer<Reply>) {
        let tick = self.tick;
        self.jobs.insert(question, Job::Done { answer, tick });
    }

    /// The next question whose subject is accessible.
    fn next(&mut self) -> Option<Question> {
        while let Some(question) = self.waiting.pop_front() {
            if !self.is_refused(&Subject::of(&question)) {
                return Some(question);
            }
            self.finish(question, Err(Gap::TimedOut));
        }
        None
    }
}

/// A thread of the pool.
fn work(shared: &Shared, thread: u64) {
    loop {
        let mut state = locked(&shared.state);
        let question = loop {
            if state.quit {
                return;
            }
            if let Some(question) = state.next() {
                break question;
            }
            state.idle += 1;
            state = shared
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        };
        let allowed = match question {
            Question::Http { .. } => HTTP_NS,
            _ => READ_NS,
        };
        state.jobs.insert(question.clone(), Job::Running);
        state.running.push(Running {
            thread,
            question: question.clone(),
            deadline_ns: clock::monotonic_ns().saturating_add(allowed),
        });
        drop(state);

        let read = catch_unwind(AssertUnwindSafe(|| shared.reader.read(&question)));
        let answer = read.unwrap_or(Err(Gap::Internal)).map(|value| Stamped {
            at: clock::stamp(),
            value,
        });

        let mut state = locked(&shared.state);
        if state.hung.remove(&thread).is_some() {
            drop(state);
            shared.bell.ring();
            return;
        }
        state.running.retain(|read| read.thread != thread);
        state.finish(question, answer);
        let all_answered = state.is_answered();
        drop(state);
        if all_answered {
            shared.bell.ring();
        }
    }
}
