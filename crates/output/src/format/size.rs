//! Sizes in binary units, computed with integers so that no size is off by a rounding of floats.

use model::{Bytes, BytesPerSecond};

const SHORT: [&str; 7] = ["B", "K", "M", "G", "T", "P", "E"];
const LONG: [&str; 7] = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];

/// A size for a table cell: `0`, `512B`, `612M`, `3.95G`; at most five columns.
pub fn size(Bytes(bytes): Bytes) -> String {
    if bytes == 0 {
        "0".into()
    } else {
        three_digits(bytes, 1024, SHORT)
    }
}

/// A size in a sentence: `0 B`, `612 MiB`, `3.95 GiB`.
pub fn size_long(Bytes(bytes): Bytes) -> String {
    three_digits(bytes, 1024, LONG)
}

/// A transfer rate: `1.12 GiB/s`.
pub fn rate(BytesPerSecond(rate): BytesPerSecond) -> String {
    size_long(Bytes(rate)) + "/s"
}

/// A signed size for a cell: `-1.20G`. At most six columns.
pub fn size_signed(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    format!("{sign}{}", size(Bytes(bytes.unsigned_abs())))
}

/// A difference for a cell, with its sign: `+1.20G`, `-96.0M`, `0`. At most six columns.
pub fn difference(bytes: i64) -> String {
    let sign = if bytes > 0 { "+" } else { "" };
    format!("{sign}{}", size_signed(bytes))
}

/// An estimate with its mark: `~1.25G`, or a range `~1.20–3.40G` where the two ends differ as
/// printed. The unit is printed once where both ends share it.
pub fn estimate(low: Bytes, high: Bytes) -> String {
    range(&size(low), &size(high))
}

/// As [`estimate`], of signed sizes. A range with a negative end is printed with `to`, because a
/// dash between signs cannot be read.
pub fn estimate_signed(low: i64, high: i64) -> String {
    let (first, last) = (size_signed(low), size_signed(high));
    if first != last && (low < 0 || high < 0) {
        format!("~{first} to {last}")
    } else {
        range(&first, &last)
    }
}

fn range(low: &str, high: &str) -> String {
    if low == high {
        return format!("~{low}");
    }
    let unit = |text: &str| text.chars().next_back().filter(char::is_ascii_alphabetic);
    let bare = match unit(low) {
        letter @ Some(_) if letter == unit(high) => low.trim_end_matches(char::is_alphabetic),
        _ => low,
    };
    format!("~{bare}\u{2013}{high}")
}

