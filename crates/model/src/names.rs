//! Names that others have given: to products, processes, models, containers.

use std::cmp::Ordering;

/// Characters that change the direction of what follows, or that take no room and so can tell apart
/// two names that look the same. Joiners and variation selectors are among them: terminals disagree
/// about the width of what they join, and a table must line up in all of them.
pub const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{00ad}'
            | '\u{061c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e01ef}'
    )
}

/// Whether a character shows nothing: white space, control characters, and what stands for bytes that are no text.
fn shows_nothing(c: char) -> bool {
    c.is_whitespace() || c.is_control() || is_invisible(c) || c == char::REPLACEMENT_CHARACTER
}

/// Whether nothing of it can be seen.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(shows_nothing)
}

/// Characters of a name that are kept. The longest names of products that are known have about 60; what is longer is no
/// name, and would push everything else off a line.
pub const MOST_OF_NAME: usize = 80;

/// A name of bounded length: what is longer ends in an ellipsis.
pub fn bounded(name: &str) -> std::borrow::Cow<'_, str> {
    match name.char_indices().nth(MOST_OF_NAME) {
        None => name.into(),
        Some(_) => {
            let kept: String = name.chars().take(MOST_OF_NAME - 1).collect();
            format!("{}\u{2026}", kept.trim_end()).into()
        }
    }
}

/// The name in a text, without what shows nothing at its ends; none where nothing of it can be seen. Firmware leaves
/// blanks or NUL bytes where a maker has filled in no name.
pub fn name_in(text: &str) -> Option<&str> {
    let name = text.trim_matches(shows_nothing);
    (!name.is_empty()).then_some(name)
}

/// A number and what is counted: `1 process`, `3 processes`.
pub fn counted(
    number: impl TryInto<u64> + Copy + std::fmt::Display,
    one: &str,
    several: &str,
) -> String {
    let noun = if number.try_into().is_ok_and(|it| it == 1) {
        one
    } else {
        several
    };
    format!("{number} {noun}")
}

/// The order in which people count: `e2` before `e10`. Numbers in names compare by value, and by their length where
/// the value is the same.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (x, y) = (head(a), head(b));
        let order = match (is_number(x), is_number(y)) {
            (true, true) => {
                let value = |text: &str| text.trim_start_matches('0').len();
                let digits = |text: &'_ str| text.trim_start_matches('0').to_owned();
                value(x)
                    .cmp(&value(y))
                    .then_with(|| digits(x).cmp(&digits(y)))
                    .then_with(|| x.len().cmp(&y.len()))
            }
            _ => x.cmp(y),
        };
        if order.is_ne() || x.is_empty() {
            return order;
        }
        a = a.get(x.len()..).unwrap_or("");
        b = b.get(y.len()..).unwrap_or("");
    }
}

/// The digits, or what is none, that `text` begins with.
fn head(text: &str) -> &str {
    let number = is_number(text);
    let end = text.find(|c: char| c.is_ascii_digit() != number);
    text.get(..end.unwrap_or(text.len())).unwrap_or("")
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_bounded_in_characters_and_says_that_it_was_longer() {
        assert_eq!(bounded("Radeon"), "Radeon");
        let most = "ä".repeat(MOST_OF_NAME);
        assert_eq!(bounded(&most), most);
        let cut = bounded(&"カ".repeat(300)).into_owned();
        assert_eq!(cut.chars().count(), MOST_OF_NAME);
        assert!(cut.ends_with('\u{2026}'));
    }

    #[test]
    fn a_text_of_which_nothing_can_be_seen_is_no_name() {
        for (text, expected) in [
            ("", None),
            (" \t\n", None),
            ("\0\0\0", None),
            ("\u{1b}\u{7f}\u{9b}", None),
            ("\u{200b}\u{202e}\u{feff}", None),
            ("\u{fffd}\u{fffd}", None),
            ("Radeon\0\0", Some("Radeon")),
            (" Radeon RX \n", Some("Radeon RX")),
            ("\u{feff}カード", Some("カード")),
            ("-", Some("-")),
        ] {
            assert_eq!(name_in(text), expected, "{text:?}");
            assert_eq!(is_blank(text), expected.is_none(), "{text:?}");
        }
    }

    #[test]
    fn numbers_in_names_are_ordered_by_value() {
        let ordered = [
            "", "1", "9", "10", "e", "e1", "e2", "e02", "e10", "e10b", "ea", "gfx_0", "gfx_12",
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(natural_order(a, b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
    }
}
