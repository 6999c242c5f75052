//! A recording that cannot be read is refused with code 1 and says where; one that was cut off is shown.

use std::path::PathBuf;

use fake_nvml::{Generation, Scenario};
use raw::capture::limits;

use crate::support::{Folder, Program, Ran, captures, driver};

/// A capture of an idle card, refreshed so often.
fn capture(folder: &Folder, refreshes: u32) -> PathBuf {
    let idle = driver(Generation::R580, &Scenario::idle());
    let file = folder.at("whole.ndjson");
    Program::line("record -i 0.25 --redact none")
        .args_of(&file, refreshes)
        .driver(&idle)
        .run()
        .ended(0);
    file
}

trait ArgsOf {
    fn args_of(self, file: &std::path::Path, refreshes: u32) -> Self;
}

impl ArgsOf for Program {
    fn args_of(self, file: &std::path::Path, refreshes: u32) -> Self {
        self.arg("--count")
            .arg(refreshes.to_string())
            .arg("-o")
            .arg(file)
    }
}

/// All ways to show a recording without a terminal.
fn replays(file: &std::path::Path) -> [Ran; 4] {
    ["--json", "--once", "--once --json", ""]
        .map(|mode| Program::line(mode).arg("replay").arg(file).run())
}

#[track_caller]
fn refused(folder: &Folder, content: &[u8], words: &[&str]) {
    let file = folder.write("damaged.ndjson", content);
    for ran in replays(&file) {
        ran.refused(1, words);
    }
}

#[test]
fn what_is_no_file_of_ours_is_refused() {
    let folder = Folder::new();
    for ran in replays(&folder.at("missing.ndjson")) {
        ran.refused(1, &["missing.ndjson", "No such file"]);
    }
    for ran in replays(folder.path()) {
        ran.refused(1, &["no regular file"]);
    }
    refused(&folder, b"", &["empty"]);
    refused(&folder, b"\n\n\n", &["no capture"]);
    refused(&folder, b"{}\n", &["no capture"]);
    refused(&folder, b"[1, 2]\n", &["no capture"]);
    refused(
        &folder,
        b"{\"format\": \"something.else/1\"}\n",
        &["no capture"],
    );
    refused(
        &folder,
        b"{\"format\": \"gputaskman.capture/1\"}\n",
        &["no capture"],
    );
    refused(&folder, &captures::compressed(b""), &["empty"]);
    refused(&folder, &captures::compressed(b"{}\n"), &["no capture"]);
    let program = std::fs::read(crate::support::program::BINARY).unwrap();
    refused(&folder, &program[..1 << 20], &["no capture"]);
}

#[test]
fn a_fifo_is_refused_and_not_waited_for() {
    let folder = Folder::new();
    let fifo = folder.at("fifo.ndjson");
    let made = std::process::Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .unwrap();
    assert!(made.success());
    for ran in replays(&fifo) {
        ran.refused(1, &["no regular file"]);
    }
}

#[test]
fn another_version_of_the_format_is_refused_by_name() {
    let folder = Folder::new();
    let text = captures::text(&capture(&folder, 1));
    let newer = text.replacen("gputaskman.capture/1", "gputaskman.capture/2", 1);
    refused(&folder, newer.as_bytes(), &["gputaskman.capture/2"]);
}

#[test]
fn a_broken_line_is_named() {
    let folder = Folder::new();
    let text = captures::text(&capture(&folder, 2));
    let lines: Vec<&str> = text.lines().collect();
    let middle = lines.len() / 2;
    for broken in [
        "{\"t\":",
        "not JSON at all",
        "{\"t\":1,\"s\":\"nvml\",\"q\":\"sweep\"}",
        "{\"t\":1,\"s\":\"nvml\",\"q\":\"sweep\",\"gap\":\"no_such_gap\"}",
        "{\"t\":77,\"s\":\"nvml\",\"q\":\"sweep\",\"gap\":\"pending\"}",
        "{\"t\":0,\"now\":[1,1]}",
        "{\"t\":1,\"s\":\"inline\",\"q\":\"stat 1\",\"at\":[1,1],\"a\":{\"reply\":{\"bytes\":7}}}",
        "[]",
        "\u{fffd}\u{0}",
    ] {
        let mut lines = lines.clone();
        lines.insert(middle, broken);
        let damaged = lines.join("\n") + "\n";
        let line = format!("line {}", middle + 1);
        refused(&folder, damaged.as_bytes(), &[&line]);
        refused(&folder, &captures::compressed(damaged.as_bytes()), &[&line]);
    }
}

