//! Modes, errors and links of a device.

use std::borrow::Cow;

use model::{ClocksEventReasons, DeviceDetails, NvLink, Stamp};

use super::provenance::Traces;
use super::v1;

pub(super) fn details(t: &mut Traces, now: Stamp, details: &DeviceDetails) -> v1::DeviceDetails {
    let (ecc, pages, rows) = (&details.ecc, &details.retired_pages, &details.remapped_rows);
    macro_rules! plain {
        ($name:literal, $reading:expr) => {
            t.measured(concat!("details.", $name), $reading, |value| *value)
        };
    }
    v1::DeviceDetails {
        clocks_event_reasons: t.measured(
            "details.clocks_event_reasons",
            &details.clocks_event_reasons,
            |reasons| names(*reasons),
        ),
        clocks_event_reasons_mask: t.measured(
            "details.clocks_event_reasons_mask",
            &details.clocks_event_reasons,
            |reasons| format!("{:#x}", reasons.0),
        ),
        clocks_event_reasons_supported: t.measured(
            "details.clocks_event_reasons_supported",
            &details.clocks_event_reasons_supported,
            |reasons| names(*reasons),
        ),
        total_energy_millijoules: t.measured(
            "details.total_energy_millijoules",
            &details.total_energy,
            |energy| energy.0,
        ),
        persistence_mode: plain!("persistence_mode", &details.persistence),
        compute_mode: t.measured("details.compute_mode", &details.compute_mode, |mode| {
            mode.id()
        }),
        ecc_mode: plain!("ecc_mode", &ecc.on),
        ecc_mode_pending: plain!("ecc_mode_pending", &ecc.on_after_reset),
        ecc_volatile_corrected: plain!("ecc_volatile_corrected", &ecc.volatile.corrected),
        ecc_volatile_uncorrected: plain!("ecc_volatile_uncorrected", &ecc.volatile.uncorrected),
        ecc_aggregate_corrected: plain!("ecc_aggregate_corrected", &ecc.aggregate.corrected),
        ecc_aggregate_uncorrected: plain!("ecc_aggregate_uncorrected", &ecc.aggregate.uncorrected),
        retired_pages_single_bit: plain!("retired_pages_single_bit", &pages.single_bit),
        retired_pages_double_bit: plain!("retired_pages_double_bit", &pages.double_bit),
        retired_pages_pending: plain!("retired_pages_pending", &pages.pending),
        remapped_rows_correctable: plain!("remapped_rows_correctable", &rows.correctable),
        remapped_rows_uncorrectable: plain!("remapped_rows_uncorrectable", &rows.uncorrectable),
        remapped_rows_pending: plain!("remapped_rows_pending", &rows.pending),
        remapped_rows_failed: plain!("remapped_rows_failed", &rows.failed),
        nvlinks: t.measured("details.nvlinks", &details.nvlinks, |links| {
            links.iter().map(|it| link(now, it)).collect()
        }),
        vbios_version: t.measured("details.vbios_version", &details.vbios, Clone::clone),
        board_part_number: t.measured(
            "details.board_part_number",
            &details.board_part_number,
            Clone::clone,
        ),
    }
}

/// Names of the reasons, and at the end the bits that have none.
fn names(reasons: ClocksEventReasons) -> Vec<Cow<'static, str>> {
    let unknown = reasons.unknown();
    reasons
        .known()
        .map(|reason| reason.id.into())
        .chain((unknown != 0).then(|| format!("{unknown:#x}").into()))
        .collect()
}

fn link(now: Stamp, link: &NvLink) -> v1::NvLink {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    v1::NvLink {
        link: link.link,
        active: t.measured("active", &link.active, |active| *active),
        version: t.measured("version", &link.version, Clone::clone),
        remote_pci: t.measured("remote_pci", &link.remote, ToString::to_string),
        provenance: traces.finish(),
    }
}
