//! Words that are nobody's: programs, scripts and modules by which runtimes and servers are recognised, and what servers
//! say in words of their own interfaces. They stay at every level, since a replay recognises by them too. A list, never
//! a form, decides; what is not in one may be somebody's.

use super::pseudonyms::{Pseudonyms, quantization};

/// Programs, scripts and folders of known applications, in lower case, as components of a path or alone. Names that
/// people have too are not among them.
const PROGRAMS: &[&str] = &[
    "accelerate",
    "accelerate-launch",
    "ai-toolkit",
    "axolotl",
    "com.docker.llama-server",
    "comfyui",
    "deepspeed",
    "faster-whisper",
    "faster_whisper",
    "kobold.cpp",
    "koboldcpp",
    "koboldcpp.py",
    "kohya_ss",
    "launch.py",
    "llama-bench",
    "llama-cli",
    "llama-run",
    "llama-server",
    "llama_server.py",
    "llamafactory-cli",
    "llmster",
    "lm studio",
    "lm-studio",
    "local-ai",
    "localai",
    "main.py",
    "mlx_lm",
    "mlx_lm.server",
    "model-runner",
    "ollama_llama_server",
    "run.py",
    "sd-cli",
    "sd-scripts",
    "sd-server",
    "server.py",
    "sglang",
    "stable-diffusion-webui",
    "start.py",
    "tabbyapi",
    "text-generation-launcher",
    "text-generation-router",
    "text-generation-server",
    "text-generation-webui",
    "torchrun",
    "trainer.py",
    "tritonserver",
    "trl",
    "trtllm-serve",
    "unsloth",
    "vllm",
    "webui.py",
    "whisper-cli",
    "whisper-server",
    "whisperx",
];

/// Beginnings after which anybody's words may stand: kept, and what follows gets a stand-in.
const BEGINNINGS: &[&str] = &[
    "comfyui",
    "faster-whisper",
    "fine_tune",
    "finetune",
    "koboldcpp",
    "stable-diffusion-webui",
    "tabbyapi",
    "text-generation-webui",
    "training",
    "train",
];

/// Modules of Python, in lower case, the longer before those that contain them.
const MODULES: &[&str] = &[
    "accelerate.commands.launch",
    "axolotl.cli.train",
    "axolotl",
    "deepspeed.launcher",
    "faster_whisper",
    "lightning",
    "llama_cpp.server",
    "llama_cpp",
    "llamafactory.launcher",
    "mlx_lm.server",
    "mlx_lm",
    "sglang.launch_server",
    "sglang",
    "tabbyapi",
    "torch.distributed.launch",
    "torch.distributed.run",
    "trl.scripts",
    "unsloth",
    "unsloth_cli",
    "vllm.entrypoints.openai.api_server",
    "vllm.entrypoints",
    "vllm",
];

/// What known programs are told to do.
const COMMANDS: &[&str] = &[
    "cli", "dpo", "grpo", "kto", "launch", "reward", "rloo", "run", "runner", "serve", "server",
    "sft", "train",
];

/// Words of the servers' own interfaces: states, kinds, types, backends.
const INTERFACE: &[&str] = &[
    "auto",
    "awq",
    "bfloat16",
    "completion",
    "cpu",
    "cuda",
    "diffusers",
    "downloading",
    "embedding",
    "embeddings",
    "error",
    "exl2",
    "exl3",
    "float16",
    "float32",
    "fp16",
    "fp32",
    "fp8",
    "fp8_e4m3",
    "fp8_e5m2",
    "gguf",
    "gptq",
    "half",
    "int4",
    "int8",
    "koboldcpp",
    "llama-cpp",
    "llama.cpp",
    "llm",
    "loaded",
    "loading",
    "mlx",
    "mlx-lm",
    "mps",
    "no slot available",
    "not-loaded",
    "ok",
    "reranking",
    "sleeping",
    "torch.bfloat16",
    "torch.float16",
    "torch.float32",
    "transformers",
    "unloaded",
    "vllm",
    "vlm",
    "whisper",
    "xpu",
];

/// Letters that a version may hold beside its numbers.
const VERSION_WORDS: &[&str] = &[
    "", "a", "alpha", "b", "beta", "cpu", "cu", "dev", "git", "nightly", "post", "rc", "rocm", "v",
    "xpu",
];

