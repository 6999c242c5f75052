//! The driver generations, and what tells them apart.

/// A driver generation whose library is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// Only v1 process lists; no MPS list, no MIG, no architecture.
    R390,
    /// No `_v3` lists, no memory v2, no clocks-event-reasons.
    R470,
    /// Early 535: `_v3` lists write 32-byte entries.
    R535,
    /// Current: `_v3` lists write 24-byte entries.
    R580,
}

impl Generation {
    pub const ALL: [Self; 4] = [Self::R390, Self::R470, Self::R535, Self::R580];

    /// As in the package's and the folder's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::R390 => "r390",
            Self::R470 => "r470",
            Self::R535 => "r535",
            Self::R580 => "r580",
        }
    }

    /// The NVML functions exported, and no others, in no particular order.
    pub fn symbols(self) -> Vec<&'static str> {
        let since = [
            (Self::R390, crate::symbols_since_390!(name_all) as &[&str]),
            (Self::R470, crate::symbols_since_470!(name_all)),
            (Self::R535, crate::symbols_since_535!(name_all)),
            (Self::R580, crate::symbols_since_580!(name_all)),
        ];
        let own = since
            .into_iter()
            .filter(|(first, _)| *first <= self)
            .flat_map(|(_, names)| names);
        own.copied().chain(["nvmlErrorString"]).collect()
    }

    /// Bytes of an entry that a `_v3` process list writes.
    pub fn v3_entry_bytes(self) -> u32 {
        if self == Self::R535 { 32 } else { 24 }
    }

    pub(crate) fn driver_version(self) -> &'static str {
        match self {
            Self::R390 => "390.157",
            Self::R470 => "470.256.02",
            Self::R535 => "535.54.03",
            Self::R580 => "580.95.05",
        }
    }

    pub(crate) fn nvml_version(self) -> &'static str {
        match self {
            Self::R390 => "9.390.157",
            Self::R470 => "11.470.256.02",
            Self::R535 => "12.535.54.03",
            Self::R580 => "13.580.95.05",
        }
    }

    pub(crate) fn cuda_version(self) -> i32 {
        match self {
            Self::R390 => 9010,
            Self::R470 => 11_040,
            Self::R535 => 12_020,
            Self::R580 => 13_000,
        }
    }
}
