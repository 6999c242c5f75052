//! Labelled paragraphs, wrapped to a width. Nothing is cut: a word that is longer than a line goes on
//! in the next one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::paint::{Strip, width};
use crate::theme::Look;

/// A blank at which no line ends.
pub(crate) const GLUE: char = '\u{a0}';

/// Makes `text` one word.
pub(crate) fn glued(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// Text in one style after another, behind a label.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paragraph {
    label: String,
    label_style: Style,
    indent: usize,
    pieces: Vec<(String, Style)>,
}

impl Paragraph {
    /// Begins with `label`, and continues `indent` cells from the left.
    pub(crate) fn new(label: &str, label_style: Style, indent: usize) -> Self {
        Self {
            label: label.to_owned(),
            label_style,
            indent,
            pieces: Vec::new(),
        }
    }

    /// Adds text.
    pub(crate) fn put(&mut self, text: impl Into<String>, style: Style) {
        self.pieces.push((text.into(), style));
    }

    /// With text added.
    pub(crate) fn with(mut self, text: impl Into<String>, style: Style) -> Self {
        self.put(text, style);
        self
    }

    /// Whether there is nothing behind the label.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The lines that it takes in `cells`.
    fn wrap(&self, cells: usize, out: &mut Vec<Line<'static>>) {
        let cells = cells.max(1);
        let indent = self.indent.min(cells.saturating_sub(8));
        let mut line = Filling::new(indent, cells);
        line.begin(&self.label, self.label_style);
        // Pieces follow each other without a blank of their own, and no line ends between them.
        let mut word: Word = Vec::new();
        for (text, style) in &self.pieces {
            for (i, part) in text.split(' ').enumerate() {
                if i > 0 {
                    line.word(&mut word, out);
                    line.blank();
                }
                if !part.is_empty() {
                    word.push((part.replace(GLUE, " "), *style));
                }
            }
        }
        line.word(&mut word, out);
        line.end(out);
    }
}

/// What no line ends in, unless it is longer than a line.
type Word = Vec<(String, Style)>;

/// A line that is being filled.
struct Filling {
    indent: usize,
    cells: usize,
    spans: Vec<Span<'static>>,
    used: usize,
    blank: bool,
    fresh: bool,
}

impl Filling {
    fn new(indent: usize, cells: usize) -> Self {
        Self {
            indent,
            cells,
            spans: Vec::new(),
            used: 0,
            blank: false,
            fresh: true,
        }
    }

    fn begin(&mut self, label: &str, style: Style) {
        if label.is_empty() {
            self.pad();
            return;
        }
        self.spans.push(Span::styled(label.to_owned(), style));
        self.used = width(label);
        if self.used >= self.indent {
            self.blank = true;
        } else {
            self.pad();
        }
    }

    fn pad(&mut self) {
        let missing = self.indent.saturating_sub(self.used);
        if missing > 0 {
            self.spans.push(Span::raw(" ".repeat(missing)));
            self.used += missing;
        }
    }

    fn blank(&mut self) {
        if self.fresh {
            return;
        }
        if self.blank && self.used < self.cells {
            // A second blank in a row is meant.
            self.spans.push(Span::raw(" "));
            self.used += 1;
        }
        self.blank = true;
    }

    fn word(&mut self, word: &mut Word, out: &mut Vec<Line<'static>>) {
        if word.is_empty() {
            return;
        }
        let wanted: usize = word.iter().map(|(text, _)| width(text)).sum();
        if self.used + wanted + usize::from(self.blank) > self.cells && !self.fresh {
            self.end(out);
            self.pad();
        }
        if std::mem::take(&mut self.blank) {
            self.spans.push(Span::raw(" "));
            self.used += 1;
        }
        for (text, style) in word.drain(..) {
            self.fresh = false;
            let wanted = width(&text);
            if self.used + wanted <= self.cells {
                self.spans.push(Span::styled(text, style));
                self.used += wanted;
            } else {
                self.pour(&text, style, out);
            }
        }
    }

    /// Goes on in the next line where this one is full.
    fn pour(&mut self, text: &str, style: Style, out: &mut Vec<Line<'static>>) {
        let mut piece = String::new();
        for c in text.chars() {
            let more = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
            if self.used + more > self.cells && self.used > self.indent {
                let full = std::mem::take(&mut piece);
                self.spans.push(Span::styled(full, style));
                self.end(out);
                self.pad();
                self.fresh = false;
            }
            piece.push(c);
            self.used += more;
        }
        self.spans.push(Span::styled(piece, style));
    }

    fn end(&mut self, out: &mut Vec<Line<'static>>) {
        out.push(Line::from(std::mem::take(&mut self.spans)));
        self.used = 0;
        self.blank = false;
        self.fresh = true;
    }
}

/// All lines of `paragraphs` in `cells`.
pub(crate) fn wrap(paragraphs: &[Paragraph], cells: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::with_capacity(paragraphs.len());
    for paragraph in paragraphs {
        paragraph.wrap(usize::from(cells), &mut lines);
    }
    lines
}

/// Draws `lines` from `first` on, one cell from the left.
pub(crate) fn draw(buffer: &mut Buffer, look: Look, area: Rect, lines: &[Line<'_>], first: usize) {
    for (y, line) in (0..area.height).zip(lines.iter().skip(first)) {
        let mut strip = Strip::new(buffer, look, area, y);
        strip.skip(1);
        for span in line {
            strip.put(&span.content, span.style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(paragraph: &Paragraph, cells: u16) -> Vec<String> {
        wrap(std::slice::from_ref(paragraph), cells)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn words_wrap_under_the_text_and_long_ones_go_on() {
        let plain = Style::new();
        let it = Paragraph::new("Cmd", plain, 5)
            .with("one two", plain)
            .with(" three", plain);
        assert_eq!(text(&it, 13), ["Cmd  one two", "     three"]);
        assert_eq!(text(&it, 80), ["Cmd  one two three"]);
        let long = Paragraph::new("", plain, 2).with("abcdefghijklmnop x", plain);
        assert_eq!(text(&long, 12), ["  abcdefghij", "  klmnop x"]);
        let glued = Paragraph::new("", plain, 0).with(format!("a {}", glued("9.12G *")), plain);
        assert_eq!(text(&glued, 8), ["a", "9.12G *"]);
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_and_no_line_is_too_long(words in "[a-z ]{0,60}", cells in 12_u16..40) {
            let it = Paragraph::new("", Style::new(), 3).with(words.clone(), Style::new());
            let lines = text(&it, cells);
            let bare = |text: &str| text.replace(' ', "");
            proptest::prop_assert_eq!(bare(&lines.concat()), bare(&words));
            proptest::prop_assert!(lines.iter().all(|line| width(line) <= usize::from(cells)));
        }
    }
}
