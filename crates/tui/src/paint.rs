//! Writing text into cells: clipped, never silently cut, never outside the buffer.

use crate::glyph;
pub(crate) use crate::glyph::width;
use crate::theme::Look;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// One line of the screen, written from the left and from the right until both meet.
pub(crate) struct Strip<'a> {
    buffer: &'a mut Buffer,
    look: Look,
    y: u16,
    x: u16,
    end: u16,
}

impl<'a> Strip<'a> {
    /// Line `line` of `area`. Outside the area or the buffer it has no room.
    pub(crate) fn new(buffer: &'a mut Buffer, look: Look, area: Rect, line: u16) -> Self {
        let y = area.y.saturating_add(line);
        let inside = area.intersection(buffer.area);
        let exists = line < area.height && y >= inside.top() && y < inside.bottom();
        Self {
            buffer,
            look,
            y,
            x: inside.left(),
            end: if exists {
                inside.right()
            } else {
                inside.left()
            },
        }
    }

    /// Cells that are left.
    pub(crate) fn room(&self) -> usize {
        usize::from(self.end.saturating_sub(self.x))
    }

    /// Writes `text`; what does not fit ends in an ellipsis.
    pub(crate) fn put(&mut self, text: &str, style: Style) {
        let room = self.room();
        if width(text) <= room {
            self.write(text, room, style);
        } else {
            let cut = cut(text, room, self.look);
            self.write(&cut, room, style);
        }
    }

    /// Writes `text` if all of it fits; says whether it did.
    pub(crate) fn put_whole(&mut self, text: &str, style: Style) -> bool {
        let fits = width(text) <= self.room();
        if fits {
            self.write(text, self.room(), style);
        }
        fits
    }

    /// Writes `text` at the right end if it fits with a space before it; says whether it did.
    pub(crate) fn put_right(&mut self, text: &str, style: Style) -> bool {
        let wanted = width(text);
        let fits = wanted < self.room();
        if fits {
            let start = self.end - model::units::saturating_u16(wanted);
            self.place(start, text, wanted, style);
            self.end = start;
        }
        fits
    }

    /// Leaves `cells` blank.
    pub(crate) fn skip(&mut self, cells: u16) {
        self.x = self.x.saturating_add(cells).min(self.end);
    }

    /// Writes `text` in a field of `cells`, cut or padded.
    pub(crate) fn field(&mut self, text: &str, cells: u16, right: bool, style: Style) {
        let cells = cells.min(self.end.saturating_sub(self.x));
        let start = self.x;
        let wanted = width(text);
        if wanted <= usize::from(cells) {
            if right {
                self.x = start + cells - model::units::saturating_u16(wanted);
            }
            self.write(text, usize::from(cells), style);
        } else {
            let cut = cut(text, usize::from(cells), self.look);
            self.write(&cut, usize::from(cells), style);
        }
        self.x = start + cells;
    }

    /// Fills what is left with `glyph`, which is one cell wide.
    pub(crate) fn fill(&mut self, glyph: &str, style: Style) {
        while self.x < self.end {
            if let Some(cell) = self.buffer.cell_mut((self.x, self.y)) {
                cell.set_symbol(glyph).set_style(style);
            }
            self.x += 1;
        }
    }

    /// Adds `style` to the whole line of `area`.
    pub(crate) fn restyle(&mut self, area: Rect, style: Style) {
        let line = Rect::new(area.x, self.y, area.width, 1);
        self.buffer.set_style(line.intersection(area), style);
    }

    fn write(&mut self, text: &str, room: usize, style: Style) {
        if room > 0 {
            self.x = self.place(self.x, text, room, style).min(self.end);
        }
    }

    /// Writes at most `room` cells from `x` on; where it ends.
    fn place(&mut self, mut x: u16, text: &str, room: usize, style: Style) -> u16 {
        if !glyph::is_plain_text(text) {
            let (end, _) = self.buffer.set_stringn(x, self.y, text, room, style);
            return end;
        }
        // Most text is: no need to look for characters that belong together.
        for c in text.chars().take(room) {
            let Some(cell) = self.buffer.cell_mut((x, self.y)) else {
                break;
            };
            cell.set_char(c).set_style(style);
            x += 1;
        }
        x
    }
}

/// A rule across `area`'s line with a title at the left and a note at the right.
pub(crate) fn rule(
    buffer: &mut Buffer,
    look: Look,
    area: Rect,
    line: u16,
    title: &str,
    notes: &[&str],
) {
    let mut strip = Strip::new(buffer, look, area, line);
    strip.put_whole("─", look.rule());
    strip.put(" ", look.plain());
    strip.put(title, look.title());
    strip.put_whole(" ", look.plain());
    // The rightmost note is the least important one.
    let mut shown = String::new();
    for note in notes {
        let longer = width(&shown) + width(note) + 6;
        if longer >= strip.room() {
            break;
        }
        if !shown.is_empty() {
            shown.push_str("  ");
        }
        shown.push_str(note);
    }
    if !shown.is_empty() {
        strip.put_right("─", look.rule());
        strip.put_right(&format!(" {shown} "), look.plain());
    }
    strip.fill("─", look.rule());
}

/// `text` in at most `room` cells, its end replaced by an ellipsis if it is longer.
pub(crate) fn cut(text: &str, room: usize, look: Look) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mark = look.ellipsis();
    let Some(keep) = room.checked_sub(width(mark)) else {
        return mark.chars().take(room).collect();
    };
    let mut out = take(text.chars(), keep);
    out.push_str(mark);
    out
}

/// `text` in at most `room` cells, its middle replaced by an ellipsis: of a model's name the end
/// matters as much as the beginning.
pub(crate) fn cut_middle(text: &str, room: usize, look: Look) -> String {
    let mark = look.ellipsis();
    if width(text) <= room || room < width(mark) + 4 {
        return cut(text, room, look);
    }
    let keep = room - width(mark);
    let head = take(text.chars(), keep.div_ceil(2));
    let tail: String = take(text.chars().rev(), keep / 2).chars().rev().collect();
    format!("{head}{mark}{tail}")
}

fn take(chars: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += unicode_width::UnicodeWidthChar::width(*c).unwrap_or(0);
            used <= room
        })
        .collect()
}
