//! Stores in memory: what is asked, how often, and what a file is called then.

use model::Gap;
use raw::{Folder, FolderEntry, ManifestEntry, ProcessRef, Question, Reply, Script, Synthetic};

use super::*;

const ROOT: Root = Root::Process(ProcessRef {
    pid: 7,
    start_ticks: 9,
});

/// A file system of folders and manifests. Every question waits for one refresh.
struct Disk {
    folders: BTreeMap<String, Folder>,
    manifests: BTreeMap<String, Vec<ManifestEntry>>,
    asked: Vec<Question>,
    now: Stamp,
    /// Every question put so far, answered or not.
    count: usize,
}

impl Disk {
    fn new() -> Synthetic<Self> {
        Synthetic::new(Self {
            folders: BTreeMap::new(),
            manifests: BTreeMap::new(),
            asked: Vec::new(),
            now: at(0),
            count: 0,
        })
    }

    fn add(&mut self, path: &str, kind: FolderEntryKind) {
        let (folder, name) = path.rsplit_once('/').unwrap();
        let is_new = !self.folders.contains_key(folder);
        let known = self.folders.entry(folder.to_owned()).or_insert(Folder {
            mtime_ns: 0,
            entries: Some(Vec::new()),
        });
        let entries = known.entries.as_mut().unwrap();
        if entries.iter().all(|entry| &*entry.name != name) {
            known.mtime_ns += 1;
            let name = name.into();
            entries.push(FolderEntry { name, kind });
        }
        if is_new && !folder.is_empty() {
            self.add(folder, FolderEntryKind::Folder);
        }
    }

    fn layer(&mut self, path: &str, media_type: &str, digest: &str) {
        self.add(path, FolderEntryKind::File);
        self.manifests
            .entry(path.to_owned())
            .or_default()
            .push(ManifestEntry {
                names: Vec::new(),
                media_type: Some(media_type.into()),
                digests: vec![digest.into()],
            });
    }
}

fn at(second: u64) -> Stamp {
    Stamp {
        mono_ns: second * 1_000_000_000,
        wall_us: 0,
    }
}

impl Script for Disk {
    fn now(&self) -> Stamp {
        self.now
    }
    fn post(&mut self, question: &Question) -> Result<Reply, Gap> {
        self.count += 1;
        if !self.asked.contains(question) {
            self.asked.push(question.clone());
            return Err(Gap::Pending);
        }
        self.asked.retain(|known| known != question);
        let value = match question {
            Question::Folder { path, known_ns, .. } => {
                let mut folder = self.folders.get(&**path).cloned().ok_or(Gap::NotPresent)?;
                if *known_ns == Some(folder.mtime_ns) {
                    folder.entries = None;
                }
                Reply::Folder(folder)
            }
            Question::Manifest { path, .. } => {
                let known = self.manifests.get(&**path);
                Reply::Manifest(known.cloned().ok_or(Gap::NotPresent)?)
            }
            _ => return Err(Gap::NotPresent),
        };
        Ok(value)
    }
}

/// The names at this second, asked until nothing is outstanding.
fn names(
    stores: &mut Stores,
    disk: &mut Synthetic<Disk>,
    path: &str,
    homes: &Homes,
    second: u64,
) -> Vec<String> {
    for step in 0..20 {
        stores.begin();
        disk.now = Stamp {
            mono_ns: at(second).mono_ns + step,
            wall_us: 0,
        };
        let now = disk.now;
        let found = stores.names_of(disk, ROOT, &[path.into()], homes, now);
        stores.end();
        if !stores.is_waiting() {
            return found.iter().map(ToString::to_string).collect();
        }
    }
    panic!("still waiting");
}

const MODEL: &str = "application/vnd.ollama.image.model";

#[test]
fn a_blob_of_many_tags_has_all_their_names_the_shortest_first() {
    let digest = "ab".repeat(32);
    let mut disk = Disk::new();
    let manifests = "/h/.ollama/models/manifests";
    for tag in [
        "registry.ollama.ai/library/llama3.2/latest",
        "registry.ollama.ai/library/llama3.2/3b",
        "registry.ollama.ai/me/tuned/v1",
        "hf.co/org/name-GGUF/Q4_K_M",
    ] {
        disk.layer(&format!("{manifests}/{tag}"), MODEL, &digest);
    }
    let other = format!("{manifests}/registry.ollama.ai/library/other/1b");
    disk.layer(&other, MODEL, &"cd".repeat(32));
    // The same digest as something that is no model.
    let licence = format!("{manifests}/registry.ollama.ai/library/words/1b");
    disk.layer(&licence, "application/vnd.ollama.image.license", &digest);
    let path = format!("/h/.ollama/models/blobs/sha256-{digest}");
    let mut stores = Stores::default();
    let found = names(&mut stores, &mut disk, &path, &Homes::default(), 0);
    assert_eq!(
        found,
        [
            "llama3.2:3b",
            "me/tuned:v1",
            "llama3.2:latest",
            "hf.co/org/name-GGUF:Q4_K_M"
        ]
    );
}

