//! Process lists and utilization samples.

pub(crate) mod ffi;

use crate::answers::whole;
use crate::code::Code;
use crate::layout::Sample1;
use crate::library::Turn;
use crate::process::{Kind, ProcessSample};
use crate::value::Value;
use crate::world::Running;

/// One entry of a process list, in the widest form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pid: u32,
    pub(crate) memory: u64,
    pub(crate) gi: u32,
    pub(crate) ci: u32,
    pub(crate) protected: u64,
}

/// The lists there are, in the order of `nvmlProcessMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Compute,
    Graphics,
    Mps,
    All,
}

impl List {
    pub(crate) fn of_call(call: &str) -> Self {
        if call.contains("GetMPS") {
            Self::Mps
        } else if call.contains("GetGraphics") {
            Self::Graphics
        } else {
            Self::Compute
        }
    }

    pub(crate) fn of_mode(mode: u32) -> Option<Self> {
        [Self::Compute, Self::Graphics, Self::Mps, Self::All]
            .get(usize::try_from(mode).ok()?)
            .copied()
    }

    fn holds(self, kind: Kind) -> bool {
        match kind {
            Kind::Compute => matches!(self, Self::Compute | Self::All),
            Kind::Graphics => matches!(self, Self::Graphics | Self::All),
            Kind::Both => matches!(self, Self::Compute | Self::Graphics | Self::All),
            Kind::Mps => matches!(self, Self::Mps | Self::All),
            Kind::Unlisted => false,
        }
    }
}

/// Bytes of an entry that the call writes.
pub(crate) fn entry_bytes(turn: &Turn) -> usize {
    if turn.call.ends_with("_v3") {
        let bytes = turn.world.scenario.quirks.v3_entry_bytes;
        let bytes = bytes.unwrap_or_else(|| turn.generation.v3_entry_bytes());
        if bytes == 32 { 32 } else { 24 }
    } else if turn.call.ends_with("_v2") {
        24
    } else {
        16
    }
}

fn running(turn: &Turn) -> Result<&[Running], Code> {
    let device = turn.place()?.device;
    turn.world
        .running
        .get(device)
        .map(Vec::as_slice)
        .ok_or(Code::INVALID_ARGUMENT)
}

pub(crate) fn entries(turn: &Turn, list: List) -> Result<Vec<Entry>, Code> {
    let instance = turn.instance();
    let told = instance.is_some() || !turn.world.scenario.quirks.lists_without_instances;
    let in_mig_mode = turn.device()?.in_mig_mode();
    let here = |process: &&Running| {
        let record = &process.record;
        let own = instance.is_none_or(|instance| {
            record.gi == Some(instance.gi) && record.ci.is_none_or(|ci| ci == instance.ci)
        });
        own && list.holds(record.kind)
    };
    let listed = running(turn)?.iter().filter(here).map(|process| {
        let record = &process.record;
        let gi = record.gi.filter(|_| in_mig_mode && told);
        Entry {
            pid: process.pid,
            memory: turn.value(&record.memory).unwrap_or(u64::MAX),
            gi: gi.unwrap_or(u32::MAX),
            ci: gi.map_or(u32::MAX, |_| record.ci.unwrap_or(0)),
            protected: record.protected_memory,
        }
    });
    Ok(listed.collect())
}

/// The detail list is of Hopper (architecture 9) and newer.
pub(crate) fn details(turn: &Turn, mode: u32) -> Result<Vec<Entry>, Code> {
    if turn.value(&turn.device()?.architecture)? < 9 {
        return Err(Code::NOT_SUPPORTED);
    }
    entries(turn, List::of_mode(mode).ok_or(Code::INVALID_ARGUMENT)?)
}

/// The samples newer than `last_seen`.
pub(crate) fn samples(turn: &Turn, last_seen: u64) -> Result<Vec<Sample1>, Code> {
    let device = whole(turn)?;
    let rules = &device.samples;
    let period = rules.period_ms.saturating_mul(1000);
    let newest = turn
        .now
        .checked_div(period)
        .map_or(turn.now, |periods| periods * period);
    let own = running(turn)?.iter().filter_map(|process| {
        let sample = process.record.sample.as_ref()?;
        Some(filled(turn, process.sample_pid, newest, sample))
    });
    let mut samples: Vec<Sample1> = own.filter(|sample| sample.stamp > last_seen).collect();
    samples.extend((0..rules.garbage).map(|number| Sample1 {
        // Every other one from an hour ago.
        stamp: newest.saturating_sub(u64::from(number % 2) * 3_600_000_000),
        pid: 4_000_000_000_u32.wrapping_add(number),
        sm: 4_294_967_u32.wrapping_mul(number.wrapping_add(2)),
        memory: 250,
        encoder: u32::MAX,
        decoder: 101,
        jpeg: 0,
        ofa: 0,
    }));
    samples.extend((0..rules.zeros).map(|_| Sample1::default()));
    if samples.is_empty() && !rules.empty_succeeds {
        return Err(Code::NOT_FOUND);
    }
    Ok(samples)
}

fn filled(turn: &Turn, pid: u32, newest: u64, sample: &ProcessSample) -> Sample1 {
    let percent = |value: &Value| {
        turn.value(value)
            .map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    Sample1 {
        stamp: newest.saturating_sub(sample.age_ms.saturating_mul(1000)),
        pid,
        sm: percent(&sample.sm),
        memory: percent(&sample.memory),
        encoder: percent(&sample.encoder),
        decoder: percent(&sample.decoder),
        jpeg: percent(&sample.jpeg),
        ofa: percent(&sample.ofa),
    }
}

/// The samples for a caller whose buffer, if there is one, has that much room; else the code and
/// the count to report.
pub(crate) fn samples_for(
    turn: &Turn,
    last_seen: u64,
    room: u32,
    buffer: bool,
) -> Result<Vec<Sample1>, (Code, Option<u32>)> {
    let rules = &whole(turn).map_err(|code| (code, None))?.samples;
    let found = samples(turn, last_seen);
    let count = found.as_ref().map_or(0, Vec::len);
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let announced = count.max(rules.probe_count.unwrap_or(0));
    if !buffer && announced > 0 || room < count {
        return Err((Code::INSUFFICIENT_SIZE, Some(announced)));
    }
    found.map_err(|code| (code, Some(0)))
}
