//! The keys that matter most, and where there is room the legend of the marks.

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::paint::{Strip, cut, width};
use crate::panel::{Form, Name, Panel, Room};
use crate::prompt::Prompt;
use crate::session::Session;
use crate::view::View;

/// See the module.
pub(crate) struct Footer;

/// Key and word, most important first.
const KEYS: &[(&str, &str)] = &[
    ("F1", "Help"),
    ("q", "Quit"),
    ("Enter", "Open"),
    ("/", "Filter"),
    ("s", "Sort"),
    ("m", "Mark"),
    ("f", "Freeze"),
    ("i", "Inspector"),
    ("n", "Notices"),
];

/// More keys where there are several devices.
const SEVERAL: &[(&str, &str)] = &[("D", "GPUs"), ("A", "All")];

/// The keys where there is none.
const NONE: &[(&str, &str)] = &[("F1", "Help"), ("q", "Quit"), ("n", "Notices")];

/// One more where this machine is watched: the demonstration.
const DEMO: &[(&str, &str)] = &[("Enter", "Demo")];

const LEGEND: &str = "1.2G measured  1.2G r reported  ~1.2G estimated  * ? matched  n/a no reading";

impl Panel for Footer {
    fn name(&self) -> Name {
        Name::Footer
    }

    fn room(&self, view: View<'_>, size: Size) -> Room {
        match Form::of(size) {
            Form::Full => Room::Lines(1),
            Form::Small if view.state.prompt.is_some() => Room::Lines(1),
            Form::Small | Form::Line => Room::Nothing,
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let look = view.look();
        let mut strip = Strip::new(buffer, look, area, 0);
        strip.skip(1);
        if let Some(prompt) = &view.state.prompt {
            draw_prompt(view, prompt, &mut strip);
            return;
        }
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

/// The line that is typed, with what is wrong in it at its right.
fn draw_prompt(view: View<'_>, prompt: &Prompt, strip: &mut Strip<'_>) {
    let look = view.look();
    let said = match (&prompt.error, &view.state.answer) {
        (Some(error), _) => Some(error.to_string()),
        (None, answer) => answer.clone(),
    };
    strip.put(&format!("{}: ", prompt.purpose.label()), look.bold());
    let (before, behind) = prompt.parts();
    // The place where one types stays on the screen; at most half of it goes to what is wrong.
    let half = strip.room() / 2;
    if let Some(said) = said {
        let room = strip
            .room()
            .saturating_sub(width(&before) + width(&behind) + 3);
        let said = cut(&said, room.max(half), look);
        strip.put_right(" ", look.plain());
        strip.put_right(&said, look.warning());
        strip.put_right(" ", look.plain());
    }
    let room = strip.room().saturating_sub(1);
    let mut skipped = before.as_str();
    while width(skipped) > room {
        let mut rest = skipped.chars();
        rest.next();
        skipped = rest.as_str();
    }
    strip.put(skipped, look.plain());
    let mut behind = behind.chars();
    let under = behind.next().map_or_else(|| " ".to_owned(), String::from);
    strip.put(&under, look.reversed());
    strip.put(behind.as_str(), look.plain());
}
