//! Small steps through the text of a line.

use model::Text;

use super::Field;

pub(crate) type Fields = Vec<Field>;

/// Longest path that is kept: `PATH_MAX` of Linux.
const MAX_PATH_BYTES: usize = 4_096;

/// Longest name of a model that is kept.
pub const MAX_NAME_BYTES: usize = 200;

/// Longest number that is kept.
const MAX_NUMBER_BYTES: usize = 24;

/// The text behind `needle`.
pub(super) fn after<'a>(text: &'a str, needle: &str) -> Option<&'a str> {
    text.split_once(needle).map(|(_, rest)| rest)
}

/// A number at the start of the text, without its commas, and what stands behind it.
pub(super) fn number(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')
        .unwrap_or(text.len());
    let (digits, mut rest) = text.split_at_checked(end)?;
    // A full stop or a comma that ends the clause is none of the number's.
    let trimmed = digits.trim_end_matches(['.', ',']);
    if trimmed.len() < digits.len() {
        rest = text.get(trimmed.len()..)?;
    }
    let is_number = trimmed.len() <= MAX_NUMBER_BYTES
        && trimmed.starts_with(|c: char| c.is_ascii_digit())
        && trimmed.matches('.').count() <= 1;
    is_number.then(|| (trimmed.replace(',', ""), rest))
}

/// A size at the start of the text: number and unit.
pub(super) fn size(text: &str) -> Option<(Fields, &str)> {
    let (digits, rest) = number(text)?;
    let rest = rest.trim_start();
    let unit = UNITS.iter().find(|unit| rest.starts_with(**unit))?;
    let rest = rest.get(unit.len()..)?;
    // `MBps` is no size.
    if rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    Some((vec![Field::Number(digits.into()), word(unit)], rest))
}

/// Units of sizes, the longer ones first.
const UNITS: [&str; 8] = ["GiB", "MiB", "KiB", "GB", "MB", "KB", "kB", "B"];

/// A word of a closed set.
pub(super) fn word(text: &str) -> Field {
    Field::Word(text.into())
}

/// A number as a field.
pub(super) fn digits(text: String) -> Field {
    Field::Number(text.into())
}

/// A path, if it can be one.
pub(super) fn path(text: &str) -> Option<Field> {
    let is_path =
        !text.is_empty() && text.len() <= MAX_PATH_BYTES && !text.chars().any(char::is_control);
    is_path.then(|| Field::Path(Text::from(text)))
}

/// A name of a model: letters, digits and the signs that names of models have; no spaces, so that no sentence is one.
pub(crate) fn name(text: &str) -> Option<Field> {
    let is_name = !text.is_empty()
        && text.len() <= MAX_NAME_BYTES
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || "._-/:@+\\".contains(c));
    is_name.then(|| Field::Name(Text::from(text)))
}

/// The text up to the quote that ends it at the end of the line, behind `needle` and an opening quote.
pub(super) fn quoted_to_end<'a>(text: &'a str, needle: &str) -> Option<&'a str> {
    after(text, needle)?
        .trim_end()
        .trim_end_matches("...")
        .trim_end()
        .strip_prefix('\'')?
        .strip_suffix('\'')
}
