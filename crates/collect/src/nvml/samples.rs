//! Utilization samples of processes: which are believed, and when no sample means zero.
//!
//! `nvmlDeviceGetProcessesUtilizationInfo` (from 535 on, with JPEG and OFA load), or else
//! `nvmlDeviceGetProcessUtilization`, answers samples newer than a time stamp, at most one per
//! process; a process that did nothing has none, and neither has one whose sample period (1/6 s to
//! 1 s by product) is not over. So each sweep asks for what is newer than the newest sample, but for
//! no less than the longest sample period: then a refresh faster than the driver's samples sees the
//! last one again instead of nothing, and a process without one did nothing, provided that the call
//! worked and that the numbers in samples and in lists are of one namespace.

use std::collections::{BTreeMap, BTreeSet};

use model::{Gap, Stamp};
use raw::nvml::{CallAnswer, DeviceCall, Output, SampleRow, code};
use raw::{Answer, Stamped};

use super::answers::reason;

/// Longest sample period of any product (`nvml.h`), in microseconds. No sweep asks for less.
const SAMPLE_PERIOD_US: i64 = 1_000_000;

/// Load of one process on one device at its own moment, percent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Load {
    pub(super) sm: u32,
    pub(super) memory: u32,
    pub(super) encoder: u32,
    pub(super) decoder: u32,
    /// Only the newer call has these two: where it did not answer, the reason why.
    pub(super) jpeg: Result<u32, Gap>,
    pub(super) ofa: Result<u32, Gap>,
}

impl Load {
    /// The busiest of the engines that are told of.
    pub(super) fn busiest(&self) -> u32 {
        let video = [self.jpeg, self.ofa].into_iter().flatten();
        [self.sm, self.encoder, self.decoder]
            .into_iter()
            .chain(video)
            .fold(0, u32::max)
    }
}

/// What is known of one process's load.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// A sample, or a measured absence of one, at this moment.
    Load(Load, Stamp),
    /// A sample of another number, taken for the process's by its place in the order.
    Guess(Load, Stamp),
    /// Unknown, and why.
    Unknown(Gap, Stamp),
}

/// Of which PID namespace the driver's numbers are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Numbers {
    /// The monitor's own. A sample that names no listed process is of one that has just exited.
    Own,
    /// Another, and not necessarily the same for lists and samples.
    Foreign,
}

#[derive(Clone, Copy)]
struct Held {
    load: Load,
    ts: u64,
    at: Stamp,
}

/// Samples of one device over time.
#[derive(Default)]
pub(super) struct Samples {
    asked: bool,
    newest_us: i64,
    window_us: i64,
    answer: Option<Result<Stamp, (Gap, Stamp)>>,
    held: BTreeMap<u32, Held>,
    /// Samples of numbers that no list has, as long as no sample has named a listed process.
    strays: BTreeMap<u32, Held>,
    /// Numbers in the lists, in order.
    listed: Vec<u32>,
    /// Listed numbers of which the last window had a sample that cannot be true.
    implausible: BTreeSet<u32>,
    join: Join,
    /// Why the last answer lacks JPEG and OFA load, where it does.
    video: Option<Gap>,
}

/// Whether the numbers of samples and lists are of one namespace.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Join {
    /// No sample has told yet.
    #[default]
    Untold,
    /// A sample named a listed process.
    Joined,
    /// There are samples, and none names a listed process.
    Split,
}

impl Samples {
    /// The time stamp after which a sweep at this wall clock asks; `None` before the first.
    pub(super) fn ask_after(&self, wall_us: i64) -> Option<u64> {
        // A clock before 1970 asks for everything.
        self.asked.then(|| {
            self.newest_us
                .min(wall_us - SAMPLE_PERIOD_US)
                .max(0)
                .unsigned_abs()
        })
    }

    /// Length of the last window, in milliseconds.
    pub(super) fn window_ms(&self) -> u64 {
        self.window_us.unsigned_abs() / 1000
    }

    /// Says of the answer that is taken in next whether it has JPEG and OFA load.
    pub(super) fn video(&mut self, video: Result<(), Gap>) {
        self.video = video.err();
    }

    /// Why the last answer lacks JPEG and OFA load, where it does.
    pub(super) const fn no_video(&self) -> Option<Gap> {
        self.video
    }

    /// The call that gave the last answer.
    pub(super) fn call(&self) -> DeviceCall {
        match self.video {
            None => DeviceCall::ProcessesUtilization,
            Some(_) => DeviceCall::ProcessUtilization,
        }
    }

