//! Every key, the mouse and a burst of sizes, over a recording with hostile names, in a real terminal.

use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use rustix::process::Signal;

use crate::support::models::{self, LLAMA};
use crate::support::terminal::{Start, Terminal};
use crate::support::{Folder, Machine, Program, Task, driver};

/// Names as a process gives them itself: sequences that a terminal obeys, directions of writing, C1, wide and joined
/// characters. A byte that is no UTF-8 follows in the file.
const NAMES: [&str; 7] = [
    "ev\u{1b}[2Jil",
    "ti\u{1b}]0;owned\u{7}tle",
    "\u{202e}gnp.exe",
    "c1\u{9b}31mred",
    "漢字の名前漢字",
    "a\u{301}\u{301}\u{301}\u{200d}b",
    "tab\tline\u{b}",
];

/// A recording of a machine whose processes and models are called so.
fn recording(folder: &Folder) -> std::path::PathBuf {
    let machine = Machine::new();
    let mut card = Device::new("NVIDIA RTX A4000");
    for (pid, name) in (700..).zip(NAMES) {
        let file = format!("/models/{}.gguf", name.replace(['\t', '\u{b}'], " "));
        machine.file(&file, models::whole(LLAMA));
        let mut task = Task::llama_server(pid, &file, "-c 4096");
        task.name = name.to_owned();
        machine.add(&task);
        card = card.with_process(Process::new(pid, Kind::Compute, u64::from(pid) << 20));
    }
    let stat = machine.folder().at("proc/700/stat");
    let mut bytes = std::fs::read(&stat).unwrap();
    let at = bytes.iter().position(|byte| *byte == b'(').unwrap() + 1;
    bytes.splice(at..at, [0xff, 0xc3, 0x28]);
    std::fs::write(&stat, bytes).unwrap();
    let driver = driver(Generation::R580, &Scenario::default().with_device(card));
    let file = folder.at("hostile.ndjson");
    Program::line("record -i 0.25 --count 4 --redact none -o")
        .arg(&file)
        .driver(&driver)
        .root(machine.path())
        .run()
        .ended(0);
    file
}

/// What a terminal sends for a key as the help names it; empty for words between keys.
fn bytes(key: &str) -> Vec<String> {
    let one = |text: &str| vec![text.to_owned()];
    match key {
        "F1" => one("\u{1b}OP"),
        "F3" => one("\u{1b}OR"),
        "F4" => one("\u{1b}OS"),
        "F6" => one("\u{1b}[17~"),
        "F7" => one("\u{1b}[18~"),
        "F8" => one("\u{1b}[19~"),
        "F10" => one("\u{1b}[21~"),
        "Esc" => one("\u{1b}"),
        "Enter" => one("\r"),
        "Tab" => one("\t"),
        "Shift-Tab" => one("\u{1b}[Z"),
        "PgDn" => one("\u{1b}[6~"),
        "PgUp" => one("\u{1b}[5~"),
        "Home" => one("\u{1b}[H"),
        "End" => one("\u{1b}[F"),
        "↓" => one("\u{1b}[B"),
        "↑" => one("\u{1b}[A"),
        "←" => one("\u{1b}[D"),
        "→" => one("\u{1b}[C"),
        "to" => Vec::new(),
        "9" => ('1'..='9').map(|digit| digit.to_string()).collect(),
        _ => match key.strip_prefix("Ctrl-") {
            Some(letter) => {
                let letter = letter.bytes().next().unwrap() & 0x1f;
                one(&char::from(letter).to_string())
            }
            None => {
                assert_eq!(
                    key.chars().count(),
                    1,
                    "what does a terminal send for {key}?"
                );
                one(key)
            }
        },
    }
}

const LEAVING: [&str; 3] = ["q", "F10", "Ctrl-C"];

fn keys() -> impl Iterator<Item = &'static str> {
    let all = tui::key_names().flat_map(str::split_whitespace);
    all.filter(|key| !LEAVING.contains(key))
}

