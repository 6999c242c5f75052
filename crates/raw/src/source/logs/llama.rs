//! llama.cpp, of 2023 to 2026, and what has it inside (koboldcpp, node-llama-cpp, Ollama's runners).
//!
//! Lines are told by what they say. The names of the functions before it change with every release.

use super::scan::{Fields, after, digits, number, path, quoted_to_end, size, word};
use super::{Field, LineKind};

/// A line and its rule.
type Rule = fn(&str) -> Option<(LineKind, Fields)>;

/// The rules by a text that the line must hold, so that few are tried on each line.
const RULES: &[(&str, Rule)] = &[
    ("buffer size", buffer),
    ("system_info: n_threads", |_| {
        Some((LineKind::Started, Vec::new()))
    }),
    ("loading model '", |text| {
        let path = path(quoted_to_end(text, "load_model: loading model ")?)?;
        Some((LineKind::Loading, vec![path]))
    }),
    ("loading draft model '", |text| {
        let path = path(quoted_to_end(text, ": loading draft model ")?)?;
        Some((LineKind::LoadingDraft, vec![path]))
    }),
    ("loaded meta data with ", header),
    ("no_alloc ", |text| {
        let value = setting(text, "no_alloc")?;
        Some((LineKind::NoAlloc, vec![value]))
    }),
    ("constructing llama_context", |_| {
        Some((LineKind::Context, Vec::new()))
    }),
    ("n_seq_max", |text| context(text, "n_seq_max")),
    ("n_ctx_seq", |text| context(text, "n_ctx_seq")),
    ("n_ctx_per_seq", |text| context(text, "n_ctx_per_seq")),
    ("n_ctx ", |text| context(text, "n_ctx")),
    ("n_batch", |text| context(text, "n_batch")),
    ("n_ubatch", |text| context(text, "n_ubatch")),
    (", K (", cache_types),
    ("is listening", listening),
    ("kv_unified", |text| context(text, "kv_unified")),
    ("initializing", slots),
    ("new slot", slot),
    ("offloaded ", offloaded),
    ("using device ", used_device),
    ("|   - ", memory_row),
    ("| - ", memory_row),
    ("server is entering sleeping state", |_| {
        Some((LineKind::Sleeping, Vec::new()))
    }),
    ("cleaning up before exit", |_| {
        Some((LineKind::Leaving, Vec::new()))
    }),
    ("mem required", |text| {
        sized(text, "mem required", LineKind::OldWeights)
    }),
    ("VRAM used", |text| {
        let found = sized(text, "VRAM used", LineKind::OldDeviceWeights)?;
        (!text.contains("total VRAM used")).then_some(found)
    }),
    ("kv self size", |text| {
        sized(text, "kv self size", LineKind::OldCache)
    }),
    ("VRAM kv self", |text| {
        sized(text, "VRAM kv self", LineKind::OldDeviceCache)
    }),
    ("compute buffer total size", |text| {
        sized(text, "compute buffer total size", LineKind::OldCompute)
    }),
    ("VRAM scratch buffer", |text| {
        sized(text, "VRAM scratch buffer", LineKind::OldDeviceCompute)
    }),
];

pub(super) fn keep(text: &str) -> Option<(LineKind, Fields)> {
    let rules = RULES.iter().filter(|(needle, _)| text.contains(needle));
    rules.into_iter().find_map(|(_, rule)| rule(text))
}

/// `mem required  =  140.86 MB`, `VRAM used: 4741.23 MB`.
fn sized(text: &str, needle: &str, kind: LineKind) -> Option<(LineKind, Fields)> {
    let rest = after(text, needle)?.trim_start();
    let rest = rest.strip_prefix(['=', ':'])?;
    Some((kind, size(rest)?.0))
}

