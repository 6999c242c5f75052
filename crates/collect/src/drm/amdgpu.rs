//! What amdgpu's attribute files say of a device.

use model::{
    Bytes, Celsius, Device, DeviceKind, Gap, Measured, Megahertz, Percent, Reading, SensorUnit,
    Text,
};
use raw::{Answer, Stamped};

use super::discovery::{Found, Hwmon};
use super::files::{Files, Readings, sysfs};
use super::gpu_metrics::{self, Metrics};
use super::memory::MOST_BYTES;
use super::sensors::{celsius, lanes, link_generation, microwatts, sensor};

/// Files of the memory manager: they touch no hardware.
const ALWAYS: [&str; 4] = [
    "mem_info_vram_total",
    "mem_info_vram_used",
    "mem_info_gtt_total",
    "mem_info_gtt_used",
];

/// Files for which the device is asked. `pcie_bw` is not among them: reading it takes a second.
const AWAKE: [&str; 9] = [
    "gpu_busy_percent",
    "mem_busy_percent",
    "vcn_busy_percent",
    "pp_dpm_sclk",
    "pp_dpm_mclk",
    "pp_dpm_vclk",
    "gpu_metrics",
    "current_link_speed",
    "current_link_width",
];

/// Files of the hardware monitoring, as far as they are there.
const MONITORED: [&str; 10] = [
    "temp1_input",
    "temp2_input",
    "temp3_input",
    "power1_average",
    "power1_input",
    "power1_cap",
    "fan1_input",
    "pwm1",
    "freq1_input",
    "freq2_input",
];

/// More than any clock, Hz.
const MAX_HERTZ: i64 = 100_000_000_000;

/// Files to read always, and files to read while it is awake.
pub(super) fn reads(found: &Found, hwmon: Option<&Hwmon>) -> (Vec<Text>, Vec<Text>) {
    let here = |names: &[&str]| -> Vec<Text> {
        let names = names.iter().filter(|name| found.has(name));
        names.map(|name| found.file(name)).collect()
    };
    let mut awake = here(&AWAKE);
    if let Some(hwmon) = hwmon {
        let names = MONITORED.iter().filter(|name| hwmon.has(name));
        awake.extend(names.map(|name| hwmon.file(name)));
    }
    (here(&ALWAYS), awake)
}

/// Label of the processor's own voltage, which the driver shows of processors only.
const PROCESSOR_LABEL: &str = "vddnb";

/// What is known of a device that tells a card from a part of the processor.
pub(super) struct KindFacts<'a> {
    pub(super) hwmon: Option<&'a Hwmon>,
    /// Whether its table `gpu_metrics` is one of processors.
    pub(super) has_processor_table: bool,
    /// Maker of its memory.
    pub(super) memory_vendor: Option<&'a str>,
    /// Whether its memory bank at the compute driver is all of the system memory that it can reach.
    pub(super) shares_bank: bool,
}

/// Whether the device is a card or a part of the processor, and what decided it, the surest first. The size of the
/// memory does not tell: a processor may have 96 GiB set apart. Where nothing tells, nothing is taken for granted.
pub(super) fn kind(found: &Found, facts: &KindFacts<'_>) -> (DeviceKind, Option<&'static str>) {
    let label = facts.hwmon.and_then(|hwmon| hwmon.labels.get("in1"));
    let monitored = |name| facts.hwmon.is_some_and(|hwmon| hwmon.has(name));
    let is_named = |vendor: &str| !vendor.is_empty() && vendor != "unknown";
    let signs = [
        (
            label.is_some_and(|label| &**label == PROCESSOR_LABEL),
            DeviceKind::Integrated,
            "hwmon in1_label vddnb",
        ),
        (
            facts.has_processor_table,
            DeviceKind::Integrated,
            "gpu_metrics format of processors",
        ),
        (
            found.has("mem_busy_percent"),
            DeviceKind::Discrete,
            "mem_busy_percent",
        ),
        (found.has("pcie_bw"), DeviceKind::Discrete, "pcie_bw"),
        (
            monitored("fan1_input"),
            DeviceKind::Discrete,
            "hwmon fan1_input",
        ),
        (
            monitored("freq2_input"),
            DeviceKind::Discrete,
            "hwmon freq2_input",
        ),
        (
            facts.memory_vendor.is_some_and(is_named),
            DeviceKind::Discrete,
            "mem_info_vram_vendor",
        ),
        (
            facts.shares_bank,
            DeviceKind::Integrated,
            "KFD memory bank, which is mem_info_gtt_total",
        ),
    ];
    let first = signs.into_iter().find(|(holds, ..)| *holds);
    first.map_or((DeviceKind::Unknown, None), |(_, kind, evidence)| {
        (kind, Some(evidence))
    })
}

