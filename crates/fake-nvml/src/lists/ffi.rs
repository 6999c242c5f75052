//! The C side of process lists and utilization samples. The contract is that of `crate::ffi`.
#![expect(unsafe_code, reason = "a C interface is implemented here")]
#![expect(
    clippy::missing_safety_doc,
    reason = "one contract for all, at the top of crate::ffi"
)]

use crate::code::Code;
use crate::ffi::{Handle, expect_version, get, on, put};
use crate::layout::{DetailList1, Sample, Sample1, Samples1, version};
use crate::library::{Library, Turn};
use crate::lists::{self, Entry, List};

/// Writes the entries at this distance, field by field: bytes between the fields stay as they were.
/// With a limit, no byte from there on is written.
unsafe fn put_entries(to: *mut u8, entries: &[Entry], distance: usize, limit: usize) {
    for (number, entry) in entries.iter().enumerate() {
        let fields: [(usize, &[u8]); 5] = [
            (0, &entry.pid.to_ne_bytes()),
            (8, &entry.memory.to_ne_bytes()),
            (16, &entry.gi.to_ne_bytes()),
            (20, &entry.ci.to_ne_bytes()),
            (24, &entry.protected.to_ne_bytes()),
        ];
        for (offset, bytes) in fields.into_iter().filter(|(offset, _)| *offset < distance) {
            let at = number * distance + offset;
            if at + bytes.len() <= limit {
                // SAFETY: the caller has room for the entries, as far as the simulated driver cares
                // (file header).
                unsafe {
                    to.add(at)
                        .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                };
            }
        }
    }
}

unsafe fn list_entries(
    library: &Library,
    turn: &Turn,
    count: *mut u32,
    to: *mut u8,
    entries: &[Entry],
    distance: usize,
) -> Result<(), Code> {
    // SAFETY: the contract of this file.
    let room = usize::try_from(unsafe { get(count) }?).unwrap_or(usize::MAX);
    let total = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    // SAFETY: the contract of this file.
    unsafe { put(count, total) }?;
    let quirks = &turn.world.scenario.quirks;
    if to.is_null() && quirks.list_probe_succeeds {
        return Ok(());
    }
    if room < entries.len() {
        return Err(Code::INSUFFICIENT_SIZE);
    }
    if to.is_null() && !entries.is_empty() {
        return Err(Code::INVALID_ARGUMENT);
    }
    let guarded = quirks.guard_v3_lists && turn.call.ends_with("_v3");
    let limit = if guarded {
        room.saturating_mul(24)
    } else {
        usize::MAX
    };
    if let Some(beyond) = (entries.len() * distance)
        .checked_sub(limit)
        .filter(|bytes| *bytes > 0)
    {
        library.note_overrun(turn.call, beyond);
    }
    // SAFETY: the contract of this file; the room was checked against the count.
    unsafe { put_entries(to, entries, distance, limit) };
    Ok(())
}

pub unsafe fn process_list(
    library: &Library,
    call: &'static str,
    device: Handle,
    count: *mut u32,
    to: *mut u8,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        let entries = lists::entries(turn, List::of_call(call))?;
        // SAFETY: the contract of this file.
        unsafe { list_entries(library, turn, count, to, &entries, lists::entry_bytes(turn)) }
    });
    answer.0
}

pub unsafe fn detail_list(
    library: &Library,
    call: &'static str,
    device: Handle,
    list: *mut DetailList1,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        // SAFETY: the contract of this file.
        let given = unsafe { get(list) }?;
        expect_version(given.version, version::<DetailList1>(1))?;
        let entries = lists::details(turn, given.mode)?;
        // SAFETY: `list` was not null when it was read.
        let count = unsafe { &raw mut (*list).count };
        // SAFETY: the contract of this file.
        unsafe { list_entries(library, turn, count, given.entries.cast(), &entries, 32) }
    });
    answer.0
}

/// Tells the caller how many entries there are or would be, where that is known.
unsafe fn refuse(count: *mut u32, (code, needed): (Code, Option<u32>)) -> Result<(), Code> {
    if let Some(needed) = needed {
        // SAFETY: the contract of this file.
        unsafe { put(count, needed) }?;
    }
    Err(code)
}

pub unsafe fn process_samples(
    library: &Library,
    call: &'static str,
    device: Handle,
    to: *mut Sample,
    count: *mut u32,
    last_seen: u64,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        // SAFETY: the contract of this file.
        let room = unsafe { get(count) }?;
        let samples = match lists::samples_for(turn, last_seen, room, !to.is_null()) {
            Ok(samples) => samples,
            // SAFETY: the contract of this file.
            Err(refusal) => return unsafe { refuse(count, refusal) },
        };
        for (number, sample) in samples.iter().enumerate() {
            let Sample1 {
                pid,
                stamp,
                sm,
                memory,
                encoder,
                decoder,
                ..
            } = *sample;
            let sample = Sample {
                pid,
                stamp,
                sm,
                memory,
                encoder,
                decoder,
            };
            // SAFETY: there is room for the samples, as checked.
            unsafe { to.add(number).write(sample) };
        }
        let total = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        // SAFETY: the contract of this file.
        unsafe { put(count, total) }
    });
    answer.0
}

pub unsafe fn process_samples1(
    library: &Library,
    call: &'static str,
    device: Handle,
    list: *mut Samples1,
) -> i32 {
    let answer = library.answer(call, on(device), |turn| {
        // SAFETY: the contract of this file.
        let given = unsafe { get(list) }?;
        expect_version(given.version, version::<Samples1>(1))?;
        // SAFETY: `list` was not null when it was read.
        let count = unsafe { &raw mut (*list).count };
        let present = !given.entries.is_null();
        let samples = match lists::samples_for(turn, given.last_seen, given.count, present) {
            Ok(samples) => samples,
            // SAFETY: the contract of this file.
            Err(refusal) => return unsafe { refuse(count, refusal) },
        };
        // SAFETY: there is room for the samples, as checked.
        unsafe {
            given
                .entries
                .copy_from_nonoverlapping(samples.as_ptr(), samples.len());
        };
        let total = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        // SAFETY: the contract of this file.
        unsafe { put(count, total) }
    });
    answer.0
}

/// There are never device samples.
#[expect(clippy::too_many_arguments, reason = "six in nvml.h")]
pub unsafe fn device_samples(
    library: &Library,
    call: &'static str,
    device: Handle,
    _kind: u32,
    _last_seen: u64,
    value_type: *mut u32,
    count: *mut u32,
    _samples: *mut u8,
) -> i32 {
    let answer = library.answer(call, on(device), |_| {
        let whole = !value_type.is_null() && !count.is_null();
        Err(if whole {
            Code::NOT_FOUND
        } else {
            Code::INVALID_ARGUMENT
        })
    });
    answer.0
}
