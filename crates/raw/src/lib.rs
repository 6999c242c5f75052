//! The machine under observation, as questions and raw answers.
//!
//! Every read of the outside world goes through [`Machine`]: a live one (crate `sources`), one that
//! records what it hands out, and one that replays a capture. An answer is what the source said,
//! stamped and bounded, or a [`model::Gap`]. Nothing here interprets an answer, and nothing here
//! reads the live machine: captures arrive as byte streams.
//!
//! Three lanes, chosen by whether a read can block:
//!
//! * [`Machine::inline`]: reads that cannot (`/proc/PID/stat`, `/sys` attributes).
//! * [`Machine::nvml`], [`Machine::drm`]: one sweep of a driver per refresh, done on the driver's own thread.
//! * [`Machine::post`]: reads that may hang (a target's memory map, a header on a network disk, a
//!   loopback GET); asked now, answered in a later refresh.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod capture;
pub mod machine;
pub mod source;
mod synthetic;

pub use machine::{
    Answer, Ended, Machine, MachineFacts, Published, Relabelled, Settings, Stamped, Tick, TickPlan,
};
pub use source::containers::{ContainerRecord, ContainerRuntime, StateFile};
pub use source::drm;
pub use source::endpoints::{BodyForm, Endpoint, MAX_ELEMENTS, MAX_FIELD_TEXT, MAX_FIELDS};
pub use source::model_files::ModelFile;
pub use source::networks::{Forward, Forwarder, ForwarderProgram, Network};
pub use source::nvml;
pub use source::reads::{AppPart, Inline, JournalUnit, ProcessRef, Question, Root};
pub use source::replies::{FileMeta, HttpReply, Listener, OpenFile, Reply};
pub use source::stores::{
    Folder, FolderEntry, FolderEntryKind, MAX_FOLDER_NAMES, MAX_MANIFEST_ENTRIES, ManifestEntry,
    ManifestForm,
};
pub use source::{apps, logs};
pub use synthetic::{Script, Synthetic};