/// Fills in what the files say. `video_moved` says whether the video load of `gpu_metrics` has ever been above 0.
pub(super) fn describe(
    device: &mut Device,
    found: &Found,
    hwmon: Option<&Hwmon>,
    readings: Readings<'_>,
    video_moved: &mut bool,
) {
    let path = |name: &str| found.has(name).then(|| found.file(name));
    let monitored = |name: &str| hwmon.filter(|h| h.has(name)).map(|h| h.file(name));
    let bytes = |counter| {
        let most = MOST_BYTES.cast_signed();
        readings.number(counter, path(counter).as_deref(), 0..=most, |n| {
            Bytes(n.unsigned_abs())
        })
    };
    let memory = &mut device.memory;
    memory.total = bytes("mem_info_vram_total");
    memory.used = match (bytes("mem_info_vram_used"), memory.total.value()) {
        (Reading::Known(used), Some(total)) if used.value > *total => {
            Reading::missing(Gap::Implausible, used.from)
        }
        (used, _) => used,
    };
    memory.shared_total = bytes("mem_info_gtt_total");
    memory.shared_used = bytes("mem_info_gtt_used");
    let share = |counter| readings.number(counter, path(counter).as_deref(), 0..=100, percent);
    let metrics = Table::of(&readings, path("gpu_metrics"));
    device.gpu = or(share("gpu_busy_percent"), || {
        metrics
            .reading("gpu_metrics graphics activity", |it| it.graphics)
            .map(Percent)
    });
    device.memory_activity = or(share("mem_busy_percent"), || {
        metrics
            .reading("gpu_metrics memory activity", |it| it.memory)
            .map(Percent)
    });
    let hertz = |counter, name| {
        readings.monitored(
            counter,
            monitored(name).as_deref(),
            0..=MAX_HERTZ,
            |hertz| Megahertz(u32::try_from(hertz / 1_000_000).unwrap_or(u32::MAX)),
        )
    };
    let level = |counter| readings.read(counter, path(counter).as_deref(), current_level);
    device.core_clock = or(hertz("hwmon freq1_input", "freq1_input"), || {
        level("pp_dpm_sclk")
    });
    device.memory_clock = or(hertz("hwmon freq2_input", "freq2_input"), || {
        level("pp_dpm_mclk")
    });
    device.video_clock = level("pp_dpm_vclk");
    temperatures(device, hwmon, readings, &metrics);
    let is_package = device.kind == DeviceKind::Integrated;
    let watts = |counter, name| microwatts(readings, counter, monitored(name).as_deref());
    device.power = if is_package {
        or(
            watts("hwmon power1_average, the whole package", "power1_average"),
            || watts("hwmon power1_input, the whole package", "power1_input"),
        )
    } else {
        or(watts("hwmon power1_average", "power1_average"), || {
            watts("hwmon power1_input", "power1_input")
        })
    };
    device.power_limit = watts("hwmon power1_cap", "power1_cap");
    device.fan = readings.monitored("hwmon pwm1", monitored("pwm1").as_deref(), 0..=255, |pwm| {
        Percent(f64::from(u8::try_from(pwm).unwrap_or(u8::MAX)) / 2.55)
    });
    device.pcie_generation = readings.read(
        "current_link_speed, of the chip itself",
        path("current_link_speed").as_deref(),
        link_generation,
    );
    device.pcie_width = readings.read(
        "current_link_width, of the chip itself",
        path("current_link_width").as_deref(),
        lanes,
    );
    let fan = or(
        readings.monitored(
            "hwmon fan1_input",
            monitored("fan1_input").as_deref(),
            0..=100_000,
            |turns| f64::from(u32::try_from(turns).unwrap_or(u32::MAX)),
        ),
        || metrics.reading("gpu_metrics fan", |it| it.fan),
    );
    let video = or(share("vcn_busy_percent").map(|share| share.0), || {
        metrics.video(video_moved)
    });
    if video.known().is_some() {
        // It is one figure for both.
        let both = Reading::missing(Gap::SharedEngine, sysfs("video_engine", readings.now));
        (device.encoder, device.decoder) = (both, both);
    }
    device.sensors.extend([
        sensor("video_engine", "video engine", SensorUnit::Percent, video),
        sensor("fan_speed", "fan", SensorUnit::TurnsPerMinute, fan),
    ]);
}

