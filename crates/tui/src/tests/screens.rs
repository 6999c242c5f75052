//! Whole screens as text.

use std::sync::Arc;
use std::time::Duration;

use model::{Container, ContainerName, Gap, Provenance, Reading, Source};
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
        ("provenance", "p"),
        ("devices", "D"),
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

/// Everything that is said of models: several of one process, a pipeline, two GPUs, a log alone.
#[test]
fn inspector_of_processes_that_serve_models() {
    let mut app = app(model::sample::served(), (100, 70));
    press(&mut app, "Enter");
    insta::assert_snapshot!("inspector_served", text(&draw(&app)));
    for name in [
        "inspector_pipeline",
        "inspector_two_gpus",
        "inspector_history",
    ] {
        press(&mut app, "Esc j Enter");
        insta::assert_snapshot!(name, text(&draw(&app)));
    }
}

/// A pod whose server publishes nothing, and one whose names only root may read.
#[test]
fn inspector_of_processes_in_containers() {
    let mut snapshot = model::sample::workstation();
    let in_a_pod = |name| Container {
        runtime: "containerd",
        id: "0123456789ab".into(),
        pod_uid: Some("01234567-89ab-cdef-0123-456789abcdef".into()),
        name,
    };
    let from = Provenance {
        source: Source::ContainerState,
        counter: "config.json",
        at: model::sample::AT,
    };
    let name = ContainerName {
        name: "llm".into(),
        pod: Some("llm-0".into()),
        namespace: Some("ai".into()),
    };
    let places = [
        Reading::measured(name, from),
        Reading::missing(Gap::Permission, from),
    ];
    for (process, name) in snapshot.processes.iter_mut().zip(places) {
        process.container = Reading::measured(Some(in_a_pod(name)), from);
        process.server = None;
        process.server_unasked = Some(Gap::OtherNetwork);
    }
    let mut app = app(snapshot, (100, 60));
    press(&mut app, "Enter");
    insta::assert_snapshot!("inspector_pod", text(&draw(&app)));
    press(&mut app, "Esc j Enter");
    insta::assert_snapshot!("inspector_container_unread", text(&draw(&app)));
}

#[test]
fn mig_instances_that_are_not_told_have_their_reason_and_refused_slots_are_counted() {
    let shown = |change: fn(&mut model::Device)| {
        let mut snapshot = model::sample::servers();
        let mut devices = snapshot.devices.iter_mut();
        let split = devices.find(|it| it.in_mig_mode()).unwrap();
        change(split);
        let index = split.index;
        snapshot.selection = model::Selection::One(index);
        text(&draw(&app(snapshot, (140, 45))))
    };
    let all = shown(|_| {});
    assert!(
        all.contains("MIG 2/0  3g.40gb") && !all.contains("could not be read"),
        "{all}"
    );
    let refused = shown(|device| device.instances[0].refused = Some(Gap::Permission));
    assert!(!refused.contains("MIG 2/0  3g.40gb"), "{refused}");
    let words = format!(
        "MIG 1 slot could not be read: {}",
        Gap::Permission.sentence()
    );
    assert!(refused.contains(&words), "{refused}");
    let unknown = shown(|device| {
        device.instances.clear();
        device.instances_missing = Some(model::Missing {
            gap: Gap::Permission,
            from: Provenance {
                source: Source::Nvml,
                counter: "DeviceGetMaxMigDeviceCount",
                at: model::sample::AT,
            },
        });
    });
    let words = format!("MIG instances n/a: {}", Gap::Permission.sentence());
    assert!(unknown.contains(&words), "{unknown}");
}

#[test]
fn a_container_with_a_name_of_blanks_is_shown_by_its_identifier() {
    let shown = |name: &str| {
        let snapshot = model::sample::in_containers_named(name);
        let mut app = app(snapshot, (220, 60));
        let table = text(&draw(&app));
        press(&mut app, "Enter");
        (table, text(&draw(&app)))
    };
    let (named, _) = shown("embeddings");
    assert!(named.contains("embeddings 0123456789ab"), "{named}");
    let (expected, inspector) = shown("");
    assert!(expected.contains("docker 0123456789ab"), "{expected}");
    assert!(inspector.contains("docker 0123456789ab"), "{inspector}");
    for name in model::sample::NO_NAMES {
        assert_eq!(
            shown(name),
            (expected.clone(), inspector.clone()),
            "{name:?}"
        );
    }
}

