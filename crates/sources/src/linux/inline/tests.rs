//! Kept `stat` files: what they answer, how many there are, and that answers are the same without them.
#![expect(
    clippy::disallowed_methods,
    reason = "starts and ends processes whose files are read, and builds a directory"
)]

use std::process::{Child, Command, Stdio};

use super::super::subject::start_ticks;
use super::*;

fn live() -> InlineReads {
    InlineReads::new(Arc::new(Place::new(None)))
}

/// A process that does nothing until it is ended.
fn process() -> Child {
    Command::new("/bin/cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// Number and start time in an answer.
fn identity(answer: &Answer<Reply>) -> (u32, u64) {
    match answer {
        Ok(Stamped {
            value: Reply::Bytes(stat),
            ..
        }) => {
            let text = String::from_utf8_lossy(stat);
            let pid = text.split(' ').next().unwrap().parse().unwrap();
            (pid, start_ticks(stat).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

fn kept_pids(reads: &InlineReads) -> Vec<u32> {
    let mut pids: Vec<u32> = reads.stats.keys().copied().collect();
    pids.sort_unstable();
    pids
}

#[test]
fn a_kept_file_of_a_process_that_ended_says_so_and_is_let_go() {
    let child = process();
    let pid = child.id();
    let mut reads = live();
    let first = identity(&reads.read(&Inline::Stat(pid)));
    assert_eq!(first, identity(&reads.read(&Inline::Stat(pid))));
    assert_eq!(kept_pids(&reads), [pid]);
    end(child);
    assert_eq!(reads.read(&Inline::Stat(pid)), Err(Gap::Exited));
    assert_eq!(kept_pids(&reads), [0; 0]);
}

#[test]
fn a_number_that_was_given_to_another_process_is_answered_about_that_one() {
    let mut reads = live();
    let ended = process();
    let number = ended.id();
    assert!(reads.read(&Inline::Stat(number)).is_ok());
    end(ended);
    // The kept file is that of the process which has ended; its number is another's now.
    let other = process();
    let kept = reads.stats.remove(&number).unwrap();
    reads.stats.insert(other.id(), kept);
    let (pid, start) = identity(&reads.read(&Inline::Stat(other.id())));
    assert_eq!(pid, other.id());
    assert_eq!(identity(&live().read(&Inline::Stat(pid))), (pid, start));
    // From here on the kept file is the other's.
    assert_eq!(identity(&reads.read(&Inline::Stat(pid))), (pid, start));
    assert_eq!(kept_pids(&reads), [pid]);
    end(other);
}

#[test]
fn no_more_files_are_kept_than_the_bound_and_answers_are_the_same_beyond_it() {
    let child = process();
    let me = std::process::id();
    let mut reads = live();
    let file = || File::open("/proc/self/stat").unwrap();
    // Numbers that are none, so that the room is taken.
    for number in (0..=u32::MAX).rev().take(KEPT_FILES) {
        let (file, tick) = (file(), reads.tick);
        reads.stats.insert(number, Kept { file, tick });
    }
    for _ in 0..2 {
        for pid in [me, child.id()] {
            let answer = reads.read(&Inline::Stat(pid));
            assert_eq!(
                identity(&answer),
                identity(&live().read(&Inline::Stat(pid)))
            );
        }
        assert_eq!(reads.stats.len(), KEPT_FILES);
    }
    let pid = child.id();
    end(child);
    assert_eq!(reads.read(&Inline::Stat(pid)), Err(Gap::Exited));
}

#[test]
fn a_file_that_is_not_asked_for_is_let_go_after_a_few_refreshes() {
    let me = std::process::id();
    let child = process();
    let mut reads = live();
    assert!(reads.read(&Inline::Stat(child.id())).is_ok());
    for _ in 0..KEPT_TICKS {
        reads.begin_tick();
        assert!(reads.read(&Inline::Stat(me)).is_ok());
        assert!(reads.stats.contains_key(&child.id()));
    }
    reads.begin_tick();
    assert_eq!(kept_pids(&reads), [me]);
    assert!(reads.read(&Inline::Stat(child.id())).is_ok());
    end(child);
}

#[test]
fn below_a_directory_no_file_is_kept_and_a_replaced_one_is_read_anew() {
    let root = std::env::temp_dir().join(format!("gputaskman-kept-{}", std::process::id()));
    let folder = root.join("proc/7");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |start: u64| {
        let zeros = "0 ".repeat(18);
        let beside = folder.join("new");
        std::fs::write(&beside, format!("7 (x) S {zeros}{start} 0\n")).unwrap();
        std::fs::rename(beside, folder.join("stat")).unwrap();
    };
    let mut reads = InlineReads::new(Arc::new(Place::new(Some(root.clone()))));
    for start in [99, 100] {
        write(start);
        assert_eq!(identity(&reads.read(&Inline::Stat(7))), (7, start));
    }
    assert!(reads.stats.is_empty());
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!(reads.read(&Inline::Stat(7)), Err(Gap::Exited));
}
