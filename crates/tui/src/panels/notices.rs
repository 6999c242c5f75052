//! What the user should know, gravest first.

use model::{Device, Severity};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::style::Style;

use crate::figure;
use crate::paint::{Strip, rule};
use crate::panel::{Form, Name, Panel, Room};
use crate::theme::Look;
use crate::view::View;

/// See the module.
pub(crate) struct Notices;

/// A notice ready to be drawn.
pub(crate) struct Note {
    /// How grave.
    pub(crate) severity: Severity,
    /// What it is about.
    pub(crate) subject: String,
    /// The sentence.
    pub(crate) text: String,
}

impl Note {
    /// The sign before it; it tells the severity without colour.
    pub(crate) const fn sign(&self) -> &'static str {
        match self.severity {
            Severity::Info => "i",
            Severity::Warning => "!",
        }
    }

    /// Its style.
    pub(crate) fn style(&self, look: Look) -> Style {
        match self.severity {
            Severity::Info => look.label(),
            Severity::Warning => look.warning(),
        }
    }
}

impl Panel for Notices {
    fn name(&self) -> Name {
        Name::Notices
    }

    fn room(&self, view: View<'_>, size: Size) -> Room {
        let count = model::units::saturating_u16(count(view));
        if Form::of(size) != Form::Full || view.has_no_device() || count == 0 {
            return Room::Nothing;
        }
        let most = if size.height < 30 { 1 } else { 3 };
        let lines = count.min(most);
        // The rule costs a line that a low screen does not have.
        let rule = u16::from(size.height >= 30);
        Room::Flexible {
            wanted: lines + rule,
            least: 1,
            rank: 1,
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let look = view.look();
        let notes = notes(view);
        let top = u16::from(area.height > 1);
        let page = usize::from(area.height - top.min(area.height));
        let hidden = notes.len().saturating_sub(page);
        let more = format!("+{hidden} more, n:all");
        if top > 0 {
            let title = format!("Notices {}", notes.len());
            let right = if hidden > 0 { more.as_str() } else { "n:all" };
            rule(buffer, look, area, 0, &title, &[right]);
        }
        for (line, note) in (top..area.height).zip(&notes) {
            let mut strip = Strip::new(buffer, look, area, line);
            strip.skip(1);
            if top == 0 && hidden > 0 {
                strip.put_right(&format!(" {more} "), look.dim());
            }
            strip.put(note.sign(), note.style(look));
            strip.put(" ", look.plain());
            strip.put(&note.text, look.plain());
        }
    }
}

/// The word of a status that tells the rest.
fn first_word(status: &str) -> &str {
    status.split([' ', ',', ';']).next().unwrap_or("")
}

/// The mark of an old reading. Of a device that rests it is as old as its sleep, and no fault.
pub(crate) fn old(device: &Device, age: &str, look: Look) -> (String, Style) {
    match first_word(device.counter_status.trim()) {
        "asleep" | "idle" => (format!("{age} old"), look.dim()),
        _ => (format!("! {age} old"), look.warning()),
    }
}

fn device_status(view: View<'_>) -> Option<(u32, &str)> {
    let device = view.device()?;
    let status = device.counter_status.trim();
    (!status.is_empty() && status != "ok").then_some((device.index, status))
}

fn count(view: View<'_>) -> usize {
    let own = usize::from(view.state.ended.is_some()) + usize::from(device_status(view).is_some());
    own + view.snapshot.map_or(0, |snapshot| snapshot.notices.len())
}

/// All notices: why the session ended, the snapshot's, and the state of the device that is shown.
pub(crate) fn notes(view: View<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(why) = &view.state.ended {
        notes.push(Note {
            severity: Severity::Warning,
            subject: "session".to_owned(),
            text: figure::clean(why).into_owned(),
        });
    }
    if let Some((index, status)) = device_status(view) {
        // A device that rests, or works but is split, needs nobody's attention.
        let severity = match first_word(status) {
            "ok" | "asleep" | "idle" | "awake" => Severity::Info,
            _ => Severity::Warning,
        };
        notes.push(Note {
            severity,
            subject: format!("gpu:{index}"),
            text: format!("GPU {index}: {}", figure::clean(status)),
        });
    }
    for notice in view.snapshot.iter().flat_map(|snapshot| &snapshot.notices) {
        notes.push(Note {
            severity: notice.severity,
            subject: figure::clean(&notice.subject).into_owned(),
            text: figure::clean(&notice.text).into_owned(),
        });
    }
    notes.sort_by_key(|note| std::cmp::Reverse(note.severity));
    notes
}
