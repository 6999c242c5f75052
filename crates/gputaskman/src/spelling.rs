//! llama.cpp's own spellings of options, so that what stands in a server's command line can be typed here.
//!
//! clap would read `-ngl 20` as `-n -g -l 20`. `-ngl` is understood everywhere, the others by `inspect` and `fit`.

use std::ffi::{OsStr, OsString};

/// What follows an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    Nothing,
    /// A value.
    Value,
    /// A value, and without one it means this.
    ValueOr(&'static str),
}

/// A spelling of llama.cpp.
struct Spelling {
    theirs: &'static str,
    ours: &'static str,
    follows: Follows,
    /// Values that leave it to the server, as if the option were not there.
    unset: &'static [&'static str],
    /// Values in words, and what they are here.
    words: &'static [(&'static str, &'static str)],
    /// Whether it is understood by every command.
    everywhere: bool,
}

const PLAIN: Spelling = Spelling {
    theirs: "",
    ours: "",
    follows: Follows::Value,
    unset: &[],
    words: &[],
    everywhere: false,
};

const LAYERS: Spelling = Spelling {
    ours: "--gpu-layers",
    unset: &["-1", "auto"],
    // More layers than any model has.
    words: &[("-2", "4294967295"), ("all", "4294967295")],
    ..PLAIN
};

const SLOTS: Spelling = Spelling {
    ours: "--parallel",
    unset: &["-1"],
    ..PLAIN
};

/// `-fa` was a switch until August 2025.
const FLASH: Spelling = Spelling {
    ours: "--flash-attn",
    follows: Follows::ValueOr("on"),
    words: &[
        ("on", "on"),
        ("off", "off"),
        ("auto", "auto"),
        ("1", "on"),
        ("0", "off"),
        ("-1", "auto"),
    ],
    ..PLAIN
};

const SPELLINGS: &[Spelling] = &[
    Spelling {
        theirs: "-ngl",
        everywhere: true,
        ..LAYERS
    },
    Spelling {
        theirs: "--n-gpu-layers",
        ..LAYERS
    },
    Spelling {
        theirs: "--gpu-layers",
        ..LAYERS
    },
    Spelling {
        theirs: "-np",
        ..SLOTS
    },
    Spelling {
        theirs: "--parallel",
        ..SLOTS
    },
    Spelling {
        theirs: "-fa",
        ..FLASH
    },
    Spelling {
        theirs: "--flash-attn",
        ..FLASH
    },
    Spelling {
        theirs: "-ctk",
        ours: "--cache-type-k",
        ..PLAIN
    },
    Spelling {
        theirs: "-ctv",
        ours: "--cache-type-v",
        ..PLAIN
    },
    Spelling {
        theirs: "-kvu",
        ours: "--kv-unified",
        follows: Follows::Nothing,
        ..PLAIN
    },
    Spelling {
        theirs: "-no-kvu",
        ours: "--no-kv-unified",
        follows: Follows::Nothing,
        ..PLAIN
    },
];

/// The arguments as clap understands them.
pub(crate) fn accept_llama_spelling(
    arguments: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_about_a_file = arguments.iter().any(|it| it == "inspect" || it == "fit");
    let mut accepted = Vec::new();
    let mut rest = arguments.into_iter().peekable();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            accepted.push(argument);
            break;
        }
        let Some((spelling, joined)) = find(&argument, is_about_a_file) else {
            accepted.push(argument);
            continue;
        };
        let next = rest.peek().and_then(|next| next.to_str());
        let next = next.map(str::to_owned);
        let value = match (spelling.follows, joined) {
            (Follows::Nothing, _) => {
                accepted.push(spelling.ours.into());
                continue;
            }
            (_, Some(value)) => Some(value),
            (Follows::Value, None) => next.inspect(|_| drop(rest.next())),
            (Follows::ValueOr(meant), None) => {
                let value = next.filter(|it| spelling.words.iter().any(|(word, _)| word == it));
                match value {
                    Some(value) => {
                        rest.next();
                        Some(value)
                    }
                    None => Some(meant.to_owned()),
                }
            }
        };
        // A value is joined, since it may begin with a dash.
        accepted.extend(match value {
            None => Some(spelling.ours.into()),
            Some(value) if is_about_a_file && spelling.unset.contains(&&*value) => None,
            Some(value) => {
                let words = spelling.words.iter().filter(|_| is_about_a_file);
                let mut words = words.filter(|(word, _)| *word == value);
                let value = words.next().map_or(&*value, |(_, ours)| *ours);
                Some(OsString::from(format!("{}={value}", spelling.ours)))
            }
        });
    }
    accepted.extend(rest);
    accepted
}

/// The spelling of an argument, and the value that is joined to it.
fn find(argument: &OsStr, is_about_a_file: bool) -> Option<(&'static Spelling, Option<String>)> {
    let text = argument.to_str()?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let known = SPELLINGS.iter().find(|it| it.theirs == name)?;
    (is_about_a_file || known.everywhere).then_some((known, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(line: &str) -> String {
        let arguments = accept_llama_spelling(line.split(' ').map(OsString::from));
        let words: Vec<String> = arguments
            .into_iter()
            .map(|it| it.into_string().unwrap())
            .collect();
        words.join(" ")
    }

    #[test]
    fn a_command_line_of_llama_cpp_is_understood_by_inspect_and_fit() {
        for (theirs, ours) in [
            ("-ngl 20", "--gpu-layers=20"),
            ("-ngl=7", "--gpu-layers=7"),
            ("-ngl all", "--gpu-layers=4294967295"),
            ("--n-gpu-layers -2", "--gpu-layers=4294967295"),
            ("-ngl -1 x", "x"),
            ("--gpu-layers auto x", "x"),
            ("-np 4", "--parallel=4"),
            ("--parallel -1 x", "x"),
            (
                "-ctk q8_0 -ctv q4_0",
                "--cache-type-k=q8_0 --cache-type-v=q4_0",
            ),
            ("-fa on", "--flash-attn=on"),
            ("-fa 0", "--flash-attn=off"),
            ("--flash-attn auto", "--flash-attn=auto"),
            // A switch in older builds: what follows is no value of it.
            ("-fa model.gguf", "--flash-attn=on model.gguf"),
            ("-kvu -c 4", "--kv-unified -c 4"),
            ("-no-kvu", "--no-kv-unified"),
            ("-ngl", "--gpu-layers"),
            ("-- -ngl 4", "-- -ngl 4"),
        ] {
            for command in ["inspect", "fit"] {
                let expected = format!("gputaskman {command} {ours}");
                assert_eq!(
                    accepted(&format!("gputaskman {command} {theirs}")),
                    expected
                );
            }
        }
    }

    #[test]
    fn elsewhere_only_the_layers_are_spelled_so() {
        assert_eq!(
            accepted("gputaskman -ngl 20 --once"),
            "gputaskman --gpu-layers=20 --once"
        );
        assert_eq!(
            accepted("gputaskman --once -ngl=7"),
            "gputaskman --once --gpu-layers=7"
        );
        for line in [
            "gputaskman -np 4",
            "gputaskman replay x -fa on",
            "gputaskman --gpu-layers all",
        ] {
            assert_eq!(accepted(line), line);
        }
    }
}
