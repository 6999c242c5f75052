//! What a source other than the kernel says of a model: a server, a log, an application's settings.
//!
//! A claim names its model in the source's own terms and is joined to a model by one rule only, that of
//! what it names. A claim that nothing else supports becomes a model of its own.

use model::{
    Bytes, Evidence, EvidenceKind, ModelEvent, ModelKind, Placement, Reading, Reported, Said,
    SegmentKind, Stamp, Text,
};

/// How a source names a model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Named {
    /// A file, by its path as the process sees it.
    File(Text),
    /// An identifier of the source's own: joined to a model that a store calls exactly that.
    Id(Text),
    /// The one model of the process, whichever that is; joined to none where there are several.
    TheOnly,
}

/// One source's word on one model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Claim {
    pub(super) named: Named,
    /// The evidence that it is; `None` for words about a model that do not show that it is there.
    pub(super) kind: Option<EvidenceKind>,
    /// Where the source said it.
    pub(super) detail: Text,
    pub(super) at: Stamp,
    /// What the source says of the model.
    pub(super) about: About,
}

impl Claim {
    /// The evidence that it is.
    pub(super) fn evidence(&self) -> Option<Evidence> {
        Some(Evidence {
            kind: self.kind?,
            detail: self.detail.clone(),
            at: self.at,
        })
    }
}

/// What a source says of a model beside that it exists.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct About {
    /// What to call a model that has no file.
    pub(super) name: Option<Text>,
    /// Kind, where the source knows it; the file's header goes before.
    pub(super) kind: Option<ModelKind>,
    /// Context in use, in tokens of one slot.
    pub(super) context: Option<Reported<u64>>,
    /// Sizes of its parts.
    pub(super) parts: Vec<Part>,
    /// Loads and unloads, oldest first.
    pub(super) events: Vec<ModelEvent>,
    /// What else it says.
    pub(super) said: Vec<Said>,
    /// A contradiction that the source knows of, as a sentence.
    pub(super) conflict: Option<Text>,
    /// Why a log's sizes are not used.
    pub(super) log_unused: Option<Text>,
    /// The source has several models and does not say whose which is: it counts only where it is joined.
    pub(super) must_join: bool,
}

/// A part of a model's memory as a source reports it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) kind: SegmentKind,
    pub(super) bytes: Reading<Reported<Bytes>>,
    pub(super) placement: Placement,
    pub(super) device_index: Option<u32>,
    pub(super) inputs: Vec<(&'static str, Text)>,
}

/// A model as far as a claim has to know it.
pub(super) struct Target<'a> {
    /// Every path that evidence names it by.
    pub(super) paths: &'a [Text],
    /// What stores call it.
    pub(super) store_names: &'a [Text],
}

impl Named {
    /// Whether this names `target`, one of `of` models of the process.
    pub(super) fn is(&self, target: &Target<'_>, of: usize) -> bool {
        match self {
            Self::File(path) => target.paths.contains(path),
            Self::Id(id) => target.store_names.contains(id),
            Self::TheOnly => of == 1,
        }
    }

    /// What to call a model that only this names.
    pub(super) fn label(&self) -> Option<Text> {
        match self {
            Self::File(path) => Some(path.rsplit('/').next().unwrap_or(path).into()),
            Self::Id(id) => Some(id.clone()),
            Self::TheOnly => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(of: &[&str]) -> Vec<Text> {
        of.iter().map(|text| Text::from(*text)).collect()
    }

    #[test]
    fn a_claim_joins_by_what_it_names_and_by_nothing_else() {
        let paths = texts(&["/models/a.gguf", "/blobs/sha256-abab"]);
        let store_names = texts(&["llama3.2:3b"]);
        let target = Target {
            paths: &paths,
            store_names: &store_names,
        };
        for (named, joins) in [
            (Named::File("/models/a.gguf".into()), true),
            (Named::File("/other/a.gguf".into()), false),
            (Named::Id("llama3.2:3b".into()), true),
            (Named::Id("llama3.2".into()), false),
            (Named::Id("a.gguf".into()), false),
        ] {
            assert_eq!(named.is(&target, 1), joins, "{named:?}");
        }
    }

    #[test]
    fn the_only_model_is_none_of_several() {
        let target = Target {
            paths: &[],
            store_names: &[],
        };
        assert!(Named::TheOnly.is(&target, 1));
        assert!(!Named::TheOnly.is(&target, 2));
    }
}
