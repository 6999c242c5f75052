//! The interface as a picture: what a terminal of some size would show, as SVG.
//!
//! Every cell has its place, so that columns stand under each other in any monospaced font. No font is embedded and
//! nothing is loaded.

use std::fmt::Write as _;
use std::sync::Arc;

use model::Snapshot;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use crate::session::Options;
use crate::stage::Stage;
use crate::theme::Theme;

/// Largest picture, in cells a side; a terminal of that size does not exist.
pub const MOST_CELLS: u16 = 500;

/// Pixels of a cell.
const CELL: (u32, u32) = (8, 17);
/// Pixels around the cells.
const MARGIN: u32 = 8;
/// Pixels from the top of a cell to the line that letters stand on.
const BASELINE: u32 = 13;

/// Ground, ordinary text, and the sixteen colours of a terminal.
#[derive(Debug)]
struct Shades {
    ground: (u8, u8, u8),
    text: (u8, u8, u8),
    sixteen: [(u8, u8, u8); 16],
}

const DARK: Shades = Shades {
    ground: (24, 26, 31),
    text: (220, 223, 228),
    sixteen: [
        (40, 44, 52),
        (224, 108, 117),
        (152, 195, 121),
        (229, 192, 123),
        (97, 175, 239),
        (198, 120, 221),
        (86, 182, 194),
        (171, 178, 191),
        (128, 134, 146),
        (240, 140, 150),
        (180, 220, 150),
        (245, 215, 150),
        (140, 200, 250),
        (220, 155, 240),
        (120, 210, 220),
        (255, 255, 255),
    ],
};

const LIGHT: Shades = Shades {
    ground: (255, 255, 255),
    text: (35, 38, 45),
    sixteen: [
        (0, 0, 0),
        (170, 20, 20),
        (20, 110, 40),
        (135, 95, 0),
        (20, 70, 180),
        (130, 40, 150),
        (0, 100, 115),
        (110, 115, 120),
        (100, 105, 112),
        (190, 50, 50),
        (40, 130, 60),
        (150, 110, 10),
        (50, 100, 200),
        (150, 60, 170),
        (20, 120, 135),
        (255, 255, 255),
    ],
};

/// What a terminal of some size shows.
#[derive(Debug)]
pub struct Picture {
    buffer: Buffer,
    shades: &'static Shades,
}

impl Picture {
    /// The screen of so many columns and rows after these moments.
    pub fn of(
        options: &Options,
        (width, height): (u16, u16),
        snapshots: impl IntoIterator<Item = Arc<Snapshot>>,
    ) -> Self {
        let mut stage = Stage::new(
            options.clone(),
            (width.min(MOST_CELLS), height.min(MOST_CELLS)),
        );
        for snapshot in snapshots {
            stage.take(snapshot);
        }
        let is_light = options.theme == Theme::Light;
        Self {
            buffer: stage.buffer(),
            shades: if is_light { &LIGHT } else { &DARK },
        }
    }

    /// As SVG. `title` is what the picture is called for those who do not see it.
    pub fn svg(&self, title: &str) -> String {
        draw(&self.buffer, self.shades, title)
    }

    /// As text, a line a row, without the blanks at its end.
    pub fn text(&self) -> String {
        text(&self.buffer)
    }
}

/// The rows of a screen as text.
pub(crate) fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let mut out = String::new();
    for line in buffer.content.chunks(width) {
        out.push_str(symbols(line).trim_end());
        out.push('\n');
    }
    out
}

/// What stands in a run of cells. A wide character covers the cell behind it.
fn symbols(cells: &[Cell]) -> String {
    let mut covered = 0;
    let mut text = String::new();
    for cell in cells {
        if covered > 0 {
            covered -= 1;
            continue;
        }
        covered = crate::paint::width(cell.symbol()).saturating_sub(1);
        text.push_str(cell.symbol());
    }
    text
}

