//! Just enough of Rust's lexical grammar to look at code and not at comments, strings or tests.
//!
//! Not a parser: positions and line breaks stay as they are, and what is left out becomes spaces.

/// `text` with comments and the insides of string and character literals blanked out.
pub(super) fn code_only(text: &str) -> String {
    let source: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&character) = source.get(at) {
        let rest = source.get(at..).unwrap_or_default();
        let end = match character {
            '/' if rest.starts_with(&['/', '/']) => at + line_comment(rest),
            '/' if rest.starts_with(&['/', '*']) => at + block_comment(rest),
            '"' => at + quoted(rest, '"'),
            '\'' => at + character_literal(rest),
            _ if starts_word(&source, at) => {
                let raw = raw_string(rest);
                if raw == 0 {
                    let word = rest.iter().take_while(|c| is_word(**c)).count();
                    out.extend(rest.iter().take(word));
                    at += word;
                    continue;
                }
                at + raw
            }
            _ => {
                out.push(character);
                at += 1;
                continue;
            }
        };
        out.extend(
            source
                .iter()
                .take(end)
                .skip(at)
                .map(|c| if *c == '\n' { '\n' } else { ' ' }),
        );
        at = end;
    }
    out
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn starts_word(source: &[char], at: usize) -> bool {
    source.get(at).is_some_and(|c| is_word(*c))
        && !at
            .checked_sub(1)
            .and_then(|before| source.get(before))
            .is_some_and(|c| is_word(*c))
}

fn line_comment(rest: &[char]) -> usize {
    rest.iter().position(|c| *c == '\n').unwrap_or(rest.len())
}

/// Block comments nest in Rust.
fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(here) = rest.get(at..).filter(|here| !here.is_empty()) {
        if here.starts_with(&['/', '*']) {
            depth += 1;
            at += 2;
        } else if here.starts_with(&['*', '/']) {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Length of a literal that starts with `quote`, escapes included.
fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while let Some(&character) = rest.get(at) {
        match character {
            '\\' => at += 2,
            _ if character == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A character literal, or 1 for the quote of a lifetime.
fn character_literal(rest: &[char]) -> usize {
    match rest.get(1) {
        Some('\\') => quoted(rest, '\''),
        Some(_) if rest.get(2) == Some(&'\'') => 3,
        _ => 1,
    }
}

/// Length of `r"…"`, `r#"…"#`, `br"…"`, `b"…"`, `c"…"` and so on; 0 when there is none.
fn raw_string(rest: &[char]) -> usize {
    let prefix = rest
        .iter()
        .take_while(|c| matches!(c, 'b' | 'c' | 'r'))
        .count();
    let hashes = rest.iter().skip(prefix).take_while(|c| **c == '#').count();
    let is_raw = prefix > 0 && rest.get(prefix - 1) == Some(&'r');
    if prefix == 0 || prefix > 2 || rest.get(prefix + hashes) != Some(&'"') {
        return 0;
    }
    if !is_raw {
        return if hashes == 0 {
            prefix + quoted(rest.get(prefix..).unwrap_or_default(), '"')
        } else {
            0
        };
    }
    let mut closing = vec!['"'];
    closing.resize(hashes + 1, '#');
    let body = prefix + hashes + 1;
    rest.get(body..)
        .and_then(|text| {
            text.windows(closing.len())
                .position(|window| window == closing)
        })
        .map_or(rest.len(), |length| body + length + closing.len())
}

/// `code` (of [`code_only`]) with every item under `#[cfg(test)]` blanked out.
pub(super) fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some((before, after)) = rest.split_once(MARK) {
        out.push_str(before);
        let end = item_end(after);
        let (item, following) = after.split_at(end);
        out.extend(
            MARK.chars()
                .chain(item.chars())
                .map(|c| if c == '\n' { '\n' } else { ' ' }),
        );
        rest = following;
    }
    out.push_str(rest);
    out
}

/// Where the item that `text` starts with ends: its `;`, or the brace that closes its body.
fn item_end(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut brackets = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '[' | '(' => brackets += 1,
            ']' | ')' => brackets = brackets.saturating_sub(1),
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 && brackets == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether `code` holds `word` as a whole word, and the lines (from 1) where it does.
pub(super) fn lines_with_word(code: &str, word: &str) -> Vec<usize> {
    code.lines()
        .enumerate()
        .filter(|(_, line)| words(line).any(|found| found == word))
        .map(|(index, _)| index + 1)
        .collect()
}

/// The identifiers and numbers of a piece of code.
pub(super) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !is_word(c))
        .filter(|word| !word.is_empty())
}

/// Line (from 1) of a byte offset.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    text.bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
        + 1
}

/// The text inside the bracket that opens at the start of `text`, up to the one that closes it.
pub(super) fn bracketed(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return text.get(1..at).unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    text.get(1..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{code_only, lines_with_word, without_tests};

    #[test]
    fn comments_and_literals_are_blanked() {
        let text = "a /* x /* y */ z */ b // unsafe\n\"unsafe \\\" unsafe\" r#\"unsafe \" q\"# b'u' 'a: 'x' c";
        let code = code_only(text);
        assert_eq!(code.chars().count(), text.chars().count());
        assert_eq!(
            code.split_whitespace().collect::<Vec<_>>(),
            ["a", "b", "b", "a:", "c"]
        );
    }

    #[test]
    fn a_lifetime_does_not_open_a_literal() {
        assert!(code_only("fn f<'a>(x: &'a str) { unsafe {} }").contains("unsafe"));
    }

    #[test]
    fn words_that_only_begin_like_a_raw_string_stay() {
        assert_eq!(code_only("branch crate b r"), "branch crate b r");
    }

    #[test]
    fn items_under_cfg_test_are_blanked_and_lines_kept() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { one(); }\n}\nfn c() {}\n#[cfg(test)]\nuse x;\nfn d() {}";
        let shipped = without_tests(code);
        assert_eq!(shipped.lines().count(), code.lines().count());
        assert_eq!(lines_with_word(&shipped, "one"), Vec::<usize>::new());
        assert_eq!(lines_with_word(&shipped, "c"), [6]);
        assert_eq!(lines_with_word(&shipped, "d"), [9]);
    }
}
