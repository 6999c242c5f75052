//! Ollama's server: starts of runners, and what its own engine of 0.11 to 0.29 allocates.

use super::LineKind;
use super::scan::{Fields, digits, name, number, path, size, word};
use super::{Field, llama};

pub(super) fn keep(text: &str) -> Option<(LineKind, Fields)> {
    if !text.contains("msg=") {
        return None;
    }
    let message = value(text, "msg")?;
    if message.starts_with("starting ") {
        return runner(&value(text, "cmd")?);
    }
    match &*message {
        "offload" | "offload to cuda" | "offload to gpu" => estimate(text),
        _ => {
            let kind = BUFFERS.iter().find(|(said, _)| *said == message)?.1;
            let device = ["buffer_type", "device", "backend"]
                .iter()
                .find_map(|key| value(text, key));
            let device = device.map_or_else(|| "none".to_owned(), |device| llama::device(&device));
            let mut fields = vec![word(kind), word(&device)];
            fields.extend(size(&value(text, "size")?)?.0);
            Some((LineKind::EngineBuffer, fields))
        }
    }
}

const BUFFERS: [(&str, &str); 4] = [
    ("model weights", "weights"),
    ("kv cache", "cache"),
    ("compute graph", "graph"),
    ("total memory", "total"),
];

/// `cmd="/usr/bin/ollama runner --model /…/blobs/sha256-… --port 39001"`.
fn runner(command: &str) -> Option<(LineKind, Fields)> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let behind = |flag: &str| {
        let at = words.iter().position(|word| *word == flag)?;
        words.get(at + 1).copied()
    };
    let model = behind("--model")?;
    let (port, rest) = number(behind("--port")?)?;
    if !rest.is_empty() {
        return None;
    }
    Some((LineKind::Runner, vec![path(model)?, digits(port)]))
}

/// `memory.required.full="2.4 GiB" … memory.required.kv="112.0 MiB"`: said before anything was allocated.
fn estimate(text: &str) -> Option<(LineKind, Fields)> {
    let mut fields = Vec::new();
    for (key, kind) in [
        ("memory.required.full", "full"),
        ("memory.required.kv", "kv"),
    ] {
        let found = value(text, key)?;
        fields.push(word(kind));
        fields.extend(size(&found)?.0);
    }
    Some((LineKind::EngineEstimate, fields))
}

/// The value of `key=value` or `key="value"`; `\"` within is a quote.
fn value(text: &str, key: &str) -> Option<String> {
    let mut rest = text;
    let found = loop {
        let at = rest.find(key)?;
        let (before, from) = rest.split_at_checked(at)?;
        let behind = from.get(key.len()..)?;
        if let Some(value) = behind.strip_prefix('=')
            && (before.is_empty() || before.ends_with(' '))
        {
            break value;
        }
        rest = behind;
    };
    let Some(quoted) = found.strip_prefix('"') else {
        return found.split_whitespace().next().map(str::to_owned);
    };
    let mut value = String::new();
    let mut signs = quoted.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '"' => return Some(value),
            '\\' => value.extend(signs.next()),
            sign => value.push(sign),
        }
    }
    None
}

/// A name of a model as a field, for servers that print it in a message.
pub(super) fn named(text: &str) -> Option<Field> {
    name(text.trim_matches(['\'', '"', ',']).trim_end_matches("..."))
}
