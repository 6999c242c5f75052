//! Units. All numeric narrowing of the workspace happens here, so that it is done once and right.

/// A count of bytes. Range: the whole of `u64`; drivers' "not available" sentinels never get here.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` binary megabytes.
    pub const fn mib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 20))
    }

    /// As a floating point number, for ratios and for drawing. Exact below 2^53 (8 PiB).
    #[expect(
        clippy::cast_precision_loss,
        reason = "beyond 8 PiB a ratio may lose its last digits"
    )]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// This size as a part of `whole`, in percent. `None` where `whole` is zero.
    pub fn percent_of(self, whole: Self) -> Option<Percent> {
        (whole.0 != 0).then(|| Percent(self.as_f64() / whole.as_f64() * 100.0))
    }
}

/// A percentage of time or of a whole. Range 0 to 100 for everything a driver measures.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

/// A temperature in degrees Celsius.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Celsius(pub f64);

/// A power in watts.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Watts(pub f64);

impl Watts {
    /// From milliwatts, the unit of NVML.
    pub fn from_milliwatts(milliwatts: u32) -> Self {
        Self(f64::from(milliwatts) / 1000.0)
    }
}

/// An energy in millijoules, the unit of NVML.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Millijoules(pub u64);

/// A clock frequency in megahertz.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Megahertz(pub u32);

/// A transfer rate in bytes per second.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct BytesPerSecond(pub u64);

/// `value` as a `u16`, saturating. For screen coordinates and other small counts.
pub fn saturating_u16(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

/// The nearest integer to `value` in `0..=max`; not-a-number counts as zero. For drawing only.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0..=u32::MAX before the cast"
)]
pub fn rounded_to(value: f64, max: u32) -> u32 {
    if value.is_nan() {
        0
    } else {
        value.round().clamp(0.0, f64::from(max)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_nothing_is_unknown() {
        assert_eq!(Bytes(1).percent_of(Bytes(0)), None);
        assert_eq!(Bytes(1).percent_of(Bytes(4)), Some(Percent(25.0)));
    }

    #[test]
    fn rounding_stays_in_range() {
        assert_eq!(rounded_to(f64::NAN, 9), 0);
        assert_eq!(rounded_to(-3.0, 9), 0);
        assert_eq!(rounded_to(1e30, 9), 9);
        assert_eq!(rounded_to(2.5, 9), 3);
    }
}
