//! Models in other formats than GGUF: which files make one up, and what their headers and neighbours tell.

use std::sync::Arc;

use formats::names::{self, Part};
use formats::{Description, Flaw, Format, Kind};
use model::{
    Bytes, Component, Estimated, Gap, Measured, Method, Model, ModelKind, Placement, Provenance,
    Reading, Segment, SegmentKind, Source, Stamp, Text,
};
use raw::{Machine, ProcessRef, Root};

use super::files::{Files, Look, Outcome};
use super::gathering::{Gathered, is_blob};

/// Most parts of one model that are looked at.
const MAX_PARTS: u32 = 64;

/// Most components of a pipeline that are looked for.
const MAX_COMPONENTS: usize = 16;

/// Names that files of weights have in every folder, so that the folder's says more.
const PLAIN_NAMES: &[&str] = &[
    "model",
    "adapter_model",
    "consolidated",
    "diffusion_pytorch_model",
    "open_clip_model",
    "pytorch_model",
    "weights",
];

/// What weights in the folder of a model, or of a pipeline's component, are called.
const WEIGHTS: &[&str] = &["model.safetensors", "diffusion_pytorch_model.safetensors"];

/// Whether such a file is a model by itself. A pickle is one only under a name that says so.
pub(super) fn is_model(found: &Description, path: &str) -> bool {
    match found.format {
        Format::Config | Format::Index => false,
        Format::Pickle => ["pt", "pth", "ckpt"]
            .iter()
            .any(|extension| names::has_extension(path, extension)),
        _ => true,
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn described(look: &Look) -> Option<&Arc<Description>> {
    match &look.outcome {
        Ok((Outcome::Other(found), _)) => Some(found),
        _ => None,
    }
}

/// Looks for things beside what is known.
struct Beside<'a> {
    files: &'a mut Files,
    machine: &'a mut dyn Machine,
    root: Root,
    now: Stamp,
}

impl Beside<'_> {
    fn look(&mut self, path: &str) -> Look {
        self.files
            .look(self.machine, self.root, &Text::from(path), self.now)
    }

    fn of_format(&mut self, path: &str, format: Format) -> Option<Arc<Description>> {
        let look = self.look(path);
        described(&look)
            .filter(|found| found.format == format)
            .cloned()
    }
}

/// The model in a folder that was named: its path, and what is known of it. A pipeline's path is that of its index; a
/// model in several files has that of its first part.
pub(super) fn in_folder(
    files: &mut Files,
    machine: &mut dyn Machine,
    root: Root,
    path: &str,
    now: Stamp,
) -> Option<(Text, Look)> {
    let path = path.trim_end_matches('/');
    let mut beside = Beside {
        files,
        machine,
        root,
        now,
    };
    let index = format!("{path}/model_index.json");
    let look = beside.look(&index);
    if described(&look).is_some_and(|found| found.format == Format::Diffusers) {
        return Some((index.into(), look));
    }
    let index = beside.of_format(
        &format!("{path}/model.safetensors.index.json"),
        Format::Index,
    );
    let first = index.as_ref().and_then(|index| index.parts.first());
    let weights = format!(
        "{path}/{}",
        first.map_or("model.safetensors", String::as_str)
    );
    let look = beside.look(&weights);
    described(&look).is_some().then(|| (weights.into(), look))
}

/// The pipeline that a file is a component of: its folder and index. Only what the index lists belongs to it.
pub(super) fn pipeline(
    files: &mut Files,
    machine: &mut dyn Machine,
    root: Root,
    file: &Gathered,
    now: Stamp,
) -> Option<(Text, Arc<Description>)> {
    let found = described(&file.look)?;
    let role_folder = folder(&file.path);
    if found.format == Format::Diffusers {
        return Some((role_folder.into(), Arc::clone(found)));
    }
    let weights = matches!(found.format, Format::Safetensors | Format::Pytorch);
    if !weights || is_blob(&file.path) {
        return None;
    }
    let (pipeline, role) = role_folder.rsplit_once('/')?;
    let mut beside = Beside {
        files,
        machine,
        root,
        now,
    };
    let index = beside.of_format(&format!("{pipeline}/model_index.json"), Format::Diffusers)?;
    index
        .parts
        .iter()
        .any(|part| part == role)
        .then(|| (pipeline.into(), index))
}

