//! What stands on the screen is explained, can be drawn in ASCII, and is there only where it can be.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Gap, Measured, Percent, Provenance, Reading, Snapshot, Source};

use super::{app, draw, empty, options, press, text};
use crate::columns::Column;
use crate::session::Message;
use crate::theme::Theme;

const SIZES: [(u16, u16); 6] = [(39, 9), (40, 8), (60, 15), (80, 24), (140, 45), (200, 60)];
const KEYS: [&str; 7] = ["", "?", "? G", "Enter", "Enter G", "n", "s"];

fn shown(snapshot: Snapshot, size: (u16, u16), keys: &str) -> String {
    let mut app = app(snapshot, size);
    press(&mut app, keys);
    text(&draw(&app))
}

const FROM: Provenance = Provenance {
    source: Source::Sysfs,
    counter: "a test's",
    at: model::sample::AT,
};

fn missing<T>(gap: Gap) -> Reading<Measured<T>> {
    Reading::missing(gap, FROM)
}

#[test]
fn every_screen_can_be_drawn_in_ascii_and_every_sign_of_ours_has_a_likeness() {
    let mut signs = BTreeSet::new();
    for (name, snapshot) in model::sample::all() {
        for size in SIZES {
            for keys in KEYS {
                let mut app = empty(&options(Theme::Auto, true), size);
                app.update(Message::Snapshot(Arc::new(snapshot.clone())));
                press(&mut app, keys);
                let ascii = text(&draw(&app));
                assert!(ascii.is_ascii(), "{name} {size:?} {keys}\n{ascii}");
                // Names of others are drawn as they are, and are not ours.
                if name != "hostile" {
                    let screen = shown(snapshot.clone(), size, keys);
                    signs.extend(screen.chars().filter(|c| !c.is_ascii()));
                }
            }
        }
    }
    assert!(signs.len() > 8, "{signs:?}");
    // Written in words under ASCII, sign by sign.
    let in_words = ['≥', '°'];
    for sign in signs {
        let known = output::format::likeness(sign).is_some() || in_words.contains(&sign);
        assert!(known, "{sign:?} has no likeness");
    }
}

#[test]
fn the_help_explains_every_column_reading_and_word_of_the_inspector() {
    let mut app = app(model::sample::radeon(), (200, 60));
    press(&mut app, "?");
    let mut help = text(&draw(&app));
    for _ in 0..4 {
        press(&mut app, "PgDn");
        help.push_str(&text(&draw(&app)));
    }
    let titles = Column::all().map(Column::title);
    let others = [
        "MEM ACT",
        "TEMP",
        "PWR",
        "CLK",
        "FAN",
        "SHARED",
        "PCIe",
        "rx",
        "tx",
        "LIMIT",
        "busiest engine",
        "GTT",
        "KFD",
        "clients",
        "compute units",
        "evicted for",
        "displaced",
        "of its own",
        "driver lists",
        "event reasons",
        "ECC",
        "commit",
    ];
    for word in titles.chain(others) {
        assert!(help.contains(word), "{word}\n{help}");
    }
}

#[test]
fn every_letter_of_the_memory_bar_has_its_name_in_the_legend() {
    for (name, snapshot) in model::sample::all() {
        for size in [(60, 15), (80, 24), (140, 45), (200, 60)] {
            let screen = shown(snapshot.clone(), size, "");
            let Some(legend) = screen.lines().find(|line| line.contains("nattributed ")) else {
                assert!(snapshot.devices.is_empty(), "{name} {size:?}\n{screen}");
                continue;
            };
            for entry in legend
                .split("  ")
                .map(str::trim)
                .filter(|it| !it.is_empty())
            {
                let first = entry.split(' ').next().unwrap_or("");
                let named = first.len() > 1
                    || entry
                        .split(' ')
                        .nth(1)
                        .is_some_and(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1);
                assert!(named, "{entry:?} in {legend:?}");
            }
        }
    }
}

