//! How busy: from counters of busy time to a share of the time between two readings.

use std::collections::BTreeMap;

use model::Gap;

use super::attribution::{ClientId, ProcessId};
use super::fdinfo::{Engine, Fdinfo};

/// Load by engine class as the driver names it, percent, 0 to 100.
pub type Loads = BTreeMap<String, Result<f64, Gap>>;

/// How many times its own length a class may have been busy: jobs of several contexts and rings overlap, but no driver
/// has this many of one client at work. What is beyond is no time.
const MOST_OVERLAP: f64 = 1000.0;

/// A client as one process holds it.
type Key = (ProcessId, ClientId);

/// Counters of the time before, by client.
#[derive(Debug, Default)]
pub(super) struct Baselines {
    known: BTreeMap<Key, Baseline>,
    next: BTreeMap<Key, Baseline>,
}

#[derive(Debug)]
struct Baseline {
    at_ns: u64,
    counters: BTreeMap<String, Counter>,
}

/// The largest values seen: a counter that steps back counts again when it has passed them.
#[derive(Clone, Copy, Debug)]
struct Counter {
    busy: u64,
    /// Passed cycles, where the driver counts in cycles.
    passed: Option<u64>,
    /// When it was read, monotonic nanoseconds.
    at_ns: u64,
}

/// What may be said of a client without a baseline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Newcomer {
    /// Nothing: its counters hold its whole history.
    FirstSample,
    /// Nothing: it may have been there and was not read.
    NoBaseline,
    /// It was opened after this moment, so that its counters began at zero then.
    OpenedSince(u64),
}

impl Baselines {
    /// Nothing that was read before counts any more.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.next.clear();
    }

    /// All clients have been taken.
    pub(super) fn end(&mut self) {
        self.known = std::mem::take(&mut self.next);
    }

    /// The loads since the time before.
    pub(super) fn take(
        &mut self,
        key: Key,
        text: &Fdinfo,
        at_ns: u64,
        newcomer: Newcomer,
    ) -> Result<Loads, Gap> {
        let now = counters(text, at_ns);
        let before = self.known.remove(&key);
        let (loads, counters) = match (before, newcomer) {
            (Some(before), _) => {
                let loads = loads(text, &before, &now);
                // What cannot be true is no start for the next time either.
                let mut now = now;
                now.retain(|name, _| loads.get(name) != Some(&Err(Gap::Implausible)));
                (Ok(loads), keep_largest(before.counters, now))
            }
            (None, Newcomer::FirstSample) => (Err(Gap::FirstSample), now),
            (None, Newcomer::NoBaseline) => (Err(Gap::NoBaseline), now),
            (None, Newcomer::OpenedSince(since_ns)) => {
                let passed = at_ns.saturating_sub(since_ns);
                let loads = if fits_into(text, &now, passed) {
                    let zero = Baseline {
                        at_ns: since_ns,
                        counters: now
                            .keys()
                            .map(|name| {
                                (
                                    name.clone(),
                                    Counter {
                                        busy: 0,
                                        passed: None,
                                        at_ns: since_ns,
                                    },
                                )
                            })
                            .collect(),
                    };
                    Ok(self::loads(text, &zero, &now))
                } else {
                    Err(Gap::FirstSample)
                };
                (loads, now)
            }
        };
        self.next.insert(key, Baseline { at_ns, counters });
        loads
    }
}

/// The loads of two clients together. A class that either cannot tell is unknown.
pub(super) fn add(mut sum: Loads, more: Loads) -> Loads {
    for (name, load) in more {
        let together = match (sum.get(&name).copied(), load) {
            (None, load) => load,
            (Some(Ok(a)), Ok(b)) => Ok((a + b).min(100.0)),
            (Some(Err(gap)), _) | (_, Err(gap)) => Err(gap),
        };
        sum.insert(name, together);
    }
    sum
}

