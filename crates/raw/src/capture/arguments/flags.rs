//! What of a command line is a flag, and what hangs on it.

use super::secrets;
use crate::capture::format::Redaction;

/// What a flag becomes whose own name may be somebody's.
const HIDDEN: &str = "<flag>";

/// Longest flag that is shown.
const MAX_LEN: usize = 40;

/// Short flags of more than one letter. With any other a value may be attached: `-phunter2`.
const SHORT: &[&str] = &[
    "bf", "cb", "cd", "cmoe", "cnv", "cram", "ctk", "ctkd", "ctv", "ctvd", "dev", "devd", "dkvc",
    "dt", "fa", "fit", "fitc", "fitt", "gaf", "gan", "gaw", "hf", "hfd", "hff", "hffv", "hfr",
    "hfv", "hft", "kvo", "kvu", "lcd", "lcs", "ld", "lv", "md", "mg", "mm", "mmu", "mu", "mv",
    "ncmoe", "ncmoed", "ngl", "ngld", "nkvo", "nocb", "np", "nr", "ns", "ot", "otd", "ppl", "ps",
    "ptc", "sm", "sp", "sps", "st", "sys", "sysf", "tb", "tbd", "td", "to", "ts", "ub",
];

/// Flags whose value is somebody's text.
const TEXT: &[&str] = &[
    "-p",
    "--prompt",
    "-sys",
    "--system-prompt",
    "--grammar",
    "-j",
    "--json-schema",
    "-H",
    "--header",
    "--headers",
    "--chat-template",
    "--chat-template-kwargs",
    "--reverse-prompt",
    "-r",
    "--text",
    "--input",
    "--in-prefix",
    "--in_prefix",
    // Tokens by short flags: `--hf-token`, and what curl and others call `-k`.
    "-hft",
    "-k",
];

/// The same by a part of the name, however it is spelled.
const TEXT_PARTS: &[&str] = &[
    "prompt",
    "query",
    "question",
    "message",
    "caption",
    "instruction",
    "instructions",
    "antiprompt",
    "hotwords",
    "negative",
    "neg",
    "stop",
    "suffix",
];

/// Flags whose value is a model's name or one of a few words, and is shown where only paths are replaced.
const WORDS: &[&str] = &[
    "-a",
    "--alias",
    "--served-model-name",
    "-m",
    "--model",
    "--model-path",
    "--model-name",
    "--model-id",
    "-md",
    "--model-draft",
    "-hf",
    "--hf-repo",
    "--tokenizer",
    "--dtype",
    "--kv-cache-dtype",
    "--quantization",
    "-q",
    "--type",
    "-dev",
    "--device",
    "--devices",
    "--main-gpu",
    "-sm",
    "--split-mode",
    "-lm",
    "--load-mode",
    "--load-format",
    "--numa",
    "--pooling",
    "--pooling-type",
    "--rope-scaling",
    "--samplers",
    "--reasoning-format",
    "--reasoning-parser",
    "--tool-call-parser",
    "--attention-backend",
    "--backend",
    "--distributed-executor-backend",
    "--runner",
    "--task",
    "--cache-type-k",
    "--cache-type-v",
    "--flash-attn",
    "--log-level",
    "--mode",
    "--preset",
];

/// Parts of names of flags whose value is a user or a host.
const PLACES: &[&str] = &[
    "user", "username", "host", "hostname", "owner", "email", "domain", "server", "address", "addr",
];

/// Parts of names of flags and variables whose value is a folder.
const FOLDERS: &[&str] = &["dir", "folder", "directory", "home", "cwd", "workdir"];

/// Variables without such a part that hold a folder.
const FOLDER_VARIABLES: &[&str] = &["HF_HUB_CACHE", "LLAMA_CACHE", "OLLAMA_MODELS"];

/// One flag.
pub(super) struct Flag<'a> {
    /// As it is written down.
    pub(super) shown: &'a str,
    /// Its whole name, to judge its value by.
    pub(super) name: &'a str,
    /// `=` or `:` and the value behind it.
    pub(super) attached: Option<(char, &'a str)>,
}

impl<'a> Flag<'a> {
    /// What looks like a flag. Numbers below zero do not.
    pub(super) fn parse(argument: &'a str, level: Redaction) -> Option<Self> {
        let body = argument.strip_prefix('-').filter(|body| !body.is_empty())?;
        if super::is_number(argument) {
            return None;
        }
        let end = body
            .find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)))
            .map_or(argument.len(), |end| end + 1);
        let (name, rest) = argument.split_at_checked(end)?;
        let mut behind = rest.chars();
        let attached = match behind.next() {
            Some(separator @ ('=' | ':')) => Some((separator, behind.as_str())),
            _ => None,
        };
        let whole = rest.is_empty() || attached.is_some();
        let shown = whole && is_shown(name, level);
        Some(Self {
            shown: if shown { name } else { HIDDEN },
            name: if whole { name } else { argument },
            attached,
        })
    }

    /// Whether it is certainly one, so that whatever came before it is over.
    pub(super) fn is_certain(&self) -> bool {
        self.shown != HIDDEN && is_plain(self.name)
    }

    /// Whether nobody may read its value. What starts with `no` takes none.
    pub(super) fn is_secret(&self) -> bool {
        let negated = ["--no-", "--disable-", "--without-"]
            .iter()
            .any(|start| self.name.starts_with(start));
        !negated && is_secret(self.name)
    }

    pub(super) fn is_hidden(&self) -> bool {
        self.shown == HIDDEN
    }
}

/// Whether the value of what is called so is a secret or somebody's text.
pub(super) fn is_secret(name: &str) -> bool {
    TEXT.contains(&name) || has_part(name, TEXT_PARTS) || secrets::is_secret(name)
}

/// Whether the value of this flag is a model's name or one of a few words.
pub(super) fn takes_word(name: &str) -> bool {
    WORDS.contains(&name) || (name.contains('_') && WORDS.contains(&&*name.replace('_', "-")))
}

/// Whether the value of what is called so is a user's or a host's name.
pub(super) fn names_place(name: &str) -> bool {
    has_part(name, PLACES)
}

/// Whether the value of what is called so is a folder.
pub(super) fn names_folder(name: &str) -> bool {
    has_part(name, FOLDERS) || FOLDER_VARIABLES.contains(&name)
}

fn has_part(name: &str, known: &[&str]) -> bool {
    name.split(['-', '_', '.'])
        .any(|part| known.contains(&part.to_ascii_lowercase().as_str()))
}

fn is_shown(name: &str, level: Redaction) -> bool {
    name.len() <= MAX_LEN
        && (is_plain(name)
            || (level != Redaction::Strict
                && name
                    .strip_prefix("--")
                    .is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()))
                && !secrets::is_secret(name)))
}

/// Lower-case words behind two dashes, one letter behind one, or a known short flag.
fn is_plain(name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(text) => {
            text.is_empty()
                || (text.starts_with(|c: char| c.is_ascii_lowercase())
                    && text
                        .bytes()
                        .all(|b| b.is_ascii_lowercase() || b"-_.".contains(&b)))
        }
        None => name.strip_prefix('-').is_some_and(|text| {
            SHORT.contains(&text)
                || (text.len() == 1 && text.bytes().all(|b| b.is_ascii_alphabetic()))
        }),
    }
}
