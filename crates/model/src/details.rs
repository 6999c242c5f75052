//! What a device tells of its modes, errors and links: asked seldom, so each reading has its own age.

use crate::Text;
use crate::gap::Gap;
use crate::ids::PciAddress;
use crate::reading::{Measured, Provenance, Reading};
use crate::units::Millijoules;

/// Why clocks are what they are: a mask of `nvmlClocksEventReason` bits (called throttle reasons
/// before driver 535). Zero is "none": clocks are as high as possible. Idle is a reason of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClocksEventReasons(pub u64);

/// One reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClocksEventReason {
    /// Its bit.
    pub bit: u64,
    /// The stable name used in JSON.
    pub id: &'static str,
    /// For people.
    pub label: &'static str,
}

const fn reason(bit: u64, id: &'static str, label: &'static str) -> ClocksEventReason {
    ClocksEventReason { bit, id, label }
}

impl ClocksEventReasons {
    /// Nothing runs.
    pub const IDLE: u64 = 0x1;

    /// Every reason of `nvml.h` 13.5, by bit. 0x200 and 0x400 are new there.
    pub const ALL: &'static [ClocksEventReason] = &[
        reason(Self::IDLE, "gpu_idle", "idle"),
        reason(
            0x2,
            "applications_clocks_setting",
            "applications clocks setting",
        ),
        reason(0x4, "sw_power_cap", "SW power cap"),
        reason(0x8, "hw_slowdown", "HW slowdown"),
        reason(0x10, "sync_boost", "sync boost"),
        reason(0x20, "sw_thermal_slowdown", "SW thermal slowdown"),
        reason(0x40, "hw_thermal_slowdown", "HW thermal slowdown"),
        reason(0x80, "hw_power_brake_slowdown", "HW power brake slowdown"),
        reason(0x100, "display_clock_setting", "display clock setting"),
        reason(0x200, "board_limit", "board limit"),
        reason(0x400, "reliability", "reliability"),
    ];

    /// The known reasons that are set, by bit.
    pub fn known(self) -> impl Iterator<Item = &'static ClocksEventReason> {
        Self::ALL
            .iter()
            .filter(move |reason| self.0 & reason.bit != 0)
    }

    /// The set bits that no known reason has; 0 where there are none.
    pub fn unknown(self) -> u64 {
        self.known().fold(self.0, |rest, reason| rest & !reason.bit)
    }

    /// Whether clocks are held down by anything but idleness.
    pub const fn limit(self) -> bool {
        self.0 & !Self::IDLE != 0
    }

    /// Whether they are held down by more than a setting or the power limit, which is part of work
    /// at full load: by heat, by the hardware, by what is not known here.
    pub const fn slowdown(self) -> bool {
        const EXPECTED: u64 = ClocksEventReasons::IDLE | 0x2 | 0x4 | 0x10 | 0x100;
        self.0 & !EXPECTED != 0
    }
}

/// Who may compute on a device (`nvmlComputeMode_t`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ComputeMode {
    /// Any number of processes.
    Default,
    /// One thread; no driver of today has it any more.
    ExclusiveThread,
    /// Nobody.
    Prohibited,
    /// One process.
    ExclusiveProcess,
}

impl ComputeMode {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::ExclusiveThread => "exclusive_thread",
            Self::Prohibited => "prohibited",
            Self::ExclusiveProcess => "exclusive_process",
        }
    }

    /// For people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::ExclusiveThread => "exclusive thread",
            Self::Prohibited => "prohibited",
            Self::ExclusiveProcess => "exclusive process",
        }
    }
}

/// Memory errors that ECC found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EccErrors {
    /// Corrected.
    pub corrected: Reading<Measured<u64>>,
    /// Not correctable.
    pub uncorrected: Reading<Measured<u64>>,
}

/// Error correction. Counters are missing while it is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecc {
    /// Whether it is on.
    pub on: Reading<Measured<bool>>,
    /// Whether it will be on after the next reset.
    pub on_after_reset: Reading<Measured<bool>>,
    /// Since the driver was loaded.
    pub volatile: EccErrors,
    /// Over the card's life.
    pub aggregate: EccErrors,
}

/// Pages that are not used any more because of memory errors (before Ampere).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetiredPages {
    /// After several single-bit errors.
    pub single_bit: Reading<Measured<u32>>,
    /// After a double-bit error.
    pub double_bit: Reading<Measured<u32>>,
    /// Whether some wait for a reboot.
    pub pending: Reading<Measured<bool>>,
}

