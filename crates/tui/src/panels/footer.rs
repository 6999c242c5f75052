//! The keys that matter most, and where there is room the legend of the marks.

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::paint::{Strip, width};
use crate::panel::{Form, Name, Panel, Room};
use crate::session::Session;
use crate::view::View;

/// See the module.
pub(crate) struct Footer;

/// Key and word, most important first.
const KEYS: &[(&str, &str)] = &[
    ("F1", "Help"),
    ("q", "Quit"),
    ("Enter", "Open"),
    ("s", "Sort"),
    ("<>", "Column"),
    ("r", "Reverse"),
    ("i", "Inspector"),
    ("n", "Notices"),
];

/// More keys where there are several devices.
const SEVERAL: &[(&str, &str)] = &[("D", "Next GPU"), ("A", "All")];

/// The keys where there is none.
const NONE: &[(&str, &str)] = &[("F1", "Help"), ("q", "Quit"), ("n", "Notices")];

/// One more where this machine is watched: the demonstration.
const DEMO: &[(&str, &str)] = &[("Enter", "Demo")];

const LEGEND: &str = "1.2G measured  1.2G r reported  ~1.2G estimated  * ? matched  n/a no reading";

impl Panel for Footer {
    fn name(&self) -> Name {
        Name::Footer
    }

    fn room(&self, _view: View<'_>, size: Size) -> Room {
        match Form::of(size) {
            Form::Full => Room::Lines(1),
            Form::Small | Form::Line => Room::Nothing,
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let look = view.look();
        let mut strip = Strip::new(buffer, look, area, 0);
        strip.skip(1);
        if let Some(answer) = &view.state.answer {
            strip.put(answer, look.warning());
            return;
        }
        let several = view.snapshot.is_some_and(|it| it.devices.len() > 1);
        let live = view.state.session == Session::Live;
        let (keys, more) = match (view.has_no_device(), several) {
            (true, _) if live => (NONE, DEMO),
            (true, _) => (NONE, &[][..]),
            (false, true) => (KEYS, SEVERAL),
            (false, false) => (KEYS, &[][..]),
        };
        for (key, word) in keys.iter().chain(more) {
            if width(key) + width(word) + 1 > strip.room() {
                break;
            }
            strip.put(key, look.bold());
            strip.put(word, look.reversed());
            strip.put_whole(" ", look.plain());
        }
        if width(LEGEND) + 4 < strip.room() {
            strip.put_right(" ", look.plain());
            strip.put_right(LEGEND, look.dim());
        }
    }
}
