//! Modes, errors and links of the samples' devices.

use super::parts::{ago, from, gone, nvml};
use crate::details::{
    ClocksEventReasons, ComputeMode, DeviceDetails, Ecc, EccErrors, NvLink, RemappedRows,
};
use crate::gap::Gap;
use crate::ids::PciAddress;
use crate::reading::{Measured, Provenance, Reading, Source};
use crate::units::Millijoules;

/// Read a while ago.
fn seldom<T>(value: T, counter: &'static str) -> Reading<Measured<T>> {
    let from = Provenance {
        at: ago(12_000),
        ..from(Source::Nvml, counter)
    };
    Reading::measured(value, from)
}

/// A consumer card at its power limit: no ECC, no `NVLink`.
pub(super) fn workstation() -> DeviceDetails {
    let nothing = Provenance {
        at: ago(12_000),
        ..from(Source::Nvml, "nvmlDeviceGetEccMode")
    };
    DeviceDetails {
        clocks_event_reasons: nvml(
            ClocksEventReasons(0x4),
            "nvmlDeviceGetCurrentClocksEventReasons",
        ),
        clocks_event_reasons_supported: nvml(
            ClocksEventReasons(0x1FF),
            "nvmlDeviceGetSupportedClocksEventReasons",
        ),
        total_energy: seldom(
            Millijoules(5_214_882_133),
            "nvmlDeviceGetTotalEnergyConsumption",
        ),
        persistence: seldom(false, "nvmlDeviceGetPersistenceMode"),
        compute_mode: seldom(ComputeMode::Default, "nvmlDeviceGetComputeMode"),
        vbios: nvml("95.03.1E.00.01".into(), "nvmlDeviceGetVbiosVersion"),
        ..DeviceDetails::missing(Gap::NotSupported, nothing)
    }
}

/// A card of a server: ECC found errors, one link of two is down.
pub(super) fn server() -> DeviceDetails {
    let link = |link, active: bool| NvLink {
        link,
        active: seldom(active, "nvmlDeviceGetNvLinkState"),
        version: seldom("4.0".into(), "nvmlDeviceGetNvLinkVersion"),
        remote: if active {
            let remote = PciAddress {
                domain: 0,
                bus: 0xC5,
                device: 0,
                function: 0,
            };
            seldom(remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2")
        } else {
            gone(
                Gap::NotApplicable,
                Source::Nvml,
                "nvmlDeviceGetNvLinkRemotePciInfo_v2",
            )
        },
    };
    let errors = |corrected, uncorrected| EccErrors {
        corrected: seldom(corrected, "nvmlDeviceGetTotalEccErrors"),
        uncorrected: seldom(uncorrected, "nvmlDeviceGetTotalEccErrors"),
    };
    let rows = "nvmlDeviceGetRemappedRows";
    DeviceDetails {
        clocks_event_reasons: nvml(
            ClocksEventReasons(0x1040),
            "nvmlDeviceGetCurrentClocksEventReasons",
        ),
        persistence: seldom(true, "nvmlDeviceGetPersistenceMode"),
        ecc: Ecc {
            on: seldom(true, "nvmlDeviceGetEccMode"),
            on_after_reset: seldom(false, "nvmlDeviceGetEccMode"),
            volatile: errors(0, 2),
            aggregate: errors(17, 2),
        },
        remapped_rows: RemappedRows {
            correctable: seldom(1, rows),
            uncorrectable: seldom(2, rows),
            pending: seldom(true, rows),
            failed: seldom(false, rows),
        },
        nvlinks: seldom(
            vec![link(0, true), link(1, false)],
            "nvmlDeviceGetNvLinkState",
        ),
        board_part_number: seldom("692-2G520-0280-501".into(), "nvmlDeviceGetBoardPartNumber"),
        ..workstation()
    }
}