#[test]
fn a_capture_without_a_refresh_is_refused() {
    let folder = Folder::new();
    let text = captures::text(&capture(&folder, 1));
    let manifest = text.lines().next().unwrap().to_owned() + "\n";
    refused(&folder, manifest.as_bytes(), &["no refresh"]);
}

#[test]
fn a_line_longer_than_any_recording_has_is_refused_even_where_it_is_compressed_away() {
    let folder = Folder::new();
    let text = captures::text(&capture(&folder, 1));
    let lines = text.lines().count();
    let mut bomb = text.into_bytes();
    bomb.resize(bomb.len() + 2 * limits::MAX_LINE_BYTES, b' ');
    bomb.push(b'\n');
    let packed = captures::compressed(&bomb);
    assert!(packed.len() < 100_000);
    let line = format!("line {}", lines + 1);
    refused(&folder, &packed, &[&line, "limit"]);

    // The first line is bounded too.
    let packed = captures::compressed(&vec![b'{'; 2 * limits::MAX_LINE_BYTES]);
    refused(&folder, &packed, &["line 1", "limit"]);
}

#[test]
fn a_recording_that_was_cut_off_shows_what_is_complete() {
    let folder = Folder::new();
    let whole = capture(&folder, 3);
    let all = Program::line("--json replay").arg(&whole).run();
    let all = all.ended(0).lines();
    let text = captures::text(&whole);
    let last_refresh = text.rfind("\"now\"").unwrap();
    // In the middle of a line of the last refresh.
    let end = last_refresh + (text.len() - last_refresh) / 2;
    let cut = text[..end].trim_end();
    let cut = &cut[..cut.len() - 3];
    let file = folder.write("cut.ndjson", cut);
    let ran = Program::line("--json replay").arg(&file).run();
    let shown = ran.ended(0).lines();
    assert!(
        shown.len() >= all.len() - 1,
        "{} of {}",
        shown.len(),
        all.len()
    );
    assert_eq!(shown[..all.len() - 1], all[..all.len() - 1]);
    assert!(ran.stderr.contains("complete"), "{}", ran.stderr);
    let once = Program::line("--once replay").arg(&file).run();
    assert!(once.ended(0).text().contains("NVIDIA GeForce RTX 4080"));
    assert!(once.stderr.contains("complete"), "{}", once.stderr);

    // Compressed, it ends inside a block.
    let packed = captures::compressed(text.as_bytes());
    let file = folder.write("cut.ndjson.gz", &packed[..packed.len() - 20]);
    let ran = Program::line("--json replay").arg(&file).run();
    assert_ne!(ran.ended(0).lines().len(), 0);
    assert!(ran.stderr.contains("complete"), "{}", ran.stderr);
}

#[test]
fn cut_off_at_any_byte_it_is_shown_or_refused() {
    let folder = Folder::new();
    let text = captures::text(&capture(&folder, 1));
    for tenth in 0..20 {
        let end = text.len() * tenth / 20;
        let file = folder.write("cut.ndjson", &text[..end]);
        let ran = Program::line("--once replay").arg(&file).run();
        match ran.code {
            Some(1) => ran.refused(1, &["error"]),
            // The driver's answers may be behind the cut.
            Some(0 | 3) => assert_ne!(ran.text(), ""),
            other => panic!("{other:?} at byte {end}: {}", ran.stderr),
        }
    }
}

#[test]
fn an_existing_file_is_not_recorded_onto() {
    let folder = Folder::new();
    let idle = driver(Generation::R580, &Scenario::idle());
    for name in ["mine.ndjson", "mine.ndjson.gz"] {
        let file = folder.write(name, "what was here before");
        Program::line("record --json")
            .args_of(&file, 1)
            .driver(&idle)
            .run()
            .refused(1, &[name, "exists", "never overwritten"]);
        assert_eq!(std::fs::read(&file).unwrap(), b"what was here before");
    }
    Program::line("record --json")
        .args_of(&folder.at("no/such/folder/x.ndjson"), 1)
        .driver(&idle)
        .run()
        .refused(1, &["x.ndjson", "No such file"]);
}
