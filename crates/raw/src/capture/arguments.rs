//! Redaction of command lines and environments. What cannot be told from a name or a secret goes.

mod addresses;
pub(super) mod control_groups;
mod flags;
mod secrets;

use super::format::Redaction;
use super::pseudonyms::{Pseudonyms, has_known_extension, has_model_extension};
use super::vocabulary;
use flags::Flag;

/// What a secret becomes, at every level but none.
const REDACTED: &str = "<redacted>";

/// What becomes of a title that a program has given itself.
const TITLE: &str = "<title>";

/// Values that are settings, not names.
const SETTINGS: &[&str] = &[
    "f32",
    "f16",
    "bf16",
    "q8_0",
    "q4_0",
    "q4_1",
    "q5_0",
    "q5_1",
    "iq4_nl",
    "on",
    "off",
    "auto",
    "all",
    "none",
    "true",
    "false",
    "layer",
    "row",
    "tensor",
    "mmap",
    "mlock",
    "dio",
    "mean",
    "cls",
    "last",
    "rank",
    "cuda",
    "vulkan",
    "cpu",
    "float16",
    "float32",
    "bfloat16",
    "fp8",
    "linear",
    "yarn",
    "distribute",
    "isolate",
    "numactl",
    "deepseek",
    "chatml",
    "localhost",
];

/// Variables whose own name is nobody's.
const VARIABLES: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "HF_TOKEN",
    "HF_HOME",
    "HF_HUB_CACHE",
    "OLLAMA_MODELS",
    "LD_LIBRARY_PATH",
    "OMP_NUM_THREADS",
    "api_key",
    "password",
    "token",
];

/// Longest number that is shown: what an unsigned 64-bit one needs.
const MAX_DIGITS: usize = 20;

/// What the flag before an argument makes of it.
enum Expected<'a> {
    /// Nothing in particular.
    Anything,
    /// The value of this flag.
    Value(&'a str),
    /// The value of this flag, which nobody may read, whatever it looks like.
    Secret(&'a str),
    /// More of a secret, up to the next flag.
    MoreSecret,
}

/// A NUL-separated command line.
pub(super) fn command_line(text: &str, names: &mut Pseudonyms) -> String {
    let mut redacted = String::new();
    let mut expected = Expected::Anything;
    for (position, argument) in text.split_terminator('\0').enumerate() {
        let shown = if position == 0 {
            program(argument, names)
        } else {
            let (shown, next) = following(argument, &expected, names);
            expected = next;
            shown
        };
        redacted.push_str(&shown);
        redacted.push('\0');
    }
    redacted
}

/// An argument behind the program, and what it makes of the next one.
fn following<'a>(
    argument: &'a str,
    expected: &Expected<'a>,
    names: &mut Pseudonyms,
) -> (String, Expected<'a>) {
    let flag = Flag::parse(argument, names.level());
    match (expected, &flag) {
        (Expected::Secret(name), _) => {
            return if secrets::counts_tokens(name) && is_number(argument) {
                (argument.to_owned(), Expected::Anything)
            } else {
                (hidden(argument), Expected::MoreSecret)
            };
        }
        (Expected::MoreSecret, flag) if !flag.as_ref().is_some_and(Flag::is_certain) => {
            return (hidden(argument), Expected::MoreSecret);
        }
        _ => {}
    }
    let Some(flag) = flag else {
        let shown = match expected {
            Expected::Value(name) => known(name, argument, value_of(name, argument, names), names),
            _ => known("", argument, free(argument, names), names),
        };
        // `Authorization: Bearer x` without quotes.
        let next = match argument.strip_suffix([':', '=']) {
            Some(name) if flags::is_secret(name) => Expected::MoreSecret,
            _ => Expected::Anything,
        };
        return (shown, next);
    };
    match flag.attached {
        Some((separator, value)) => {
            let shown = if flag.is_hidden() && !is_setting(value) {
                hidden(value)
            } else {
                let shown = value_of(flag.name, value, names);
                known(flag.name, value, shown, names)
            };
            let next = if flag.is_secret() && !secrets::counts_tokens(flag.name) {
                Expected::MoreSecret
            } else {
                Expected::Anything
            };
            (format!("{}{separator}{shown}", flag.shown), next)
        }
        None if flag.is_secret() => (flag.shown.to_owned(), Expected::Secret(flag.name)),
        None => (flag.shown.to_owned(), Expected::Value(flag.name)),
    }
}

