//! What a model's name hints at. A hint changes neither kind nor evidence nor any size.

use model::{ModelKind, Text};

/// Names of decision models, as words of a longer name.
const DECISION: &[&str] = &["openjev", "laya", "julia-1", "lev", "kev"];

/// The kind that a model's names hint at: those of its files, of the folders right above them, and what stores call
/// it. Whose it is and its tag in a registry say nothing of what it is.
pub(super) fn kind_hint(paths: &[Text], store_names: &[Text]) -> Option<ModelKind> {
    let of_path = |path: &Text| {
        let mut last = path.rsplit('/');
        let (file, folder) = (last.next(), last.next());
        file.into_iter().chain(folder).any(is_decision)
    };
    let hits = paths.iter().any(of_path) || store_names.iter().any(|name| is_decision(model(name)));
    hits.then_some(ModelKind::Decision)
}

/// The part of a store's name that names the model: without registry, owner and tag.
fn model(name: &str) -> &str {
    let name = match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => name,
    };
    let Some((first, rest)) = name.split_once('/') else {
        return name;
    };
    match rest.split_once('/') {
        // A registry before the owner.
        Some((_, rest)) if first.contains('.') => rest,
        _ => rest,
    }
}

/// Whether one of the words stands in `name`, between delimiters or its ends.
fn is_decision(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = |rest: Option<char>| rest.is_none_or(|c| "-_. /".contains(c));
    DECISION.iter().any(|word| {
        name.match_indices(word).any(|(at, _)| {
            let before = name.get(..at).and_then(|it| it.chars().next_back());
            let after = name.get(at + word.len()..).and_then(|it| it.chars().next());
            ends(before) && ends(after)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_name_hints_and_a_part_of_a_word_does_not() {
        let hint = |path: &str| kind_hint(&[path.into()], &[]).is_some();
        for path in [
            "/m/kev.gguf",
            "/m/LEV-7b-Q4_K_M.gguf",
            "/m/my_openjev_v2.gguf",
            "/m/julia-1.gguf",
            "/m/julia-1-small.gguf",
            "/m/laya 2.gguf",
            "/m/kev-models/a.gguf",
            "kev.gguf",
        ] {
            assert!(hint(path), "{path}");
        }
        for path in [
            "/m/kevin.gguf",
            "/m/clever-7b.gguf",
            "/m/level.gguf",
            "/m/julia-12.gguf",
            "/m/julia.gguf",
            "/m/layabout.gguf",
            "/kev/models/a.gguf",
            "/home/kev/x/y/a.gguf",
            "/m/kevin-7b/a.gguf",
        ] {
            assert!(!hint(path), "{path}");
        }
    }

    #[test]
    fn neither_an_owner_nor_a_tag_hints() {
        let hint = |name: &str| kind_hint(&[], &[name.into()]).is_some();
        for name in [
            "kev:latest",
            "org/kev:8b",
            "org/kev-7b/model.gguf",
            "hf.co/org/kev-GGUF:Q4_0",
        ] {
            assert!(hint(name), "{name}");
        }
        for name in [
            "llama3:kev",
            "kev/llama3:8b",
            "kev/name/model.gguf",
            "hf.co/kev/x:Q4_0",
            "kevin:1b",
        ] {
            assert!(!hint(name), "{name}");
        }
    }
}