/// What a model's files tell together.
pub(super) struct Found {
    path: Text,
    first: Arc<Description>,
    at: Stamp,
    /// The headers of all parts that could be read.
    headers: Vec<Arc<Description>>,
    pub(super) sizes: Vec<Option<u64>>,
    pub(super) missing: usize,
    config: Option<Arc<Description>>,
    index: Option<Arc<Description>>,
    components: Vec<Component>,
}

impl Found {
    /// Of these files, which go together; `None` where the first is of no other format.
    pub(super) fn of(
        files: &mut Files,
        machine: &mut dyn Machine,
        who: ProcessRef,
        parts: &[Gathered],
        now: Stamp,
    ) -> Option<Self> {
        let first = parts.first()?;
        let at = first.look.outcome.as_ref().map_or(now, |(_, at)| *at);
        let mut found = Self {
            path: first.path.clone(),
            first: Arc::clone(described(&first.look)?),
            at,
            headers: Vec::new(),
            sizes: Vec::new(),
            missing: 0,
            config: None,
            index: None,
            components: Vec::new(),
        };
        let mut beside = Beside {
            files,
            machine,
            root: Root::Process(who),
            now,
        };
        if let Some((folder, index)) = &first.pipeline {
            found.path = folder.clone();
            found.pipeline(&mut beside, folder, index);
            found.first = Arc::clone(index);
        } else {
            for part in parts {
                found.part(&part.look);
            }
            found.neighbours(&mut beside, parts);
        }
        Some(found)
    }

    fn part(&mut self, look: &Look) {
        self.sizes.push(look.meta.ok().map(|(meta, _)| meta.size));
        match described(look) {
            Some(header) => self.headers.push(Arc::clone(header)),
            None => self.missing += 1,
        }
    }

    /// The other parts, and what lies beside a file of weights. Blobs of a store have no neighbours.
    fn neighbours(&mut self, beside: &mut Beside<'_>, parts: &[Gathered]) {
        let path = self.path.clone();
        let weights = matches!(
            self.first.format,
            Format::Safetensors | Format::Pytorch | Format::PytorchLegacy
        );
        if !weights || is_blob(&path) {
            return;
        }
        let folder = folder(&path);
        if let Some(part) = Part::parse(&path).filter(|part| part.count > 1) {
            // A recording has other names for the parts, but not for the usual one of their index.
            let usual = format!("model.{}.index.json", part.extension);
            self.index = [part.index(), usual].iter().find_map(|name| {
                let index = beside.of_format(&format!("{folder}/{name}"), Format::Index)?;
                index
                    .parts
                    .iter()
                    .any(|one| one == names::base(&path))
                    .then_some(index)
            });
            for number in 1..=part.count.min(MAX_PARTS) {
                let sibling = format!("{folder}/{}", part.sibling(number));
                if !parts.iter().any(|known| *known.path == *sibling) {
                    let look = beside.look(&sibling);
                    self.part(&look);
                }
            }
            let beyond = part.count.saturating_sub(MAX_PARTS);
            self.missing += usize::try_from(beyond).unwrap_or(usize::MAX);
            self.sizes.extend((beyond > 0).then_some(None));
        }
        if self.first.kind != Kind::Adapter {
            self.config = beside.of_format(&format!("{folder}/config.json"), Format::Config);
        }
    }

