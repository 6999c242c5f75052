//! What the attribute files of i915 and xe say of a device.
//!
//! Neither has a file with its load, the size of its memory or what of it is used: the first needs the kernel's
//! performance counters (`CAP_PERFMON`), the others an open node, which would wake the device.

use model::{Device, DeviceKind, Gap, Measured, Megahertz, Reading, SensorUnit, Text, Watts};

use super::discovery::{Driver, Found, Hwmon};
use super::files::Readings;
use super::rates::Rates;
use super::sensors::{celsius, lanes, link_generation, microwatts, sensor};

/// Where the graphics part of the processor is on every machine.
const INTEGRATED: &str = "0000:00:02.0";

/// Files of the device.
const LINK: [&str; 2] = ["current_link_speed", "current_link_width"];

/// Files of the node of i915; kernels have the one or the other.
const I915_CLOCKS: [&str; 2] = ["gt_act_freq_mhz", "gt/gt0/rps_act_freq_mhz"];

/// Clocks of xe: graphics, and media where it is a part of its own.
const XE_CLOCKS: [&str; 2] = ["tile0/gt0/freq0/act_freq", "tile0/gt1/freq0/act_freq"];

/// Time asleep of xe's graphics part.
const XE_IDLE: &str = "tile0/gt0/gtidle/idle_residency_ms";

/// Time asleep of i915's graphics part.
const I915_IDLE: &str = "gt/gt0/rc6_residency_ms";

const ENERGY: [&str; 2] = ["energy1_input", "energy2_input"];

const FANS: [&str; 3] = ["fan1_input", "fan2_input", "fan3_input"];

const MONITORED: [&str; 8] = [
    "temp1_input",
    "temp2_input",
    "temp3_input",
    "power1_cap",
    "power1_max",
    "power2_max",
    "power2_cap",
    "power1_input",
];

/// More than any clock, MHz.
const MAX_MHZ: i64 = 100_000;

/// Files to read while it is awake. Nothing is read always: i915 wakes for most of them and xe for all.
pub(super) fn reads(found: &Found, hwmon: Option<&Hwmon>) -> Vec<Text> {
    let mut reads: Vec<Text> = LINK
        .iter()
        .filter(|name| found.has(name))
        .map(|name| found.file(name))
        .collect();
    reads.extend(clocks(found).into_iter().flatten());
    reads.extend(idle(found));
    if let Some(hwmon) = hwmon {
        let names = MONITORED.iter().chain(&ENERGY).chain(&FANS);
        reads.extend(
            names
                .filter(|name| hwmon.has(name))
                .map(|name| hwmon.file(name)),
        );
    }
    reads
}

fn clocks(found: &Found) -> [Option<Text>; 2] {
    if found.driver == Driver::Xe {
        return if found.has("tile0") {
            XE_CLOCKS.map(|name| Some(found.file(name)))
        } else {
            [None, None]
        };
    }
    let [old, new] = I915_CLOCKS;
    if found.node_attributes.contains(old) {
        [Some(found.node_file(old)), None]
    } else if found.node_attributes.contains("gt") {
        [Some(found.node_file(new)), None]
    } else {
        [None, None]
    }
}

fn idle(found: &Found) -> Option<Text> {
    match found.driver {
        Driver::Xe => found.has("tile0").then(|| found.file(XE_IDLE)),
        _ => found
            .node_attributes
            .contains("gt")
            .then(|| found.node_file(I915_IDLE)),
    }
}

/// Whether it is a card or a part of the processor, and what decided it. `has_local_memory`: a client was seen to have
/// device memory.
pub(super) fn kind(found: &Found, has_local_memory: bool) -> (DeviceKind, Option<&'static str>) {
    let place = found.pci.map(|address| address.to_string());
    if place.as_deref() == Some(INTEGRATED) {
        (DeviceKind::Integrated, Some("PCI address 0000:00:02.0"))
    } else if has_local_memory {
        (
            DeviceKind::Discrete,
            Some("a client with memory of the device"),
        )
    } else if found.has("hwmon") {
        // The drivers have hardware monitoring for cards only.
        (DeviceKind::Discrete, Some("hwmon"))
    } else {
        (DeviceKind::Unknown, None)
    }
}