/// `load_tensors:   CUDA0 model buffer size =  3500.00 MiB`, and without the word `model` in 2024.
fn buffer(text: &str) -> Option<(LineKind, Fields)> {
    let (before, behind) = text.split_once("buffer size")?;
    let (size, _) = size(behind.trim_start().strip_prefix('=')?)?;
    let mut words: Vec<&str> = Vec::new();
    let mut function = "";
    for word in before.split_whitespace().rev() {
        if word.ends_with(':') {
            function = word;
            break;
        }
        words.push(word);
        if words.len() > MAX_BUFFER_WORDS {
            return None;
        }
    }
    let (name, kinds) = words.split_last()?;
    // The projector's own buffer has the words of a context's.
    let is_projector = function.contains("clip") || function.contains("alloc_compute_meta");
    let kind = match kinds {
        _ if is_projector => "projector",
        [] | ["model"] => "model",
        kinds if kinds.contains(&"KV") => "KV",
        kinds if kinds.contains(&"RS") || kinds.contains(&"state") => "RS",
        ["compute"] => "compute",
        ["output"] => "output",
        ["LoRA"] => "LoRA",
        _ => return None,
    };
    let mut fields = vec![word(&device(name)), word(kind)];
    fields.extend(size);
    Some((LineKind::Buffer, fields))
}

/// Words between the function and `buffer size`: the device and what kind of buffer (`DSV4 … state`).
const MAX_BUFFER_WORDS: usize = 5;

/// Backends of ggml. What a line calls a device is kept only where it is one of these with a number and a suffix.
const BACKENDS: [&str; 21] = [
    "CUDA",
    "ROCm",
    "HIP",
    "MUSA",
    "Vulkan",
    "Kompute",
    "Metal",
    "MTL",
    "SYCL",
    "OpenCL",
    "GPUOpenCL",
    "CANN",
    "WebGPU",
    "OpenVINO",
    "HTP",
    "zDNN",
    "CPU",
    "BLAS",
    "AMX",
    "KleidiAI",
    "Host",
];

/// What may stand behind a backend's name and number.
const SUFFIXES: [&str; 10] = [
    "",
    "_Host",
    "_Mapped",
    "_Private",
    "_Split",
    "_REPACK",
    "_AARCH64",
    "_KLEIDIAI",
    "_AMX",
    "_HBM",
];

/// A device as it is kept: its name where it is a known backend's, `RPC` for one on another machine, else `other`.
pub(crate) fn device(name: &str) -> String {
    if name.starts_with("RPC") {
        // `RPC[192.168.1.5:50052]` holds an address.
        return "RPC".to_owned();
    }
    let known = BACKENDS.iter().any(|backend| {
        name.strip_prefix(backend).is_some_and(|rest| {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            SUFFIXES.contains(&rest)
        })
    });
    if known { name } else { "other" }.to_owned()
}

/// `llama_model_loader: loaded meta data with 28 key-value pairs and 39 tensors from PATH (version GGUF V3 (latest))`.
fn header(text: &str) -> Option<(LineKind, Fields)> {
    let rest = after(text, "loaded meta data with ")?;
    let (_, rest) = number(rest)?;
    let (_, rest) = number(rest.strip_prefix(" key-value pairs and ")?)?;
    let rest = rest.strip_prefix(" tensors from ")?;
    let (name, _) = rest.rsplit_once(" (version ")?;
    Some((LineKind::Header, vec![path(name)?]))
}

/// The value of a line `FUNCTION: KEY   = VALUE`.
fn setting(text: &str, key: &str) -> Option<Field> {
    let (before, value) = text.split_once('=')?;
    let mut words = before.split_whitespace().rev();
    if words.next()? != key || !words.next()?.ends_with(':') {
        return None;
    }
    value_of(value.trim())
}

/// A number, `true` or `false`, and nothing behind it.
fn value_of(value: &str) -> Option<Field> {
    match value.trim_matches('\'') {
        "true" => Some(word("true")),
        "false" => Some(word("false")),
        value => {
            let (found, rest) = number(value)?;
            rest.is_empty().then(|| digits(found))
        }
    }
}

fn context(text: &str, key: &str) -> Option<(LineKind, Fields)> {
    let value = setting(text, key)?;
    Some((LineKind::Setting, vec![word(key), value]))
}

/// `size =    4.00 MiB (  4096 cells, …), K (f16):    2.00 MiB, V (q8_0):    1.06 MiB`.
fn cache_types(text: &str) -> Option<(LineKind, Fields)> {
    let kind = |needle| {
        let name = after(text, needle)?.split_once("):")?.0;
        let name = gguf::kv::CacheType::from_name(name)?.name();
        Some(word(name))
    };
    Some((LineKind::CacheTypes, vec![kind(", K (")?, kind(", V (")?]))
}

