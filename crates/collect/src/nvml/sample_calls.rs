//! The two calls for utilization samples: which is believed, and why JPEG and OFA load are missing.

use model::Gap;
use raw::Answer;
use raw::nvml::{CallAnswer, code};

use super::answers::reason;

/// The answer to believe of the two calls for samples, and whether the newer one gave it. The newer
/// is asked first and the older only where that told nothing.
pub(super) fn chosen<'a>(
    newer: Option<&'a Answer<CallAnswer>>,
    older: Option<&'a Answer<CallAnswer>>,
) -> Option<(&'a Answer<CallAnswer>, Result<(), Gap>)> {
    match (newer, older) {
        (Some(newer), older) => {
            let video = match newer {
                Ok(answer) if matches!(answer.value.rc, code::SUCCESS | code::NOT_FOUND) => Ok(()),
                Ok(answer) => Err(reason(answer.value.rc)),
                Err(gap) => Err(*gap),
            };
            let older = older.filter(|older| **older != Err(Gap::NotApplicable));
            Some(match (video, older) {
                (Err(gap), Some(older)) => (older, Err(gap)),
                _ => (newer, video),
            })
        }
        (None, Some(older)) => Some((older, Err(Gap::NotRecorded))),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use model::Stamp;
    use raw::Stamped;
    use raw::nvml::{Output, SampleRow};

    use super::*;

    #[expect(
        clippy::unnecessary_wraps,
        reason = "an answer is what the test hands in"
    )]
    fn answered(rc: i32, sm: u32) -> Answer<CallAnswer> {
        let row = SampleRow {
            pid: 7,
            ts: 1,
            sm,
            mem: 0,
            enc: 0,
            dec: 0,
            jpg: None,
            ofa: None,
        };
        let out = match rc {
            code::SUCCESS => Output::Samples(vec![row]),
            _ => Output::Nothing,
        };
        Ok(Stamped {
            at: Stamp {
                mono_ns: 1,
                wall_us: 1,
            },
            value: CallAnswer { rc, sym: 1, out },
        })
    }

    #[test]
    fn the_newer_call_is_believed_and_the_older_only_where_that_told_nothing() {
        let newer = |rc| answered(rc, 40);
        let older = answered(0, 30);
        let skipped: Answer<CallAnswer> = Err(Gap::NotApplicable);
        let lost: Answer<CallAnswer> = Err(Gap::NotRecorded);
        let hangs: Answer<CallAnswer> = Err(Gap::TimedOut);
        let absent = newer(code::FUNCTION_NOT_FOUND);
        let unsupported = newer(code::NOT_SUPPORTED);
        let (fine, idle) = (newer(0), newer(code::NOT_FOUND));
        for (newer, older, expected) in [
            (Some(&fine), Some(&skipped), Some((&fine, Ok(())))),
            (Some(&idle), Some(&skipped), Some((&idle, Ok(())))),
            (Some(&fine), Some(&lost), Some((&fine, Ok(())))),
            (
                Some(&absent),
                Some(&older),
                Some((&older, Err(Gap::SymbolAbsent))),
            ),
            (
                Some(&unsupported),
                Some(&older),
                Some((&older, Err(Gap::NotSupported))),
            ),
            // A capture from before the newer call was asked, and one that has lost its answer.
            (
                Some(&lost),
                Some(&older),
                Some((&older, Err(Gap::NotRecorded))),
            ),
            (None, Some(&older), Some((&older, Err(Gap::NotRecorded)))),
            (
                Some(&lost),
                Some(&skipped),
                Some((&lost, Err(Gap::NotRecorded))),
            ),
            (
                Some(&hangs),
                Some(&hangs),
                Some((&hangs, Err(Gap::TimedOut))),
            ),
            (None, None, None),
        ] {
            assert_eq!(chosen(newer, older), expected);
        }
    }
}
