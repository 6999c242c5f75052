use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use raw::{Endpoint, ProcessRef};

use super::*;

const LONG_NS: u64 = 20_000_000_000;
const FAR: u64 = u64::MAX - 1;

fn maps(pid: u32) -> Question {
    Question::Maps(ProcessRef {
        pid,
        start_ticks: 1,
    })
}

fn command_line(pid: u32) -> Question {
    Question::CommandLine(ProcessRef {
        pid,
        start_ticks: 1,
    })
}

/// A lane whose reads about processes up to 100 answer at once, and above it wait for their gate.
struct Rig {
    lane: Lane,
    bell: Arc<Bell>,
    entered: Receiver<Question>,
    gates: Arc<(Mutex<Vec<u32>>, Condvar)>,
}

fn rig() -> Rig {
    let bell = Arc::<Bell>::default();
    let (sender, entered) = channel();
    let sender: Mutex<Sender<Question>> = Mutex::new(sender);
    let gates = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
    let opened = Arc::clone(&gates);
    let reader = move |question: &Question| {
        locked(&sender).send(question.clone()).unwrap();
        let pid = question.who().map_or(0, |who| who.pid);
        assert_ne!(pid, 13, "a read that fails");
        let (gates, changed) = &*opened;
        let mut open = locked(gates);
        while pid > 100 && !open.contains(&pid) {
            open = changed.wait(open).unwrap();
        }
        Ok(Reply::End(u64::from(pid)))
    };
    Rig {
        lane: Lane::new(Arc::clone(&bell), reader),
        bell,
        entered,
        gates,
    }
}

impl Rig {
    fn open(&self, pid: u32) {
        locked(&self.gates.0).push(pid);
        self.gates.1.notify_all();
    }

    fn wait_for_entry(&self, question: &Question) {
        let long = Duration::from_nanos(LONG_NS);
        while self.entered.recv_timeout(long).unwrap() != *question {}
    }

    fn wait_until(&self, what: &str, mut done: impl FnMut(&Lane) -> bool) {
        let until = clock::monotonic_ns() + LONG_NS;
        loop {
            let heard = self.bell.rings();
            if done(&self.lane) {
                return;
            }
            let now = clock::monotonic_ns();
            assert!(now < until, "{what}");
            self.bell.wait(heard, until - now);
        }
    }

    fn answer(&self, question: &Question) -> Answer<Reply> {
        let mut answer = self.lane.post(question);
        self.wait_until("an answer", |lane| {
            if answer == Err(Gap::Pending) && lane.is_answered() {
                answer = lane.post(question);
            }
            answer != Err(Gap::Pending)
        });
        answer
    }

    fn hang(&self, pid: u32) {
        assert_eq!(self.lane.post(&maps(pid)), Err(Gap::Pending));
        self.wait_for_entry(&maps(pid));
        self.lane.expire(FAR);
    }
}

#[test]
fn an_answer_is_handed_out_once_and_asking_again_reads_again() {
    let rig = rig();
    assert_eq!(rig.lane.post(&maps(1)), Err(Gap::Pending));
    rig.wait_until("the answer", Lane::is_answered);
    assert_eq!(rig.lane.post(&maps(1)).unwrap().value, Reply::End(1));
    assert_eq!(rig.lane.post(&maps(1)), Err(Gap::Pending));
    rig.wait_until("the second answer", Lane::is_answered);
    assert_eq!(rig.entered.try_iter().count(), 2);
}

#[test]
fn one_question_asked_twice_is_read_once() {
    let rig = rig();
    assert_eq!(rig.lane.post(&maps(200)), Err(Gap::Pending));
    rig.wait_for_entry(&maps(200));
    assert_eq!(rig.lane.post(&maps(200)), Err(Gap::Pending));
    assert!(!rig.lane.is_answered());
    rig.open(200);
    assert_eq!(rig.answer(&maps(200)).unwrap().value, Reply::End(200));
    assert_eq!(rig.entered.try_iter().count(), 0);
}

#[test]
fn a_hanging_read_is_timed_out_and_others_go_on() {
    let rig = rig();
    for pid in 200..204 {
        assert_eq!(rig.lane.post(&maps(pid)), Err(Gap::Pending));
    }
    for _ in 200..204 {
        rig.entered
            .recv_timeout(Duration::from_nanos(LONG_NS))
            .unwrap();
    }
    // All four threads hang; the next question waits until their time is over.
    assert_eq!(rig.lane.post(&maps(1)), Err(Gap::Pending));
    assert!(rig.lane.deadline_ns().unwrap() <= clock::monotonic_ns() + READ_NS);
    rig.lane.expire(FAR);
    assert_eq!(rig.lane.post(&maps(200)), Err(Gap::TimedOut));
    assert_eq!(rig.answer(&maps(1)).unwrap().value, Reply::End(1));
}

