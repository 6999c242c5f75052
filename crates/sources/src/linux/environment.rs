//! `/proc/PID/environ`, reduced to a fixed list. Nothing else of it leaves this file.

use model::Gap;

use super::subject::Subject;

/// What may be read: where models lie and how llama-server was told to load them. No keys, tokens or addresses.
const ALLOWED: [&str; 22] = [
    "LLAMA_ARG_MODEL",
    "LLAMA_ARG_CTX_SIZE",
    "LLAMA_ARG_N_PARALLEL",
    "LLAMA_ARG_N_GPU_LAYERS",
    "LLAMA_ARG_CACHE_TYPE_K",
    "LLAMA_ARG_CACHE_TYPE_V",
    "LLAMA_ARG_FLASH_ATTN",
    "LLAMA_ARG_UBATCH",
    "LLAMA_ARG_ALIAS",
    "LLAMA_ARG_SLEEP_IDLE_SECONDS",
    "LLAMA_ARG_CPU_MOE",
    "LLAMA_ARG_N_CPU_MOE",
    "LLAMA_ARG_OVERRIDE_TENSOR",
    "OLLAMA_MODELS",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "XDG_CACHE_HOME",
    "HOME",
    "LLAMA_CACHE",
    "LLAMA_LOG_FILE",
    "LLAMA_SERVER_ROUTER_PORT",
];

/// Bytes read. The kernel allows 2 MiB of arguments and environment together at its default stack limit.
const INPUT_BOUND: usize = 2 * 1024 * 1024;

/// Bytes kept; more than paths and numbers need.
const OUTPUT_BOUND: usize = 64 * 1024;

/// The allowed entries, each with its final zero.
pub(super) fn allowed(subject: &Subject) -> Result<Vec<u8>, Gap> {
    filtered(&subject.text("environ", INPUT_BOUND)?)
}

fn filtered(environ: &[u8]) -> Result<Vec<u8>, Gap> {
    let mut kept = Vec::new();
    for entry in environ.split(|byte| *byte == 0) {
        let name = entry.split(|byte| *byte == b'=').next().unwrap_or_default();
        if entry.len() == name.len() || !ALLOWED.iter().any(|allowed| allowed.as_bytes() == name) {
            continue;
        }
        if kept.len() + entry.len() >= OUTPUT_BOUND {
            return Err(Gap::OverBound);
        }
        kept.extend_from_slice(entry);
        kept.push(0);
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_are_kept_whole() {
        let environ =
            b"SHELL=/bin/sh\0LLAMA_ARG_MODEL=/m/a=b.gguf\0LLAMA_API_KEY=sk\0HF_TOKEN=hf\0\
            HF_HOME=\0LLAMA_ARG_MODEL_URL=http://x\0OLLAMA_MODELS\0";
        let kept = filtered(environ).unwrap();
        assert_eq!(kept, b"LLAMA_ARG_MODEL=/m/a=b.gguf\0HF_HOME=\0");
    }

    #[test]
    fn a_huge_value_is_over_the_bound() {
        let environ = [b"HF_HOME=".as_slice(), &vec![b'x'; OUTPUT_BOUND]].concat();
        assert_eq!(filtered(&environ), Err(Gap::OverBound));
    }
}
