//! The screen as the program drew it, when its first frame was there, and how much it wrote for it.

use std::time::{Duration, Instant};

use super::options::Size;

/// The rows that show a first frame when no text was asked for. Two, because some programs leave the first one empty.
const TOP_ROWS: usize = 2;

/// Interprets what a program writes to its terminal.
pub(super) struct Screen {
    parser: vt100::Parser,
    first_frame_text: Option<String>,
    started: Instant,
    first_frame: Option<Duration>,
    bytes: u64,
}

impl Screen {
    pub(super) fn new(size: Size, first_frame_text: Option<String>, started: Instant) -> Self {
        Self {
            parser: vt100::Parser::new(size.rows, size.columns, 0),
            first_frame_text,
            started,
            first_frame: None,
            bytes: 0,
        }
    }

    /// Takes what the program wrote and returns what a terminal would answer to it.
    pub(super) fn write(&mut self, output: &[u8], now: Instant) -> Vec<u8> {
        self.bytes += u64::try_from(output.len()).unwrap_or(u64::MAX);
        self.parser.process(output);
        if self.first_frame.is_none() && self.shows_a_frame() {
            self.first_frame = Some(now.saturating_duration_since(self.started));
        }
        self.answers(output)
    }

    /// Bytes written so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time from the start of the program until its first frame.
    pub(super) fn first_frame(&self) -> Option<Duration> {
        self.first_frame
    }

    /// The screen as text.
    pub(super) fn text(&self) -> String {
        self.parser.screen().contents()
    }

    fn shows_a_frame(&self) -> bool {
        let screen = self.parser.screen();
        match &self.first_frame_text {
            Some(text) => screen.contents().contains(text),
            None => {
                let mut rows = screen.rows(0, screen.size().1.get()).take(TOP_ROWS);
                rows.any(|row| !row.trim().is_empty())
            }
        }
    }

    /// Where the cursor is, and what kind of terminal this is (VT102): programs may wait for these.
    fn answers(&self, output: &[u8]) -> Vec<u8> {
        let asks = |question: &[u8]| {
            output
                .windows(question.len())
                .any(|window| window == question)
        };
        let mut answers = Vec::new();
        if asks(b"\x1b[6n") {
            let (row, column) = self.parser.screen().cursor_position();
            answers.extend(format!("\x1b[{};{}R", row + 1, column + 1).into_bytes());
        }
        if asks(b"\x1b[c") || asks(b"\x1b[0c") {
            answers.extend(b"\x1b[?6c");
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;
    use std::time::{Duration, Instant};

    use super::Screen;
    use crate::measure::options::Size;

    fn screen(text: Option<&str>) -> (Screen, Instant) {
        let started = Instant::now();
        let [columns, rows] = [20, 4].map(|n| NonZeroU16::new(n).unwrap());
        let size = Size { columns, rows };
        (Screen::new(size, text.map(str::to_owned), started), started)
    }

    #[test]
    fn the_first_frame_is_the_first_write_to_the_top_rows() {
        let (mut screen, started) = screen(None);
        screen.write(
            b"\x1b[?1049h\x1b[2J\x1b[3;1Hlow",
            started + Duration::from_millis(1),
        );
        assert_eq!(screen.first_frame(), None);
        screen.write(b"\x1b[1;5Hup", started + Duration::from_millis(2));
        screen.write(b"more", started + Duration::from_millis(3));
        assert_eq!(screen.first_frame(), Some(Duration::from_millis(2)));
        assert_eq!(screen.bytes(), 33);
    }

    #[test]
    fn the_first_frame_is_where_the_text_stands_even_in_pieces() {
        let (mut screen, started) = screen(Some("ready"));
        screen.write(b"\x1b[1;1Hre", started + Duration::from_millis(1));
        screen.write(b"ady", started + Duration::from_millis(2));
        assert_eq!(screen.first_frame(), Some(Duration::from_millis(2)));
        assert_eq!(screen.text(), "ready");
    }

    #[test]
    fn questions_get_answers() {
        let (mut screen, started) = screen(None);
        assert_eq!(screen.write(b"\x1b[2;3H\x1b[6n", started), b"\x1b[2;3R");
        assert_eq!(screen.write(b"\x1b[c", started), b"\x1b[?6c");
        assert_eq!(screen.write(b"x", started), b"");
    }
}