/// A size that differs from the last one, and its picture: what was typed before has been taken in by then.
fn settle(terminal: &Terminal, width: &mut u16, after: &str) {
    *width = if *width == 120 { 119 } else { 120 };
    terminal.resize(*width, 40);
    let end = usize::from(*width);
    terminal.becomes(
        |screen| {
            let contents = screen.contents();
            let line = contents.lines().nth(1).unwrap_or_default();
            line.ends_with("?:help") && line.chars().count() + 1 == end
        },
        &format!("the header at its place after {after}"),
    );
}

/// Closes what lies on top. What is typed reaches the program by a queue of the kernel and a change of size does not, so
/// that an escape may still be on its way when the new size is drawn, and would make another key of the next one: a
/// second escape comes between.
fn close(terminal: &mut Terminal, width: &mut u16) {
    for _ in 0..2 {
        terminal.types("\u{1b}");
        settle(terminal, width, "Esc");
    }
}

/// Leaves, even where an escape was on its way.
fn leave(terminal: &mut Terminal) {
    terminal.types("qq");
}

fn nothing_hostile(terminal: &Terminal) {
    for c in terminal.text().chars() {
        let is_bidi = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!is_bidi && (c == '\n' || !c.is_control()), "{c:?}");
    }
    let written = String::from_utf8_lossy(&terminal.written()).into_owned();
    for sequence in ["\u{1b}]0;owned", "\u{9b}31m", "\u{7}"] {
        assert!(!written.contains(sequence), "{sequence:?} was written");
    }
}

#[test]
fn every_key_and_the_mouse_leave_a_whole_screen_whatever_processes_are_called() {
    let folder = Folder::new();
    let file = recording(&folder);
    let mut terminal = Start::line("replay").arg(&file).size(120, 40).start();
    terminal.shows("hostile.ndjson");
    terminal.shows("the recording ends here");
    let mut width = 120;
    settle(&terminal, &mut width, "the others");
    for key in keys() {
        for bytes in bytes(key) {
            terminal.types(&bytes);
            settle(&terminal, &mut width, key);
            nothing_hostile(&terminal);
        }
        // Takes away what it may have opened.
        close(&mut terminal, &mut width);
    }
    // Press, release, twice, wheel and drag, on every line.
    for line in 1..=40 {
        let x = 3 * line % 120 + 1;
        for (button, end) in [
            (0, 'M'),
            (0, 'm'),
            (0, 'M'),
            (64, 'M'),
            (65, 'M'),
            (32, 'M'),
            (2, 'M'),
        ] {
            terminal.types(&format!("\u{1b}[<{button};{x};{line}{end}"));
        }
        settle(&terminal, &mut width, &format!("the mouse on line {line}"));
        close(&mut terminal, &mut width);
    }
    nothing_hostile(&terminal);
    leave(&mut terminal);
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn a_burst_of_sizes_ends_in_the_last_one() {
    let folder = Folder::new();
    let file = recording(&folder);
    let mut terminal = Start::line("replay").arg(&file).size(120, 40).start();
    terminal.shows("the recording ends here");
    let mut width = 120;
    for keys in ["", "?", "\r", "/漢字", "m"] {
        terminal.types(keys);
        for size in [
            (1, 1),
            (2, 1),
            (14, 47),
            (300, 1),
            (1, 300),
            (59, 14),
            (1, 1),
            (39, 7),
        ] {
            terminal.resize(size.0, size.1);
        }
        settle(&terminal, &mut width, "the others");
        close(&mut terminal, &mut width);
    }
    nothing_hostile(&terminal);
    leave(&mut terminal);
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn every_way_out_gives_the_terminal_back() {
    let folder = Folder::new();
    let file = recording(&folder);
    for key in LEAVING {
        let mut terminal = Start::line("replay").arg(&file).start();
        terminal.shows("hostile.ndjson");
        terminal.types(&bytes(key).concat());
        assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0, "{key}");
    }
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let terminal = Start::line("replay").arg(&file).start();
        terminal.shows("hostile.ndjson");
        terminal.signal(signal);
        assert_eq!(
            terminal.ends_and_gives_the_terminal_back().0,
            0,
            "{signal:?}"
        );
    }
}
