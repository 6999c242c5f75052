//! The documents as a whole.

use model::{Gap, Mode, PidNamespace, Selection, Snapshot, SourceStatus};

use super::provenance::{Traces, absent};
use super::v1::{self, GPU_LIST_SCHEMA, SCHEMA_VERSION, SNAPSHOT_SCHEMA};
use super::{device, process, total};
use crate::{VERSION, format, shown};

/// The document of a snapshot, with what the selection shows.
pub fn snapshot(from: &Snapshot) -> v1::Document {
    let mut traces = Traces::new(from.at);
    let timestamp = format::utc_millis(from.at.wall_us);
    if timestamp.is_none() {
        traces.enter("timestamp", absent(Gap::Implausible));
    }
    let host = host(from, &mut traces);
    let origin = v1::Origin {
        kind: from.origin.kind.id(),
        note: or_absent(&mut traces, "origin.note", from.origin.note.clone()),
    };
    let sources = sources(&from.sources, &mut traces);
    let selected_device = match from.selection {
        Selection::One(index) => Some(index),
        Selection::All => traces.absent("selected_device", Gap::NotApplicable),
        Selection::Nothing => traces.absent("selected_device", Gap::NotPresent),
    };
    let processes: Vec<v1::Process> = shown::processes(from)
        .map(|process| process::process(from, process))
        .collect();
    v1::Document {
        schema: SNAPSHOT_SCHEMA,
        schema_version: SCHEMA_VERSION,
        tool: tool(),
        timestamp,
        sample_index: from.tick,
        sample_ms: from.sample_ms,
        pending: from.pending,
        mode: from.mode.id(),
        host,
        origin,
        sources,
        process_status: status(from, processes.len()),
        selected_device,
        devices: from
            .selected_devices()
            .map(|device| device::device(from.at, device))
            .collect(),
        processes,
        totals: total::totals(from, &mut traces),
        notices: from
            .notices
            .iter()
            .map(|notice| v1::Notice {
                code: notice.code,
                severity: notice.severity.id(),
                subject: notice.subject.clone(),
                text: notice.text.clone(),
            })
            .collect(),
        provenance: traces.finish(),
    }
}

/// The document of the device list: all devices, whatever the selection.
pub fn gpu_list(from: &Snapshot) -> v1::GpuList {
    let mut traces = Traces::new(from.at);
    let sources = sources(&from.sources, &mut traces);
    v1::GpuList {
        schema: GPU_LIST_SCHEMA,
        schema_version: SCHEMA_VERSION,
        tool: tool(),
        devices: from
            .devices
            .iter()
            .map(|device| device::entry(from.at, device))
            .collect(),
        sources,
        provenance: traces.finish(),
    }
}

pub(super) const fn tool() -> v1::Tool {
    v1::Tool {
        name: "gputaskman",
        version: VERSION,
    }
}

fn or_absent<T>(traces: &mut Traces, key: &'static str, value: Option<T>) -> Option<T> {
    value.or_else(|| traces.absent(key, Gap::NotPresent))
}

fn host(from: &Snapshot, traces: &mut Traces) -> v1::Host {
    let host = &from.host;
    v1::Host {
        os: host.os.clone(),
        kernel: or_absent(traces, "host.kernel", host.kernel.clone()),
        name: or_absent(traces, "host.name", host.name.clone()),
        pid_namespace: host.pid_namespace.id(),
        privileged: or_absent(traces, "host.privileged", host.privileged),
        container_runtime: traces.not_read("host.container_runtime"),
    }
}

pub(super) fn sources(sources: &[SourceStatus], traces: &mut Traces) -> Vec<v1::SourceEntry> {
    sources
        .iter()
        .map(|source| {
            if source.hint.is_none() {
                let key = format!("sources.{}.hint", source.id);
                traces.enter(key, absent(Gap::NotApplicable));
            }
            v1::SourceEntry {
                id: source.id,
                state: source.state.id(),
                detail: source.detail.clone(),
                hint: source.hint.clone(),
            }
        })
        .collect()
}

fn status(from: &Snapshot, shown: usize) -> v1::ProcessStatus {
    let nested = from.host.pid_namespace != PidNamespace::Initial || from.mode == Mode::Container;
    v1::ProcessStatus {
        listed: match from.selection {
            Selection::All => from.process_status.listed,
            Selection::One(_) | Selection::Nothing => u32::try_from(shown).unwrap_or(u32::MAX),
        },
        unreadable: from.process_status.unreadable,
        hidden: from.process_status.hidden,
        scan: from.process_status.scan.id(),
        limited_to_inspectable: nested || from.host.privileged != Some(true),
    }
}
