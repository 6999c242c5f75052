//! What is read of model stores, seen through stand-ins.

use model::{Gap, Stamp, Text};
use raw::capture::{RedactingMachine, Redaction};
use raw::{
    Folder, FolderEntry, FolderEntryKind, Machine, ManifestEntry, ManifestForm, ProcessRef,
    Question, Reply, Root, Script, Synthetic,
};

use crate::seen::{LEVELS, environment};

const WHO: ProcessRef = ProcessRef {
    pid: 7,
    start_ticks: 99,
};

const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Every folder has one entry; every manifest one layer.
struct Store {
    reply: Reply,
    asked: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
}

impl Script for Store {
    fn now(&self) -> Stamp {
        Stamp {
            mono_ns: 1,
            wall_us: 1,
        }
    }

    fn post(&mut self, question: &Question) -> Result<Reply, Gap> {
        Ok(match question {
            Question::Maps(_) => Reply::text(&format!(
                "1000-2000 r--s 0 08:01 7 /home/zorgon/models/blobs/sha256-{DIGEST}\n"
            )),
            Question::Folder { path, .. } | Question::Manifest { path, .. } => {
                self.asked.lock().unwrap().push(path.to_string());
                self.reply.clone()
            }
            _ => return Err(Gap::NotPresent),
        })
    }
}

type Asked = std::sync::Arc<std::sync::Mutex<Vec<String>>>;

fn store(level: Redaction, reply: Reply) -> (RedactingMachine<Synthetic<Store>>, Asked) {
    let asked = Asked::default();
    let machine = Synthetic::new(Store {
        reply,
        asked: asked.clone(),
    });
    (RedactingMachine::new(machine, level), asked)
}

fn entry(name: &str, kind: FolderEntryKind) -> Reply {
    let entries = Some(vec![FolderEntry {
        name: name.into(),
        kind,
    }]);
    Reply::Folder(Folder {
        mtime_ns: 1,
        entries,
    })
}

fn blob(machine: &mut impl Machine) -> String {
    let Reply::Bytes(maps) = machine.post(&Question::Maps(WHO)).unwrap().value else {
        panic!("no maps")
    };
    let text = String::from_utf8(maps.to_vec()).unwrap();
    text.trim().rsplit(' ').next().unwrap().to_owned()
}

fn first(reply: Reply) -> FolderEntry {
    match reply {
        Reply::Folder(folder) => folder.entries.unwrap().remove(0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_digest_of_a_manifest_is_that_of_the_blob_s_name_at_every_level() {
    for level in LEVELS {
        let (mut machine, asked) = store(
            level,
            Reply::Manifest(vec![ManifestEntry {
                names: vec!["zorgon/tuned:latest".into()],
                media_type: Some("application/vnd.ollama.image.model".into()),
                digests: vec![DIGEST.into()],
            }]),
        );
        let blob = blob(&mut machine);
        let (folder, name) = blob.rsplit_once('/').unwrap();
        let path: Text = folder.replace("/blobs", "/manifests/x").into();
        let question = Question::Manifest {
            root: Root::Process(WHO),
            path,
            form: ManifestForm::Ollama,
        };
        let Reply::Manifest(entries) = machine.post(&question).unwrap().value else {
            panic!("no manifest")
        };
        assert_eq!(name, format!("sha256-{}", entries[0].digests[0]));
        let media_type = entries[0].media_type.as_deref();
        assert_eq!(media_type, Some("application/vnd.ollama.image.model"));
        assert_eq!(asked.lock().unwrap()[0], "/home/zorgon/models/manifests/x");
        let strict = level == Redaction::Strict;
        assert_eq!(entries[0].names[0].contains("zorgon"), !strict);
        assert_eq!(entries[0].digests[0].contains(DIGEST), !strict);
    }
}

#[test]
fn what_is_no_type_of_a_layer_that_holds_weights_is_hidden_in_strict() {
    let (mut machine, _) = store(
        Redaction::Strict,
        Reply::Manifest(vec![ManifestEntry {
            names: Vec::new(),
            media_type: Some("application/vnd.ollama.image.zorgon".into()),
            digests: Vec::new(),
        }]),
    );
    let answer = machine.post(&Question::Manifest {
        root: Root::Host,
        path: "/m/manifests/x".into(),
        form: ManifestForm::Ollama,
    });
    assert!(!format!("{answer:?}").contains("zorgon"));
}

#[test]
fn names_of_a_registry_are_readable_below_strict_and_lead_back_at_every_level() {
    for level in LEVELS {
        let (mut machine, asked) = store(level, entry("zorgon", FolderEntryKind::Folder));
        let folder = |path: &str| Question::Folder {
            root: Root::Process(WHO),
            path: path.into(),
            known_ns: None,
        };
        let path = "/m/manifests/registry.ollama.ai/library";
        let name = first(machine.post(&folder(path)).unwrap().value).name;
        assert_eq!(&*name == "zorgon", level != Redaction::Strict, "{name}");
        machine.post(&folder(&format!("{path}/{name}"))).unwrap();
        assert_eq!(asked.lock().unwrap()[1], format!("{path}/zorgon"));
    }
}

#[test]
fn a_cache_s_folders_are_recognised_and_tell_whose_below_strict_only() {
    let to = format!("../../blobs/{DIGEST}");
    for level in LEVELS {
        let kind = FolderEntryKind::Link(to.as_str().into());
        let (mut machine, asked) = store(level, entry("zorgon-Q4_0.gguf", kind));
        let path = "/srv/hub/models--zorgon--x/snapshots/c1";
        let question = |path: &str| Question::Folder {
            root: Root::Host,
            path: path.into(),
            known_ns: Some(1),
        };
        let found = first(machine.post(&question(path)).unwrap().value);
        let FolderEntryKind::Link(link) = &found.kind else {
            panic!("{found:?}")
        };
        let strict = level == Redaction::Strict;
        assert_eq!(found.name.contains("zorgon"), !strict);
        assert!(found.name.ends_with("Q4_0.gguf"), "{}", found.name);
        assert!(link.starts_with("../../blobs/"), "{link}");
        assert_eq!(link.contains(DIGEST), !strict);
        assert_eq!(asked.lock().unwrap()[0], path);
    }
}

#[test]
fn anybody_s_folder_is_hidden() {
    for level in LEVELS {
        let (mut machine, asked) = store(level, entry("zorgon", FolderEntryKind::Folder));
        let question = |path: &str| Question::Folder {
            root: Root::Host,
            path: path.into(),
            known_ns: None,
        };
        let name = first(machine.post(&question("/srv/x")).unwrap().value).name;
        assert!(!name.contains("zorgon"), "{name}");
        machine.post(&question(&format!("/srv/x/{name}"))).unwrap();
        assert_eq!(asked.lock().unwrap()[1], "/srv/x/zorgon");
    }
}

#[test]
fn the_environment_tells_where_models_are_kept_and_not_whose_they_are() {
    for level in LEVELS {
        for name in [
            "HOME",
            "OLLAMA_MODELS",
            "XDG_CACHE_HOME",
            "HF_HOME",
            "HUGGINGFACE_HUB_CACHE",
        ] {
            let hidden = environment(level, &format!("{name}=/home/zorgon/.cache"));
            assert!(!hidden.contains("zorgon"), "{hidden}");
            assert!(hidden.starts_with(&format!("{name}=/home/d")), "{hidden}");
        }
    }
    let patterns = "LLAMA_ARG_OVERRIDE_TENSOR=zorgon=CPU";
    assert!(!environment(Redaction::Strict, patterns).contains("zorgon"));
}
