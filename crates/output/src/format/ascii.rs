//! Text for places that can show ASCII only: our own signs by their likeness, anything else by `?`.

use unicode_width::UnicodeWidthChar;

/// Our own signs and what stands for them; each takes one column, and so does its likeness.
const LIKENESS: &[(char, &str)] = &[
    ('Δ', "d"),
    ('←', "<"),
    ('─', "-"),
    ('–', "-"),
    ('│', "|"),
    ('·', "."),
    ('…', "."),
    ('▸', ">"),
    ('→', ">"),
    ('●', "*"),
    ('✓', "+"),
    ('▼', "v"),
    ('↓', "v"),
    ('▲', "^"),
    ('↑', "^"),
    ('▁', "_"),
    ('▂', "."),
    ('▃', ":"),
    ('▄', "-"),
    ('▅', "="),
    ('▆', "+"),
    ('▇', "*"),
    ('█', "#"),
];

/// What stands for one of our own signs.
pub fn likeness(sign: char) -> Option<&'static str> {
    let found = LIKENESS.iter().find(|(own, _)| *own == sign);
    found.map(|(_, likeness)| *likeness)
}

/// `text` in ASCII, as wide as it was: a foreign character becomes a `?` for each of its columns. An ellipsis that
/// stands alone, in a cell whose value is still on its way, becomes three dots where there is room before it.
pub fn to_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut before = '\n';
    while let Some(c) = rest.next() {
        let ends = rest.peek().is_none_or(|next| next.is_whitespace());
        if c == '…' && before.is_whitespace() && ends {
            for _ in 0..2 {
                if out.ends_with("  ") {
                    out.pop();
                }
            }
            out.push_str("...");
        } else if c.is_ascii() {
            out.push(c);
        } else if let Some(likeness) = likeness(c) {
            out.push_str(likeness);
        } else {
            out.extend(std::iter::repeat_n('?', c.width().unwrap_or(0)));
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::display_width;
    use proptest::prelude::*;

    #[test]
    fn own_signs_keep_their_likeness_and_others_become_question_marks() {
        for (text, ascii) in [
            ("plain text", "plain text"),
            ("~0–968M", "~0-968M"),
            ("Qwen3 14B Q… [confirmed]", "Qwen3 14B Q. [confirmed]"),
            ("  100  app      …  n/a", "  100  app    ...  n/a"),
            ("… = no answer yet", "... = no answer yet"),
            ("模型 é", "???? ?"),
            ("e\u{301}", "e"),
        ] {
            assert_eq!(to_ascii(text), ascii);
        }
    }

    proptest! {
        #[test]
        fn nothing_but_ascii_is_left_and_lines_stay(text in any::<String>()) {
            let ascii = to_ascii(&text);
            prop_assert!(ascii.is_ascii());
            prop_assert_eq!(ascii.matches('\n').count(), text.matches('\n').count());
        }

        #[test]
        fn the_width_stays(text in "[a-z –→漢é]{0,40}") {
            prop_assert_eq!(to_ascii(&text).len(), display_width(&text));
        }
    }
}