/// `server is listening on http://127.0.0.1:8080 - starting the main loop`; before: `HTTP server is listening,
/// hostname: 127.0.0.1, port: 8080, http threads: 15`.
fn listening(text: &str) -> Option<(LineKind, Fields)> {
    let rest = after(text, "is listening")?;
    let port = match after(rest, " on http") {
        Some(address) => address.split_whitespace().next()?.rsplit_once(':')?.1,
        None => after(rest, "port: ")?,
    };
    let (port, _) = number(port)?;
    let is_port = port.parse::<u16>().is_ok();
    is_port.then(|| (LineKind::Listening, vec![digits(port)]))
}

/// `initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'true'`; before: `initializing slots, n_slots = 2`.
fn slots(text: &str) -> Option<(LineKind, Fields)> {
    let rest = after(text, "n_slots = ")?;
    let (count, rest) = number(rest)?;
    let mut fields = vec![digits(count)];
    if let Some(rest) = after(rest, "n_ctx_slot = ") {
        let (tokens, rest) = number(rest)?;
        fields.push(digits(tokens));
        fields.extend(after(rest, "kv_unified = ").and_then(|value| value_of(value.trim())));
    }
    Some((LineKind::Slots, fields))
}

/// `id  0 | task -1 | new slot, n_ctx = 2048`; before: `new slot n_ctx_slot = 2048`.
fn slot(text: &str) -> Option<(LineKind, Fields)> {
    let rest = after(text, "| new slot")?;
    let rest = rest
        .strip_prefix(", n_ctx = ")
        .or_else(|| rest.strip_prefix(" n_ctx_slot = "))?;
    let (tokens, rest) = number(rest)?;
    let is_whole = rest.trim().is_empty();
    is_whole.then(|| (LineKind::Slot, vec![digits(tokens)]))
}

/// `offloaded 2/5 layers to GPU`.
fn offloaded(text: &str) -> Option<(LineKind, Fields)> {
    let (count, rest) = number(after(text, "offloaded ")?)?;
    let (of, rest) = number(rest.strip_prefix('/')?)?;
    let is_it = rest.starts_with(" layers to GPU");
    is_it.then(|| (LineKind::Offloaded, vec![digits(count), digits(of)]))
}

/// `using device CUDA0 (NVIDIA RTX A4000) (0000:01:00.0) - 15221 MiB free`; before late 2025 without the address.
fn used_device(text: &str) -> Option<(LineKind, Fields)> {
    let rest = after(text, "using device ")?;
    let (name, rest) = rest.split_once(' ')?;
    let (described, free) = rest.rsplit_once(" - ")?;
    size(free)?;
    let address = described
        .strip_suffix(')')
        .and_then(|it| it.rsplit_once('('))
        .map(|(_, address)| address)
        .filter(|address| is_address(address));
    Some((
        LineKind::Device,
        vec![word(&device(name)), word(address.unwrap_or("none"))],
    ))
}

/// `0000:01:00.0`.
fn is_address(text: &str) -> bool {
    let signs = text.bytes().filter(|b| !b.is_ascii_hexdigit());
    (7..=16).contains(&text.len())
        && [b"::.".as_slice(), b":."].contains(&&*signs.collect::<Vec<_>>())
}

/// `|   - CUDA0 (RTX 4090) | 24077 = 945 + (19187 = 17904 + 384 + 898) + 3945 |`.
fn memory_row(text: &str) -> Option<(LineKind, Fields)> {
    let (name, numbers) = after(text, "- ")?.split_once('|')?;
    let name = name.split_whitespace().next()?;
    let numbers = numbers.split_once('|')?.0;
    let is_table = numbers.contains('=')
        && numbers
            .chars()
            .all(|c| c.is_ascii_digit() || " =+()-".contains(c));
    if !is_table {
        return None;
    }
    let mut fields = vec![word(&device(name))];
    let found = numbers
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty());
    fields.extend(found.map(|part| digits(part.to_owned())));
    [5, 8]
        .contains(&fields.len())
        .then_some((LineKind::MemoryRow, fields))
}