fn counters(text: &Fdinfo, at_ns: u64) -> BTreeMap<String, Counter> {
    let counter = |engine: &Engine| match (engine.busy_ns, engine.cycles) {
        (Some(busy), _) => Some(Counter {
            busy: busy.ok()?,
            passed: None,
            at_ns,
        }),
        (None, Some(cycles)) => Some(Counter {
            busy: cycles.ok()?,
            passed: match engine.total_cycles {
                Some(passed) => Some(passed.ok()?),
                None => None,
            },
            at_ns,
        }),
        (None, None) => None,
    };
    text.engines
        .iter()
        .filter_map(|(name, engine)| Some((name.clone(), counter(engine)?)))
        .collect()
}

/// Whether the counters are no more than what can have happened in this time. Cycles do not tell.
fn fits_into(text: &Fdinfo, now: &BTreeMap<String, Counter>, passed_ns: u64) -> bool {
    text.engines
        .iter()
        .all(|(name, engine)| match engine.busy_ns {
            Some(Ok(_)) => {
                let engines = match engine.capacity {
                    Some(Ok(engines)) => engines,
                    Some(Err(_)) | None => 1,
                };
                now.get(name)
                    .is_none_or(|counter| counter.busy <= passed_ns.saturating_mul(engines))
            }
            Some(Err(_)) => true,
            None => engine.cycles.is_none(),
        })
}

fn keep_largest(
    before: BTreeMap<String, Counter>,
    now: BTreeMap<String, Counter>,
) -> BTreeMap<String, Counter> {
    let mut kept = before;
    for (name, counter) in now {
        let larger = kept.get(&name).map_or(counter, |before| Counter {
            busy: before.busy.max(counter.busy),
            ..counter
        });
        kept.insert(name, larger);
    }
    kept
}

fn loads(text: &Fdinfo, before: &Baseline, now: &BTreeMap<String, Counter>) -> Loads {
    // amdgpu leaves out engines that have done nothing: without a line there was no work so far.
    let leaves_out_zeros = text.driver.as_deref() == Some("amdgpu");
    let mut loads = Loads::new();
    for (name, engine) in &text.engines {
        if engine.busy_ns.is_none() && engine.cycles.is_none() {
            continue;
        }
        let start = match before.counters.get(name) {
            Some(counter) => Ok(*counter),
            None if leaves_out_zeros => Ok(Counter {
                busy: 0,
                passed: None,
                at_ns: before.at_ns,
            }),
            None => Err(Gap::FirstSample),
        };
        let load = match (start, now.get(name)) {
            (Err(gap), _) => Err(gap),
            (Ok(_), None) => Err(Gap::UnreadableValue),
            (Ok(start), Some(end)) => share(engine, start, *end),
        };
        loads.insert(name.clone(), load);
    }
    loads
}

/// Percent of the class's time; all its engines busy is 100.
fn share(engine: &Engine, start: Counter, end: Counter) -> Result<f64, Gap> {
    let engines = match engine.capacity {
        None => 1,
        Some(Ok(engines)) => engines,
        Some(Err(_)) => return Err(Gap::UnreadableValue),
    };
    let passed_ns = end.at_ns.saturating_sub(start.at_ns);
    let busy = float(end.busy.saturating_sub(start.busy));
    let whole = if engine.busy_ns.is_some() {
        float(passed_ns)
    } else {
        match (start.passed, end.passed, engine.max_hz) {
            (Some(from), Some(to), _) => float(to.saturating_sub(from)),
            (_, None, Some(Ok(hertz))) => float(hertz) * float(passed_ns) / 1e9,
            _ => return Err(Gap::NoSample),
        }
    };
    let whole = whole * float(engines);
    if whole <= 0.0 {
        Err(Gap::NoSample)
    } else if busy > whole * MOST_OVERLAP {
        Err(Gap::Implausible)
    } else {
        // Jobs of several contexts may overlap within a class.
        Ok((busy / whole * 100.0).min(100.0))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio of counters may lose its last digits"
)]
const fn float(counter: u64) -> f64 {
    counter as f64
}
