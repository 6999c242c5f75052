//! What a process does on the GPU: category, models, evidence, memory parts, server.

mod category;
mod described;
mod evidence;
mod segment;
mod server;

pub use category::Category;
pub use described::{Component, Model, ModelEvent, ModelEventKind, ModelKind, Said};
pub use evidence::{Evidence, EvidenceFamily, EvidenceKind, EvidenceLabel};
pub use segment::{Placement, Segment, SegmentKind};
pub use server::{EndpointState, EndpointStatus, Server, ServerState};
