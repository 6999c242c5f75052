//! Sweeps of directories that stand for machines, and of this very process.
#![expect(
    clippy::disallowed_methods,
    reason = "builds the directories that are read"
)]

use std::collections::BTreeSet;
use std::fs;
use std::mem::MaybeUninit;
use std::sync::Arc;

use model::Gap;
use raw::drm::{DeviceReads, DrmHolder, DrmPlan, DrmSearch, DrmSweep, SearchPlan};
use raw::{Reply, Stamped};
use rustix::fs::inotify;

use super::super::place::Place;
use super::super::tests::Tree;
use super::DrmDriver;
use super::search::Search;
use crate::worker::{Driver as _, Progress};

const CARD: &str = "sys/class/drm/card1/device";

/// What a driver says of a client.
fn said(client: u32) -> String {
    format!(
        "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t{client}\ndrm-client-name:\tmona\nx-mona:\t1\n"
    )
}

impl Tree {
    fn holds(&self, pid: u32, fd: u32, link: &str, text: &str) -> &Self {
        self.link(&format!("proc/{pid}/fd/{fd}"), link)
            .file(&format!("proc/{pid}/fdinfo/{fd}"), text)
    }

    fn driver(&self) -> DrmDriver {
        DrmDriver::new(Arc::new(Place::new(Some(self.0.clone()))))
    }
}

/// One amdgpu device, `card1` and `renderD128`, in slot 3.
fn reads() -> DeviceReads {
    DeviceReads {
        slot: 3,
        status: format!("/{CARD}/power/runtime_status").into(),
        always: vec![format!("/{CARD}/mem_info_vram_used").into()],
        awake: vec![format!("/{CARD}/gpu_busy_percent").into()],
        minors: vec![1, 128],
        fdinfo_wakes: false,
    }
}

fn plan(device: DeviceReads) -> DrmPlan {
    DrmPlan {
        devices: vec![device],
        search: Some(SearchPlan { budget_ns: None }),
    }
}

fn sweep(driver: &mut DrmDriver, plan: &DrmPlan) -> DrmSweep {
    let progress = Progress::new();
    driver.sweep(plan, &BTreeSet::new(), &progress).unwrap()
}

fn search(driver: &mut DrmDriver, plan: &DrmPlan) -> DrmSearch {
    sweep(driver, plan).search.unwrap()
}

fn texts(holder: &DrmHolder) -> Vec<(u32, u32, Result<String, Gap>)> {
    holder
        .descriptors
        .iter()
        .map(|it| {
            let text = it
                .text
                .clone()
                .map(|text| String::from_utf8_lossy(&text.value).into_owned());
            (it.fd, it.minor, text)
        })
        .collect()
}

#[test]
fn nodes_are_found_with_what_is_known_of_what_the_driver_says() {
    let tree = Tree::new();
    tree.process(7, 99)
        .holds(7, 0, "/dev/null", "pos:\t0\n")
        .holds(7, 5, "/dev/dri/renderD128", &said(10))
        .holds(7, 6, "/dev/dri/card1 (deleted)", "pos:\t0\n")
        .holds(7, 8, "/dev/kfd", "")
        .holds(7, 9, "/dev/accel/accel0", &said(11))
        .holds(7, 10, "/home/mona/dev/dri/renderD128", &said(12))
        .process(8, 99)
        .holds(8, 3, "/dev/null", "pos:\t0\n");
    let found = search(&mut tree.driver(), &plan(reads()));
    assert_eq!(found.holders.len(), 1);
    let holder = &found.holders[0];
    assert_eq!(
        (holder.pid, holder.start_ticks, holder.has_kfd),
        (7, Some(99), true)
    );
    let known = "drm-driver:\tamdgpu\ndrm-client-id:\t10\n".to_owned();
    let expected = [(5, 128, Ok(known)), (6, 1, Ok(String::new()))];
    assert_eq!(texts(holder), expected);
    assert_eq!(&*holder.name, "a ) (b");
    assert!(holder.descriptors[1].is_deleted);
    assert!(found.complete.is_some() && found.unreadable.is_empty());
}

