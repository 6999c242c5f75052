//! Sums over the rows shown.

use model::{Gap, Selection, Snapshot, Total};

use super::provenance::{Traces, absent};
use super::v1;
use crate::shown;

pub(super) fn totals(from: &Snapshot, traces: &mut Traces) -> v1::Totals {
    let (measured, inferred) = shown::totals(from);
    let measured = match from.selection {
        Selection::All => from.measured_process_vram,
        Selection::One(_) | Selection::Nothing => measured,
    };
    let mut sum = |key: &'static str, total: Total| {
        if from.devices.is_empty() {
            traces.enter(key, absent(Gap::NotPresent));
            None
        } else {
            traces.total(key, total)
        }
    };
    v1::Totals {
        measured_process_vram_bytes: sum("totals.measured_process_vram_bytes", measured),
        inferred_process_vram_bytes: sum("totals.inferred_process_vram_bytes", inferred),
        wsl_vm_bytes: traces.not_read("totals.wsl_vm_bytes"),
        excluded: shown::rows(from)
            .filter_map(|(process, charge)| {
                Some(v1::Excluded {
                    process: process.key.to_string(),
                    device_index: charge.device_index,
                    reason: charge.memory.vram.gap()?.code(),
                })
            })
            .collect(),
    }
}
