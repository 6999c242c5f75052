//! Utilization samples of processes: which are believed, and when no sample means zero.
//!
//! `nvmlDeviceGetProcessesUtilizationInfo` (from 535 on, with JPEG and OFA load), or else
//! `nvmlDeviceGetProcessUtilization`, answers samples newer than a time stamp, at most one per
//! process; a process that did nothing has none, and neither has one whose sample period (1/6 s to
//! 1 s by product) is not over. So each sweep asks for what is newer than the newest sample, but for
//! no less than the longest sample period: then a refresh faster than the driver's samples sees the
//! last one again instead of nothing, and a process without one did nothing, provided that the call
//! worked and that the numbers in samples and in lists are of one namespace.

use std::collections::BTreeMap;

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
    row.pid != 0
        && i64::try_from(row.ts).is_ok_and(|ts| ts > after_us)
        && [row.sm, row.mem, row.enc, row.dec]
            .into_iter()
            .chain(row.jpg)
            .chain(row.ofa)
            .all(|percent| percent <= 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_800_000_000_000_000;

    fn stamp(ms: i64) -> Stamp {
        Stamp {
            mono_ns: u64::try_from(ms * 1_000_000).unwrap(),
            wall_us: START + ms * 1000,
        }
    }

    fn row(pid: u32, ms: i64, sm: u32) -> SampleRow {
        let ts = u64::try_from(START + ms * 1000).unwrap();
        SampleRow {
            pid,
            ts,
            sm,
            mem: 1,
            enc: 0,
            dec: 0,
            jpg: None,
            ofa: None,
        }
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "an answer is what the tests hand in"
    )]
    fn answered(at: Stamp, rc: i32, rows: Vec<SampleRow>) -> Answer<CallAnswer> {
        let out = if rows.is_empty() {
            Output::Nothing
        } else {
            Output::Samples(rows)
        };
        Ok(Stamped {
            at,
            value: CallAnswer { rc, sym: 1, out },
        })
    }

    fn sm(samples: &Samples, pid: u32, at: Stamp) -> Result<u32, Gap> {
        match samples.of(pid, at, Numbers::Own) {
            Verdict::Load(load, _) | Verdict::Guess(load, _) => Ok(load.sm),
            Verdict::Unknown(gap, _) => Err(gap),
        }
    }

    #[test]
    fn idle_is_zero_only_once_samples_and_lists_have_met() {
        let mut samples = Samples::default();
        samples.take(
            &answered(stamp(0), code::NOT_FOUND, vec![]),
            &[7, 8],
            stamp(0),
            stamp(0),
        );
        assert_eq!(sm(&samples, 7, stamp(0)), Err(Gap::NoSample));
        let rows = vec![row(7, 500, 40)];
        samples.take(
            &answered(stamp(1000), 0, rows),
            &[7, 8],
            stamp(1000),
            stamp(1000),
        );
        assert_eq!(sm(&samples, 7, stamp(1000)), Ok(40));
        assert_eq!(sm(&samples, 8, stamp(1000)), Ok(0));
    }

    #[test]
    fn a_fast_refresh_sees_the_last_sample_again_for_a_sample_period() {
        let mut samples = Samples::default();
        let rows = || vec![row(7, -100, 40)];
        samples.take(&answered(stamp(0), 0, rows()), &[7], stamp(0), stamp(0));
        for ms in [250, 500, 750] {
            let asked = samples.ask_after(stamp(ms).wall_us).unwrap();
            assert!(
                asked < rows()[0].ts,
                "the sample is asked for again at {ms}"
            );
            samples.take(&answered(stamp(ms), 0, rows()), &[7], stamp(ms), stamp(ms));
            assert_eq!(sm(&samples, 7, stamp(ms)), Ok(40), "{ms}");
            let Verdict::Load(_, at) = samples.of(7, stamp(ms), Numbers::Own) else {
                unreachable!("just seen")
            };
            assert_eq!(at, stamp(0), "and keeps its age");
        }
        let none = answered(stamp(1250), code::NOT_FOUND, vec![]);
        samples.take(&none, &[7], stamp(1250), stamp(1250));
        assert_eq!(sm(&samples, 7, stamp(1250)), Ok(0));
    }

    #[test]
    fn an_interval_shorter_than_a_second_by_jitter_does_not_make_idle_unknown() {
        let mut samples = Samples::default();
        samples.take(
            &answered(stamp(0), 0, vec![row(7, -10, 40)]),
            &[7, 8],
            stamp(0),
            stamp(0),
        );
        for ms in [973, 1960, 2940] {
            let rows = vec![row(7, ms - 10, 40)];
            samples.take(&answered(stamp(ms), 0, rows), &[7, 8], stamp(ms), stamp(ms));
            assert_eq!(sm(&samples, 8, stamp(ms)), Ok(0), "{ms}");
            assert!(samples.window_ms() >= 1000);
        }
    }

    #[test]
    fn samples_of_another_namespace_are_never_a_zero() {
        let mut samples = Samples::default();
        samples.take(
            &answered(stamp(0), 0, vec![row(9001, -100, 80)]),
            &[7],
            stamp(0),
            stamp(0),
        );
        assert_eq!(sm(&samples, 7, stamp(0)), Err(Gap::PidSplit));
    }

    #[test]
    fn as_many_foreign_samples_as_listed_processes_are_paired_in_order_as_guesses() {
        let rows = |pids: &[u32]| pids.iter().map(|pid| row(*pid, -100, *pid % 100)).collect();
        let mut samples = Samples::default();
        let busy = answered(stamp(0), 0, rows(&[9001, 9042]));
        samples.take(&busy, &[7, 8], stamp(0), stamp(0));
        let of = |samples: &Samples, pid| samples.of(pid, stamp(0), Numbers::Foreign);
        let guessed = |verdict| match verdict {
            Verdict::Guess(load, _) => Some(load.sm),
            Verdict::Load(..) | Verdict::Unknown(..) => None,
        };
        assert_eq!(guessed(of(&samples, 7)), Some(1));
        assert_eq!(guessed(of(&samples, 8)), Some(42));
        assert_eq!(guessed(of(&samples, 9)), None, "not listed");
        let own = samples.of(7, stamp(0), Numbers::Own);
        assert!(matches!(own, Verdict::Unknown(Gap::PidSplit, _)), "{own:?}");
        // One of the two is idle now: whose the other sample is, nothing says.
        let one = answered(stamp(1000), 0, vec![row(9042, 900, 5)]);
        samples.take(&one, &[7, 8], stamp(1000), stamp(1000));
        for pid in [7, 8] {
            let verdict = of(&samples, pid);
            assert!(
                matches!(verdict, Verdict::Unknown(Gap::PidSplit, _)),
                "{verdict:?}"
            );
        }
    }

    #[test]
    fn garbage_is_dropped_and_not_clamped() {
        let mut samples = Samples::default();
        let rows = vec![
            row(7, -100, 4_000_000),
            row(0, -100, 5),
            row(8, -5000, 5),
            row(9, -10, 6),
        ];
        samples.take(&answered(stamp(0), 0, rows), &[7, 8, 9], stamp(0), stamp(0));
        assert_eq!(sm(&samples, 9, stamp(0)), Ok(6));
        assert_eq!(
            sm(&samples, 7, stamp(0)),
            Ok(0),
            "joined by 9, and no believable sample of 7"
        );
        let later = stamp(5000).wall_us;
        assert_eq!(
            samples.ask_after(later),
            Some(u64::try_from(START - 10_000).unwrap())
        );
    }

    #[test]
    fn a_clock_that_jumps_back_starts_over() {
        let mut samples = Samples::default();
        samples.take(
            &answered(stamp(0), 0, vec![row(7, -1, 40)]),
            &[7],
            stamp(0),
            stamp(0),
        );
        let jumped = Stamp {
            mono_ns: 1_000_000_000,
            wall_us: START - 3_600_000_000,
        };
        samples.take(
            &answered(jumped, code::NOT_FOUND, vec![]),
            &[7],
            jumped,
            jumped,
        );
        let after = samples.ask_after(jumped.wall_us).unwrap();
        assert_eq!(
            i64::try_from(after).unwrap(),
            jumped.wall_us - SAMPLE_PERIOD_US
        );
    }

    fn video(samples: &Samples, pid: u32, at: Stamp) -> [Result<u32, Gap>; 2] {
        match samples.of(pid, at, Numbers::Own) {
            Verdict::Load(load, _) | Verdict::Guess(load, _) => [load.jpeg, load.ofa],
            Verdict::Unknown(gap, _) => [Err(gap); 2],
        }
    }

    #[test]
    fn jpeg_and_ofa_are_zero_only_where_the_newer_call_answered() {
        let mut samples = Samples::default();
        let mut busy = row(7, -100, 1);
        (busy.jpg, busy.ofa) = (Some(60), Some(0));
        samples.video(Ok(()));
        samples.take(
            &answered(stamp(0), 0, vec![busy]),
            &[7, 8],
            stamp(0),
            stamp(0),
        );
        assert_eq!(video(&samples, 7, stamp(0)), [Ok(60), Ok(0)]);
        assert_eq!(
            video(&samples, 8, stamp(0)),
            [Ok(0), Ok(0)],
            "a joined idle one"
        );
        let Verdict::Load(load, _) = samples.of(7, stamp(0), Numbers::Own) else {
            unreachable!("just seen")
        };
        assert_eq!(load.busiest(), 60);
        samples.video(Err(Gap::SymbolAbsent));
        samples.take(
            &answered(stamp(1000), 0, vec![row(7, 900, 30)]),
            &[7, 8],
            stamp(1000),
            stamp(1000),
        );
        for pid in [7, 8] {
            let none = [Err(Gap::SymbolAbsent); 2];
            assert_eq!(video(&samples, pid, stamp(1000)), none);
        }
        assert_eq!(sm(&samples, 7, stamp(1000)), Ok(30));
        assert_eq!(sm(&samples, 8, stamp(1000)), Ok(0));
    }

    #[test]
    fn impossible_jpeg_and_ofa_load_drops_the_sample_whole() {
        for (jpg, ofa) in [(101, 0), (0, u32::MAX)] {
            let mut samples = Samples::default();
            let mut garbage = row(7, -100, 5);
            (garbage.jpg, garbage.ofa) = (Some(jpg), Some(ofa));
            samples.video(Ok(()));
            let rows = vec![garbage, row(8, -100, 6)];
            samples.take(&answered(stamp(0), 0, rows), &[7, 8], stamp(0), stamp(0));
            assert_eq!(sm(&samples, 7, stamp(0)), Ok(0), "no believable sample");
        }
    }

    #[test]
    fn a_failing_call_is_a_reason_and_not_a_zero() {
        let mut samples = Samples::default();
        let failed = answered(stamp(0), code::NOT_SUPPORTED, vec![]);
        samples.take(&failed, &[7], stamp(0), stamp(0));
        assert_eq!(sm(&samples, 7, stamp(0)), Err(Gap::NotSupported));
    }
}
