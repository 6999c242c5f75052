//! Where a file lies, by its path alone.

use model::Text;

/// Folders in which ComfyUI and its like keep models, by what these are for.
const COMFY_FOLDERS: &[&str] = &[
    "checkpoints",
    "clip",
    "clip_vision",
    "controlnet",
    "diffusion_models",
    "embeddings",
    "loras",
    "style_models",
    "text_encoders",
    "unet",
    "upscale_models",
    "vae",
    "Stable-diffusion",
    "Lora",
    "VAE",
];

/// Where Ollama keeps its models when it runs as a service.
const OLLAMA_SERVICES: &[&str] = &[
    "/usr/share/ollama/.ollama/models",
    "/var/lib/ollama/.ollama/models",
    "/var/lib/ollama/models",
    "/root/.ollama/models",
];

/// Where a file lies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Place<'a> {
    /// The path tells the name.
    Named(Text),
    /// `STORE/blobs/sha256-HEX` of Ollama.
    Ollama { store: &'a str, digest: &'a str },
    /// `STORE/blobs/sha256/HEX` or `STORE/bundles/sha256/HEX/model/FILE` of Docker Model Runner; the second is the
    /// digest of the model.
    Docker { store: &'a str, digest: &'a str },
    /// `models--ORG--NAME/blobs/HASH` of Hugging Face's cache.
    CacheBlob { repository: &'a str, hash: &'a str },
    /// A file in a folder of llama.cpp's downloads.
    LlamaCache { folder: &'a str, file: &'a str },
}

/// Where the file at `path` lies, if that is a store's.
pub(super) fn place(path: &str) -> Option<Place<'_>> {
    let (folder, file) = path.rsplit_once('/')?;
    if let Some(store) = folder.strip_suffix("/blobs") {
        let named = file
            .strip_prefix("sha256-")
            .or_else(|| file.strip_prefix("sha256:"));
        if let Some(digest) = named.filter(|it| is_digest(it)) {
            return Some(Place::Ollama { store, digest });
        }
        let is_cache = last(store).starts_with("models--") && is_hash(file);
        return is_cache.then_some(Place::CacheBlob {
            repository: store,
            hash: file,
        });
    }
    if let Some(store) = folder.strip_suffix("/blobs/sha256") {
        let digest = file;
        return is_digest(digest).then_some(Place::Docker { store, digest });
    }
    if let Some((store, inside)) = path.split_once("/bundles/sha256/")
        && let Some((digest, _)) = inside.split_once("/model/")
        && is_digest(digest)
    {
        return Some(Place::Docker { store, digest });
    }
    if last(folder) == "llama.cpp" {
        return Some(Place::LlamaCache { folder, file });
    }
    named(path).map(|name| Place::Named(name.into()))
}

/// The name that a path tells by itself.
fn named(path: &str) -> Option<String> {
    // Without rights to make links, the cache holds the files themselves.
    if let Some((repository, inside)) = path.split_once("/snapshots/")
        && last(repository).starts_with("models--")
        && let Some((_, file)) = inside.split_once('/')
    {
        return Some(format!("{}/{file}", repository_name(repository)));
    }
    for root in ["/.lmstudio/models/", "/.cache/lm-studio/models/"] {
        if let Some((_, inside)) = path.split_once(root) {
            // PUBLISHER/REPOSITORY/FILE; anything else is no model of LM Studio's.
            return (inside.split('/').count() == 3).then(|| inside.to_owned());
        }
    }
    if let Some((_, inside)) = path.split_once("/llamacpp/models/") {
        return inside.rsplit_once('/').map(|(id, _)| id.to_owned());
    }
    let (folder, file) = path.rsplit_once('/')?;
    if folder.ends_with("/nomic.ai/GPT4All") {
        return Some(
            file.rsplit_once('.')
                .map_or(file, |(stem, _)| stem)
                .to_owned(),
        );
    }
    let (_, inside) = path.split_once("/models/")?;
    let (role, _) = inside.split_once('/')?;
    COMFY_FOLDERS.contains(&role).then(|| inside.to_owned())
}

/// `ORG/NAME` of a folder `models--ORG--NAME`.
pub(super) fn repository_name(folder: &str) -> Text {
    let name = last(folder);
    let name = name.strip_prefix("models--").unwrap_or(name);
    name.replacen("--", "/", 1).into()
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_hash(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && is_hash(text)
}

/// Where else stores may be, by the environment of the process.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(in crate::models) struct Homes {
    ollama: Vec<Text>,
    /// Where llama.cpp was told to keep its downloads.
    llama: Option<Text>,
}