#[test]
fn a_store_is_looked_through_once_a_minute_and_read_again_where_it_changed() {
    let digest = "ab".repeat(32);
    let mut disk = Disk::new();
    let library = "/m/manifests/registry.ollama.ai/library";
    disk.layer(&format!("{library}/a/1b"), MODEL, &digest);
    let path = format!("/m/blobs/sha256-{digest}");
    let mut stores = Stores::default();
    let homes = Homes::default();
    assert_eq!(names(&mut stores, &mut disk, &path, &homes, 0), ["a:1b"]);
    let asked = disk.count;
    disk.layer(&format!("{library}/a/x"), MODEL, &digest);
    assert_eq!(names(&mut stores, &mut disk, &path, &homes, 59), ["a:1b"]);
    assert_eq!(disk.count, asked, "nothing is asked within a minute");
    assert_eq!(
        names(&mut stores, &mut disk, &path, &homes, 61),
        ["a:x", "a:1b"]
    );
    // Four folders and the new manifest, each asked and answered; the old manifest is not read again.
    assert_eq!(disk.count - asked, 2 * (4 + 1));
}

#[test]
fn names_stay_while_they_are_looked_up_again() {
    let digest = "ab".repeat(32);
    let mut disk = Disk::new();
    disk.layer(
        "/m/manifests/registry.ollama.ai/library/a/1b",
        MODEL,
        &digest,
    );
    let path: Text = format!("/m/blobs/sha256-{digest}").into();
    let (mut stores, homes) = (Stores::default(), Homes::default());
    names(&mut stores, &mut disk, &path, &homes, 0);
    stores.begin();
    let found = stores.names_of(&mut disk, ROOT, &[path], &homes, at(100));
    assert!(stores.is_waiting());
    assert_eq!(found, [Text::from("a:1b")]);
}

#[test]
fn where_nothing_lies_beside_the_blob_the_environment_tells_where_to_look() {
    let digest = "ab".repeat(32);
    let mut disk = Disk::new();
    disk.layer(
        "/srv/o/manifests/registry.ollama.ai/library/a/1b",
        MODEL,
        &digest,
    );
    let path = format!("/disk/blobs/sha256-{digest}");
    let homes = Homes::of(Some("OLLAMA_MODELS=/srv/o\0"));
    let mut stores = Stores::default();
    assert_eq!(names(&mut stores, &mut disk, &path, &homes, 0), ["a:1b"]);
    let mut stores = Stores::default();
    let nowhere = names(&mut stores, &mut disk, &path, &Homes::default(), 0);
    assert!(nowhere.is_empty(), "{nowhere:?}");
}

#[test]
fn a_blob_of_the_hub_has_the_name_of_the_link_to_it() {
    let hash = "cd".repeat(32);
    let mut disk = Disk::new();
    let repository = "/h/hub/models--org--name-GGUF";
    let link = |hash: &str| FolderEntryKind::Link(format!("../../blobs/{hash}").into());
    disk.add(&format!("{repository}/snapshots/c1/a-Q4.gguf"), link(&hash));
    disk.add(&format!("{repository}/snapshots/c2/a-Q4.gguf"), link(&hash));
    let path = format!("{repository}/blobs/{hash}");
    let found = |disk: &mut Synthetic<Disk>| {
        let mut stores = Stores::default();
        names(&mut stores, disk, &path, &Homes::default(), 0)
    };
    // The only one of its repository goes by that name too.
    assert_eq!(
        found(&mut disk),
        ["org/name-GGUF", "org/name-GGUF/a-Q4.gguf"]
    );
    let other = link(&"ef".repeat(32));
    disk.add(&format!("{repository}/snapshots/c2/b/a-Q8.gguf"), other);
    assert_eq!(found(&mut disk), ["org/name-GGUF/a-Q4.gguf"]);
}

#[test]
fn docker_s_list_names_a_file_by_its_digest_and_a_bundle_by_the_models() {
    let (file, id) = ("ab".repeat(32), "cd".repeat(32));
    let mut disk = Disk::new();
    disk.manifests.insert(
        "/h/.docker/models/models.json".into(),
        vec![ManifestEntry {
            names: vec!["ai/smollm2:latest".into(), "ai/smollm2".into()],
            media_type: None,
            digests: vec![id.as_str().into(), file.as_str().into()],
        }],
    );
    for path in [
        format!("/h/.docker/models/blobs/sha256/{file}"),
        format!("/h/.docker/models/bundles/sha256/{id}/model/model.gguf"),
    ] {
        let mut stores = Stores::default();
        let found = names(&mut stores, &mut disk, &path, &Homes::default(), 0);
        assert_eq!(found, ["ai/smollm2", "ai/smollm2:latest"], "{path}");
    }
}

#[test]
fn a_download_of_llama_cpp_is_split_by_the_manifest_beside_it() {
    let mut disk = Disk::new();
    let folder = "/h/.cache/llama.cpp";
    for name in [
        "o_r_x_r-Q4.gguf",
        "manifest=o=r_x=latest.json",
        "manifest=o=other=latest.json",
    ] {
        disk.add(&format!("{folder}/{name}"), FolderEntryKind::File);
    }
    let mut stores = Stores::default();
    let path = format!("{folder}/o_r_x_r-Q4.gguf");
    let found = names(&mut stores, &mut disk, &path, &Homes::default(), 0);
    assert_eq!(found, ["o/r_x/r-Q4.gguf"]);
}

#[test]
fn a_store_of_very_many_models_is_looked_through_to_a_bound() {
    let digest = "ab".repeat(32);
    let mut disk = Disk::new();
    for number in 0..2 * MAX_MANIFESTS {
        let path = format!("/m/manifests/registry.ollama.ai/library/a/{number:05}");
        disk.layer(&path, MODEL, &digest);
    }
    let mut stores = Stores::default();
    let path = format!("/m/blobs/sha256-{digest}");
    let found = names(&mut stores, &mut disk, &path, &Homes::default(), 0);
    assert_eq!(found.len(), MAX_NAMES);
    assert!(disk.count <= 2 * (MAX_MANIFESTS + 4), "{}", disk.count);
}
