//! The filter language: which rows of a table are kept.
//!
//! A word is looked for in names, models, kinds of work, runtimes and process numbers; `field op value` tests one
//! field. A space joins tests that must all hold, `|` those of which one must, `!` turns one round, parentheses group.
//!
//! A value that is missing neither passes nor fails a test: what is not known to be above 500 MiB is not known to be
//! below either, so `!vram>500M` does not keep a row whose size is n/a. `is:na` does.

mod field;
mod parser;
mod word;

use std::fmt;

use model::{Charge, Process};

use crate::compare::change::RowChange;

use field::Test;

/// Most characters of an expression.
pub const MAX_CHARS: usize = 512;

/// A row: a process on one device, or without a device where it has memory on none.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The process.
    pub process: &'a Process,
    /// What it holds and does on the device.
    pub charge: Option<&'a Charge>,
    /// What changed in it since an earlier moment, where it is compared with one.
    pub change: Option<RowChange>,
}

/// An expression that was understood.
#[derive(Clone, Debug)]
pub struct Filter {
    text: String,
    root: Expression,
}

/// Why an expression was not understood.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FilterError {
    /// Which character, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for FilterError {}

#[derive(Clone, Debug)]
enum Expression {
    /// Keeps everything.
    Everything,
    Test(Test),
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Filter {
    /// Reads an expression. One of blanks keeps everything.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Ok(Self {
            root: parser::parse(text)?,
            text: text.trim().to_owned(),
        })
    }

    /// The expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the row is shown: only one that is known to pass is.
    pub fn keeps(&self, row: Row<'_>) -> bool {
        self.root.holds(row) == Some(true)
    }
}

impl Expression {
    /// `None` where a missing value decides.
    fn holds(&self, row: Row<'_>) -> Option<bool> {
        match self {
            Self::Everything => Some(true),
            Self::Test(test) => test.holds(row),
            Self::Not(inner) => inner.holds(row).map(|held| !held),
            Self::All(parts) => first_that(parts, row, false),
            Self::Any(parts) => first_that(parts, row, true),
        }
    }
}

/// The outcome that decides as soon as one part has it; unknown if a part is unknown and none decides.
fn first_that(parts: &[Expression], row: Row<'_>, decisive: bool) -> Option<bool> {
    let mut outcome = Some(!decisive);
    for part in parts {
        match part.holds(row) {
            Some(held) if held == decisive => return Some(decisive),
            None => outcome = None,
            Some(_) => {}
        }
    }
    outcome
}

/// What can be tested, for a help text: the field, and what its value is.
pub fn fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    field::ALL.iter().map(|it| (it.name, it.kind.words()))
}

#[cfg(test)]
mod tests;
