//! What is drawn and what the terminal shows, and the difference between both.

use std::io;

use ratatui::backend::{Backend, ClearType};
use ratatui::buffer::{Buffer, Cell, CellDiffOption};
use ratatui::layout::{Rect, Size};

use crate::glyph;

/// Two pictures: the next one and the one that is on the screen.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    next: Buffer,
    shown: Buffer,
    /// Cells that differ, by their place in the buffer; kept for its room.
    changed: Vec<usize>,
}

impl Canvas {
    /// Takes over another size; says whether it is another.
    pub(crate) fn resize(&mut self, size: Size) -> bool {
        let area = Rect::new(0, 0, size.width, size.height);
        let other = self.next.area != area;
        if other {
            self.next = Buffer::empty(area);
            self.shown = Buffer::empty(area);
        }
        other
    }

    /// Where the next picture is drawn; blank.
    pub(crate) const fn next(&mut self) -> &mut Buffer {
        &mut self.next
    }

    /// Sends what differs to the terminal.
    pub(crate) fn send<B: Backend<Error = io::Error>>(
        &mut self,
        backend: &mut B,
    ) -> io::Result<()> {
        let Self {
            next,
            shown,
            changed,
        } = self;
        changed.clear();
        if find_changed(shown, next, changed) {
            let (width, content) = (usize::from(next.area.width).max(1), &next.content);
            let cells = changed.iter().filter_map(|place| {
                let [x, y] = [place % width, place / width].map(model::units::saturating_u16);
                Some((x, y, content.get(*place)?))
            });
            backend.draw(cells)?;
        } else {
            backend.draw(shown.diff_iter(next))?;
        }
        backend.hide_cursor()?;
        std::mem::swap(next, shown);
        next.reset();
        backend.flush()
    }

    /// Wipes the terminal, whatever it shows.
    pub(crate) fn blank<B: Backend<Error = io::Error>>(
        &mut self,
        backend: &mut B,
    ) -> io::Result<()> {
        backend.clear_region(ClearType::All)?;
        self.shown.reset();
        Ok(())
    }
}

/// Finds the cells that differ. `false` where a line that differs holds characters that are not plain: of wide ones
/// and those that join, what has to be drawn anew depends on more than the cell, and the library knows it.
fn find_changed(shown: &Buffer, next: &Buffer, changed: &mut Vec<usize>) -> bool {
    let width = usize::from(next.area.width).max(1);
    let lines = shown
        .content
        .chunks_exact(width)
        .zip(next.content.chunks_exact(width));
    let mut line_start = 0;
    for (old, new) in lines {
        let known = changed.len();
        for (x, (old, new)) in old.iter().zip(new).enumerate() {
            if !is_same(old, new) {
                changed.push(line_start + x);
            }
        }
        if changed.len() > known && !old.iter().chain(new).all(is_plain) {
            return false;
        }
        line_start += width;
    }
    true
}

/// Cheapest first, and without a call for the few bytes of a symbol: this is asked for every cell of the screen.
fn is_same(a: &Cell, b: &Cell) -> bool {
    a.modifier == b.modifier
        && a.fg == b.fg
        && a.bg == b.bg
        && a.diff_option == b.diff_option
        && match (a.symbol().as_bytes(), b.symbol().as_bytes()) {
            ([a], [b]) => a == b,
            ([a0, a1, a2], [b0, b1, b2]) => a0 == b0 && a1 == b1 && a2 == b2,
            (a, b) => a == b,
        }
}

