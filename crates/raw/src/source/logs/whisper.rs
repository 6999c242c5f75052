//! whisper.cpp. Its `MB` are 10^6 bytes.

use super::scan::{Fields, after, path, quoted_to_end, size, word};
use super::{LineKind, llama};

pub(super) fn keep(text: &str) -> Option<(LineKind, Fields)> {
    let at = text.find("whisper_")?;
    let text = text.get(at..)?;
    if text.contains(": loading model from '") {
        let path = path(quoted_to_end(text, ": loading model from ")?)?;
        return Some((LineKind::WhisperLoading, vec![path]));
    }
    if let Some(rest) = after(text, "_init_gpu: using ") {
        let (name, rest) = rest.split_once(' ')?;
        let is_it = rest.starts_with("backend");
        return is_it.then(|| (LineKind::WhisperDevice, vec![word(&llama::device(name))]));
    }
    let (function, said) = text.split_once(':')?;
    if function == "whisper_model_load" {
        return weights(said);
    }
    let (what, amount) = said.split_once('=')?;
    let (size, _) = size(amount)?;
    let what: Vec<&str> = what.split_whitespace().collect();
    let (kind, which) = match what.as_slice() {
        ["kv", which, "size"] => (LineKind::WhisperCache, *which),
        ["compute", "buffer", which] => (
            LineKind::WhisperCompute,
            which.strip_prefix('(')?.strip_suffix(')')?,
        ),
        _ => return None,
    };
    let which = PARTS.iter().find(|part| **part == which)?;
    let mut fields = vec![word(which)];
    fields.extend(size);
    Some((kind, fields))
}

const PARTS: [&str; 6] = ["self", "cross", "pad", "conv", "encode", "decode"];

/// `CUDA0 total size =  1533.14 MB`; before: `model size    =  1533.14 MB`.
fn weights(said: &str) -> Option<(LineKind, Fields)> {
    let (what, amount) = said.split_once('=')?;
    let what: Vec<&str> = what.split_whitespace().collect();
    let device = match what.as_slice() {
        [device, "total", "size"] => llama::device(device),
        ["model", "size"] => "none".to_owned(),
        _ => return None,
    };
    let mut fields = vec![word(&device)];
    fields.extend(size(amount)?.0);
    Some((LineKind::WhisperWeights, fields))
}
