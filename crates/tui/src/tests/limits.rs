//! No size, no sample and no key makes it panic, and how fast it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::Event;
use proptest::prelude::*;
use ratatui::buffer::Buffer;

use super::{app, draw, empty, options, press, text};
use crate::session::Message;
use crate::theme::Theme;

const KEYS: [&str; 20] = [
    "j", "k", "G", "g", "PgDn", "PgUp", "Enter", "Esc", "?", "n", "s", "<", ">", "r", "i", "A",
    "D", "3", "Tab", "F6",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn nothing_panics(
        sample in 0_usize..6,
        other in 0_usize..6,
        size in (0_u16..220, 0_u16..70),
        later in (0_u16..100, 0_u16..30),
        keys in proptest::collection::vec(0_usize..KEYS.len(), 0..12),
        mono: bool,
        ascii: bool,
    ) {
        let theme = if mono { Theme::Mono } else { Theme::Auto };
        let samples = model::sample::all();
        let mut app = empty(&options(theme, ascii), size);
        draw(&app);
        app.update(Message::Snapshot(Arc::new(samples[sample].1.clone())));
        draw(&app);
        for key in &keys {
            press(&mut app, KEYS[*key]);
            draw(&app);
        }
        app.update(Message::Input(Event::Resize(later.0, later.1)));
        draw(&app);
        app.update(Message::Snapshot(Arc::new(samples[other].1.clone())));
        for key in &keys {
            press(&mut app, KEYS[*key]);
        }
        let buffer = draw(&app);
        prop_assert!(!ascii || text(&buffer).is_ascii());
    }
}

#[test]
fn tiny_screens_of_every_sample() {
    for (_, snapshot) in model::sample::all() {
        for width in 0..12 {
            for height in 0..12 {
                for keys in ["", "?", "Enter", "s", "n"] {
                    let mut app = app(snapshot.clone(), (width, height));
                    press(&mut app, keys);
                    draw(&app);
                }
            }
        }
    }
}

#[test]
fn no_control_or_direction_character_reaches_a_cell() {
    for keys in ["", "Enter", "n", "j j Enter"] {
        let mut app = app(model::sample::hostile(), (140, 45));
        press(&mut app, keys);
        let screen = text(&draw(&app));
        let bad = |c: &char| {
            (c.is_control() && *c != '\n')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert_eq!(screen.chars().find(bad), None);
    }
}

/// Prints the cost of a refresh: `cargo test --release -- --ignored --nocapture cost`.
#[test]
#[ignore = "a measurement, not a check"]
#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn cost_of_a_refresh() {
    use ratatui::Terminal;
    use ratatui::backend::CrosstermBackend;
    let snapshot = Arc::new(model::sample::workstation());
    let mut app = app((*snapshot).clone(), (140, 45));
    let area = ratatui::layout::Rect::new(0, 0, 140, 45);
    let terminal = Terminal::with_options(
        CrosstermBackend::new(std::io::sink()),
        ratatui::TerminalOptions {
            viewport: ratatui::Viewport::Fixed(area),
        },
    );
    let mut terminal = terminal.unwrap();
    let rounds = 2000_u32;
    let mut costs = [Duration::ZERO; 3];
    let mut buffer = Buffer::empty(area);
    for round in 0..rounds {
        let mut next = (*snapshot).clone();
        next.devices[0].gpu = next.devices[0]
            .gpu
            .map(|_| model::Percent(f64::from(round % 100)));
        let message = Message::Snapshot(Arc::new(next));
        let start = Instant::now();
        app.update(message);
        costs[0] += start.elapsed();
        let start = Instant::now();
        buffer.reset();
        crate::screen::render(app.view(), area, &mut buffer);
        costs[1] += start.elapsed();
        let start = Instant::now();
        terminal
            .draw(|frame| crate::screen::render(app.view(), area, frame.buffer_mut()))
            .unwrap();
        costs[2] += start.elapsed();
    }
    let [update, render, draw] = costs.map(|cost| cost / rounds);
    println!("update {update:?}, render {render:?}, render and send the difference {draw:?}");
}