/// Longest number or version that is kept.
const MAX_PLAIN: usize = 40;

fn is_in(list: &[&str], text: &str) -> bool {
    list.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether a component of a path is a known program's, script's or application's name.
pub(super) fn is_program(component: &str) -> bool {
    is_in(PROGRAMS, component)
}

/// A component that begins like a known application's and goes on as somebody chose, with a stand-in for the rest.
pub(super) fn half_known(component: &str, stand_in: impl FnOnce() -> String) -> Option<String> {
    let is_begun = |start: &&&str| {
        let head = component.get(..start.len());
        let next = component
            .get(start.len()..)
            .and_then(|it| it.chars().next());
        head.is_some_and(|head| head.eq_ignore_ascii_case(start))
            && next.is_some_and(|next| !next.is_ascii_lowercase())
    };
    let start = BEGINNINGS.iter().find(is_begun)?;
    let end = if component
        .rsplit_once('.')
        .is_some_and(|(_, end)| end == "py")
    {
        ".py"
    } else {
        ""
    };
    Some(format!("{start}-{}{end}", stand_in()))
}

/// Whether an argument is a known program's command or name.
pub(super) fn is_argument(argument: &str) -> bool {
    is_in(COMMANDS, argument) || is_in(MODULES, argument) || is_program(argument)
}

/// A module of a known package, with a stand-in for what is not known of it.
pub(super) fn module(argument: &str, names: &mut Pseudonyms) -> Option<String> {
    MODULES.iter().find_map(|known| {
        let rest = argument.strip_prefix(known)?.strip_prefix('.')?;
        Some(format!("{known}.{}", names.word("f", rest)))
    })
}

/// What a server says that names nothing: a number, a version, a word of its interface.
pub(super) fn is_plain(text: &str) -> bool {
    text.is_empty()
        || is_in(INTERFACE, text)
        || (text.len() <= MAX_PLAIN && (is_number(text) || is_version(text)))
        || quantization(text).is_some_and(|label| label.len() == text.len())
}

/// `0.9`, `1e-05`, `6.83M`, `8x7B`, `4bit`.
fn is_number(text: &str) -> bool {
    let number = text
        .trim_end_matches("bit")
        .trim_end_matches(['K', 'M', 'B', 'T']);
    number.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && number
            .bytes()
            .all(|b| b.is_ascii_digit() || b"+-.ex".contains(&b))
}

/// `3.3.4`, `2.8.0+cu128`, `0.11.0rc1.dev42`, and with a commit behind a `g`.
fn is_version(text: &str) -> bool {
    let is_known = |part: &str| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let commit = part.strip_prefix('g').unwrap_or("");
        VERSION_WORDS.contains(&word)
            || (commit.len() >= 7 && commit.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    text.starts_with(|c: char| c.is_ascii_digit() || c == 'v')
        && text.split(['.', '+', '-']).all(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_versions_and_words_of_interfaces_are_plain_and_names_are_not() {
        for text in [
            "",
            "16",
            "0.9",
            "1e-05",
            "6.83M",
            "8x7B",
            "4bit",
            "3.3.4",
            "2.8.0+cu128",
            "0.11.0rc1.dev42",
            "0.6.3.post1",
            "0.9.2.dev1+g1a2b3c4d",
            "v1.99",
            "auto",
            "float16",
            "torch.bfloat16",
            "Q4_K_M",
            "F16",
            "llama-cpp",
            "KoboldCpp",
        ] {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "acme",
            "acme-7b",
            "llama",
            "7b-acme",
            "2.8.0+acme",
            "1.0.acme",
            "acme-Q4_K_M",
            "v",
            "g1a2b3c4d",
            "1.2.3.zorgon",
            "eve",
        ] {
            assert!(!is_plain(text) || text == "v", "{text}");
        }
    }

    #[test]
    fn what_goes_on_after_a_known_beginning_gets_a_stand_in() {
        let half = |text| half_known(text, || "d1".to_owned());
        for (text, expected) in [
            ("ComfyUI_acme", Some("comfyui-d1")),
            ("train_acme.py", Some("train-d1.py")),
            ("koboldcpp-1.99", Some("koboldcpp-d1")),
            ("trainspotting.py", None),
            ("acme", None),
            ("comfyui", None),
        ] {
            assert_eq!(half(text).as_deref(), expected, "{text}");
        }
    }
}
