//! Evidence about files, alone and put together.

use std::collections::{BTreeMap, BTreeSet};

use model::EvidenceLabel;
use proptest::prelude::*;
use raw::{ProcessRef, Question, Reply, Script, Synthetic};

use super::*;

#[test]
fn models_are_recognised_by_extension_or_as_blobs() {
    let hash = "a".repeat(64);
    for path in [
        "/m/a.gguf".to_owned(),
        "/m/A.GGUF".to_owned(),
        format!("/home/u/.ollama/models/blobs/sha256-{hash}"),
        format!("/home/u/.cache/huggingface/hub/models--x/blobs/{hash}"),
    ] {
        assert!(may_be_model(&path), "{path}");
    }
    for path in [
        "/m/a.gguf.part",
        "/usr/lib/libcuda.so.1",
        "/m/gguf",
        "/dev/nvidia0",
    ] {
        assert!(!may_be_model(path), "{path}");
    }
}

#[test]
fn parts_of_a_split_model_share_a_stem() {
    assert_eq!(
        shard_stem("/m/x-00001-of-00002.gguf"),
        shard_stem("/m/x-00002-of-00002.gguf")
    );
    assert_ne!(
        shard_stem("/a/x-00001-of-00002.gguf"),
        shard_stem("/b/x-00001-of-00002.gguf")
    );
    assert_eq!(shard_stem("/m/x.gguf"), None);
}

#[test]
fn files_beyond_the_most_that_are_looked_at_are_counted_each_once() {
    let named = |number: usize| Candidate {
        path: format!("/m/{number}.gguf").into(),
        kind: EvidenceKind::CommandLine,
        detail: "".into(),
        at: Stamp {
            mono_ns: 0,
            wall_us: 0,
        },
        deleted: false,
    };
    let key = ProcessKey {
        space: model::PidSpace::Local,
        pid: 7,
        start_ticks: None,
    };
    for (names, kept, beyond) in [
        ((0..32).collect::<Vec<_>>(), 32, 0),
        ((0..40).collect(), 32, 8),
        // Named again, which tells of no other file.
        ((0..32).chain(0..5).collect(), 32, 0),
        ((0..34).chain(30..34).collect(), 32, 2),
    ] {
        let (looked_at, others) = bounded(names.into_iter().map(named).collect());
        assert_eq!((looked_at.len(), others), (kept, beyond));
        let notice = left_out(others, key);
        assert_eq!(notice.is_some(), beyond > 0);
        if let Some(notice) = notice {
            assert!(
                notice.text.starts_with(&format!("{beyond} more files")),
                "{}",
                notice.text
            );
        }
    }
}

#[test]
fn a_deleted_files_path_is_no_evidence_of_what_lies_there_now_whoever_names_it() {
    let named = |kind, path: &str, deleted| Candidate {
        path: path.into(),
        kind,
        detail: "".into(),
        at: Stamp {
            mono_ns: 0,
            wall_us: 0,
        },
        deleted,
    };
    let mut candidates = [
        named(EvidenceKind::Api, "/m/a.gguf", false),
        named(EvidenceKind::Mapped, "/m/a.gguf", true),
        named(EvidenceKind::CommandLine, "/m/a.gguf", false),
        named(EvidenceKind::CommandLine, "/m/b.gguf", false),
    ];
    spread_deletion(&mut candidates);
    assert_eq!(candidates.map(|one| one.deleted), [true, true, true, false]);
}

/// Files by path: the first three are one file, the fifth is gone.
const PATHS: [&str; 5] = [
    "/m/a.gguf",
    "/m/other name.gguf",
    "/m/blobs/sha256-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "/m/b.gguf",
    "/m/gone.gguf",
];

const HEADER: &[u8] =
    include_bytes!("../../../../gguf/fixtures/headers/tiny-llama-f16.header.gguf");

/// A machine with those files, which answers at once, and tells files apart or not.
struct Disk {
    has_numbers: bool,
}

impl Script for Disk {
    fn now(&self) -> Stamp {
        NOW
    }

    fn post(&mut self, question: &Question) -> Result<Reply, Gap> {
        let value = match question {
            Question::Stat { path, .. } => {
                let number = PATHS.iter().position(|it| **path == **it);
                let ino = match number {
                    Some(0..=2) => 1,
                    Some(3) => 2,
                    _ => return Err(Gap::NotPresent),
                };
                Reply::Meta(FileMeta {
                    dev: self.has_numbers.then_some(1),
                    ino: self.has_numbers.then_some(ino),
                    size: 1 << 40,
                    mtime_ns: Some(0),
                })
            }
            Question::File { offset, len, .. } => {
                let from = usize::try_from(*offset).unwrap().min(HEADER.len());
                let to = (from + usize::try_from(*len).unwrap()).min(HEADER.len());
                Reply::Bytes(HEADER[from..to].into())
            }
            Question::SkipStrings {
                offset,
                count,
                length_bytes,
                big_endian,
                ..
            } => {
                let mut file = HEADER;
                let end =
                    gguf::skip_strings(&mut file, *offset, *count, *length_bytes, *big_endian);
                Reply::End(end.map_err(|_| Gap::Malformed)?)
            }
            _ => return Err(Gap::NotPresent),
        };
        Ok(value)
    }
}

