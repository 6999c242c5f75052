//! Models and the server of a process.

use model::{
    Component, EndpointState, EvidenceFamily, Gap, Model, ModelEvent, ModelEventKind, ModelKind,
    Process, Said, Stamp,
};

use super::provenance::Traces;
use super::v1;
use crate::format;

/// Where no models were looked for, the empty list has its reason.
pub(super) fn models_of<'a>(t: &mut Traces, process: &'a Process) -> &'a Process {
    if let Some(gap) = process.models_unread {
        let _: Option<()> = t.absent("models", gap);
    }
    process
}

pub(super) fn model(now: Stamp, model: &Model) -> v1::Model {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    v1::Model {
        id: model.id.clone(),
        name: model.name.clone(),
        store_names: model.store_names.clone(),
        path: t.measured("path", &model.path, Clone::clone),
        format: model.format,
        size_on_disk_bytes: t.bytes("size_on_disk_bytes", &model.size_on_disk),
        architecture: t.measured("architecture", &model.architecture, Clone::clone),
        quantization: t.measured("quantization", &model.quantization, Clone::clone),
        parameters: t.measured("parameters", &model.parameters, |number| *number),
        layers: t.measured("layers", &model.layers, |number| *number),
        context_trained: t.measured("context_trained", &model.context_trained, |tokens| *tokens),
        context_requested: t.measured("context_requested", &model.context_requested, |tokens| {
            *tokens
        }),
        context_used: t.reported("context_used", &model.context_used),
        kind: model.kind.id(),
        kind_hint: model
            .kind_hint
            .map(ModelKind::id)
            .or_else(|| t.absent("kind_hint", Gap::NotFound)),
        kind_label: model.kind_label(),
        label: model.label.id(),
        evidence: model
            .evidence
            .iter()
            .map(|evidence| v1::Evidence {
                source: evidence.kind.id(),
                family: evidence.kind.family().map_or("none", EvidenceFamily::id),
                detail: evidence.detail.clone(),
                age_ms: now.ms_since(evidence.at),
            })
            .collect(),
        conflict: model
            .conflict
            .clone()
            .or_else(|| t.absent("conflict", Gap::NotApplicable)),
        events: model.events.iter().map(|one| event(now, one)).collect(),
        log_unused: model
            .log_unused
            .clone()
            .or_else(|| t.absent("log_unused", Gap::NotApplicable)),
        components: model
            .components
            .iter()
            .map(|one| component(now, one))
            .collect(),
        said: said(now, &model.said),
        provenance: traces.finish(),
    }
}

fn event(now: Stamp, event: &ModelEvent) -> v1::ModelEvent {
    let mut traces = Traces::new(now);
    let t = &mut traces;
    v1::ModelEvent {
        event: event.kind.id(),
        at: event
            .wall_us
            .and_then(format::utc_millis)
            .or_else(|| t.absent("at", Gap::NotFound)),
        fresh: event.fresh.or_else(|| t.absent("fresh", Gap::InputMissing)),
        log: event.log.clone(),
        bytes: event.bytes.map(|bytes| bytes.0).or_else(|| {
            t.absent(
                "bytes",
                match event.kind {
                    ModelEventKind::OutOfMemory => Gap::NotFound,
                    _ => Gap::NotApplicable,
                },
            )
        }),
        provenance: traces.finish(),
    }
}

fn component(now: Stamp, part: &Component) -> v1::Component {
    let mut traces = Traces::new(now);
    v1::Component {
        role: part.role.clone(),
        path: part.path.clone(),
        format: part.format,
        size_on_disk_bytes: traces.bytes("size_on_disk_bytes", &part.size_on_disk),
        provenance: traces.finish(),
    }
}

fn said(now: Stamp, said: &[Said]) -> Vec<v1::Said> {
    said.iter()
        .map(|one| v1::Said {
            field: one.field,
            value: one.value.clone(),
            source: one.by.source.id(),
            counter: one.by.counter,
            age_ms: now.ms_since(one.by.at),
        })
        .collect()
}

pub(super) fn server(t: &mut Traces, now: Stamp, process: &Process) -> Option<v1::Server> {
    let Some(server) = &process.server else {
        return t.absent("server", process.server_unasked.unwrap_or(Gap::NotFound));
    };
    Some(v1::Server {
        kind: server.kind,
        port: server.port,
        own_port: server
            .own_port
            .or_else(|| t.absent("server.own_port", Gap::NotApplicable)),
        answered_by: server
            .answered_by
            .or_else(|| t.absent("server.answered_by", Gap::NotApplicable)),
        state: server.state.id(),
        context: t.reported("server.context", &server.context),
        slots_total: t.reported("server.slots_total", &server.slots),
        slots_busy: t.reported("server.slots_busy", &server.slots_busy),
        cached_tokens: t.reported("server.cached_tokens", &server.cached_tokens),
        tokens_per_s: t.reported("server.tokens_per_s", &server.tokens_per_second),
        age_ms: now.ms_since(server.at),
        endpoints: server
            .endpoints
            .iter()
            .map(|one| (one.path.clone(), endpoint(one.state)))
            .collect(),
        said: said(now, &server.said),
    })
}

const fn endpoint(state: EndpointState) -> v1::EndpointStatus {
    v1::EndpointStatus {
        state: state.id(),
        status: match state {
            EndpointState::Unexpected(status) => Some(status),
            _ => None,
        },
        reason: match state {
            EndpointState::Failed(gap) => Some(gap.code()),
            _ => None,
        },
    }
}
