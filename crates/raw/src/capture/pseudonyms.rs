//! Stable stand-ins for names: equal names get equal stand-ins within one capture, and questions
//! asked with stand-ins can be translated back while recording.

mod components;
mod system_paths;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::format::Redaction;
use super::vocabulary;
pub(super) use components::quantization;
use components::{extension, is_kept, is_library, is_model_extension, split_suffix};
pub(super) use components::{has_known_extension, has_model_extension};

/// The stand-ins of one capture.
pub struct Pseudonyms {
    key: RandomState,
    level: Redaction,
    originals: HashMap<String, String>,
}

impl Pseudonyms {
    /// An empty set with a random key, so that stand-ins cannot be compared between captures.
    pub fn new(level: Redaction) -> Self {
        Self {
            key: RandomState::new(),
            level,
            originals: HashMap::new(),
        }
    }

    /// The level these stand-ins are for.
    pub const fn level(&self) -> Redaction {
        self.level
    }

    fn digest(&self, text: &str) -> String {
        format!("{:010x}", self.key.hash_one(text) & 0xff_ffff_ffff)
    }

    fn stand_in(&mut self, prefix: &str, original: &str, suffix: &str) -> String {
        let stand_in = format!("{prefix}{}{suffix}", self.digest(original));
        self.originals.insert(stand_in.clone(), original.to_owned());
        stand_in
    }

    /// A free word: a user or host name, a label.
    pub fn word(&mut self, prefix: &str, word: &str) -> String {
        self.stand_in(prefix, word, "")
    }

    /// The hexadecimal digits of an identifier, replaced one by one so that its form stays.
    pub fn hexadecimal(&self, identifier: &str) -> String {
        let mut digits = String::new();
        let mut round = 0_u32;
        identifier
            .chars()
            .map(|c| {
                if !c.is_ascii_hexdigit() {
                    return c;
                }
                if digits.is_empty() {
                    digits = self.digest(&format!("{round} {identifier}"));
                    round += 1;
                }
                digits.pop().unwrap_or(c)
            })
            .collect()
    }

    /// The same of an identifier that questions are asked with.
    pub fn identifier(&mut self, identifier: &str) -> String {
        let stand_in = self.hexadecimal(identifier);
        self.originals
            .insert(stand_in.clone(), identifier.to_owned());
        stand_in
    }

    /// Letters derived from a text, to overwrite it with.
    pub fn letters(&self, text: &str) -> String {
        format!("f{}", self.digest(text))
    }

    /// A path, absolute or relative, or a bare file name.
    pub fn path(&mut self, path: &str) -> String {
        self.components(path, Self::last)
    }

    /// The path of a folder: its last component is a folder too, however much it looks like a file.
    pub fn folder(&mut self, path: &str) -> String {
        self.components(path, Self::middle)
    }

    fn components(
        &mut self,
        path: &str,
        mut last: impl FnMut(&mut Self, &str, bool) -> String,
    ) -> String {
        let (path, deleted) = undeleted(path);
        let mut system = system_paths::kept_components(path);
        let mut parts: Vec<String> = Vec::new();
        let mut components = path.split('/').peekable();
        while let Some(component) = components.next() {
            let is_system = system > 0;
            system = system.saturating_sub(1);
            parts.push(if components.peek().is_none() {
                last(self, component, is_system)
            } else {
                self.middle(component, is_system)
            });
        }
        parts.join("/") + deleted
    }

    fn middle(&mut self, component: &str, system: bool) -> String {
        // The folder of a repository in a cache: whose it is and its name, as the name of a file tells it.
        let repository = component.strip_prefix("models--");
        let readable = self.level != Redaction::Strict;
        if system
            || is_kept(component)
            || vocabulary::is_program(component)
            || (readable && repository.is_some())
        {
            component.to_owned()
        } else if let Some(half) = vocabulary::half_known(component, || self.digest(component)) {
            self.originals.insert(half.clone(), component.to_owned());
            half
        } else if repository.is_some() {
            self.stand_in("models--d", component, "")
        } else {
            self.stand_in("d", component, "")
        }
    }