const NOW: Stamp = Stamp {
    mono_ns: 1,
    wall_us: 0,
};

/// The models that these candidates make: label and evidence by the paths that name them.
type Models = BTreeMap<BTreeSet<Text>, (EvidenceLabel, BTreeSet<(EvidenceKind, Text)>)>;

fn models(candidates: Vec<Candidate>) -> Models {
    let root = Root::Process(ProcessRef {
        pid: 7,
        start_ticks: 9,
    });
    let (mut files, mut disk) = (Files::default(), Synthetic::new(Disk { has_numbers: true }));
    files.begin();
    let gathered = gather(&mut files, &mut disk, root, candidates, NOW);
    let found = gathered.into_iter().map(|one| {
        let label = EvidenceLabel::of(one.evidence.iter().map(|it| it.kind));
        let evidence = one.evidence.into_iter().map(|it| (it.kind, it.detail));
        (one.paths.into_iter().collect(), (label, evidence.collect()))
    });
    found.collect()
}

fn candidate(may_be_deleted: bool) -> impl Strategy<Value = Candidate> {
    let kind = proptest::sample::select(EvidenceKind::ALL);
    (0..PATHS.len(), kind, 0..3_u8, any::<bool>()).prop_map(move |(path, kind, detail, deleted)| {
        Candidate {
            path: PATHS[path].into(),
            kind,
            detail: format!("detail {detail}").into(),
            at: NOW,
            deleted: deleted && may_be_deleted,
        }
    })
}

proptest! {
    #[test]
    fn neither_order_nor_repetition_of_candidates_matters(
        (some, shuffled) in proptest::collection::vec(candidate(true), 0..12)
            .prop_flat_map(|some| (Just(some.clone()), Just(some).prop_shuffle())),
    ) {
        let once = models(some.clone());
        prop_assert_eq!(&models(shuffled.clone()), &once);
        let twice = [some, shuffled].concat();
        prop_assert_eq!(&models(twice), &once);
    }

    /// Two sources say together at least what each says alone.
    #[test]
    fn another_source_never_lowers_a_label_nor_takes_evidence_away(
        one in proptest::collection::vec(candidate(false), 0..10),
        other in proptest::collection::vec(candidate(false), 0..10),
    ) {
        let both = models([one.clone(), other].concat());
        for (paths, (label, evidence)) in models(one) {
            let same = both.iter().filter(|(more, _)| paths.is_subset(more));
            let same: Vec<_> = same.map(|(_, found)| found).collect();
            prop_assert_eq!(same.len(), 1, "{:?}", paths);
            prop_assert!(same[0].0 >= label);
            prop_assert!(evidence.is_subset(&same[0].1));
        }
    }

    /// What several paths lead to is one model, and different files are never one.
    #[test]
    fn files_are_joined_by_what_they_are_and_not_by_their_names(
        some in proptest::collection::vec(candidate(false), 0..12),
    ) {
        let named: BTreeSet<Text> = some.iter().map(|it| it.path.clone()).collect();
        let found = models(some);
        let all: Vec<Text> = found.keys().flatten().cloned().collect();
        prop_assert_eq!(all.len(), named.len(), "each path once");
        for paths in found.keys() {
            let is_first = |path: &Text| PATHS[..3].contains(&&**path);
            prop_assert!(paths.len() == 1 || paths.iter().all(is_first), "{:?}", paths);
        }
    }
}

#[test]
fn files_of_a_size_are_two_where_the_system_does_not_number_them() {
    let root = Root::Host;
    let (mut files, mut disk) = (
        Files::default(),
        Synthetic::new(Disk { has_numbers: false }),
    );
    files.begin();
    let named = |path: &str| Candidate {
        path: path.into(),
        kind: EvidenceKind::CommandLine,
        detail: "-m".into(),
        at: NOW,
        deleted: false,
    };
    let both = vec![named("/m/a.gguf"), named("/m/b.gguf"), named("/m/a.gguf")];
    let found = gather(&mut files, &mut disk, root, both, NOW);
    let paths: Vec<&str> = found.iter().map(|one| &*one.path).collect();
    assert_eq!(paths, ["/m/a.gguf", "/m/b.gguf"]);
    assert!(found.iter().all(|one| one.look.outcome.is_ok()));
    // Each file is read for itself.
    assert_eq!(files.headers_known(), 2);
}