impl Homes {
    /// By a NUL-separated environment; without one, where services keep theirs.
    pub(in crate::models) fn of(environment: Option<&str>) -> Self {
        let value = |wanted: &str| {
            let mut entries = environment.unwrap_or("").split('\0');
            let value = entries.find_map(|it| it.strip_prefix(wanted)?.strip_prefix('='))?;
            let value = value.trim_end_matches('/');
            value.starts_with('/').then_some(value)
        };
        let own = value("OLLAMA_MODELS").map(Text::from);
        let home = value("HOME").map(|home| format!("{home}/.ollama/models").into());
        let services = OLLAMA_SERVICES.iter().map(|it| Text::from(*it));
        let mut ollama: Vec<Text> = own.into_iter().chain(home).collect();
        for service in services {
            if !ollama.contains(&service) {
                ollama.push(service);
            }
        }
        let llama = value("LLAMA_CACHE").map(Text::from);
        Self { ollama, llama }
    }

    /// Where the file at `path` lies, which the path alone may not tell.
    pub(super) fn place<'a>(&self, path: &'a str) -> Option<Place<'a>> {
        let (folder, file) = path.rsplit_once('/')?;
        let is_cache = self.llama.as_deref() == Some(folder);
        place(path).or_else(|| is_cache.then_some(Place::LlamaCache { folder, file }))
    }

    /// Stores of Ollama, most likely first.
    pub(super) fn ollama(&self) -> &[Text] {
        &self.ollama
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_downloads_is_known_by_the_environment() {
        let homes = Homes::of(Some("LLAMA_CACHE=/data/ai/\0HOME=/h\0"));
        let (folder, file) = ("/data/ai", "org_repo_a.gguf");
        let expected = Some(Place::LlamaCache { folder, file });
        assert_eq!(homes.place("/data/ai/org_repo_a.gguf"), expected);
        assert_eq!(homes.place("/data/ai/below/org_repo_a.gguf"), None);
        assert_eq!(Homes::of(None).place("/data/ai/org_repo_a.gguf"), None);
    }

    #[test]
    fn a_path_tells_whose_store_it_is_in() {
        let digest = "ab".repeat(32);
        let hash = "cd".repeat(20);
        let ollama = |store| {
            let digest = &digest;
            Some(Place::Ollama { store, digest })
        };
        let docker = || {
            let (store, digest) = ("/h/.docker/models", &*digest);
            Some(Place::Docker { store, digest })
        };
        let name = |name: &str| Some(Place::Named(name.into()));
        for (path, expected) in [
            (
                format!("/h/.ollama/models/blobs/sha256-{digest}"),
                ollama("/h/.ollama/models"),
            ),
            (format!("/big/blobs/sha256:{digest}"), ollama("/big")),
            (format!("/h/.docker/models/blobs/sha256/{digest}"), docker()),
            (
                format!("/h/.docker/models/bundles/sha256/{digest}/model/model.gguf"),
                docker(),
            ),
            (
                format!("/h/hub/models--org--some--name/blobs/{hash}"),
                Some(Place::CacheBlob {
                    repository: "/h/hub/models--org--some--name",
                    hash: &hash,
                }),
            ),
            (
                "C:/h/hub/models--org--name/snapshots/c0ffee/q4/a.gguf".into(),
                name("org/name/q4/a.gguf"),
            ),
            (
                "/h/.lmstudio/models/pub/repo-GGUF/a.gguf".into(),
                name("pub/repo-GGUF/a.gguf"),
            ),
            ("/h/.lmstudio/models/a.gguf".into(), None),
            (
                "/h/.local/share/Jan/data/llamacpp/models/org/id/model.gguf".into(),
                name("org/id"),
            ),
            (
                "/h/.local/share/nomic.ai/GPT4All/Phi-3.gguf".into(),
                name("Phi-3"),
            ),
            (
                "/srv/ComfyUI/models/checkpoints/sdxl/base.safetensors".into(),
                name("checkpoints/sdxl/base.safetensors"),
            ),
            (
                "/h/.cache/llama.cpp/org_repo_a.gguf".into(),
                Some(Place::LlamaCache {
                    folder: "/h/.cache/llama.cpp",
                    file: "org_repo_a.gguf",
                }),
            ),
            ("/models/a.gguf".into(), None),
            (format!("/x/blobs/{digest}"), None),
            ("/x/blobs/sha256-short".into(), None),
            ("a.gguf".into(), None),
        ] {
            assert_eq!(place(&path), expected, "{path}");
        }
        assert_eq!(
            &*repository_name("/h/models--org--some--name"),
            "org/some--name"
        );
    }

    #[test]
    fn the_environment_of_the_process_says_where_models_are_kept() {
        let homes = Homes::of(Some("HOME=/home/u/\0OLLAMA_MODELS=/big/models\0X=y\0"));
        assert_eq!(&*homes.ollama()[0], "/big/models");
        assert_eq!(&*homes.ollama()[1], "/home/u/.ollama/models");
        let homes = Homes::of(Some("OLLAMA_MODELS=relative\0"));
        assert_eq!(&*homes.ollama()[0], OLLAMA_SERVICES[0]);
    }
}
