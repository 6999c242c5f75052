//! Filter, find, and the held picture.

use std::sync::Arc;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::{app, draw, press, text};
use crate::app::{App, Flow};
use crate::session::{Exit, Message};

fn pids(app: &App) -> Vec<u32> {
    let rows = app.view().rows();
    rows.map(|row| row.unwrap().process.key.pid).collect()
}

fn selected(app: &App) -> u32 {
    app.view().selected().unwrap().process.key.pid
}

/// Types each character as a key.
fn types(app: &mut App, text: &str) {
    for character in text.chars() {
        let event = KeyEvent::new(KeyCode::Char(character), KeyModifiers::NONE);
        app.update(Message::Input(Event::Key(event)));
    }
}

#[test]
fn a_filter_hides_rows_while_it_is_typed_and_is_told() {
    let mut app = app(model::sample::workstation(), (80, 24));
    press(&mut app, "/");
    types(&mut app, "vram>1G");
    assert_eq!(pids(&app), [41_822, 40_110]);
    insta::assert_snapshot!("filter_80x24", text(&draw(&app)));
    press(&mut app, "Enter");
    assert_eq!(pids(&app), [41_822, 40_110]);
    let screen = text(&draw(&app));
    assert!(
        screen.contains("Processes 2 · filter: vram>1G · 10 hidden"),
        "{screen}"
    );
    press(&mut app, "Esc");
    assert_eq!(pids(&app).len(), 12);
}

#[test]
fn a_wrong_filter_says_where_and_the_last_good_one_counts_on() {
    let mut app = app(model::sample::workstation(), (80, 24));
    press(&mut app, "/");
    types(&mut app, "vram>1Gx");
    assert_eq!(pids(&app), [41_822, 40_110]);
    let screen = text(&draw(&app));
    let last = screen.lines().last().unwrap();
    assert!(
        last.contains("Filter: vram>1Gx") && last.contains("column 6: 1Gx is no size"),
        "{last}"
    );
    press(&mut app, "Enter");
    assert_eq!(pids(&app), [41_822, 40_110]);
    press(&mut app, "/ Esc");
    assert_eq!(
        pids(&app).len(),
        12,
        "Esc in the line takes the filter away"
    );
}

#[test]
fn letters_that_are_typed_do_nothing_else() {
    let mut app = app(model::sample::workstation(), (80, 24));
    press(&mut app, "/");
    types(&mut app, "qsnArW7");
    assert_eq!(app.state.overlay, None);
    assert!(!app.state.all_devices);
    let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let flow = app.update(Message::Input(Event::Key(control)));
    assert_eq!(flow, Flow::Leave(Exit::Quit));
}

#[test]
fn find_goes_to_a_row_and_hides_none() {
    let mut app = app(model::sample::workstation(), (80, 24));
    press(&mut app, "F3");
    types(&mut app, "type:desktop");
    assert_eq!(pids(&app).len(), 12);
    let first = selected(&app);
    press(&mut app, "Down");
    let second = selected(&app);
    assert_eq!([first, second], [1881, 2044]);
    press(&mut app, "F3");
    assert_eq!(selected(&app), first, "round the end");
    press(&mut app, "Up");
    assert_eq!(selected(&app), second, "round the beginning");
    press(&mut app, "Esc");
    assert_eq!(selected(&app), second);
    press(&mut app, "F3");
    types(&mut app, "nobody");
    let screen = text(&draw(&app));
    assert!(screen.lines().last().unwrap().contains("no row fits"));
}

#[test]
fn a_held_picture_stands_still_until_it_is_let_go() {
    let snapshot = model::sample::workstation();
    let mut app = app(snapshot.clone(), (80, 24));
    press(&mut app, "f");
    let held = text(&draw(&app));
    assert!(held.lines().next().unwrap().contains("FROZEN"), "{held}");
    let mut next = snapshot;
    next.processes.remove(0);
    next.at.mono_ns += 12_000_000_000;
    app.update(Message::Snapshot(Arc::new(next.clone())));
    let still = text(&draw(&app));
    assert!(
        still.lines().next().unwrap().contains("FROZEN 12 s"),
        "{still}"
    );
    assert_eq!(pids(&app).len(), 12);
    let rest = |screen: &str| {
        screen
            .lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(rest(&held), rest(&still));
    press(&mut app, ".");
    assert_eq!(pids(&app).len(), 11, "one step");
    next.processes.remove(0);
    app.update(Message::Snapshot(Arc::new(next)));
    assert_eq!(pids(&app).len(), 11);
    press(&mut app, "f");
    assert_eq!(pids(&app).len(), 10);
    assert!(!text(&draw(&app)).contains("FROZEN"));
}

#[test]
fn a_line_longer_than_the_screen_shows_where_one_types() {
    for size in [(80, 24), (40, 12), (50, 14)] {
        let mut app = app(model::sample::workstation(), size);
        press(&mut app, "/");
        types(&mut app, &"abcdefghij".repeat(12));
        types(&mut app, "END");
        let screen = text(&draw(&app));
        assert!(
            screen.lines().last().unwrap().contains("END"),
            "{size:?}: {screen}"
        );
    }
}
