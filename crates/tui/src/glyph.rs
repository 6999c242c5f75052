//! Characters that take one cell each, whatever stands beside them: nearly all that is ever drawn. Text of
//! these needs no search for characters that belong together.

use unicode_width::UnicodeWidthStr;

/// Whether `c` takes one cell and joins with no neighbour.
pub(crate) const fn is_plain(c: char) -> bool {
    matches!(c,
        ' '..='~'
        // Latin, without the soft hyphen.
        | '\u{a0}'..='\u{ac}' | '\u{ae}'..='\u{ff}'
        // Dashes, quotation marks, the ellipsis.
        | '\u{2010}'..='\u{2027}'
        | '←'..='↓' | '≤' | '≥' | '✓'
        // Lines, blocks and shapes, without the wide ones that follow.
        | '\u{2500}'..='\u{25fc}')
}

/// Whether all of `text` is plain.
pub(crate) fn is_plain_text(text: &str) -> bool {
    text.chars().all(is_plain)
}

/// Cells that `text` takes.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let mut cells = 0;
    for c in text.chars() {
        if !is_plain(c) {
            return UnicodeWidthStr::width(text);
        }
        cells += 1;
    }
    cells
}

#[cfg(test)]
mod tests {
    use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

    use super::{is_plain, width};

    fn plain() -> impl Iterator<Item = char> {
        (char::MIN..='\u{ffff}').filter(|c| is_plain(*c))
    }

    #[test]
    fn every_plain_character_takes_one_cell_alone_and_beside_any_other() {
        let mut tried = 0;
        for a in plain() {
            assert_eq!(a.width(), Some(1), "{a:?}");
            for b in plain().step_by(7) {
                let pair = String::from_iter([a, b]);
                assert_eq!(UnicodeWidthStr::width(&*pair), 2, "{pair:?}");
                assert_eq!(width(&pair), 2, "{pair:?}");
            }
            tried += 1;
        }
        assert!(tried > 400, "{tried}");
    }

    #[test]
    fn what_is_wide_or_joins_is_not_plain() {
        for c in "\u{ad}\u{200d}\u{fe0f}\u{301}◽◾漢한👩\u{7f}\n\0".chars() {
            assert!(!is_plain(c), "{c:?}");
        }
        assert_eq!(width("漢字 █"), 6);
    }
}
