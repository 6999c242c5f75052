//! Stable stand-ins for names: equal names get equal stand-ins within one capture, and questions
//! asked with stand-ins can be translated back while recording.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::format::Redaction;

/// Path components that say nothing about a person and are needed to recognise stores and runtimes.
const KEPT_COMPONENTS: &[&str] = &[
    "",
    ".",
    "..",
    ".cache",
    ".lmstudio",
    ".local",
    ".ollama",
    "app",
    "bin",
    "blobs",
    "cache",
    "data",
    "dev",
    "dist-packages",
    "etc",
    "home",
    "hub",
    "huggingface",
    "lib",
    "lib64",
    "library",
    "lm-studio",
    "manifests",
    "media",
    "mnt",
    "model",
    "models",
    "nix",
    "opt",
    "ollama",
    "proc",
    "root",
    "run",
    "sbin",
    "share",
    "site-packages",
    "snap",
    "snapshots",
    "srv",
    "store",
    "sys",
    "tmp",
    "usr",
    "var",
    "weights",
    "workspace",
];

/// Prefixes below which everything belongs to the system.
const SYSTEM_PREFIXES: &[&str] = &[
    "/usr/",
    "/lib/",
    "/lib64/",
    "/bin/",
    "/sbin/",
    "/proc/",
    "/sys/",
    "/dev/",
    "/nix/store/",
];

/// Labels of quantizations that stay readable in a file name, longest first.
const QUANTIZATIONS: &[&str] = &[
    "IQ2_XXS", "IQ3_XXS", "Q2_K_S", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_S",
    "Q5_K_M", "Q4_K_XL", "IQ2_XS", "IQ3_XS", "IQ4_XS", "IQ4_NL", "IQ1_S", "IQ1_M", "IQ2_S",
    "IQ2_M", "IQ3_S", "IQ3_M", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q2_K", "Q6_K", "Q4_0", "Q4_1",
    "Q5_0", "Q5_1", "Q8_0", "BF16", "F16", "F32",
];

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

    /// Letters derived from a text, to overwrite it with.
    pub fn letters(&self, text: &str) -> String {
        format!("f{}", self.digest(text))
    }

    /// A path, absolute or relative, or a bare file name.
    pub fn path(&mut self, path: &str) -> String {
        let (path, deleted) = match path.strip_suffix(" (deleted)") {
            Some(rest) => (rest, " (deleted)"),
            None => (path, ""),
        };
        let system = SYSTEM_PREFIXES
            .iter()
            .any(|prefix| path.starts_with(prefix));
        let mut parts: Vec<String> = Vec::new();
        let mut components = path.split('/').peekable();
        while let Some(component) = components.next() {
            let is_file = components.peek().is_none();
            parts.push(if is_file {
                self.file_name(component, system)
            } else if system || KEPT_COMPONENTS.contains(&component) {
                component.to_owned()
            } else {
                self.stand_in("d", component, "")
            });
        }
        parts.join("/") + deleted
    }

    fn file_name(&mut self, name: &str, system: bool) -> String {
        let library = extension(name).is_some_and(|e| e == "dll" || e == "dylib");
        if library || name.contains(".so") || KEPT_COMPONENTS.contains(&name) {
            return name.to_owned();
        }
        if let Some(hash) = content_hash(name) {
            if self.level != Redaction::Strict {
                return name.to_owned();
            }
            let prefix = name.strip_suffix(hash).unwrap_or("");
            let stand_in = format!("{prefix}{}", self.hexadecimal(hash));
            self.originals.insert(stand_in.clone(), name.to_owned());
            return stand_in;
        }
        let Some(extension) = extension(name) else {
            // Without an extension it may as well be a folder, such as somebody's home.
            return if system {
                name.to_owned()
            } else {
                self.stand_in("d", name, "")
            };
        };
        if self.level != Redaction::Strict || (system && !is_model_extension(extension)) {
            return name.to_owned();
        }
        let (stem, suffix) = split_suffix(name);
        let quantization = QUANTIZATIONS
            .iter()
            .find(|label| stem.to_ascii_uppercase().contains(*label))
            .map_or(String::new(), |label| format!("-{label}"));
        // The stand-in is of the stem, so that the parts of a split model stay together; the map
        // back needs the whole name.
        let stand_in = format!("f{}{quantization}{suffix}", self.digest(stem));
        self.originals.insert(stand_in.clone(), name.to_owned());
        stand_in
    }

    /// Translates a path made of stand-ins back, component by component.
    pub fn restore(&self, path: &str) -> String {
        let restored: Vec<&str> = path
            .split('/')
            .map(|component| {
                self.originals
                    .get(component)
                    .map_or(component, String::as_str)
            })
            .collect();
        restored.join("/")
    }
}

/// What follows the last dot; not the name of a hidden file or a sentence.
fn extension(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    let short = (1..=11).contains(&extension.len()) && !extension.contains(char::is_whitespace);
    (short && !stem.is_empty()).then_some(extension)
}

/// The hexadecimal digits of a name that is the hash of its content, as stores name their blobs.
fn content_hash(name: &str) -> Option<&str> {
    let digits = name.strip_prefix("sha256-").unwrap_or(name);
    (digits.len() >= 40 && digits.bytes().all(|b| b.is_ascii_hexdigit())).then_some(digits)
}

fn is_model_extension(extension: &str) -> bool {
    [
        "gguf",
        "safetensors",
        "onnx",
        "bin",
        "pt",
        "pth",
        "engine",
        "plan",
        "ckpt",
    ]
    .contains(&extension.to_ascii_lowercase().as_str())
}

/// Splits `name-00001-of-00003.gguf` into `name` and the rest, and `name.gguf` into `name` and
/// `.gguf`.
fn split_suffix(name: &str) -> (&str, &str) {
    let stem_end = name.rfind('.').filter(|dot| *dot > 0).unwrap_or(name.len());
    let stem = name.get(..stem_end).unwrap_or(name);
    let numbered = stem
        .len()
        .checked_sub("-00001-of-00001".len())
        .filter(|at| {
            stem.get(*at..).is_some_and(|tail| {
                tail.bytes()
                    .zip(*b"-00000-of-00000")
                    .all(|(byte, form)| match form {
                        b'0' => byte.is_ascii_digit(),
                        other => byte == other,
                    })
            })
        });
    name.split_at_checked(numbered.unwrap_or(stem_end))
        .unwrap_or((name, ""))
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
}
