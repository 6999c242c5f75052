//! Lines of bounded width, made safe to print.

use crate::format::{display_width, middle_ellipsis, pad_end, sanitize};

/// Text under construction. Whatever is written to it is made safe first, so that no name can
/// break a line or reach the terminal as an escape.
pub(super) struct Page {
    width: usize,
    out: String,
}

impl Page {
    /// A page of `width` columns; below 60 the table would have no room for a name.
    pub(super) fn new(width: usize) -> Self {
        Self {
            width: width.max(60),
            out: String::new(),
        }
    }

    pub(super) const fn width(&self) -> usize {
        self.width
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// One line, cut in the middle where it is too long.
    pub(super) fn line(&mut self, text: &str) {
        let safe = sanitize(text);
        let line = middle_ellipsis(safe.trim_end(), self.width);
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// `label`, then the items with two spaces between them, on as many lines as it takes. Items
    /// stay whole where they fit in a line.
    pub(super) fn items(&mut self, label: &str, items: &[String]) {
        self.flow(label, items.iter().map(String::as_str), "  ");
    }

    /// `label`, then a sentence broken at its spaces.
    pub(super) fn sentence(&mut self, label: &str, text: &str) {
        let safe = sanitize(text);
        self.flow(label, safe.split(' ').filter(|word| !word.is_empty()), " ");
    }

    fn flow<'a>(&mut self, label: &str, pieces: impl Iterator<Item = &'a str>, gap: &str) {
        let indent = display_width(label);
        let mut line = label.to_owned();
        let mut empty = true;
        for piece in pieces {
            let piece = sanitize(piece);
            let room = self.width.saturating_sub(indent);
            let joined = display_width(&line) + gap.len() + display_width(&piece);
            if !empty && joined > self.width {
                self.line(&line);
                line = pad_end("", indent);
                empty = true;
            }
            if empty && display_width(&piece) > room {
                // Too long for any line: broken at its own spaces, else shortened.
                for word in piece.split(' ') {
                    let more = display_width(&line) + 1 + display_width(word);
                    if !empty && more > self.width {
                        self.line(&line);
                        line = pad_end("", indent);
                        empty = true;
                    }
                    if !empty {
                        line.push(' ');
                    }
                    line.push_str(&middle_ellipsis(word, room));
                    empty = false;
                }
                continue;
            }
            if !empty {
                line.push_str(gap);
            }
            line.push_str(&piece);
            empty = false;
        }
        if !empty {
            self.line(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn items_stay_whole_and_hang() {
        let mut page = Page::new(0);
        let items: Vec<String> = (0..6).map(|n| format!("item number {n}")).collect();
        page.items("  label  ", &items);
        assert_eq!(
            page.finish(),
            "  label  item number 0  item number 1  item number 2\n         \
             item number 3  item number 4  item number 5\n"
        );
    }

    #[test]
    fn an_item_longer_than_a_line_is_broken_and_not_lost() {
        let mut page = Page::new(60);
        page.items(
            "  x  ",
            &["short".into(), "word ".repeat(20), "y".repeat(90)],
        );
        let text = page.finish();
        assert_eq!(text.matches("word").count(), 20);
        assert!(text.lines().all(|line| display_width(line) <= 60), "{text}");
        assert!(text.contains('\u{2026}'));
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_line(items in proptest::collection::vec(any::<String>(), 0..6)) {
            let mut page = Page::new(60);
            page.items("  label  ", &items);
            for item in &items {
                page.sentence("  i  ", item);
                page.line(item);
            }
            for line in page.finish().lines() {
                prop_assert!(display_width(line) <= 60, "{:?}", line);
                prop_assert!(!line.chars().any(char::is_control));
            }
        }
    }
}
