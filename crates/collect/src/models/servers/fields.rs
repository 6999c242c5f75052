//! The kept values of one reply, by path.

use model::{Bytes, Gap, Provenance, Reading, Reported, Said, Source, Stamp, Text};
use raw::HttpReply;
use serde_json::Value;

/// Larger numbers are no context: twice the longest that any model was trained for.
const MAX_CONTEXT: u64 = 1 << 28;
/// Larger numbers are no slots.
const MAX_SLOTS: u64 = 1 << 16;

/// What was answered to one question, and when.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) reply: &'a HttpReply,
    pub(super) at: Stamp,
}

impl<'a> Fields<'a> {
    fn value(&self, path: &str) -> Option<&'a Value> {
        self.reply.fields.get(path)
    }

    /// A whole number that is not negative.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.value(path)?.as_u64()
    }

    /// A number of a metric, or one that is written as text there.
    pub(super) fn float(&self, path: &str) -> Option<f64> {
        let value = self.value(path)?;
        let number = value
            .as_f64()
            .or_else(|| value.as_str().and_then(|text| text.parse().ok()))?;
        (number.is_finite() && number >= 0.0).then_some(number)
    }

    /// A text that is not empty.
    pub(super) fn text(&self, path: &str) -> Option<&'a str> {
        self.value(path)?.as_str().filter(|text| !text.is_empty())
    }

    pub(super) fn flag(&self, path: &str) -> Option<bool> {
        self.value(path)?.as_bool()
    }

    /// Whether there is a value, be it null.
    pub(super) fn has(&self, path: &str) -> bool {
        self.value(path).is_some()
    }

    /// How many elements the array has of which elements are kept as `PATH[0]`, …; `None` where it is none.
    pub(super) fn count(&self, path: &str) -> Option<u64> {
        self.number(&format!("{path}[]"))
    }

    /// Whether the array has more elements than are kept, so that nothing is known of all of them.
    pub(super) fn is_cut(&self, path: &str) -> bool {
        let kept = raw::MAX_ELEMENTS as u64;
        self.count(path).is_some_and(|all| all > kept)
    }

    /// What is made of the value at `path`; missing where it is not there, or is nothing that can be.
    pub(super) fn told<T>(
        &self,
        path: &str,
        counter: &'static str,
        value: Option<T>,
    ) -> Reading<Reported<T>> {
        let gap = if self.has(path) {
            Gap::Implausible
        } else {
            Gap::NotFound
        };
        match value {
            Some(value) => Reading::Known(self.reported(value, counter)),
            None => Reading::missing(gap, from(counter, self.at)),
        }
    }

    /// The paths of its kept elements. A longer array is not looked at beyond what is kept of it.
    pub(super) fn elements(&self, path: &str) -> impl Iterator<Item = String> + use<> {
        let all = self.count(path).unwrap_or_default(); // tidy: no array has no elements
        let kept = usize::try_from(all).map_or(raw::MAX_ELEMENTS, |all| all.min(raw::MAX_ELEMENTS));
        let path = path.to_owned();
        (0..kept).map(move |number| format!("{path}[{number}]"))
    }

    /// Context in tokens.
    pub(super) fn context(&self, path: &str) -> Option<u64> {
        self.number(path)
            .filter(|tokens| (1..=MAX_CONTEXT).contains(tokens))
    }

    /// Number of slots, or of requests at once.
    pub(super) fn slots(&self, path: &str) -> Option<u64> {
        self.number(path)
            .filter(|slots| (1..=MAX_SLOTS).contains(slots))
    }

    /// One more word of the server, where it says it.
    pub(super) fn said(
        &self,
        field: &'static str,
        counter: &'static str,
        path: &str,
    ) -> Option<Said> {
        let value = match self.value(path)? {
            Value::String(text) if !text.is_empty() => Text::from(text.as_str()),
            Value::Number(number) => number.to_string().into(),
            _ => return None,
        };
        Some(self.says(field, counter, value))
    }

    /// The same for a value that has to be something: what cannot be is named as missing.
    pub(super) fn said_if(
        &self,
        field: &'static str,
        counter: &'static str,
        path: &str,
        can_be: impl FnOnce(&Self) -> bool,
    ) -> Option<Said> {
        let said = self.said(field, counter, path)?;
        Some(if can_be(self) {
            said
        } else {
            let value = format!("n/a: {}", Gap::Implausible.sentence()).into();
            Said { value, ..said }
        })
    }

    /// The same for words that are put together here.
    pub(super) fn says(&self, field: &'static str, counter: &'static str, value: Text) -> Said {
        Said {
            field,
            value,
            by: from(counter, self.at),
        }
    }

    /// A reported value.
    pub(super) const fn reported<T>(&self, value: T, counter: &'static str) -> Reported<T> {
        Reported {
            value,
            by: from(counter, self.at),
        }
    }
}

/// Puts a value where a server says it; else the gap that stands there remains.
pub(super) fn set<T>(reading: &mut Reading<Reported<T>>, value: Option<Reported<T>>) {
    if let Some(value) = value {
        *reading = Reading::Known(value);
    }
}

/// A size as a person reads it, with the unit that keeps it short.
pub(in super::super) fn size(bytes: Bytes) -> String {
    let (unit, name) = if bytes < Bytes::mib(1024) {
        (Bytes::mib(1), "MiB")
    } else {
        (Bytes::mib(1024), "GiB")
    };
    format!("{:.2} {name}", bytes.as_f64() / unit.as_f64())
}

/// Increase per second of a counter between two replies; `None` where it began anew in between.
pub(super) fn per_second(before: (Stamp, f64), now: (Stamp, f64)) -> Option<f64> {
    let ns = now.0.mono_ns.checked_sub(before.0.mono_ns)?;
    let seconds = std::time::Duration::from_nanos(ns).as_secs_f64();
    let more = now.1 - before.1;
    (seconds > 0.0 && more >= 0.0).then(|| more / seconds)
}

pub(super) const fn from(counter: &'static str, at: Stamp) -> Provenance {
    Provenance {
        source: Source::Http,
        counter,
        at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_time_and_a_counter_that_did_not_begin_anew() {
        let at = |seconds: u64| Stamp {
            mono_ns: seconds * 1_000_000_000,
            wall_us: 0,
        };
        assert_eq!(per_second((at(10), 100.0), (at(15), 200.0)), Some(20.0));
        assert_eq!(per_second((at(10), 100.0), (at(15), 100.0)), Some(0.0));
        assert_eq!(per_second((at(10), 100.0), (at(15), 99.0)), None);
        assert_eq!(per_second((at(10), 100.0), (at(10), 200.0)), None);
        assert_eq!(per_second((at(10), 100.0), (at(9), 200.0)), None);
    }
}