#[test]
fn a_process_with_a_hanging_read_is_refused_until_it_returns() {
    let rig = rig();
    rig.hang(300);
    assert_eq!(rig.lane.post(&maps(300)), Err(Gap::TimedOut));
    assert_eq!(rig.lane.post(&command_line(300)), Err(Gap::TimedOut));
    assert_eq!(rig.answer(&maps(1)).unwrap().value, Reply::End(1));
    rig.open(300);
    rig.wait_until("the end of the hang", |lane| {
        locked(&lane.shared.state).hung.is_empty()
    });
    assert_eq!(
        rig.answer(&command_line(300)).unwrap().value,
        Reply::End(300)
    );
}

#[test]
fn the_pool_is_bounded_and_with_no_thread_left_everything_is_refused() {
    let rig = rig();
    let mut reached = 0;
    for pid in 400.. {
        match rig.lane.post(&maps(pid)) {
            Err(Gap::Pending) => {}
            other => panic!("{other:?}"),
        }
        if rig.lane.is_answered() {
            assert_eq!(rig.lane.post(&maps(pid)), Err(Gap::TimedOut));
            break;
        }
        rig.wait_for_entry(&maps(pid));
        rig.lane.expire(FAR);
        reached += 1;
    }
    assert_eq!(reached, THREADS + MAX_RETIRED);
    // One that returns makes room for one.
    rig.open(400);
    rig.wait_until("room", |lane| {
        locked(&lane.shared.state).hung.len() < THREADS + MAX_RETIRED
    });
    assert_eq!(rig.answer(&maps(1)).unwrap().value, Reply::End(1));
}

#[test]
fn a_failing_read_is_an_internal_gap() {
    let rig = rig();
    assert_eq!(rig.answer(&maps(13)), Err(Gap::Internal));
    assert_eq!(rig.answer(&maps(1)).unwrap().value, Reply::End(1));
}

#[test]
fn an_answer_that_nobody_fetches_is_dropped_after_some_refreshes() {
    let rig = rig();
    assert_eq!(rig.lane.post(&maps(1)), Err(Gap::Pending));
    rig.wait_until("the answer", Lane::is_answered);
    for _ in 0..KEPT_TICKS {
        rig.lane.begin_tick();
    }
    assert_eq!(locked(&rig.lane.shared.state).jobs.len(), 1);
    rig.lane.begin_tick();
    assert_eq!(locked(&rig.lane.shared.state).jobs.len(), 0);
}

#[test]
fn the_queue_is_bounded_and_a_question_beyond_it_stays_pending() {
    let rig = rig();
    for pid in 200..204 {
        assert_eq!(rig.lane.post(&maps(pid)), Err(Gap::Pending));
        rig.wait_for_entry(&maps(pid));
    }
    for pid in 1000..4000 {
        assert_eq!(rig.lane.post(&maps(pid)), Err(Gap::Pending));
    }
    let state = locked(&rig.lane.shared.state);
    assert_eq!(state.waiting.len(), MAX_WAITING);
    assert_eq!(state.jobs.len(), MAX_WAITING + 4);
}

#[test]
fn a_loopback_question_has_less_time_than_a_read() {
    let rig = rig();
    let question = Question::Http {
        who: ProcessRef {
            pid: 500,
            start_ticks: 1,
        },
        port: 80,
        endpoint: Endpoint::LlamaProps,
    };
    assert_eq!(rig.lane.post(&question), Err(Gap::Pending));
    rig.wait_for_entry(&question);
    assert!(rig.lane.deadline_ns().unwrap() <= clock::monotonic_ns() + HTTP_NS);
}

#[test]
fn hung_files_are_told_apart_by_path() {
    let stat = |path: &str| Question::Stat {
        root: Root::Host,
        path: path.into(),
    };
    assert_eq!(Subject::of(&stat("/a")), Subject::File("/a".into()));
    assert_ne!(Subject::of(&stat("/a")), Subject::of(&stat("/b")));
    assert_eq!(Subject::of(&Question::UserName(0)), Subject::Users);
}
