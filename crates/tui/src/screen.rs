//! One frame: state and snapshot in, cells out. Nothing else changes.

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::figure;
use crate::overlay;
use crate::paint::Strip;
use crate::panel::{self, Form, PANELS};
use crate::panels;
use crate::theme;
use crate::view::View;

/// Draws everything into `area`.
pub(crate) fn render(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    if Form::of(area.as_size()) == Form::Line {
        draw_line(view, area, buffer);
    } else {
        for (panel, area) in PANELS.iter().zip(panel::areas(view, area)) {
            if !area.is_empty() {
                panel.draw(view, area, buffer);
            }
        }
    }
    overlay::draw(view, area, buffer);
    if view.look().ascii {
        theme::to_ascii(buffer);
    }
}

/// The whole screen, by itself.
pub(crate) fn drawn(view: View<'_>) -> Buffer {
    let Size { width, height } = view.state.size;
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    render(view, area, &mut buffer);
    buffer
}

/// All that fits on a very small screen.
fn draw_line(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let look = view.look();
    let mut strip = Strip::new(buffer, look, area, 0);
    let Some(device) = view.device() else {
        let text = if view.snapshot.is_some() {
            "no GPU, q:quit"
        } else {
            look.pending()
        };
        strip.put(text, look.plain());
        return;
    };
    let memory = &device.memory;
    let used = figure::measured(&memory.used, look, |used| figure::size(*used));
    let total = figure::measured(&memory.total, look, |total| figure::size(*total));
    let gpu = figure::measured(&device.gpu, look, |gpu| {
        let share = figure::percent(*gpu);
        if share == "n/a" { share } else { share + "%" }
    });
    strip.put("VRAM ", look.plain());
    for (text, style) in figure::part_of(used, total, "total", "", look) {
        strip.put(&text, style);
    }
    strip.put(&format!(" GPU {}", gpu.text), look.plain());
    let read = device.memory.used.known().map(|used| used.from.at);
    if let (Some(snapshot), Some(at)) = (view.snapshot, read) {
        let ms = snapshot.at.ms_since(at);
        if ms > panels::OLD_MS {
            let (text, style) = panels::old(device, &output::format::age(ms), look);
            strip.put(&format!(" {text}"), style);
        }
    }
}
