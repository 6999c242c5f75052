//! The vocabulary of gputaskman: what a reading is, why one can be missing, and the [`Snapshot`]
//! that every view draws.
//!
//! Two rules are built into the types:
//!
//! * **Unknown is never zero.** A quantity is a [`Reading`]: known with its [`Provenance`], or
//!   [`Missing`] with a [`Gap`]. There is no default, and no conversion that invents a number.
//! * **Four classes never meet in one sum.** [`Measured`], [`Reported`], [`Inferred`] and
//!   [`Estimated`] are different types without arithmetic. [`Total`] sums measured readings and
//!   counts those it could not include; [`receipt::remainder`] is the one crossing, and its result
//!   is signed, estimated and never summed again.
//!
//! This crate reads nothing: no files, no clock, no operating system.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod details;
pub mod device;
pub mod gap;
pub mod ids;
pub mod inspection;
pub mod kfd;
pub mod matching;
pub mod mig;
pub mod names;
pub mod process;
pub mod reading;
pub mod receipt;
pub mod remedy;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
pub mod selector;
pub mod snapshot;
pub mod units;
pub mod workload;

pub use details::{
    ClocksEventReason, ClocksEventReasons, ComputeMode, DeviceDetails, Ecc, EccErrors, NvLink,
    RemappedRows, RetiredPages,
};
pub use device::{
    CategoryShare, Device, DeviceKind, DeviceMemory, PowerState, Sensor, SensorUnit, Vendor,
    Virtualization,
};
pub use gap::Gap;
pub use ids::{DeviceKey, PciAddress, PidSpace, ProcessKey, Stamp};
pub use kfd::{KfdFigures, KfdStanding};
pub use matching::{MatchReason, PidMark, PidMatch};
pub use mig::{MigAttributes, MigInstance, MigMemory, MigMode};
pub use process::{
    Charge, Charged, ChargedBytes, ChargedPercent, Container, ContainerName, DriverLists,
    DrmClients, DrmRegion, Engines, Process, ProcessMemory, Runtime, SHARED_LABEL, SPILL_LABEL,
};
pub use reading::{
    Estimated, InferenceBasis, Inferred, Measured, Method, Missing, Provenance, Reading, Reported,
    Source, Total,
};
pub use selector::{Selected, Selector};
pub use snapshot::{
    HostFacts, Mode, Notice, Origin, OriginKind, PidNamespace, ProcessStatus, ScanState, Selection,
    Severity, Snapshot, SourceState, SourceStatus,
};
pub use units::{Bytes, BytesPerSecond, Celsius, Megahertz, Millijoules, Percent, Watts};
pub use workload::{
    Category, Component, EndpointState, EndpointStatus, Evidence, EvidenceFamily, EvidenceKind,
    EvidenceLabel, Model, ModelEvent, ModelEventKind, ModelKind, Placement, Said, Segment,
    SegmentKind, Server, ServerState,
};

/// Text shared between snapshots without copying.
pub type Text = std::sync::Arc<str>;
