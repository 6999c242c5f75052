//! Keys to state.

use std::sync::Arc;

use super::{app, draw, press, text};
use crate::app::{App, Flow};
use crate::columns::Column;
use crate::session::{Exit, Message, Session};
use crate::state::Overlay;

fn selected_pid(app: &App) -> u32 {
    app.view().selected().unwrap().process.key.pid
}

fn pids(app: &App) -> Vec<u32> {
    let rows = app.view().rows();
    rows.map(|row| row.unwrap().process.key.pid).collect()
}

#[test]
fn keys_move_the_selection() {
    for (keys, cursor) in [
        ("", 0),
        ("j", 1),
        ("Down Down Up", 1),
        ("k", 0),
        ("G", 11),
        ("End j j", 11),
        ("G g", 0),
        ("PgDn", 5),
        ("PgDn PgDn PgDn", 11),
        ("PgDn PgUp", 0),
    ] {
        let mut app = app(model::sample::workstation(), (80, 24));
        press(&mut app, keys);
        assert_eq!(app.state.cursor, cursor, "{keys}");
        let screen = text(&draw(&app));
        let marked: Vec<&str> = screen
            .lines()
            .filter(|line| line.starts_with('▸'))
            .collect();
        assert_eq!(marked.len(), 1, "{keys}");
        assert!(
            marked[0].contains(&selected_pid(&app).to_string()),
            "{keys}"
        );
    }
}

#[test]
fn keys_open_and_close() {
    for (keys, overlay) in [
        ("?", Some(Overlay::Help)),
        ("h", Some(Overlay::Help)),
        ("? ?", None),
        ("? Esc", None),
        ("Enter", Some(Overlay::Inspector)),
        ("Enter Enter", None),
        ("n", Some(Overlay::Notices)),
        ("n ?", Some(Overlay::Help)),
        ("s", Some(Overlay::Sort)),
        ("F6 Enter", None),
        ("i", None),
        ("Esc", None),
    ] {
        let mut app = app(model::sample::workstation(), (80, 24));
        press(&mut app, keys);
        assert_eq!(app.state.overlay, overlay, "{keys}");
        assert_eq!(app.state.inspector, keys != "i", "{keys}");
    }
}

#[test]
fn keys_sort() {
    use Column::{Name, Pid, Vram};
    for (keys, column, descending) in [
        ("", Vram, true),
        ("r", Vram, false),
        ("r r", Vram, true),
        ("<", Column::Model, false),
        ("< < < < < <", Pid, false),
        (">", Column::Load, true),
        ("s g Enter", Pid, false),
        ("s g j Enter", Name, false),
        ("A s g Enter", Column::Device, false),
        ("s Enter", Vram, false),
        ("s j Esc", Vram, true),
    ] {
        let mut app = app(model::sample::workstation(), (80, 24));
        press(&mut app, keys);
        let sort = app.state.sort;
        assert_eq!(
            (sort.column, sort.descending),
            (column, descending),
            "{keys}"
        );
    }
}

#[test]
fn rows_without_a_value_are_last_in_both_directions() {
    let mut app = app(model::sample::workstation(), (80, 24));
    let down = pids(&app);
    assert_eq!((down[0], down[11]), (41822, 40977));
    press(&mut app, "r");
    let up = pids(&app);
    assert_eq!((up[0], up[10], up[11]), (902, 41822, 40977));
}

#[test]
fn the_selection_follows_the_process_and_not_the_row() {
    let snapshot = model::sample::workstation();
    let mut app = app(snapshot.clone(), (80, 24));
    press(&mut app, "j j");
    let pid = selected_pid(&app);
    press(&mut app, "r");
    assert_eq!(selected_pid(&app), pid);
    let mut fewer = snapshot.clone();
    fewer.processes.remove(0);
    app.update(Message::Snapshot(Arc::new(fewer)));
    assert_eq!(selected_pid(&app), pid);
    // Gone: the row in its place is selected.
    let place = app.state.cursor;
    let mut gone = snapshot;
    gone.processes.retain(|process| process.key.pid != pid);
    app.update(Message::Snapshot(Arc::new(gone)));
    assert_eq!(app.state.cursor, place);
    assert_ne!(selected_pid(&app), pid);
}

