//! No size, no sample and no key makes it panic, and how fast it is.

use std::sync::Arc;

use crossterm::event::Event;
use proptest::prelude::*;

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