#[test]
fn a_device_is_not_blamed_for_what_its_driver_family_cannot_have() {
    let mut snapshot = model::sample::radeon();
    let card = &mut snapshot.devices[0];
    card.details = model::DeviceDetails::missing(Gap::NoCounter, FROM);
    (card.jpeg, card.ofa) = (missing(Gap::NoCounter), missing(Gap::NoCounter));
    let whole = (200, 200);
    let amd = shown(snapshot, whole, "Enter");
    for words in [
        "ECC",
        "NVLink",
        "VBIOS",
        "persistence",
        "retired",
        "event reasons",
        "driver lists",
        "ofa",
    ] {
        assert!(!amd.contains(words), "{words}\n{amd}");
    }
    assert!(amd.contains("clients") && amd.contains("SPILL"), "{amd}");
    let nvidia = shown(model::sample::workstation(), whole, "Enter");
    for words in [
        "ECC",
        "NVLink",
        "VBIOS",
        "persistence",
        "event reasons",
        "driver lists",
    ] {
        assert!(nvidia.contains(words), "{words}\n{nvidia}");
    }
    assert!(
        !nvidia.contains("SPILL n/a") && !nvidia.contains("clients"),
        "{nvidia}"
    );
    // What was refused is not what cannot be.
    let mut refused = model::sample::workstation();
    refused.devices[0].details = model::DeviceDetails::missing(Gap::Permission, FROM);
    assert!(shown(refused, whole, "Enter").contains("ECC"));
}

#[test]
fn nothing_is_a_part_of_what_is_not_known() {
    let with = |change: fn(&mut model::Device)| {
        let mut snapshot = model::sample::workstation();
        change(&mut snapshot.devices[0]);
        shown(snapshot, (200, 60), "")
    };
    for (change, words) in [
        (
            (|it| it.memory_clock = missing(Gap::NotSupported)) as fn(&mut model::Device),
            "CLK 2610MHz ",
        ),
        (
            |it| it.core_clock = missing(Gap::NotSupported),
            "CLK n/a (memory 11501MHz)",
        ),
        (
            |it| it.power_limit = missing(Gap::NotSupported),
            "PWR 286W ",
        ),
        (
            |it| it.power = missing(Gap::NotSupported),
            "PWR n/a (limit 320W)",
        ),
        (
            |it| it.memory.total = missing(Gap::NotSupported),
            "VRAM 13.8G used ",
        ),
        (
            |it| it.memory.used = missing(Gap::NotSupported),
            "VRAM n/a (total 16.0G)",
        ),
    ] {
        let screen = with(change);
        assert!(screen.contains(words), "{words}\n{screen}");
        assert!(
            !screen.contains("of n/a") && !screen.contains("n/a of"),
            "{screen}"
        );
    }
    // A scale belongs to a curve.
    let no_power = with(|it| it.power = missing(Gap::NotSupported));
    assert!(!no_power.contains("0 to 320W"), "{no_power}");
}

#[test]
fn a_fan_told_in_turns_is_shown_in_turns_and_once() {
    let mut snapshot = model::sample::radeon();
    snapshot.devices[0].fan = missing(Gap::NoCounter);
    let screen = shown(snapshot, (200, 60), "");
    assert!(screen.contains("FAN 1120 rpm"), "{screen}");
    assert_eq!(screen.matches("rpm").count(), 1, "{screen}");
}

#[test]
fn free_memory_without_a_counter_is_computed_and_marked() {
    let mut snapshot = model::sample::radeon();
    snapshot.devices[0].memory.free = missing(Gap::NoCounter);
    let screen = shown(snapshot.clone(), (140, 45), "");
    assert!(screen.contains(". free ~13.2G"), "{screen}");
    // What the driver was asked for and did not say is not made up.
    snapshot.devices[0].memory.free = missing(Gap::TimedOut);
    let screen = shown(snapshot, (140, 45), "");
    assert!(screen.contains(". free n/a"), "{screen}");
}

#[test]
fn the_system_memory_of_a_gpu_is_on_the_screen_where_there_is_any() {
    for size in [(80, 24), (140, 45), (200, 60)] {
        let screen = shown(model::sample::radeon(), size, "");
        assert!(screen.contains("SHARED 900M/15.6G"), "{screen}");
        let screen = shown(model::sample::workstation(), size, "");
        assert!(!screen.contains("SHARED"), "{screen}");
    }
}