fn draw(buffer: &Buffer, shades: &Shades, title: &str) -> String {
    let (columns, rows) = (u32::from(buffer.area.width), u32::from(buffer.area.height));
    let (width, height) = (columns * CELL.0 + 2 * MARGIN, rows * CELL.1 + 2 * MARGIN);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"13\" \
         xml:space=\"preserve\">\n<title>{}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>",
        escaped(title),
        hex(shades.ground)
    );
    let cells = usize::from(buffer.area.width).max(1);
    for (line, y) in buffer.content.chunks(cells).zip(0_u32..) {
        let top = MARGIN + y * CELL.1;
        grounds(line, shades, top, &mut out);
        letters(line, shades, top, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

/// Blocks behind the letters, those of one colour in one.
fn grounds(line: &[Cell], shades: &Shades, top: u32, out: &mut String) {
    let mut x = 0;
    for run in line.chunk_by(|a, b| colors(a, shades).1 == colors(b, shades).1) {
        let cells = u32::from(model::units::saturating_u16(run.len()));
        let ground = run.first().map(|cell| colors(cell, shades).1);
        if let Some(ground) = ground.filter(|ground| *ground != shades.ground) {
            let _ = writeln!(
                out,
                "<rect x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
                MARGIN + x * CELL.0,
                cells * CELL.0,
                CELL.1,
                hex(ground)
            );
        }
        x += cells;
    }
}

/// The letters, those of one style in one text whose length is that of its cells.
fn letters(line: &[Cell], shades: &Shades, top: u32, out: &mut String) {
    let style = |cell: &Cell| {
        let marks = Modifier::BOLD | Modifier::ITALIC | Modifier::UNDERLINED;
        (colors(cell, shades).0, cell.modifier & marks)
    };
    let mut x = 0;
    for run in line.chunk_by(|a, b| style(a) == style(b)) {
        let cells = u32::from(model::units::saturating_u16(run.len()));
        let from = MARGIN + x * CELL.0;
        x += cells;
        let text = symbols(run);
        let Some(first) = run.first().filter(|_| !text.trim().is_empty()) else {
            continue;
        };
        let (color, marks) = style(first);
        let mut more = String::new();
        for (mark, words) in [
            (Modifier::BOLD, " font-weight=\"bold\""),
            (Modifier::ITALIC, " font-style=\"italic\""),
            (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        ] {
            if marks.contains(mark) {
                more.push_str(words);
            }
        }
        let _ = writeln!(
            out,
            "<text x=\"{from}\" y=\"{}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{more}>{}</text>",
            top + BASELINE,
            cells * CELL.0,
            hex(color),
            escaped(&text)
        );
    }
}

/// Letter and ground of a cell.
fn colors(cell: &Cell, shades: &Shades) -> ((u8, u8, u8), (u8, u8, u8)) {
    let text = rgb(cell.fg, shades).unwrap_or(shades.text);
    let ground = rgb(cell.bg, shades).unwrap_or(shades.ground);
    if cell.modifier.contains(Modifier::REVERSED) {
        (ground, text)
    } else {
        (text, ground)
    }
}

fn rgb(color: Color, shades: &Shades) -> Option<(u8, u8, u8)> {
    let place = match color {
        Color::Rgb(red, green, blue) => return Some((red, green, blue)),
        Color::Indexed(number @ 0..16) => usize::from(number),
        Color::Indexed(number) => return Some(indexed(number)),
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        Color::Reset => return None,
    };
    shades.sixteen.get(place).copied()
}

/// A colour of the cube of 216 or of the 24 grays behind it.
const fn indexed(number: u8) -> (u8, u8, u8) {
    const fn level(step: u8) -> u8 {
        if step == 0 { 0 } else { 55 + 40 * step }
    }
    if number >= 232 {
        let gray = 8 + 10 * (number - 232);
        (gray, gray, gray)
    } else {
        let place = number.saturating_sub(16);
        (level(place / 36), level(place / 6 % 6), level(place % 6))
    }
}

fn hex((red, green, blue): (u8, u8, u8)) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text between tags; what XML does not allow at all is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::options;

    fn picture(theme: Theme, size: (u16, u16)) -> String {
        let snapshots = [Arc::new(model::sample::workstation())];
        Picture::of(&options(theme, false), size, snapshots).svg("a <title> & \u{1b}more")
    }

    #[test]
    fn every_line_of_the_screen_stands_in_the_picture() {
        let text = picture(Theme::Auto, (80, 24));
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
        assert!(text.contains("<title>a &lt;title&gt; &amp; more</title>"));
        for word in ["llama-server", "Qwen3-14B", "Processes", "10.6G", "9.12G"] {
            assert_eq!(text.contains(word), word != "10.6G", "{word}");
        }
        assert!(text.contains("viewBox=\"0 0 656 424\""));
        // The selected row is a band of the colour of the text.
        assert!(text.contains("height=\"17\" fill=\"#dcdfe4\""));
    }

    #[test]
    fn texts_are_as_long_as_their_cells_and_lie_within_the_picture() {
        for theme in [Theme::Auto, Theme::Light, Theme::ColorBlind, Theme::Mono] {
            let text = picture(theme, (140, 45));
            let number = |tag: &str, name: &str| -> u32 {
                let from = tag.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
                tag[from..].split('"').next().unwrap().parse().unwrap()
            };
            let tags = text.lines().filter(|line| line.starts_with("<text"));
            let mut count = 0;
            for tag in tags {
                count += 1;
                let (x, length) = (number(tag, "x"), number(tag, "textLength"));
                assert!(x + length <= 140 * CELL.0 + MARGIN, "{tag}");
                assert!(number(tag, "y") < 45 * CELL.1 + MARGIN, "{tag}");
            }
            assert!(count > 45, "{theme:?}");
        }
    }

    #[test]
    fn no_size_is_too_small_and_the_largest_is_bounded() {
        for size in [(0, 0), (1, 1), (1, 500), (u16::MAX, 3)] {
            let text = picture(Theme::Auto, size);
            assert!(text.ends_with("</svg>\n"));
        }
        assert!(picture(Theme::Auto, (u16::MAX, 1)).contains("width=\"4016\""));
    }

    #[test]
    fn colours_beyond_sixteen_are_those_of_the_cube_and_the_grays() {
        assert_eq!(indexed(16), (0, 0, 0));
        assert_eq!(indexed(231), (255, 255, 255));
        assert_eq!(indexed(196), (255, 0, 0));
        assert_eq!(indexed(255), (238, 238, 238));
    }
}
