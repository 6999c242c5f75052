//! How numbers and untrusted names look: sizes, shares, times, fitting into columns.
//!
//! Two forms of a size exist. The short one is for table cells: at most five columns, three
//! significant digits, binary units (`3.95G` is 3.95 GiB). The long one spells the unit.

mod ascii;
mod size;
mod span;
mod width;

use model::{Celsius, ClocksEventReasons, Gap, Megahertz, Millijoules, Percent, SensorUnit, Watts};

pub use ascii::{likeness, to_ascii};
pub use size::{difference, estimate, estimate_signed, rate, size, size_long, size_signed};
pub use span::{age, utc_millis, utc_seconds};
pub use width::{display_width, fit, middle_ellipsis, pad_end, pad_start, sanitize};

/// What a cell shows where there is no reading.
pub const NOT_AVAILABLE: &str = "n/a";

/// What a cell shows where the reading is still on its way.
pub const PENDING: &str = "\u{2026}";

/// What a cell shows in place of a value missing for `gap`.
pub const fn missing(gap: Gap) -> &'static str {
    if gap.is_pending() {
        PENDING
    } else {
        NOT_AVAILABLE
    }
}

/// A share without its sign, for cells: `97`, `0`, and `<1` where something was measured that
/// rounds to nothing.
pub fn percent(Percent(share): Percent) -> String {
    if !share.is_finite() {
        NOT_AVAILABLE.into()
    } else if share > 0.0 && share < 0.5 {
        "<1".into()
    } else {
        whole(share)
    }
}

/// A share with its sign: `97%`.
pub fn percent_long(share: Percent) -> String {
    with_unit(share.0, percent(share), "%")
}

/// A further reading with its unit: `59 C`, `900 rpm`, `3%`.
pub fn sensor(unit: SensorUnit, value: f64) -> String {
    match unit {
        SensorUnit::Percent => percent_long(Percent(value)),
        SensorUnit::Celsius => celsius(Celsius(value)),
        SensorUnit::Watts => watts(Watts(value)),
        SensorUnit::Megahertz => with_unit(value, whole(value), " MHz"),
        SensorUnit::TurnsPerMinute => with_unit(value, whole(value), " rpm"),
    }
}

/// A clock: `2610 MHz`.
pub fn megahertz(Megahertz(clock): Megahertz) -> String {
    format!("{clock} MHz")
}

/// A power: `286 W`, and `8.3 W` below ten.
pub fn watts(Watts(power): Watts) -> String {
    let number = if power.abs() < 9.95 && power != 0.0 {
        format!("{power:.1}")
    } else {
        whole(power)
    };
    with_unit(power, number, " W")
}

/// An energy: `5.21 MJ`.
pub fn energy(energy: Millijoules) -> String {
    let units = [" J", " kJ", " MJ", " GJ", " TJ", " PJ", " EJ"];
    size::three_digits(energy.0 / 1000, 1000, units)
}

/// What holds clocks: `none`, `idle`, `SW power cap, HW slowdown`; unknown bits as one number.
pub fn clocks_event_reasons(reasons: ClocksEventReasons) -> String {
    let unknown = reasons.unknown();
    let mut names: Vec<String> = reasons.known().map(|it| it.label.to_owned()).collect();
    if unknown != 0 {
        names.push(format!("{unknown:#x}"));
    }
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}

/// A few numbers of processes: `4401, 4402 and 7 more`.
pub fn numbers(pids: &[u32]) -> String {
    const NAMED: usize = 4;
    let (named, rest) = pids.split_at_checked(NAMED).unwrap_or((pids, &[]));
    let named: Vec<String> = named.iter().map(ToString::to_string).collect();
    let named = named.join(", ");
    match rest.len() {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// A temperature: `71 C`.
pub fn celsius(Celsius(degrees): Celsius) -> String {
    with_unit(degrees, whole(degrees), " C")
}

/// A count in decimal thousands, three significant digits: `14.8B` parameters.
pub fn count(number: u64) -> String {
    size::three_digits(number, 1000, ["", "K", "M", "B", "T", "Q", "Qi"])
}

fn whole(number: f64) -> String {
    // Adding zero turns a negative zero into a plain one.
    format!("{:.0}", number.round() + 0.0)
}

fn with_unit(number: f64, text: String, unit: &str) -> String {
    if number.is_finite() {
        text + unit
    } else {
        NOT_AVAILABLE.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (0.01, "<1"),
            (0.49, "<1"),
            (0.5, "1"),
            (1.0, "1"),
            (99.4, "99"),
            (99.5, "100"),
            (100.0, "100"),
            (120.0, "120"),
            (f64::NAN, "n/a"),
            (f64::INFINITY, "n/a"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(Percent(share)), text, "{share}");
        }
        assert_eq!(percent_long(Percent(97.0)), "97%");
        assert_eq!(percent_long(Percent(f64::NAN)), "n/a");
    }

    #[test]
    fn sensors() {
        assert_eq!(megahertz(Megahertz(2610)), "2610 MHz");
        assert_eq!(watts(Watts(286.125)), "286 W");
        assert_eq!(watts(Watts(8.26)), "8.3 W");
        assert_eq!(watts(Watts(0.0)), "0 W");
        assert_eq!(watts(Watts(f64::NAN)), "n/a");
        assert_eq!(celsius(Celsius(71.4)), "71 C");
        assert_eq!(celsius(Celsius(-5.0)), "-5 C");
        assert_eq!(celsius(Celsius(-0.2)), "0 C");
        assert_eq!(celsius(Celsius(f64::NEG_INFINITY)), "n/a");
    }

    #[test]
    fn processes_are_named_up_to_a_few() {
        assert_eq!(numbers(&[7]), "7");
        assert_eq!(numbers(&[1, 2, 3, 4]), "1, 2, 3, 4");
        assert_eq!(numbers(&[1, 2, 3, 4, 5, 6]), "1, 2, 3, 4 and 2 more");
    }

    #[test]
    fn counts() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1.00K");
        assert_eq!(count(14_768_307_200), "14.8B");
        assert_eq!(count(999_500), "1.00M");
        assert_eq!(count(u64::MAX), "18.4Qi");
    }

    #[test]
    fn what_is_pending_is_not_called_unavailable() {
        assert_eq!(missing(Gap::Pending), "\u{2026}");
        assert_eq!(missing(Gap::FirstSample), "\u{2026}");
        assert_eq!(missing(Gap::NoCounter), "n/a");
    }
}
