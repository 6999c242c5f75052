//! How the program fails: what was tried, why it did not work, what to do; and with which code.

use crate::printing::harmless;

/// Done, also where values are missing.
pub(crate) const DONE: u8 = 0;
/// The operation failed.
pub(crate) const FAILED: u8 = 1;
/// The command line or the configuration is wrong.
pub(crate) const USAGE: u8 = 2;
/// There is no GPU. Not a failure: what was looked for has been said.
pub(crate) const NO_GPU: u8 = 3;
/// A stream or a recording was ended by a signal.
pub(crate) const INTERRUPTED: u8 = 130;

/// A failure for the user.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    error: anyhow::Error,
    hint: Option<String>,
}

/// Result of a command: its exit code, or a failure.
pub(crate) type Outcome = Result<u8, Failure>;

impl Failure {
    /// A wrong command line: what is wrong and what would be right.
    pub(crate) fn usage(error: impl Into<anyhow::Error>, hint: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            error: error.into(),
            hint: Some(hint.into()),
        }
    }

    /// An operation that failed.
    pub(crate) fn failed(error: impl Into<anyhow::Error>) -> Self {
        Self {
            code: FAILED,
            error: error.into(),
            hint: None,
        }
    }

    /// The same with advice.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// Whether the command line is at fault.
    pub(crate) const fn is_usage(&self) -> bool {
        self.code == USAGE
    }

    /// Says it on stderr and gives the exit code. A reader of stdout that went away is no failure.
    #[expect(clippy::print_stderr, reason = "this is where failures are said")]
    pub(crate) fn report(self) -> u8 {
        if self.is_broken_pipe() {
            return DONE;
        }
        eprintln!("error: {}", harmless(&self.error.to_string()));
        for cause in self.error.chain().skip(1) {
            eprintln!("cause: {}", harmless(&cause.to_string()));
        }
        if let Some(hint) = self.hint {
            eprintln!("hint: {}", harmless(&hint));
        }
        self.code
    }

    fn is_broken_pipe(&self) -> bool {
        self.error.chain().any(|cause| {
            cause
                .downcast_ref::<std::io::Error>()
                .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
        })
    }
}
