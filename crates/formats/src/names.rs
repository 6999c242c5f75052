//! What names of files tell: which may be models, and which neighbours belong to them. A name never decides what a
//! file is where its first bytes can.

/// Extensions of model files, GGUF included.
const EXTENSIONS: &[&str] = &[
    "gguf",
    "safetensors",
    "onnx",
    "engine",
    "plan",
    "pt",
    "pth",
    "ckpt",
    "bin",
    "ggml",
    "tflite",
];

/// JSON files that describe models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFile {
    /// `config.json`.
    Config,
    /// `NAME.index.json` for weights in several files.
    Index,
    /// `model_index.json`.
    Diffusers,
}

/// The last component of a path.
pub fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a name ends in this extension, whatever its case.
pub fn has_extension(path: &str, extension: &str) -> bool {
    base(path)
        .rsplit_once('.')
        .is_some_and(|(stem, own)| !stem.is_empty() && own.eq_ignore_ascii_case(extension))
}

/// The hexadecimal digits of a name that is the hash of its content, as stores name their blobs.
pub fn content_hash(name: &str) -> Option<&str> {
    let digits = name
        .strip_prefix("sha256-")
        .or_else(|| name.strip_prefix("sha256:"))
        .unwrap_or(name);
    (digits.len() >= 40 && digits.bytes().all(|b| b.is_ascii_hexdigit())).then_some(digits)
}

/// Whether a file may be a model by its extension. Many that end in `.bin` are none: its first bytes tell.
pub fn may_be_model(path: &str) -> bool {
    EXTENSIONS
        .iter()
        .any(|extension| has_extension(path, extension))
}

/// Whether the extension belongs to models alone, so that a file which is none is worth a word.
pub fn claims_model(path: &str) -> bool {
    ["gguf", "safetensors", "onnx", "tflite"]
        .iter()
        .any(|extension| has_extension(path, extension))
}

/// Which JSON file it is.
pub fn json_file(path: &str) -> Option<JsonFile> {
    match base(path) {
        "config.json" => Some(JsonFile::Config),
        "model_index.json" => Some(JsonFile::Diffusers),
        name if name.ends_with(".index.json") => Some(JsonFile::Index),
        _ => None,
    }
}

/// A part of a model in several files: `STEM-00001-of-00003.safetensors`, counted from 1 (old `PyTorch` ones too).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// What stands before the number.
    pub stem: &'a str,
    /// Number of the part.
    pub number: u32,
    /// How many there are.
    pub count: u32,
    /// What follows the last dot.
    pub extension: &'a str,
}

impl<'a> Part<'a> {
    /// Takes the name of a part to pieces.
    pub fn parse(path: &'a str) -> Option<Self> {
        let (rest, extension) = base(path).rsplit_once('.')?;
        let (rest, count) = rest.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        let digits = |text: &str| -> Option<u32> {
            let plain = text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
            if plain { text.parse().ok() } else { None }
        };
        let (number, count) = (digits(number)?, digits(count)?);
        (!stem.is_empty() && (1..=count).contains(&number)).then_some(Self {
            stem,
            number,
            count,
            extension,
        })
    }

    /// The name of the index that lists all parts.
    pub fn index(&self) -> String {
        format!("{}.{}.index.json", self.stem, self.extension)
    }

    /// The name of another part.
    pub fn sibling(&self, number: u32) -> String {
        let Self {
            stem,
            count,
            extension,
            ..
        } = self;
        format!("{stem}-{number:05}-of-{count:05}.{extension}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_tell_what_may_be_a_model() {
        for path in [
            "/m/a.safetensors",
            "/m/A.ONNX",
            "x.pt",
            "a.b.plan",
            "/m/ggml-tiny.bin",
            "a.gguf",
        ] {
            assert!(may_be_model(path), "{path}");
        }
        for path in [
            "/m/a.so",
            "/m/safetensors",
            "/m/.onnx",
            "/m/a.bin/b",
            "/m/a.safetensors.lock",
            "",
        ] {
            assert!(!may_be_model(path), "{path}");
        }
        assert!(claims_model("a.onnx") && !claims_model("a.bin"));
    }

    #[test]
    fn parts_are_taken_to_pieces() {
        let part = Part::parse("/m/model-00002-of-00003.safetensors").unwrap();
        assert_eq!((part.stem, part.number, part.count), ("model", 2, 3));
        assert_eq!(part.index(), "model.safetensors.index.json");
        assert_eq!(part.sibling(3), "model-00003-of-00003.safetensors");
        for name in [
            "model.safetensors",
            "model-00004-of-00003.safetensors",
            "model-00000-of-00003.safetensors",
            "model-1-of-3.safetensors",
            "-00001-of-00001.bin",
            "a-00001-of-0000x.bin",
            "a-00001-of-00001",
        ] {
            assert_eq!(Part::parse(name), None, "{name}");
        }
    }
}
