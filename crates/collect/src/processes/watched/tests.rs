use std::collections::BTreeMap;

use raw::{Script, Synthetic};

use super::*;

/// One process whose virtual size is set from outside; counts what is posted.
struct Counting {
    now: Stamp,
    virtual_size: u64,
    posted: BTreeMap<&'static str, u32>,
}

impl Script for Counting {
    fn now(&self) -> Stamp {
        self.now
    }
    fn inline(&mut self, question: &Inline) -> Result<Reply, Gap> {
        let text = match question {
            Inline::Stat(pid) => format!(
                "{pid} (worker) S 1 1 1 0 -1 {}5000 {} 1 0\n",
                "0 ".repeat(13),
                self.virtual_size
            ),
            _ => String::new(),
        };
        Ok(Reply::text(&text))
    }
    fn post(&mut self, question: &Question) -> Result<Reply, Gap> {
        let kind = match question {
            Question::Maps(_) => "maps",
            Question::OpenFiles(_) => "open files",
            _ => "others",
        };
        *self.posted.entry(kind).or_default() += 1;
        Ok(Reply::text(""))
    }
}

/// How often maps and open files are read in two minutes of refreshes, one a second, of a process of this size.
fn read_in_two_minutes(virtual_size: impl Fn(u64) -> u64) -> [u32; 2] {
    let mut machine = Synthetic::new(Counting {
        now: Stamp {
            mono_ns: 0,
            wall_us: 0,
        },
        virtual_size: 0,
        posted: BTreeMap::new(),
    });
    let mut processes = Processes::default();
    for second in 0..120 {
        let now = Stamp {
            mono_ns: (second + 1) * 1_000_000_000,
            wall_us: 0,
        };
        (machine.now, machine.virtual_size) = (now, virtual_size(second));
        let key = processes.identify(&mut machine, 7, now, |_| None).unwrap();
        processes.refresh(&mut machine, &[key], now);
    }
    ["maps", "open files"].map(|kind| machine.posted[kind])
}

#[test]
fn files_of_a_process_that_does_not_change_are_read_once_a_minute() {
    assert_eq!(read_in_two_minutes(|_| 4096), [2, 2]);
}

#[test]
fn files_of_a_process_that_grows_are_read_every_quarter_of_a_minute() {
    assert_eq!(read_in_two_minutes(|second| 4096 * second), [8, 8]);
}

#[test]
fn after_a_change_files_are_read_as_soon_as_the_quarter_of_a_minute_is_over() {
    // It maps something in the twentieth second: 15 s after the first read are over.
    let once = |second| if second < 20 { 4096 } else { 8192 };
    assert_eq!(read_in_two_minutes(once)[0], 3);
}
