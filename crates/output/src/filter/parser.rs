//! Text to expression, by recursive descent.

use super::field::{self, Comparison, Field, Kind, STATES, Test};
use super::word::Words;
use super::{Expression, FilterError, MAX_CHARS};

/// Deepest nesting of parentheses and `!`, so that an expression cannot exhaust the stack.
const MAX_DEPTH: usize = 32;

/// Characters that end a bare word.
const ENDS: &[char] = &[' ', '\t', '|', '(', ')', '!', '"', ':', '=', '<', '>'];

struct Parser<'a> {
    text: &'a [char],
    at: usize,
}

pub(super) fn parse(text: &str) -> Result<Expression, FilterError> {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() > MAX_CHARS {
        return Err(FilterError {
            column: MAX_CHARS + 1,
            message: format!("at most {MAX_CHARS} characters"),
        });
    }
    let mut parser = Parser {
        text: &characters,
        at: 0,
    };
    parser.skip_blanks();
    if parser.peek().is_none() {
        return Ok(Expression::Everything);
    }
    let root = parser.any(0)?;
    match parser.peek() {
        None => Ok(root),
        Some(')') => Err(parser.wrong("no parenthesis is open here")),
        Some(other) => Err(parser.wrong(&format!("{other:?} is not expected here"))),
    }
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next_is(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn wrong(&self, message: &str) -> FilterError {
        Self::wrong_at(self.at, message)
    }

    fn wrong_at(at: usize, message: &str) -> FilterError {
        FilterError {
            column: at + 1,
            message: message.to_owned(),
        }
    }

    fn any(&mut self, depth: usize) -> Result<Expression, FilterError> {
        let mut parts = vec![self.all(depth)?];
        while self.next_is('|') {
            parts.push(self.all(depth)?);
        }
        Ok(one_or(parts, Expression::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Expression, FilterError> {
        let mut parts = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('|' | ')') => break,
                Some(_) => parts.push(self.one(depth)?),
            }
        }
        if parts.is_empty() {
            return Err(self.wrong("a test is missing here"));
        }
        Ok(one_or(parts, Expression::All))
    }

    fn one(&mut self, depth: usize) -> Result<Expression, FilterError> {
        if depth > MAX_DEPTH {
            return Err(self.wrong(&format!("nested more than {MAX_DEPTH} deep")));
        }
        if self.next_is('!') {
            self.skip_blanks();
            if matches!(self.peek(), None | Some('|' | ')')) {
                return Err(self.wrong("a test is missing behind !"));
            }
            return Ok(Expression::Not(Box::new(self.one(depth + 1)?)));
        }
        let opened = self.at;
        if self.next_is('(') {
            let inner = self.any(depth + 1)?;
            if !self.next_is(')') {
                return Err(Self::wrong_at(opened, "this parenthesis is not closed"));
            }
            return Ok(inner);
        }
        self.test().map(Expression::Test)
    }

    fn test(&mut self) -> Result<Test, FilterError> {
        match self.peek() {
            Some('"' | '/') => return self.words(Words::within).map(Test::Anywhere),
            Some(':' | '=' | '<' | '>') => return Err(self.wrong("a field is missing before this")),
            _ => {}
        }
        let began = self.at;
        let word = self.bare();
        if !self.is_before_operator() {
            return Ok(Test::Anywhere(Words::within(&word)));
        }
        let Some(field) = field::ALL.iter().find(|it| it.name == word.to_lowercase()) else {
            let names: Vec<&str> = field::ALL.iter().map(|it| it.name).collect();
            let message = format!(
                "there is no field {word}; there are {}; a word with such a sign in it needs quotes",
                names.join(", ")
            );
            return Err(Self::wrong_at(began, &message));
        };
        self.field(field)
    }

    fn field(&mut self, field: &Field) -> Result<Test, FilterError> {
        let operator = self.at;
        let sign = self.operator();
        let value = self.at;
        if matches!(self.peek(), None | Some(' ' | '|' | ')')) {
            let message = format!("a value is missing: {}", field.kind.words());
            return Err(self.wrong(&message));
        }
        let comparison = match sign {
            ":" | "=" => Comparison::Equal,
            "!=" => Comparison::Unequal,
            ">" => Comparison::Above,
            ">=" => Comparison::AtLeast,
            "<" => Comparison::Below,
            _ => Comparison::AtMost,
        };
        let is_ordered = !matches!(comparison, Comparison::Equal | Comparison::Unequal);
        if is_ordered && matches!(field.kind, Kind::Words | Kind::State) {
            let message = format!("{} is compared by : = or !=", field.name);
            return Err(Self::wrong_at(operator, &message));
        }
        let wrong = |message: String| Self::wrong_at(value, &message);
        match field.kind {
            Kind::Words => {
                let plain = if sign == ":" {
                    Words::within
                } else {
                    Words::whole
                };
                let words = self.words(plain)?;
                Ok(Test::Words(
                    field.id,
                    words,
                    comparison == Comparison::Equal,
                ))
            }
            Kind::State => {
                let word = self.bare();
                let known = STATES.iter().find(|(name, _)| *name == word.to_lowercase());
                let (_, state) = known
                    .ok_or_else(|| wrong(format!("{word} is none of {}", field.kind.words())))?;
                if comparison == Comparison::Unequal {
                    return Err(Self::wrong_at(operator, "write !is:… for the opposite"));
                }
                Ok(Test::State(*state))
            }
            Kind::Size | Kind::Percent | Kind::Number => {
                let word = self.bare();
                let number = match field.kind {
                    Kind::Size => size(&word),
                    Kind::Percent => decimal(word.strip_suffix('%').unwrap_or(&word)),
                    _ => decimal(&word),
                };
                let number =
                    number.ok_or_else(|| wrong(format!("{word} is no {}", field.kind.words())))?;
                Ok(Test::Number(field.id, comparison, number))
            }
        }
    }

    fn is_before_operator(&self) -> bool {
        match self.peek() {
            Some(':' | '=' | '<' | '>') => true,
            Some('!') => self.text.get(self.at + 1) == Some(&'='),
            _ => false,
        }
    }

    fn operator(&mut self) -> &'static str {
        const OPERATORS: [&str; 7] = ["!=", ">=", "<=", ":", "=", ">", "<"];
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = OPERATORS
            .into_iter()
            .find(|it| it.chars().eq(rest.iter().copied().take(it.len())))
            .unwrap_or(":");
        self.at += found.len();
        found
    }

    /// A bare word, one in quotes, or a pattern between slashes.
    fn words(&mut self, plain: fn(&str) -> Words) -> Result<Words, FilterError> {
        match self.peek() {
            Some('"') => Ok(plain(&self.until('"', "these quotes are not closed")?)),
            Some('/') => {
                let began = self.at;
                let pattern = self.until('/', "this pattern is not closed by another /")?;
                Words::pattern(&pattern).map_err(|message| Self::wrong_at(began, &message))
            }
            _ => Ok(plain(&self.bare())),
        }
    }

    /// What stands up to the next `end`, which may stand within behind a backslash.
    fn until(&mut self, end: char, unclosed: &str) -> Result<String, FilterError> {
        let began = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(character) = self.peek() {
            self.at += 1;
            if character == end {
                return if text.is_empty() {
                    Err(Self::wrong_at(began, "nothing stands between these"))
                } else {
                    Ok(text)
                };
            }
            if character == '\\' && self.next_is(end) {
                text.push(end);
            } else {
                text.push(character);
            }
        }
        Err(Self::wrong_at(began, unclosed))
    }

    fn bare(&mut self) -> String {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let word: String = rest
            .iter()
            .take_while(|character| !ENDS.contains(character))
            .collect();
        self.at += word.chars().count();
        word
    }
}

fn one_or(mut parts: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Expression {
    if parts.len() == 1 {
        parts.remove(0)
    } else {
        join(parts)
    }
}

/// A number of digits with at most one point: no sign, no exponent, no infinity.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.chars().all(|it| it.is_ascii_digit() || it == '.');
    plain.then(|| text.parse().ok()).flatten()
}

/// A size in binary units, as the table shows it: `500M`, `1.5GiB`, `4096`.
fn size(text: &str) -> Option<f64> {
    let lower = text.to_lowercase();
    let bare = lower.trim_end_matches('b').trim_end_matches('i');
    let (digits, steps) = match bare.chars().next_back()? {
        'k' => (bare.strip_suffix('k')?, 1),
        'm' => (bare.strip_suffix('m')?, 2),
        'g' => (bare.strip_suffix('g')?, 3),
        't' => (bare.strip_suffix('t')?, 4),
        _ => (bare, 0),
    };
    Some(decimal(digits)? * 1024_f64.powi(steps))
}