#[test]
fn a_process_that_lives_and_whose_descriptors_cannot_be_listed_is_counted() {
    let tree = Tree::new();
    // One without the folder, one whose folder is none, and a file that is no process.
    tree.process(7, 99)
        .process(8, 99)
        .file("proc/8/fd", "")
        .file("proc/9", "")
        .process(10, 99)
        .holds(10, 3, "/dev/null", "pos:\t0\n");
    let found = search(&mut tree.driver(), &plan(reads()));
    assert_eq!(found.unreadable, [7, 8]);
    assert!(found.complete.is_some());
}

#[test]
fn a_process_whose_stat_says_nothing_holds_what_it_holds() {
    let tree = Tree::new();
    tree.process(7, 99)
        .holds(7, 5, "/dev/dri/renderD128", &said(10))
        .process(8, 99)
        .holds(8, 5, "/dev/dri/renderD128", &said(10))
        .file("proc/8/stat", "garbage\n")
        .holds(9, 5, "/dev/dri/renderD128", &said(11));
    let mut driver = tree.driver();
    for _ in 0..2 {
        let found = search(&mut driver, &plan(reads()));
        let holders: Vec<_> = found
            .holders
            .iter()
            .map(|it| (it.pid, it.start_ticks, texts(it).len()))
            .collect();
        assert_eq!(holders, [(7, Some(99), 1), (8, None, 1), (9, None, 1)]);
        assert!(found.unreadable.is_empty());
    }
    fs::remove_dir_all(tree.path().join("proc/9")).unwrap();
    let found = search(&mut driver, &plan(reads()));
    assert_eq!(found.holders.len(), 2, "it has ended");
}

#[test]
fn an_unreadable_text_is_a_gap_and_the_rest_is_read() {
    let tree = Tree::new();
    tree.process(7, 99)
        .holds(7, 5, "/dev/dri/renderD128", &said(10))
        .link("proc/7/fd/6", "/dev/dri/renderD128");
    let found = search(&mut tree.driver(), &plan(reads()));
    let texts = texts(&found.holders[0]);
    assert!(texts[0].2.is_ok());
    assert_eq!(texts[1], (6, 128, Err(Gap::NotPresent)));
}

#[test]
fn what_is_no_regular_file_is_told_as_such_and_not_waited_for() {
    let tree = Tree::new();
    tree.file(&format!("{CARD}/power/runtime_status"), "active\n")
        .process(7, 99)
        .holds(7, 5, "/dev/dri/renderD128", &said(10));
    let place = tree.path().join(format!("{CARD}/mem_info_vram_used"));
    let pipe = |path: &std::path::Path| {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
    };
    let text = tree.path().join("proc/7/fdinfo/5");
    fs::remove_file(&text).unwrap();
    pipe(&text);
    let look = || {
        let sweep = sweep(&mut tree.driver(), &plan(reads()));
        let file = sweep.devices[0].files[1].1.clone().map(|_| ());
        let holders = sweep.search.unwrap().holders;
        (file, holders[0].descriptors[0].text.clone().map(|_| ()))
    };
    pipe(&place);
    assert_eq!(look(), (Err(Gap::NotRegular), Err(Gap::NotRegular)));
    for path in [&place, &text] {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    }
    assert_eq!(look(), (Err(Gap::NotRegular), Err(Gap::NotRegular)));
    for path in [&place, &text] {
        fs::remove_dir(path).unwrap();
        std::os::unix::fs::symlink(path.file_name().unwrap(), path).unwrap();
    }
    assert_eq!(look(), (Err(Gap::NotRegular), Err(Gap::NotRegular)));
}

