//! JSON read byte by byte: no tree, no allocation by a declared size, and an offset where it is broken.

use crate::error::{Error, What};
use crate::limits::{MAX_JSON_DEPTH, MAX_JSON_KEYS, MAX_TOKEN_BYTES};
use crate::window::malformed;

/// A value that is no container.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar<'a> {
    /// `None` where it is longer than what is kept.
    Text(Option<&'a str>),
    /// As it stands. `None` where it is longer than what is kept.
    Number(Option<&'a str>),
    Bool(bool),
    Null,
}

impl<'a> Scalar<'a> {
    pub(crate) const fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => text,
            _ => None,
        }
    }

    pub(crate) fn u64(self) -> Option<u64> {
        match self {
            Self::Number(text) => text?.parse().ok(),
            _ => None,
        }
    }
}

/// Whom values are told. `keys` lead to the value from the root; an array's elements have an empty key.
pub(crate) trait Sink {
    fn scalar(&mut self, keys: &[Box<str>], value: Scalar<'_>, at: u64) -> Result<(), Error>;

    /// An object opens.
    fn open(&mut self, _keys: &[Box<str>], _at: u64) -> Result<(), Error> {
        Ok(())
    }

    /// An object closes.
    fn close(&mut self, _keys: &[Box<str>], _at: u64) -> Result<(), Error> {
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// Just behind `[`.
    ValueOrEnd,
    Key,
    /// Just behind `{`.
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lexeme {
    Between,
    Text,
    Escape,
    Unicode { digits: u8, unit: u16 },
    Number,
    Word,
}

/// The state between two pieces.
#[derive(Debug)]
pub(crate) struct Scanner {
    /// Offset of the next byte.
    at: u64,
    /// A bit a level, the innermost lowest: 1 is an object.
    objects: u64,
    depth: u32,
    keys: Vec<Box<str>>,
    expect: Expect,
    lexeme: Lexeme,
    is_key: bool,
    token: Vec<u8>,
    token_at: u64,
    overlong: bool,
    /// The first half of a pair of UTF-16 units.
    high: Option<u16>,
}

impl Scanner {
    /// For JSON that starts at this offset.
    pub(crate) const fn new(at: u64) -> Self {
        Self {
            at,
            objects: 0,
            depth: 0,
            keys: Vec::new(),
            expect: Expect::Value,
            lexeme: Lexeme::Between,
            is_key: false,
            token: Vec::new(),
            token_at: 0,
            overlong: false,
            high: None,
        }
    }

    /// Reads a piece.
    pub(crate) fn feed(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Error> {
        for byte in bytes {
            self.byte(*byte, sink)?;
            self.at = self.at.saturating_add(1);
        }
        Ok(())
    }

    /// There is no further piece.
    pub(crate) fn finish(&mut self, sink: &mut impl Sink) -> Result<(), Error> {
        if matches!(self.lexeme, Lexeme::Number | Lexeme::Word) {
            self.bare(sink)?;
        }
        if self.lexeme == Lexeme::Between && self.expect == Expect::Nothing {
            return Ok(());
        }
        Err(self.broken())
    }

    const fn broken(&self) -> Error {
        malformed(What::Json, self.at)
    }

    fn byte(&mut self, byte: u8, sink: &mut impl Sink) -> Result<(), Error> {
        match self.lexeme {
            Lexeme::Between => self.between(byte, sink),
            Lexeme::Text => match byte {
                b'"' => self.text(sink),
                b'\\' => {
                    self.lexeme = Lexeme::Escape;
                    Ok(())
                }
                0..=0x1f => Err(self.broken()),
                _ => {
                    self.lone();
                    self.keep(&[byte]);
                    Ok(())
                }
            },
            Lexeme::Escape => self.escape(byte),
            Lexeme::Unicode { digits, unit } => self.unicode(byte, digits, unit),
            Lexeme::Number | Lexeme::Word => {
                let goes_on = match self.lexeme {
                    Lexeme::Number => {
                        matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
                    }
                    _ => byte.is_ascii_alphabetic(),
                };
                if goes_on {
                    self.keep(&[byte]);
                    return Ok(());
                }
                self.bare(sink)?;
                self.between(byte, sink)
            }
        }
    }

    fn between(&mut self, byte: u8, sink: &mut impl Sink) -> Result<(), Error> {
        let value = matches!(self.expect, Expect::Value | Expect::ValueOrEnd);
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'{' | b'[' if value => {
                if self.depth >= MAX_JSON_DEPTH.min(u64::BITS) {
                    return Err(Error::TooLarge {
                        what: What::Json,
                        offset: self.at,
                    });
                }
                let object = byte == b'{';
                if object {
                    sink.open(self.path(), self.at)?;
                }
                self.objects = (self.objects << 1) | u64::from(object);
                self.depth = self.depth.saturating_add(1);
                self.expect = if object {
                    Expect::KeyOrEnd
                } else {
                    self.push_key("");
                    Expect::ValueOrEnd
                };
            }
            b'}' if self.in_object()
                && matches!(self.expect, Expect::KeyOrEnd | Expect::CommaOrEnd) =>
            {
                self.leave();
                sink.close(self.path(), self.at)?;
                self.after_value();
            }
            b']' if !self.in_object()
                && self.depth > 0
                && matches!(self.expect, Expect::ValueOrEnd | Expect::CommaOrEnd) =>
            {
                self.leave();
                self.pop_key();
                self.after_value();
            }
            b',' if self.expect == Expect::CommaOrEnd => {
                self.expect = if self.in_object() {
                    Expect::Key
                } else {
                    Expect::Value
                };
            }
            b':' if self.expect == Expect::Colon => self.expect = Expect::Value,
            b'"' if value || matches!(self.expect, Expect::Key | Expect::KeyOrEnd) => {
                self.begin(Lexeme::Text);
                self.is_key = !value;
            }
            b'-' | b'0'..=b'9' if value => {
                self.begin(Lexeme::Number);
                self.keep(&[byte]);
            }
            b't' | b'f' | b'n' if value => {
                self.begin(Lexeme::Word);
                self.keep(&[byte]);
            }
            _ => return Err(self.broken()),
        }
        Ok(())
    }

    fn begin(&mut self, lexeme: Lexeme) {
        self.lexeme = lexeme;
        self.is_key = false;
        self.token.clear();
        self.token_at = self.at;
        self.overlong = false;
        self.high = None;
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.token.len().saturating_add(bytes.len()) <= MAX_TOKEN_BYTES {
            self.token.extend_from_slice(bytes);
        } else {
            self.overlong = true;
        }
    }

    const fn in_object(&self) -> bool {
        self.depth > 0 && self.objects & 1 == 1
    }

    const fn leave(&mut self) {
        self.objects >>= 1;
        self.depth = self.depth.saturating_sub(1);
    }

    /// Keys count levels, so that those beyond what is kept are only not stored.
    fn push_key(&mut self, key: &str) {
        if self.keys.len() < MAX_JSON_KEYS && self.keys.len() == self.key_levels() {
            self.keys.push(key.into());
        }
    }

    /// Levels above the one that a key is pushed for.
    fn key_levels(&self) -> usize {
        usize::try_from(self.depth.saturating_sub(1)).unwrap_or(usize::MAX)
    }

    fn pop_key(&mut self) {
        // Called once the level was left: `depth` levels of keys remain.
        let levels = usize::try_from(self.depth).unwrap_or(usize::MAX);
        self.keys.truncate(levels);
    }

    fn path(&self) -> &[Box<str>] {
        let levels = usize::try_from(self.depth).unwrap_or(usize::MAX);
        self.keys.get(..levels).unwrap_or(&self.keys)
    }

    /// Whether all keys that lead here are known.
    fn is_told(&self) -> bool {
        usize::try_from(self.depth).is_ok_and(|depth| depth <= MAX_JSON_KEYS)
    }

    fn after_value(&mut self) {
        if self.in_object() {
            // The key of the value that has just ended.
            self.keys.truncate(self.key_levels());
        }
        self.expect = if self.depth == 0 {
            Expect::Nothing
        } else {
            Expect::CommaOrEnd
        };
    }

    fn text(&mut self, sink: &mut impl Sink) -> Result<(), Error> {
        self.lone();
        self.lexeme = Lexeme::Between;
        let token = std::mem::take(&mut self.token);
        let text = String::from_utf8_lossy(&token);
        let result = if self.is_key {
            // A name that is not kept whole must not be taken for another.
            let key = if self.overlong { "\u{fffd}" } else { &text };
            self.push_key(key);
            self.expect = Expect::Colon;
            Ok(())
        } else {
            let kept = (!self.overlong).then_some(&*text);
            let told = self.tell(sink, Scalar::Text(kept));
            self.after_value();
            told
        };
        drop(text);
        self.token = token;
        result
    }

    fn tell(&self, sink: &mut impl Sink, value: Scalar<'_>) -> Result<(), Error> {
        if self.is_told() {
            sink.scalar(self.path(), value, self.token_at)
        } else {
            Ok(())
        }
    }

    /// A number or a word has ended.
    fn bare(&mut self, sink: &mut impl Sink) -> Result<(), Error> {
        let number = self.lexeme == Lexeme::Number;
        self.lexeme = Lexeme::Between;
        let token = std::mem::take(&mut self.token);
        let text = str::from_utf8(&token).unwrap_or_default();
        let broken = malformed(What::Json, self.token_at);
        let value = match text {
            _ if self.overlong && number => Scalar::Number(None),
            _ if number && is_number(&token) => Scalar::Number(Some(text)),
            "true" => Scalar::Bool(true),
            "false" => Scalar::Bool(false),
            "null" => Scalar::Null,
            _ => return Err(broken),
        };
        self.tell(sink, value)?;
        self.after_value();
        self.token = token;
        Ok(())
    }

    fn escape(&mut self, byte: u8) -> Result<(), Error> {
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                self.lexeme = Lexeme::Unicode { digits: 0, unit: 0 };
                return Ok(());
            }
            _ => return Err(self.broken()),
        };
        self.lone();
        self.keep(&[plain]);
        self.lexeme = Lexeme::Text;
        Ok(())
    }

    fn unicode(&mut self, byte: u8, digits: u8, unit: u16) -> Result<(), Error> {
        let digit = char::from(byte).to_digit(16).ok_or_else(|| self.broken())?;
        let unit = (unit << 4) | u16::try_from(digit).unwrap_or(0);
        if digits < 3 {
            let digits = digits.saturating_add(1);
            self.lexeme = Lexeme::Unicode { digits, unit };
            return Ok(());
        }
        self.lexeme = Lexeme::Text;
        if let (Some(high), 0xdc00..=0xdfff) = (self.high, unit) {
            self.high = None;
            for c in char::decode_utf16([high, unit]).map(|c| c.unwrap_or('\u{fffd}')) {
                self.keep(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            return Ok(());
        }
        self.lone();
        if matches!(unit, 0xd800..=0xdbff) {
            self.high = Some(unit);
        } else {
            let c = char::from_u32(u32::from(unit)).unwrap_or('\u{fffd}');
            self.keep(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(())
    }

    /// Half a pair without its other half.
    fn lone(&mut self) {
        if self.high.take().is_some() {
            self.keep("\u{fffd}".as_bytes());
        }
    }
}

/// JSON's grammar of numbers.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| -> usize { text.iter().take_while(|b| b.is_ascii_digit()).count() };
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text.first() == Some(&b'0')) {
        return false;
    }
    let mut rest = text.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or_default();
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let exponent = exponent
            .strip_prefix(b"+")
            .or_else(|| exponent.strip_prefix(b"-"))
            .unwrap_or(exponent);
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
#[path = "json/tests.rs"]
mod tests;
