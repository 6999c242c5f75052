//! The `provenance` maps, filled while values are taken out of readings, so that no value can be
//! written without its entry.

use std::borrow::Cow;

use model::{
    Bytes, Charged, ChargedPercent, Estimated, Gap, InferenceBasis, Measured, Missing, Percent,
    Provenance, Reading, Reported, Source, Stamp, Total,
};

use super::v1::{ProvenanceMap, Trace};

/// Counter named for values that this program adds up.
pub(super) const SUM_OF_ROWS: &str = "sum of process rows";

/// The map of one object under construction.
pub(super) struct Traces {
    now: Stamp,
    entries: Vec<(Cow<'static, str>, Trace)>,
}

impl Traces {
    pub(super) const fn new(now: Stamp) -> Self {
        Self {
            now,
            entries: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> ProvenanceMap {
        ProvenanceMap(self.entries)
    }

    pub(super) fn enter(&mut self, key: impl Into<Cow<'static, str>>, trace: Trace) {
        self.entries.push((key.into(), trace));
    }

    fn present(&mut self, key: &'static str, class: &'static str, from: Provenance) {
        let trace = present(self.now, class, from);
        self.enter(key, trace);
    }

    fn gone(&mut self, key: &'static str, missing: &Missing) {
        self.enter(key, gone(missing));
    }

    /// A value that has no reading at all behind it.
    pub(super) fn absent<T>(&mut self, key: &'static str, gap: Gap) -> Option<T> {
        self.enter(key, absent(gap));
        None
    }

    /// A value that this version of the program does not read.
    pub(super) fn not_read<T>(&mut self, key: &'static str) -> Option<T> {
        self.enter(
            key,
            Trace {
                reason: Some("not_read"),
                ..Trace::new("unavailable", Source::Program.id())
            },
        );
        None
    }

    pub(super) fn measured<T, U>(
        &mut self,
        key: &'static str,
        reading: &Reading<Measured<T>>,
        value: impl FnOnce(&T) -> U,
    ) -> Option<U> {
        match reading {
            Reading::Known(measured) => {
                self.present(key, "measured", measured.from);
                Some(value(&measured.value))
            }
            Reading::Missing(missing) => {
                self.gone(key, missing);
                None
            }
        }
    }

    /// A measured number that is not whole. One that is not finite is no measurement.
    pub(super) fn number<T>(
        &mut self,
        key: &'static str,
        reading: &Reading<Measured<T>>,
        value: impl FnOnce(&T) -> f64,
    ) -> Option<f64> {
        let Reading::Known(measured) = reading else {
            return self.measured(key, reading, value);
        };
        let number = value(&measured.value);
        if number.is_finite() {
            self.present(key, "measured", measured.from);
            Some(number)
        } else {
            self.gone(
                key,
                &Missing {
                    gap: Gap::Implausible,
                    from: measured.from,
                },
            );
            None
        }
    }

    pub(super) fn bytes(
        &mut self,
        key: &'static str,
        reading: &Reading<Measured<Bytes>>,
    ) -> Option<u64> {
        self.measured(key, reading, |bytes| bytes.0)
    }

    /// A value with its owner.
    pub(super) fn charged<T: Copy>(
        &mut self,
        key: &'static str,
        reading: &Reading<Charged<T>>,
    ) -> Option<T> {
        match reading {
            Reading::Known(Charged::Measured(measured)) => {
                self.present(key, "measured", measured.from);
                Some(measured.value)
            }
            Reading::Known(Charged::Inferred(inferred)) => {
                let trace = Trace {
                    detail: Some(basis_sentence(inferred.basis).into()),
                    ..present(self.now, "inferred", inferred.from)
                };
                self.enter(key, trace);
                Some(inferred.value)
            }
            Reading::Missing(missing) => {
                self.gone(key, missing);
                None
            }
        }
    }

    /// A load with its owner. One that is not finite is no measurement.
    pub(super) fn load(
        &mut self,
        key: &'static str,
        reading: &Reading<ChargedPercent>,
    ) -> Option<f64> {
        match reading {
            Reading::Known(charged) if !charged.value().0.is_finite() => {
                let gap = Gap::Implausible;
                let from = charged.from();
                self.gone(key, &Missing { gap, from });
                None
            }
            reading => self.charged(key, reading).map(|load| load.0),
        }
    }

    pub(super) fn reported<T: Copy>(
        &mut self,
        key: &'static str,
        reading: &Reading<Reported<T>>,
    ) -> Option<T> {
        match reading {
            Reading::Known(reported) => {
                self.present(key, "reported", reported.by);
                Some(reported.value)
            }
            Reading::Missing(missing) => {
                self.gone(key, missing);
                None
            }
        }
    }

    /// Both ends of an estimate, each with its entry.
    pub(super) fn estimated(
        &mut self,
        keys: [&'static str; 2],
        reading: &Reading<Estimated<Bytes>>,
    ) -> Option<(u64, u64)> {
        for key in keys {
            match reading {
                Reading::Known(estimated) => {
                    let trace = Trace {
                        method: Some(estimated.method.id()),
                        ..present(self.now, "estimated", estimated.from)
                    };
                    self.enter(key, trace);
                }
                Reading::Missing(missing) => self.gone(key, missing),
            }
        }
        reading.known().map(|part| (part.low.0, part.high.0))
    }

    /// An estimate of one number. A range is given by its low end and said to be a lower bound;
    /// otherwise `bound` tells what the number bounds, if it does.
    pub(super) fn derived(
        &mut self,
        key: &'static str,
        reading: &Reading<Estimated<Bytes>>,
        bound: Option<&'static str>,
    ) -> Option<u64> {
        match reading {
            Reading::Known(estimated) => {
                let range = estimated.low != estimated.high;
                // Of a range the upper end stands here: the lower one is often 0, and would read
                // like a zero that somebody measured.
                let trace = Trace {
                    method: Some(estimated.method.id()),
                    bound: if range { Some("upper") } else { bound },
                    detail: range.then(|| format!("at least {} bytes", estimated.low.0)),
                    ..present(self.now, "estimated", estimated.from)
                };
                self.enter(key, trace);
                Some(estimated.high.0)
            }
            Reading::Missing(missing) => {
                self.gone(key, missing);
                None
            }
        }
    }

    /// The low end of a range, said to be a lower bound.
    pub(super) fn at_least(
        &mut self,
        key: &'static str,
        reading: &Reading<Estimated<Bytes>>,
    ) -> Option<u64> {
        match reading {
            Reading::Known(estimated) => {
                let is_exact = estimated.low == estimated.high;
                let trace = Trace {
                    method: Some(estimated.method.id()),
                    bound: (!is_exact).then_some("lower"),
                    detail: Some(if is_exact {
                        "exact: the most is the same".to_owned()
                    } else {
                        format!("at most {} bytes", estimated.high.0)
                    }),
                    ..present(self.now, "estimated", estimated.from)
                };
                self.enter(key, trace);
                Some(estimated.low.0)
            }
            Reading::Missing(missing) => {
                self.gone(key, missing);
                None
            }
        }
    }

    /// The same of a share of time.
    pub(super) fn share_at_least(
        &mut self,
        key: &'static str,
        reading: &Reading<Estimated<Percent>>,
    ) -> Option<f64> {
        match reading {
            Reading::Known(estimated) if estimated.low.0.is_finite() => {
                let trace = Trace {
                    method: Some(estimated.method.id()),
                    bound: Some("lower"),
                    ..present(self.now, "estimated", estimated.from)
                };
                self.enter(key, trace);
                Some(estimated.low.0)
            }
            Reading::Known(estimated) => {
                let gap = Gap::Implausible;
                let from = estimated.from;
                self.gone(key, &Missing { gap, from });
                None
            }
            Reading::Missing(missing) => {
                self.gone(key, missing);
                None
            }
        }
    }

    /// A sum over rows; a lower bound where rows without a size are left out of it, and unknown
    /// where no row has one.
    pub(super) fn total(&mut self, key: impl Into<Cow<'static, str>>, total: Total) -> Option<u64> {
        let sum = Trace {
            counter: Some(SUM_OF_ROWS),
            detail: (!total.is_complete()).then(|| {
                let rows = total.counted.saturating_add(total.missing);
                match (total.missing, total.lists_missing) {
                    (0, _) => "a process list could not be read".to_owned(),
                    (missing, false) => format!("{missing} of {rows} rows have no size"),
                    (missing, true) => format!(
                        "{missing} of {rows} rows have no size, and a process list could not be read"
                    ),
                }
            }),
            ..Trace::new("estimated", Source::Derived.id())
        };
        let trace = if total.is_known() {
            Trace {
                method: Some("derived"),
                bound: (!total.is_complete()).then_some("lower"),
                ..sum
            }
        } else {
            Trace {
                class: "unavailable",
                reason: Some(Gap::InputMissing.code()),
                ..sum
            }
        };
        self.enter(key, trace);
        total.is_known().then_some(total.known.0)
    }
}

fn present(now: Stamp, class: &'static str, from: Provenance) -> Trace {
    Trace {
        counter: Some(from.counter),
        age_ms: Some(now.ms_since(from.at)),
        ..Trace::new(class, from.source.id())
    }
}

/// The entry of a value that is missing.
pub(super) fn gone(missing: &Missing) -> Trace {
    let class = if missing.gap.is_pending() {
        "pending"
    } else {
        "unavailable"
    };
    Trace {
        counter: Some(missing.from.counter),
        reason: Some(missing.gap.code()),
        detail: match missing.gap {
            Gap::DriverError(code) => Some(format!("return code {code}")),
            _ => None,
        },
        ..Trace::new(class, missing.from.source.id())
    }
}

/// The entry of a value that no source was asked for.
pub(super) fn absent(gap: Gap) -> Trace {
    Trace {
        reason: Some(gap.code()),
        ..Trace::new("unavailable", Source::Program.id())
    }
}

/// The stable name of a basis (`vram_inferred_by`).
pub(super) const fn basis_id(basis: InferenceBasis) -> &'static str {
    match basis {
        InferenceBasis::Start => "start",
        InferenceBasis::Count => "count",
        InferenceBasis::Order => "order",
    }
}

/// What the owner of a measured value rests on.
pub(super) const fn basis_sentence(basis: InferenceBasis) -> &'static str {
    match basis {
        InferenceBasis::Start => "measured; the owner was seen starting",
        InferenceBasis::Count => {
            "measured; as many entries as candidates, taken in order of creation"
        }
        InferenceBasis::Order => "measured; the owner is a guess by start order",
    }
}
