//! Ends of logs below directories: what is read of them, what is not, and where links lead.

use model::Gap;
use raw::apps::MAX_SETTINGS_BYTES;
use raw::logs::{LOG_TAIL_BYTES, LogExcerpt};
use raw::{AppPart, FileMeta, JournalUnit, ProcessRef, Question, Reply};

use crate::linux::tests::Tree;

const WHO: ProcessRef = ProcessRef {
    pid: 7,
    start_ticks: 99,
};

const LINE: &str = "load_tensors: CPU model buffer size = 1.00 MiB\n";

/// A process of the user that runs the test, whose home is `/home/mona`.
fn tree() -> Tree {
    let tree = Tree::new();
    let uid = rustix::process::geteuid().as_raw();
    tree.process(7, 99)
        .file(
            "proc/7/status",
            format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n"),
        )
        .file(
            "etc/passwd",
            format!("mona:x:{uid}:1::/home/mona:/bin/sh\n"),
        );
    tree
}

fn excerpt(tree: &Tree, path: &str, known: Option<FileMeta>) -> Result<LogExcerpt, Gap> {
    let question = Question::Log {
        who: WHO,
        path: path.into(),
        known,
    };
    match tree.posted(&question)? {
        Reply::Log(excerpt) => Ok(excerpt),
        other => panic!("{other:?}"),
    }
}

fn app(tree: &Tree, part: AppPart) -> Result<Reply, Gap> {
    tree.posted(&Question::App {
        who: WHO,
        app: "Handy".into(),
        part,
    })
}

#[test]
fn of_a_long_log_the_end_is_read_from_the_start_of_a_line() {
    let tree = tree();
    let short = excerpt(tree.file("l/a.log", LINE.repeat(3)), "/l/a.log", None).unwrap();
    assert_eq!((short.lines.len(), short.cut), (3, false));
    // The tail begins within the first of these lines.
    let bytes = usize::try_from(LOG_TAIL_BYTES).unwrap();
    let long = format!("{LINE}{LINE}{}\n{LINE}", "x".repeat(bytes - LINE.len() * 2));
    let long = excerpt(tree.file("l/b.log", long), "/l/b.log", None).unwrap();
    assert_eq!((long.lines.len(), long.cut), (1, true));
}

#[test]
fn a_line_that_is_still_being_written_is_none_yet() {
    let tree = tree();
    tree.file(
        "l/a.log",
        format!("{LINE}load_tensors: CPU model buffer size = 12"),
    );
    assert_eq!(excerpt(&tree, "/l/a.log", None).unwrap().lines.len(), 1);
    tree.file("l/a.log", "load_tensors: CPU model buffer size = 12.00 MiB");
    assert_eq!(excerpt(&tree, "/l/a.log", None).unwrap().lines.len(), 0);
}

#[test]
fn an_unchanged_log_is_not_read_again() {
    let tree = tree();
    tree.file("l/a.log", LINE);
    let first = excerpt(&tree, "/l/a.log", None).unwrap();
    let second = excerpt(&tree, "/l/a.log", first.file).unwrap();
    assert!(second.unchanged && second.lines.is_empty());
    tree.file("l/a.log", LINE.repeat(2));
    let third = excerpt(&tree, "/l/a.log", first.file).unwrap();
    assert_eq!((third.lines.len(), third.unchanged), (2, false));
}

#[test]
fn what_is_no_regular_file_is_no_log() {
    let tree = tree();
    tree.fifo("l/pipe.log").folder("l/folder.log");
    for (path, gap) in [
        ("/l/pipe.log", Gap::NotRegular),
        ("/l/folder.log", Gap::NotRegular),
        ("/l/none.log", Gap::NotPresent),
        ("l/a.log", Gap::NotPresent),
    ] {
        assert_eq!(excerpt(&tree, path, None), Err(gap), "{path}");
    }
}

#[test]
fn below_a_home_no_link_is_followed() {
    let tree = tree();
    tree.file("etc/others.log", LINE)
        .file("home/mona/a.log", LINE)
        .link("home/mona/b.log", "/etc/others.log")
        .link("home/mona/folder", "/etc");
    assert_eq!(excerpt(&tree, "~/a.log", None).unwrap().lines.len(), 1);
    for path in ["~/b.log", "~/folder/others.log", "~/../../etc/others.log"] {
        assert!(excerpt(&tree, path, None).is_err(), "{path}");
    }
}

#[test]
fn of_an_application_the_parts_of_its_adapter_are_read() {
    let tree = tree();
    let place = "home/mona/.local/share/com.pais.handy";
    assert_eq!(app(&tree, AppPart::Setting), Err(Gap::NotPresent));
    tree.file(
        &format!("{place}/settings_store.json"),
        r#"{"settings":{"selected_model":"medium","secret":"x"}}"#,
    )
    .file(
        &format!("{place}/logs/handy.log"),
        "[2026-07-02][08:15:09][x] Transcription result: secret words\n\
         [2026-07-02][08:20:11][x] Model unloaded manually (took 75ms)\n",
    );
    for name in ["b.bin", "a.GGUF", "c.txt", "d"] {
        tree.file(&format!("{place}/models/{name}"), "");
    }
    assert_eq!(app(&tree, AppPart::Setting), Ok(Reply::text("medium")));
    let names = Reply::Names(vec!["a.GGUF".into(), "b.bin".into()]);
    assert_eq!(app(&tree, AppPart::Installed), Ok(names));
    let Ok(Reply::Log(log)) = app(&tree, AppPart::Log(None)) else {
        panic!("no log");
    };
    assert_eq!(log.lines.len(), 1);
    assert!(!format!("{log:?}").contains("secret"));
    let unknown = Question::App {
        who: WHO,
        app: "Unknown".into(),
        part: AppPart::Setting,
    };
    assert_eq!(tree.posted(&unknown), Err(Gap::NotApplicable));
    let bytes = usize::try_from(MAX_SETTINGS_BYTES).unwrap();
    tree.file(
        &format!("{place}/settings_store.json"),
        vec![b' '; bytes + 1],
    );
    assert_eq!(app(&tree, AppPart::Setting), Err(Gap::OverBound));
}

#[test]
fn this_machines_journal_tells_nothing_of_a_directory() {
    let question = Question::Journal {
        unit: JournalUnit::Ollama,
        since_s: 0,
    };
    assert_eq!(tree().posted(&question), Err(Gap::NotApplicable));
}