/// `number` with three significant digits and the largest unit that leaves something before the
/// point; a number that would round up to 1000 takes the next unit (`0.98G`, not `1003M`).
pub(super) fn three_digits(number: u64, step: u128, units: [&str; 7]) -> String {
    let number = u128::from(number);
    let [smallest, rest @ ..] = units;
    if number < 1000 {
        return format!("{number}{smallest}");
    }
    let mut unit = 1_u128;
    let mut name = smallest;
    for next in rest {
        unit *= step;
        name = next;
        let rounded = |parts: u128| (number * parts + unit / 2) / unit;
        let hundredths = rounded(100);
        if hundredths < 1000 {
            return format!("{}.{:02}{name}", hundredths / 100, hundredths % 100);
        }
        let tenths = rounded(10);
        if tenths < 1000 {
            return format!("{}.{}{name}", tenths / 10, tenths % 10);
        }
        let ones = rounded(1);
        if ones < 1000 {
            return format!("{ones}{name}");
        }
    }
    format!("{}{name}", number / unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn cells() {
        let cases = [
            (0, "0"),
            (1, "1B"),
            (999, "999B"),
            (1000, "0.98K"),
            (1023, "1.00K"),
            (1024, "1.00K"),
            (10_239, "10.0K"),
            (999 << 10, "999K"),
            ((999 << 10) + 511, "999K"),
            ((999 << 10) + 512, "0.98M"),
            (1000 << 10, "0.98M"),
            (612 << 20, "612M"),
            (4_241_280_205, "3.95G"),
            (GIB * 10 - 1, "10.0G"),
            (9340 << 20, "9.12G"),
            (81_559 << 20, "79.6G"),
            (100 * GIB, "100G"),
            (1_u64 << 53, "8.00P"),
            (u64::MAX, "16.0E"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(Bytes(bytes)), text, "{bytes}");
        }
    }

    #[test]
    fn sentences() {
        assert_eq!(size_long(Bytes(0)), "0 B");
        assert_eq!(size_long(Bytes(4_241_280_205)), "3.95 GiB");
        assert_eq!(size_long(Bytes::mib(612)), "612 MiB");
        assert_eq!(rate(BytesPerSecond(1_200_000_000)), "1.12 GiB/s");
        assert_eq!(rate(BytesPerSecond(0)), "0 B/s");
    }

    #[test]
    fn ranges() {
        assert_eq!(estimate(Bytes(GIB), Bytes(GIB)), "~1.00G");
        assert_eq!(estimate(Bytes(GIB), Bytes(3 * GIB)), "~1.00\u{2013}3.00G");
        assert_eq!(
            estimate(Bytes::mib(612), Bytes(3 * GIB)),
            "~612M\u{2013}3.00G"
        );
        assert_eq!(estimate(Bytes(0), Bytes(GIB)), "~0\u{2013}1.00G");
        assert_eq!(estimate(Bytes(0), Bytes(0)), "~0");
        assert_eq!(estimate(Bytes(GIB), Bytes(GIB + 1)), "~1.00G");
    }

    #[test]
    fn signed() {
        assert_eq!(size_signed(-1_288_490_189), "-1.20G");
        assert_eq!(size_signed(0), "0");
        assert_eq!(size_signed(i64::MIN), "-8.00E");
        assert_eq!(
            estimate_signed(-1_288_490_189, 1_288_490_189),
            "~-1.20G to 1.20G"
        );
        assert_eq!(estimate_signed(-1_288_490_189, -1_288_490_189), "~-1.20G");
        assert_eq!(
            estimate_signed(1_288_490_189, 1_395_864_371),
            "~1.20\u{2013}1.30G"
        );
    }

    proptest! {
        #[test]
        fn a_cell_is_narrow_and_never_hides_a_byte(bytes in any::<u64>(), shift in 0_u32..64) {
            let bytes = bytes >> shift;
            let text = size(Bytes(bytes));
            prop_assert!(text.len() <= 5, "{}", text);
            prop_assert_eq!(text == "0", bytes == 0);
            prop_assert!(!text.starts_with("0.00"));
        }

        #[test]
        fn larger_sizes_never_look_smaller(a in any::<u64>(), b in any::<u64>(), shift in 0_u32..64) {
            let value = |bytes: u64| {
                let text = size(Bytes(bytes));
                let digits = text.trim_end_matches(char::is_alphabetic);
                let power = SHORT.iter().position(|unit| text.ends_with(unit)).unwrap_or(0);
                digits.parse::<f64>().unwrap() * 1024_f64.powi(i32::try_from(power).unwrap())
            };
            let (low, high) = (a.min(b) >> shift, a.max(b) >> shift);
            prop_assert!(value(low) <= value(high));
        }

        #[test]
        fn a_cell_is_within_half_a_percent(bytes in 1024_u64..) {
            let text = size(Bytes(bytes));
            let digits: f64 = text.trim_end_matches(char::is_alphabetic).parse().unwrap();
            let power = SHORT.iter().position(|unit| text.ends_with(unit)).unwrap();
            let shown = digits * 1024_f64.powi(i32::try_from(power).unwrap());
            prop_assert!((shown / Bytes(bytes).as_f64() - 1.0).abs() < 0.0052, "{}", text);
        }
    }
}
