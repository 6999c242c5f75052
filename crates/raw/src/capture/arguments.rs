//! Redaction of command lines, environments and control group paths.

use super::format::Redaction;
use super::pseudonyms::Pseudonyms;

/// What a secret becomes, at every level but none.
const REDACTED: &str = "<redacted>";

/// Words in a flag's name that mark its value as a secret.
const SECRET_WORDS: &[&str] = &[
    "key",
    "token",
    "password",
    "passwd",
    "secret",
    "credential",
    "auth",
];

/// Flags whose value is somebody's text.
const TEXT_FLAGS: &[&str] = &[
    "-p",
    "--prompt",
    "-sys",
    "--system-prompt",
    "--grammar",
    "-j",
    "--json-schema",
    "--api-key",
];

/// Values that are settings, not names.
const SETTING_VALUES: &[&str] = &[
    "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "on", "off", "auto",
    "none", "true", "false", "layer", "row", "tensor", "mmap", "mlock", "dio", "mean", "cls",
    "last", "rank", "serve", "server", "run", "runner", "cuda", "vulkan", "cpu",
];

/// A NUL-separated command line.
pub(super) fn command_line(text: &str, names: &mut Pseudonyms) -> String {
    let mut redacted = String::new();
    let mut flag: Option<&str> = None;
    for (position, argument) in text.split_terminator('\0').enumerate() {
        let value = if position == 0 {
            program(argument, names)
        } else if is_flag(argument) {
            match argument.split_once('=') {
                Some((name, value)) => {
                    flag = None;
                    format!("{name}={}", flag_value(name, value, names))
                }
                None => {
                    flag = Some(argument);
                    argument.to_owned()
                }
            }
        } else {
            match flag.take() {
                Some(name) => flag_value(name, argument, names),
                None => free_value(argument, names),
            }
        };
        redacted.push_str(&value);
        redacted.push('\0');
    }
    redacted
}

/// NUL-separated `NAME=value` entries. The reader has already dropped all but the allowed names.
pub(super) fn environment(text: &str, names: &mut Pseudonyms) -> String {
    text.split_terminator('\0')
        .map(|entry| match entry.split_once('=') {
            Some((name, value)) => format!("{name}={}\0", flag_value(name, value, names)),
            None => String::new(),
        })
        .collect()
}

/// The path of a control group: identifiers keep their form, other names become stand-ins.
pub(super) fn cgroup_path(path: &str, names: &mut Pseudonyms) -> String {
    let mut parts = Vec::new();
    for component in path.split('/') {
        let (stem, suffix) = match component.rsplit_once('.') {
            Some((stem, suffix @ ("scope" | "slice" | "service"))) => (stem, format!(".{suffix}")),
            _ => (component, String::new()),
        };
        let redacted = stem
            .split('-')
            .map(|word| {
                if word.len() >= 12 && word.bytes().all(|b| b.is_ascii_hexdigit()) {
                    names.hexadecimal(word)
                } else if is_cgroup_word(word) {
                    word.to_owned()
                } else {
                    names.word("g", word)
                }
            })
            .collect::<Vec<_>>()
            .join("-");
        parts.push(redacted + &suffix);
    }
    parts.join("/")
}

fn is_cgroup_word(word: &str) -> bool {
    let known = [
        "",
        "..",
        "system",
        "user",
        "session",
        "init",
        "machine",
        "docker",
        "podman",
        "libpod",
        "conmon",
        "cri",
        "containerd",
        "crio",
        "kubepods",
        "burstable",
        "besteffort",
        "guaranteed",
        "lxc",
        "payload",
        "lxc.payload",
        "buildkit",
        "app",
        "background",
        "ollama",
        "kubepods.slice",
    ];
    known.contains(&word)
        || word.bytes().all(|b| b.is_ascii_digit())
        || word
            .strip_prefix("user@")
            .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
        || word
            .strip_prefix('c')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

fn program(argument: &str, names: &mut Pseudonyms) -> String {
    let redacted = names.path(argument);
    match (redacted.rsplit_once('/'), argument.rsplit_once('/')) {
        (Some((folder, _)), Some((_, name))) => format!("{folder}/{name}"),
        // A bare program name is the name of the process, which is shown anyway. Anything with a
        // space is a title that a program has given itself.
        _ if !argument.contains(char::is_whitespace) => argument.to_owned(),
        _ => argument.split_whitespace().next().unwrap_or("").to_owned(),
    }
}

/// `--word`, or a short one with a single dash. `-pSECRET` is a value in disguise and none.
fn is_flag(argument: &str) -> bool {
    let name = argument.split('=').next().unwrap_or(argument);
    let word = |text: &str, most: usize| {
        (1..=most).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    match name.strip_prefix("--") {
        Some(text) => text.is_empty() || word(text, 40),
        None => name.strip_prefix('-').is_some_and(|text| word(text, 6)),
    }
}

fn flag_value(flag: &str, value: &str, names: &mut Pseudonyms) -> String {
    let lower = flag.to_ascii_lowercase();
    let secret = SECRET_WORDS.iter().any(|word| {
        lower
            .split(['-', '_', '.'])
            .any(|part| part == *word || part.ends_with(word))
    });
    if secret || TEXT_FLAGS.contains(&flag) {
        return REDACTED.to_owned();
    }
    free_value(value, names)
}

fn free_value(value: &str, names: &mut Pseudonyms) -> String {
    if value.starts_with('-')
        && value.len() > 1
        && !value.bytes().all(|b| b"-.0123456789".contains(&b))
    {
        // Looks like a flag and is none: whatever hangs on it stays out.
        return REDACTED.to_owned();
    }
    if let Some((name, rest)) = value.split_once('=')
        && !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
    {
        return format!("{name}={}", flag_value(name, rest, names));
    }
    let number = !value.is_empty()
        && value
            .bytes()
            .all(|b| b.is_ascii_digit() || b == b'.' || b == b',' || b == b'-');
    if number || SETTING_VALUES.contains(&value) {
        return value.to_owned();
    }
    if value.contains("://") {
        return REDACTED.to_owned();
    }
    if value.contains(char::is_whitespace) {
        return if names.level() == Redaction::Strict {
            REDACTED.to_owned()
        } else {
            names.path(value)
        };
    }
    let is_file = value.contains('/')
        || value.rsplit_once('.').is_some_and(|(stem, extension)| {
            !stem.is_empty() && (1..=11).contains(&extension.len())
        });
    if is_file {
        return names.path(value);
    }
    if names.level() == Redaction::Strict {
        names.word("w", value)
    } else {
        value.to_owned()
    }
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
    fn container_identifiers_keep_their_form() {
        let mut names = Pseudonyms::new(Redaction::Strict);
        let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let got = cgroup_path(&format!("/system.slice/docker-{id}.scope"), &mut names);
        assert!(
            got.starts_with("/system.slice/docker-") && got.strip_suffix(".scope").is_some(),
            "{got}"
        );
        assert!(!got.contains(id) && got.len() == id.len() + "/system.slice/docker-.scope".len());
        assert!(!cgroup_path("/user.slice/acme-train.service", &mut names).contains("acme"));
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
