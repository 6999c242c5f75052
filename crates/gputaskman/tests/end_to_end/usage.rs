//! What is typed wrong is refused with code 2 and a sentence, before anything is printed.

use std::process::Stdio;

use fake_nvml::{Generation, Scenario};

use crate::support::{Folder, Program, captures, driver};

#[test]
fn a_gpu_number_out_of_range_names_the_range() {
    let idle = driver(Generation::R580, &Scenario::idle());
    for line in [
        "--gpu 7 --once",
        "--gpu 7 --json",
        "--gpu 7 --list-gpus",
        "--gpu 7",
        "--gpu 1 --json",
    ] {
        Program::line(line)
            .driver(&idle)
            .run()
            .refused(2, &["only GPU 0", "--list-gpus"]);
    }
    let servers = driver(Generation::R580, &Scenario::servers());
    Program::line("--gpu 8 --json")
        .driver(&servers)
        .run()
        .refused(2, &["GPUs 0 to 7"]);
    Program::line("--gpu 4294967295 --json")
        .driver(&servers)
        .run()
        .refused(2, &["GPUs 0 to 7"]);
}

#[test]
fn a_recording_with_a_gpu_number_out_of_range_is_refused_and_leaves_no_file() {
    let idle = driver(Generation::R580, &Scenario::idle());
    let folder = Folder::new();
    let file = folder.at("capture.ndjson");
    Program::line("record --count 1 --gpu 7 --json -o")
        .arg(&file)
        .driver(&idle)
        .run()
        .refused(2, &["only GPU 0"]);
    assert!(!file.exists(), "a refused recording leaves its file");
}

#[test]
fn what_is_no_number_no_option_and_no_interval_is_refused() {
    for (line, words) in [
        ("--gpu x", "all"),
        ("--gpu -1", "--gpu"),
        ("--gpu 1.5", "1.5"),
        ("--gpu=-1", "-1"),
        ("--no-such-option", "--no-such-option"),
        ("no-such-command", "no-such-command"),
        ("-i 0.1", "0.25"),
        ("-i 3601", "3600"),
        ("-i nan", "nan"),
        ("--gpu-layers many", "many"),
        ("record", "--output"),
        ("record -o x --redact some", "some"),
        ("replay", "FILE"),
        ("--once --list-gpus", "--once"),
        ("--root no/such/folder --once", "no/such/folder"),
    ] {
        Program::line(line).run().refused(2, &[words]);
    }
}

#[test]
fn a_gpu_number_out_of_range_is_refused_in_a_replay() {
    let idle = driver(Generation::R580, &Scenario::idle());
    let folder = Folder::new();
    let file = folder.at("capture.ndjson");
    Program::line("record --count 2 -o")
        .arg(&file)
        .driver(&idle)
        .run()
        .ended(0);
    for line in [
        "--gpu 3 --json",
        "--gpu 3 --once",
        "--gpu 3 --once --json",
        "--gpu 3",
    ] {
        Program::line(line)
            .arg("replay")
            .arg(&file)
            .run()
            .refused(2, &["only GPU 0"]);
    }
}