/// What is shown of the value of a flag, `shown` as far as the value itself tells: a word stays only behind a flag of
/// which is known that its value is the name of a model or one of a few words. Behind any other it may be anything.
fn known(name: &str, value: &str, shown: String, names: &mut Pseudonyms) -> String {
    let is_known = || {
        flags::takes_word(name)
            || value.is_empty()
            || value == "-"
            || value.split(',').all(is_setting)
            || value.contains('/')
            || value
                .split(':')
                .all(|piece| has_known_extension(piece) || is_setting(piece))
            || addresses::redacted(value).is_some()
    };
    if names.level() == Redaction::None || shown != value || is_known() {
        shown
    } else {
        names.word("w", value)
    }
}

/// NUL-separated `NAME=value` entries. The reader has already dropped all but the allowed names.
pub(super) fn environment(text: &str, names: &mut Pseudonyms) -> String {
    text.split_terminator('\0')
        .map(|entry| match entry.split_once('=') {
            Some((name, value)) => format!("{name}={}\0", value_of(name, value, names)),
            None => String::new(),
        })
        .collect()
}

/// What is no address of somebody's host; such an address is hidden.
pub(super) fn without_address(text: &str) -> Option<String> {
    addresses::redacted(text).filter(|redacted| redacted != text)
}

fn program(argument: &str, names: &mut Pseudonyms) -> String {
    let (folder, name) = match argument.rfind('/') {
        Some(slash) => argument.split_at(slash + 1),
        None => ("", argument),
    };
    if is_title_of_an_engine(argument) {
        return argument.to_owned();
    }
    // A known program keeps its name in whatever folder it lies, blanks or not.
    if vocabulary::is_program(name) {
        return format!("{}{name}", names.path(folder));
    }
    // Programs write what they like over their own command line: who is connected, how they were
    // started. A plain name is the name of the process, which is shown anyway.
    if argument.contains(|c: char| c.is_whitespace() || c.is_control() || c == ':')
        || name.contains(['=', '@'])
    {
        return TITLE.to_owned();
    }
    format!("{}{name}", names.path(folder))
}

/// A title that an engine of vLLM or SGLang gives itself, `VLLM::Worker_TP0`: words of the engine and numbers.
fn is_title_of_an_engine(argument: &str) -> bool {
    const WORDS: &[&str] = &[
        "EngineCore",
        "Worker",
        "APIServer",
        "DPCoordinator",
        "scheduler",
        "detokenizer",
        "TP",
        "PP",
        "DP",
        "EP",
        "DCP",
        "",
    ];
    let is_its = |part: &str| WORDS.contains(&part.trim_end_matches(|c: char| c.is_ascii_digit()));
    ["VLLM::", "sglang::"].iter().any(|prefix| {
        let title = argument.strip_prefix(prefix);
        title.is_some_and(|title| title.len() <= 40 && title.split('_').all(is_its))
    })
}

/// A secret; that there is none may be seen.
fn hidden(value: &str) -> String {
    if value.is_empty() { "" } else { REDACTED }.to_owned()
}

fn value_of(name: &str, value: &str, names: &mut Pseudonyms) -> String {
    if flags::is_secret(name) && !(secrets::counts_tokens(name) && is_number(value)) {
        return hidden(value);
    }
    if flags::names_folder(name) && value.contains('/') && !is_structure(value) {
        return names.folder(value);
    }
    let whose = flags::names_place(name)
        && !is_setting(value)
        && !value.contains(['/', ':', '{', '['])
        && !has_known_extension(value);
    if whose && addresses::redacted(value).is_none() {
        return names.word("w", value);
    }
    free(value, names)
}

