//! Utilization samples with JPEG and OFA load: the newer call, whose buffer's size is not known before either.

mod ffi;

use raw::nvml::{CallAnswer, SampleRow, code};

use super::ffi::Device;
use super::library::Library;
use super::lists::growing;
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
    let call = |room: &mut [RawWideSample]| library.api.wide_samples(device, after, room);
    let answer = growing(&mut wide.samples, EMPTY, call, |sample| SampleRow {
        pid: sample.pid,
        ts: sample.timeStamp,
        sm: sample.smUtil,
        mem: sample.memUtil,
        enc: sample.encUtil,
        dec: sample.decUtil,
        jpg: Some(sample.jpgUtil),
        ofa: Some(sample.ofaUtil),
    });
    wide.given = matches!(answer.rc, code::SUCCESS | code::NOT_FOUND);
    answer
}
