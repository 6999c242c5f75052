//! The line in which a filter or what to find is typed. It stands in place of the footer.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use output::filter::{self, Filter, FilterError};

/// What is typed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Purpose {
    /// Rows that do not fit are hidden.
    Filter,
    /// The selection goes to a row that fits; none is hidden.
    Find,
}

impl Purpose {
    /// What stands before the line.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Filter => "Filter",
            Self::Find => "Find",
        }
    }
}

/// A line that is being typed.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) purpose: Purpose,
    text: Vec<char>,
    /// Characters before the place where one is typed.
    at: usize,
    /// Why the text is not understood.
    pub(crate) error: Option<FilterError>,
}

/// What a key in the line came to.
#[derive(Clone, Debug)]
pub(crate) enum Typed {
    /// Nothing that is seen.
    Nothing,
    /// The place in the line moved.
    Moved,
    /// The text changed and is understood.
    Changed(Filter),
    /// The text changed and is not understood; the last one that was counts on.
    Wrong,
    /// The line is closed and what was typed counts.
    Kept,
    /// The line is closed and nothing counts.
    Dropped,
    /// The next row that fits, or the one before.
    Next { back: bool },
    /// The program is to end.
    Quit,
}

impl Prompt {
    /// A line that begins with `text`.
    pub(crate) fn new(purpose: Purpose, text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        Self {
            purpose,
            at: text.len(),
            text,
            error: None,
        }
    }

    /// The text before and behind the place where one types.
    pub(crate) fn parts(&self) -> (String, String) {
        let (before, behind) = self.text.split_at(self.at.min(self.text.len()));
        (before.iter().collect(), behind.iter().collect())
    }

    /// Takes a pasted text in: its first line, without what controls a terminal.
    pub(crate) fn paste(&mut self, text: &str) -> Typed {
        for character in text.lines().take(1).flat_map(str::chars) {
            self.insert(character);
        }
        self.judged()
    }

    /// Takes a key in.
    pub(crate) fn key(&mut self, event: KeyEvent) -> Typed {
        if event.kind == KeyEventKind::Release {
            return Typed::Nothing;
        }
        let shift = event.modifiers.contains(KeyModifiers::SHIFT);
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        match event.code {
            KeyCode::Char('c') if control => return Typed::Quit,
            KeyCode::Char('u') if control => {
                self.text.drain(..self.at);
                self.at = 0;
            }
            KeyCode::Char('w') if control => self.rub_word(),
            KeyCode::Char('a') if control => return self.move_to(0),
            KeyCode::Char('e') if control => return self.move_to(self.text.len()),
            KeyCode::Char(_) if control => return Typed::Nothing,
            KeyCode::Char(character) => self.insert(character),
            KeyCode::Backspace if self.at > 0 => {
                self.at -= 1;
                self.text.remove(self.at);
            }
            KeyCode::Delete if self.at < self.text.len() => {
                self.text.remove(self.at);
            }
            KeyCode::Left => return self.move_to(self.at.saturating_sub(1)),
            KeyCode::Right => return self.move_to(self.at + 1),
            KeyCode::Home => return self.move_to(0),
            KeyCode::End => return self.move_to(self.text.len()),
            KeyCode::Enter => return Typed::Kept,
            KeyCode::Esc => return Typed::Dropped,
            KeyCode::Down => return Typed::Next { back: false },
            KeyCode::Up => return Typed::Next { back: true },
            KeyCode::F(3) => return Typed::Next { back: shift },
            _ => return Typed::Nothing,
        }
        self.judged()
    }

    fn insert(&mut self, character: char) {
        if self.text.len() < filter::MAX_CHARS && !character.is_control() {
            self.text.insert(self.at, character);
            self.at += 1;
        }
    }

    fn rub_word(&mut self) {
        let mut from = self.at;
        let is_blank = |at: usize| self.text.get(at).is_some_and(|it| it.is_whitespace());
        while from > 0 && is_blank(from - 1) {
            from -= 1;
        }
        while from > 0 && !is_blank(from - 1) {
            from -= 1;
        }
        self.text.drain(from..self.at);
        self.at = from;
    }

    fn move_to(&mut self, at: usize) -> Typed {
        self.at = at.min(self.text.len());
        Typed::Moved
    }

    fn judged(&mut self) -> Typed {
        let text: String = self.text.iter().collect();
        match Filter::parse(&text) {
            Ok(filter) => {
                self.error = None;
                Typed::Changed(filter)
            }
            Err(error) => {
                self.error = Some(error);
                Typed::Wrong
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[(KeyCode, KeyModifiers)]) -> (String, String) {
        let mut prompt = Prompt::new(Purpose::Filter, "two words");
        for (code, modifiers) in keys {
            prompt.key(KeyEvent::new(*code, *modifiers));
        }
        prompt.parts()
    }

    #[test]
    fn keys_edit_the_line() {
        use KeyCode::{Backspace, Char, Delete, End, Home, Left, Right};
        const NONE: KeyModifiers = KeyModifiers::NONE;
        const CONTROL: KeyModifiers = KeyModifiers::CONTROL;
        for (keys, before, behind) in [
            (&[][..], "two words", ""),
            (&[(Char('!'), NONE)], "two words!", ""),
            (&[(Left, NONE), (Char('x'), NONE)], "two wordx", "s"),
            (&[(Home, NONE), (Delete, NONE)], "", "wo words"),
            (&[(Home, NONE), (Backspace, NONE)], "", "two words"),
            (&[(Right, NONE), (Delete, NONE)], "two words", ""),
            (&[(Char('w'), CONTROL)], "two ", ""),
            (&[(Char('w'), CONTROL), (Char('w'), CONTROL)], "", ""),
            (&[(Left, NONE), (Char('u'), CONTROL)], "", "s"),
            (&[(Char('a'), CONTROL), (End, NONE)], "two words", ""),
            (&[(Char('z'), CONTROL)], "two words", ""),
        ] {
            assert_eq!(
                typed(keys),
                (before.to_owned(), behind.to_owned()),
                "{keys:?}"
            );
        }
    }

    #[test]
    fn a_line_is_no_longer_than_a_filter_may_be_and_holds_no_control_characters() {
        let mut prompt = Prompt::new(Purpose::Filter, "");
        prompt.paste(&"ab\u{1b}".repeat(2000));
        let (text, _) = prompt.parts();
        assert_eq!(text.chars().count(), filter::MAX_CHARS);
        assert!(!text.contains('\u{1b}'));
        let mut prompt = Prompt::new(Purpose::Filter, "");
        prompt.paste("first\nsecond");
        assert_eq!(prompt.parts().0, "first");
    }
}
