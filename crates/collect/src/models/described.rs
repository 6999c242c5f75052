//! A model as its files describe it.

use std::sync::Arc;

use gguf::{Header, Kind};
use model::{
    Bytes, Evidence, EvidenceKind, EvidenceLabel, Gap, Measured, Model, ModelEvent, ModelKind,
    Provenance, Reading, Reported, Said, Server, Source, Stamp, Text,
};

use super::claim::{Claim, Named};
use super::files::Outcome;
use super::flags::Flags;
use super::gathering::{Gathered, is_blob, is_gguf_name};
use super::hints::kind_hint;

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
    /// What other sources say of it.
    pub(super) claims: &'a [&'a Claim],
    /// Every path that something names it by.
    pub(super) paths: &'a [Text],
    /// What stores call it, shortest first.
    pub(super) store_names: &'a [Text],
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
            Ok((Outcome::Header(_) | Outcome::Other(_), _)) => Gap::NotFound,
            Ok((Outcome::NotModel(_), _)) => Gap::Malformed,
            Err(gap) => *gap,
        };
        let is_gguf = header.is_some() || is_gguf_name(&self.first.path);
        let from = |counter| Provenance {
            source: if is_gguf {
                Source::Gguf
            } else {
                Source::ModelFile
            },
            counter: if is_gguf { counter } else { "header" },
            at,
        };
        let text = |value: Option<Text>, counter| match value {
            Some(value) => Reading::measured(value, from(counter)),
            None => Reading::missing(gap, from(counter)),
        };
        let number = |value: Option<u64>, counter| match value {
            Some(value) => Reading::measured(value, from(counter)),
            None if header.is_some_and(|header| header.value(counter).is_some()) => {
                Reading::missing(Gap::ImpossibleHeader, from(counter))
            }
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
        let words = Words::of(self.claims);
        Model {
            id: format!("m{}", self.before + 1).into(),
            name: name.unwrap_or_else(|| self.own_name(stem)).into(),
            store_names: self.store_names.to_vec(),
            path: Reading::measured(self.first.path.clone(), path_from(&evidence, at)),
            format: if is_gguf { "gguf" } else { "unknown" },
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
            kind: header
                .map(|h| kind(&h.kind()))
                .filter(|kind| *kind != ModelKind::Unknown)
                .or(words.kind)
                .unwrap_or(ModelKind::Unknown),
            kind_hint: kind_hint(self.paths, self.store_names),
            label,
            evidence,
            conflict: words.conflict,
            events: words.events,
            log_unused: words.log_unused,
            components: Vec::new(),
            said: words.said,
        }
    }

    /// A blob is named by its hash, which tells nobody anything: then what a store calls it.
    fn own_name<'b>(&'b self, stem: &'b str) -> &'b str {
        match self.store_names.first() {
            Some(name) if is_blob(stem) => name,
            _ => stem,
        }
    }

    fn parameters(&self, gap: Gap, from: Provenance) -> Reading<Measured<u64>> {
        if self.headers.is_empty() {
            Reading::missing(gap, from)
        } else if self.missing_parts > 0 {
            Reading::missing(Gap::InputMissing, from)
        } else if self
            .headers
            .iter()
            .any(|it| it.impossible_tensors().is_some())
        {
            Reading::missing(Gap::ImpossibleHeader, from)
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
        if let Some(told) = Words::of(self.claims).context {
            return Reading::Known(told);
        }
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

/// What all claims about one model say, the first that speaks of a thing going before the others.
#[derive(Default)]
pub(super) struct Words {
    kind: Option<ModelKind>,
    context: Option<Reported<u64>>,
    conflict: Option<Text>,
    events: Vec<ModelEvent>,
    log_unused: Option<Text>,
    said: Vec<Said>,
}

impl Words {
    fn of(claims: &[&Claim]) -> Self {
        let mut words = Self::default();
        for claim in claims {
            let about = &claim.about;
            words.kind = words.kind.or(about.kind);
            words.context = words.context.or(about.context);
            words.conflict = words.conflict.or_else(|| about.conflict.clone());
            words.log_unused = words.log_unused.or_else(|| about.log_unused.clone());
            words.events.extend(about.events.iter().cloned());
            words.said.extend(about.said.iter().cloned());
        }
        words.events.sort_by_key(|event| event.wall_us);
        words
    }
}

const fn gone<T>(now: Stamp) -> Reading<Measured<T>> {
    let from = Provenance {
        source: Source::ModelFile,
        counter: "no file is known",
        at: now,
    };
    Reading::missing(Gap::NotFound, from)
}

/// A model that has no file here: only `claim` and those that name the same tell of it.
pub(super) fn without_file(claims: &[&Claim], before: usize, now: Stamp) -> Option<Model> {
    let first = claims.first()?;
    let words = Words::of(claims);
    let name = claims.iter().find_map(|claim| claim.about.name.clone());
    let mut evidence: Vec<Evidence> = claims.iter().filter_map(|claim| claim.evidence()).collect();
    evidence.sort_by_key(|one| one.kind);
    let unused = Provenance {
        source: Source::Http,
        counter: "context",
        at: now,
    };
    Some(Model {
        id: format!("m{}", before + 1).into(),
        name: name.or_else(|| first.named.label())?,
        store_names: Vec::new(),
        path: match &first.named {
            Named::File(path) => Reading::measured(path.clone(), path_from(&evidence, now)),
            _ => gone(now),
        },
        format: "unknown",
        size_on_disk: gone(now),
        architecture: gone(now),
        quantization: gone(now),
        parameters: gone(now),
        layers: gone(now),
        context_trained: gone(now),
        context_requested: gone(now),
        context_used: words
            .context
            .map_or_else(|| Reading::missing(Gap::NotFound, unused), Reading::Known),
        kind: words.kind.unwrap_or(ModelKind::Unknown),
        kind_hint: match &first.named {
            Named::File(path) => kind_hint(std::slice::from_ref(path), &[]),
            _ => None,
        },
        label: EvidenceLabel::of(evidence.iter().map(|one| one.kind)),
        evidence,
        conflict: words.conflict,
        events: words.events,
        log_unused: words.log_unused,
        components: Vec::new(),
        said: words.said,
    })
}

/// Who told the path: the kernel where it did, else the strongest of the others.
fn path_from(evidence: &[Evidence], now: Stamp) -> Provenance {
    let kernel = |one: &&Evidence| matches!(one.kind, EvidenceKind::Mapped | EvidenceKind::Open);
    let told = evidence.iter().find(kernel).or(evidence.first());
    let (source, counter) = match told.map(|one| one.kind) {
        Some(EvidenceKind::Mapped) => (Source::Proc, "maps"),
        Some(EvidenceKind::Open) => (Source::Proc, "fd"),
        Some(EvidenceKind::CommandLine) => (Source::CommandLine, "arguments"),
        Some(EvidenceKind::Api) => (Source::Http, "model path"),
        Some(EvidenceKind::Log) => (Source::Log, "model path"),
        Some(EvidenceKind::Settings | EvidenceKind::Installed) => (Source::Settings, "model path"),
        None => (Source::Program, "model path"),
    };
    Provenance {
        source,
        counter,
        at: told.map_or(now, |one| one.at),
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