    /// Takes an answer in.
    pub(super) fn take(
        &mut self,
        answer: &Answer<CallAnswer>,
        listed: &[u32],
        sweep: Stamp,
        now: Stamp,
    ) {
        let wall = sweep.wall_us;
        // A first sweep, and a clock that has jumped back behind the newest sample, start over.
        if !self.asked || self.newest_us > wall {
            self.newest_us = wall - SAMPLE_PERIOD_US;
            self.held.clear();
            self.strays.clear();
        }
        self.asked = true;
        self.listed.clear();
        self.listed.extend_from_slice(listed);
        let after_us = self.newest_us.min(wall - SAMPLE_PERIOD_US);
        self.window_us = wall - after_us;
        let rows: &[SampleRow] = match answer {
            Err(gap) => {
                self.answer = Some(Err((*gap, now)));
                return;
            }
            Ok(Stamped { at, value }) => match (&value.out, value.rc) {
                (Output::Samples(rows), code::SUCCESS) => {
                    self.answer = Some(Ok(*at));
                    rows
                }
                (_, code::SUCCESS | code::NOT_FOUND) => {
                    self.answer = Some(Ok(*at));
                    &[]
                }
                (_, rc) => {
                    self.answer = Some(Err((reason(rc), *at)));
                    return;
                }
            },
        };
        self.implausible = rows
            .iter()
            .filter(|row| is_new(row, after_us) && !is_possible(row))
            .map(|row| row.pid)
            .collect();
        let believed: Vec<&SampleRow> = rows
            .iter()
            .filter(|row| is_believable(row, after_us))
            .collect();
        if !believed.is_empty() {
            let known = |row: &&&SampleRow| listed.binary_search(&row.pid).is_ok();
            if believed.iter().any(|row| known(&row)) {
                self.join = Join::Joined;
            } else if !listed.is_empty() && self.join == Join::Untold {
                self.join = Join::Split;
            }
        }
        let newest = believed
            .iter()
            .filter_map(|row| i64::try_from(row.ts).ok())
            .max();
        if let Some(newest) = newest {
            self.newest_us = self.newest_us.max(newest);
        }
        let at = match &self.answer {
            Some(Ok(at)) => *at,
            _ => sweep,
        };
        let earlier = std::mem::take(&mut self.held);
        let earlier_strays = std::mem::take(&mut self.strays);
        for row in believed {
            let is_listed = listed.binary_search(&row.pid).is_ok();
            if !is_listed && self.join != Join::Split {
                continue;
            }
            let (earlier, now_held) = if is_listed {
                (&earlier, &mut self.held)
            } else {
                (&earlier_strays, &mut self.strays)
            };
            let load = Load {
                sm: row.sm,
                memory: row.mem,
                encoder: row.enc,
                decoder: row.dec,
                jpeg: self
                    .video
                    .map_or_else(|| row.jpg.ok_or(Gap::Malformed), Err),
                ofa: self
                    .video
                    .map_or_else(|| row.ofa.ok_or(Gap::Malformed), Err),
            };
            // A sample that is seen again keeps the moment at which it was first seen.
            let known = earlier.get(&row.pid).filter(|held| held.ts == row.ts);
            let at = known.map_or(at, |held| held.at);
            now_held.insert(
                row.pid,
                Held {
                    load,
                    ts: row.ts,
                    at,
                },
            );
        }
    }

    /// What is known of the load of listed process `pid`.
    pub(super) fn of(&self, pid: u32, now: Stamp, numbers: Numbers) -> Verdict {
        let at = match self.answer {
            None => return Verdict::Unknown(Gap::Pending, now),
            Some(Err((gap, at))) => return Verdict::Unknown(gap, at),
            Some(Ok(at)) => at,
        };
        if self.join == Join::Split {
            return match (numbers, self.stray_of(pid)) {
                (Numbers::Foreign, Some(held)) => Verdict::Guess(held.load, held.at),
                _ => Verdict::Unknown(Gap::PidSplit, at),
            };
        }
        if let Some(held) = self.held.get(&pid) {
            return Verdict::Load(held.load, held.at);
        }
        // It did something, and what cannot be told.
        if self.implausible.contains(&pid) {
            return Verdict::Unknown(Gap::Implausible, at);
        }
        if self.join == Join::Joined {
            let idle = Load {
                sm: 0,
                memory: 0,
                encoder: 0,
                decoder: 0,
                jpeg: self.video.map_or(Ok(0), Err),
                ofa: self.video.map_or(Ok(0), Err),
            };
            return Verdict::Load(idle, at);
        }
        Verdict::Unknown(Gap::NoSample, at)
    }
}

impl Samples {
    /// The sample in the same place of the order, where there are as many samples as listed processes:
    /// numbers of two namespaces are in the same order until one of them wraps.
    fn stray_of(&self, pid: u32) -> Option<&Held> {
        let place = self.listed.binary_search(&pid).ok()?;
        (self.strays.len() == self.listed.len())
            .then(|| self.strays.values().nth(place))
            .flatten()
    }
}

/// Drivers have been seen to answer old entries, entries of process 0 and percentages in the
/// millions; such a row is dropped whole, never clamped.
fn is_believable(row: &SampleRow, after_us: i64) -> bool {
    row.pid != 0 && is_new(row, after_us) && is_possible(row)
}

fn is_new(row: &SampleRow, after_us: i64) -> bool {
    i64::try_from(row.ts).is_ok_and(|ts| ts > after_us)
}

fn is_possible(row: &SampleRow) -> bool {
    [row.sm, row.mem, row.enc, row.dec]
        .into_iter()
        .chain(row.jpg)
        .chain(row.ofa)
        .all(|percent| percent <= 100)
}

#[cfg(test)]
mod tests;
