//! The live screen in a real terminal: it appears, it follows keys, signals and sizes, and it leaves nothing behind.

use fake_nvml::build::Driver;
use fake_nvml::{Generation, Scenario};
use rustix::process::Signal;

use crate::support::terminal::{Start, Terminal};
use crate::support::{Folder, Machine, Program, driver, rich};

const CARD: &str = "RTX 4080";

/// A machine with models, and its driver.
fn rich() -> (Machine, Driver) {
    let (machine, scenario) = rich::machine();
    let driver = driver(Generation::R580, &scenario);
    (machine, driver)
}

/// The live screen with its table.
fn live(machine: &Machine, driver: &Driver) -> Terminal {
    let terminal = Start::line("-i 0.25")
        .driver(driver)
        .root(machine.path())
        .start();
    terminal.shows(CARD);
    terminal.shows("llama-server");
    terminal
}

#[test]
fn q_leaves_with_code_0_and_gives_the_terminal_back() {
    let (machine, driver) = rich();
    let mut terminal = live(&machine, &driver);
    assert!(terminal.is_raw());
    terminal.with_screen(|screen| {
        assert!(screen.alternate_screen());
        assert!(screen.hide_cursor());
    });
    terminal.shows("Tiny llama");
    terminal.types("q");
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn control_c_is_a_key_and_leaves_with_code_0() {
    let (machine, driver) = rich();
    let mut terminal = live(&machine, &driver);
    terminal.types("\u{3}");
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn control_l_draws_the_screen_anew_and_asks_the_terminal_nothing() {
    let (machine, driver) = rich();
    let mut terminal = live(&machine, &driver);
    terminal.types("\u{c}");
    terminal.types("?");
    terminal.shows("Help");
    terminal.types("q");
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn signals_that_ask_to_end_give_the_terminal_back() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (machine, driver) = rich();
        let terminal = live(&machine, &driver);
        terminal.signal(signal);
        assert_eq!(
            terminal.ends_and_gives_the_terminal_back().0,
            0,
            "{signal:?}"
        );
    }
}

#[test]
fn a_signal_before_the_first_answer_gives_the_terminal_back() {
    let mut scenario = Scenario::idle();
    scenario
        .faults
        .push(fake_nvml::Fault::sleeping("nvmlInit*", 3_600_000));
    let driver = driver(Generation::R580, &scenario);
    let terminal = Start::line("").driver(&driver).start();
    terminal.becomes(vt100::Screen::alternate_screen, "the alternate screen");
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn a_driver_that_hangs_leaves_the_keys_alive() {
    let driver = driver(Generation::R580, &Scenario::hanging());
    let mut terminal = Start::line("-i 0.25").driver(&driver).start();
    terminal.becomes(vt100::Screen::alternate_screen, "the alternate screen");
    terminal.shows("A4000");
    terminal.types("?");
    terminal.types("q");
    terminal.types("q");
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn every_size_is_drawn_and_left() {
    let (machine, driver) = rich();
    let mut terminal = live(&machine, &driver);
    for (columns, rows) in [
        (40, 10),
        (1, 1),
        (2, 40),
        (300, 1),
        (80, 24),
        (20, 5),
        (7, 3),
        (250, 80),
    ] {
        terminal.resize(columns, rows);
        let area = usize::from(columns) * usize::from(rows);
        if area >= 100 {
            terminal.becomes(
                |screen| screen.contents().split_whitespace().count() > 1,
                &format!("anything at {columns}x{rows}"),
            );
        }
    }
    terminal.shows("Tiny llama");
    terminal.types("q");
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn it_starts_in_tiny_terminals_too() {
    let (machine, driver) = rich();
    for (columns, rows) in [(1, 1), (1, 60), (60, 1), (10, 3), (30, 8), (59, 15)] {
        let mut terminal = Start::line("-i 0.25")
            .driver(&driver)
            .root(machine.path())
            .size(columns, rows)
            .start();
        terminal.becomes(vt100::Screen::alternate_screen, "the alternate screen");
        terminal.types("q");
        assert_eq!(
            terminal.ends_and_gives_the_terminal_back().0,
            0,
            "{columns}x{rows}"
        );
    }
}

/// Rows most of whose cells are drawn reversed.
fn reversed_rows(screen: &vt100::Screen) -> Vec<String> {
    let (rows, columns) = screen.size();
    (0..rows.get())
        .filter(|row| {
            let cells = (0..columns.get()).filter_map(|column| screen.cell(*row, column));
            cells.filter(|cell| cell.inverse()).count() > usize::from(columns.get()) / 2
        })
        .map(|row| screen.contents_between(row, 0, row, columns.get()))
        .collect()
}

fn has_colour(screen: &vt100::Screen) -> bool {
    let (rows, columns) = screen.size();
    (0..rows.get())
        .flat_map(|row| (0..columns.get()).map(move |column| (row, column)))
        .filter_map(|(row, column)| screen.cell(row, column))
        .any(|cell| {
            cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default
        })
}

#[test]
fn without_colour_the_selected_row_is_still_told_apart() {
    let (machine, driver) = rich();
    for start in [
        Start::line("-i 0.25").env("NO_COLOR", "1"),
        Start::line("-i 0.25 --no-color"),
        Start::line("-i 0.25 --theme mono").env("CLICOLOR_FORCE", "1"),
        Start::line("-i 0.25").env("TERM", "dumb"),
    ] {
        let mut terminal = start.driver(&driver).root(machine.path()).start();
        terminal.shows("llama-server");
        assert!(
            !terminal.with_screen(has_colour),
            "colour in {}",
            terminal.text()
        );
        let first = terminal.with_screen(reversed_rows);
        assert!(
            first.iter().any(|row| row.contains("40")),
            "no row is reversed in {}",
            terminal.text()
        );
        terminal.types("\u{1b}[B");
        terminal.becomes(
            |screen| reversed_rows(screen) != first,
            "another row reversed",
        );
        terminal.types("q");
        assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
    }
    // An empty value is none (no-color.org).
    let terminal = Start::line("-i 0.25")
        .env("NO_COLOR", "")
        .driver(&driver)
        .root(machine.path())
        .start();
    terminal.shows("llama-server");
    terminal.becomes(has_colour, "a colour");
    // A theme that was asked for counts before what the environment says.
    for theme in ["auto", "dark", "light", "cb"] {
        let terminal = Start::line(&format!("-i 0.25 --theme {theme}"))
            .env("NO_COLOR", "1")
            .driver(&driver)
            .root(machine.path())
            .start();
        terminal.shows("llama-server");
        terminal.becomes(has_colour, "a colour");
    }
}

#[test]
fn only_ascii_is_written_where_the_locale_has_no_more() {
    let (machine, driver) = rich();
    for start in [
        Start::line("-i 0.25").env("LANG", "C"),
        Start::line("-i 0.25").env("LC_ALL", "POSIX"),
        Start::line("-i 0.25 --ascii"),
        Start::line("-i 0.25").env("TERM", "linux"),
    ] {
        let mut terminal = start.driver(&driver).root(machine.path()).start();
        terminal.shows("llama-server");
        terminal.shows("Tiny llama");
        assert!(terminal.text().is_ascii(), "{}", terminal.text());
        terminal.types("q");
        let (code, raw) = terminal.ends_and_gives_the_terminal_back();
        assert_eq!(code, 0);
        assert!(raw.is_ascii());
    }
}

#[test]
fn a_wrong_gpu_number_is_refused_before_the_screen_opens() {
    let (machine, driver) = rich();
    let mut terminal = Start::line("--gpu 7")
        .driver(&driver)
        .root(machine.path())
        .start();
    let (code, raw) = terminal.ends();
    assert_eq!(code, 2);
    let text = String::from_utf8(raw).unwrap();
    assert!(
        text.contains("only GPU 0") && !text.contains("\u{1b}[?1049h"),
        "{text:?}"
    );
}

#[test]
fn without_a_gpu_the_screen_says_what_was_tried_and_enter_opens_the_demonstration() {
    let driver = driver(Generation::R580, &Scenario::empty());
    let machine = Machine::new();
    let mut terminal = Start::line("").driver(&driver).root(machine.path()).start();
    for words in [
        "No GPU",
        "nvml",
        "drm.fdinfo",
        "pci",
        "retrying every 10 s",
        "Enter",
    ] {
        terminal.shows(words);
    }
    terminal.types("\r");
    terminal.shows_no_more("No GPU was found");
    terminal.shows("synthetic");
    terminal.shows("VRAM");
    terminal.types("q");
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn the_demonstration_shows_the_interface_and_says_that_it_is_one() {
    let mut terminal = Start::line("demo").size(140, 45).start();
    for words in ["VRAM", "PID", "DEMO"] {
        terminal.shows(words);
    }
    terminal.types("q");
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn the_demonstration_prints_documents_and_a_report() {
    let text = Program::line("demo --once").run();
    assert!(
        text.ended(0).text().contains("synthetic"),
        "{}",
        text.text()
    );
    let ran = Program::line("demo --once --json").run();
    let document = ran.ended(0).json();
    assert_eq!(document["origin"]["kind"], "synthetic");
    assert!(document["origin"]["note"].is_string());
    crate::support::json::every_null_has_its_reason(&document);
    assert_ne!(document["processes"], serde_json::json!([]));
}

#[test]
fn a_replay_shows_its_name_and_its_end_and_stays() {
    let (machine, driver) = rich();
    let folder = Folder::new();
    let file = folder.at("afternoon.ndjson");
    Program::line("record -i 0.25 --count 3 --redact none -o")
        .arg(&file)
        .driver(&driver)
        .root(machine.path())
        .run()
        .ended(0);
    drop((machine, driver));
    let mut terminal = Start::line("replay").arg(&file).start();
    terminal.shows("afternoon.ndjson");
    terminal.shows("Tiny llama");
    terminal.shows("the recording ends here");
    terminal.types("q");
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}

#[test]
fn the_inspector_tells_what_is_in_the_selected_process() {
    let (machine, driver) = rich();
    let mut terminal = Start::line("-i 0.25")
        .driver(&driver)
        .root(machine.path())
        .size(140, 50)
        .start();
    terminal.shows("Tiny llama");
    terminal.types("\r");
    for words in ["KV", "Q4_K_M", "weights"] {
        terminal.shows(words);
    }
    // Escape and a key at once would be one key, so each waits for the screen.
    terminal.shows("Esc:close");
    terminal.types("\u{1b}");
    terminal.shows_no_more("Esc:close");
    terminal.types("?");
    terminal.shows("this help");
    terminal.types("\u{1b}");
    terminal.shows_no_more("this help");
    terminal.types("q");
    assert_eq!(terminal.ends_and_gives_the_terminal_back().0, 0);
}
