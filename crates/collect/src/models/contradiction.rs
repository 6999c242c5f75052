//! Two sources of one process that cannot both be right.

use model::{Evidence, EvidenceKind, Model, ModelKind};

/// Flags that name a file which is loaded beside the model that a server names.
const BESIDE: &[&str] = &["--model-draft", "--mmproj", "--lora"];

/// A server of one model names a file that it has not mapped, while it has another model mapped.
///
/// Both files have to be known by their inode: a path may lead to the same file, or to none that is visible here.
pub(super) fn named_but_not_mapped(models: &mut [Model]) {
    let has = |model: &Model, kind: EvidenceKind| {
        model.evidence.iter().any(|evidence| evidence.kind == kind)
    };
    let is_known = |model: &Model| model.size_on_disk.value().is_some();
    let is_beside = |evidence: &Evidence| BESIDE.contains(&&*evidence.detail);
    let mapped = models.iter().find(|model| {
        has(model, EvidenceKind::Mapped)
            && !has(model, EvidenceKind::Api)
            && is_known(model)
            && !matches!(model.kind, ModelKind::Projector | ModelKind::Adapter)
            && !model.evidence.iter().any(is_beside)
    });
    let mapped = mapped.and_then(|model| model.path.value()).cloned();
    let named = models.iter_mut().find(|model| {
        has(model, EvidenceKind::Api)
            && !has(model, EvidenceKind::Mapped)
            && !has(model, EvidenceKind::Open)
            && is_known(model)
    });
    let (Some(mapped), Some(model)) = (mapped, named) else {
        return;
    };
    let Some(path) = model.path.value().cloned() else {
        return;
    };
    let sentence = || format!("the server names {path}, but the process has {mapped} mapped");
    model.conflict.get_or_insert_with(|| sentence().into());
}
