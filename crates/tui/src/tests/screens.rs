//! Whole screens as text.

use std::sync::Arc;
use std::time::Duration;

use ratatui::style::Modifier;

use super::{app, draw, empty, options, press, text};
use crate::history::answer_again;
use crate::session::{Message, Options, Session};
use crate::theme::Theme;

fn history(app: &mut crate::app::App, ticks: u32) {
    let Some(first) = app.snapshot.clone() else {
        return;
    };
    for tick in 1..=ticks {
        let mut next = (*first).clone();
        next.tick += u64::from(tick);
        for device in &mut next.devices {
            let load = f64::from(tick * 37 % 101);
            device.gpu = device.gpu.map(|_| model::Percent(load));
            device.power = device.power.map(|_| model::Watts(60.0 + load * 2.0));
        }
        next.at.mono_ns += u64::from(tick);
        answer_again(&mut next, u64::from(tick));
        app.update(Message::Snapshot(Arc::new(next)));
    }
    let mut last = (*first).clone();
    last.at.mono_ns += u64::from(ticks) + 1;
    answer_again(&mut last, u64::from(ticks) + 1);
    app.update(Message::Snapshot(Arc::new(last)));
}

const SIZES: [(u16, u16); 4] = [(60, 15), (80, 24), (140, 45), (200, 60)];

#[test]
fn every_sample_at_every_size() {
    for (name, snapshot) in model::sample::all() {
        for size in SIZES {
            let mut app = app(snapshot.clone(), size);
            history(&mut app, 30);
            let name = format!("{name}_{}x{}", size.0, size.1);
            insta::assert_snapshot!(name, text(&draw(&app)));
        }
    }
}

#[test]
fn mono_and_ascii() {
    for (name, theme, ascii) in [("mono", Theme::Mono, false), ("ascii", Theme::Auto, true)] {
        for (sample, snapshot) in model::sample::all() {
            for size in [(80, 24), (140, 45)] {
                let mut app = empty(&options(theme, ascii), size);
                app.update(Message::Snapshot(Arc::new(snapshot.clone())));
                history(&mut app, 30);
                let buffer = draw(&app);
                let text = text(&buffer);
                if ascii {
                    assert!(text.is_ascii(), "{text}");
                }
                if size.0 == 80 || sample == "workstation" {
                    insta::assert_snapshot!(format!("{name}_{sample}_{}x{}", size.0, size.1), text);
                }
            }
        }
    }
}

#[test]
fn overlays() {
    for (name, keys) in [
        ("help", "?"),
        ("inspector", "Enter"),
        ("notices", "n"),
        ("sort", "s j"),
        ("no_inspector", "i"),
    ] {
        for size in [(80, 24), (140, 45)] {
            let mut app = app(model::sample::workstation(), size);
            press(&mut app, keys);
            let name = format!("{name}_{}x{}", size.0, size.1);
            insta::assert_snapshot!(name, text(&draw(&app)));
        }
    }
}

#[test]
fn inspector_of_a_guess_and_of_a_process_outside() {
    let mut app = app(model::sample::container(), (100, 40));
    press(&mut app, "j Enter");
    insta::assert_snapshot!("inspector_guess", text(&draw(&app)));
    press(&mut app, "Esc j Enter");
    insta::assert_snapshot!("inspector_outside", text(&draw(&app)));
}

#[test]
fn all_devices() {
    let mut app = app(model::sample::servers(), (140, 45));
    press(&mut app, "7 A");
    insta::assert_snapshot!("all_devices_140x45", text(&draw(&app)));
}

#[test]
fn before_the_first_answer_and_after_the_last() {
    let waiting = empty(&options(Theme::Auto, false), (80, 24));
    insta::assert_snapshot!("waiting", text(&draw(&waiting)));
    let replay = Options {
        session: Session::Replay {
            name: "evening\u{1b}[31m-with-a-very-long-name-of-a-capture.ndjson.gz".into(),
        },
        ..options(Theme::Auto, false)
    };
    let mut app = empty(&replay, (80, 24));
    app.update(Message::Snapshot(Arc::new(model::sample::workstation())));
    app.update(Message::Ended("the capture is over".into()));
    insta::assert_snapshot!("ended", text(&draw(&app)));
    let mut late = super::app(model::sample::workstation(), (80, 24));
    late.state.late = Some(Duration::from_secs(5));
    insta::assert_snapshot!("late", text(&draw(&late)));
}

#[test]
fn very_small_screens_say_the_most_important() {
    for size in [(59, 14), (40, 8), (39, 7), (20, 3), (5, 1)] {
        let app = app(model::sample::workstation(), size);
        insta::assert_snapshot!(format!("small_{}x{}", size.0, size.1), text(&draw(&app)));
    }
}

#[test]
fn the_selected_row_is_told_apart_without_colour() {
    for ascii in [false, true] {
        let mut app = empty(&options(Theme::Mono, ascii), (80, 24));
        app.update(Message::Snapshot(Arc::new(model::sample::workstation())));
        press(&mut app, "j");
        let buffer = draw(&app);
        let reversed =
            |y: u16| (0..80).all(|x| buffer[(x, y)].modifier.contains(Modifier::REVERSED));
        let rows: Vec<u16> = (0..23).filter(|y| reversed(*y)).collect();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert!(
            text(&buffer)
                .lines()
                .nth(usize::from(rows[0]))
                .unwrap()
                .contains("40110")
        );
    }
}

#[test]
fn mono_sets_no_colour_and_no_other_attribute() {
    let allowed = Modifier::REVERSED | Modifier::BOLD | Modifier::UNDERLINED;
    for (name, snapshot) in model::sample::all() {
        for keys in ["", "?", "Enter", "n", "s"] {
            let mut app = empty(&options(Theme::Mono, false), (140, 45));
            app.update(Message::Snapshot(Arc::new(snapshot.clone())));
            press(&mut app, keys);
            for cell in &draw(&app).content {
                let colours = (cell.fg, cell.bg);
                let none = ratatui::style::Color::Reset;
                assert_eq!(colours, (none, none), "{name} {keys}");
                assert!(allowed.contains(cell.modifier), "{name} {keys}");
            }
        }
    }
}

#[test]
fn what_kind_of_device_it_is_stands_on_the_screen() {
    let from = |device: &model::Device| device.gpu.known().map(|known| known.from);
    for (label, virtualization) in [
        ("vGPU of a host", model::Virtualization::Vgpu),
        (
            "passed through to this VM",
            model::Virtualization::Passthrough,
        ),
    ] {
        let mut snapshot = model::sample::workstation();
        for device in &mut snapshot.devices {
            if let Some(from) = from(device) {
                device.virtualization = model::Reading::measured(virtualization, from);
            }
        }
        let shown = text(&draw(&app(snapshot, (140, 45))));
        assert!(shown.contains(label), "{shown}");
    }
    let mut snapshot = model::sample::workstation();
    for device in &mut snapshot.devices {
        device.kind = model::DeviceKind::Unified;
        if let Some(from) = from(device) {
            let none = model::Reading::missing(model::Gap::NotSupported, from);
            (device.memory.total, device.memory.used, device.memory.free) = (none, none, none);
        }
    }
    let shown = text(&draw(&app(snapshot, (140, 45))));
    for words in ["unified memory", "one memory with the system"] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
}
