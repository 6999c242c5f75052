//! A model as its files describe it.

use std::sync::Arc;

use gguf::{Header, Kind};
use model::{
    Bytes, Evidence, EvidenceKind, EvidenceLabel, Gap, Measured, Model, ModelKind, Provenance,
    Reading, Reported, Server, Source, Stamp, Text,
};

use super::files::Outcome;
use super::flags::Flags;
use super::gathering::Gathered;

/// A model's files on the way to a [`Model`].
pub(super) struct Described<'a> {
    pub(super) first: &'a Gathered,
    pub(super) headers: &'a [Arc<Header>],
    pub(super) sizes: &'a [Option<u64>],
    /// Parts of a split model that could not be read.
    pub(super) missing_parts: usize,
    /// How many models of the process were described before.
    pub(super) before: usize,
    pub(super) server: Option<&'a Server>,
    /// Why the server was not asked.
    pub(super) server_unasked: Option<Gap>,
    pub(super) flags: &'a Flags,
    pub(super) now: Stamp,
}

impl Described<'_> {
    pub(super) fn into_model(self, evidence: Vec<Evidence>) -> Model {
        let header = self.headers.first();
        let at = self
            .first
            .look
            .outcome
            .as_ref()
            .map_or(self.now, |(_, at)| *at);
        let gap = match &self.first.look.outcome {
            Ok((Outcome::Header(_), _)) => Gap::NotFound,
            Ok((Outcome::NotModel(_), _)) => Gap::Malformed,
            Err(gap) => *gap,
        };
        let from = |counter| Provenance {
            source: Source::Gguf,
            counter,
            at,
        };
        let text = |value: Option<Text>, counter| match value {
            Some(value) => Reading::measured(value, from(counter)),
            None => Reading::missing(gap, from(counter)),
        };
        let number = |value: Option<u64>, counter| match value {
            Some(value) => Reading::measured(value, from(counter)),
            None => Reading::missing(gap, from(counter)),
        };
        let file_name = self
            .first
            .path
            .rsplit('/')
            .next()
            .unwrap_or(&self.first.path);
        let stem = file_name
            .rsplit_once('.')
            .map_or(file_name, |(stem, _)| stem);
        let name = header
            .and_then(|h| h.name())
            .filter(|name| !model::names::is_blank(name));
        let label = EvidenceLabel::of(evidence.iter().map(|e| e.kind));
        Model {
            id: format!("m{}", self.before + 1).into(),
            name: name.unwrap_or(stem).into(),
            path: self.first.path.clone(),
            format: "gguf",
            size_on_disk: self.size(),
            architecture: text(
                header.and_then(|h| h.architecture()).map(Text::from),
                "general.architecture",
            ),
            quantization: text(
                header
                    .and_then(|h| h.quantization().label())
                    .map(Text::from),
                "general.file_type",
            ),
            parameters: self.parameters(gap, from("tensor table")),
            layers: number(header.and_then(|h| h.block_count()), "block_count"),
            context_trained: number(header.and_then(|h| h.context_length()), "context_length"),
            context_requested: self.context_requested(),
            context_used: self.context_used(&evidence),
            kind: header.map_or(ModelKind::Unknown, |h| kind(&h.kind())),
            label,
            evidence,
        }
    }

    fn parameters(&self, gap: Gap, from: Provenance) -> Reading<Measured<u64>> {
        if self.headers.is_empty() {
            Reading::missing(gap, from)
        } else if self.missing_parts > 0 {
            Reading::missing(Gap::InputMissing, from)
        } else {
            let parameters = self.headers.iter().map(|header| header.parameters());
            Reading::measured(parameters.fold(0, u64::saturating_add), from)
        }
    }

    fn size(&self) -> Reading<Measured<Bytes>> {
        let from = |at| Provenance {
            source: Source::Proc,
            counter: "st_size",
            at,
        };
        match self.first.look.meta {
            Err(gap) => Reading::missing(gap, from(self.now)),
            Ok((_, at)) => match self.sizes.iter().copied().sum::<Option<u64>>() {
                Some(size) => Reading::measured(Bytes(size), from(at)),
                None => Reading::missing(Gap::InputMissing, from(at)),
            },
        }
    }

    fn context_requested(&self) -> Reading<Measured<u64>> {
        let from = Provenance {
            source: Source::CommandLine,
            counter: "-c",
            at: self.now,
        };
        // 0 asks for what the model was trained with, which stands beside it.
        match self.flags.context.filter(|tokens| *tokens > 0) {
            Some(tokens) => Reading::measured(tokens, from),
            None => Reading::missing(Gap::NotFound, from),
        }
    }

    fn context_used(&self, evidence: &[Evidence]) -> Reading<Reported<u64>> {
        let from = |at| Provenance {
            source: Source::Http,
            counter: "/props n_ctx",
            at,
        };
        let served = evidence.iter().any(|e| e.kind == EvidenceKind::Api);
        match (self.server, served) {
            (Some(server), true) => server.context,
            _ => Reading::missing(self.server_unasked.unwrap_or(Gap::NotFound), from(self.now)),
        }
    }
}

fn kind(kind: &Kind) -> ModelKind {
    match kind {
        Kind::CausalLanguageModel | Kind::TextDiffusion => ModelKind::Llm,
        Kind::Embedding(_) => ModelKind::Embedding,
        Kind::Reranker => ModelKind::Reranker,
        Kind::Decision { .. } => ModelKind::Decision,
        Kind::Speech => ModelKind::Speech,
        Kind::ImageDiffusion => ModelKind::Diffusion,
        Kind::Projector { .. } => ModelKind::Projector,
        Kind::Adapter => ModelKind::Adapter,
        _ => ModelKind::Unknown,
    }
}