#[test]
fn devices_are_chosen_by_number_and_in_turn() {
    for (keys, device, all) in [
        ("", 0, false),
        ("3", 3, false),
        ("9", 0, false),
        ("Tab", 1, false),
        ("Tab Tab", 2, false),
        ("7 Tab", 0, false),
        ("A", 0, true),
        ("2 A A", 2, false),
    ] {
        let mut app = app(model::sample::servers(), (140, 45));
        press(&mut app, keys);
        assert_eq!(app.view().device().unwrap().index, device, "{keys}");
        assert_eq!(app.state.all_devices, all, "{keys}");
    }
    let mut app = app(model::sample::servers(), (140, 45));
    let of_one = app.state.rows.len();
    press(&mut app, "A");
    assert!(of_one < 30);
    assert_eq!(app.state.rows.len(), 201, "one row a process and a GPU");
    let mut selected = model::sample::servers();
    selected.selection = model::Selection::One(5);
    assert_eq!(
        super::app(selected, (80, 24))
            .view()
            .device()
            .unwrap()
            .index,
        5
    );
}

#[test]
fn keys_leave() {
    let leave = |exit| Flow::Leave(exit);
    let mut with = app(model::sample::workstation(), (80, 24));
    for keys in ["q", "F10", "? q"] {
        assert_eq!(press(&mut with, keys), leave(Exit::Quit));
    }
    assert_eq!(with.update(Message::Quit), leave(Exit::Quit));
    assert_ne!(press(&mut with, "Esc"), leave(Exit::Quit));
    let mut without = app(model::sample::no_gpu(), (80, 24));
    assert_eq!(press(&mut without, "Enter"), leave(Exit::OpenDemo));
    without.state.session = Session::Demo {
        note: String::new(),
    };
    assert_eq!(press(&mut without, "Enter"), Flow::Idle);
}

#[test]
fn the_wheel_and_clicks() {
    use crossterm::event::{Event, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut app = app(model::sample::workstation(), (80, 24));
    let point = |app: &mut App, kind, column, row| {
        app.update(Message::Input(Event::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })))
    };
    let down = MouseEventKind::Down(MouseButton::Left);
    let screen = text(&draw(&app));
    let heading = screen
        .lines()
        .position(|line| line.contains("NAME"))
        .unwrap();
    let y = u16::try_from(heading).unwrap();
    point(&mut app, down, 20, y + 3);
    assert_eq!(app.state.cursor, 2);
    point(&mut app, down, 20, y + 3);
    assert_eq!(app.state.overlay, Some(Overlay::Inspector));
    press(&mut app, "Esc");
    point(&mut app, down, 12, y);
    assert_eq!(app.state.sort.column, Column::Name);
    let before = app.state.cursor;
    point(&mut app, MouseEventKind::ScrollDown, 1, 1);
    assert_eq!(app.state.cursor, before + 3);
    assert_eq!(point(&mut app, MouseEventKind::Moved, 1, 1), Flow::Idle);
}

#[test]
fn an_overlay_does_not_scroll_beyond_its_end() {
    let mut app = app(model::sample::workstation(), (80, 24));
    press(&mut app, "? G");
    let last = app.state.overlay_line;
    press(&mut app, "j j j k");
    assert_eq!(app.state.overlay_line, last - 1);
    assert!(text(&draw(&app)).contains("not itemised") || last > 1);
}

#[test]
fn only_a_device_that_sleeps_is_asked_for() {
    let (sender, asked) = std::sync::mpsc::channel();
    let wake = crate::session::Wake::new(move |device| sender.send(device.clone()).unwrap());
    let options = crate::session::Options {
        wake: Some(wake),
        ..super::options(crate::theme::Theme::Auto, false)
    };
    let mut app = super::empty(&options, (140, 45));
    let mut snapshot = model::sample::servers();
    let asleep = snapshot.devices[1].key.clone();
    snapshot.devices[1].power_state = snapshot.devices[1]
        .power_state
        .map(|_| model::PowerState::Suspended);
    app.update(crate::session::Message::Snapshot(std::sync::Arc::new(
        snapshot,
    )));
    press(&mut app, "W");
    assert!(asked.try_recv().is_err());
    press(&mut app, "1");
    let shown = super::text(&super::draw(&app));
    assert!(shown.contains("suspended, W wakes it"), "{shown}");
    press(&mut app, "W");
    assert_eq!(asked.try_recv(), Ok(asleep));
}

#[test]
fn the_chosen_device_stays_chosen_under_another_number() {
    let snapshot = model::sample::servers();
    let mut app = app(snapshot.clone(), (140, 45));
    press(&mut app, "2");
    let chosen = snapshot.devices[2].key.clone();
    let mut next = snapshot;
    next.devices.swap(0, 2);
    for (index, device) in (0..).zip(&mut next.devices) {
        device.index = index;
    }
    app.update(crate::session::Message::Snapshot(std::sync::Arc::new(next)));
    assert_eq!(app.view().device().map(|device| &device.key), Some(&chosen));
    assert_eq!(app.state.device, Some(0));
}

