//! What the charts draw: the last readings of each device. Bounded; a moment without a reading
//! stays a gap.

use std::collections::VecDeque;
use std::time::Duration;

use model::{Device, DeviceKey, Measured, Percent, Reading, Snapshot, Stamp};

/// Points that are kept of each metric: an hour at one a second, 115 KB a device.
const CAPACITY: usize = 3600;

/// A metric with a chart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Metric {
    /// GPU load, percent.
    Gpu,
    /// Device memory in use, percent of all.
    Memory,
    /// Temperature, degrees Celsius.
    Temperature,
    /// Power, watts.
    Power,
    /// Core clock, MHz.
    Clock,
    /// Share of time in which the memory was busy, percent.
    MemoryActivity,
    /// Load of the encoder, percent.
    Encoder,
    /// Load of the decoder, percent.
    Decoder,
}

impl Metric {
    /// All, in display order.
    pub(crate) const ALL: [Self; 8] = [
        Self::Gpu,
        Self::Memory,
        Self::Temperature,
        Self::Power,
        Self::Clock,
        Self::MemoryActivity,
        Self::Encoder,
        Self::Decoder,
    ];

    /// Short name.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Gpu => "GPU",
            Self::Memory => "VRAM",
            Self::Temperature => "TEMP",
            Self::Power => "PWR",
            Self::Clock => "CLK",
            Self::MemoryActivity => "MEM ACT",
            Self::Encoder => "ENC",
            Self::Decoder => "DEC",
        }
    }

    /// Its reading now, in the chart's unit.
    pub(crate) fn of(self, device: &Device) -> Option<f64> {
        let (value, _) = self.reading(device)?;
        value.filter(|value| value.is_finite())
    }

    /// What was read, in the chart's unit, and when. Of a share of what is not known there is the moment alone.
    fn reading(self, device: &Device) -> Option<(Option<f64>, Stamp)> {
        fn told<T>(
            reading: &Reading<Measured<T>>,
            value: impl FnOnce(&T) -> Option<f64>,
        ) -> Option<(Option<f64>, Stamp)> {
            let known = reading.known()?;
            Some((value(&known.value), known.from.at))
        }
        let share = |reading| told(reading, |share: &Percent| Some(share.0));
        match self {
            Self::Gpu => share(&device.gpu),
            Self::Memory => told(&device.memory.used, |used| {
                let total = *device.memory.total.value()?;
                Some(used.percent_of(total)?.0)
            }),
            Self::Temperature => told(&device.temperature, |heat| Some(heat.0)),
            Self::Power => told(&device.power, |power| Some(power.0)),
            Self::Clock => told(&device.core_clock, |clock| Some(f64::from(clock.0))),
            Self::MemoryActivity => share(&device.memory_activity),
            Self::Encoder => share(&device.encoder),
            Self::Decoder => share(&device.decoder),
        }
    }

    /// The top of its axis; of a clock the largest that was seen, in hundreds.
    pub(crate) fn top(self, device: &Device, seen: impl Iterator<Item = f32>) -> f64 {
        match self {
            Self::Gpu | Self::Memory | Self::MemoryActivity | Self::Encoder | Self::Decoder => {
                100.0
            }
            Self::Clock => {
                let largest = seen.filter(|it| it.is_finite()).fold(0.0_f32, f32::max);
                ((f64::from(largest) / 100.0).ceil() * 100.0).max(1000.0)
            }
            Self::Temperature => 110.0,
            Self::Power => device
                .power_limit
                .value()
                .map(|limit| limit.0)
                .filter(|limit| limit.is_finite() && *limit > 0.0)
                .unwrap_or(400.0),
        }
    }
}

/// The series of one device; `NaN` is a gap.
#[derive(Clone, Debug, Default)]
struct Track {
    series: [VecDeque<f32>; Metric::ALL.len()],
}

/// All series.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    tracks: Vec<(DeviceKey, Track)>,
    last: Option<Stamp>,
    newest: Option<Stamp>,
}

/// When the newest of the readings that are drawn was made.
fn newest(snapshot: &Snapshot) -> Option<Stamp> {
    let readings = snapshot.devices.iter().flat_map(|device| {
        let of = |metric: Metric| metric.reading(device);
        Metric::ALL.into_iter().filter_map(of)
    });
    readings.map(|(_, at)| at).max()
}

impl History {
    /// Takes the readings of `snapshot` in. Where `interval` is given, refreshes that did not happen
    /// since the last one become gaps.
    pub(crate) fn push(&mut self, snapshot: &Snapshot, interval: Option<Duration>) {
        let newest = newest(snapshot);
        if newest.is_some() && newest <= self.newest {
            // A refresh that only took late answers about processes: the devices were not asked.
            return;
        }
        self.newest = newest;
        let missed = self.missed(snapshot.at, interval);
        self.last = Some(snapshot.at);
        for device in &snapshot.devices {
            if !self.tracks.iter().any(|(key, _)| *key == device.key) {
                self.tracks.push((device.key.clone(), Track::default()));
            }
        }
        for (key, track) in &mut self.tracks {
            let device = snapshot.devices.iter().find(|device| device.key == *key);
            for (metric, series) in Metric::ALL.iter().zip(&mut track.series) {
                let started = !series.is_empty();
                for _ in 0..if started { missed } else { 0 } {
                    add(series, None);
                }
                add(series, device.and_then(|device| metric.of(device)));
            }
        }
    }

