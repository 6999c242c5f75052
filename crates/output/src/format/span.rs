//! Times and ages.

use jiff::Timestamp;
use model::Stamp;

/// A span in its largest useful unit, cut and not rounded: `450 ms`, `7 s`, `5 min`, `3 h`, `4 d`.
pub fn age(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// RFC 3339 in UTC with milliseconds, of microseconds since 1970. `None` outside the years
/// -9999 to 9999.
pub fn utc_millis(wall_us: i64) -> Option<String> {
    let at = Timestamp::from_microsecond(wall_us).ok()?;
    Some(format!("{at:.3}"))
}

/// RFC 3339 in UTC with whole seconds. A moment that no calendar has is said to be unknown.
pub fn utc_seconds(stamp: Stamp) -> String {
    Timestamp::from_microsecond(stamp.wall_us)
        .map_or_else(|_| "time unknown".into(), |at| format!("{at:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
        let cases = [
            (0, "0 ms"),
            (999, "999 ms"),
            (7000, "7 s"),
            (119_999, "119 s"),
            (120_000, "2 min"),
            (7_199_000, "119 min"),
            (7_200_000, "2 h"),
            (172_800_000, "2 d"),
            (u64::MAX, "213503982334 d"),
        ];
        for (ms, text) in cases {
            assert_eq!(age(ms), text);
        }
    }

    #[test]
    fn moments() {
        let us = 1_796_047_353_120_999;
        assert_eq!(utc_millis(us).as_deref(), Some("2026-11-30T14:02:33.120Z"));
        assert_eq!(utc_millis(0).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(utc_millis(-1).as_deref(), Some("1969-12-31T23:59:59.999Z"));
        assert_eq!(utc_millis(i64::MAX), None);
        let stamp = |wall_us| Stamp {
            mono_ns: 0,
            wall_us,
        };
        assert_eq!(utc_seconds(stamp(us)), "2026-11-30T14:02:33Z");
        assert_eq!(utc_seconds(stamp(i64::MIN)), "time unknown");
    }
}
