//! What single components of paths tell: known folders, extensions, libraries, quantizations.

/// Path components that say nothing about a person and are needed to recognise stores, runtimes, and what makes up a
/// model.
const KEPT: &[&str] = &[
    "",
    ".",
    "..",
    ".cache",
    ".docker",
    ".lmstudio",
    ".local",
    ".ollama",
    "ComfyUI",
    "GPT4All",
    "Jan",
    "adapter_model.safetensors",
    "app",
    "bin",
    "blobs",
    "bundles",
    "cache",
    "checkpoints",
    "config.json",
    "controlnet",
    "data",
    "dev",
    "diffusion_models",
    "diffusion_pytorch_model.safetensors",
    "dist-packages",
    "etc",
    "hf.co",
    "home",
    "hub",
    "huggingface",
    "image_encoder",
    "lib",
    "lib64",
    "library",
    "llama.cpp",
    "llamacpp",
    "lm-studio",
    "local",
    "loras",
    "manifests",
    "media",
    "mnt",
    "model",
    "model.safetensors",
    "model_index.json",
    "models",
    "nix",
    "nomic.ai",
    "ollama",
    "opt",
    "proc",
    "pytorch_model.bin",
    "registry.ollama.ai",
    "root",
    "run",
    "sbin",
    "sha256",
    "share",
    "site-packages",
    "snap",
    "snapshots",
    "srv",
    "store",
    "sys",
    "text_encoder",
    "text_encoder_2",
    "text_encoder_3",
    "text_encoders",
    "tmp",
    "torch",
    "transformer",
    "transformer_2",
    "unet",
    "usr",
    "vae",
    "var",
    "weights",
    "workspace",
];

/// Extensions of files that hold models.
const MODEL_EXTENSIONS: &[&str] = &[
    "bin",
    "ckpt",
    "engine",
    "ggml",
    "gguf",
    "h5",
    "llamafile",
    "onnx",
    "plan",
    "pt",
    "pth",
    "safetensors",
    "tflite",
];

/// Other extensions of files. What follows a dot and is none of these may be part of a name.
const EXTENSIONS: &[&str] = &[
    "avi", "bash", "blend", "bz2", "c", "cc", "cfg", "conf", "cpp", "cpu", "crt", "csv", "cu",
    "cubin", "db", "dll", "dylib", "exe", "fatbin", "flac", "gbnf", "gif", "gz", "h", "hpp", "htm",
    "html", "ini", "ipynb", "jar", "jinja", "jpeg", "jpg", "js", "json", "jsonl", "key", "lock",
    "log", "lz4", "md", "mjs", "mkv", "mov", "mp3", "mp4", "npy", "npz", "ogg", "parquet", "pb",
    "pdf", "pem", "pid", "pkl", "png", "ptx", "py", "pyc", "rs", "sh", "sock", "sql", "sqlite",
    "tar", "tgz", "tiktoken", "tmp", "toml", "ts", "tsv", "txt", "vocab", "wav", "webm", "webp",
    "whl", "xml", "xz", "yaml", "yml", "zip", "zst",
];

/// Labels of quantizations that stay readable in a file name, longest first.
const QUANTIZATIONS: &[&str] = &[
    "IQ2_XXS", "IQ3_XXS", "Q2_K_S", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_S",
    "Q5_K_M", "Q4_K_XL", "IQ2_XS", "IQ3_XS", "IQ4_XS", "IQ4_NL", "IQ1_S", "IQ1_M", "IQ2_S",
    "IQ2_M", "IQ3_S", "IQ3_M", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q2_K", "Q6_K", "Q4_0", "Q4_1",
    "Q5_0", "Q5_1", "Q8_0", "BF16", "F16", "F32",
];

pub(super) fn is_kept(component: &str) -> bool {
    KEPT.contains(&component)
}

/// What follows the last dot, where files are known to end like that; not the name of a hidden file.
pub(super) fn extension(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    let known = is_model_extension(extension)
        || EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str());
    (known && !stem.is_empty()).then_some(extension)
}

pub(super) fn is_model_extension(extension: &str) -> bool {
    MODEL_EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
}

/// Whether a text ends like the name of a file.
pub(in crate::capture) fn has_known_extension(text: &str) -> bool {
    extension(text).is_some() || is_library(text)
}

/// Whether a text ends like the name of a model's file.
pub(in crate::capture) fn has_model_extension(text: &str) -> bool {
    extension(text).is_some_and(is_model_extension)
}

/// `x.so`, `x.so.1.2`, `x.dll`, `x.dylib`.
pub(super) fn is_library(name: &str) -> bool {
    if name.contains(|c: char| c.is_whitespace() || ":=,;@\\".contains(c)) {
        return false;
    }
    let version = |text: &str| {
        text.split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    let shared = name.rsplit_once(".so").is_some_and(|(stem, rest)| {
        !stem.is_empty() && (rest.is_empty() || rest.strip_prefix('.').is_some_and(version))
    });
    shared || extension(name).is_some_and(|e| e == "dll" || e == "dylib")
}

/// The quantization that a file's name tells.
pub(in crate::capture) fn quantization(stem: &str) -> Option<&'static str> {
    let upper = stem.to_ascii_uppercase();
    QUANTIZATIONS
        .iter()
        .find(|label| upper.contains(*label))
        .copied()
}

/// Splits `name-00001-of-00003.gguf` into `name` and the rest, and `name.gguf` into `name` and
/// `.gguf`.
pub(super) fn split_suffix(name: &str) -> (&str, &str) {
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