fn is_plain(cell: &Cell) -> bool {
    cell.diff_option == CellDiffOption::None
        && match cell.symbol().as_bytes() {
            [byte] => matches!(byte, b' '..=b'~'),
            _ => {
                let mut chars = cell.symbol().chars();
                chars.next().is_some_and(glyph::is_plain) && chars.next().is_none()
            }
        }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::backend::TestBackend;
    use ratatui::style::{Color, Style};

    use super::*;

    const SIZE: Size = Size {
        width: 12,
        height: 3,
    };

    fn text() -> impl Strategy<Value = (u16, u16, String, bool)> {
        let words = prop_oneof![
            "[ -~]{0,12}".prop_map(String::from),
            "[ a-c│█▁·…°✓é]{0,12}".prop_map(String::from),
            "[a漢👩\u{200d}\u{fe0f}\u{301}❤ ]{0,8}".prop_map(String::from),
        ];
        (0..SIZE.width, 0..SIZE.height, words, any::<bool>())
    }

    fn draw(buffer: &mut Buffer, texts: &[(u16, u16, String, bool)]) {
        for (x, y, text, coloured) in texts {
            let style = if *coloured {
                Style::new().fg(Color::Green).bg(Color::Blue)
            } else {
                Style::new()
            };
            buffer.set_string(*x, *y, text, style);
        }
    }

    proptest! {
        #[test]
        fn what_is_sent_is_what_the_library_finds(
            before in proptest::collection::vec(text(), 0..6),
            after in proptest::collection::vec(text(), 0..6),
        ) {
            let area = Rect::new(0, 0, SIZE.width, SIZE.height);
            let [mut old, mut new] = [Buffer::empty(area), Buffer::empty(area)];
            draw(&mut old, &before);
            draw(&mut new, &after);
            let mut changed = Vec::new();
            if find_changed(&old, &new, &mut changed) {
                let library: Vec<usize> = old
                    .diff(&new)
                    .into_iter()
                    .map(|(x, y, _)| usize::from(y) * usize::from(SIZE.width) + usize::from(x))
                    .collect();
                prop_assert_eq!(changed, library);
            } else {
                let all = old.content.iter().chain(&new.content);
                prop_assert!(!all.clone().all(is_plain));
            }
        }

        #[test]
        fn the_terminal_shows_each_picture_in_turn(
            pictures in proptest::collection::vec(proptest::collection::vec(text(), 0..4), 1..5),
        ) {
            let mut backend = Checked(TestBackend::new(SIZE.width, SIZE.height));
            let mut canvas = Canvas::default();
            prop_assert!(canvas.resize(SIZE));
            for texts in pictures.iter().filter(|texts| texts.iter().all(|it| glyph::is_plain_text(&it.2))) {
                draw(canvas.next(), texts);
                let expected = canvas.next().clone();
                canvas.send(&mut backend).unwrap();
                prop_assert_eq!(backend.0.buffer(), &expected);
                prop_assert!(!canvas.resize(SIZE));
            }
        }
    }

    #[test]
    fn after_it_was_wiped_or_has_another_size_everything_is_sent() {
        let mut backend = Checked(TestBackend::new(SIZE.width, SIZE.height));
        let mut canvas = Canvas::default();
        canvas.resize(SIZE);
        for _ in 0..2 {
            draw(canvas.next(), &[(1, 1, "text".to_owned(), false)]);
            canvas.send(&mut backend).unwrap();
            assert!(
                backend
                    .0
                    .buffer()
                    .content
                    .iter()
                    .any(|it| it.symbol() == "x")
            );
            canvas.blank(&mut backend).unwrap();
            assert!(
                backend
                    .0
                    .buffer()
                    .content
                    .iter()
                    .all(|it| it.symbol() == " ")
            );
        }
        assert!(canvas.resize(Size::new(9, 2)));
        assert_eq!(canvas.next().area, Rect::new(0, 0, 9, 2));
    }

    /// A terminal in memory whose errors are those of a real one.
    struct Checked(TestBackend);

    fn never<T>(result: Result<T, core::convert::Infallible>) -> io::Result<T> {
        result.map_err(|never| match never {})
    }

    impl Backend for Checked {
        type Error = io::Error;

        fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(
            &mut self,
            content: I,
        ) -> io::Result<()> {
            never(self.0.draw(content))
        }
        fn hide_cursor(&mut self) -> io::Result<()> {
            never(self.0.hide_cursor())
        }
        fn show_cursor(&mut self) -> io::Result<()> {
            never(self.0.show_cursor())
        }
        fn get_cursor_position(&mut self) -> io::Result<ratatui::layout::Position> {
            never(self.0.get_cursor_position())
        }
        fn set_cursor_position<P: Into<ratatui::layout::Position>>(
            &mut self,
            at: P,
        ) -> io::Result<()> {
            never(self.0.set_cursor_position(at))
        }
        fn clear(&mut self) -> io::Result<()> {
            never(self.0.clear())
        }
        fn clear_region(&mut self, which: ClearType) -> io::Result<()> {
            never(self.0.clear_region(which))
        }
        fn size(&self) -> io::Result<Size> {
            never(self.0.size())
        }
        fn window_size(&mut self) -> io::Result<ratatui::backend::WindowSize> {
            never(self.0.window_size())
        }
        fn flush(&mut self) -> io::Result<()> {
            never(self.0.flush())
        }
    }
}
