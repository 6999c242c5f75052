//! The mark, and what changed since.

use std::sync::Arc;

use model::{Bytes, Charged, Reading, Snapshot};

use super::{app, draw, press, text};
use crate::app::App;
use crate::session::Message;

fn grow(snapshot: &mut Snapshot, process: usize, by: i64) {
    let vram = &mut snapshot.processes[process].charges[0].memory.vram;
    if let Reading::Known(Charged::Measured(size)) = vram {
        size.value = Bytes(size.value.0.checked_add_signed(by).unwrap());
    }
}

fn sized(snapshot: &Snapshot) -> Vec<usize> {
    let is_sized = |it: &usize| {
        let charge = snapshot.processes[*it].charges.first();
        charge.is_some_and(|on| on.memory.vram.known().is_some())
    };
    (0..snapshot.processes.len()).filter(is_sized).collect()
}

/// The workstation, marked, and a moment later: one process grew, one shrank a little, one is gone, one is new.
fn compared(size: (u16, u16), keys: &str) -> App {
    let whole = model::sample::workstation();
    let sized = sized(&whole);
    let mut before = whole.clone();
    let newcomer = before.processes.remove(*sized.last().unwrap());
    let mut app = app(before, size);
    press(&mut app, "m");
    let mut after = whole;
    grow(&mut after, sized[0], 3 << 29);
    grow(&mut after, sized[1], -(1 << 20));
    let gone = after.processes.remove(sized[2]);
    assert_ne!(gone.key, newcomer.key);
    for device in &mut after.devices {
        let used = &mut device.memory.used;
        *used = used.map(|used| Bytes(used.0 + (1 << 30)));
    }
    app.update(Message::Snapshot(Arc::new(after)));
    press(&mut app, keys);
    app
}

#[test]
fn what_changed_since_the_mark_stands_beside_what_is() {
    for size in [(80, 24), (140, 45), (200, 60)] {
        let app = compared(size, "");
        let name = format!("mark_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, text(&draw(&app)));
    }
}

#[test]
fn the_columns_come_and_go_and_the_order_stays_one_that_is_shown() {
    let mut app = compared((140, 45), "");
    let shown = |app: &App| text(&draw(app)).contains("ΔVRAM");
    assert!(shown(&app));
    // Sorted by the change: the largest first, who has none and who is gone behind.
    press(&mut app, ">");
    assert!(app.state.sort.column.is_change());
    let first = text(&draw(&app));
    let growth = first.lines().position(|line| line.contains("+1.50G"));
    let loss = first.lines().position(|line| line.contains("-1.00M"));
    let gone = first.lines().position(|line| line.contains(" gone"));
    assert!(growth < loss && loss < gone, "{first}");
    press(&mut app, "d");
    assert!(!shown(&app) && !app.state.sort.column.is_change());
    assert!(app.state.rows.iter().all(|place| !place.is_gone));
    press(&mut app, "d");
    assert!(shown(&app));
    press(&mut app, "M");
    assert!(!shown(&app) && app.state.mark.is_none());
    for key in ["d", "M"] {
        press(&mut app, key);
        let shown = text(&draw(&app));
        assert!(
            shown.contains("nothing is marked: m marks this moment"),
            "{shown}"
        );
    }
}

#[test]
fn of_a_process_that_is_gone_nothing_is_shown_as_if_it_were_now() {
    let mut app = compared((140, 45), "G");
    assert!(app.state.rows[app.state.cursor].is_gone);
    assert!(app.view().selected().is_none());
    let shown = text(&draw(&app));
    let line = shown.lines().find(|line| line.contains(" gone")).unwrap();
    assert!(line.starts_with('▸'), "{line}");
    // Its size then.
    assert!(!line.contains("702M"), "{line}");
    press(&mut app, "Enter");
    draw(&app);
    // Back again, it is listed once.
    let before = app.state.mark.as_ref().unwrap().snapshot.clone();
    app.update(Message::Snapshot(before));
    assert!(app.state.rows.iter().all(|place| !place.is_gone));
}
