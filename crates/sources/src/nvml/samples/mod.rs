//! Utilization samples with JPEG and OFA load: the newer call, whose buffer's size is not known before either.

mod ffi;

use raw::nvml::{CallAnswer, Output, SampleRow, code};

use super::ffi::{Device, absent};
use super::library::Library;
use super::lists::{FIRST_SAMPLES, MAX_ENTRIES, TRIES};
use ffi::{EMPTY, RawWideSample};

/// The buffer, and what came of the last call.
#[derive(Default)]
pub(super) struct Wide {
    samples: Vec<RawWideSample>,
    /// Whether the call told what there is, so that the older one need not be asked.
    pub(super) given: bool,
}

/// Samples newer than `after`.
pub(super) fn wide(library: &Library, device: Device, after: u64, wide: &mut Wide) -> CallAnswer {
    let answer = ask(library, device, after, &mut wide.samples);
    wide.given = matches!(answer.rc, code::SUCCESS | code::NOT_FOUND);
    answer
}

fn ask(
    library: &Library,
    device: Device,
    after: u64,
    samples: &mut Vec<RawWideSample>,
) -> CallAnswer {
    if samples.is_empty() {
        samples.resize(FIRST_SAMPLES, EMPTY);
    }
    for _ in 0..TRIES {
        let Some((rc, count)) = library.api.wide_samples(device, after, samples) else {
            return absent();
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if rc == code::SUCCESS && count <= samples.len() {
            let rows = samples.iter().take(count).map(|sample| SampleRow {
                pid: sample.pid,
                ts: sample.timeStamp,
                sm: sample.smUtil,
                mem: sample.memUtil,
                enc: sample.encUtil,
                dec: sample.decUtil,
                jpg: Some(sample.jpgUtil),
                ofa: Some(sample.ofaUtil),
            });
            let out = Output::Samples(rows.collect());
            return CallAnswer { rc, sym: 1, out };
        }
        if rc != code::SUCCESS && rc != code::INSUFFICIENT_SIZE {
            let out = Output::Nothing;
            return CallAnswer { rc, sym: 1, out };
        }
        let room = count.saturating_mul(2).saturating_add(8).min(MAX_ENTRIES);
        if room > samples.len() {
            samples.resize(room, EMPTY);
        }
    }
    CallAnswer {
        rc: code::INSUFFICIENT_SIZE,
        sym: 1,
        out: Output::Nothing,
    }
}