/// Channels are told apart by their labels: their numbers differ from chip to chip, and MI300 has no edge.
fn temperatures(
    device: &mut Device,
    hwmon: Option<&Hwmon>,
    readings: Readings<'_>,
    metrics: &Table<'_>,
) {
    let of = |label: &str, counter| {
        let channel =
            hwmon.and_then(|hwmon| hwmon.labelled("temp", label).map(|name| (hwmon, name)));
        let path = channel.map(|(hwmon, name)| hwmon.file(&format!("{name}_input")));
        celsius(readings, counter, path.as_deref())
    };
    let table = |counter, pick: fn(&Metrics) -> Result<f64, Gap>| metrics.reading(counter, pick);
    let edge = or(of("edge", "hwmon temperature, edge"), || {
        table("gpu_metrics edge temperature", |it| it.edge).map(Celsius)
    });
    let junction = or(of("junction", "hwmon temperature, junction"), || {
        table("gpu_metrics hotspot temperature", |it| it.hotspot).map(Celsius)
    });
    let memory = or(of("mem", "hwmon temperature, mem"), || {
        table("gpu_metrics memory temperature", |it| it.memory_temperature).map(Celsius)
    });
    // A chip without an edge sensor is as hot as its hottest spot.
    device.temperature = or(edge, || junction);
    device.sensors.extend([
        sensor(
            "temperature_junction",
            "junction",
            SensorUnit::Celsius,
            junction.map(|t| t.0),
        ),
        sensor(
            "temperature_memory",
            "memory",
            SensorUnit::Celsius,
            memory.map(|t| t.0),
        ),
    ]);
}

fn percent(share: i64) -> Percent {
    Percent(f64::from(u8::try_from(share).unwrap_or(u8::MAX)))
}

/// The first reading, or the second where the first is missing and the second is not. Of two that are missing the
/// reason of a file that is there says more than that another is not.
fn or<T>(
    first: Reading<Measured<T>>,
    second: impl FnOnce() -> Reading<Measured<T>>,
) -> Reading<Measured<T>> {
    if first.known().is_some() {
        return first;
    }
    let second = second();
    let has_file = second.gap().is_some_and(|gap| gap != Gap::NoCounter);
    let is_absent = first.gap() == Some(Gap::NoCounter);
    // What a file says counts; that there is none says less.
    if second.known().is_some() || (is_absent && has_file) {
        second
    } else {
        first
    }
}