/// Memory rows that were replaced by spare ones because of errors (Ampere and newer).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemappedRows {
    /// After correctable errors.
    pub correctable: Reading<Measured<u32>>,
    /// After uncorrectable errors.
    pub uncorrectable: Reading<Measured<u32>>,
    /// Whether some wait for a reset.
    pub pending: Reading<Measured<bool>>,
    /// Whether it ever failed.
    pub failed: Reading<Measured<bool>>,
}

/// An `NVLink` of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct NvLink {
    /// Its number on the device.
    pub link: u32,
    /// Whether it is up.
    pub active: Reading<Measured<bool>>,
    /// Its version, such as `4.0`.
    pub version: Reading<Measured<Text>>,
    /// What is at its other end; not asked of an inactive one.
    pub remote: Reading<Measured<PciAddress>>,
}

/// Modes, errors and links of a device. Its serial number is not read: it names one card.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceDetails {
    /// What holds the clocks where they are. NVML, read with the clocks.
    pub clocks_event_reasons: Reading<Measured<ClocksEventReasons>>,
    /// Which reasons the device can tell.
    pub clocks_event_reasons_supported: Reading<Measured<ClocksEventReasons>>,
    /// Energy used since the driver was loaded (Volta and newer). No power is derived from it.
    pub total_energy: Reading<Measured<Millijoules>>,
    /// Whether the driver keeps the device initialised without clients.
    pub persistence: Reading<Measured<bool>>,
    /// Who may compute.
    pub compute_mode: Reading<Measured<ComputeMode>>,
    /// Error correction.
    pub ecc: Ecc,
    /// Pages out of use.
    pub retired_pages: RetiredPages,
    /// Rows replaced.
    pub remapped_rows: RemappedRows,
    /// Links to other devices; never empty where known.
    pub nvlinks: Reading<Measured<Vec<NvLink>>>,
    /// Version of the video BIOS.
    pub vbios: Reading<Measured<Text>>,
    /// The product's part number, the same for all cards of a kind.
    pub board_part_number: Reading<Measured<Text>>,
}

impl DeviceDetails {
    /// Nothing is known, for one reason.
    pub const fn missing(gap: Gap, from: Provenance) -> Self {
        macro_rules! none {
            () => {
                Reading::missing(gap, from)
            };
        }
        let errors = EccErrors {
            corrected: none!(),
            uncorrected: none!(),
        };
        Self {
            clocks_event_reasons: none!(),
            clocks_event_reasons_supported: none!(),
            total_energy: none!(),
            persistence: none!(),
            compute_mode: none!(),
            ecc: Ecc {
                on: none!(),
                on_after_reset: none!(),
                volatile: errors,
                aggregate: errors,
            },
            retired_pages: RetiredPages {
                single_bit: none!(),
                double_bit: none!(),
                pending: none!(),
            },
            remapped_rows: RemappedRows {
                correctable: none!(),
                uncorrectable: none!(),
                pending: none!(),
                failed: none!(),
            },
            nvlinks: none!(),
            vbios: none!(),
            board_part_number: none!(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_told_once_by_name_or_as_a_number() {
        let mut seen = 0;
        for reason in ClocksEventReasons::ALL {
            assert_eq!(reason.bit.count_ones(), 1, "{}", reason.id);
            assert_eq!(seen & reason.bit, 0, "{}", reason.id);
            seen |= reason.bit;
        }
        for mask in [0, 1, 4, 0x600, 0x1800, u64::MAX] {
            let reasons = ClocksEventReasons(mask);
            let named = reasons.known().fold(0, |sum, reason| sum | reason.bit);
            assert_eq!(named | reasons.unknown(), mask);
            assert_eq!(named & reasons.unknown(), 0);
        }
    }

    #[test]
    fn idle_is_neither_none_nor_a_limit() {
        assert!(!ClocksEventReasons(0).limit());
        assert_eq!(ClocksEventReasons(0).known().count(), 0);
        assert!(!ClocksEventReasons(1).limit());
        assert_eq!(ClocksEventReasons(1).known().count(), 1);
        assert!(ClocksEventReasons(0x1000).limit(), "an unknown bit is one");
        assert!(!ClocksEventReasons(0x4).slowdown());
        for bit in [0x8, 0x20, 0x40, 0x80, 0x200, 0x400, 0x1000] {
            assert!(ClocksEventReasons(0x4 | bit).slowdown(), "{bit:#x}");
        }
    }
}
