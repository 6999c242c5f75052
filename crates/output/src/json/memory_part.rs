//! The parts of a process's memory, and what remains of it.

use std::collections::BTreeMap;

use model::receipt::{Line, LineSize, Receipt};
use model::{
    Bytes, Estimated, Gap, Placement, Process, Reading, Reported, Segment, Snapshot, Source, Stamp,
    Text,
};

use super::provenance::{Traces, basis_sentence};
use super::v1::{self, Trace};
use crate::format;

/// The device that parts placed on "the GPU" lie on: known where the process is on one device only.
#[derive(Clone, Copy)]
pub(super) struct Place(Option<u32>);

impl Place {
    /// Of a file that nobody has loaded.
    pub(super) const UNKNOWN: Self = Self(None);

    pub(super) fn of(process: &Process) -> Self {
        match process.charges.as_slice() {
            [only] => Self(Some(only.device_index)),
            _ => Self(None),
        }
    }

    fn device_index<C>(self, t: &mut Traces, part: &Segment<C>) -> Option<u32> {
        match (part.placement, part.device_index.or(self.0)) {
            (Placement::Gpu, Some(index)) => Some(index),
            (Placement::Gpu, None) => t.absent("device_index", Gap::Ambiguous),
            (Placement::Cpu | Placement::PinnedHost, _) => {
                t.absent("device_index", Gap::NotApplicable)
            }
            (Placement::Unknown, _) => t.absent("device_index", Gap::NotFound),
        }
    }
}

pub(super) fn reported(
    now: Stamp,
    place: Place,
    part: &Segment<Reported<Bytes>>,
) -> v1::SegmentReported {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    let (source, at) = match &part.bytes {
        Reading::Known(reported) => (reported.by.source, reported.by.at),
        Reading::Missing(missing) => (missing.from.source, missing.from.at),
    };
    let observed_at = format::utc_millis(at.wall_us);
    if observed_at.is_none() {
        t.absent::<()>("observed_at", Gap::Implausible);
    }
    v1::SegmentReported {
        model_id: part.model_id.clone(),
        segment: part.kind.id(),
        bytes: t.reported("bytes", &part.bytes).map(|bytes| bytes.0),
        device_index: place.device_index(t, part),
        placement: part.placement.id(),
        source: source.id(),
        observed_at,
        inputs: inputs(&part.inputs),
        provenance: traces.finish(),
    }
}

pub(super) fn estimated(
    now: Stamp,
    place: Place,
    part: &Segment<Estimated<Bytes>>,
) -> v1::SegmentEstimated {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    let bytes = t.estimated(["bytes_low", "bytes_high"], &part.bytes);
    v1::SegmentEstimated {
        model_id: part.model_id.clone(),
        segment: part.kind.id(),
        bytes_low: bytes.map(|(low, _)| low),
        bytes_high: bytes.map(|(_, high)| high),
        device_index: place.device_index(t, part),
        placement: part.placement.id(),
        method: match &part.bytes {
            Reading::Known(estimated) => Some(estimated.method.id()),
            Reading::Missing(missing) => t.absent("method", missing.gap),
        },
        inputs: inputs(&part.inputs),
        provenance: traces.finish(),
    }
}

fn inputs(inputs: &[(&'static str, Text)]) -> BTreeMap<&'static str, Text> {
    inputs.iter().cloned().collect()
}

/// The receipt of a process on one device, where that is shown.
pub(super) fn receipt(t: &mut Traces, from: &Snapshot, process: &Process) -> Option<v1::Receipt> {
    let ([receipt], [_]) = (&*process.receipts, &*process.charges) else {
        let no_part = process.segments_estimated.is_empty() && process.segments_reported.is_empty();
        return t.absent(
            "receipt",
            if no_part {
                Gap::NotApplicable
            } else {
                Gap::InputMissing
            },
        );
    };
    if !from.selection.includes(receipt.device_index) {
        return t.absent("receipt", Gap::NotApplicable);
    }
    let entry = entry(from.at, process, receipt);
    for (key, trace) in &entry.provenance.0 {
        t.enter(format!("receipt.{key}"), trace.clone());
    }
    Some(entry.receipt)
}

/// The receipts for all devices shown.
pub(super) fn receipts(from: &Snapshot, process: &Process) -> Vec<v1::ItemisedReceipt> {
    let shown = |it: &&Receipt| from.selection.includes(it.device_index);
    let receipts = process.receipts.iter().filter(shown);
    receipts.map(|it| entry(from.at, process, it)).collect()
}

fn entry(now: Stamp, process: &Process, receipt: &Receipt) -> v1::ItemisedReceipt {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    let charge = process.charge_on(receipt.device_index);
    let basis = charge.and_then(|charge| charge.memory.vram.known()?.basis());
    let trace = Trace {
        method: Some("derived"),
        counter: Some("measured size - parts"),
        detail: basis.map(|basis| basis_sentence(basis).to_owned()),
        ..Trace::new("estimated", Source::Derived.id())
    };
    t.enter("remainder_low_bytes", trace.clone());
    t.enter("remainder_high_bytes", trace);
    if let Some(charge) = charge {
        t.charged("measured_bytes", &charge.memory.vram);
    }
    v1::ItemisedReceipt {
        receipt: v1::Receipt {
            device_index: receipt.device_index,
            measured_bytes: receipt.measured.0,
            remainder_low_bytes: receipt.remainder_low,
            remainder_high_bytes: receipt.remainder_high,
            parts_missing: receipt.parts_missing,
            class: "estimated",
            note: receipt.note(),
        },
        lines: receipt.lines.iter().map(|it| line(now, it)).collect(),
        provenance: traces.finish(),
    }
}

fn line(now: Stamp, line: &Line) -> v1::ReceiptLine {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    let bytes = match &line.size {
        LineSize::Estimated(size) => t.estimated(["bytes_low", "bytes_high"], size),
        LineSize::Reported(size) => {
            let low = t.reported("bytes_low", size).map(|it| it.0);
            low.zip(t.reported("bytes_high", size).map(|it| it.0))
        }
    };
    v1::ReceiptLine {
        model_id: line.model_id.clone(),
        segment: line.kind.id(),
        class: line.size.class(),
        bytes_low: bytes.map(|(low, _)| low),
        bytes_high: bytes.map(|(_, high)| high),
        placement: line.placement.id(),
        standing: line.standing.id(),
        provenance: traces.finish(),
    }
}