/// A value that nothing is known about.
fn free(value: &str, names: &mut Pseudonyms) -> String {
    if value.is_empty() || value == "-" || is_setting(value) {
        return value.to_owned();
    }
    if let Some(module) = vocabulary::module(value, names) {
        return module;
    }
    if let Some(address) = addresses::redacted(value) {
        return address;
    }
    // What starts like a flag and is none may have anything hanging on it.
    if is_structure(value) || value.starts_with('-') || secrets::looks_secret(value) {
        return REDACTED.to_owned();
    }
    if value.contains(char::is_whitespace) {
        return if has_model_extension(value) && !value.contains([':', '=']) {
            names.path(value)
        } else {
            REDACTED.to_owned()
        };
    }
    if value.contains(',') {
        let several = value.contains('=')
            || value
                .split(',')
                .any(|part| addresses::redacted(part).is_some() || part.contains('@'));
        if several {
            return each(value, ',', names);
        }
    }
    if let Some((name, rest)) = value.split_once(['=', ':']) {
        if flags::is_secret(name) {
            let separator = value.get(name.len()..value.len() - rest.len());
            return format!(
                "{}{}{REDACTED}",
                variable(name, names),
                separator.unwrap_or("")
            );
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
        if value.as_bytes().get(name.len()) == Some(&b'=')
            && !name.is_empty()
            && name.bytes().all(plain)
        {
            return format!("{}={}", variable(name, names), value_of(name, rest, names));
        }
        if rest.split(['=', ':']).any(secrets::is_secret) {
            return REDACTED.to_owned();
        }
    }
    if value.contains('/') || (has_known_extension(value) && !value.contains(':')) {
        return names.path(value);
    }
    if value.contains(':') {
        return pieces(value, names);
    }
    if names.level() == Redaction::Strict || value.contains('@') {
        names.word("w", value)
    } else {
        value.to_owned()
    }
}

/// `file.gguf:0.5`, `host:port`: what is no number and no file may be somebody.
fn pieces(value: &str, names: &mut Pseudonyms) -> String {
    value
        .split(':')
        .map(|piece| {
            if is_setting(piece) || has_known_extension(piece) || piece.is_empty() {
                free(piece, names)
            } else {
                names.word("w", piece)
            }
        })
        .collect::<Vec<_>>()
        .join(":")
}

fn each(value: &str, separator: char, names: &mut Pseudonyms) -> String {
    value
        .split(separator)
        .map(|piece| free(piece, names))
        .collect::<Vec<_>>()
        .join(separator.encode_utf8(&mut [0; 4]))
}

/// The name in `name=value`.
fn variable(name: &str, names: &mut Pseudonyms) -> String {
    if VARIABLES.contains(&name) || (names.level() != Redaction::Strict && is_word(name)) {
        name.to_owned()
    } else {
        names.word("w", name)
    }
}

fn is_word(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

/// JSON, code, URLs: text within which anything may stand anywhere.
fn is_structure(value: &str) -> bool {
    value.starts_with('[')
        || value.contains("://")
        || value.contains(|c| "{}\"'`;&|$<>()".contains(c))
}

fn is_setting(value: &str) -> bool {
    SETTINGS.contains(&value) || is_number(value) || vocabulary::is_argument(value)
}

/// Numbers with commas between them, and ranges of them.
fn is_number(value: &str) -> bool {
    value.split(',').all(|number| {
        let digits = number.strip_prefix('-').unwrap_or(number);
        let mut separators = digits.bytes().filter(|b| !b.is_ascii_digit());
        digits.len() <= MAX_DIGITS
            && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && digits.ends_with(|c: char| c.is_ascii_digit())
            && matches!(separators.next(), None | Some(b'.' | b'-'))
            && separators.next().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict(arguments: &[&str]) -> Vec<String> {
        let joined = arguments.join("\0") + "\0";
        let mut names = Pseudonyms::new(Redaction::Strict);
        command_line(&joined, &mut names)
            .split_terminator('\0')
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn settings_stay_and_names_go() {
        let got = strict(&[
            "/opt/acme/llama-server",
            "-m",
            "/home/eve/acme.gguf",
            "-c",
            "8192",
            "--alias",
            "acme",
            "-ctk",
            "q8_0",
            "--host",
            "127.0.0.1",
        ]);
        assert!(got[0].ends_with("/llama-server"), "{got:?}");
        assert_eq!((&*got[1], &*got[3], &*got[4]), ("-m", "-c", "8192"));
        assert_eq!((&*got[8], &*got[10]), ("q8_0", "127.0.0.1"));
        assert!(
            !got.concat().contains("acme") && !got.concat().contains("eve"),
            "{got:?}"
        );
    }

    #[test]
    fn secrets_and_prompts_go_at_every_level() {
        for level in [Redaction::Paths, Redaction::Strict] {
            let mut names = Pseudonyms::new(level);
            let line =
                "llama-server\0--api-key\0hunter2\0--hf-token=hf_x\0-p\0my diary\0http://a:b@c\0";
            let got = command_line(line, &mut names);
            for secret in ["hunter2", "hf_x", "diary", "a:b"] {
                assert!(!got.contains(secret), "{got:?}");
            }
        }
    }

    #[test]
    fn an_environment_keeps_its_names() {
        let mut names = Pseudonyms::new(Redaction::Paths);
        let got = environment(
            "LLAMA_ARG_CTX_SIZE=4096\0LLAMA_ARG_MODEL=/home/eve/m.gguf\0",
            &mut names,
        );
        assert!(
            got.starts_with("LLAMA_ARG_CTX_SIZE=4096\0LLAMA_ARG_MODEL=/home/d"),
            "{got:?}"
        );
    }
}
