//! A device's modes, errors and links.

use model::{
    ClocksEventReasons, ComputeMode, DeviceDetails, Ecc, EccErrors, Gap, Measured, Millijoules,
    NvLink, PciAddress, Provenance, Reading, RemappedRows, RetiredPages, Source, Stamp, Text,
};
use raw::Stamped;
use raw::nvml::{DeviceCall, LinkRow, Output, code};

use super::answers::{DeviceAnswers, reason};

/// More than any count of pages or rows: what is above is no count.
const MAX_COUNT: u32 = 1_000_000;

/// More links than any device has; a capture can name any number.
const MAX_LINKS: usize = 64;

pub(super) fn details(answers: &DeviceAnswers<'_>) -> DeviceDetails {
    let errors = |corrected, uncorrected| EccErrors {
        corrected: wide(answers, corrected),
        uncorrected: wide(answers, uncorrected),
    };
    let pages = |call| answers.number(call, 0..=i64::from(MAX_COUNT), |n| n);
    let rows = |position| {
        answers.nth(
            DeviceCall::RemappedRows,
            position,
            u64::from(MAX_COUNT),
            |n| n,
        )
    };
    let switched = |call, position| answers.nth(call, position, 1, |n| n == 1);
    DeviceDetails {
        clocks_event_reasons: clocks_event_reasons(
            answers,
            DeviceCall::ClocksEventReasons,
            "GetCurrentClocksThrottleReasons",
        ),
        clocks_event_reasons_supported: clocks_event_reasons(
            answers,
            DeviceCall::SupportedClocksEventReasons,
            "GetSupportedClocksThrottleReasons",
        ),
        total_energy: wide(answers, DeviceCall::TotalEnergy).map(Millijoules),
        persistence: answers.number(DeviceCall::PersistenceMode, 0..=1, |n| n == 1),
        compute_mode: answers.read(DeviceCall::ComputeMode, |answer| match answer.out {
            Output::Number(0) => Ok(ComputeMode::Default),
            Output::Number(1) => Ok(ComputeMode::ExclusiveThread),
            Output::Number(2) => Ok(ComputeMode::Prohibited),
            Output::Number(3) => Ok(ComputeMode::ExclusiveProcess),
            Output::Number(_) => Err(Gap::Implausible),
            _ => Err(Gap::Malformed),
        }),
        ecc: Ecc {
            on: switched(DeviceCall::EccMode, 0),
            on_after_reset: switched(DeviceCall::EccMode, 1),
            volatile: errors(
                DeviceCall::EccVolatileCorrected,
                DeviceCall::EccVolatileUncorrected,
            ),
            aggregate: errors(
                DeviceCall::EccAggregateCorrected,
                DeviceCall::EccAggregateUncorrected,
            ),
        },
        retired_pages: RetiredPages {
            single_bit: pages(DeviceCall::RetiredPagesSingleBit),
            double_bit: pages(DeviceCall::RetiredPagesDoubleBit),
            pending: answers.number(DeviceCall::RetiredPagesPending, 0..=1, |n| n == 1),
        },
        remapped_rows: RemappedRows {
            correctable: rows(0),
            uncorrectable: rows(1),
            pending: switched(DeviceCall::RemappedRows, 2),
            failed: switched(DeviceCall::RemappedRows, 3),
        },
        nvlinks: links(answers),
        vbios: answers.text(DeviceCall::VbiosVersion),
        board_part_number: answers.text(DeviceCall::BoardPartNumber),
    }
}

/// One number of 64 bits. No value of it is a sentinel.
fn wide(answers: &DeviceAnswers<'_>, call: DeviceCall) -> Reading<Measured<u64>> {
    answers.read(call, |answer| match &answer.out {
        Output::Numbers(numbers) => numbers.first().copied().ok_or(Gap::Malformed),
        _ => Err(Gap::Malformed),
    })
}

/// Any bit may be set: one that is not known here is told as a number.
fn clocks_event_reasons(
    answers: &DeviceAnswers<'_>,
    call: DeviceCall,
    older: &'static str,
) -> Reading<Measured<ClocksEventReasons>> {
    let mut reading = wide(answers, call).map(ClocksEventReasons);
    if let (Reading::Known(measured), Ok(answer)) = (&mut reading, (answers.get)(call))
        && answer.value.sym < 2
    {
        measured.from.counter = older;
    }
    reading
}

