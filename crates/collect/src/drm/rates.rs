//! Counters that only mean something over time: energy, time asleep.

use std::collections::BTreeMap;

use model::{Gap, Measured, Reading, Stamp, Text};

use super::files::{Files, Readings, sysfs};

/// How a counter has moved between its last two readings, per second.
#[derive(Debug, Default)]
pub(super) struct Rates {
    counters: BTreeMap<Text, Counter>,
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    value: i64,
    at: Stamp,
    rate: Option<f64>,
}

impl Rates {
    /// Takes the newest value of each of these files.
    pub(super) fn take(&mut self, files: &Files, paths: &[Text]) {
        for path in paths {
            let Ok(answer) = files.number(path) else {
                self.counters.remove(path);
                continue;
            };
            let before = self.counters.get(path).copied();
            let rate = match before {
                Some(before) if before.at == answer.at => before.rate,
                Some(before) => per_second(before, answer.value, answer.at),
                None => None,
            };
            let counter = Counter {
                value: answer.value,
                at: answer.at,
                rate,
            };
            self.counters.insert(Text::clone(path), counter);
        }
    }

    /// Drops counters that are not read any more.
    pub(super) fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        self.counters.retain(|path, _| wanted(path));
    }

    /// Whether a counter has grown between its last two readings.
    pub(super) fn has_moved(&self, path: &str) -> bool {
        let counter = self.counters.get(path);
        counter.is_some_and(|counter| counter.rate.is_some_and(|rate| rate > 0.0))
    }

    pub(super) fn reading(
        &self,
        readings: Readings<'_>,
        counter: &'static str,
        path: Option<&str>,
    ) -> Reading<Measured<f64>> {
        let known = path.and_then(|path| self.counters.get(path));
        match known {
            Some(Counter {
                at,
                rate: Some(rate),
                ..
            }) => Reading::measured(*rate, sysfs(counter, *at)),
            Some(_) => readings.missing(counter, Gap::FirstSample),
            // Why it could not be read.
            None => readings.read(counter, path, |files, path| {
                files.number(path).and(Err(Gap::FirstSample))
            }),
        }
    }
}

/// `None` where it has stepped back: it was reset.
#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio of counters may lose its last digits"
)]
fn per_second(before: Counter, value: i64, at: Stamp) -> Option<f64> {
    let moved = value
        .checked_sub(before.value)
        .filter(|moved| *moved >= 0)?;
    let passed = at
        .mono_ns
        .checked_sub(before.at.mono_ns)
        .filter(|passed| *passed > 0)?;
    Some(moved as f64 / passed as f64 * 1e9)
}

#[cfg(test)]
mod tests {
    use raw::{Reply, Stamped};

    use super::*;

    #[test]
    fn a_rate_needs_two_readings_and_a_reset_starts_over() {
        let path: Text = "/sys/energy1_input".into();
        let mut files = Files::default();
        let mut rates = Rates::default();
        let mut found = Vec::new();
        for (second, value) in [
            (1, "1000"),
            (2, "5001000"),
            (2, "5001000"),
            (3, "7"),
            (4, "1000007"),
        ] {
            let at = Stamp {
                mono_ns: second * 1_000_000_000,
                wall_us: 0,
            };
            let answer = Ok(Stamped {
                at,
                value: Reply::text(&format!("{value}\n")),
            });
            files.take(&[(Text::clone(&path), answer)]);
            rates.take(&files, std::slice::from_ref(&path));
            let readings = Readings {
                files: &files,
                now: at,
                unasked: Gap::Pending,
                absent: Gap::NoCounter,
                unmonitored: Gap::NoCounter,
            };
            let reading = rates.reading(readings, "energy", Some(&path));
            found.push(reading.value().copied().ok_or(reading.gap()));
        }
        let first = Err(Some(Gap::FirstSample));
        assert_eq!(found, [first, Ok(5e6), Ok(5e6), first, Ok(1e6)]);
    }
}
