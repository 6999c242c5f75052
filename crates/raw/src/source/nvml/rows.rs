//! Entries of NVML's lists of samples and of links.

use model::Text;
use serde::{Deserialize, Serialize};

/// A utilization sample.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct SampleRow {
    /// Process number, in a namespace that need not be the list's.
    pub pid: u32,
    /// Microseconds of the wall clock.
    pub ts: u64,
    /// SM, percent.
    pub sm: u32,
    /// Memory, percent.
    pub mem: u32,
    /// Encoder, percent.
    pub enc: u32,
    /// Decoder, percent.
    pub dec: u32,
    /// JPEG engine, percent; only `GetProcessesUtilizationInfo` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jpg: Option<u32>,
    /// Optical flow accelerator, percent; only `GetProcessesUtilizationInfo` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ofa: Option<u32>,
}

/// An `NVLink` of a device: three calls on its number, each with its own return code.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    /// Its number on the device.
    pub link: u32,
    /// Return code and answer of `GetNvLinkState`: 0 inactive, 1 active.
    pub state: (i32, u32),
    /// Return code and answer of `GetNvLinkVersion`, an `nvmlNvlinkVersion_t`.
    pub version: (i32, u32),
    /// Return code and bus id of `GetNvLinkRemotePciInfo`; not asked of an inactive link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<(i32, Text)>,
}