fn links(answers: &DeviceAnswers<'_>) -> Reading<Measured<Vec<NvLink>>> {
    let at = (answers.get)(DeviceCall::NvLinks).map_or(answers.now, |Stamped { at, .. }| at);
    answers.read(DeviceCall::NvLinks, |answer| match &answer.out {
        Output::Links(rows) if !rows.is_empty() => Ok(rows
            .iter()
            .take(MAX_LINKS)
            .map(|row| link(row, at))
            .collect()),
        _ => Err(Gap::Malformed),
    })
}

fn reading<T>(value: Result<T, Gap>, from: Provenance) -> Reading<Measured<T>> {
    match value {
        Ok(value) => Reading::measured(value, from),
        Err(gap) => Reading::missing(gap, from),
    }
}

fn link(row: &LinkRow, at: Stamp) -> NvLink {
    let from = |counter| Provenance {
        source: Source::Nvml,
        counter,
        at,
    };
    let answered = |(rc, value): (i32, u32)| match rc {
        code::SUCCESS => Ok(value),
        rc => Err(reason(rc)),
    };
    let active = answered(row.state).and_then(|state| match state {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Gap::Implausible),
    });
    let remote = match (&row.remote, active) {
        (Some((code::SUCCESS, id)), _) => PciAddress::parse(id).ok_or(Gap::Malformed),
        (Some((rc, _)), _) => Err(reason(*rc)),
        (None, Err(gap)) => Err(gap),
        (None, Ok(_)) => Err(Gap::NotApplicable),
    };
    NvLink {
        link: row.link,
        active: reading(active, from("GetNvLinkState")),
        version: reading(
            answered(row.version).and_then(version),
            from("GetNvLinkVersion"),
        ),
        remote: reading(remote, from("GetNvLinkRemotePciInfo")),
    }
}

/// `nvmlNvlinkVersion_t` of `nvml.h` 13.5; a later one is told by its code.
fn version(code: u32) -> Result<Text, Gap> {
    Ok(match code {
        0 => return Err(Gap::Implausible),
        1 => "1.0".into(),
        2 => "2.0".into(),
        3 => "2.2".into(),
        4 => "3.0".into(),
        5 => "3.1".into(),
        6 => "4.0".into(),
        7 => "5.0".into(),
        8 => "6.0".into(),
        later => format!("code {later}").into(),
    })
}

#[cfg(test)]
mod tests {
    use raw::Answer;
    use raw::nvml::CallAnswer;

    use super::*;

    const NOW: Stamp = Stamp {
        mono_ns: 9_000_000_000,
        wall_us: 9,
    };