#[test]
fn files_are_read_and_a_missing_one_is_a_gap() {
    let tree = Tree::new();
    tree.file(&format!("{CARD}/power/runtime_status"), "active\n")
        .file(&format!("{CARD}/mem_info_vram_used"), "77\n");
    let mut asked = reads();
    asked.always.push("/sys/../etc/passwd".into());
    asked.always.push("/etc/passwd".into());
    let sweep = sweep(&mut tree.driver(), &plan(asked));
    let answers: Vec<Result<Reply, Gap>> = sweep.devices[0]
        .files
        .iter()
        .map(|(_, answer)| answer.clone().map(|Stamped { value, .. }| value))
        .collect();
    let expected = [
        Ok(Reply::text("active\n")),
        Ok(Reply::text("77\n")),
        Err(Gap::NotPresent),
        Err(Gap::NotPresent),
        Err(Gap::NotPresent),
    ];
    assert_eq!(answers, expected);
}

#[test]
fn a_search_over_its_budget_goes_on_where_it_stopped() {
    let tree = Tree::new();
    for pid in 1..=6 {
        tree.process(pid, 1)
            .holds(pid, 5, "/dev/dri/renderD128", &said(pid));
    }
    let place = Place::new(Some(tree.0.clone()));
    let mut search = Search::default();
    let mut found = Vec::new();
    for _ in 0..3 {
        let mut left = 2;
        search.step(&place, || {
            left -= 1;
            left > 0
        });
        found.push((search.holders.len(), search.complete.is_some()));
    }
    assert_eq!(found, [(2, false), (4, false), (6, true)]);
}

#[test]
fn a_process_that_starts_during_a_long_search_is_looked_at_in_it() {
    let tree = Tree::new();
    tree.process(1, 1).process(2, 1);
    tree.folder("proc/1/fd").folder("proc/2/fd");
    let place = Place::new(Some(tree.0.clone()));
    let mut search = Search::default();
    search.step(&place, || false);
    assert_eq!(search.complete, None);
    tree.process(9, 1)
        .holds(9, 5, "/dev/dri/renderD128", &said(1));
    search.step(&place, || true);
    assert!(search.complete.is_some());
    assert_eq!(search.holders.keys().collect::<Vec<_>>(), [&9]);
}

#[test]
fn processes_with_unchanged_lists_are_passed_over_most_times() {
    let tree = Tree::new();
    for pid in 1..=20 {
        tree.process(pid, 1).holds(pid, 5, "/dev/null", "");
    }
    let place = Place::new(Some(tree.0.clone()));
    let mut search = Search::default();
    search.step(&place, || true);
    assert_eq!(search.listed, 20);
    for _ in 0..5 {
        search.step(&place, || true);
    }
    // Every one of them once more within five searches.
    assert_eq!(search.listed, 40);
    tree.holds(3, 6, "/dev/dri/renderD128", &said(1));
    search.step(&place, || true);
    assert_eq!(
        search.holders.keys().collect::<Vec<_>>(),
        [&3],
        "its list has changed"
    );
}

#[test]
fn a_descriptor_that_became_another_file_is_looked_at_again() {
    let tree = Tree::new();
    tree.process(7, 99)
        .holds(7, 5, "/dev/dri/renderD128", &said(1))
        .holds(7, 6, "/dev/dri/renderD128", &said(2));
    let mut driver = tree.driver();
    assert_eq!(
        search(&mut driver, &plan(reads())).holders[0]
            .descriptors
            .len(),
        2
    );
    fs::remove_file(tree.0.join("proc/7/fd/6")).unwrap();
    let found = search(&mut driver, &plan(reads()));
    assert_eq!(found.holders[0].descriptors.len(), 1);
    fs::remove_dir_all(tree.0.join("proc/7")).unwrap();
    assert!(search(&mut driver, &plan(reads())).holders.is_empty());
}