#[test]
fn of_a_device_that_no_key_wakes_the_key_says_so() {
    let (sender, asked) = std::sync::mpsc::channel();
    let wake = crate::session::Wake::new(move |device| sender.send(device.clone()).unwrap());
    let options = crate::session::Options {
        wake: Some(wake),
        ..super::options(crate::theme::Theme::Auto, false)
    };
    for size in [(80, 24), (140, 45)] {
        let mut app = super::empty(&options, size);
        let mut snapshot = model::sample::radeon();
        for device in &mut snapshot.devices {
            let from = device.pci.known().unwrap().from;
            device.power_state = model::Reading::measured(model::PowerState::Suspended, from);
        }
        app.update(crate::session::Message::Snapshot(std::sync::Arc::new(
            snapshot,
        )));
        let shown = super::text(&super::draw(&app));
        assert!(shown.contains("suspended"), "{shown}");
        assert!(!shown.contains("W wakes it"), "{shown}");
        press(&mut app, "W");
        assert!(asked.try_recv().is_err());
        let said = "W wakes NVIDIA GPUs only; GPU 0 is read when a program uses it";
        let shown = super::text(&super::draw(&app));
        assert!(shown.contains(said), "{shown}");
        // The next key takes it away.
        press(&mut app, "i");
        assert!(!super::text(&super::draw(&app)).contains(said));
    }
}

#[test]
fn of_a_device_that_is_awake_the_key_says_that_it_does_not_sleep() {
    let mut app = app(model::sample::workstation(), (80, 24));
    press(&mut app, "W");
    let shown = super::text(&super::draw(&app));
    assert!(shown.contains("GPU 0 does not sleep"), "{shown}");
}

#[test]
fn at_first_a_device_that_is_awake_is_shown_and_later_none_takes_its_place() {
    let with_asleep = |asleep: &[usize]| {
        let mut snapshot = model::sample::servers();
        for at in asleep {
            let state = &mut snapshot.devices[*at].power_state;
            *state = state.map(|_| model::PowerState::Suspended);
        }
        snapshot
    };
    let shown = |app: &crate::app::App| app.view().device().map(|device| device.index);
    let mut app = app(with_asleep(&[0, 1]), (140, 45));
    assert_eq!(shown(&app), Some(2));
    let next = with_asleep(&[2]);
    app.update(crate::session::Message::Snapshot(std::sync::Arc::new(next)));
    assert_eq!(shown(&app), Some(2));
    press(&mut app, "0");
    assert_eq!(shown(&app), Some(0));
    // Where one was asked for, or none is awake, it is that one and the first.
    let mut asked = with_asleep(&[0]);
    asked.selection = model::Selection::One(0);
    assert_eq!(shown(&super::app(asked, (80, 24))), Some(0));
    let all = super::app(with_asleep(&[0, 1, 2, 3, 4, 5, 6, 7]), (80, 24));
    assert_eq!(shown(&all), Some(0));
}

#[test]
fn every_column_can_be_reached_sideways_while_number_and_name_stay() {
    use crate::columns::Column;
    use crate::panels::processes::{shown_columns, sideways};
    for (name, snapshot) in model::sample::all() {
        if snapshot.devices.is_empty() {
            continue;
        }
        // With room for all of them, none is moved.
        let mut wide = app(snapshot.clone(), (400, 45));
        let all = shown_columns(wide.view());
        press(&mut wide, "Right");
        assert_eq!(wide.state.passed, 0, "{name}");
        for width in [60, 80, 100] {
            let mut app = app(snapshot.clone(), (width, 24));
            let first = shown_columns(app.view());
            let mut seen = first.clone();
            let mut steps = 0;
            while sideways(app.view()).1 {
                press(&mut app, "Right");
                let shown = shown_columns(app.view());
                assert!(shown.contains(&Column::Pid) && shown.contains(&Column::Name));
                seen.extend(shown);
                steps += 1;
                assert!(steps < 40, "{name} {width}");
            }
            for column in &all {
                assert!(seen.contains(column), "{name} {width} {column:?}");
            }
            for _ in 0..steps {
                press(&mut app, "Left");
            }
            assert_eq!(shown_columns(app.view()), first, "{name} {width}");
        }
    }
}

#[test]
fn the_list_of_devices_begins_at_the_one_that_is_shown_and_shows_another() {
    let mut app = app(model::sample::servers(), (140, 45));
    press(&mut app, "2 D");
    let shown = super::text(&super::draw(&app));
    let line = shown.lines().find(|line| line.starts_with('▸')).unwrap();
    assert!(line.contains(" 2 ") && line.contains("shown"), "{line}");
    press(&mut app, "j j Enter");
    assert_eq!(app.view().device().map(|device| device.index), Some(4));
    assert!(app.state.overlay.is_none());
    press(&mut app, "D End Esc");
    assert_eq!(app.view().device().map(|device| device.index), Some(4));
}
