//! Attribute files that drivers have in common.

use model::{Celsius, Gap, Measured, Reading, Sensor, SensorUnit, Watts};
use raw::{Answer, Stamped};

use super::files::{Files, Readings};

/// Hotter than any chip survives, and colder than any room, thousandths of a degree.
const MILLIDEGREES: std::ops::RangeInclusive<i64> = -60_000..=200_000;

/// More than any card draws, millionths of a watt.
const MICROWATTS: std::ops::RangeInclusive<i64> = 0..=10_000_000_000;

pub(super) const fn sensor(
    id: &'static str,
    label: &'static str,
    unit: SensorUnit,
    value: Reading<Measured<f64>>,
) -> Sensor {
    Sensor {
        id,
        label,
        unit,
        value,
    }
}

/// A temperature in thousandths of a degree.
pub(super) fn celsius(
    readings: Readings<'_>,
    counter: &'static str,
    path: Option<&str>,
) -> Reading<Measured<Celsius>> {
    readings.monitored(counter, path, MILLIDEGREES, |thousandths| {
        Celsius(thousands(thousandths))
    })
}

/// A power in millionths of a watt.
pub(super) fn microwatts(
    readings: Readings<'_>,
    counter: &'static str,
    path: Option<&str>,
) -> Reading<Measured<Watts>> {
    readings.monitored(counter, path, MICROWATTS, |millionths| {
        Watts(thousands(millionths) / 1000.0)
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "readings of sensors are far below 2^53"
)]
fn thousands(thousandths: i64) -> f64 {
    thousandths as f64 / 1000.0
}

/// PCIe generation by the speed of a lane: `16.0 GT/s PCIe`.
pub(super) fn link_generation(files: &Files, path: &str) -> Answer<u32> {
    let Stamped { at, value } = files.text(path)?;
    let speed = value.split_ascii_whitespace().next().unwrap_or(value);
    let value = match speed {
        "2.5" => 1,
        "5.0" | "5" => 2,
        "8.0" | "8" => 3,
        "16.0" | "16" => 4,
        "32.0" | "32" => 5,
        "64.0" | "64" => 6,
        // Parts of the processor have no link: `Unknown`.
        _ => return Err(Gap::NotSupported),
    };
    Ok(Stamped { at, value })
}

/// Lanes of a link; 0 is what parts of the processor say.
pub(super) fn lanes(files: &Files, path: &str) -> Answer<u32> {
    let Stamped { at, value } = files.number(path)?;
    match u32::try_from(value) {
        Ok(0) => Err(Gap::NotSupported),
        Ok(value @ 1..=64) => Ok(Stamped { at, value }),
        _ => Err(Gap::Implausible),
    }
}