    fn missed(&self, now: Stamp, interval: Option<Duration>) -> usize {
        let (Some(last), Some(interval)) = (self.last, interval) else {
            return 0;
        };
        let interval = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        let refreshes = now.ms_since(last).saturating_add(interval / 2) / interval.max(1);
        usize::try_from(refreshes.saturating_sub(1)).map_or(CAPACITY, |n| n.min(CAPACITY))
    }

    /// The last `count` points of a metric, oldest first; `NaN` is a gap.
    pub(crate) fn last(
        &self,
        device: &DeviceKey,
        metric: Metric,
        count: usize,
    ) -> impl ExactSizeIterator<Item = f32> + '_ {
        let series = self
            .tracks
            .iter()
            .find(|(key, _)| key == device)
            .and_then(|(_, track)| {
                let position = Metric::ALL.iter().position(|it| *it == metric)?;
                track.series.get(position)
            });
        let len = series.map_or(0, VecDeque::len);
        let range = len.saturating_sub(count)..len;
        range.map(move |i| {
            series
                .and_then(|series| series.get(i))
                .map_or(f32::NAN, |v| *v)
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a chart of a few hundred cells needs no more than seven digits"
)]
fn add(series: &mut VecDeque<f32>, value: Option<f64>) {
    if series.len() >= CAPACITY {
        series.pop_front();
    }
    series.push_back(value.map_or(f32::NAN, |value| value as f32));
}

/// Moves the stamps of the drawn readings on, as if the devices had answered again.
#[cfg(test)]
pub(crate) fn answer_again(snapshot: &mut Snapshot, later_ns: u64) {
    fn later<T>(reading: &mut Reading<Measured<T>>, later_ns: u64) {
        if let Reading::Known(measured) = reading {
            measured.from.at.mono_ns += later_ns;
        }
    }
    for device in &mut snapshot.devices {
        later(&mut device.gpu, later_ns);
        later(&mut device.memory.used, later_ns);
        later(&mut device.temperature, later_ns);
        later(&mut device.power, later_ns);
        later(&mut device.core_clock, later_ns);
        later(&mut device.memory_activity, later_ns);
        later(&mut device.encoder, later_ns);
        later(&mut device.decoder, later_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(snapshot: &mut Snapshot, ns: u64) {
        snapshot.at.mono_ns += ns;
        answer_again(snapshot, ns);
    }

    #[test]
    fn a_refresh_without_new_answers_of_devices_adds_no_point() {
        let mut snapshot = model::sample::workstation();
        let key = snapshot.devices[0].key.clone();
        let mut history = History::default();
        history.push(&snapshot, None);
        snapshot.at.mono_ns += 5_000_000;
        history.push(&snapshot, None);
        assert_eq!(history.last(&key, Metric::Gpu, 9).len(), 1);
        pass(&mut snapshot, 1);
        history.push(&snapshot, None);
        assert_eq!(history.last(&key, Metric::Gpu, 9).len(), 2);
    }

    #[test]
    fn a_late_snapshot_leaves_a_gap_and_the_length_is_bounded() {
        let mut snapshot = model::sample::workstation();
        let key = snapshot.devices[0].key.clone();
        let mut history = History::default();
        let second = Some(Duration::from_secs(1));
        history.push(&snapshot, second);
        pass(&mut snapshot, 1_100_000_000);
        history.push(&snapshot, second);
        pass(&mut snapshot, 3_000_000_000);
        history.push(&snapshot, second);
        let gaps: Vec<bool> = history
            .last(&key, Metric::Gpu, 99)
            .map(f32::is_nan)
            .collect();
        assert_eq!(gaps, [false, false, true, true, false]);
        pass(&mut snapshot, 1_000_000_000_000_000);
        history.push(&snapshot, second);
        assert_eq!(history.last(&key, Metric::Gpu, usize::MAX).len(), CAPACITY);
    }

    #[test]
    fn a_missing_reading_is_a_gap() {
        let mut snapshot = model::sample::workstation();
        let key = snapshot.devices[0].key.clone();
        snapshot.devices[0].power = snapshot.devices[0].power.map(|_| model::Watts(f64::NAN));
        let mut history = History::default();
        history.push(&snapshot, None);
        assert!(history.last(&key, Metric::Power, 9).all(f32::is_nan));
        assert!(history.last(&key, Metric::Gpu, 9).all(f32::is_finite));
    }
}