    /// The components' weights. Those without any (schedulers, tokenizers) are no parts of the model's memory.
    fn pipeline(&mut self, beside: &mut Beside<'_>, folder: &str, index: &Description) {
        for role in index.parts.iter().take(MAX_COMPONENTS) {
            let folder = format!("{folder}/{role}");
            let single = WEIGHTS.iter().find_map(|name| {
                let path = format!("{folder}/{name}");
                let look = beside.look(&path);
                described(&look)?;
                Some((path, look))
            });
            if let Some((path, look)) = single {
                let size = look.meta.ok().map(|(meta, _)| meta.size);
                self.component(role, path, size);
                self.part(&look);
                continue;
            }
            let split = WEIGHTS.iter().find_map(|name| {
                let index =
                    beside.of_format(&format!("{folder}/{name}.index.json"), Format::Index)?;
                Some((format!("{folder}/{}", index.parts.first()?), index))
            });
            let Some((path, index)) = split else { continue };
            let before = self.sizes.len();
            let limit = usize::try_from(MAX_PARTS).unwrap_or(usize::MAX);
            for part in index.parts.iter().take(limit) {
                let look = beside.look(&format!("{folder}/{part}"));
                self.part(&look);
            }
            let sizes = self.sizes.get(before..).unwrap_or_default();
            let complete = index.parts.len() <= limit;
            let size = sizes
                .iter()
                .copied()
                .sum::<Option<u64>>()
                .filter(|_| complete);
            self.component(role, path, size);
        }
    }

    fn component(&mut self, role: &str, path: String, size: Option<u64>) {
        let from = Provenance {
            source: Source::Proc,
            counter: "st_size",
            at: self.at,
        };
        self.components.push(Component {
            role: role.into(),
            path: path.into(),
            format: Format::Safetensors.id(),
            size_on_disk: match size {
                Some(size) => Reading::measured(Bytes(size), from),
                None => Reading::missing(Gap::InputMissing, from),
            },
        });
    }

    /// `model`, which knows its files and its evidence, with what their headers tell.
    pub(super) fn describe(&self, model: Model) -> Model {
        let neighbour = |value: fn(&Description) -> Option<u64>| {
            value(&self.first).or_else(|| self.config.as_ref().and_then(|config| value(config)))
        };
        let kinds = [Some(&self.first), self.config.as_ref()];
        let kind = kinds
            .into_iter()
            .flatten()
            .map(|found| kind(found.kind))
            .find(|kind| *kind != ModelKind::Unknown);
        let configured = self.config.as_deref();
        let architecture = configured
            .and_then(|config| config.architecture.as_deref())
            .or(self.first.architecture.as_deref());
        let quantization = configured.filter(|config| config.millibits.is_some());
        let quantization = quantization
            .and_then(|config| config.quantization.clone())
            .or_else(|| self.headers.first().unwrap_or(&self.first).storage())
            .or_else(|| configured?.quantization.clone());
        Model {
            name: self.name(),
            path: match model.path {
                Reading::Known(path) => Reading::measured(self.path.clone(), path.from),
                missing @ Reading::Missing(_) => missing,
            },
            format: self.first.format.id(),
            architecture: self.text(architecture, "architecture"),
            quantization: self.text(quantization.as_deref(), "tensor types"),
            parameters: self.parameters(),
            layers: self.number(neighbour(|found| found.layers), "layers"),
            context_trained: self.number(neighbour(|found| found.context_length), "context length"),
            kind: kind.unwrap_or(model.kind),
            components: self.components.clone(),
            ..model
        }
    }

    const fn from(&self, counter: &'static str) -> Provenance {
        Provenance {
            source: Source::ModelFile,
            counter,
            at: self.at,
        }
    }

    fn text(&self, value: Option<&str>, counter: &'static str) -> Reading<Measured<Text>> {
        match value {
            Some(value) => Reading::measured(value.into(), self.from(counter)),
            None => Reading::missing(Gap::NotFound, self.from(counter)),
        }
    }

