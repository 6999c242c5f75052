//! How an option is spelled on a command line.

use std::borrow::Cow;

/// Name and attached value of an argument. llama.cpp and vLLM take `_` for `-` in the name of every option that begins
/// with two dashes, and so it is read here: `--sleep_idle_seconds=8` is `--sleep-idle-seconds` with `8`.
pub(super) fn option(argument: &str) -> (Cow<'_, str>, Option<&str>) {
    if !argument.starts_with("--") {
        return (argument.into(), None);
    }
    let (name, value) = match argument.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (argument, None),
    };
    if name.contains('_') {
        (name.replace('_', "-").into(), value)
    } else {
        (name.into(), value)
    }
}

#[cfg(test)]
mod tests {
    use super::option;

    #[test]
    fn underscores_count_as_dashes_in_names_and_nowhere_else() {
        for (argument, name, value) in [
            ("--ctx_size", "--ctx-size", None),
            ("--ctx_size=4_096", "--ctx-size", Some("4_096")),
            ("--model=a_b", "--model", Some("a_b")),
            ("-m", "-m", None),
            ("-a_b", "-a_b", None),
            ("a_b=c", "a_b=c", None),
            ("--", "--", None),
        ] {
            assert_eq!(option(argument), (name.into(), value), "{argument}");
        }
    }
}