#[test]
fn every_spelling_of_an_interval_and_of_gpu_layers_is_taken() {
    let idle = driver(Generation::R580, &Scenario::idle());
    for line in [
        "-i 0.25 --once",
        "-i 500ms --once",
        "--interval=2 --once",
        "-ngl 20 --once",
        "-ngl=20 --once",
        "--gpu-layers 20 --once",
        "--gpu all --once",
        "--gpu 0 --once",
        "-1",
    ] {
        Program::line(line).driver(&idle).run().ended(0);
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    let help = Program::line("--help").run();
    for words in [
        "--once",
        "--json",
        "--list-gpus",
        "--gpu",
        "--interval",
        "record",
        "replay",
        "demo",
    ] {
        assert!(help.ended(0).text().contains(words), "{words}");
    }
    let version = Program::line("--version").run();
    assert!(version.ended(0).text().contains(env!("CARGO_PKG_VERSION")));
    assert_eq!((help.stderr.as_str(), version.stderr.as_str()), ("", ""));
}

#[test]
fn both_names_are_the_same_program() {
    let long = Program::line("--help").run();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_gtm"))
        .arg("--help")
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let short = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        short.replace("Usage: gtm", "Usage: gputaskman"),
        long.text()
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let servers = driver(Generation::R580, &Scenario::servers());
    for line in ["--json", "--once", "--list-gpus"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = Program::line(line)
            .driver(&servers)
            .stdout(Stdio::from(writer))
            .run_as_set();
        ran.ended(0);
        assert_eq!(ran.stderr, "", "{line}");
    }
}

#[test]
fn a_reader_that_takes_only_the_beginning_is_no_failure() {
    use std::io::Read as _;
    let servers = driver(Generation::R580, &Scenario::servers());
    let mut started = Program::line("--json").driver(&servers).start();
    let mut beginning = [0; 10];
    let mut output = started.child.stdout.take().unwrap();
    output.read_exact(&mut beginning).unwrap();
    drop(output);
    assert_eq!(beginning[0], b'{');
    let ran = started.finish();
    ran.ended(0);
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_recording_whose_reader_goes_away_is_whole() {
    use std::io::Read as _;
    let idle = driver(Generation::R580, &Scenario::idle());
    let folder = Folder::new();
    let file = folder.at("capture.ndjson.gz");
    let mut started = Program::line("record --json -i 0.25 -o")
        .arg(&file)
        .driver(&idle)
        .start();
    let mut output = started.child.stdout.take().unwrap();
    output.read_exact(&mut [0; 10]).unwrap();
    drop(output);
    started.finish().ended(0);
    assert!(!captures::load(&file).cut_off);
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    for (line, words) in [
        ("demo --once -i 5", "--interval"),
        ("demo --once --no-models", "--no-models"),
        ("demo --once --no-probe", "--no-probe"),
        ("demo --once --gpu-layers 5", "--gpu-layers"),
        ("demo --once --root /", "--root"),
        ("--list-gpus demo", "--list-gpus"),
        ("record -o x.ndjson --once", "--once"),
        ("record -o -", "standard output"),
        ("record -o x.ndjson --count 0", "--count"),
    ] {
        Program::line(line).run().refused(2, &[words]);
    }
}

#[test]
fn what_a_terminal_would_obey_is_not_said_back() {
    for arguments in [
        ["replay", "\u{1b}[31mx"],
        ["--gpu", "\u{1b}[31m"],
        ["--once", "\u{1b}[31mx"],
        ["record", "-o\u{1b}[31m/nowhere/x"],
    ] {
        let ran = Program::new(arguments).run();
        assert_ne!(ran.code, Some(0), "{arguments:?}");
        assert!(!ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
        assert_eq!(ran.text(), "");
    }
}

#[test]
fn text_is_ascii_where_that_is_asked_for_or_the_locale_promises_no_more() {
    let cases = [
        ("demo --once", "C.UTF-8", false),
        ("demo --once --ascii", "C.UTF-8", true),
        ("demo --once", "C", true),
        ("demo --once", "POSIX", true),
    ];
    for (line, locale, ascii) in cases {
        let ran = Program::line(line).env("LC_ALL", locale).run();
        assert_eq!(ran.ended(0).text().is_ascii(), ascii, "{line} {locale}");
    }
    let json = Program::line("demo --once --json").env("LC_ALL", "C").run();
    json.ended(0).json();
}

#[test]
fn several_gpus_are_listed_one_a_line_where_one_was_named_wrongly() {
    let servers = driver(Generation::R580, &Scenario::servers());
    let ran = Program::line("--gpu 8 --json").driver(&servers).run();
    ran.refused(2, &["valid are all and:", "\n  0 (", "\n  7 ("]);
    assert!(
        ran.stderr.lines().all(|line| line.len() < 100),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_recording_says_what_it_keeps() {
    let idle = driver(Generation::R580, &Scenario::idle());
    for (level, hidden) in [
        ("strict", "folders, users, hosts, files and models hidden"),
        ("paths", "folders, users and hosts hidden"),
    ] {
        let folder = Folder::new();
        let ran = Program::line("record --count 1 -o")
            .arg(folder.at("capture.ndjson"))
            .args(["--redact", level])
            .driver(&idle)
            .run();
        ran.ended(0);
        for words in [hidden, "processes and of the GPU kept"] {
            assert!(ran.stderr.contains(words), "{words} in {}", ran.stderr);
        }
    }
}