    fn last(&mut self, name: &str, system: bool) -> String {
        if is_library(name) || is_kept(name) || vocabulary::is_program(name) {
            return name.to_owned();
        }
        let strict = self.level == Redaction::Strict;
        if let Some(hash) = formats::names::content_hash(name) {
            if !strict {
                return name.to_owned();
            }
            let prefix = name.strip_suffix(hash).unwrap_or("");
            let stand_in = format!("{prefix}{}", self.hexadecimal(hash));
            self.originals.insert(stand_in.clone(), name.to_owned());
            return stand_in;
        }
        let Some(extension) = extension(name) else {
            // Without a known extension it may as well be a folder, such as somebody's home.
            return self.middle(name, system);
        };
        // Backslashes separate folders elsewhere.
        let readable = !strict && !name.contains('\\');
        if readable || (system && !is_model_extension(extension)) {
            return name.to_owned();
        }
        if !is_model_extension(extension)
            && let Some(half) = vocabulary::half_known(name, || self.digest(name))
        {
            self.originals.insert(half.clone(), name.to_owned());
            return half;
        }
        let (stem, suffix) = split_suffix(name);
        let quantization = quantization(stem).map_or(String::new(), |label| format!("-{label}"));
        // The stand-in is of the stem, so that the parts of a split model stay together; the map
        // back needs the whole name.
        let stand_in = format!("f{}{quantization}{suffix}", self.digest(stem));
        self.originals.insert(stand_in.clone(), name.to_owned());
        stand_in
    }

    /// Translates a path made of stand-ins back, component by component.
    pub fn restore(&self, path: &str) -> String {
        let (path, deleted) = undeleted(path);
        let restored: Vec<&str> = path
            .split('/')
            .map(|component| {
                self.originals
                    .get(component)
                    .map_or(component, String::as_str)
            })
            .collect();
        restored.join("/") + deleted
    }
}