#[test]
fn the_inspector_ends_with_the_device_of_the_row() {
    for size in [(80, 24), (140, 45)] {
        let mut app = app(model::sample::servers(), size);
        press(&mut app, "3");
        let name = format!("device_held_down_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, text(&draw(&app)));
        press(&mut app, "Enter G");
        let name = format!("inspector_device_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, text(&draw(&app)));
    }
}

#[test]
fn without_a_process_the_inspector_shows_the_device() {
    let mut snapshot = model::sample::workstation();
    snapshot.processes.clear();
    let app = app(snapshot, (80, 24));
    insta::assert_snapshot!("inspector_no_process", text(&draw(&app)));
}

#[test]
fn none_idle_and_unknown_event_reasons_are_told_apart() {
    use model::{ClocksEventReasons, DeviceDetails, Gap, Reading};
    let mut seen = std::collections::BTreeSet::new();
    for (mask, told, limit) in [
        (Some(0), "event reasons none ·", None),
        (Some(1), "event reasons idle (0x1) ·", None),
        (Some(4), "SW power cap (0x4)", Some("LIMIT SW power cap")),
        (
            Some(0x600),
            "(0x600)",
            Some("LIMIT board limit, reliability"),
        ),
        (
            Some(0x3000),
            "event reasons 0x3000 (0x3000)",
            Some("LIMIT 0x3000"),
        ),
        (None, "event reasons n/a", None),
    ] {
        let mut snapshot = model::sample::workstation();
        snapshot.processes.clear();
        let details = &mut snapshot.devices[0].details;
        details.clocks_event_reasons = match (mask, details.vbios.known()) {
            (Some(mask), Some(any)) => Reading::measured(ClocksEventReasons(mask), any.from),
            (_, any) => {
                let from = any.unwrap().from;
                DeviceDetails::missing(Gap::NotSupported, from).clocks_event_reasons
            }
        };
        let app = app(snapshot, (140, 45));
        let screen = text(&draw(&app));
        assert!(screen.contains(told), "{told}\n{screen}");
        match limit {
            Some(limit) => assert!(screen.contains(limit), "{screen}"),
            _ => assert!(!screen.contains("LIMIT"), "{screen}"),
        }
        assert!(seen.insert(screen));
    }
}

#[test]
fn no_process_is_told_from_none_that_could_be_seen() {
    let shown = |change: fn(&mut model::Snapshot)| {
        let mut snapshot = model::sample::radeon();
        snapshot.processes.clear();
        snapshot.process_status.hidden = 0;
        snapshot.process_status.scan = model::ScanState::Complete;
        change(&mut snapshot);
        text(&draw(&app(snapshot, (140, 45))))
    };
    let nobody = "no process holds memory on this GPU";
    for (change, expected) in [
        ((|_| {}) as fn(&mut model::Snapshot), nobody),
        (
            |it| it.process_status.hidden = 3,
            "no process that can be looked at holds memory here; others cannot be",
        ),
        (
            |it| it.process_status.scan = model::ScanState::Partial,
            "not all of them have been looked at",
        ),
        (
            |it| it.devices[0].memory.attributed.lists_missing = true,
            "a list of the driver could not be read",
        ),
        (
            |it| {
                // What NVIDIA's driver lists is everybody's.
                it.process_status.hidden = 3;
                it.devices[0].vendor = model::Vendor::Nvidia;
            },
            nobody,
        ),
    ] {
        let screen = shown(change);
        assert!(screen.contains(expected), "{expected}\n{screen}");
        assert_eq!(screen.contains(nobody), expected == nobody);
    }
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

#[test]
fn a_theme_changes_colours_only_and_mono_has_none() {
    use ratatui::style::Color;
    const THEMES: [Theme; 4] = [Theme::Auto, Theme::Dark, Theme::Light, Theme::ColorBlind];
    let drawn = |theme| {
        let mut app = empty(&options(theme, false), (140, 45));
        app.update(Message::Snapshot(Arc::new(model::sample::workstation())));
        draw(&app)
    };
    let plain = text(&drawn(Theme::Auto));
    for theme in THEMES {
        let buffer = drawn(theme);
        let own: Vec<Color> = buffer.content.iter().map(|cell| cell.fg).collect();
        let is_own = |color: &Color| matches!(color, Color::Rgb(..));
        assert_eq!(own.iter().any(is_own), theme != Theme::Auto, "{theme:?}");
        if theme != Theme::ColorBlind {
            assert_eq!(text(&buffer), plain, "{theme:?}");
        }
        // The selected row carries no colour of its own in any theme.
        let row = text(&buffer)
            .lines()
            .position(|line| line.starts_with('▸'))
            .unwrap();
        let cells = buffer.content.chunks(140).nth(row).unwrap();
        for cell in cells {
            assert!(cell.modifier.contains(Modifier::REVERSED));
            assert_eq!(
                (cell.fg, cell.bg),
                (Color::Reset, Color::Reset),
                "{theme:?}"
            );
        }
    }
    // Letters in the bar, since eight colours do not tell twelve kinds of work apart.
    let color_blind = text(&drawn(Theme::ColorBlind));
    assert!(
        color_blind.contains("LLLLLL") && !plain.contains("LLLLLL"),
        "{color_blind}"
    );
    for cell in &drawn(Theme::Mono).content {
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
    }
}
