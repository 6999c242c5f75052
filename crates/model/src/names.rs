//! Names that others have given: to products, processes, models, containers.

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
}
