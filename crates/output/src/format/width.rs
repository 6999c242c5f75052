//! Fitting untrusted text into columns, by the width it takes on a screen.

use std::borrow::Cow;

use model::names::is_invisible;
use unicode_width::UnicodeWidthStr;

/// Makes a name safe to print. Process, model and device names are chosen by whoever made them:
/// control characters (which start terminal escapes) and characters that reorder or hide text are
/// left out; tabs and line breaks become a space.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if text.chars().any(|c| c.is_control() || is_invisible(c)) {
        let safe = text.chars().filter_map(|c| match c {
            '\t' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some(' '),
            c if c.is_control() || is_invisible(c) => None,
            c => Some(c),
        });
        Cow::Owned(safe.collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Columns that `text` takes on a screen.
pub fn display_width(text: &str) -> usize {
    text.width()
}

/// `text` in at most `width` columns, its middle replaced by `…` where it is longer. The end keeps
/// at least as much as the start: names differ in their ends.
pub fn middle_ellipsis(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let Some(room) = width.checked_sub(1) else {
        return Cow::Borrowed("");
    };
    let head = longest(text, room / 2, Side::Start);
    let mut tail = longest(text, room - head.width(), Side::End);
    // Characters can join across the cut, and a joined pair can be wider than its parts.
    loop {
        let joined = format!("{head}\u{2026}{tail}");
        if joined.width() <= width {
            return Cow::Owned(joined);
        }
        let mut rest = tail.chars();
        if rest.next().is_none() {
            return Cow::Borrowed("\u{2026}");
        }
        tail = rest.as_str();
    }
}

#[derive(Clone, Copy)]
enum Side {
    Start,
    End,
}

/// The longest piece of `text` at one side that takes at most `width` columns. A run of characters
/// without width is bounded, so that a name made of them costs no more than another.
fn longest(text: &str, width: usize, side: Side) -> &str {
    let most = width.saturating_mul(4).saturating_add(4);
    let mut best = "";
    for (index, (at, c)) in Indexed::new(text, side).enumerate() {
        let piece = match side {
            Side::Start => text.get(..at + c.len_utf8()),
            Side::End => text.get(at..),
        };
        match piece {
            Some(piece) if index < most && piece.width() <= width => best = piece,
            _ => break,
        }
    }
    best
}

/// The characters of a text with their places, from either side.
struct Indexed<'a> {
    chars: std::str::CharIndices<'a>,
    side: Side,
}

impl<'a> Indexed<'a> {
    fn new(text: &'a str, side: Side) -> Self {
        Self {
            chars: text.char_indices(),
            side,
        }
    }
}

impl Iterator for Indexed<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        match self.side {
            Side::Start => self.chars.next(),
            Side::End => self.chars.next_back(),
        }
    }
}

/// `text` with spaces after it up to `width` columns; longer text is left as it is.
pub fn pad_end(text: &str, width: usize) -> String {
    let room = width.saturating_sub(text.width());
    format!("{text}{:room$}", "")
}

/// `text` with spaces before it up to `width` columns: right-aligned.
pub fn pad_start(text: &str, width: usize) -> String {
    let room = width.saturating_sub(text.width());
    format!("{:room$}{text}", "")
}

/// `text` made safe, shortened and padded to exactly `width` columns.
pub fn fit(text: &str, width: usize) -> String {
    pad_end(&middle_ellipsis(&sanitize(text), width), width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_and_overrides_are_gone() {
        let cases = [
            ("plain", "plain"),
            ("\u{1b}[31mred\u{7}", "[31mred"),
            ("a\tb\nc\r", "a b c "),
            ("abc\u{202e}txt.exe\u{2066}\u{200f}", "abctxt.exe"),
            ("\u{9b}2J\u{85}x\u{2028}y", "2J x y"),
            ("e\u{301}", "e\u{301}"),
            ("\u{1f469}\u{200d}\u{1f680}\u{fe0f}", "\u{1f469}\u{1f680}"),
            ("\u{540d}\u{524d}", "\u{540d}\u{524d}"),
        ];
        for (name, safe) in cases {
            assert_eq!(sanitize(name), safe, "{name:?}");
        }
    }

    #[test]
    fn the_end_of_a_name_stays() {
        let cases = [
            ("llama-server", 12, "llama-server"),
            ("text-embeddings-router", 12, "text-\u{2026}router"),
            ("abcdef", 2, "\u{2026}f"),
            ("abcdef", 1, "\u{2026}"),
            ("abcdef", 0, ""),
            ("", 0, ""),
            (
                "\u{540d}\u{524d}\u{540d}\u{524d}",
                5,
                "\u{540d}\u{2026}\u{524d}",
            ),
            ("\u{540d}\u{524d}\u{540d}\u{524d}", 4, "\u{2026}\u{524d}"),
        ];
        for (name, width, short) in cases {
            assert_eq!(middle_ellipsis(name, width), short, "{name} in {width}");
        }
    }

    #[test]
    fn padding_counts_columns_and_not_bytes() {
        assert_eq!(pad_end("\u{540d}", 4), "\u{540d}  ");
        assert_eq!(pad_start("\u{540d}", 4), "  \u{540d}");
        assert_eq!(pad_start("long", 2), "long");
        assert_eq!(fit("a\u{1b}b", 4), "ab  ");
    }

    proptest! {
        #[test]
        fn whatever_the_name_it_fits(name in any::<String>(), width in 0_usize..40) {
            let short = middle_ellipsis(&name, width);
            prop_assert!(display_width(&short) <= width, "{:?}", short);
            let safe = fit(&name, width);
            prop_assert_eq!(display_width(&safe), width);
            prop_assert!(!safe.chars().any(|c| c.is_control() || is_invisible(c)));
        }

        #[test]
        fn a_name_that_fits_is_left_alone(name in "[ -~]{0,20}") {
            prop_assert_eq!(middle_ellipsis(&name, 20), name.as_str());
            prop_assert_eq!(sanitize(&name), name.as_str());
        }
    }
}