#[test]
fn a_device_that_hangs_is_not_touched_again() {
    let tree = Tree::new();
    tree.file(&format!("{CARD}/power/runtime_status"), "active\n")
        .file(&format!("{CARD}/mem_info_vram_used"), "77\n")
        .process(7, 99)
        .holds(7, 5, "/dev/dri/renderD128", &said(10));
    let progress = Progress::new();
    let hangs = BTreeSet::from([3]);
    let sweep = tree
        .driver()
        .sweep(&plan(reads()), &hangs, &progress)
        .unwrap();
    let files = &sweep.devices[0].files;
    assert!(files[0].1.is_ok(), "the power state is the kernel's");
    assert_eq!(files[1].1, Err(Gap::TimedOut));
    let holders = sweep.search.unwrap().holders;
    assert_eq!(texts(&holders[0]), [(5, 128, Err(Gap::TimedOut))]);
}

/// Files that are opened while `read` runs.
fn opened(files: &[std::path::PathBuf], read: impl FnOnce()) -> usize {
    let watch =
        inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
    for file in files {
        inotify::add_watch(&watch, file, inotify::WatchFlags::OPEN).unwrap();
    }
    read();
    let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
    let mut events = inotify::Reader::new(watch, &mut buffer);
    let mut count = 0;
    while events.next().is_ok() {
        count += 1;
    }
    count
}

#[test]
fn nothing_that_would_wake_a_sleeping_device_is_opened() {
    let tree = Tree::new();
    let status = format!("{CARD}/power/runtime_status");
    let busy = format!("{CARD}/gpu_busy_percent");
    tree.file(&busy, "5\n")
        .file(&format!("{CARD}/mem_info_vram_used"), "77\n")
        .file("dev/dri/renderD128", "")
        .process(7, 99)
        .holds(7, 5, "/dev/dri/renderD128", &said(10));
    let guarded = [&busy, "dev/dri/renderD128", "proc/7/fdinfo/5"].map(|path| tree.0.join(path));
    let mut asked = reads();
    asked.fdinfo_wakes = true;
    let mut driver = tree.driver();
    for (state, expected) in [("suspended\n", 0), ("suspending\n", 0), ("active\n", 4)] {
        tree.file(&status, state);
        let count = opened(&guarded, || {
            let sweep = sweep(&mut driver, &plan(asked.clone()));
            let expected = if expected == 0 {
                Some(Gap::Asleep)
            } else {
                None
            };
            let files = &sweep.devices[0].files;
            assert_eq!(files[2].1.clone().err(), expected, "{state}");
            assert!(files[1].1.is_ok());
            let holders = sweep.search.unwrap().holders;
            assert_eq!(holders[0].descriptors[0].text.clone().err(), expected);
        });
        // Two files, each looked for and then opened for reading; the node itself never.
        assert!(
            count <= expected && (expected == 0) == (count == 0),
            "{state}: {count}"
        );
        let node = opened(&guarded[1..2], || {
            sweep(&mut driver, &plan(asked.clone()));
        });
        assert_eq!(node, 0);
    }
}

#[test]
fn this_machine_is_searched_without_an_error() {
    let mut driver = DrmDriver::new(Arc::new(Place::new(None)));
    let found = search(&mut driver, &plan(DeviceReads::default()));
    assert!(found.complete.is_some());
}

#[test]
fn parent_and_whether_a_program_was_executed_are_told_of_a_holder() {
    let tree = Tree::new();
    let zeros = "0 ".repeat(11);
    for (pid, flags) in [(7, 0x40_0000), (8, 0x40_0040)] {
        let stat = format!("{pid} (a) b) S 3 {pid} {pid} 0 -1 {flags} {zeros}0 99 1 1 0\n");
        tree.file(&format!("proc/{pid}/stat"), stat).holds(
            pid,
            5,
            "/dev/dri/renderD128",
            &said(10),
        );
    }
    let found = search(&mut tree.driver(), &plan(reads()));
    let told: Vec<_> = found
        .holders
        .iter()
        .map(|it| (it.pid, it.parent, it.has_only_forked))
        .collect();
    assert_eq!(told, [(7, Some(3), false), (8, Some(3), true)]);
}
