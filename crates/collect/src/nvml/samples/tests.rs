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
        Err(Gap::Implausible),
        "it has a sample, and not one that can be true"
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
        assert_eq!(
            sm(&samples, 7, stamp(0)),
            Err(Gap::Implausible),
            "no believable sample"
        );
    }
}

#[test]
fn a_failing_call_is_a_reason_and_not_a_zero() {
    let mut samples = Samples::default();
    let failed = answered(stamp(0), code::NOT_SUPPORTED, vec![]);
    samples.take(&failed, &[7], stamp(0), stamp(0));
    assert_eq!(sm(&samples, 7, stamp(0)), Err(Gap::NotSupported));
}