#[test]
fn boards_of_one_name_are_told_apart_at_eighty_columns() {
    let mut snapshot = model::sample::servers();
    let heads: BTreeSet<String> = (0..8)
        .map(|index| {
            snapshot.selection = model::Selection::One(index);
            let screen = shown(snapshot.clone(), (80, 24), "");
            let head = screen.lines().next().unwrap_or("");
            head.split("HBM3 ")
                .nth(1)
                .unwrap_or("")
                .split(' ')
                .next()
                .unwrap_or("")
                .to_owned()
        })
        .collect();
    assert_eq!(heads.len(), 8, "{heads:?}");
    let alone = shown(model::sample::workstation(), (80, 24), "");
    assert!(
        !alone.lines().next().unwrap().contains("01:00.0"),
        "{alone}"
    );
}

#[test]
fn a_lower_bound_of_nothing_is_no_figure_and_engines_are_in_the_order_of_numbers() {
    let load = |low: f64| {
        let estimated = model::Estimated {
            low: Percent(low),
            high: Percent(100.0),
            method: model::Method::Derived,
            from: FROM,
        };
        Reading::Known(estimated)
    };
    for (low, words) in [
        (0.0, "busiest engine n/a"),
        (0.2, "busiest engine ≥<1%"),
        (7.0, "busiest engine ≥7%"),
    ] {
        let mut snapshot = model::sample::radeon();
        snapshot.devices[0].visible_loads = vec![("e1".into(), load(low))];
        let screen = shown(snapshot, (240, 60), "");
        assert!(
            screen.contains(words) && !screen.contains("≥0"),
            "{words}\n{screen}"
        );
    }
    let mut snapshot = model::sample::radeon();
    let engines =
        ["e1", "e10", "e2"].map(|name| (name.into(), Reading::measured(Percent(1.0), FROM)));
    for charge in snapshot.processes.iter_mut().flat_map(|it| &mut it.charges) {
        charge.drm.as_mut().unwrap().other_engines = engines.to_vec();
    }
    let screen = shown(snapshot, (200, 60), "Enter");
    assert!(screen.contains("e1 1 · e2 1 · e10 1"), "{screen}");
}

#[test]
fn the_age_of_a_resting_device_is_no_fault_and_stands_on_the_smallest_screen() {
    for (status, mark) in [
        ("asleep", " 10 s old"),
        ("idle, left alone", " 10 s old"),
        ("ok", "! 10 s old"),
    ] {
        for size in [(39, 9), (80, 24)] {
            let mut snapshot = model::sample::workstation();
            snapshot.at.mono_ns += 10_000_000_000;
            snapshot.devices[0].counter_status = status.into();
            let screen = shown(snapshot, size, "");
            assert!(screen.contains(mark), "{status} {size:?}\n{screen}");
            assert_eq!(
                screen.contains("! 10 s"),
                status == "ok",
                "{status} {size:?}\n{screen}"
            );
        }
    }
}

#[test]
fn of_every_cell_without_a_value_the_provenance_has_the_reason_and_of_every_other_its_class() {
    for (name, snapshot) in model::sample::all() {
        let mut app = app(snapshot, (200, 60));
        press(&mut app, "A");
        for row in 0..app.state.rows.len() {
            press(&mut app, "p");
            let shown = text(&draw(&app));
            let cell = |title: &str| {
                let mut lines = shown.lines().map(str::trim_start);
                lines
                    .find(|line| line.starts_with(&format!("{title} ")))
                    .map(str::to_owned)
            };
            for title in ["VRAM", "SPILL", "PAGED", "GPU%", "3D", "NAME", "USER"] {
                let Some(line) = cell(title) else {
                    continue;
                };
                let value = line[title.len()..].trim_start();
                let is_missing =
                    value.starts_with("n/a") || value.starts_with('…') || value.starts_with('(');
                let has_class = ["measured", "inferred", "estimated"]
                    .iter()
                    .any(|it| line.contains(it));
                assert!(
                    is_missing == line.contains("] asked ") || has_class,
                    "{name} {row}: {line}"
                );
                assert!(is_missing || has_class, "{name} {row}: {line}");
            }
            press(&mut app, "p j");
        }
    }
}