/// Fills in what the files say.
pub(super) fn describe(
    device: &mut Device,
    found: &Found,
    hwmon: Option<&Hwmon>,
    readings: Readings<'_>,
    rates: &Rates,
) {
    let monitored = |name: &str| hwmon.filter(|h| h.has(name)).map(|h| h.file(name));
    let [graphics, media] = clocks(found);
    let clock = |counter, path: Option<&Text>| {
        readings.number(counter, path.map(|path| &**path), 0..=MAX_MHZ, |mhz| {
            Megahertz(u32::try_from(mhz).unwrap_or(u32::MAX))
        })
    };
    let counter = match found.driver {
        Driver::Xe => "gt0/freq0/act_freq",
        _ => "gt_act_freq_mhz",
    };
    device.core_clock = clock(counter, graphics.as_ref());
    device.video_clock = clock("gt1/freq0/act_freq", media.as_ref());
    let idle_counter = match found.driver {
        Driver::Xe => "gt0/gtidle/idle_residency_ms",
        _ => "gt0/rc6_residency_ms",
    };
    let awake = rates
        .reading(readings, idle_counter, idle(found).as_deref())
        // Milliseconds asleep per second.
        .map(|asleep| (100.0 - asleep / 10.0).clamp(0.0, 100.0));
    device.power = power(hwmon, readings, rates);
    let limits = [
        ("hwmon power1_cap", "power1_cap"),
        ("hwmon power1_max", "power1_max"),
        ("hwmon power2_cap", "power2_cap"),
        ("hwmon power2_max", "power2_max"),
    ];
    let limit = limits
        .into_iter()
        .map(|(counter, name)| microwatts(readings, counter, monitored(name).as_deref()))
        // 0 says that there is no limit.
        .find(|limit| limit.value().is_some_and(|watts| watts.0 > 0.0));
    device.power_limit =
        limit.unwrap_or_else(|| readings.missing("hwmon power limit", readings.unmonitored));
    let temperature = |label: &str, counter| {
        let channel = hwmon.and_then(|hwmon| {
            Some(hwmon.file(&format!("{}_input", hwmon.labelled("temp", label)?)))
        });
        celsius(readings, counter, channel.as_deref())
    };
    device.temperature = match found.driver {
        Driver::Xe => temperature("pkg", "hwmon temperature, pkg"),
        _ => celsius(
            readings,
            "hwmon temp1_input",
            monitored("temp1_input").as_deref(),
        ),
    };
    device.pcie_generation = readings.read(
        "current_link_speed, of the chip itself",
        found.has(LINK[0]).then(|| found.file(LINK[0])).as_deref(),
        link_generation,
    );
    device.pcie_width = readings.read(
        "current_link_width, of the chip itself",
        found.has(LINK[1]).then(|| found.file(LINK[1])).as_deref(),
        lanes,
    );
    let memory = temperature("vram", "hwmon temperature, vram");
    device.sensors.extend([
        sensor(
            "gt_awake",
            "graphics part awake (not its load)",
            SensorUnit::Percent,
            awake,
        ),
        sensor(
            "temperature_memory",
            "memory",
            SensorUnit::Celsius,
            memory.map(|t| t.0),
        ),
        sensor(
            "fan_speed",
            "fan",
            SensorUnit::TurnsPerMinute,
            fastest_fan(hwmon, readings),
        ),
    ]);
}

/// Energy over time. The counter of the whole card comes first, but on some it never moves.
fn power(hwmon: Option<&Hwmon>, readings: Readings<'_>, rates: &Rates) -> Reading<Measured<Watts>> {
    let counters = [
        "energy1_input of hwmon, over the time between readings",
        "energy2_input of hwmon, over the time between readings",
    ];
    let mut missing = readings.missing("hwmon energy", readings.unmonitored);
    for (name, counter) in ENERGY.into_iter().zip(counters) {
        let path = hwmon.filter(|h| h.has(name)).map(|h| h.file(name));
        if path.is_none() {
            continue;
        }
        match rates.reading(readings, counter, path.as_deref()) {
            // Nothing draws no power at all: a counter that stands still is none.
            Reading::Known(rate) if rate.value <= 0.0 => {
                missing = Reading::missing(Gap::NotSupported, rate.from);
            }
            // Microjoules per second.
            Reading::Known(rate) => return Reading::measured(Watts(rate.value / 1e6), rate.from),
            Reading::Missing(it) => missing = Reading::Missing(it),
        }
    }
    missing
}

fn fastest_fan(hwmon: Option<&Hwmon>, readings: Readings<'_>) -> Reading<Measured<f64>> {
    let fans = FANS.into_iter().map(|name| {
        let path = hwmon.filter(|h| h.has(name)).map(|h| h.file(name));
        readings.monitored(
            "hwmon fan_input, the fastest",
            path.as_deref(),
            0..=100_000,
            |turns| f64::from(u32::try_from(turns).unwrap_or(u32::MAX)),
        )
    });
    let fastest = fans.reduce(|a, b| match (a.value(), b.value()) {
        (Some(x), Some(y)) if y > x => b,
        (None, Some(_)) => b,
        _ => a,
    });
    fastest.unwrap_or_else(|| readings.missing("hwmon fan_input", readings.unmonitored))
}
