//! Answers of attribute files as readings.

use std::collections::BTreeMap;

use model::{Gap, Measured, Provenance, Reading, Source, Stamp, Text};
use raw::{Answer, Reply, Stamped};

use super::state::SHOWN_FOR_MS;

/// The newest answer of every file of a device.
#[derive(Debug, Default)]
pub(super) struct Files {
    answers: BTreeMap<Text, Answer<Reply>>,
    /// Whether the newest answers say that the device does not answer.
    pub(super) hangs: bool,
}

impl Files {
    /// Takes the answers of a sweep. What was said before a device stopped answering stays, with its age.
    pub(super) fn take(&mut self, answers: &[(Text, Answer<Reply>)]) {
        self.hangs = false;
        for (path, answer) in answers {
            let unanswered = *answer == Err(Gap::TimedOut);
            self.hangs |= unanswered;
            if !(unanswered && matches!(self.answers.get(path), Some(Ok(_)))) {
                self.answers.insert(Text::clone(path), answer.clone());
            }
        }
    }

    /// Drops what is not read any more: processes come and go.
    pub(super) fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        self.answers.retain(|path, _| wanted(path));
    }

    /// Nothing that was said is true of now.
    pub(super) fn expire(&mut self) {
        self.hangs = true;
        for answer in self.answers.values_mut() {
            *answer = Err(Gap::TimedOut);
        }
    }

    /// Forgets the answers of these files, which are not read for now.
    pub(super) fn forget(&mut self, which: impl Fn(&str) -> bool) {
        self.answers
            .retain(|path, _| path.ends_with("/runtime_status") || !which(path));
    }

    /// How many of them may not be read.
    pub(super) fn refused(&self) -> usize {
        let answers = self.answers.values();
        answers.filter(|it| **it == Err(Gap::Permission)).count()
    }

    /// Whether there is an answer, of whatever kind.
    pub(super) fn is_known(&self, path: &str) -> bool {
        self.answers.contains_key(path)
    }

    /// The newest answer as bytes.
    pub(super) fn bytes(&self, path: &str) -> Answer<&[u8]> {
        match self.answers.get(path) {
            Some(Ok(Stamped {
                at,
                value: Reply::Bytes(bytes),
            })) => Ok(Stamped {
                at: *at,
                value: bytes,
            }),
            Some(Ok(_)) => Err(Gap::Malformed),
            Some(Err(gap)) => Err(*gap),
            None => Err(Gap::NotPresent),
        }
    }

    /// The newest answer as text without white space around it. An empty file is what some attributes say in place
    /// of an error.
    pub(super) fn text(&self, path: &str) -> Answer<&str> {
        let Stamped { at, value } = self.bytes(path)?;
        let text = std::str::from_utf8(value).map_err(|_| Gap::Malformed)?;
        match text.trim() {
            "" => Err(Gap::NotSupported),
            value => Ok(Stamped { at, value }),
        }
    }

    /// The newest answer as a number. Without the end of its line it may be half of one.
    pub(super) fn number(&self, path: &str) -> Answer<i64> {
        let Stamped { at, value } = self.text(path)?;
        let is_whole = self.bytes(path)?.value.ends_with(b"\n");
        let digits = value.strip_prefix('-').unwrap_or(value);
        let value = match value.parse() {
            Ok(value) if is_whole => value,
            Err(_) if is_whole && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Err(if digits.is_empty() {
                    Gap::Malformed
                } else {
                    Gap::Implausible
                });
            }
            _ => return Err(Gap::Malformed),
        };
        Ok(Stamped { at, value })
    }
}

/// A file as the origin of a reading.
pub(super) const fn sysfs(counter: &'static str, at: Stamp) -> Provenance {
    Provenance {
        source: Source::Sysfs,
        counter,
        at,
    }
}

/// Makes readings of a device's files.
#[derive(Clone, Copy)]
pub(super) struct Readings<'a> {
    pub(super) files: &'a Files,
    pub(super) now: Stamp,
    /// Why files that were not asked for were not.
    pub(super) unasked: Gap,
    /// Why there is no file of the device: it has none, or what it has could not be listed.
    pub(super) absent: Gap,
    /// Why there is no file of the hardware monitoring: it may not have been looked for yet.
    pub(super) unmonitored: Gap,
}

impl Readings<'_> {
    /// A reading that is missing.
    pub(super) const fn missing<T>(&self, counter: &'static str, gap: Gap) -> Reading<T> {
        Reading::missing(gap, sysfs(counter, self.now))
    }

    /// A number in `range`, converted; `path` is none where the device has no such file.
    pub(super) fn number<T>(
        &self,
        counter: &'static str,
        path: Option<&str>,
        range: std::ops::RangeInclusive<i64>,
        convert: impl FnOnce(i64) -> T,
    ) -> Reading<Measured<T>> {
        self.read(counter, path, |files, path| {
            let Stamped { at, value } = files.number(path)?;
            if range.contains(&value) {
                Ok(Stamped {
                    at,
                    value: convert(value),
                })
            } else {
                Err(Gap::Implausible)
            }
        })
    }

    /// A number of the hardware monitoring, as above.
    pub(super) fn monitored<T>(
        &self,
        counter: &'static str,
        path: Option<&str>,
        range: std::ops::RangeInclusive<i64>,
        convert: impl FnOnce(i64) -> T,
    ) -> Reading<Measured<T>> {
        match path {
            Some(_) => self.number(counter, path, range, convert),
            None => self.missing(counter, self.unmonitored),
        }
    }

    /// Whatever `read` makes of a file.
    pub(super) fn read<T>(
        &self,
        counter: &'static str,
        path: Option<&str>,
        read: impl FnOnce(&Files, &str) -> Answer<T>,
    ) -> Reading<Measured<T>> {
        let Some(path) = path else {
            return self.missing(counter, self.absent);
        };
        match read(self.files, path) {
            Ok(Stamped { at, .. }) if self.files.hangs && self.now.ms_since(at) > SHOWN_FOR_MS => {
                self.missing(counter, Gap::TimedOut)
            }
            Ok(Stamped { at, value }) => Reading::measured(value, sysfs(counter, at)),
            Err(Gap::NotPresent) if !self.files.is_known(path) => {
                self.missing(counter, self.unasked)
            }
            Err(gap) => self.missing(counter, gap),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_whole_and_fits_or_is_none() {
        for (text, expected) in [
            ("12\n", Ok(12)),
            ("0\n", Ok(0)),
            (" -7 \n", Ok(-7)),
            ("9223372036854775807\n", Ok(i64::MAX)),
            ("9223372036854775808\n", Err(Gap::Implausible)),
            ("18446744073709551615\n", Err(Gap::Implausible)),
            ("-99999999999999999999\n", Err(Gap::Implausible)),
            ("1717986918", Err(Gap::Malformed)),
            ("-\n", Err(Gap::Malformed)),
            ("12 MiB\n", Err(Gap::Malformed)),
            ("nan\n", Err(Gap::Malformed)),
            ("1.5\n", Err(Gap::Malformed)),
            ("\n", Err(Gap::NotSupported)),
            ("", Err(Gap::NotSupported)),
        ] {
            let mut files = Files::default();
            let at = Stamp {
                mono_ns: 1,
                wall_us: 1,
            };
            let answer = Ok(Stamped {
                at,
                value: Reply::text(text),
            });
            files.take(&[("/x".into(), answer)]);
            let number = files.number("/x").map(|answer| answer.value);
            assert_eq!(number, expected, "{text:?}");
        }
    }
}
