//! vLLM and `SGLang`: servers that reserve most of a device in advance.

use super::LineKind;
use super::ollama::named;
use super::scan::{Fields, after, digits, number, size, word};

pub(super) fn keep(text: &str) -> Option<(LineKind, Fields)> {
    vllm(text).or_else(|| sglang(text))
}

fn sized(text: &str, needle: &str, kind: LineKind) -> Option<(LineKind, Fields)> {
    Some((kind, size(after(text, needle)?)?.0))
}

fn vllm(text: &str) -> Option<(LineKind, Fields)> {
    if text.contains("Starting to load model ") {
        let name = after(text, "Starting to load model ")?;
        let name = named(name.split_whitespace().next()?)?;
        return Some((LineKind::ServingModel, vec![name]));
    }
    if text.contains("model weights take ") {
        return profile(text);
    }
    sized(text, "Model loading took ", LineKind::VllmWeights)
        .or_else(|| sized(text, "Loading model weights took ", LineKind::VllmWeights))
        .or_else(|| sized(text, "Available KV cache memory: ", LineKind::VllmCache))
        .or_else(|| {
            let (tokens, rest) = number(after(text, "GPU KV cache size: ")?)?;
            let is_it = rest.starts_with(" tokens");
            is_it.then(|| (LineKind::VllmTokens, vec![digits(tokens)]))
        })
        .or_else(|| {
            let rest = after(text, "Graph capturing finished in ")?;
            sized(rest, ", took ", LineKind::VllmGraphs)
        })
}

/// `model weights take 21.21GiB; non_torch_memory takes 0.20GiB; PyTorch activation peak memory takes 0.37GiB; the
/// rest of the memory reserved for KV Cache is 1.57GiB`: weights, then the others as kind and size.
fn profile(text: &str) -> Option<(LineKind, Fields)> {
    let mut fields = Vec::new();
    for (kind, needle) in [
        ("weights", "model weights take "),
        ("non_torch", "non_torch_memory takes "),
        ("activation", "PyTorch activation peak memory takes "),
        ("cache", "reserved for KV Cache is "),
    ] {
        fields.push(word(kind));
        fields.extend(size(after(text, needle)?)?.0);
    }
    Some((LineKind::VllmOther, fields))
}

fn sglang(text: &str) -> Option<(LineKind, Fields)> {
    if text.contains("Load weight end.") {
        return sized(text, "mem usage=", LineKind::SglangWeights);
    }
    if text.contains("cuda graph end.") {
        return sized(text, "mem usage=", LineKind::SglangGraphs);
    }
    let rest = after(text, "KV Cache is allocated.")?;
    let (tokens, _) = number(after(rest, "#tokens: ")?)?;
    let mut fields = vec![digits(tokens)];
    fields.extend(size(after(rest, "K size: ")?)?.0);
    fields.extend(size(after(rest, "V size: ")?)?.0);
    Some((LineKind::SglangPool, fields))
}
