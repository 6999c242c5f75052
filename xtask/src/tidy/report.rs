//! What the rules found, and running all of them.

use std::fmt;

use super::{RULES, Tree};

/// One place where a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Name of the rule, its file name below `rules/`.
    pub rule: &'static str,
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// Line counted from 1, when the place is a line.
    pub line: Option<usize>,
    /// What is wrong and what to do instead.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {} [{}]", self.path, self.message, self.rule),
            None => write!(f, "{}: {} [{}]", self.path, self.message, self.rule),
        }
    }
}

/// All findings. Warnings do not fail the check.
#[derive(Debug, Default)]
pub struct Report {
    pub violations: Vec<Violation>,
    pub warnings: Vec<Violation>,
}

/// What one rule reports into: it adds its name to each finding.
pub(super) struct Findings<'a> {
    rule: &'static str,
    report: &'a mut Report,
}

impl Findings<'_> {
    pub(super) fn at(&mut self, path: &str, line: usize, message: impl Into<String>) {
        self.report
            .violations
            .push(self.finding(path, Some(line), message.into()));
    }

    pub(super) fn in_file(&mut self, path: &str, message: impl Into<String>) {
        self.report
            .violations
            .push(self.finding(path, None, message.into()));
    }

    pub(super) fn warn(&mut self, path: &str, message: impl Into<String>) {
        self.report
            .warnings
            .push(self.finding(path, None, message.into()));
    }

    fn finding(&self, path: &str, line: Option<usize>, message: String) -> Violation {
        Violation {
            rule: self.rule,
            path: path.to_owned(),
            line,
            message,
        }
    }
}

/// Runs every rule over `tree`.
pub fn check(tree: &Tree) -> Report {
    let mut report = Report::default();
    for rule in RULES {
        (rule.check)(
            tree,
            &mut Findings {
                rule: rule.name,
                report: &mut report,
            },
        );
    }
    report
}

/// Runs one rule by name over literal files; for the rules' tests.
#[cfg(test)]
pub(super) fn found(rule: &str, files: &[(&str, &str)]) -> Vec<String> {
    let rule = RULES
        .iter()
        .find(|known| known.name == rule)
        .expect("a known rule");
    let mut report = Report::default();
    (rule.check)(
        &Tree::of(files),
        &mut Findings {
            rule: rule.name,
            report: &mut report,
        },
    );
    report
        .violations
        .iter()
        .map(|v| {
            v.line
                .map_or_else(|| v.path.clone(), |line| format!("{}:{line}", v.path))
        })
        .collect()
}