/// What the kernel appends to the path of a file that is gone.
fn undeleted(path: &str) -> (&str, &str) {
    match path.strip_suffix(" (deleted)") {
        Some(rest) => (rest, " (deleted)"),
        None => (path, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_become_stand_ins_and_come_back() {
        let mut names = Pseudonyms::new(Redaction::Paths);
        let redacted = names.path("/home/alice/models/secret project/llama-Q4_K_M.gguf");
        assert!(
            !redacted.contains("alice") && !redacted.contains("secret"),
            "{redacted}"
        );
        assert!(redacted.starts_with("/home/d") && redacted.ends_with("/llama-Q4_K_M.gguf"));
        assert_eq!(
            names.restore(&redacted),
            "/home/alice/models/secret project/llama-Q4_K_M.gguf"
        );
    }

    #[test]
    fn strict_hides_file_names_but_keeps_quantization_and_part_numbers() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        let first = names.path("/m/acme-q4_k_m-00001-of-00002.gguf");
        let second = names.path("/m/acme-q4_k_m-00002-of-00002.gguf");
        assert!(!first.contains("acme"), "{first}");
        assert!(first.ends_with("-Q4_K_M-00001-of-00002.gguf"), "{first}");
        assert_eq!(first.replace("00001-of", "00002-of"), second);
        assert_eq!(names.restore(&second), "/m/acme-q4_k_m-00002-of-00002.gguf");
    }

    #[test]
    fn libraries_and_system_paths_stay_readable() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        for path in ["/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/proc/self/maps"] {
            assert_eq!(names.path(path), path);
        }
        let own = names.path("/home/bob/app/libllama.so");
        assert!(
            own.ends_with("/app/libllama.so") && !own.contains("bob"),
            "{own}"
        );
    }

    #[test]
    fn a_model_below_usr_is_hidden_in_strict() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        assert!(
            !names
                .path("/usr/local/acme/acme-7b.gguf")
                .contains("acme-7b")
        );
    }

    #[test]
    fn paths_composed_of_stand_ins_are_restored() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        let folder = names.path("/srv/alice/");
        let file = names.path("tuned.gguf");
        assert_eq!(
            names.restore(&format!("{folder}{file}")),
            "/srv/alice/tuned.gguf"
        );
    }

    #[test]
    fn a_folder_at_the_end_is_hidden_and_blobs_stay_blobs() {
        let mut names = Pseudonyms::new(Redaction::Paths);
        assert!(!names.path("/home/alice").contains("alice"));
        assert!(!names.path("/home/alice/.secret-project").contains("secret"));
        let hash = format!("sha256-{}", "0123456789abcdef".repeat(4));
        assert_eq!(names.path(&hash), hash);
        let mut names = Pseudonyms::new(Redaction::Strict);
        let hidden = names.path(&hash);
        assert!(hidden.starts_with("sha256-") && hidden != hash && hidden.len() == hash.len());
        assert_eq!(names.restore(&hidden), hash);
    }

    #[test]
    fn identifiers_keep_their_form() {
        let names = Pseudonyms::new(Redaction::Paths);
        let uuid = "GPU-4080bbbb-1111-4222-8333-444455556666";
        let hidden = names.hexadecimal(uuid.strip_prefix("GPU-").unwrap());
        assert_eq!(hidden.len(), uuid.len() - 4);
        assert_ne!(hidden, uuid[4..]);
        assert_eq!(hidden, names.hexadecimal(&uuid[4..]));
    }

    #[test]
    fn a_folder_with_a_dot_is_hidden_like_any_other() {
        let mut names = Pseudonyms::new(Redaction::Paths);
        for path in ["/home/john.doe", "/home/alice/upstage.solar-10b"] {
            let hidden = names.path(path);
            assert!(hidden.starts_with("/home/d"), "{hidden}");
            assert!(!hidden.contains("doe") && !hidden.contains("solar"));
            assert_eq!(names.restore(&hidden), path);
        }
        assert!(!names.folder("/home/john.py").contains("john"));
        assert!(names.path("/home/alice/notes.txt").ends_with("/notes.txt"));
    }

    #[test]
    fn only_a_library_s_name_makes_a_library() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        for name in ["libcuda.so", "libcuda.so.580.95.05", "a.dll", "b.dylib"] {
            assert_eq!(names.path(name), name);
        }
        for name in [
            "m.sorensen",
            "upstage.solar-10b.gguf",
            "x.so-zorgon",
            "x.so.1.zorgon",
            "alice:zorgon.so",
            "zorgon.so.",
        ] {
            let hidden = names.path(name);
            assert!(!hidden.contains(&name[..name.len() - 5]), "{hidden}");
            assert_eq!(names.restore(&hidden), name);
        }
    }

    #[test]
    fn below_the_system_s_folders_names_stay_and_elsewhere_not() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        for path in [
            "/usr/bin/python3.11",
            "/usr/lib/python3/dist-packages/torch/lib/libtorch.so",
            "/nix/store/abc-cuda-12.4/lib/x.txt",
            "/run/opengl-driver/lib/libcuda.so.1",
            "/dev/nvidia0",
            "/dev/nvidia-caps/nvidia-cap1",
            "/dev/dri/renderD128",
            "/dev/pts/3",
            "/dev/shm",
            "/dev/zero (deleted)",
            "/proc/self/maps",
        ] {
            assert_eq!(names.path(path), path);
        }
        for path in [
            "/usr/local/google/home/zorgon/x.txt",
            "/usr/share/models/zorgon.gguf",
            "/usr/lib/../../home/zorgon",
            "/usr/lib/x:/home/zorgon/y",
            "/usr/libzorgon/x",
            "/proc/7/root/home/zorgon/x",
            "/proc/7/cwd/zorgon/x",
            "/dev/shm/zorgon",
            "/dev/nvidia-zorgon",
            "/dev/pts/zorgon",
            "/opt/zorgon/y",
        ] {
            let hidden = names.path(path);
            assert!(!hidden.contains("zorgon"), "{hidden}");
            assert_eq!(names.restore(&hidden), path);
        }
    }

    #[test]
    fn a_deleted_file_s_path_is_restored_too() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        let hidden = names.path("/m/zorgon.gguf (deleted)");
        assert!(hidden.ends_with(".gguf (deleted)"), "{hidden}");
        assert_eq!(names.restore(&hidden), "/m/zorgon.gguf (deleted)");
    }
}
