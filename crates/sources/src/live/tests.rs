use raw::{Endpoint, ProcessRef};

use super::*;

const HOUR_NS: u64 = 3_600_000_000_000;

#[test]
fn posted_questions_are_answered_in_a_later_refresh_that_starts_early() {
    let mut machine = LiveMachine::new(Options::default());
    let now = machine.begin_tick(&TickPlan::default()).unwrap().now;
    let question = Question::UserName(u32::MAX - 7);
    assert_eq!(machine.post(&question), Err(Gap::Pending));
    let plan = TickPlan {
        not_before_ns: now.mono_ns + HOUR_NS,
        early_when_answered: true,
        ..TickPlan::default()
    };
    let tick = machine.begin_tick(&plan).unwrap();
    assert_eq!(tick.number, 2);
    let answer = machine.post(&question).unwrap();
    assert_eq!(answer.value, Reply::text(&(u32::MAX - 7).to_string()));
    assert!(answer.at.mono_ns <= tick.now.mono_ns);
}

#[test]
fn a_wake_before_the_wait_is_not_lost() {
    let mut machine = LiveMachine::new(Options::default());
    machine.waker().wake();
    let plan = TickPlan {
        not_before_ns: clock::monotonic_ns() + HOUR_NS,
        ..TickPlan::default()
    };
    machine.begin_tick(&plan).unwrap();
}

#[test]
fn facts_tell_where_the_answers_come_from() {
    let live = LiveMachine::new(Options::default());
    assert_eq!(live.facts().origin.kind, OriginKind::Live);
    assert_eq!(live.facts().nvml_names.len(), NAMES.len());
    assert!(live.facts().clock_ticks > 0);
    let directory = LiveMachine::new(Options {
        root: Some("/nowhere".into()),
        ..Options::default()
    });
    assert_eq!(directory.facts().origin.kind, OriginKind::Directory);
}

#[test]
fn servers_of_a_directory_are_not_asked() {
    let mut machine = LiveMachine::new(Options {
        root: Some("/nowhere".into()),
        ..Options::default()
    });
    let question = Question::Http {
        who: ProcessRef {
            pid: 1,
            start_ticks: 1,
        },
        port: 80,
        endpoint: Endpoint::LlamaProps,
    };
    assert_eq!(machine.post(&question), Err(Gap::NotApplicable));
}

#[test]
fn the_machine_and_its_waker_can_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<LiveMachine>();
    is_send::<Waker>();
}