    fn number(&self, value: Option<u64>, counter: &'static str) -> Reading<Measured<u64>> {
        match value {
            Some(value) => Reading::measured(value, self.from(counter)),
            None => Reading::missing(Gap::NotFound, self.from(counter)),
        }
    }

    /// Of all parts; missing where weights are packed, so that elements are not weights.
    fn parameters(&self) -> Reading<Measured<u64>> {
        let from = self.from("tensor shapes");
        if self.missing > 0 {
            return Reading::missing(Gap::InputMissing, from);
        }
        let packed = self
            .config
            .as_ref()
            .is_some_and(|config| config.millibits.is_some());
        let each = self.headers.iter().map(|header| header.parameters());
        match each
            .sum::<Option<u64>>()
            .filter(|count| *count > 0 && !packed)
        {
            Some(count) => Reading::measured(count, from),
            None => Reading::missing(Gap::NotFound, from),
        }
    }

    /// The header's title, else what the file or, where all files are called alike, its folder is called.
    fn name(&self) -> Text {
        if let Some(title) = &self.first.title {
            return title.as_str().into();
        }
        let hub = self
            .path
            .split('/')
            .find_map(|part| part.strip_prefix("models--"));
        if let Some(repository) = hub {
            return repository.replace("--", "/").into();
        }
        let stem = |path: &str| -> String {
            let name = names::base(path);
            match Part::parse(name) {
                Some(part) => part.stem.to_owned(),
                None => name
                    .rsplit_once('.')
                    .map_or(name, |(stem, _)| stem)
                    .to_owned(),
            }
        };
        if self.first.format == Format::Diffusers {
            return names::base(&self.path).into();
        }
        let own = stem(&self.path);
        let above = names::base(folder(&self.path));
        if PLAIN_NAMES.contains(&own.as_str()) && !above.is_empty() {
            above.into()
        } else {
            own.into()
        }
    }

    /// Whether tensors are declared that the files do not have.
    pub(super) fn is_truncated(&self) -> bool {
        let truncated = |found: &Arc<Description>| found.flaws.contains(&Flaw::TruncatedData);
        self.headers.iter().any(truncated)
    }

    /// The weights as they are stored. Nothing tells how many of them lie on the GPU, nor whether they are converted, so
    /// that the part begins at nothing. Other formats are compiled into something of another size.
    pub(super) fn weights(&self, model: &Model) -> Option<Segment<Estimated<Bytes>>> {
        let from = self.from("tensor sizes");
        let stored = match self.first.format {
            Format::Safetensors | Format::Pytorch | Format::Diffusers => self.tensor_bytes(),
            Format::Ggml | Format::Ggmf | Format::Ggjt => self.sizes.iter().copied().sum(),
            _ => return None,
        };
        let bytes = match stored {
            Some(stored) => Reading::Known(Estimated {
                low: Bytes(0),
                high: Bytes(stored),
                method: Method::StoredTensors,
                from,
            }),
            None => Reading::missing(Gap::InputMissing, from),
        };
        Some(Segment {
            model_id: model.id.clone(),
            kind: SegmentKind::Weights,
            bytes,
            placement: Placement::Unknown,
            device_index: None,
            inputs: vec![(
                "assumed",
                "as stored in the file; how much is on the GPU is unknown".into(),
            )],
        })
    }

    fn tensor_bytes(&self) -> Option<u64> {
        let total = self.index.as_ref().and_then(|index| index.tensor_bytes);
        if total.is_some() {
            return total;
        }
        if self.missing > 0 || self.headers.is_empty() {
            return None;
        }
        self.headers.iter().map(|header| header.tensor_bytes).sum()
    }
}

const fn kind(kind: Kind) -> ModelKind {
    match kind {
        Kind::Llm => ModelKind::Llm,
        Kind::Speech => ModelKind::Speech,
        Kind::Diffusion => ModelKind::Diffusion,
        Kind::Adapter => ModelKind::Adapter,
        _ => ModelKind::Unknown,
    }
}