/// The level with the star: `1: 2660Mhz *`. Levels are in no order, none may have a star, and two of them do on some
/// chips where they are equal.
fn current_level(files: &Files, path: &str) -> Answer<Megahertz> {
    let Stamped { at, value } = files.text(path)?;
    let mut current = None;
    for line in value.lines() {
        let Some(level) = line.trim_end().strip_suffix('*') else {
            continue;
        };
        let (_, clock) = level.split_once(':').ok_or(Gap::Malformed)?;
        let clock = clock.trim();
        let digits = clock
            .get(..clock.len().saturating_sub(3))
            .filter(|_| clock.to_ascii_lowercase().ends_with("mhz"))
            .ok_or(Gap::Malformed)?;
        let megahertz: u32 = digits.trim().parse().map_err(|_| Gap::Malformed)?;
        if i64::from(megahertz) > MAX_HERTZ / 1_000_000 {
            return Err(Gap::Implausible);
        }
        if current.is_some_and(|other| other != megahertz) {
            return Err(Gap::Ambiguous);
        }
        current = Some(megahertz);
    }
    match current {
        Some(megahertz) => Ok(Stamped {
            at,
            value: Megahertz(megahertz),
        }),
        None => Err(Gap::NotSupported),
    }
}

/// `gpu_metrics`, read once.
struct Table<'a> {
    readings: Readings<'a>,
    metrics: Answer<Metrics>,
}

impl<'a> Table<'a> {
    fn of(readings: &Readings<'a>, path: Option<Text>) -> Self {
        let metrics = match path {
            None => Err(readings.absent),
            Some(path) => readings.files.bytes(&path).and_then(|bytes| {
                Ok(Stamped {
                    at: bytes.at,
                    value: gpu_metrics::parse(bytes.value)?,
                })
            }),
        };
        Self {
            readings: *readings,
            metrics,
        }
    }

    fn reading(
        &self,
        counter: &'static str,
        pick: impl FnOnce(&Metrics) -> Result<f64, Gap>,
    ) -> Reading<Measured<f64>> {
        match &self.metrics {
            Ok(metrics) => match pick(&metrics.value) {
                Ok(value) => Reading::measured(value, sysfs(counter, metrics.at)),
                Err(gap) => Reading::missing(gap, sysfs(counter, metrics.at)),
            },
            Err(Gap::NotPresent) => self.readings.missing(counter, self.readings.unasked),
            Err(gap) => self.readings.missing(counter, *gap),
        }
    }

    /// A zero counts once the figure has been seen to move: some firmware never fills it in.
    fn video(&self, moved: &mut bool) -> Reading<Measured<f64>> {
        let counter = "gpu_metrics video activity";
        let reading = self.reading(counter, |it| it.video);
        *moved |= reading.value().is_some_and(|share| *share > 0.0);
        match reading {
            Reading::Known(known) if !*moved => Reading::missing(Gap::NotSupported, known.from),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Stamp;
    use raw::Reply;

    use super::*;

    fn files(text: &str) -> Files {
        let mut files = Files::default();
        let at = Stamp {
            mono_ns: 1,
            wall_us: 1,
        };
        let answer = Ok(Stamped {
            at,
            value: Reply::text(text),
        });
        files.take(&[("/x".into(), answer)]);
        files
    }

    #[test]
    fn the_current_level_has_a_star() {
        for (text, expected) in [
            ("0: 500Mhz *\n1: 2660Mhz \n", Ok(500)),
            ("0: 500Mhz\n1: 77Mhz *\n2: 2254Mhz \n", Ok(77)),
            ("2: 687Mhz *\n3: 687Mhz *\n", Ok(687)),
            ("2: 687Mhz *\n3: 688Mhz *\n", Err(Gap::Ambiguous)),
            ("0: 400Mhz \n1: 800Mhz \n", Err(Gap::NotSupported)),
            ("\n", Err(Gap::NotSupported)),
            ("0: fast *\n", Err(Gap::Malformed)),
            ("0: 1: ägz *\n", Err(Gap::Malformed)),
            ("0: 4294967295Mhz *\n", Err(Gap::Implausible)),
        ] {
            let level = current_level(&files(text), "/x").map(|answer| answer.value.0);
            assert_eq!(level, expected, "{text:?}");
        }
    }
}
