//! Which names announce a secret, and which values are one whatever announces them.

/// Words that mark what is named as a secret, wherever in a part of a name they stand.
const WORDS: &[&str] = &[
    "key",
    "token",
    "pass",
    "pwd",
    "secret",
    "cred",
    "auth",
    "bearer",
    "cookie",
    "jwt",
    "login",
    "private",
    "signature",
];

/// Whole parts of names that mark a secret, and that longer words begin with (`path`).
const PARTS: &[&str] = &[
    "pat",
    "otp",
    "pw",
    "pin",
    "session",
    "sessionid",
    "sid",
    "license",
    "licence",
    "serial",
    "hft",
];

/// How well-known services start their tokens.
const STARTS: &[&str] = &[
    "sk-",
    "hf_",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "nvapi-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "eyJ",
];

/// Whether a flag or variable of this name holds a secret.
pub(super) fn is_secret(name: &str) -> bool {
    parts(name).any(|part| {
        PARTS.contains(&&*part)
            || (!part.starts_with("tokeniz") && WORDS.iter().any(|word| part.contains(word)))
    })
}

/// `--max-tokens`: a number there is a count.
pub(super) fn counts_tokens(name: &str) -> bool {
    parts(name).all(|part| part == "tokens" || !is_secret(&part))
        && parts(name).any(|part| part == "tokens")
}

/// Whether a text is a token by its own form.
pub(super) fn looks_secret(text: &str) -> bool {
    STARTS.iter().any(|start| text.starts_with(start))
}

fn parts(name: &str) -> impl Iterator<Item = String> {
    name.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
}