    #[expect(
        clippy::unnecessary_wraps,
        reason = "an answer is what the tests hand in"
    )]
    fn told(rc: i32, sym: u8, out: Output) -> Answer<CallAnswer> {
        Ok(Stamped {
            at: Stamp {
                mono_ns: 5_000_000_000,
                wall_us: 5,
            },
            value: CallAnswer { rc, sym, out },
        })
    }

    /// The details of a device that answers one call and no other.
    fn with(call: DeviceCall, answer: &Answer<CallAnswer>) -> DeviceDetails {
        let get = |asked| match answer {
            _ if asked != call => Err(Gap::NotRecorded),
            Ok(Stamped { at, value }) => Ok(Stamped { at: *at, value }),
            Err(gap) => Err(*gap),
        };
        details(&DeviceAnswers {
            get: &get,
            now: NOW,
            mig: false,
            vgpu: false,
        })
    }

    fn numbers(numbers: &[u64]) -> Output {
        Output::Numbers(numbers.to_vec())
    }

    #[test]
    fn every_bit_of_the_reasons_is_kept_and_the_call_that_answered_is_named() {
        for (sym, counter) in [
            (2, "GetCurrentClocksEventReasons"),
            (1, "GetCurrentClocksThrottleReasons"),
        ] {
            for mask in [0, 1, 0x604, u64::MAX] {
                let answer = told(0, sym, numbers(&[mask]));
                let reading = with(DeviceCall::ClocksEventReasons, &answer).clocks_event_reasons;
                assert_eq!(reading.value(), Some(&ClocksEventReasons(mask)));
                assert_eq!(reading.known().map(|it| it.from.counter), Some(counter));
                assert_eq!(reading.known().map(|it| it.from.at.wall_us), Some(5));
            }
        }
    }

    #[test]
    fn what_a_device_does_not_tell_is_a_reason_for_each_reading() {
        let refused = told(code::NOT_SUPPORTED, 1, Output::Nothing);
        let ecc = with(DeviceCall::EccMode, &refused).ecc;
        assert_eq!(ecc.on.gap(), Some(Gap::NotSupported));
        assert_eq!(ecc.on_after_reset.gap(), Some(Gap::NotSupported));
        assert_eq!(ecc.volatile.corrected.gap(), Some(Gap::NotRecorded));
        let absent = told(code::FUNCTION_NOT_FOUND, 0, Output::Nothing);
        let rows = with(DeviceCall::RemappedRows, &absent).remapped_rows;
        assert_eq!(rows.pending.gap(), Some(Gap::SymbolAbsent));
        let links = with(DeviceCall::NvLinks, &refused).nvlinks;
        assert_eq!(links.gap(), Some(Gap::NotSupported));
    }

    #[test]
    fn switches_and_counts_out_of_range_are_implausible() {
        let mode = |numbers: &[u64]| {
            let ecc = with(DeviceCall::EccMode, &told(0, 1, self::numbers(numbers))).ecc;
            (
                ecc.on.value().copied().ok_or(ecc.on.gap()),
                ecc.on_after_reset
                    .value()
                    .copied()
                    .ok_or(ecc.on_after_reset.gap()),
            )
        };
        assert_eq!(mode(&[1, 0]), (Ok(true), Ok(false)));
        assert_eq!(mode(&[2, 1]), (Err(Some(Gap::Implausible)), Ok(true)));
        assert_eq!(mode(&[1]), (Ok(true), Err(Some(Gap::Malformed))));
        let compute = |n| {
            let answer = told(0, 1, Output::Number(n));
            let mode = with(DeviceCall::ComputeMode, &answer).compute_mode;
            mode.value().map(|mode| mode.id()).ok_or(mode.gap())
        };
        assert_eq!(compute(3), Ok("exclusive_process"));
        assert_eq!(compute(4), Err(Some(Gap::Implausible)));
        let pages = |n| {
            let answer = told(0, 1, Output::Number(n));
            let pages = with(DeviceCall::RetiredPagesDoubleBit, &answer).retired_pages;
            pages.double_bit.value().copied()
        };
        assert_eq!((pages(0), pages(64)), (Some(0), Some(64)));
        assert_eq!((pages(-1), pages(4_294_967_295)), (None, None));
    }

    #[test]
    fn each_link_has_its_own_readings() {
        let row = |link, state, version, remote: Option<(i32, &str)>| LinkRow {
            link,
            state,
            version,
            remote: remote.map(|(rc, id)| (rc, id.into())),
        };
        let rows = vec![
            row(0, (0, 1), (0, 6), Some((0, "00000001:C5:00.0"))),
            row(1, (0, 0), (0, 99), None),
            row(2, (3, 0), (3, 0), None),
            row(3, (0, 7), (0, 0), Some((0, "nonsense"))),
            row(4, (0, 1), (999, 0), Some((4, ""))),
        ];
        let details = with(DeviceCall::NvLinks, &told(0, 1, Output::Links(rows)));
        let links = details.nvlinks.value().unwrap();
        let active: Vec<_> = links
            .iter()
            .map(|link| link.active.value().copied().ok_or(link.active.gap()))
            .collect();
        assert_eq!(
            active,
            [
                Ok(true),
                Ok(false),
                Err(Some(Gap::NotSupported)),
                Err(Some(Gap::Implausible)),
                Ok(true)
            ]
        );
        let version: Vec<_> = links
            .iter()
            .map(|link| link.version.value().map(|text| &**text))
            .collect();
        assert_eq!(version, [Some("4.0"), Some("code 99"), None, None, None]);
        assert_eq!(links[4].version.gap(), Some(Gap::DriverError(999)));
        let remote: Vec<_> = links
            .iter()
            .map(|link| link.remote.value().map(ToString::to_string))
            .collect();
        assert_eq!(
            remote,
            [Some("0001:c5:00.0".to_owned()), None, None, None, None]
        );
        let why: Vec<_> = links.iter().map(|link| link.remote.gap()).collect();
        assert_eq!(
            why,
            [
                None,
                Some(Gap::NotApplicable),
                Some(Gap::NotSupported),
                Some(Gap::Malformed),
                Some(Gap::Permission)
            ]
        );
        let many = vec![row(0, (0, 1), (0, 6), None); 100_000];
        let many = with(DeviceCall::NvLinks, &told(0, 1, Output::Links(many)));
        assert_eq!(many.nvlinks.value().map(Vec::len), Some(MAX_LINKS));
        let empty = with(DeviceCall::NvLinks, &told(0, 1, Output::Links(Vec::new())));
        assert_eq!(empty.nvlinks.gap(), Some(Gap::Malformed));
    }
}
